"""Gradient boosting of targets and weights of very different sizes: sums of whole numbers keep the small ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn import ShareGradientBoostingRegressor
from fuselearn.data.held_out import held_out_rows
from fuselearn.numeric.gradients import log_loss_gradients


def rows(n_rows=2_000):
    """Return a table and a number that depends on two of its columns."""
    draws = np.random.default_rng(0)
    X = draws.normal(size=(n_rows, 3))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * draws.normal(size=n_rows)


def held_out(model, n_rows):
    """Return the rows that early stopping holds out."""
    return held_out_rows(None, n_rows, model.validation_fraction, model._seed)


@pytest.mark.parametrize("outlier", [1e5, 1e13])
def test_a_held_out_target_changes_nothing_in_the_training(outlier):
    X, y = rows()
    model = ShareGradientBoostingRegressor(n_estimators=5, early_stopping=True, random_state=0).fit(X, y)
    changed = y.copy()
    changed[np.flatnonzero(held_out(model, len(y)))[0]] = outlier
    other = ShareGradientBoostingRegressor(n_estimators=5, early_stopping=True, random_state=0)
    with pytest.warns(UserWarning, match="gross outlier"):
        other.fit(X, changed)
    assert_array_equal(other.predict(X), model.predict(X))
    assert_array_equal(other.train_score_, model.train_score_)


def test_losses_beside_an_outlier_are_right():
    X, y = rows()
    y[0] = 1e6
    model = ShareGradientBoostingRegressor(n_estimators=30, min_samples_leaf=1, learning_rate=0.5)
    with pytest.warns(UserWarning, match="gross outlier"):
        model.fit(X, y)
    losses = [np.mean((y - scores) ** 2) for scores in model.staged_predict(X)]
    assert_allclose(-model.train_score_[1:], losses, rtol=1e-9)


def test_a_run_goes_on_with_other_targets():
    X, y = rows()
    model = ShareGradientBoostingRegressor(n_estimators=5, warm_start=True).fit(X, y)
    model.set_params(n_estimators=100).fit(X, y + 1000)
    assert model.n_iter_ == 100
    assert_allclose(-model.train_score_[-1], np.mean((y + 1000 - model.predict(X)) ** 2), rtol=1e-9)
    assert model.score(X, y + 1000) > 0.9


def test_targets_of_another_unit_are_learned_alike():
    X, y = rows()
    settings = {"n_estimators": 40, "early_stopping": True, "random_state": 0}
    model = ShareGradientBoostingRegressor(**settings).fit(X, y)
    small = ShareGradientBoostingRegressor(**settings).fit(X, y * 2.0**-30)
    assert small.n_iter_ == model.n_iter_
    assert_array_equal(small.trees_.column, model.trees_.column)
    assert_allclose(small.predict(X) * 2.0**30, model.predict(X), rtol=1e-9, atol=1e-9)


def test_targets_too_small_for_their_squares_are_refused():
    X, y = rows(200)
    with pytest.raises(ValueError, match="Multiply y by a number"):
        ShareGradientBoostingRegressor().fit(X, y * 1e-200)


def test_second_derivatives_of_rows_with_weight_are_never_nothing():
    """Rounded to 0 they would leave the gradients of their rows alone, and steps would get long."""
    scores, codes, roles = (
        np.array([[0.0, 25.0, -40.0]]),
        np.array([1, 1, 0], dtype=np.int32),
        np.ones(3, dtype=np.int8),
    )
    g, h = np.zeros((1, 3), dtype=np.int64), np.zeros((1, 3), dtype=np.int32)
    log_loss_gradients(scores, codes, np.array([1e-12, 1.0, 1e-6]), roles, 50, g, h)
    assert_array_equal(h, [[1, 1, 1]])
    log_loss_gradients(scores, codes, np.empty(0), roles, 50, g, h)
    assert_array_equal(h, [[2**26, 1, 1]])
