"""Boosted trees as base models of a fusion, on rows in memory."""

import contextlib
import pickle
import time
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax

from fuselearn import FusionClassifier, ShareGradientBoostingClassifier
from fuselearn.boosting.gradient.tree_format import BoostedTrees
from fuselearn.data import read_training_data
from fuselearn.data.folds import Folds, fold_numbers
from fuselearn.fusion.base_models.boosted_trees import (
    BoostedTreesArms,
    BoostingSettings,
    local_gradient_data,
)
from fuselearn.learners.binning import Binning
from fuselearn.numeric.threads import Threads
from fuselearn.persistence.model_types import id_of
from fuselearn.persistence.validation import validate_object

VIEWS = {"a": [0, 1, 2], "b": [4, 3, 5], "c": [6, 7]}
SMALL = BoostingSettings(n_rounds=12, max_leaf_nodes=6, learning_rate=0.3, min_samples_leaf=8.0, n_iter_no_change=12)
N_FOLDS = 3


def problem(n_classes=2, n=900, seed=0, missing=False):
    """Rows of few values, so that any rows have the same bins, and a signal across views."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 20, (n, 8)).astype(float)
    signal = X[:, 0] * 0.2 + 0.1 * X[:, 3] * (X[:, 6] > 9) - 0.1 * X[:, 4] + rng.normal(size=n)
    X[rng.random((n, 8)) < 0.05] = np.nan
    if missing:
        X[rng.random(n) < 0.3, 3:6] = np.nan
        X[rng.random(n) < 0.3, 6:] = np.nan
    X[np.isnan(X[:, :3]).all(axis=1), 0] = 1.0
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def gradient_data(X, y, folds, weights=None):
    data = read_training_data(FusionClassifier(views=VIEWS), X, y, weights)
    return local_gradient_data(data, folds)


def fitted(X, y, folds, view, fold, settings=SMALL, weights=None):
    with BoostedTreesArms(gradient_data(X, y, folds, weights), N_FOLDS, settings) as arms:
        return arms.fit(view, fold)


def assert_same_model(one, other):
    for field in fields(BoostedTrees):
        assert_array_equal(getattr(one.trees, field.name), getattr(other.trees, field.name), err_msg=field.name)
    assert_array_equal(one.baseline, other.baseline)
    assert_array_equal(one.columns, other.columns)
    assert (one.n_features, one.abstains) == (other.n_features, other.abstains)


def losses(raw, codes):
    """Mean log loss of raw scores."""
    p = np.hstack([expit(-raw), expit(raw)]) if raw.shape[1] == 1 else softmax(raw, axis=1)
    return -np.log(p[np.arange(len(codes)), codes]).mean()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("view", [None, 1])
def test_the_run_of_an_estimator_on_the_other_folds_cut_at_its_best_round(n_classes, view):
    X, y = problem(n_classes, missing=True)
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    model = fitted(X, y, folds, view, 2)
    columns = list(range(8)) if view is None else VIEWS["b"]
    has_view = ~np.isnan(X[:, columns]).all(axis=1)
    plain = ShareGradientBoostingClassifier(
        views={"all": columns},
        n_estimators=SMALL.n_rounds,
        max_leaf_nodes=SMALL.max_leaf_nodes,
        learning_rate=SMALL.learning_rate,
        min_samples_leaf=8,
        l2_regularization=SMALL.l2_regularization,
        early_stopping=False,
        random_state=0,
    )
    plain.fit(X, y, sample_weight=((folds != 2) & has_view).astype(float))
    assert_array_equal(model.baseline, plain.baseline_)
    assert_array_equal(model.columns, columns)
    for number in range(len(model.trees)):
        one, other = model.trees.tree(number), plain.trees_.tree(number)
        for name in ("column", "cut_bin", "threshold", "missing_left", "left", "right", "value", "gain", "weight"):
            assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    held_out = (folds == 2) & has_view
    staged = list(plain.staged_decision_function(X[held_out]))
    staged = [scores.reshape(len(scores), -1) for scores in staged]
    first = np.tile(model.baseline, (held_out.sum(), 1))
    by_round = [losses(scores, y[held_out]) for scores in [first, *staged]]
    assert model.n_rounds == np.argmin(by_round) > 0
    assert model.n_rounds < SMALL.n_rounds
    expected = staged[model.n_rounds - 1]
    expected = expected - expected.mean(axis=1, keepdims=True) if n_classes > 2 else expected
    assert_allclose(model.predict(X)[held_out], expected, atol=1e-12)


def test_a_run_stops_when_the_held_out_fold_says_so():
    X, y = problem()
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    rounds = []
    settings = replace(SMALL, n_rounds=60, n_iter_no_change=3)
    with BoostedTreesArms(gradient_data(X, y, folds), N_FOLDS, settings, report=rounds.append) as arms:
        model = arms.fit(None, 0)
    assert [step.is_done for step in rounds] == [False] * (len(rounds) - 1) + [True]
    assert [step.n_rounds for step in rounds[:-1]] == list(range(1, len(rounds)))
    assert rounds[-1].n_rounds == model.n_rounds + 3 < 60
    assert min(rounds, key=lambda step: step.held_out_loss).n_rounds == model.n_rounds


def test_rows_without_a_view_have_no_score():
    X, y = problem(3, missing=True)
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    without = np.isnan(X[:, 6:]).all(axis=1)
    scores = fitted(X, y, folds, 2, 0).predict(X)
    assert_array_equal(np.isnan(scores), np.repeat(without[:, None], 3, axis=1))
    assert_allclose(np.nansum(scores, axis=1), 0.0, atol=1e-12)
    # What other views hold does not matter, nor do rows without this one.
    changed = np.where(np.arange(8) < 6, 5.0, X)
    assert_array_equal(fitted(changed, y, folds, 2, 0).predict(changed), scores)
    assert np.isfinite(fitted(X, y, folds, None, 0).predict(np.full((1, 8), np.nan))).all()


def test_the_held_out_fold_is_not_learnt_from():
    X, y = problem()
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    settings = replace(SMALL, n_rounds=1)
    other = np.where(folds == 1, 1 - y, y)
    with BoostedTreesArms(gradient_data(X, other, folds), N_FOLDS, settings) as arms:
        # Of wrong labels in the held-out fold the first round is worse than none.
        assert arms.fit(None, 1).n_rounds == 0
    assert fitted(X, y, folds, None, 1, settings).n_rounds == 1
    groups = np.random.default_rng(0).integers(0, 40, len(X))
    by_group = Folds.of(N_FOLDS, 0, groups).numbers(len(X), groups=groups)
    model = fitted(X, y, by_group, None, 1)
    assert_array_equal(model.baseline, np.log(y[by_group != 1].mean() / (1 - y[by_group != 1].mean())))


def test_units_of_weights_do_not_matter_and_rows_of_weight_0_neither():
    X, y = problem(3)
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    weights = np.random.default_rng(0).random(len(X))
    weights[::7] = 0.0
    model = fitted(X, y, folds, None, 0, weights=weights)
    assert model.n_rounds > 0
    assert_same_model(fitted(X, y, folds, None, 0, weights=1024 * weights), model)
    changed = np.where(weights > 0, y, 2 - y)
    assert_same_model(fitted(X, changed, folds, None, 0, weights=weights), model)
    here = weights > 0
    assert_same_model(fitted(X[here], y[here], folds[here], None, 0, weights=weights[here]), model)
    unweighted = fitted(X, y, folds, None, 0)
    assert not np.array_equal(unweighted.trees.value, model.trees.value)
    assert_same_model(fitted(X, y, folds, None, 0, weights=np.full(len(X), 3.0)), unweighted)


PAIRS = [(view, fold) for view in (None, 0, 1, 2) for fold in range(N_FOLDS)]


def test_threads_do_not_matter_and_bins_are_made_once(monkeypatch):
    X, y = problem(3, missing=True)
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    expected = [fitted(X, y, folds, *pair) for pair in PAIRS]
    calls, prepare = [], Binning.prepare
    monkeypatch.setattr(Binning, "prepare", lambda *given: (calls.append(1), prepare(*given))[1])
    for n_threads in (1, 3):
        ends = []
        with (
            Threads(n_threads) as threads,
            BoostedTreesArms(gradient_data(X, y, folds), N_FOLDS, SMALL, threads, report=ends.append) as arms,
        ):
            for model, other in zip(arms.fit_all(PAIRS), expected):
                assert_same_model(model, other)
            assert_same_model(arms.fit(1, 1), expected[PAIRS.index((1, 1))])
        ended = [(step.view, step.fold) for step in ends if step.is_done]
        assert ended == [*PAIRS, (1, 1)]
    assert len(calls) == 2


def test_other_labels_and_weights_than_those_of_the_table():
    X, y = problem(3, missing=True)
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    codes = np.where(np.random.default_rng(0).random(len(X)) < 0.2, (y + 1) % 3, y)
    weights = np.random.default_rng(1).random(len(X)) + 0.1
    weights[::5] = 0.0
    data = read_training_data(FusionClassifier(views=VIEWS), X, y)
    with BoostedTreesArms(local_gradient_data(data, folds, codes, weights), N_FOLDS, SMALL) as arms:
        assert_same_model(arms.fit(1, 0), fitted(X, codes, folds, 1, 0, weights=weights))


def test_a_view_that_no_row_of_the_other_folds_has():
    X, y = problem()
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    X[folds != 0, 6:] = np.nan
    model = fitted(X, y, folds, 2, 0)
    assert model.n_rounds == 0
    without = np.isnan(X[:, 6:]).all(axis=1)
    assert_array_equal(model.predict(X)[:, 0], np.where(without, np.nan, 0.0))
    # No row of the held-out fold has it: all rounds count.
    assert fitted(X, y, folds, 2, 1).n_rounds == SMALL.n_rounds


def test_the_clock_and_interrupts():
    X, y = problem()
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    with BoostedTreesArms(gradient_data(X, y, folds), N_FOLDS, SMALL, deadline=time.monotonic()) as arms:
        assert arms.fit(None, 0).n_rounds == 1
        assert not arms.interrupted

    def interrupt(progress):
        if progress.n_rounds == 3 and not progress.is_done:
            raise KeyboardInterrupt

    with BoostedTreesArms(gradient_data(X, y, folds), N_FOLDS, SMALL, report=interrupt) as arms:
        model = arms.fit(None, 0)
        assert arms.interrupted
        assert model.n_rounds == 3
        assert arms.fit(None, 1).n_rounds == 1  # those to come end at once
    with (
        BoostedTreesArms(gradient_data(X, y, folds), N_FOLDS, SMALL, report=interrupt) as arms,
        pytest.raises(KeyboardInterrupt),
    ):
        arms.fit_all(PAIRS)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_only_whole_models_are_kept(n_threads):
    X, y = problem()
    folds = fold_numbers(len(X), N_FOLDS, seed=1)
    kept = {}
    with (
        Threads(n_threads) as threads,
        BoostedTreesArms(gradient_data(X, y, folds), N_FOLDS, SMALL, threads) as arms,
    ):
        models = arms.fit_all(PAIRS, kept.__setitem__)
        assert [kept[pair] for pair in PAIRS] == models
        kept.clear()
        arms._stop.set()  # as an interrupt leaves it: all runs end after their first round
        with contextlib.suppress(KeyboardInterrupt):
            arms.fit_all(PAIRS, kept.__setitem__)
    assert not kept


@pytest.mark.parametrize("n_classes", [2, 3])
def test_validation_of_a_file(n_classes):
    X, y = problem(n_classes)
    model = fitted(X, y, fold_numbers(len(X), N_FOLDS, seed=1), 0, 0)
    validate_object(model)
    assert id_of(type(model)) == "fusion.BoostedTreesModel"
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    trees = model.trees
    forged = {
        "columns of other views": {"columns": np.array([1, 2])},
        "columns": {"columns": np.zeros(0, dtype=np.intp)},
        "out of range": {"n_features": 2},
        "of no number of classes": {"baseline": np.zeros(2)},
        "one for each raw score": {"trees": replace(trees, output=trees.output + 1)},
        "of other views": {"trees": replace(trees, view=trees.view + 1)},
    }
    for message, parts in forged.items():
        with pytest.raises(ValueError, match=message):
            replace(model, **parts).validate()
