"""The same model, bit for bit, whatever threads, seeds and formats do."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from fuselearn import (
    IndependentBoostClassifier,
    ShareBoostClassifier,
)
from fuselearn.bandits import Exp3P
from fuselearn.learners import Stump, Tree
from tests.boosting.iris_views import VIEWS, X, assert_same_model, y


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("kind", "resample"),
    [
        (ShareBoostClassifier, False),
        (IndependentBoostClassifier, True),
        pytest.param(ShareBoostClassifier, True, marks=pytest.mark.long),
        pytest.param(IndependentBoostClassifier, False, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("estimator", [None, "stump", "tree", "linear", "forest"])
def test_threads_do_not_change_a_bit(kind, estimator, resample):
    rng = np.random.default_rng(0)
    n = 6000  # three blocks of rows
    target = rng.integers(0, 3, n)
    table = rng.normal(size=(n, 6)) + 0.4 * target[:, None]
    table[rng.random(n) < 0.2, :3] = np.nan
    if estimator == "forest":
        estimator = RandomForestClassifier(3, max_depth=3)
        table, target = table[:300], target[:300]
    models = [
        kind(
            estimator,
            views=[slice(0, 3), slice(3, 6)],
            n_estimators=4,
            resample=resample,
            n_jobs=n_jobs,
            random_state=5,
        ).fit(table, target)
        for n_jobs in (None, 2, 3)
    ]
    for other in models[1:]:
        assert_same_model(models[0], other)
        assert_array_equal(models[0].decision_function(table), other.decision_function(table))


def test_same_seed_same_model_other_seed_other_model():
    def fit(seed):
        return ShareBoostClassifier(views=VIEWS, n_estimators=15, view_policy="exp3p", random_state=seed).fit(X, y)

    assert_same_model(fit(0), fit(0))
    assert not np.array_equal(fit(0).winning_arms_, fit(1).winning_arms_)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("estimator", [None, "stump", "tree", "linear"])
def test_blas_threads_and_other_fits_do_not_change_a_bit(estimator):
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, 3000)
    table = rng.normal(size=(3000, 120)) + 0.1 * target[:, None]

    def fit(_):
        return ShareBoostClassifier(estimator, views=[slice(0, 60), slice(60, 120)], n_estimators=3).fit(table, target)

    with threadpool_limits(1):
        alone = fit(None)
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(fit, range(3)):
            assert_same_model(alone, other)


def test_random_classifiers_draw_anew_in_every_round_and_arm():
    seen = []

    class Noted(RandomForestClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(self.random_state)
            return super().fit(X, y, sample_weight)

    ShareBoostClassifier(Noted(2, max_depth=2), views=VIEWS, n_estimators=4, random_state=0).fit(X, y)
    assert len(seen) == len(set(seen)) == 8


def test_scikit_learns_settings_hold_in_threads_too():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1))
    with config_context(enable_metadata_routing=True):
        one, three = (
            ShareBoostClassifier(pipeline, views=VIEWS, n_estimators=5, n_jobs=n_jobs, random_state=0).fit(X, y)
            for n_jobs in (1, 3)
        )
    assert_same_model(one, three)


@pytest.mark.parametrize("size", [1e308, 5e-324])
def test_weights_may_be_of_any_size(size):
    plain = ShareBoostClassifier("stump", views=VIEWS, n_estimators=5).fit(X, y)
    assert_same_model(plain, clone(plain).fit(X, y, sample_weight=np.full(150, size)))


@pytest.mark.parametrize("settings", [{}, {"view_policy": Exp3P()}, {"estimator": Tree()}, {"estimator": SVC()}])
def test_pickle_and_clone(settings):
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5, random_state=0, **settings).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert clone(model).get_params().keys() == model.get_params().keys()


def test_stump_name_and_object_are_the_same():
    assert_same_model(
        ShareBoostClassifier("stump", views=VIEWS, n_estimators=5).fit(X, y),
        ShareBoostClassifier(Stump(), views=VIEWS, n_estimators=5).fit(X, y),
    )


def test_pandas_and_polars_and_numpy_give_one_model():
    columns = ["sl", "sw", "pl", "pw"]
    by_name = {"sepal": ["sl", "sw"], "petal": slice("pl", "pw")}
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    reference = ShareBoostClassifier(views=VIEWS, n_estimators=10).fit(X, names)
    frames = [
        (pd.DataFrame(X, columns=columns), pd.Series(names)),
        (pl.DataFrame(X, schema=columns), pl.Series(names)),
        (pl.DataFrame(X, schema=columns).to_arrow(), names),
    ]
    for frame, labels in frames:
        model = ShareBoostClassifier(views=by_name, n_estimators=10).fit(frame, labels)
        assert_same_model(model, reference)
        assert_array_equal(model.predict(frame), reference.predict(X))
        assert_array_equal(model.feature_names_in_, columns)


def test_single_precision_is_read_without_a_copy_in_between():
    seen = []

    class Noted(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y, sample_weight)

    single = X.astype(np.float32)
    model = ShareBoostClassifier(Noted(max_depth=1), views=VIEWS, n_estimators=2).fit(single, y)
    assert all(np.shares_memory(rows, single) for rows in seen)
    assert_array_equal(model.predict(single), model.predict(X))
