"""Small data with a useful, a useless and a weak view, and one model of each kind for it."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    AugmentedKernelClassifier,
    ConcatenatedClassifier,
    IndependentBoostClassifier,
    MKLClassifier,
    ShareBoostClassifier,
    SuperKernelClassifier,
    TomographicClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)

VIEWS = {"signal": slice(0, 3), "noise": slice(3, 8), "weak": slice(8, 10)}
COLUMNS = {"signal": range(3), "noise": range(3, 8), "weak": range(8, 10)}
MODELS = {
    "share": ShareBoostClassifier(views=VIEWS, n_estimators=12),
    "exp3p": ShareBoostClassifier(views=VIEWS, n_estimators=30, view_policy="exp3p", random_state=0),
    "independent": IndependentBoostClassifier(views=VIEWS, n_estimators=12),
    "voting": ViewVotingClassifier(LogisticRegression(), views=VIEWS, voting="sum"),
    "stacking": ViewStackingClassifier(
        LogisticRegression(), views=VIEWS, stack_method="decision_function", random_state=0
    ),
    "concatenated": ConcatenatedClassifier(LogisticRegression(), views=VIEWS),
    "takes NaN": ConcatenatedClassifier(DecisionTreeClassifier(max_depth=3, random_state=0), views=VIEWS),
    "super kernel": SuperKernelClassifier(views=VIEWS, random_state=0),
    "mkl": MKLClassifier(views=VIEWS, kernel="linear", weights="mkl"),
    "tomographic": TomographicClassifier(views=VIEWS, random_state=0),
    "augmented": AugmentedKernelClassifier(views=VIEWS),
}
"""Never fitted themselves: tests fit clones, so that no test changes the model of another."""


def make_rows(n=240, n_classes=2, seed=0):
    """One view that tells the classes, one of pure noise, one that tells a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, 10))
    X[:, :3] += 1.6 * np.eye(n_classes, 3)[y]
    X[:, 8] += 0.4 * y
    return X, y
