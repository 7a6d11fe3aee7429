"""Models and rows on which a fusion in partitions is held against one in memory."""

from functools import cache

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from fuselearn import FusionClassifier
from fuselearn.fusion.base_models.boosted_trees import BoostingSettings

VIEWS = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7]}
N_ROWS = 900
FEW_ROUNDS = BoostingSettings(n_rounds=2, max_leaf_nodes=4, learning_rate=0.3, min_samples_leaf=5.0)
FITTED = ("arm_weights_", "noise_rates_", "class_prior_", "class_weights_", "view_importances_")
"""Attributes that are floats."""

Fusion = FusionClassifier
FILLED_NB = make_pipeline(SimpleImputer(keep_empty_features=True), GaussianNB())
CASES = {
    "two classes": (Fusion(), "two", ()),
    "weights": (Fusion(class_weight="balanced"), "three", ("sample_weight",)),
    "view labels": (Fusion(), "three", ("sample_weight", "view_labels")),
    "groups": (Fusion(consensus=False), "two", ("groups",)),
    "a subsample": (Fusion(learners={"nb": FILLED_NB, "linear": "linear"}), "three", ("groups",)),
}


def as_many(monkeypatch):
    """Let a few hundred rows count as many, and let their fit take little time."""
    from fuselearn.fusion import arm_fitting, class_matrices, local_fusion, partitioned_fusion
    from fuselearn.fusion.base_models import catalogue

    monkeypatch.setattr(catalogue, "MANY_ROWS", 400)
    for module in (local_fusion, partitioned_fusion):
        monkeypatch.setattr(module, "n_folds_of", lambda n_rows: 3)
    monkeypatch.setattr(local_fusion, "boosting_settings", lambda n_rows, seed: FEW_ROUNDS)
    monkeypatch.setattr(arm_fitting, "LANDMARKS", 20)
    monkeypatch.setattr(arm_fitting, "SUBSAMPLE_ROWS", 300)
    # Three classes have matrices, however little these pay.
    monkeypatch.setattr(class_matrices, "LEAST_GAIN", -1.0)
    monkeypatch.setattr(class_matrices, "LEAST_NATS", -1e9)


@cache
def rows(n=N_ROWS):
    """Return X, and what may come with it: three views, some of them missing, gaps, outliers, and unequal weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    X[:, 2] = rng.integers(0, 6, n)
    X[:, 5] = np.where(rng.random(n) < 0.9, 0, X[:, 5])
    number = X[:, 0] + X[:, 4] ** 2 + np.isin(X[:, 2], [1, 4]) + 0.5 * X[:, 6] + 0.5 * rng.normal(size=n)
    X[rng.random((n, 8)) < 0.02] = np.nan
    X[rng.random(n) < 0.2, 3:6] = np.nan
    X[rng.random(n) < 0.2, 6:] = np.nan
    X[np.isnan(X[:, :3]).all(axis=1), 0] = 0.0
    X[[n // 3, n - 2], 1] = 1e20, -1e12
    weights = rng.random(n)
    weights[rng.random(n) < 0.1] = 0
    weights[5] = 1e-12
    three = np.array(["no", "perhaps", "yes"])[np.digitize(number, [0.5, 2.0])]
    own = np.array([np.where(rng.random(n) < 0.1, rng.permutation(three), three) for _ in VIEWS], dtype=object).T
    own[rng.random(own.shape) < 0.1] = None
    beside = {"sample_weight": 3 * weights, "view_labels": own, "groups": rng.integers(0, 150, n) * 7}
    return X, {"two": (number > 1).astype(int), "three": three}, beside


def problem(case):
    """Return a model that was not fitted, X, y and what comes with them."""
    model, target, named = CASES[case]
    X, targets, beside = rows()
    model = clone(model).set_params(views=VIEWS, random_state=3)
    return model, X, targets[target], {name: beside[name] for name in named}


@cache
def local_model(case):
    """Return the model of rows in memory, which the caller has made many."""
    model, X, y, beside = problem(case)
    fitted = model.fit(X, y, **beside)
    assert fitted._by_sums
    return fitted


def assert_same(one, other, *, exact=False):
    """All that a fit says is the same, floats within 1e-9 or bit for bit."""
    close = assert_array_equal if exact else lambda a, b, **more: assert_allclose(a, b, rtol=0, atol=1e-9, **more)
    assert_array_equal(one.classes_, other.classes_)
    assert one.arms_ == other.arms_
    assert (one.label_columns_, one.n_fits_) == (other.label_columns_, other.n_fits_)
    assert one.out_of_sample_scores_.keys() == other.out_of_sample_scores_.keys()
    has_matrices = one._by_sums and len(one.classes_) > 2
    assert (one.arm_matrices_ is not None) == (other.arm_matrices_ is not None) == has_matrices
    for name in (*FITTED, *(["arm_matrices_"] if has_matrices else [])):
        close(getattr(one, name), getattr(other, name), err_msg=name)
    close(list(one.out_of_sample_scores_.values()), list(other.out_of_sample_scores_.values()), err_msg="scores")
    mine, theirs = one.leaderboard_, other.leaderboard_
    for name in mine.columns:
        if mine[name].dtype.kind == "f":
            close(mine[name], theirs[name], err_msg=name)
        else:
            assert_array_equal(mine[name], theirs[name], err_msg=name)
    X, _, _ = rows()
    close(one._logits(X), other._logits(X), err_msg="logits")
    for part, of_other in ((one._out_of_fold, other._out_of_fold), (one._out_of_fold.own, other._out_of_fold.own)):
        for name, array in vars(part).items() if part is not None else ():
            if isinstance(array, np.ndarray):  # in single precision
                assert_allclose(array, vars(of_other)[name], rtol=0, atol=1e-5, err_msg=name)
    for mine, theirs in zip(one.suspects(30), other.suspects(30)):
        assert {**mine, "probability": 0} == {**theirs, "probability": 0}
        close(mine["probability"], theirs["probability"])
