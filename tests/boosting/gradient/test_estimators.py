"""What the two estimators of gradient boosting do: scores, weights, early stopping, constraints, missing views."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import d2_pinball_score, log_loss, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.boosting.gradient import gradient_base, gradient_data, local_gradient_rows
from fuselearn.boosting.gradient.gradient_rows import GradientBlock
from tests.boosting.gradient.fitted_models import (
    CASES,
    FRAME,
    GROUPS,
    SIGNAL,
    SMALL,
    THREE,
    TWO,
    VIEWS,
    X,
    assert_identical,
    raw_scores,
)


def test_tools_of_scikit_learn():
    model = ShareGradientBoostingClassifier(**SMALL)
    scores = cross_val_score(make_pipeline(StandardScaler(), model), X, TWO, cv=3)
    assert scores.mean() > 0.6
    search = GridSearchCV(model, {"learning_rate": [0.001, 0.3]}, cv=2).fit(X, TWO)
    assert search.best_params_ == {"learning_rate": 0.3}
    assert cross_val_score(ShareGradientBoostingRegressor(**SMALL), X, SIGNAL, cv=3).mean() > 0.2
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


@pytest.mark.long
def test_as_good_as_scikit_learns():
    """On new rows, with the same settings; bins differ, and so do the models, by about 0.02."""
    n, draws = 400, np.random.default_rng(1)
    table = draws.normal(size=(2 * n, 5))
    target = np.sin(2 * table[:, 0]) + table[:, 1] * table[:, 2] + 0.3 * draws.normal(size=2 * n)
    labels = np.digitize(target, [-0.7, 0.7])
    pairs = [
        (ShareGradientBoostingRegressor(), HistGradientBoostingRegressor(), target),
        (ShareGradientBoostingClassifier(), HistGradientBoostingClassifier(), labels),
    ]
    for ours, theirs, y in pairs:
        ours.set_params(n_estimators=40).fit(table[:n], y[:n])
        with threadpool_limits(1):  # threads of OpenMP, on so few rows, only wait for each other
            theirs.set_params(max_iter=40, early_stopping=False).fit(table[:n], y[:n])
            assert ours.score(table[n:], y[n:]) > theirs.score(table[n:], y[n:]) - 0.05


# The fit and what it tells about itself


def loss_of(model, y, scores, rows=slice(None)):
    """Return the mean loss that a model minimises, from raw scores."""
    y, scores = np.asarray(y)[rows], scores[rows]
    if hasattr(model, "classes_"):
        shifted = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
        chances = np.exp(shifted - shifted.max(axis=1, keepdims=True))
        return log_loss(y, chances / chances.sum(axis=1, keepdims=True), labels=model.classes_)
    if model.loss == "squared_error":
        return np.mean((y - scores) ** 2)
    quantile = 0.5 if model.quantile is None else model.quantile
    return mean_pinball_loss(y, scores, alpha=quantile) * (2 if model.loss == "absolute_error" else 1)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", [name for name in CASES if name != "early stopping"])
def test_training_scores_are_those_of_the_stages(name):
    model, rows, y = CASES[name]
    model = clone(model).fit(rows, y)
    staged = model.staged_decision_function(rows) if hasattr(model, "classes_") else model.staged_predict(rows)
    first = np.tile(model.baseline_, (len(rows), 1))
    stages = [first[:, 0] if first.shape[1] == 1 else first, *staged]
    assert_allclose(model.train_score_, [-loss_of(model, y, scores) for scores in stages], rtol=1e-9)
    assert model.train_score_[-1] > model.train_score_[0]
    assert model.validation_score_.shape == (0,)
    assert_array_equal(stages[-1], raw_scores(model, rows))


@pytest.mark.parametrize("name", CASES)
def test_the_model_scores_training_rows_as_the_fit_did(name, monkeypatch):
    blocks = []
    original = GradientBlock.__init__

    def noted(self, *arguments, **options):
        blocks.append(self)
        original(self, *arguments, **options)

    monkeypatch.setattr(GradientBlock, "__init__", noted)
    model, rows, y = CASES[name]
    model = clone(model).fit(rows, y)
    assert len(blocks) == 1
    assert_array_equal(blocks[0].scores().T.squeeze(), raw_scores(model, rows))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_jobs", [2, pytest.param(4, marks=pytest.mark.long)])
def test_the_number_of_threads_does_not_matter(name, n_jobs, monkeypatch):
    monkeypatch.setattr(local_gradient_rows, "THREADED_CELLS", 0)
    model, rows, y = CASES[name]
    assert_identical(
        clone(model).set_params(n_jobs=n_jobs).fit(rows, y), clone(model).set_params(n_jobs=1).fit(rows, y), rows
    )


def test_threads_on_many_rows():
    """Enough rows for several blocks, and more distinct values than bins."""
    draws = np.random.default_rng(3)
    table = draws.normal(size=(20_000, 4))
    target = table[:, 0] * table[:, 1] + draws.normal(size=len(table))
    weights = draws.uniform(size=len(table))
    models = [
        ShareGradientBoostingRegressor(n_estimators=4, early_stopping=True, n_jobs=n_jobs, random_state=0).fit(
            table, target, sample_weight=weights
        )
        for n_jobs in (1, 3)
    ]
    assert_identical(*models, table)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["three classes", "per view", "early stopping", "quantile", "categories per view"])
def test_a_warm_start_is_one_long_fit(name):
    model, rows, y = CASES[name]
    model, whole = clone(model).set_params(warm_start=True, n_estimators=4), clone(model).fit(rows, y)
    for n_rounds in (4, 5, 12):
        model.set_params(n_estimators=n_rounds).fit(rows, y)
        assert model.n_iter_ == n_rounds
    model._horizon = whole._horizon  # the number of rounds that the first fit planned
    assert_identical(model, whole, rows)


def test_progress_is_printed(capsys):
    ShareGradientBoostingClassifier(**SMALL, verbose=1).fit(X, TWO)
    ShareGradientBoostingClassifier(trees="per_view", early_stopping=True, **SMALL, verbose=2).fit(X, TWO)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[ShareGradientBoostingClassifier] round 1 of 12: loss 0.")
    assert ", on held-out rows 0." in lines[-1]
    assert lines[-1].endswith(", 'view0'")


# Losses and leaves


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n_rows=st.integers(2, 60),
    learning_rate=st.floats(0.01, 1.0),
    max_leaf_nodes=st.integers(2, 9),
    per_view=st.booleans(),
    missing=st.booleans(),
)
def test_the_squared_error_of_training_rows_never_rises(seed, n_rows, learning_rate, max_leaf_nodes, per_view, missing):
    draws = np.random.default_rng(seed)
    table = draws.normal(size=(n_rows, 3)).round(1)
    if missing:
        table[draws.random(n_rows) < 0.3, :2] = np.nan
        table[0] = 0.0
    target = draws.normal(size=n_rows) * 10.0 ** draws.integers(-3, 4)
    model = ShareGradientBoostingRegressor(
        views=[[0, 1], [2]],
        trees="per_view" if per_view else "joint",
        n_estimators=6,
        learning_rate=learning_rate,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=1,
    ).fit(table, target)
    assert np.all(np.diff(model.train_score_) >= -1e-9 * abs(model.train_score_[0]))


def test_quantiles_are_those_of_the_target():
    draws = np.random.default_rng(0)
    table = draws.normal(size=(600, 2))
    target = table[:, 0] + draws.exponential(size=600)
    for quantile in (0.1, 0.5, 0.9):
        model = ShareGradientBoostingRegressor(loss="quantile", quantile=quantile, n_estimators=30).fit(table, target)
        assert np.mean(target <= model.predict(table)) == pytest.approx(quantile, abs=0.03)
        assert d2_pinball_score(target, model.predict(table), alpha=quantile) > 0.2
    half = ShareGradientBoostingRegressor(loss="quantile", quantile=0.5, n_estimators=5).fit(table, target)
    median = ShareGradientBoostingRegressor(loss="absolute_error", n_estimators=5).fit(table, target)
    assert_array_equal(half.predict(table), median.predict(table))
    assert_allclose(2 * half.train_score_, median.train_score_)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", ["classes", "numbers", "median", "without"])
def test_monotonic_constraints_hold_on_a_grid(kind):
    draws = np.random.default_rng(2)
    table = draws.uniform(-2, 2, size=(300, 3))
    target = np.sin(3 * table[:, 0]) + np.cos(2 * table[:, 1]) + table[:, 2] + 0.2 * draws.normal(size=300)
    constrained = {"monotonic_cst": [1, -1, 0], "n_estimators": 25, "min_samples_leaf": 3, "learning_rate": 0.3}
    if kind == "classes":
        model = ShareGradientBoostingClassifier(**constrained).fit(table, target > 0)
    elif kind == "numbers":
        model = ShareGradientBoostingRegressor(**constrained).fit(table, target)
    elif kind == "median":
        model = ShareGradientBoostingRegressor(loss="absolute_error", **constrained).fit(table, target)
    else:
        model = ShareGradientBoostingRegressor(**{**constrained, "monotonic_cst": None}).fit(table, target)
    grid = np.linspace(-2.2, 2.2, 80)
    rises = falls = 0.0
    for row in table[:20]:
        along = np.tile(row, (80, 1))
        along[:, 0] = grid
        rises = min(rises, np.diff(raw_scores(model, along)).min())
        along = np.tile(row, (80, 1))
        along[:, 1] = grid
        falls = max(falls, np.diff(raw_scores(model, along)).max())
    if kind == "without":  # the target's waves are followed
        assert rises < -0.1
        assert falls > 0.1
    else:
        assert rises >= -1e-12
        assert falls <= 1e-12
        by_name = clone(model).set_params(monotonic_cst={"p": 1, "q": -1})
        y = target > 0 if kind == "classes" else target
        by_name.fit(pd.DataFrame(table, columns=["p", "q", "r"]), y)
        assert_array_equal(by_name.trees_.value, model.trees_.value)


# Weights


def test_class_weights_are_weights_of_rows():
    model = ShareGradientBoostingClassifier(views=VIEWS, **SMALL)
    for class_weight in ({"yes": 3.0}, "balanced", {"no": 0.5, "yes": 1.25}):
        weights = compute_sample_weight(class_weight, TWO)
        by_class = clone(model).set_params(class_weight=class_weight).fit(X, TWO)
        by_row = clone(model).fit(X, TWO, sample_weight=weights)
        assert_array_equal(by_class.decision_function(X), by_row.decision_function(X))
        assert_array_equal(by_class.train_score_, by_row.train_score_)
    both = clone(model).set_params(class_weight={"yes": 3.0}).fit(X, TWO, sample_weight=np.where(X[:, 5] > 0, 2.0, 1.0))
    product = np.where(X[:, 5] > 0, 2.0, 1.0) * np.where(TWO == "yes", 3.0, 1.0)
    assert_array_equal(both.predict_proba(X), clone(model).fit(X, TWO, sample_weight=product).predict_proba(X))


@pytest.mark.parametrize(
    "name", ["two classes", "three classes", "per view", "squared error", "quantile", "categories"]
)
def test_whole_weights_are_repeated_rows(name):
    model, rows, y = CASES[name]
    weights = np.random.default_rng(5).integers(0, 4, size=len(y))
    weighted = clone(model).fit(rows, y, sample_weight=weights)
    times = np.repeat(np.arange(len(y)), weights)
    repeated = clone(model).fit(rows.iloc[times] if rows is FRAME else rows[times], y[times])
    assert_array_equal(weighted.trees_.column, repeated.trees_.column)
    assert_allclose(raw_scores(weighted, rows), raw_scores(repeated, rows), rtol=1e-6, atol=1e-7)
    assert_allclose(weighted.train_score_, repeated.train_score_, rtol=1e-7)


def test_weights_count_as_they_are_given():
    """Towards min_samples_leaf and l2_regularization: where these are multiplied as well, nothing changes."""
    weights = np.random.default_rng(6).uniform(0.2, 3.0, size=len(TWO))
    model = ShareGradientBoostingClassifier(views=VIEWS, l2_regularization=0.5, **SMALL)
    one = clone(model).fit(X, TWO, sample_weight=weights)
    four = clone(model).set_params(l2_regularization=2.0, min_samples_leaf=20).fit(X, TWO, sample_weight=4 * weights)
    assert_array_equal(one.decision_function(X), four.decision_function(X))
    only_weights = clone(model).fit(X, TWO, sample_weight=4 * weights)
    assert not np.array_equal(one.decision_function(X), only_weights.decision_function(X))


def test_rows_of_weight_zero_are_not_there():
    weights = (np.arange(len(TWO)) % 3 > 0).astype(float)
    counted = weights > 0
    model = ShareGradientBoostingClassifier(views=VIEWS, **SMALL)
    weighted = clone(model).fit(X, TWO, sample_weight=weights)
    assert weighted.n_samples_fit_ == counted.sum()
    alone = clone(model).fit(X[counted], TWO[counted])
    assert_allclose(weighted.decision_function(X), alone.decision_function(X), rtol=1e-6, atol=1e-7)


# Early stopping


def test_a_run_stops_early():
    noise = np.random.default_rng(7).permutation(TWO)
    model = ShareGradientBoostingClassifier(**SMALL).set_params(
        n_estimators=300, early_stopping=True, n_iter_no_change=3, validation_fraction=0.25
    )
    model.fit(X, noise)
    assert model.n_iter_ < 50
    assert model.validation_score_.shape == model.train_score_.shape == (model.n_iter_ + 1,)
    best_before = model.validation_score_[:-3].max()
    assert model.validation_score_[-3:].max() < best_before + 1e-7
    everything = clone(model).set_params(early_stopping=False, n_estimators=60).fit(X, noise)
    assert everything.n_iter_ == 60
    assert everything.n_samples_fit_ == model.n_samples_fit_ == len(X)


@pytest.fixture
def held_out(monkeypatch):
    """Return a list that is filled with the masks of held-out rows."""
    masks, original = [], gradient_data.held_out_rows

    def noted(*arguments, **options):
        masks.append(original(*arguments, **options))
        return masks[-1]

    monkeypatch.setattr(gradient_data, "held_out_rows", noted)
    return masks


def test_held_out_rows_are_scored_and_not_trained_on(held_out):
    model = ShareGradientBoostingClassifier(early_stopping=True, validation_fraction=0.3, **SMALL).fit(X, THREE)
    (mask,) = held_out
    assert 0.2 < mask.mean() < 0.4
    last = raw_scores(model, X)
    assert model.train_score_[-1] == pytest.approx(-loss_of(model, THREE, last, ~mask), rel=1e-9)
    assert model.validation_score_[-1] == pytest.approx(-loss_of(model, THREE, last, mask), rel=1e-9)


def test_targets_of_held_out_rows_change_nothing_but_their_score(held_out):
    """Rows are chosen by their places, whatever the targets are."""
    model = ShareGradientBoostingRegressor(early_stopping=True, n_iter_no_change=12, **SMALL).fit(X, SIGNAL)
    mask = held_out[0]
    other = SIGNAL.copy()
    other[mask] = SIGNAL[mask][::-1]
    again = clone(model).fit(X, other)
    assert_array_equal(held_out[1], mask)
    assert_array_equal(again.train_score_, model.train_score_)
    assert_array_equal(again.predict(X), model.predict(X))
    assert not np.array_equal(again.validation_score_, model.validation_score_)


def test_whole_groups_are_held_out(held_out):
    ShareGradientBoostingClassifier(early_stopping=True, validation_fraction=0.2, **SMALL).fit(X, TWO, groups=GROUPS)
    ShareGradientBoostingRegressor(early_stopping=True, **SMALL).fit(X, SIGNAL, groups=GROUPS.astype(str))
    for mask, share in zip(held_out, (0.2, 0.1)):
        assert not set(GROUPS[mask]) & set(GROUPS[~mask])
        assert len(set(GROUPS[mask])) == share * len(set(GROUPS))


def test_many_rows_stop_early_by_themselves(monkeypatch):
    monkeypatch.setattr(gradient_base, "EARLY_STOPPING_ROWS", len(X))
    model = ShareGradientBoostingRegressor(**SMALL)
    assert not len(clone(model).fit(X, SIGNAL).validation_score_)
    monkeypatch.setattr(gradient_base, "EARLY_STOPPING_ROWS", len(X) - 1)
    assert len(clone(model).fit(X, SIGNAL).validation_score_) == 13


# Views, importances, categories


def test_importances():
    target = 2 * np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 3])
    model = ShareGradientBoostingRegressor(views=VIEWS, **SMALL).fit(X, target)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert np.argsort(-model.feature_importances_)[:2].tolist() == [0, 3]
    of_views = [model.feature_importances_[columns].sum() for columns in VIEWS.values()]
    assert_allclose(model.view_importances_, of_views)
    per_view = clone(model).set_params(trees="per_view").fit(X, target)
    won = np.bincount(per_view.winning_views_, minlength=3)
    assert won.sum() == 12
    assert per_view.view_importances_.argmin() == 2
    assert_allclose(per_view.view_importances_ > 0, won > 0)
    overlapping = clone(model).set_params(views={"a": [0, 3], "b": [0, 4], "c": [1, 2]}).fit(X, target)
    assert overlapping.view_importances_.sum() == pytest.approx(1)
    assert overlapping.feature_importances_[5] == 0  # in no view


def test_missing_views_abstain():
    model = ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", **SMALL).fit(X, TWO)
    assert {0, 1} <= set(model.winning_views_)
    without = X.copy()
    without[:, :3] = np.nan
    before = np.full(len(X), model.baseline_[0])
    for view, scores in zip(model.winning_views_, model.staged_decision_function(without)):
        assert (view == 0) == np.array_equal(scores, before)
        before = scores
    nothing = np.full((1, 6), np.nan)
    assert_array_equal(model.decision_function(nothing), model.baseline_)
    assert_allclose(model.predict_proba(nothing)[0, 1], np.mean(TWO == "yes"))


def test_a_view_that_is_drawn_costs_one():
    """As many trees grow as there are rounds; the greedy policy grows one of each view."""
    grown = {}
    for policy in ("best", "round_robin"):
        model = ShareGradientBoostingRegressor(views=VIEWS, trees="per_view", view_policy=policy, **SMALL)
        with pytest.MonkeyPatch.context() as patch:
            calls, original = [], gradient_data.LocalGradientRows.leaves

            def counted(self, *arguments, original=original, calls=calls):
                calls.append(1)
                return original(self, *arguments)

            patch.setattr(gradient_data.LocalGradientRows, "leaves", counted)
            model.fit(X, SIGNAL)
        grown[policy] = len(calls)
    assert grown == {"best": 36, "round_robin": 12}
    assert_array_equal(model.winning_views_, np.arange(12) % 3)


def test_labels_of_the_views_are_followed():
    """Each view is right about half of what it says; a view's trees learn from its own labels."""
    draws = np.random.default_rng(8)
    table = draws.normal(size=(400, 2))
    own = (table > 0).astype(int)
    model = ShareGradientBoostingClassifier(views=[[0], [1]], trees="per_view", n_estimators=20)
    model.fit(table, own[:, 0], view_labels=own)
    for view in (0, 1):
        alone = np.full_like(table, np.nan)
        alone[:, view] = table[:, view]
        assert np.mean(model.predict(alone) == own[:, view]) > 0.97


def test_categories_as_sets_beat_codes():
    draws = np.random.default_rng(9)
    codes = draws.integers(40, size=1200)
    effect = np.where(draws.permutation(40) % 2 == 0, 1.0, -1.0)
    target = effect[codes] + 0.3 * draws.normal(size=1200)
    frame = pd.DataFrame({"shop": pd.Categorical([f"shop {code}" for code in codes])})
    few = {"n_estimators": 20, "max_leaf_nodes": 4}
    sets = ShareGradientBoostingRegressor(**few).fit(frame[:800], target[:800])
    by_index = ShareGradientBoostingRegressor(categorical_features=[0], **few).fit(codes[:800, None], target[:800])
    as_codes = ShareGradientBoostingRegressor(**few).fit(codes[:800, None], target[:800])
    assert sets.score(frame[800:], target[800:]) > as_codes.score(codes[800:, None], target[800:]) + 0.2
    assert by_index.score(codes[800:, None], target[800:]) > 0.8
    unknown = pd.DataFrame({"shop": pd.Categorical(["shop 99", None])})
    assert np.ptp(sets.predict(unknown)) == 0
