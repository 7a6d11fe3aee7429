"""
One sensor fails: does the fused model hold?
============================================

Four sensors look at the same object. In the field one of them gets noisy, and the model does not know: it was trained
when all four were good. How much does the noise cost, and does it matter how the sensors were fused?

The objects are the handwritten digits that ship with scikit-learn, in four views. White noise is added to the columns
of one view after the other, in the test rows only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import (
    ConcatenatedClassifier,
    FusionClassifier,
    ShareBoostClassifier,
    ViewVotingClassifier,
    add_feature_noise,
)
from fuselearn.datasets import load_digit_views
from fuselearn.inspection import ViewImportanceDisplay

N_TRAIN, N_TEST = 800, 500

X, views, y = load_digit_views(return_tuple=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=N_TRAIN, test_size=N_TEST, stratify=y, random_state=0)

# %%
# Four ways to fuse
# -----------------
# One machine on all columns, one machine per view whose decision values are summed, boosting that picks a view in each
# round, and :class:`~fuselearn.FusionClassifier`, which weights several learners of each view, and of all views side by
# side.

svm = make_pipeline(StandardScaler(), SVC())
models = {
    "one SVM, all columns": ConcatenatedClassifier(svm, views=views),
    "an SVM per view, summed": ViewVotingClassifier(svm, views=views, voting="sum"),
    "ShareBoost": ShareBoostClassifier(views=views, n_estimators=100),
    "FusionClassifier": FusionClassifier(views=views, random_state=0),
}
for model in models.values():
    model.fit(X, y)

# %%
# Noise on one view at a time
# ---------------------------
# The strength is in standard deviations of each column. A score is the mean over the four views that can fail.

strengths = [0.0, 1.0, 2.0, 4.0]
scores = {name: [] for name in models}
for strength in strengths:
    for name, model in models.items():
        by_failed_view = [
            model.score(add_feature_noise(X_test, views, strength, which=[view], random_state=0), y_test)
            for view in views
        ]
        scores[name].append(np.mean(by_failed_view))

print(f"{'noise on one view':26}" + "".join(f"{strength:8.1f}" for strength in strengths))
for name, row in scores.items():
    print(f"{name:26}" + "".join(f"{score:8.3f}" for score in row))

# %%
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for (name, row), style in zip(scores.items(), ("-o", "--s", ":^", "-.d")):
    axes.plot(strengths, row, style, label=name)
axes.set(xlabel="noise on one view, in standard deviations", ylabel="accuracy on digits held out", ylim=(0, 1.02))
axes.legend(frameon=False)

# %%
# What if the noise is known?
# ---------------------------
# A view that is NaN abstains. Where a sensor reports that it has failed, set its columns to NaN.

absent = []
for columns in views.values():
    without = X_test.copy()
    without[:, columns] = np.nan
    absent.append(models["an SVM per view, summed"].score(without, y_test))
print(f"an SVM per view, summed, failed view left out: {np.mean(absent):.3f}")

# %%
# Which sensor matters most? This can be answered before one fails.

ViewImportanceDisplay.from_estimator(
    models["an SVM per view, summed"], X_test, y_test, methods=["drop", "permutation"], random_state=0
)

# %%
# What came out
# -------------
strongest = strengths[-1]
kept = {name: row[-1] for name, row in scores.items()}
best = max(kept, key=kept.get)
worst = min(kept, key=kept.get)
print(f"With noise of {strongest:g} standard deviations on one view, '{best}' keeps {kept[best]:.3f},")
print(f"'{worst}' keeps {kept[worst]:.3f}. Where the failed view is known and left out, the sum has")
gain = np.mean(absent) - kept["an SVM per view, summed"]
print(f"{np.mean(absent):.3f}, a gain of {gain:+.3f}.")

plt.show()
