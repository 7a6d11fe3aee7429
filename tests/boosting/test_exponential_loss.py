"""The shared weights of ShareBoost are the gradients of the exponential loss, which gradient boosting generalises."""

import numpy as np
import pytest

from fuselearn import ShareBoostClassifier

VIEWS = {"a": [0, 1], "b": [2, 3], "c": [4]}


def make_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 5))
    y = (X @ [1.0, -0.5, 0.8, 0.3, 0.5] + rng.normal(size=200) > 0).astype(int)
    return X, y


@pytest.mark.parametrize("learner", ["stump", "gaussian_nb", "tree"])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_exponential_loss_of_each_row(learner, seed):
    """w is proportional to exp(-y F), the size of the derivative of exp(-y F) by F, after every round."""
    X, y = make_rows(seed)
    model = ShareBoostClassifier(learner, views=VIEWS, n_estimators=12).fit(X, y)
    assert model.n_iter_ > 3
    staged = list(model.staged_sample_weights(X, y))
    for weights, decision in zip(staged[1:], model.staged_decision_function(X), strict=True):
        loss = np.exp(-np.where(y == 1, 1, -1) * decision)
        np.testing.assert_allclose(weights, loss / loss.sum(), rtol=1e-9)


def test_an_absent_view_leaves_the_loss_of_a_row_as_it_is():
    X, y = make_rows(3)
    X[::3, 2:4] = np.nan
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=12).fit(X, y)
    *_, weights = model.staged_sample_weights(X, y)
    loss = np.exp(-np.where(y == 1, 1, -1) * model.decision_function(X))
    np.testing.assert_allclose(weights, loss / loss.sum(), rtol=1e-9)


def test_a_vote_is_where_the_exponential_loss_is_lowest():
    """The vote of a round minimises the mean of exp(-y (F + α h)): no step of another size lowers it more."""
    X, y = make_rows(4)
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=6).fit(X, y)
    signs, before = np.where(y == 1, 1, -1), np.zeros(len(y))
    for alpha, after in zip(model.estimator_weights_, model.staged_decision_function(X), strict=True):
        step = after - before
        losses = [np.mean(np.exp(-signs * (before + factor * step))) for factor in (0.9, 1.0, 1.1)]
        assert losses[1] < min(losses[0], losses[2])
        np.testing.assert_allclose(np.abs(step), abs(alpha), rtol=1e-9)
        before = after
