"""Models and rows on which gradient boosting in partitions is held against that in memory."""

from dataclasses import fields
from functools import cache

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.base import clone

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor

VIEWS = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7]}
Classifier, Regressor = ShareGradientBoostingClassifier, ShareGradientBoostingRegressor

CASES = {
    "two classes": (Classifier(), "two", ()),
    "three classes": (Classifier(class_weight="balanced"), "three", ("sample_weight",)),
    "class weights": (Classifier(class_weight={1: 3.0}), "two", ()),
    "early stopping": (Classifier(early_stopping=True, n_iter_no_change=2), "three", ("sample_weight",)),
    "groups": (Classifier(early_stopping=True), "two", ("groups",)),
    "views": (Classifier(trees="per_view", class_weight="balanced"), "two", ("sample_weight",)),
    "a bandit": (Classifier(trees="per_view", view_policy="exp3p", early_stopping=True), "three", ()),
    "view labels": (
        Classifier(trees="per_view", early_stopping=True, class_weight="balanced"),
        "three",
        ("sample_weight", "view_labels"),
    ),
    "categories": (Classifier(categorical_features=[2]), "three", ()),
    "a squared error": (Regressor(early_stopping=True), "number", ("sample_weight",)),
    "monotonic": (Regressor(monotonic_cst=[1, 0, 0, 0, -1, 0, 0, 0]), "number", ()),
    "a monotonic median": (Regressor(loss="absolute_error", monotonic_cst=[1] + [0] * 7), "number", ()),
    "an absolute error": (Regressor(loss="absolute_error", trees="per_view"), "number", ("sample_weight",)),
    "a quantile": (Regressor(loss="quantile", quantile=0.2, early_stopping=True), "number", ("groups",)),
}
QUICK = ("three classes", "view labels", "categories", "a quantile")


@cache
def rows(n=3000):
    """Return X, and what may come with it: three views, some of them missing, a column of few values, and gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    X[:, 2] = rng.integers(0, 6, n)
    X[:, 5] = np.where(rng.random(n) < 0.97, 0, X[:, 5])
    number = X[:, 0] + X[:, 4] ** 2 + np.isin(X[:, 2], [1, 4]) + 0.5 * X[:, 6] + rng.normal(size=n)
    X[rng.random((n, 8)) < 0.02] = np.nan
    X[rng.random(n) < 0.2, 3:6] = np.nan
    X[rng.random(n) < 0.2, 6:] = np.nan
    X[np.isnan(X[:, :3]).all(axis=1), 0] = 0.0
    weights = rng.random(n)
    weights[rng.random(n) < 0.1] = 0
    three = np.array(["no", "perhaps", "yes"])[np.digitize(number, [0.5, 2.0])]
    flipped = [np.where(rng.random(n) < 0.1, rng.permutation(three), three) for _ in VIEWS]
    beside = {
        "sample_weight": 3 * weights,
        "view_labels": np.column_stack(flipped),
        "groups": rng.integers(0, 150, n) * 7,
    }
    return X, {"number": number, "two": (number > 1).astype(int), "three": three}, beside


def problem(case):
    """Return a model that was not fitted, X, y and what comes with them."""
    model, target, named = CASES[case]
    X, targets, beside = rows()
    model = clone(model).set_params(views=VIEWS, n_estimators=3, max_leaf_nodes=6, random_state=3)
    return model, X, targets[target], {name: beside[name] for name in named}


@cache
def local_model(case):
    """Return the model of rows in memory."""
    model, X, y, beside = problem(case)
    return model.fit(X, y, **beside)


def assert_same(one, other):
    """All that a fit says is the same, bit for bit."""
    for name in ("baseline_", "train_score_", "validation_score_", "winning_views_", "feature_importances_"):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("trees_", "binning_"):
        for field in fields(getattr(one, name)):
            mine, theirs = (getattr(getattr(model, name), field.name) for model in (one, other))
            assert_array_equal(mine, theirs, err_msg=f"{name} {field.name}")
    assert one.n_iter_ == other.n_iter_
    assert one.n_samples_fit_ == other.n_samples_fit_
