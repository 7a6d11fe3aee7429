"""
Numbers instead of classes, some of them wrong
==============================================

How far will a patient's diabetes have progressed in a year? There are two views: what is known of the person, and what
was measured of the blood. We predict the number with an interval, leave the blood out for some patients, and then spoil
one in ten of the training targets.

The patients are those of :func:`sklearn.datasets.load_diabetes`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from fuselearn import FusionRegressor

X, y = load_diabetes(return_X_y=True)
VIEWS = {"person": slice(0, 4), "blood": slice(4, 10)}
X, X_test, y, y_test = train_test_split(X, y, train_size=300, random_state=1)

# %%
# Fit, predict, and say how sure
# ------------------------------

model = FusionRegressor(views=VIEWS, random_state=0).fit(X, y)
print(f"R² on new patients: {model.score(X_test, y_test):.2f}, out of fold: {model.out_of_sample_score_:.2f}")
print(model.leaderboard_)

without_blood = X_test.copy()
without_blood[:, VIEWS["blood"]] = np.nan
for name, rows in (("both views", X_test), ("without blood", without_blood)):
    lower, upper = model.predict_interval(rows, coverage=0.9).T
    covered = np.mean((lower <= y_test) & (y_test <= upper))
    print(f"{name:14} intervals hold {covered:.0%} of the numbers, mean width {np.mean(upper - lower):.0f}")

# %%
# One target in ten is wrong
# --------------------------
# A slipped decimal point, another unit, another patient: the target of 30 patients is moved far away.

draws = np.random.default_rng(0)
wrong = draws.random(len(y)) < 0.1
spoilt = y + wrong * draws.choice([-1, 1], len(y)) * draws.uniform(5, 20, len(y)) * y.std()
robust = FusionRegressor(views=VIEWS, random_state=0).fit(X, spoilt)
print(f"outliers: {wrong.mean():.1%} of the targets, estimated {robust.outlier_share_:.1%}")
print(
    f"R² on new patients: {robust.score(X_test, y_test):.2f}, with the right targets {model.score(X_test, y_test):.2f}"
)

# %%
# What came out
# -------------
# Intervals hold about as many numbers as was asked, and widen where a view is missing. The share of wrong targets is
# estimated closely, and they cost little.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
predicted = model.predict(X_test)
order = np.argsort(predicted)
lower, upper = model.predict_interval(X_test)[order].T
left.fill_between(predicted[order], lower, upper, alpha=0.2, label="90 % interval")
left.plot(predicted, y_test, "o", markersize=4, label="new patients")
left.plot(predicted[order], predicted[order], "k--", linewidth=1)
left.set(xlabel="predicted", ylabel="progression after a year", title="Predicted with intervals")
left.legend(loc="upper left")
distance = np.abs(spoilt - robust.out_of_sample_prediction_)
right.semilogx(distance[~wrong], robust.outlier_probabilities_[~wrong], "o", markersize=4, label="right target")
right.semilogx(distance[wrong], robust.outlier_probabilities_[wrong], "x", color="C3", label="spoilt target")
right.set(
    xlabel="distance from what is predicted", ylabel="probability to be an outlier", title="One target in ten is wrong"
)
right.legend(loc="center left")
plt.show()
