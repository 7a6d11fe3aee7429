"""The view to measure next: `next_view`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import fuselearn
from fuselearn import FusionClassifier
from fuselearn.fusion.view_acquisition import BENEFIT, RIDGE, ExpectedGains, gain_features, plans
from tests.fusion.fusion_data import VIEWS, table
from tests.fusion.partition_problems import as_many, local_model
from tests.fusion.test_prediction_sets import dropped, masked
from tests.naive import view_acquisition as naive

pytestmark = pytest.mark.filterwarnings("ignore:X has .* gross outlier:UserWarning")
NAMES = list(VIEWS)


@pytest.fixture(scope="module")
def three():
    X, y = table(150, 3, distance=0.8)
    return FusionClassifier(views=VIEWS, max_fits=12, random_state=0).fit(dropped(X), y)


@pytest.fixture(scope="module")
def parity():
    """Two views of which neither alone knows anything, and both together all."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(400, 2))
    X = signs + 0.05 * rng.normal(size=(400, 2))
    y = (signs.prod(axis=1) > 0).astype(int)
    model = FusionClassifier(views={"a": [0], "b": [1]}, learners="rbf", random_state=0)
    return model.fit(X, y), X


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_features_are_the_naive_ones(seed, n_classes):
    p = np.random.default_rng(seed).dirichlet(np.ones(n_classes) / 2, size=6)
    assert_allclose(gain_features(p), [naive.features(row) for row in p.tolist()], atol=1e-7)
    assert_allclose(gain_features(np.eye(n_classes)), 0)


def test_the_view_is_the_naive_one(three):
    values, calibration = three._out_of_fold, three._calibration
    gains = ExpectedGains(values, calibration, three.class_weights_)
    X = np.vstack([dropped(table(12, 3, seed=7)[0], seed=2, share=0.6), np.full((1, 6), np.nan)])
    present = np.column_stack([~np.isnan(X[:, np.arange(6)[columns]]).all(axis=1) for columns in VIEWS.values()])
    p = three.predict_proba(X)
    costs = {"a": 2.0, "b": 1.0, "noise": 0.5}
    for min_gain in (0.0, 0.02, 0.2):
        chosen = three.next_view(X, costs=costs, min_gain=min_gain)
        for row, views, found in zip(p, present, chosen):

            def gain_of(plan, row=row, views=views):
                more = np.isin(np.arange(3), plan)
                rows = values.having(views | more)
                before, after = (
                    gains.probabilities(values.logits(some, rows, calibration)) for some in (views, views | more)
                )
                expected = naive.gain(
                    before.tolist(), after.tolist(), values.weights[rows], row.tolist(), RIDGE, BENEFIT
                )
                assert gains.of_views(views, more, row[None])[0] == pytest.approx(expected, abs=1e-6)
                return expected

            wanted = naive.next_view(gain_of, np.flatnonzero(~views).tolist(), list(costs.values()), min_gain)
            assert found == (None if wanted is None else NAMES[wanted])


def test_complete_rows_and_rows_that_gain_little_need_no_view(three):
    X, _ = table(20, 3, seed=4)
    assert three.next_view(X, min_gain=0.0).tolist() == [None] * 20
    some = masked(X, [True, False, False])
    assert three.next_view(some, min_gain=1.0).tolist() == [None] * 20
    assert set(three.next_view(some, min_gain=0.0)) <= {"b", "noise", None}
    assert three.next_view(some).dtype == object


def test_an_empty_row_is_given_the_best_view_for_its_cost(three):
    nothing = np.full((3, 6), np.nan)
    assert three.next_view(nothing).tolist() == ["a"] * 3
    assert three.next_view(nothing, costs={"a": 1e6}).tolist() == ["b"] * 3


def test_views_that_help_only_together_are_measured(parity):
    model, X = parity
    rows = X[:30].copy()
    rows[:, 1:] = np.nan
    assert set(model.next_view(rows)) == {"b"}
    rows[:] = np.nan
    assert set(model.next_view(rows)) <= {"a", "b"}
    rows[:] = X[:30]
    assert set(model.next_view(rows)) == {None}


def test_a_view_that_hardly_any_row_has_is_not_proposed():
    X, y = table(90, 2)
    X[12:, :3] = np.nan
    model = FusionClassifier(views=VIEWS, max_fits=8, random_state=0).fit(X, y)
    assert "a" not in model.next_view(masked(table(9, 2)[0], [False, True, False]), min_gain=0.0)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"costs": {"c": 1}}, ValueError, r"costs names the view 'c'; the model has \['a', 'b', 'noise'\]"),
        ({"costs": {"a": 0}}, ValueError, "costs must be numbers above 0; got 0 for the view 'a'"),
        ({"costs": {"a": "5"}}, ValueError, "costs must be numbers above 0; got '5'"),
        ({"costs": [1, 2, 3]}, TypeError, "costs must be a dict of view to cost, or None; got list"),
        ({"min_gain": -1}, ValueError, "min_gain must be a probability from 0 to 1"),
        ({"min_gain": None}, ValueError, "min_gain must be a probability from 0 to 1"),
        ({"min_gain": 5}, ValueError, "got 5"),
    ],
)
def test_settings_that_are_wrong(three, settings, error, words):
    with pytest.raises(error, match=words):
        three.next_view(np.zeros((2, 6)), **settings)


def test_saved_models_choose_the_same_views(three, tmp_path):
    X = dropped(table(40, 3, seed=8)[0], share=0.6)
    fuselearn.save(three, tmp_path / "model")
    assert_array_equal(fuselearn.load(tmp_path / "model").next_view(X), three.next_view(X))


def test_sets_of_many_missing_views_are_few():
    assert len(list(plans(np.arange(6)))) == 63
    assert len(list(plans(np.arange(10)))) == 10 + 45 + 1
    assert list(plans(np.array([2, 5]))) == [[2], [5], [2, 5]]
    assert list(plans(np.empty(0, dtype=int))) == []


def test_many_rows(monkeypatch):
    as_many(monkeypatch)
    model = local_model("two classes")
    X = np.full((5, 8), np.nan)
    assert len(set(model.next_view(X))) == 1
    assert model.next_view(X)[0] in ("a", "b")
    X[:] = 0.5
    assert model.next_view(X, min_gain=0.0).tolist() == [None] * 5


def test_dask_collections_and_files(three, tmp_path, monkeypatch):
    dask = pytest.importorskip("dask")  # its scheduler, as its name makes Dask warn where a test has left a client
    dask_array = pytest.importorskip("dask.array")
    pandas = pytest.importorskip("pandas")
    X = dropped(table(40, 3, seed=8)[0], share=0.6)
    views, sets = three.next_view(X, min_gain=0.01), three.predict_set(X, coverage=0.8)
    there = dask_array.from_array(X, chunks=(15, 6))
    assert_array_equal(three.next_view(there, min_gain=0.01).compute(scheduler=dask.get), views)
    assert_array_equal(three.predict_set(there, coverage=0.8).compute(scheduler=dask.get), sets)
    pandas.DataFrame(X, columns=list("abcdef")).to_parquet(tmp_path / "rows.parquet")
    assert_array_equal(three.next_view([tmp_path / "rows.parquet"], min_gain=0.01), views)
    assert_array_equal(three.predict_set([tmp_path / "rows.parquet"], coverage=0.8), sets)
