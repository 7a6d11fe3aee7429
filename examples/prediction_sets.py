"""
How sure is a prediction, when views are missing?
=================================================

A digit seen from four sides is easy to read; seen from one side it may be a 3 or an 8. ``predict_set`` says so: it
returns all classes that the digit may have, enough of them that the true one is included nine times in ten, whichever
views the row has. The sets are calibrated by the training rows' own out-of-fold predictions: no rows are given away.

The digits are those of scikit-learn, in four views of fuselearn. Half of the views are missing, at random, in the
rows to train on and in those to predict.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from fuselearn import FusionClassifier
from fuselearn.datasets import load_digit_views

COVERAGES = (0.8, 0.9, 0.95)
N_TRAIN = 500


def drop_views(X, views, share, seed):
    """Return rows that lack a share of their views, at random, but never all, and which views they have."""
    rng = np.random.default_rng(seed)
    present = rng.random((len(X), len(views))) >= share
    present[np.arange(len(X)), rng.integers(len(views), size=len(X))] = True
    X = X.copy()
    for columns, has_view in zip(views.values(), present.T):
        X[~has_view, columns] = np.nan
    return X, present


def measure(model, X, y, present):
    """Return coverage and mean size of the sets of rows with one view, two views and so on, for each coverage."""
    right, sizes = [], []
    for coverage in COVERAGES:
        sets = model.predict_set(X, coverage=coverage)
        covered = sets[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        counts = [present.sum(axis=1) == n_views for n_views in range(1, present.shape[1] + 1)]
        right.append([covered[rows].mean() for rows in counts])
        sizes.append([sets[rows].sum(axis=1).mean() for rows in counts])
    return np.array(right), np.array(sizes)


# %%
# A model of digits with two views each, on average
# -------------------------------------------------
# With noise, so that a single view is not enough.

digits = load_digit_views()
noisy = digits.X + np.random.default_rng(0).normal(scale=1.5 * digits.X.std(axis=0), size=digits.X.shape)
X, present = drop_views(noisy, digits.views, 0.5, seed=1)
train, test = train_test_split(np.arange(len(X)), train_size=N_TRAIN, stratify=digits.y, random_state=0)
model = FusionClassifier(views=digits.views, random_state=0).fit(X[train], digits.y[train])
hits = model.predict(X[test]) == digits.y[test]
accuracy = [hits[present[test].sum(axis=1) == n].mean() for n in range(1, present.shape[1] + 1)]

# %%
# Sets of three coverages
# -----------------------

right, sizes = measure(model, X[test], digits.y[test], present[test])
print(f"{'views':>6}{'predict':>9}" + "".join(f"{f'{coverage:.0%} set':>10}{'size':>6}" for coverage in COVERAGES))
for n_views, alone in enumerate(accuracy):
    pairs = "".join(f"{r:10.3f}{s:6.2f}" for r, s in zip(right[:, n_views], sizes[:, n_views]))
    print(f"{n_views + 1:6d}{alone:9.3f}{pairs}")

# %%
# Coverage is calibrated for each pattern of views, not for each class. Which digits are covered less often?

by_class = model.set_coverage(0.9)
for place in np.argsort(by_class["coverage"])[:3]:
    print(f"A {by_class['class'][place]} is in its set in {by_class['coverage'][place]:.0%} of the rows, out of fold.")

# %%
# What came out
# -------------
# The dotted lines are what was asked for. The fewer views a row has, the more classes its set has; the coverage stays.
# Where ``predict`` alone is right more often than asked for, sets have one class.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
n_views = np.arange(1, right.shape[1] + 1)
for coverage, covered, size in zip(COVERAGES, right, sizes):
    (line,) = axes[0].plot(n_views, covered, marker="o", label=f"coverage={coverage}")
    axes[0].axhline(coverage, color=line.get_color(), linewidth=0.8, linestyle=":")
    axes[1].plot(n_views, size, marker="o", color=line.get_color())
axes[0].plot(n_views, accuracy, color="0.5", label="predict alone")
axes[0].set(xlabel="views that a row has", ylabel="true class is in the set", xticks=n_views)
axes[1].set(xlabel="views that a row has", ylabel="classes in a set, mean", xticks=n_views)
axes[0].legend(frameon=False)
plt.show()
