"""
Which test should this patient have next?
=========================================

Measuring every view of every row costs time and money, and most rows do not need it. ``next_view`` names the view that
is expected to make the prediction right more often, row by row, or says that it is time to stop.

The rows are scikit-learn's tumours: the mean of each measurement of their cells, its error, and its worst value are the
views. Let the worst values cost three times as much as the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from fuselearn import FusionClassifier
from fuselearn.inspection import AcquisitionDisplay, acquisition_curve

VIEWS = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
COSTS = {"worst": 3.0}

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.6, stratify=y, random_state=0)
model = FusionClassifier(views=VIEWS, random_state=0).fit(X_train, y_train)

# %%
# Patients of whom the mean is known
# ----------------------------------

seen = X_test.copy()
seen[:, 10:] = np.nan
proposed = model.next_view(seen, costs=COSTS)
for name in sorted({*proposed}, key=str):
    rows = proposed == name
    sure = model.predict_proba(seen[rows]).max(axis=1).mean()
    print(f"{'no further view' if name is None else name:16}{rows.sum():5d} rows, {sure:.1%} sure so far")

# %%
# From nothing
# ------------
# Every row begins without any view. Beside the views that are chosen row by row: the same ones for all, by importance,
# and any.

curve = acquisition_curve(model, X_test, y_test, costs=COSTS, random_state=0)
print(f"All views cost {curve.importance_costs[-1]:.0f}, and {curve.by_importance[-1]:.1%} are predicted right.")
for gain, cost, accuracy in zip(curve.min_gains, curve.costs, curve.accuracies):
    print(f"min_gain={gain:<6g} costs {cost:.2f}, and {accuracy:.1%} are predicted right.")

# %%
# What came out
# -------------
# Most tumours are clear from one view. The others are measured further, and nearly nothing is lost.

display = AcquisitionDisplay(curve=curve, by_cost=True).plot()
plt.show()
