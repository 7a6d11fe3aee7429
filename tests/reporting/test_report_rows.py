"""The rows of a report: training rows are recognised, and bad input is refused."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from fuselearn import FitReport, FusionRegressor, LabelConsensus, MKLClassifier, ShareBoostClassifier
from tests.reporting.report_pages import VIEWS


def test_training_rows_are_recognised(iris, fitted):
    X, y = iris
    assert FitReport(fitted, X[:75], y[:75]).summary["training"]["likeness"] == "same"
    assert FitReport(fitted, X[75:], y[75:]).summary["training"]["likeness"] is None
    assert FitReport(fitted, X[:70], y[:70]).summary["training"]["likeness"] is None
    machine = MKLClassifier(views=VIEWS).fit(X[:75], y[:75])
    assert FitReport(machine, X[:75], y[:75]).summary["training"]["likeness"] == "same"
    assert FitReport(machine, X[75:], y[75:]).summary["training"]["likeness"] is None


def test_halves_of_a_stratified_split_are_only_alike():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 4)) + y[:, None]
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(X[::2], y[::2])
    assert FitReport(model, X[1::2], y[1::2]).summary["training"]["likeness"] == "alike"


def test_training_rows_of_a_fusion_are_recognised(unequal, fusion, of_fusion):
    X, y = unequal[0][:300], unequal[1][:300]
    report = FitReport(fusion, X, y)
    assert report.summary["training"]["likeness"] == "same"
    assert " rows, 95 % interval" not in report.html
    assert "significant" not in " ".join(report.summary["words"]["good"])
    assert of_fusion["training"]["likeness"] is None
    # A file may have rows without any view, which the command line leaves out of a fit.
    empty = np.vstack([X[:99], np.full((2, 4), np.nan), X[99:]])
    found = FitReport(fusion, empty, np.insert(y, [99, 99], "ill")).summary
    assert found["training"]["likeness"] == "same"
    order = np.random.default_rng(0).permutation(300)
    found = FitReport(fusion, X[order], y[order]).summary
    assert found["training"]["likeness"] == "alike"
    assert any("exactly as many rows" in one["text"] for one in found["words"]["careful"])
    # Other rows with the same labels.
    rng = np.random.default_rng(2)
    other = rng.normal(size=(300, 4)) + np.array([1.2, 0, 0.8, 0]) * (y == "ill")[:, None]
    assert FitReport(fusion, other, y).summary["training"]["likeness"] == "alike"
    assert FitReport(fusion, X, np.where(y == "ill", "well", "ill")).summary["training"]["likeness"] is None


def test_weighted_training_rows_are_not_passed_over(iris):
    X, y = iris
    weights = np.where(y[:75] == "setosa", 2.0, 1.0)
    model = ShareBoostClassifier(views=VIEWS, n_estimators=5).fit(X[:75], y[:75], sample_weight=weights)
    assert FitReport(model, X[:75], y[:75]).summary["training"]["likeness"] == "alike"


def test_bad_input_is_refused_in_words(iris, fitted):
    X, y = iris
    with pytest.raises(NotFittedError):
        FitReport(ShareBoostClassifier(), X, y)
    with pytest.raises(TypeError, match=r"model must be a fitted classifier with views.*got SVC"):
        FitReport(SVC().fit(X, y), X, y)
    with pytest.raises(TypeError, match="got LabelConsensus"):
        FitReport(LabelConsensus(views=VIEWS, random_state=0).fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"y must hold a label for each of the 150 rows of X; got shape \(75,\)"):
        FitReport(fitted, X, y[:75])
    with pytest.raises(ValueError, match="ids must name each of the 150 rows of X; got 3"):
        FitReport(fitted, X, y, ids=["a", "b", "c"])
    with pytest.raises(ValueError, match="y has no label in 1 of 150 rows, the first of them row 4"):
        FitReport(fitted, X, np.where(np.arange(150) == 4, None, y))
    codes = np.unique(y, return_inverse=True)[1]
    words = r"y holds numbers \(\d, \d, \d\), but the classes .* are text \('setosa', .*\.astype\('str'\)"
    with pytest.raises(ValueError, match=words):
        FitReport(fitted, X, codes)
    of_numbers = ShareBoostClassifier(views=VIEWS, n_estimators=2).fit(X, codes)
    words = r"y holds text \('\d', .*\), but the classes .* are numbers \(0, 1, 2\).*\.astype\('int64'\)"
    with pytest.raises(ValueError, match=words):
        FitReport(of_numbers, X, codes.astype(str))
    with pytest.raises(ValueError, match="y must hold text or numbers, not both; it holds"):
        FitReport(fitted, X, np.where(np.arange(150) == 4, 1, y.astype(object)))
    with pytest.raises(
        TypeError, match=r"FusionRegressor predicts numbers; use fuselearn\.reporting\.RegressionReport"
    ):
        FitReport(FusionRegressor(views=VIEWS, max_fits=2).fit(X, X[:, 0]), X, X[:, 0])
    with pytest.raises(ValueError, match="X has no rows"):
        FitReport(fitted, X[:0])
    with pytest.raises(TypeError, match="title must be a string or None; got 3"):
        FitReport(fitted, X, title=3)
    with pytest.raises(TypeError, match="note must be a dict or None; got 'x'"):
        FitReport(fitted, X, note="x")
    with pytest.raises(TypeError, match=r"comparison must be a result of fuselearn\.compare.*got int"):
        FitReport(fitted, X, comparison=3)
