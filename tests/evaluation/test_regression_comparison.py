"""`compare` of methods that predict numbers."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import ShuffleSplit

from fuselearn import compare
from fuselearn.registry import Method
from fuselearn.regression_methods import (
    LIBRARY_REGRESSION_METHODS,
    REGRESSION_METHODS,
    find_regression_method,
    resolve_regression_methods,
)

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:120], Y[:120] + 0.5
VIEWS = {"person": np.arange(4), "blood": np.arange(4, 10)}


def test_numbers_are_guessed_and_scored_by_r2_and_absolute_error():
    result = compare(X, Y, views=VIEWS, methods=["ridge_concatenated", "view:blood"], runs=3, random_state=0)
    assert result.best == "ridge_concatenated"
    columns = list(result.table.columns)
    assert columns[:5] == ["method", "r2", "low", "high", "mean_absolute_error"]
    assert (result.table["mean_absolute_error"] > 30).all()
    assert (result.table["high"] <= 1).all()
    assert "unequal" not in str(result)


def test_r2_is_said_to_be_of_all_rows_and_a_robust_score_can_be_had():
    settings = {"views": VIEWS, "methods": ["ridge_concatenated"], "runs": 2, "random_state": 0}
    assert "R² is of all test rows, gross outliers of the target included." in compare(X, Y, **settings).summary.note
    wild = Y.copy()
    wild[::12] += 5000
    robust = [compare(X, y, **settings, scoring="neg_median_absolute_error") for y in (Y, wild)]
    assert "R²" not in robust[0].summary.note
    assert compare(X, wild, **settings).scores.mean() < 0.1
    assert robust[0].scores.mean() > -80


def test_scores_are_those_of_splits_of_the_asked_size():
    sizes = []

    class Spy(Ridge):
        def fit(self, X, y):
            sizes.append(len(y))
            return super().fit(X, y)

    result = compare(X, Y, views=VIEWS, methods={"spy": Spy()}, runs=2, train_size=0.5, random_state=0)
    assert sizes == [60, 60]
    assert result.scores.shape == (1, 2)
    train, test = next(ShuffleSplit(1, train_size=0.5, random_state=0).split(X))
    typical = r2_score(Y[test], Ridge().fit(X[train], Y[train]).predict(X[test]))
    assert np.abs(result.scores - typical).max() < 0.3


def test_whole_numbers_are_classes_unless_the_task_says_otherwise():
    counts = np.round(Y / 10).astype(int)
    result = compare(X, counts, views=VIEWS, methods={"ridge": Ridge()}, runs=1, random_state=0, task="regression")
    assert "r2" in result.table.columns
    with pytest.raises(ValueError, match="of the class"):
        compare(X, counts, views=VIEWS, methods=["svm_sum"], runs=1)
    with pytest.raises(ValueError, match="use task='regression'"):
        compare(X, Y, views=VIEWS, task="classification")
    with pytest.raises(ValueError, match="task"):
        compare(X, Y, views=VIEWS, task="ranking")


@pytest.mark.parametrize(
    "option", [{"noise": 0.1}, {"consensus": True}, {"protocol": "bssd"}, {"view_labels": np.zeros((120, 2))}]
)
def test_what_is_for_classes_is_refused(option):
    with pytest.raises(ValueError, match="is for classes, but y holds numbers"):
        compare(X, Y, views=VIEWS, **option)


def test_groups_are_kept_together():
    groups = np.arange(120) // 6
    result = compare(X, Y, views=VIEWS, methods={"ridge": Ridge()}, groups=groups, runs=2, random_state=0)
    assert "20 groups" in str(result)


@pytest.mark.parametrize("name", [*REGRESSION_METHODS, *LIBRARY_REGRESSION_METHODS, "view:blood"])
def test_a_method_predicts_numbers_of_rows_with_missing_views(name):
    if name in ("lightgbm", "xgboost"):
        pytest.importorskip(name)
    holed = X.copy()
    holed[:30, :4], holed[30:60, 4:] = np.nan, np.nan
    estimator = find_regression_method(name, list(VIEWS)).estimator(VIEWS, 5, seed=0)
    rows = slice(60, None) if name == "view:blood" else slice(None)
    assert np.isfinite(estimator.fit(holed[rows], Y[rows]).predict(holed)).all()


def test_methods_by_name_and_as_estimators():
    methods = resolve_regression_methods({"mine": Ridge(), "ours": "fusion"}, list(VIEWS))
    assert [method.name for method in methods] == ["mine", "ours"]
    assert all(isinstance(method, Method) for method in methods)
    names = [method.name for method in resolve_regression_methods("default", ["a"])]
    assert names == [*REGRESSION_METHODS, "view:a"]
    with pytest.raises(ValueError, match="'shareboost', which is not known where numbers are predicted"):
        resolve_regression_methods("shareboost", ["a"])
    with pytest.raises(ValueError, match="more than once"):
        resolve_regression_methods(["fusion", "fusion"], ["a"])
    with pytest.raises(ValueError, match="empty"):
        resolve_regression_methods([], ["a"])


def test_regressors_alone_predict_whole_numbers():
    result = compare(X, np.round(Y), views=VIEWS, methods={"ridge": Ridge()}, runs=2, random_state=0)
    assert list(result.table.columns)[1] == "r2"


@pytest.mark.parametrize(
    ("methods", "y", "message"),
    [
        ({"ridge": Ridge(), "fusion": "fusion"}, np.arange(120) % 3, "the regressor Ridge.*pass task='regression'"),
        ([LogisticRegression()], Y, "the classifier LogisticRegression.*task='classification'"),
    ],
)
def test_estimators_of_the_other_task_are_refused_before_any_fit(methods, y, message):
    with pytest.raises(ValueError, match=message):
        compare(X, y, views=VIEWS, methods=methods, runs=2)
