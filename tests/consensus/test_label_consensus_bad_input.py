"""Messages of LabelConsensus about settings and data that cannot be used."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression, Perceptron
from sklearn.svm import SVC

from fuselearn import LabelConsensus

y = np.arange(40) % 2


TABLE = np.random.default_rng(0).normal(size=(40, 4)) + y[:, None]


VIEWS = {"a": [0, 1], "b": [2, 3]}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"cv": 1}, ValueError, "cv must be an integer of at least 2, .* a splitter .*; got 1"),
        ({"cv": "five"}, ValueError, "cv must be an integer of at least 2.*; got 'five'"),
        ({"cv": 2.5}, ValueError, "cv must be an integer of at least 2.*; got 2.5"),
        ({"cv": True}, ValueError, "cv must be an integer of at least 2.*; got True"),
        ({"cv": [(np.arange(20), np.arange(20, 30))]}, ValueError, "cv must hold out every row of X exactly once"),
        (
            {"cv": 21},
            ValueError,
            "cv=21 needs at least 21 rows of some class in the view 'a', but the largest class has 20",
        ),
        ({"n_passes": 0}, ValueError, "n_passes must be an integer of at least 1; got 0"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None, a number of threads, .*; got 0"),
        ({"n_jobs": "2"}, ValueError, "n_jobs must be None, a number of threads, .*; got '2'"),
        ({"views": {"a": [0, 9]}}, ValueError, "View 'a' asks for column 9"),
        ({"estimator": SVC}, TypeError, r"view 'a' must be an instance, not a class; pass SVC\(\)"),
        ({"estimator": LinearRegression()}, TypeError, "must be a classifier; got LinearRegression"),
        ({"estimator": object()}, TypeError, "estimator for the view 'a' must be a scikit-learn classifier"),
        ({"estimator": {"a": None}}, ValueError, "estimator has nothing for the view 'b'"),
        ({"estimator": {"a": None, "b": None, "c": None}}, ValueError, "estimator names the view 'c'"),
    ],
)
def test_settings(settings, error, message):
    with pytest.raises(error, match=message):
        LabelConsensus(**{"views": VIEWS, **settings}).fit(TABLE, y)


class LabelsOnly(Perceptron):
    decision_function = property(lambda self: self._nothing)


def test_a_classifier_that_gives_labels_only():
    with pytest.raises(
        TypeError,
        match=r"LabelConsensus needs a classifier with decision_function or predict_proba.* 'a'.* has neither",
    ):
        LabelConsensus(LabelsOnly(), views=VIEWS).fit(TABLE, y)


def test_decision_values_of_pairs():
    with pytest.raises(ValueError, match=r"for the view 'a' has decision_function_shape='ovo'.*set it to 'ovr'"):
        LabelConsensus(SVC(decision_function_shape="ovo"), views=VIEWS).fit(TABLE, np.arange(40) % 3)


@pytest.mark.parametrize(
    ("view_labels", "message"),
    [
        (y, r"view_labels must have shape \(n_samples, n_views\) = \(40, 2\), .*\['a', 'b'\]; got shape \(40,\)"),
        (np.column_stack([y] * 3), r"view_labels must have shape .*; got shape \(40, 3\)"),
        (np.column_stack([y[:30]] * 2), r"view_labels must have shape .*; got shape \(30, 2\)"),
        (np.column_stack([y, y + 1]), "view_labels of the view 'b' holds labels that are not among the classes: 2;"),
        (np.column_stack([y, np.zeros(40)]), "labels of the view 'b' must be of at least two classes"),
        (np.column_stack([y, np.full(40, np.nan)]), "view_labels has no label for any row of the view 'b'"),
        (
            np.column_stack([y, np.arange(40) == 3]),
            "cv=5 needs at least 2 rows of each class in the view 'b', .* but the class 1 has 1",
        ),
    ],
)
def test_view_labels(view_labels, message):
    with pytest.raises(ValueError, match=message):
        LabelConsensus(views=VIEWS).fit(TABLE, y, view_labels)


def test_a_rare_class():
    model = LabelConsensus(random_state=0).fit(TABLE, np.where(np.arange(40) < 3, "rare", "usual"))
    assert_array_equal(model.classes_, ["rare", "usual"])
    with pytest.raises(ValueError, match=r"cv=5 needs at least 2 rows of each class .* the class 'rare' has 1"):
        LabelConsensus().fit(TABLE, np.where(np.arange(40) < 1, "rare", "usual"))


def test_one_class():
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        LabelConsensus().fit(TABLE, np.ones(40))


def test_gaps_inside_a_view():
    X = TABLE.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"The view 'b' has NaN among its columns in row 3 of X.*SimpleImputer"):
        LabelConsensus(SVC(), views=VIEWS).fit(X, y)


def test_a_row_or_a_view_that_is_not_there():
    X = TABLE.copy()
    X[3] = np.nan
    with pytest.raises(ValueError, match="the first being row 3"):
        LabelConsensus(views=VIEWS).fit(X, y)
    X = TABLE.copy()
    X[:, 2:] = np.nan
    with pytest.raises(ValueError, match="The view 'b' is absent"):
        LabelConsensus(views=VIEWS).fit(X, y)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = LabelConsensus(views=VIEWS, n_passes=1, random_state=0).fit(TABLE, y)
    before = model.posterior_.copy()
    with pytest.raises(ValueError, match="view_labels must have shape"):
        model.fit(TABLE[:20], y[:20], y)
    assert_array_equal(model.posterior_, before)
