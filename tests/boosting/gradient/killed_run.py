"""A fit with a checkpoint in a process that kills itself at a given point, and leaves nothing but its log."""

import sys

import numpy as np

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.boosting.gradient import gradient_log, gradient_rounds
from fuselearn.persistence import atomic_write
from tests.killed_process import killed_at

POINTS = {
    "after a round": (gradient_log.GradientLog, "note"),
    "while a tree grows": (gradient_rounds, "grow_tree"),
    "while the log is written": (atomic_write.os, "replace"),
}
"""Functions within or after which the process is killed."""


def fit(kind, n_rounds, log=None):
    """Return a model of a kind, fitted on rows that are always the same, and these rows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 6))
    X[rng.random(600) < 0.1, :3] = np.nan
    target = np.nan_to_num(X[:, 0]) + X[:, 4] + rng.normal(size=len(X))
    settings = {"views": [[0, 1, 2], [3, 4, 5]], "n_estimators": n_rounds, "random_state": 2, "max_leaf_nodes": 8}
    if kind == "bandit":
        model = ShareGradientBoostingClassifier(trees="per_view", view_policy="exp3p", **settings)
        return model.fit(X, target > 0, checkpoint=log), X
    if kind == "four classes":
        model = ShareGradientBoostingClassifier(early_stopping=True, **settings)
        return model.fit(X, np.digitize(target, [-1, 0, 1]), checkpoint=log), X
    model = ShareGradientBoostingRegressor(loss="absolute_error", **settings)
    return model.fit(X, target, checkpoint=log), X


def main():
    """Fit, and kill this process when the function of the point was called so often."""
    kind, n_rounds, log, point, count = sys.argv[1:]
    with killed_at(*POINTS[point], int(count), returned=point == "after a round"):
        fit(kind, int(n_rounds), log)


if __name__ == "__main__":
    main()
