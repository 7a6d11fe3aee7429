"""Regressors of single views, combined."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from fuselearn import ConcatenatedRegressor, ViewStackingRegressor, ViewVotingRegressor

VIEWS = {"a": [0, 1], "b": [2, 3]}
DRAWS = np.random.default_rng(0)
X = DRAWS.standard_normal((120, 4))
Y = X[:, 0] + 2 * X[:, 2] + 0.1 * DRAWS.standard_normal(120) + 10
KINDS = (ViewVotingRegressor, ViewStackingRegressor, ConcatenatedRegressor)


def test_voting_is_the_mean_of_the_views_that_a_row_has():
    model = ViewVotingRegressor(LinearRegression(), views=VIEWS).fit(X, Y)
    single = [LinearRegression().fit(X[:, columns], Y).predict(X[:, columns]) for columns in VIEWS.values()]
    np.testing.assert_allclose(model.predict(X), np.mean(single, axis=0))
    without_b = X.copy()
    without_b[:, 2:] = np.nan
    np.testing.assert_allclose(model.predict(without_b), single[0])


def test_concatenation_is_the_regressor_of_all_columns():
    model = ConcatenatedRegressor(LinearRegression(), views=VIEWS).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, Y).predict(X))


def test_stacking_learns_from_predictions_out_of_fold():
    draws = np.random.default_rng(1)
    noise = draws.standard_normal(120)  # a tree learns it by heart; out of fold it knows nothing
    model = ViewStackingRegressor(DecisionTreeRegressor(random_state=0), views=VIEWS, random_state=0).fit(X, noise)
    assert np.abs(model.final_estimator_.coef_).max() < 0.5
    good = ViewStackingRegressor(LinearRegression(), views=VIEWS, random_state=0).fit(X, Y)
    assert good.score(X, Y) > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_views_may_be_missing(kind):
    holed = X.copy()
    holed[:40, :2], holed[40:80, 2:] = np.nan, np.nan
    model = kind(Ridge(), views=VIEWS).fit(holed, Y)
    assert model.score(holed, Y) > 0.2
    assert model.predict(np.full((1, 4), np.nan))[0] == pytest.approx(Y.mean())


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_weight_0_take_no_part(kind):
    weights = (np.arange(120) < 60).astype(float)
    model = kind(Ridge(), views=VIEWS, random_state=0).fit(X, np.where(weights > 0, Y, 1e6), sample_weight=weights)
    np.testing.assert_allclose(
        model.predict(X), kind(Ridge(), views=VIEWS, random_state=0).fit(X[:60], Y[:60]).predict(X)
    )


def test_groups_are_held_out_together():
    groups = np.repeat(np.arange(30), 4)
    rows = np.repeat(DRAWS.standard_normal((30, 4)), 4, axis=0)
    target = np.repeat(DRAWS.standard_normal(30), 4)
    tree = DecisionTreeRegressor(random_state=0)
    leaking = ViewStackingRegressor(tree, views=VIEWS, random_state=0).fit(rows, target)
    grouped = ViewStackingRegressor(tree, views=VIEWS, random_state=0).fit(rows, target, groups=groups)
    assert np.abs(grouped.final_estimator_.coef_[:2]).max() < np.abs(leaking.final_estimator_.coef_[:2]).max()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regressor_is_refused(kind):
    with pytest.raises(TypeError, match="must be a scikit-learn regressor"):
        kind(LogisticRegression(), views=VIEWS).fit(X, Y)


def test_regressors_of_other_views_are_refused():
    with pytest.raises(ValueError, match=r"regressors for \['a', 'c'\], but the views are \['a', 'b'\]"):
        ViewVotingRegressor({"a": Ridge(), "c": Ridge()}, views=VIEWS).fit(X, Y)
    with pytest.raises(ValueError, match="3 regressors for 2 views"):
        ViewVotingRegressor([Ridge()] * 3, views=VIEWS).fit(X, Y)
    with pytest.raises(ValueError, match="cv"):
        ViewStackingRegressor(Ridge(), views=VIEWS, cv=1).fit(X, Y)
