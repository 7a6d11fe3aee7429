"""New rows whose frame has no columns of a view are rows that lack the view."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import (
    FusionClassifier,
    FusionRegressor,
    IndependentBoostClassifier,
    MKLClassifier,
    ShareBoostClassifier,
    ShareGradientBoostingClassifier,
    ViewVotingClassifier,
)
from fuselearn.data.lacking_frames import with_absent_views
from fuselearn.inspection import missingness

NAMES = ["a0", "a1", "b0", "b1", "b2", "c0"]
VIEWS = {"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": ["c0", "b2"]}
ESTIMATORS = [
    FusionClassifier(views=VIEWS, max_fits=8, random_state=0),
    FusionRegressor(views=VIEWS, max_fits=8, random_state=0),
    ShareBoostClassifier(views=VIEWS, n_estimators=5, random_state=0),
    IndependentBoostClassifier(views=VIEWS, n_estimators=5, random_state=0),
    ShareGradientBoostingClassifier(views=VIEWS, n_estimators=5, random_state=0),
    ViewVotingClassifier(LogisticRegression(), views=VIEWS),
    MKLClassifier(views=VIEWS),
]


@pytest.fixture(scope="module")
def problem():
    draws = np.random.default_rng(0)
    y = np.arange(60) % 2
    return pd.DataFrame(draws.standard_normal((60, 6)) + y[:, None], columns=NAMES), y


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_they_are_predicted_as_rows_of_nan(model, library, problem):
    X, y = problem
    model.fit(X, y)
    for missing in (["a0", "a1"], ["b0", "b1", "b2", "c0"]):
        rows = X.assign(**dict.fromkeys(missing, np.nan))
        given = X.drop(columns=missing)
        if library == "polars":
            given = pytest.importorskip("polars").from_pandas(given)
        elif library == "pyarrow":
            given = pytest.importorskip("pyarrow").Table.from_pandas(given)
        np.testing.assert_array_equal(model.predict(given), model.predict(rows))
        if library == "pandas" and hasattr(model, "predict_proba") and not isinstance(model, MKLClassifier):
            np.testing.assert_array_equal(model.predict_proba(given), model.predict_proba(rows))


def test_what_is_no_whole_view_is_named_as_ever(problem):
    X, y = problem
    model = ShareBoostClassifier(views=VIEWS, n_estimators=2).fit(X, y)
    for columns in (NAMES[1:], NAMES[:-1], [*NAMES[2:], "more"], ["b1", "b0", "b2", "c0"], NAMES[::-1]):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(X.assign(more=0.0)[columns])


def test_they_are_explained_and_inspected(problem):
    X, y = problem
    model = ShareGradientBoostingClassifier(views=VIEWS, n_estimators=5, random_state=0).fit(X, y)
    given, rows = X.drop(columns=["a0", "a1"]), X.assign(a0=np.nan, a1=np.nan)
    np.testing.assert_array_equal(model.explain(given).view_values, model.explain(rows).view_values)
    assert str(missingness(model, given)) == str(missingness(model, rows))


def test_categories_keep_their_columns(problem):
    X, y = problem
    X = X.assign(a1=np.where(np.arange(60) % 3, "low", "high"), b1=np.where(y, "yes", "no"))
    views = {"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": ["c0"]}
    model = ShareGradientBoostingClassifier(views=views, n_estimators=5, categorical_features=["a1", "b1"]).fit(X, y)
    rows = X.assign(a0=np.nan, a1=None)
    np.testing.assert_array_equal(model.predict_proba(X.drop(columns=["a0", "a1"])), model.predict_proba(rows))


def test_thousands_of_columns_may_be_missing():
    """And the index stays."""
    names = [f"c{number}" for number in range(9_000)]
    X = pd.DataFrame(np.ones((3, 9_000)), columns=names, index=[7, 5, 9])
    model = type("Model", (), {"feature_names_in_": np.array(names), "view_columns_": np.split(np.arange(9_000), 3)})()
    whole = with_absent_views(model, X[names[3_000:]])
    assert list(whole.columns) == names
    assert whole.index.tolist() == [7, 5, 9]
    assert whole.isna().to_numpy().sum() == 3 * 3_000
