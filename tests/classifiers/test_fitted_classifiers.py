"""What is kept of scikit-learn's machines: the same decisions, from arrays that are checked."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn.classifiers.adapter import takes_nan
from fuselearn.classifiers.fitted_classifiers import ROWS_AT_A_TIME, ConstantClassifier, FittedSVC
from fuselearn.classifiers.view_model import fit_view_model

NAMES = np.array(["a", "b", "c", "d", "e", "f"])


def rows(n_rows, n_classes, seed):
    """Return rows of columns of different units, and their classes."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows) % n_classes
    return rng.normal(size=(n_rows, 4)) * [1, 10, 100, 0.1] + [5, 0, 0, 1] * codes[:, None] + 30, NAMES[codes]


@pytest.mark.parametrize("n_classes", [2, 3, 4, 6])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_decisions_are_those_of_scikit_learn(n_classes, scaled, weighted):
    X, y = rows(120, n_classes, n_classes)
    machine = SVC(C=2.0, break_ties=True)
    peer = make_pipeline(StandardScaler(), machine) if scaled else machine
    weights = np.random.default_rng(0).uniform(0.1, 3, len(X)) if weighted else None
    peer.fit(X, y, **({"svc__sample_weight": weights} if scaled else {"sample_weight": weights}))
    fitted = FittedSVC.of(peer)
    fitted.validate()
    new, _ = rows(200, n_classes, 99)
    assert_allclose(fitted.decision_function(new), peer.decision_function(new), rtol=0, atol=1e-12)
    assert_array_equal(fitted.predict(new), peer.predict(new))
    assert_array_equal(fitted.classes_, peer.classes_)


def test_many_rows_and_none():
    X, y = rows(60, 3, 0)
    peer = SVC(break_ties=True).fit(X, y)
    fitted = FittedSVC.of(peer)
    new, _ = rows(ROWS_AT_A_TIME + 3, 3, 1)
    assert_allclose(fitted.decision_function(new), peer.decision_function(new), rtol=0, atol=1e-12)
    assert fitted.decision_function(new[:0]).shape == (0, 3)
    assert fitted.predict(new[:0]).shape == (0,)


def test_ties_of_the_vote_go_by_confidence():
    # Three classes at the corners of a triangle: in its middle each beats one of the others.
    X = np.array([[0.0, 1.0], [0.9, -0.5], [-0.9, -0.5]] * 4)
    peer = SVC(break_ties=True).fit(X, np.tile([0, 1, 2], 4))
    middle = np.random.default_rng(0).normal(scale=0.05, size=(300, 2))
    assert_array_equal(FittedSVC.of(peer).predict(middle), peer.predict(middle))


def test_gaps_are_for_others():
    X, y = rows(30, 2, 0)
    assert not takes_nan(FittedSVC.of(SVC().fit(X, y)))
    assert takes_nan(ConstantClassifier(NAMES[:1]))


@pytest.mark.parametrize("encoded", [False, True])
def test_rows_of_one_class(encoded):
    X, _ = rows(20, 2, 0)
    codes = np.full(20, 2, dtype=np.int32)
    model = fit_view_model("the view", SVC(), X, codes, NAMES, None, encoded=encoded)
    assert model.abstains
    model.validate()
    model.estimator.validate()
    assert_array_equal(model.predicted(X), codes)
    peer = DummyClassifier().fit(X, NAMES[codes])
    if not encoded:
        assert_array_equal(model.estimator.predict(X), peer.predict(X))
    assert_array_equal(model.estimator.predict_proba(X), peer.predict_proba(X))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"classes_": NAMES[:1]}, "less than two classes"),
        ({"classes_": NAMES[:4]}, "dual_coef .* has the shape"),
        ({"classes_": ["a", "b", "c"]}, "classes_ of a FittedSVC is not a ndarray"),
        ({"classes_": NAMES[:3, None]}, "classes_ of a FittedSVC has 2 dimensions"),
        ({"centre": np.zeros(3)}, "divisor of a FittedSVC has the shape"),
        ({"centre": np.zeros(4, dtype=np.float32)}, "centre of a FittedSVC has numbers of type float32"),
        ({"centre": np.full(4, np.nan)}, "centre of a FittedSVC has NaN"),
        ({"divisor": np.zeros(4)}, "not above 0"),
        ({"gamma": -1.0}, "gamma of a FittedSVC is -1.0"),
        ({"gamma": "scale"}, "gamma of a FittedSVC is not a float"),
        ({"support_vectors": np.zeros((5, 4))}, "class_of_vector of a FittedSVC has the shape"),
        ({"support_vectors": np.zeros((5, 3))}, "support_vectors of a FittedSVC has the shape"),
        ({"intercept": np.zeros(2)}, "intercept of a FittedSVC has the shape"),
        ({"dual_coef": np.zeros((2, 2))}, "dual_coef of a FittedSVC has the shape"),
    ],
)
def test_arrays_that_do_not_agree(wrong, message):
    X, y = rows(30, 3, 0)
    fitted = FittedSVC.of(make_pipeline(StandardScaler(), SVC()).fit(X, y))
    with pytest.raises(ValueError, match=message):
        replace(fitted, **wrong).validate()


def test_codes_beyond_the_classes():
    X, y = rows(30, 3, 0)
    fitted = FittedSVC.of(SVC().fit(X, y))
    with pytest.raises(ValueError, match="class_of_vector of a FittedSVC has numbers that are not from 0 to 2"):
        replace(fitted, class_of_vector=fitted.class_of_vector + 1).validate()
    with pytest.raises(ValueError, match="is not one class"):
        ConstantClassifier(NAMES[:2]).validate()
