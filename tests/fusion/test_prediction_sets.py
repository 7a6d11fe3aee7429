"""Sets of classes: `predict_set` and `set_coverage`."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import fuselearn
from fuselearn import FusionClassifier
from fuselearn.exceptions import UnattainableCoverageWarning
from fuselearn.fusion import prediction_sets
from fuselearn.fusion.arm_weights import OutOfFoldValues
from fuselearn.fusion.fused_arms import LocalNewRows
from fuselearn.fusion.pattern_values import listed_patterns, rows_to_mask
from fuselearn.fusion.prediction_sets import SetThresholds, conformal_quantile, independent_rows, set_scores
from tests.fusion.fusion_data import VIEWS, table
from tests.fusion.partition_problems import as_many, local_model
from tests.naive import prediction_sets as naive

pytestmark = pytest.mark.filterwarnings("ignore:X has .* gross outlier:UserWarning")

PATTERNS = np.array(list(product([True, False], repeat=3)))


def dropped(X, seed=0, share=0.3):
    """Return rows in which views are missing at random; every row keeps one."""
    X, rng = X.copy(), np.random.default_rng(seed)
    gone = rng.random((len(X), len(VIEWS))) < share
    gone[np.arange(len(X)), rng.integers(len(VIEWS), size=len(X))] = False
    for columns, rows in zip(VIEWS.values(), gone.T):
        X[np.ix_(rows, np.arange(X.shape[1])[columns])] = np.nan
    return X


def masked(X, views):
    """Return rows that have just some views."""
    X = X.copy()
    for columns, is_there in zip(VIEWS.values(), views):
        if not is_there:
            X[:, columns] = np.nan
    return X


@pytest.fixture(scope="module")
def three():
    X, y = table(150, 3, distance=0.8)
    return FusionClassifier(views=VIEWS, max_fits=12, random_state=0).fit(dropped(X), y)


def thresholds_of(model, coverage):
    return SetThresholds(model._out_of_fold, model._calibration, model.class_weights_, coverage)


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(0.05, 0.99))
def test_the_quantile_is_the_naive_one(seed, n, coverage):
    rng = np.random.default_rng(seed)
    scores, weights = rng.integers(0, 8, n) / 8, rng.random(n)
    wanted = naive.quantile(list(zip(scores, weights)), coverage, n)
    assert conformal_quantile(scores, weights, coverage, n) == wanted


def test_quantiles_of_few_scores():
    ones = np.ones(9)
    assert conformal_quantile(np.arange(9.0), ones, 0.9, 9) == 8
    assert conformal_quantile(np.arange(9.0), ones, 0.91, 9) == np.inf
    assert conformal_quantile(np.empty(0), np.empty(0), 0.5, 0) == np.inf
    assert independent_rows(ones, np.arange(9)) == 9
    assert independent_rows(ones, np.repeat([0, 1, 2], 3)) == 3


def test_values_with_fewer_views_are_what_predictions_without_them_have(three):
    X, _ = table(40, 3, seed=5)
    rows, kept = LocalNewRows(three, X), three._out_of_fold
    for views in PATTERNS:
        # Arms of all views have absent ones filled in, so that their values are those of rows with just these views.
        masked_rows = LocalNewRows(three, masked(X, views))
        n_views, n_targets = 3, 3
        sums, joint, weights = np.zeros((n_views, 40, n_targets)), np.zeros((40, n_targets)), np.zeros(n_views + 1)
        for arm, (view, _) in enumerate(three._arm_columns):
            if three.arm_weights_[arm] > 0:
                part = joint if view is None else sums[view]
                part += three.arm_weights_[arm] * three._arm_values(masked_rows if view is None else rows, arm)
                weights[-1 if view is None else view] += three.arm_weights_[arm]
        assert_allclose(kept.view_weights, weights)
        values = OutOfFoldValues(
            rows.present, np.ones((40, 3)), np.ones(40), np.arange(40), sums, weights, views[None], joint[None],
            False, True, None,
        )  # fmt: skip
        found = values.logits(views, np.arange(40), three._calibration)
        assert_allclose(found, three._logits(masked(X, views)), atol=1e-9)


def test_values_of_training_rows_are_the_published_ones():
    X, y = table(120, 3)
    X = dropped(X)
    model = FusionClassifier(views=VIEWS, learners=GaussianNB(), max_fits=4, random_state=0).fit(X, y)
    values = model._out_of_fold
    for views in np.unique(values.present, axis=0):
        rows = np.flatnonzero((values.present == views).all(axis=1))
        logits = values.logits(views, rows, model._calibration)
        assert_allclose(logits, model.out_of_sample_decision_[rows], atol=1e-4)


@pytest.mark.parametrize("enough", [10, 40, 1000])
def test_thresholds_are_the_naive_ones(three, enough, monkeypatch):
    monkeypatch.setattr(prediction_sets, "ENOUGH_ROWS", enough)
    values = three._out_of_fold
    for views in PATTERNS[:4]:
        rows = []
        for row in range(len(values.present)):
            own, has_them = values.present[row], bool((values.present[row] | ~views).all())
            logits = values.logits(views, np.array([row]), three._calibration)[0] if has_them else None
            p = None if logits is None else np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
            rows.append((own, None if p is None else naive.scores(p.tolist()), values.targets[row], 1.0))
        for coverage in (0.5, 0.8, 0.9):
            found = thresholds_of(three, coverage)(views).score
            assert found == pytest.approx(naive.threshold(rows, views, coverage, enough), abs=1e-6)


@pytest.mark.filterwarnings("ignore:Sets of coverage:fuselearn.exceptions.UnattainableCoverageWarning")
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 5.0}])
def test_sets_have_the_predicted_class_and_grow_with_coverage(class_weight):
    X, y = table(120, 3, distance=0.5)
    y = np.where(y == 2, np.arange(120) % 2, y)
    y[:9] = 2
    model = FusionClassifier(views=VIEWS, class_weight=class_weight, max_fits=4, random_state=0).fit(dropped(X), y)
    X_new = np.vstack([dropped(table(60, 3, seed=3)[0], seed=1, share=0.5), np.full((1, 6), np.nan)])
    last = np.zeros((61, 3), dtype=bool)
    predicted = np.searchsorted(model.classes_, model.predict(X_new))
    for coverage in (0.05, 0.5, 0.8, 0.9, 0.97, 0.9999):
        sets = model.predict_set(X_new, coverage)
        assert sets.dtype == bool
        assert sets.shape == (61, 3)
        assert sets[np.arange(61), predicted].all()
        assert (sets >= last).all()
        last = sets
    assert last.all()  # so few rows cannot promise that much


def test_a_coverage_that_so_few_rows_cannot_promise_is_told(three):
    rows = table(9, 3)[0]
    with pytest.warns(UnattainableCoverageWarning, match=r"coverage 0\.9999 need 9,999 training rows.*all classes"):
        assert three.predict_set(rows, 0.9999).all()
    three.predict_set(rows, 0.9)  # warnings are errors here
    assert three.set_coverage(0.9999)["coverage"].tolist() == [1, 1, 1]  # a table says so itself


def test_classes_of_equal_probability_are_not_all_in_a_set():
    scores = set_scores(np.zeros((1, 10)), np.ones(10))[0]
    assert scores[0] == 0
    assert (np.diff(scores) > 0).all()
    weights = np.full(10, 100.0)
    assert (scores <= conformal_quantile(scores, weights, 0.85, 1e6)).sum() == 9


def test_coverage_by_class_and_by_views(three):
    by_class = three.set_coverage(0.8)
    assert by_class["class"].tolist() == [0, 1, 2]
    assert by_class["rows"].sum() == 150
    by_views = three.set_coverage(0.8, by="views")
    assert by_views["rows"].sum() == 150
    assert by_views["views"][0] == "a + b + noise"
    assert by_views["borrowed"][0] == 0
    assert (by_views["borrowed"][1:] > 0).all()
    for table_ in (by_class, by_views):
        assert np.average(table_["coverage"], weights=table_["rows"]) >= 0.75
        assert (table_["mean_size"] >= 1).all()
    with pytest.raises(ValueError, match="by must be"):
        three.set_coverage(by="row")


def test_a_pattern_of_hardly_any_rows_takes_the_threshold_of_fewer_views():
    X, y = table(90, 2)
    X[5:, 5] = np.nan
    model = FusionClassifier(views=VIEWS, max_fits=4, random_state=0).fit(X, y)
    threshold = thresholds_of(model, 0.9)(np.ones(3, dtype=bool))
    assert threshold.views.tolist() == [True, True, False]
    assert threshold.n_own == 85
    assert threshold.n_borrowed == 5
    assert model.set_coverage(by="views")["from"].tolist() == ["a + b", "a + b"]


def test_views_that_no_training_row_has_together():
    X, y = table(90, 2)
    X[::2, :3], X[1::2, 3:5] = np.nan, np.nan
    model = FusionClassifier(views=VIEWS, max_fits=4, random_state=0).fit(X, y)
    threshold = thresholds_of(model, 0.9)(np.ones(3, dtype=bool))
    assert threshold.views.sum() == 2
    assert len(model.predict_set(table(9, 2)[0])) == 9


def test_groups_count_as_one_row(three):
    values = three._out_of_fold
    few = replace(values, units=values.units // 15, own=replace(values.own, units=values.own.units // 15))
    found = SetThresholds(few, three._calibration, three.class_weights_, 0.95)(np.ones(3, dtype=bool))
    assert found.score == np.inf  # ten groups
    assert found.views.all()


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 90, "0.9", None, True, np.nan])
def test_a_coverage_must_be_a_share(three, coverage):
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1, such as"):
        three.predict_set(np.zeros((1, 6)), coverage)


def test_saved_models_have_the_same_sets_and_earlier_ones_say_why_they_have_none(three, tmp_path):
    X = dropped(table(50, 3, seed=8)[0])
    fuselearn.save(three, tmp_path / "model")
    loaded = fuselearn.load(tmp_path / "model")
    assert_array_equal(loaded.predict_set(X), three.predict_set(X))
    del loaded._out_of_fold
    fuselearn.save(loaded, tmp_path / "model")
    earlier = fuselearn.load(tmp_path / "model")
    assert_array_equal(earlier.predict(X), three.predict(X))
    with pytest.raises(AttributeError, match="saved by an earlier version"):
        earlier.predict_set(X)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("targets", lambda array: array[:, :2]),
        ("units", lambda array: array - 1),
        ("view_sums", lambda array: array[:2]),
        ("weights", lambda array: -array),
        ("present", lambda array: array[:, :1]),
        ("joint_sums", lambda array: array[:, :5]),
    ],
)
def test_values_that_do_not_agree_are_refused(three, name, change):
    broken = replace(three._out_of_fold, **{name: change(getattr(three._out_of_fold, name))})
    with pytest.raises(ValueError):
        broken.validate()
    model = clone(three)
    model.__dict__.update({**vars(three), "_out_of_fold": replace(three._out_of_fold, present=np.ones((150, 2), bool))})
    with pytest.raises(ValueError, match="out-of-fold values of other views or classes"):
        model.validate()


@pytest.mark.parametrize(("n_views", "n_patterns"), [(1, 1), (3, 7), (6, 63), (8, 18)])
def test_listed_patterns(n_views, n_patterns):
    present = np.ones((30, n_views), dtype=bool)
    present[:10, : n_views // 2] = False
    patterns = listed_patterns(present)
    assert patterns.any(axis=1).all()
    assert patterns.all(axis=1).any()
    assert len(np.unique(patterns, axis=0)) == len(patterns)
    assert len(patterns) == n_patterns
    assert rows_to_mask(1, 1) == 4096
    assert rows_to_mask(100, 100) == 512


@pytest.mark.parametrize("case", ["two classes", pytest.param("view labels", marks=pytest.mark.long)])
def test_many_rows_predict_rows_with_fewer_views_by_the_models_of_the_folds(case, monkeypatch):
    as_many(monkeypatch)
    model = local_model(case)
    values = model._out_of_fold
    assert values.joint_everywhere
    assert values.own is not None
    assert_array_equal(values.present, values.own.present)  # all rows, here
    for views in np.unique(values.present, axis=0):
        rows = np.flatnonzero((values.present == views).all(axis=1))
        assert_allclose(values.logits(views, rows, model._calibration), values.own.logits[rows], atol=1e-4)
    rows = values.having(np.array([True, False, False]))
    found = values.logits(np.array([True, False, False]), rows, model._calibration)
    assert np.isfinite(found).all()
    assert len(rows) == len(values.present)
    assert (model.set_coverage(by="views")["coverage"] > 0.88).all()


@pytest.mark.long
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_coverage_holds_for_each_pattern_of_views(share):
    """Rows that lack views in training, whose arms of all views have these filled in, and rows that do not."""
    covered = {tuple(views): [] for views in PATTERNS[:-1].tolist()}
    for seed in range(4):
        X, y = table(240, 3, seed=seed, distance=0.7)
        X_new, y_new = table(400, 3, seed=100 + seed, distance=0.7)
        model = FusionClassifier(views=VIEWS, max_fits=12, random_state=seed).fit(dropped(X, seed, share), y)
        for views, hits in covered.items():
            sets = model.predict_set(masked(X_new, views), coverage=0.9)
            hits.extend(sets[np.arange(400), y_new])
    for views, hits in covered.items():
        assert np.mean(hits) > 0.86, views
    assert 0.88 < np.mean(list(covered.values())) < 0.95
