"""Absent views that are filled in from the others, for arms of all views."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from fuselearn import FusionClassifier, load, save
from fuselearn.data import ViewBlocks
from fuselearn.fusion.base_models import absent_views
from fuselearn.fusion.base_models.absent_views import fit_view_imputer
from fuselearn.fusion.base_models.catalogue import ALL_VIEWS
from tests.fusion.fusion_data import ONE_PASS, VIEWS, table
from tests.naive.fusion_arms import component_steps, conditional_mean


def holed(n_rows=40, widths=(3, 4, 5), share=0.4, seed=0):
    """Rows of three components, of which views are missing at random; every row has one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, sum(widths))) + 0.3 * rng.normal(size=(n_rows, sum(widths)))
    present = rng.random((n_rows, len(widths))) > share
    present[np.arange(n_rows), rng.integers(len(widths), size=n_rows)] = True
    view_of = np.repeat(np.arange(len(widths)), widths)
    complete = 5 + 10 * X
    X = np.where(present[:, view_of], complete, np.nan)
    columns = [np.flatnonzero(view_of == view) for view in range(len(widths))]
    return complete, ViewBlocks.of(X, list("abc"), columns)


def scaled(X, imputer):
    return np.where(np.isnan(X), np.nan, imputer.scale(X))


@pytest.mark.parametrize("widths", [(3, 4, 5), (2, 90, 1)])
def test_absent_views_are_at_their_mean_given_the_others(widths):
    complete, blocks = holed(widths=widths)
    X, imputer = blocks.views[0].table, fit_view_imputer(blocks, None)
    filled = imputer.filled(X, blocks.present)
    expected = [conditional_mean(row, imputer.loadings, imputer.noise) for row in scaled(X, imputer)]
    assert_allclose(imputer.scale(filled), expected, atol=1e-9)
    assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    absent = np.isnan(X)
    errors = [((guess - complete)[absent] ** 2).mean() for guess in (filled, np.nanmean(X, axis=0)[None])]
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize("widths", [(3, 4, 5), (2, 60, 1)])
def test_loadings_are_those_of_expectation_maximisation(widths, monkeypatch):
    monkeypatch.setattr(absent_views, "MOST_STEPS", 3)
    monkeypatch.setattr(absent_views, "MOST_COMPONENTS", 2)
    first = {}

    def note_first(table, n_components, original=absent_views._first_loadings):
        first["loadings"] = original(table, n_components)
        return first["loadings"].copy()

    monkeypatch.setattr(absent_views, "_first_loadings", note_first)
    _, blocks = holed(30, widths)
    X, imputer = blocks.views[0].table, fit_view_imputer(blocks, None)
    rows = scaled(X, imputer)
    bases, start = [], []
    for view, columns in enumerate(view.columns for view in blocks.views):
        bases.append(absent_views._row_space(rows[blocks.present[:, view]][:, columns]))
    ends = np.cumsum([0, *(basis.shape[1] for basis in bases)])
    start = np.vstack([basis @ first["loadings"][a:b] for basis, a, b in zip(bases, ends, ends[1:])])
    noise = np.nansum(rows**2) / np.isfinite(rows).sum() - (start**2).sum() / rows.shape[1]
    loadings, noise = component_steps(rows, start, noise, absent_views.PRIOR_ROWS, 3)
    assert_allclose(imputer.loadings, loadings, atol=1e-9)
    assert_allclose(imputer.noise, noise, rtol=1e-9)


def test_without_rows_that_tell_how_views_go_together_nothing_is_filled_in():
    complete, blocks = holed()
    columns = [view.columns for view in blocks.views]
    assert fit_view_imputer(ViewBlocks.of(complete, list("abc"), columns), None) is None
    groups = np.zeros(len(complete), dtype=np.intp)
    assert fit_view_imputer(blocks, groups) is None
    assert fit_view_imputer(blocks, np.arange(len(complete)) % 5) is not None
    nothing_at_all = complete.copy()
    nothing_at_all[3] = np.nan
    assert fit_view_imputer(ViewBlocks.of(nothing_at_all, list("abc"), columns), None) is None
    unpaired = complete.copy()
    for view in range(3):
        unpaired[np.ix_(np.arange(len(complete)) % 3 != view, columns[view])] = np.nan
    assert fit_view_imputer(ViewBlocks.of(unpaired, list("abc"), columns), None) is None


def gaps(X, seed=0):
    present = np.random.default_rng(seed).random((len(X), 3)) > 0.4
    present[:, 0] |= ~present.any(axis=1)
    X = X.copy()
    for view, columns in enumerate(VIEWS.values()):
        X[np.ix_(~present[:, view], np.arange(6)[columns])] = np.nan
    return X


@pytest.fixture(scope="module")
def model():
    X, y = table()
    return clone(ONE_PASS).fit(gaps(X), y)


def test_arms_of_all_views_learn_from_rows_that_lack_some(model, tmp_path):
    X, _ = table()
    board = model.leaderboard_
    assert (board["rows"][board["view"] == ALL_VIEWS] == len(X)).all()
    new = gaps(table(30, seed=1)[0], seed=5)
    probabilities = model.predict_proba(new)
    assert_allclose([model.predict_proba(row[None])[0] for row in new], probabilities, atol=1e-12)
    assert_allclose(model.predict_proba(np.full((1, 6), np.nan))[0], model.class_prior_)
    path = tmp_path / "model.fuse"
    save(model, path)
    assert_array_equal(load(path).predict_proba(new), probabilities)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda imputer: {"columns": imputer.columns[::-1].copy()}, "other columns"),
        (lambda imputer: {"view_of": np.zeros_like(imputer.view_of)}, "other views"),
    ],
)
def test_an_imputer_of_other_views_is_refused(model, change, words):
    forged = clone(ONE_PASS)
    vars(forged).update(vars(model))
    forged._imputer = type(model._imputer)(**vars(model._imputer) | change(model._imputer))
    with pytest.raises(ValueError, match=words):
        forged.validate()


def test_views_that_act_together_are_learnt_from_incomplete_rows():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(240, 2))
    y = (hidden[:, 0] * hidden[:, 1] > 0).astype(int)
    # Views a and c know the first, b and d the second: the class is what two of them say together.
    X = np.hstack([hidden[:, [k % 2]] + 0.1 * rng.normal(size=(240, 2)) for k in range(4)])
    views = {name: [2 * k, 2 * k + 1] for k, name in enumerate("abcd")}
    present = rng.random((240, 4)) > 0.3
    present[:, 0] |= ~present.any(axis=1)
    X[~np.repeat(present, 2, axis=1)] = np.nan
    fitted = FusionClassifier(views=views, max_fits=15, random_state=0).fit(X[:160], y[:160])
    known = present[160:, [0, 2]].any(axis=1) & present[160:, [1, 3]].any(axis=1)
    assert known.sum() > 50
    assert fitted.score(X[160:][known], y[160:][known]) > 0.8


def test_explanations_of_rows_that_lack_views_add_up(model):
    new = gaps(table(6, seed=1)[0], seed=5)
    explained, decision = model.explain(new), model.decision_function(new)
    assert_allclose(explained.view_values.sum(axis=1) + explained.base, decision, atol=1e-9)
    assert_allclose(explained.column_values.sum(axis=1) + explained.column_base, decision, atol=1e-9)
