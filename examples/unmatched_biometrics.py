"""
Two archives of different people: can their measurements be fused?
==================================================================

One archive keeps the edges of pictures, another their wavelets. Both know which pictures show a face. But no picture
is in both archives, so there is no row that has both views. Can a classifier for whole pictures be learnt from them?

The pictures are the 100 faces, and 100 pieces of background, that come with scikit-image (they need ``pip install
'fuselearn[datasets]'``). Each archive gets ten of them, and the rest are tested on, with both views.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from fuselearn import TomographicClassifier, stack_unpaired
from fuselearn.datasets import load_face_views
from fuselearn.inspection import CorrespondenceDisplay, LeaderboardDisplay

N_DRAWS = 20

X, views, y = load_face_views(n_components=20, return_tuple=True)
edges, wavelets = X[:, views["edges"]], X[:, views["wavelets"]]
whole = np.hstack([edges, wavelets])

# %%
# A table with two halves
# -----------------------
# :func:`~fuselearn.stack_unpaired` puts the archives into one table, in which every row lacks a view.


def draw_archives(seed, size=10):
    """Return the rows of either archive, and the rest."""
    first, rest = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=seed)
    second, rest = train_test_split(rest, train_size=size, stratify=y[rest], random_state=seed)
    return first, second, rest


first, second, rest = draw_archives(0)
X_train, halves, y_train = stack_unpaired(
    {"edges": (edges[first], y[first]), "wavelets": (wavelets[second], y[second])}
)
print(f"{X_train.shape[0]} rows, {np.isnan(X_train).mean():.0%} of the cells are missing")

# %%
# Objects matched by their distances within a class
# -------------------------------------------------

model = TomographicClassifier(views=halves, kernel="rbf", random_state=0).fit(X_train, y_train)
print(f"{len(model.meta_objects_)} pairs of an edge row and a wavelet row; for example {model.meta_objects_[0]}")
CorrespondenceDisplay.from_estimator(model, X_train, kind="distances")

# %%
# Twenty draws of the archives
# ----------------------------
# The two ways of putting objects together are compared with either archive alone, with the sum of both machines'
# decisions, and with an archive of as many pictures that has both views of each.


def accuracies(seed):
    """Return the test accuracy of each way, for archives drawn with this seed."""
    first, second, rest = draw_archives(seed)
    sources = {"edges": (edges[first], y[first]), "wavelets": (wavelets[second], y[second])}
    X_train, halves, y_train = stack_unpaired(sources)
    scores, added = {}, 0.0
    for order in ("tomographic", "cartesian"):
        model = TomographicClassifier(views=halves, kernel="rbf", correspondence=order, random_state=seed)
        scores[f"put together, {order}"] = model.fit(X_train, y_train).score(whole[rest], y[rest])
    for name, (rows, labels) in sources.items():
        machine = SVC().fit(rows, labels)
        scores[f"{name} alone"] = machine.score(whole[rest][:, halves[name]], y[rest])
        added = added + machine.decision_function(whole[rest][:, halves[name]])
    scores["decisions added"] = np.mean((added > 0) == y[rest])
    matched = TomographicClassifier(views=halves, kernel="rbf").fit(whole[first], y[first])
    scores["as many whole pictures"] = matched.score(whole[rest], y[rest])
    return scores


runs = [accuracies(seed) for seed in range(N_DRAWS)]
scores = {name: np.array([run[name] for run in runs]) for name in runs[0]}
records = []
for name, values in scores.items():
    error = 2 * values.std(ddof=1) / np.sqrt(len(values))
    records.append(
        {"method": name, "accuracy": values.mean(), "low": values.mean() - error, "high": values.mean() + error}
    )
LeaderboardDisplay.from_results(records, score="accuracy")

# %%
# What came out
# -------------


def compared(name, other):
    """Return the paired difference of two ways in words."""
    difference = scores[name] - scores[other]
    error = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
    if abs(difference.mean()) <= error:
        words = "is not clearly different from"
    else:
        words = "is better than" if difference.mean() > 0 else "is worse than"
    return f"'{name}' {words} '{other}': {difference.mean():+.3f} ± {error:.3f}."


for other in ("edges alone", "wavelets alone", "put together, cartesian", "decisions added", "as many whole pictures"):
    print(compared("put together, tomographic", other))

plt.show()
