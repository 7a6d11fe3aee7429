"""Bad input gets an error that names the argument, what was given and what would be right."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.learners import GaussianNB, Tree

rng = np.random.default_rng(0)
y = np.arange(30) % 2
X = rng.normal(size=(30, 4)) + y[:, None]
VIEWS = {"a": [0, 1], "b": [2, 3]}


@pytest.mark.parametrize("kind", [ShareBoostClassifier, IndependentBoostClassifier])
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be an integer of at least 1; got 0"),
        ({"n_estimators": -3}, ValueError, "n_estimators must be an integer of at least 1; got -3"),
        ({"n_estimators": 2.5}, ValueError, "n_estimators must be an integer of at least 1; got 2.5"),
        ({"n_estimators": True}, ValueError, "n_estimators must be an integer"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be a number above 0; got 0"),
        ({"learning_rate": "fast"}, ValueError, "learning_rate must be a number above 0; got 'fast'"),
        ({"resample": "yes"}, ValueError, "resample must be True or False; got 'yes'"),
        ({"error": "oob"}, ValueError, r"error must be one of \['training', 'out_of_bag'\]; got 'oob'"),
        ({"error": "out_of_bag"}, ValueError, "error='out_of_bag' needs resample=True"),
        ({"views": {"a": [0, 7]}}, ValueError, "View 'a' asks for column 7, but X has n_features=4"),
        ({"views": {"a": []}}, ValueError, "View 'a' is empty"),
        ({"views": {"a": ["x"]}}, ValueError, "View 'a' names the column 'x', but X is not a data frame"),
        ({"views": [("a", [0]), ("a", [1])]}, ValueError, "two views named 'a'"),
        ({"estimator": "forest"}, ValueError, "estimator must be one of .*; got 'forest'"),
        (
            {"estimator": object()},
            TypeError,
            "estimator must be a scikit-learn classifier .* no fit method",
        ),
        ({"estimator": SVC}, TypeError, r"estimator must be an instance, not a class; pass SVC\(\)"),
        ({"estimator": LinearRegression()}, TypeError, "must be a classifier; got LinearRegression.*regressor"),
        ({"estimator": FrozenEstimator(SVC().fit(X[:, :2], y))}, ValueError, "estimator is frozen, but a weak learner"),
        ({"estimator": []}, ValueError, "estimator is an empty list; name at least one"),
        ({"estimator": {"a": None, "c": None}}, ValueError, "estimator names the view 'c', but the views are"),
        ({"estimator": {"a": None}}, ValueError, "estimator has nothing for the view 'b'"),
        ({"preprocess": {"c": PCA()}}, ValueError, "preprocess names the view 'c'"),
        ({"preprocess": SVC()}, TypeError, "preprocess for the view 'a' is SVC.*, an object with no transform method"),
        ({"preprocess": False}, TypeError, "preprocess for the view 'a' is False, an object with no fit method"),
        ({"preprocess": PCA}, TypeError, "preprocess for the view 'a' is .*PCA.*, a class, not an instance"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None, a number of threads, or -1 for all cores; got 0"),
        ({"n_jobs": "2"}, ValueError, "n_jobs must be None, a number of threads, .*; got '2'"),
        ({"verbose": "loud"}, ValueError, "verbose must be an integer of at least 0; got 'loud'"),
        ({"estimator": GaussianNB("x")}, ValueError, "var_smoothing must be a number of at least 0; got 'x'"),
    ],
)
def test_settings(kind, settings, error, message):
    with pytest.raises(error, match=message):
        kind(**{"views": VIEWS, **settings}).fit(X, y)


@pytest.mark.parametrize("policy", ["bset", "exp3", 3, None, object()])
def test_an_unknown_policy(policy):
    names = r"\['best', 'exp3p', 'ucb', 'uniform', 'round_robin'\]"
    with pytest.raises(ValueError, match=f"view_policy must be one of {names}"):
        ShareBoostClassifier(view_policy=policy).fit(X, y)


def test_a_near_policy_name_is_offered():
    with pytest.raises(ValueError, match="Did you mean 'exp3p'"):
        ShareBoostClassifier(view_policy="exp3").fit(X, y)


def with_value(value, rows=slice(0, 1), columns=slice(0, 1)):
    changed = X.copy()
    changed[rows, columns] = value
    return changed


@pytest.mark.parametrize("kind", [ShareBoostClassifier, IndependentBoostClassifier])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(30)}, "y must hold at least two classes; it has one class only"),
        ({"y": rng.normal(size=30)}, "Unknown label type"),
        ({"y": y[:-1]}, "inconsistent numbers of samples"),
        ({"X": with_value(np.inf)}, "Input X contains infinity"),
        ({"X": with_value(np.nan, slice(4, 6), slice(None))}, "Every view is absent .* in 2 of the rows .* row 4"),
        ({"X": with_value(np.nan, slice(None), slice(2, 4))}, "The view 'b' is absent .* in every row"),
        ({"sample_weight": np.zeros(30)}, "sample_weight is zero for every row"),
        ({"sample_weight": np.r_[-1.0, np.ones(29)]}, "sample_weight holds negative weights, the least -1.0"),
        ({"sample_weight": np.r_[np.nan, np.ones(29)]}, "sample_weight holds NaN or infinity"),
        ({"sample_weight": np.ones(29)}, "inconsistent numbers of samples"),
        ({"sample_weight": np.ones((30, 2))}, "sample_weight must be 1-D"),
        ({"sample_weight": ["a"] * 30}, "sample_weight must hold numbers; got"),
        ({"X": X * 1e200}, "The view 'a' holds values so large that their squares are not finite"),
        ({"sample_weight": (y == 0).astype(float)}, "positive sample_weight are all of one class"),
        ({"view_labels": y}, r"view_labels must have shape \(n_samples, n_views\) = \(30, 2\).* got shape \(30,\)"),
        ({"view_labels": np.c_[y, y, y]}, r"view_labels must have shape .* got shape \(30, 3\)"),
        (
            {"view_labels": np.c_[y, y + 1]},
            "view_labels of the view 'b' holds labels that are not among the classes: 2",
        ),
        ({"view_labels": np.full((30, 2), "x")}, "view_labels of the view 'a' holds labels .*'x'; the classes are"),
        ({"view_labels": np.full((30, 2), np.nan)}, "view_labels of the view 'a' holds labels .*nan"),
    ],
)
def test_data(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        kind(views=VIEWS, n_estimators=3).fit(**{"X": X, "y": y, **arguments})


class FailsInRoundThree(DecisionTreeClassifier):
    """A classifier that breaks in the middle of a run."""

    fits = 0

    def fit(self, *arguments, **options):
        type(self).fits += 1
        if type(self).fits == 3:
            raise RuntimeError("out of order")
        return super().fit(*arguments, **options)


@pytest.mark.parametrize("warm_start", [False, True])
def test_nothing_is_lost_by_a_fit_that_fails(warm_start):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=5, warm_start=warm_start, random_state=0).fit(X, y)
    before = model.decision_function(X)
    state = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(ValueError, match="view_labels must have shape"):
        model.set_params(n_estimators=8).fit(X, y, view_labels=np.zeros((3, 3)))
    if not warm_start:
        with pytest.raises(ValueError, match="View 'b' asks for column 2"):
            model.fit(pd.DataFrame(X[:, :2], columns=["p", "q"]), y)
    FailsInRoundThree.fits = 0
    model.set_params(estimator=FailsInRoundThree(max_depth=1), views=[slice(0, 4)] if not warm_start else VIEWS)
    with pytest.raises(RuntimeError, match="out of order"):
        model.fit(X, y)
    assert {name: value for name, value in vars(model).items() if name.endswith("_")} == state
    assert len(model.trace_) == model.n_iter_ == 5
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_missing_values_a_classifier_does_not_take():
    with pytest.raises(ValueError, match=r"The view 'a' has NaN inside rows .* SVC does not take. Impute"):
        ShareBoostClassifier(SVC(), views=VIEWS).fit(with_value(np.nan), y)


def test_missing_values_at_predict_name_the_view():
    model = ShareBoostClassifier(SVC(), views=VIEWS, n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="The view 'a' has NaN inside rows"):
        model.predict(with_value(np.nan))


def test_every_arm_is_checked_before_the_first_round():
    """Also one that shares its preparation with another, or that a policy may never draw."""
    for estimator in (["linear", GaussianNB(var_smoothing=-1)], {"a": None, "b": Tree(max_depth=0)}):
        with pytest.raises(ValueError, match=r"var_smoothing must be|max_depth must be"):
            ShareBoostClassifier(estimator, views=VIEWS, view_policy="round_robin", n_estimators=1).fit(X, y)


def test_columns_of_predict_must_be_those_of_fit():
    model = ShareBoostClassifier(n_estimators=3).fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=list("abce")))
    with pytest.raises(ValueError, match="X has 3 features, but ShareBoostClassifier is expecting 4"):
        ShareBoostClassifier(n_estimators=3).fit(X, y).predict(X[:, :3])


def test_margins_want_known_labels_for_all_rows():
    model = ShareBoostClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="y must hold a label for each of the 30 rows"):
        model.margins(X, y[:-1])
    with pytest.raises(ValueError, match="y holds labels that are not among the classes: 5"):
        model.margins(X, np.full(30, 5))


def test_no_edge_at_all_is_a_warning_and_the_prior():
    same = np.zeros((30, 2))
    with pytest.warns(NoEdgeWarning, match="No view beats chance in the first round"):
        model = ShareBoostClassifier().fit(same, y)
    assert model.n_iter_ == 0
    np.testing.assert_allclose(model.predict_proba(same), 0.5)
    np.testing.assert_array_equal(model.view_importances_, [0.0])
