"""Base models that have nothing to say: rounding must not be boosted, and the model that predicts is the one fitted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC

from fuselearn import MSSBoostClassifier, NSBoostClassifier
from fuselearn.multilabel import RbfSVC

BASE_MODELS = {
    "default": None,
    "scikit-learn's machine": SVC(),
    "in a pipeline": make_pipeline(MaxAbsScaler(), SVC()),
    "large C": RbfSVC(C=1e4),
}


def discrete_columns(seed, n_values=2):
    """Rows of a few values each, of which one column alone often tells nothing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (400, 12)).astype(float)
    return X, (X @ rng.normal(size=(12, 4)) + rng.normal(size=(400, 4)) > np.median(X) * 0.5).astype(int)


def loss(Y, decision):
    return np.logaddexp(0, -(2 * Y - 1) * decision).sum()


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("name", BASE_MODELS)
@pytest.mark.parametrize("kind", [MSSBoostClassifier, NSBoostClassifier])
def test_the_loss_that_was_fitted_is_the_loss_of_the_model(kind, name, seed):
    """Machines on one binary column say 0 up to rounding, which Newton steps of 10⁸ would make a model of."""
    X, Y = discrete_columns(seed)
    model = kind(BASE_MODELS[name], n_estimators=30, random_state=0).fit(X, Y)
    losses = [loss(Y, stage) for stage in model.staged_decision_function(X)]
    assert_allclose(losses, model.loss_curve_[1:], rtol=1e-6)
    assert (np.diff(losses) <= 1e-6 * losses[0]).all()
    assert_allclose(loss(Y, model.decision_function(X)), model.loss_curve_[-1], rtol=1e-6)
    assert np.abs(model.label_weights_).max() < 1e4
    # Rows elsewhere, or in another order, are no reason to say something else.
    assert_allclose(model.decision_function(X[::-3]), model.decision_function(X)[::-3], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("n_values", [2, 3, 5])
def test_few_values(n_values):
    X, Y = discrete_columns(1, n_values)
    model = MSSBoostClassifier(n_estimators=60, feature_ratio=0.2, random_state=0).fit(X, Y)
    assert_allclose(loss(Y, model.decision_function(X)), model.loss_curve_[-1], rtol=1e-6)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("estimator", [None, SVC(), make_pipeline(MaxAbsScaler(), SVC())])
def test_equal_rows_say_nothing(estimator):
    """One point for all rows: whatever a machine says of it is the same, and no label is related to it."""
    noise = np.random.default_rng(0).integers(0, 2, (300, 3))
    model = MSSBoostClassifier(estimator, n_estimators=5, random_state=0).fit(np.full((300, 4), 0.3), noise)
    assert_array_equal(model.label_weights_, 0.0)
    assert model.model_size_ == 0
