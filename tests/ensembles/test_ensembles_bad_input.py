"""Messages of the view ensembles about settings and data that cannot be used."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    ConcatenatedClassifier,
    SuperKernelClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
)
from tests.ensembles.view_problems import VIEWS, NamesOnly, Problem, all_kinds, by_kind

X, y = Problem().X, Problem().y


def with_value(value, rows=slice(0, 1), columns=slice(0, 1)):
    changed = X.copy()
    changed[rows, columns] = value
    return changed


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (ViewVotingClassifier(SVC(), voting="soft"), ValueError, r"voting must be one of \['majority', 'sum'\]; got"),
        (ViewVotingClassifier(SVC), TypeError, r"view 'view0' must be an instance, not a class; pass SVC\(\)"),
        (
            ViewVotingClassifier(None),
            TypeError,
            "estimator for the view 'view0' must be a scikit-learn classifier; got",
        ),
        (ViewVotingClassifier(LinearRegression()), TypeError, "must be a classifier; got LinearRegression.* regressor"),
        (ViewVotingClassifier([SVC()], views=VIEWS), ValueError, "estimator is a list of 1, but there are 3 views"),
        (ViewVotingClassifier({"a": SVC()}, views=VIEWS), ValueError, "estimator has nothing for the view 'b'"),
        (ViewVotingClassifier({"d": SVC()}, views=VIEWS), ValueError, "estimator names the view 'd'"),
        (ViewVotingClassifier(SVC(), n_jobs=0), ValueError, "n_jobs must be None"),
        (ViewVotingClassifier(SVC(), views={"a": [9]}), ValueError, "View 'a' asks for column 9"),
        (
            ViewVotingClassifier({"a": SVC(), "b": NamesOnly(), "c": SVC()}, views=VIEWS, voting="sum"),
            TypeError,
            "voting='sum' needs a classifier with decision_function or predict_proba; the estimator for the view 'b'",
        ),
        (ViewVotingClassifier(FrozenEstimator(SVC())), ValueError, "for the view 'view0' is frozen but not fitted"),
        (
            ViewVotingClassifier(FrozenEstimator(SVC().fit(X, y)), views=VIEWS),
            ValueError,
            "frozen estimator for the view 'a' was fitted on 6 columns, but the view has 2",
        ),
        (
            ViewVotingClassifier(FrozenEstimator(SVC().fit(X, y + 1))),
            ValueError,
            "classes_ of the classifier for the view 'view0' holds labels that are not among the classes: 2",
        ),
        (ViewStackingClassifier(SVC(), stack_method="labels"), ValueError, "stack_method must be one of"),
        (
            ViewStackingClassifier(SVC(), cv=1),
            ValueError,
            "cv must be an integer of at least 2, None for 5, a",
        ),
        (ViewStackingClassifier(SVC(), cv=True), ValueError, "cv must be an integer of at least 2"),
        (ViewStackingClassifier(SVC(), cv=[([0], [1])]), ValueError, "cv must hold out every row of X exactly once"),
        (
            ViewStackingClassifier(SVC(), cv=46),
            ValueError,
            "cv=46 needs at least 46 rows of some class, but the largest class has 45",
        ),
        (
            ViewStackingClassifier(SVC(), cv=ShuffleSplit(3, random_state=0)),
            ValueError,
            "cv must hold out every row of X exactly once; ShuffleSplit",
        ),
        (
            ViewStackingClassifier(NamesOnly(), views=VIEWS, stack_method="decision_function"),
            TypeError,
            "stack_method='decision_function' needs .* the estimator for the view 'a'",
        ),
        (
            ViewStackingClassifier(SVC(), final_estimator=3),
            TypeError,
            "final_estimator must be a scikit-learn classifier",
        ),
        (
            ViewStackingClassifier(SVC(), final_estimator=FrozenEstimator(SVC().fit(X, y))),
            ValueError,
            "final_estimator is frozen",
        ),
        (ConcatenatedClassifier(LinearRegression()), TypeError, "The estimator must be a classifier; got"),
        (ConcatenatedClassifier(FrozenEstimator(SVC().fit(X, y))), ValueError, "estimator is frozen"),
        (SuperKernelClassifier(C=0), ValueError, "C must be a number above 0; got 0"),
        (SuperKernelClassifier(cv="five"), ValueError, "cv must be an integer of at least 2"),
    ],
)
def test_settings(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(X, y)


@by_kind
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(90)}, "y must hold at least two classes"),
        ({"y": np.linspace(0, 1, 90)}, "Unknown label type"),
        ({"X": with_value(np.inf)}, "Input X contains infinity"),
        ({"X": with_value(np.nan, slice(4, 6), slice(None))}, "Every view is absent .* in 2 of the rows .* row 4"),
        ({"X": with_value(np.nan, slice(None), slice(5, 6))}, "The view 'c' is absent .* in every row"),
        ({"sample_weight": np.zeros(90)}, "sample_weight is zero for every row"),
        ({"sample_weight": -np.ones(90)}, "sample_weight holds negative weights"),
        ({"sample_weight": np.full(90, np.nan)}, "sample_weight holds NaN"),
        ({"sample_weight": np.ones((90, 2))}, "sample_weight must be 1-D"),
        ({"sample_weight": ["a"] * 90}, "sample_weight must hold numbers"),
        (
            {"sample_weight": (y == 0).astype(float)},
            "rows of X with a positive sample_weight are all of one class, 0",
        ),
        ({"view_labels": y}, r"view_labels must have shape \(n_samples, n_views\) = \(90, 3\)"),
        ({"view_labels": np.c_[y, y, y + 1]}, "view_labels of the view 'c' holds labels that are not among .*: 2"),
        ({"view_labels": np.c_[y, y * 0, y * 0]}, "majority labels of view_labels are all of one class, 0"),
    ],
)
def test_data(model, arguments, message):
    model = clone(model)
    with pytest.raises(ValueError, match=message):
        model.fit(**{"X": X, "y": y, **arguments})
    assert not hasattr(model, "classes_")


def test_weights_that_nobody_takes():
    for model, what in (
        (ViewVotingClassifier(KNeighborsClassifier(), views=VIEWS), "the estimator for the view 'a'"),
        (ViewStackingClassifier(SVC(), final_estimator=KNeighborsClassifier()), "the final_estimator"),
        (ConcatenatedClassifier(KNeighborsClassifier()), "the estimator"),
    ):
        with pytest.raises(
            TypeError, match=rf"sample_weight was given, but {what}, KNeighborsClassifier.*, takes none"
        ):
            model.fit(X, y, sample_weight=np.ones(90))


def test_decision_values_of_pairs_of_classes_are_refused():
    """With three classes there are three pairs: nothing else would notice."""
    three = Problem(n_classes=3)
    for model in (
        ViewVotingClassifier(make_pipeline(SVC(decision_function_shape="ovo")), views=VIEWS),
        ConcatenatedClassifier(SVC(decision_function_shape="ovo")),
        ViewStackingClassifier(SVC(), final_estimator=SVC(decision_function_shape="ovo")),
    ):
        with pytest.raises(ValueError, match=r"decision_function_shape='ovo'.* of pairs of classes; set it to 'ovr'"):
            model.fit(three.X, three.y)
        model.fit(X, y)


def test_gaps_that_a_classifier_does_not_take_name_the_view_and_the_row():
    gap = with_value(np.nan, slice(7, 8), slice(3, 4))
    for model in all_kinds(random_state=0):
        if isinstance(model, ConcatenatedClassifier):
            assert model.fit(gap, y).score(gap, y) > 0.7
            continue
        with pytest.raises(ValueError, match=r"The view 'b' has NaN among its columns in row 7 of X"):
            model.fit(gap, y)
        with pytest.raises(ValueError, match=r"The view 'b' has NaN among its columns in row 7 of X"):
            model.fit(X, y).predict(gap)
    assert ViewVotingClassifier(DecisionTreeClassifier(max_depth=3), views=VIEWS).fit(gap, y).score(gap, y) > 0.7


@by_kind
def test_a_fit_that_fails_leaves_the_model_as_it_was(model):
    model = clone(model).fit(X, y)
    state = dict(vars(model))
    with pytest.raises(ValueError, match="view_labels must have shape"):
        model.fit(pd.DataFrame(X), y, view_labels=np.zeros((3, 3)))
    assert vars(model) == state or all(vars(model)[name] is value for name, value in state.items())
