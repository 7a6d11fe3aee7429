"""Rows for gradient boosting, and what two fitted models must agree on to be the same."""

from dataclasses import fields

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor

VIEWS = {"a": [0, 1, 2], "b": [3, 4], "c": [5]}
ARRAYS = (
    "winning_views_",
    "train_score_",
    "validation_score_",
    "feature_importances_",
    "view_importances_",
    "baseline_",
)


def make_rows(n=240, seed=0):
    """Return rows of three views, of which some lack one, and a signal in two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    signal = X[:, 0] + X[:, 3] * X[:, 4] + 0.4 * rng.normal(size=n)
    X[rng.random(n) < 0.2, :3] = np.nan
    X[rng.random((n, 6)) < 0.03] = np.nan
    X[:, 5] = rng.normal(size=n)
    return X, signal


def make_frame(n=240, seed=0):
    """Return a data frame with a column of text categories, and the signal of `make_rows`."""
    X, signal = make_rows(n, seed)
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    town = np.random.default_rng(seed + 1).integers(7, size=n)
    frame["town"] = pd.Categorical([None if number == 6 else f"town {number}" for number in town])
    return frame, signal + np.array([0.0, 1.5, 0.0, -1.5, 0.0, 1.5, 0.0])[town]


X, SIGNAL = make_rows()
FRAME, TOWN_SIGNAL = make_frame()
TWO = np.where(SIGNAL > 0, "yes", "no")
THREE = np.digitize(SIGNAL, [-0.6, 0.6])
GROUPS = np.arange(len(SIGNAL)) // 6
SMALL = {"n_estimators": 12, "min_samples_leaf": 5, "max_leaf_nodes": 6, "random_state": 3}
FRAME_VIEWS = {"a": list("uvw"), "b": ["x", "y", "town"]}
CASES = {
    "two classes": (ShareGradientBoostingClassifier(views=VIEWS, **SMALL), X, TWO),
    "three classes": (ShareGradientBoostingClassifier(views=VIEWS, **SMALL), X, THREE),
    "per view": (ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", **SMALL), X, THREE),
    "bandit": (
        ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", view_policy="exp3p", **SMALL),
        X,
        TWO,
    ),
    "uniform": (
        ShareGradientBoostingRegressor(views=VIEWS, trees="per_view", view_policy="uniform", **SMALL),
        X,
        SIGNAL,
    ),
    "early stopping": (
        ShareGradientBoostingClassifier(views=VIEWS, early_stopping=True, class_weight="balanced", **SMALL),
        X,
        TWO,
    ),
    "squared error": (ShareGradientBoostingRegressor(views=VIEWS, l2_regularization=1.0, **SMALL), X, SIGNAL),
    "quantile": (ShareGradientBoostingRegressor(loss="quantile", quantile=0.8, views=VIEWS, **SMALL), X, SIGNAL),
    "absolute error": (
        ShareGradientBoostingRegressor(loss="absolute_error", trees="per_view", views=VIEWS, **SMALL),
        X,
        SIGNAL,
    ),
    "categories": (
        ShareGradientBoostingClassifier(views=FRAME_VIEWS, **SMALL),
        FRAME,
        np.where(TOWN_SIGNAL > 0, "yes", "no"),
    ),
    "categories per view": (
        ShareGradientBoostingRegressor(views=FRAME_VIEWS, trees="per_view", **SMALL),
        FRAME,
        TOWN_SIGNAL,
    ),
    "monotonic": (
        ShareGradientBoostingRegressor(monotonic_cst=[1, 0, 0, -1, 0, 0], max_bins=20, **SMALL),
        X,
        SIGNAL,
    ),
}
"""Models with all settings that change what is recorded of a run, with their rows and labels."""


def raw_scores(model, X):
    """Return the raw scores of rows, whatever the model predicts."""
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(X)


def assert_identical(one, other, X):
    """Check that all that a fit sets is the same, bit for bit."""
    for name in ARRAYS:
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for field in fields(one.trees_):
        mine, others = getattr(one.trees_, field.name), getattr(other.trees_, field.name)
        assert mine.dtype == others.dtype
        assert_array_equal(mine, others, err_msg=field.name)
    assert_array_equal(one.binning_.edges, other.binning_.edges)
    assert (one.n_iter_, one._seed, one._horizon) == (other.n_iter_, other._seed, other._horizon)
    assert_array_equal(raw_scores(one, X), raw_scores(other, X))
