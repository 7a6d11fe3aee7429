"""The fusion of views into a number."""

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import r2_score

from fuselearn import FusionRegressor, load, save
from fuselearn.exceptions import InterruptedFitWarning, UnattainableCoverageWarning
from fuselearn.fusion.base_models import catalogue
from fuselearn.fusion.passes import ArmRuns
from fuselearn.fusion.regression_sums import RegressionArmFitting

VIEWS = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7, 8]}


def problem(n_rows=300, seed=0, missing=0.0):
    """Return rows and targets, both for training and, clean, for a test."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((n_rows + 500, 9))
    y = 5 + X[:, 0] + np.sin(2 * X[:, 3]) + X[:, 6] + 0.3 * draws.standard_normal(len(X))
    for number, columns in enumerate(VIEWS.values()):
        lost = draws.random(len(X)) < missing
        lost &= np.arange(len(X)) % 3 != number  # every row has some view
        X[np.ix_(lost, columns)] = np.nan
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def fusion(**settings):
    """Return a small fusion of the three views."""
    return FusionRegressor(**{"views": VIEWS, "learners": ["linear", "rbf"], "random_state": 0, **settings})


def many_rows():
    """Return a context in which 50 rows are many."""
    return patch.object(catalogue, "MANY_ROWS", 50)


@pytest.fixture(scope="module", params=["few", "many"])
def fitted(request):
    """A fusion with the default learners of few or of many rows, rows and targets of a test."""
    X, y, X_new, y_new = problem()
    with many_rows() if request.param == "many" else patch.object(catalogue, "MANY_ROWS", 3000):
        return FusionRegressor(views=VIEWS, random_state=0).fit(X, y), X, y, X_new, y_new


def test_it_predicts_better_than_its_best_arm(fitted):
    model, _, y, X_new, y_new = fitted
    assert model.score(X_new, y_new) > 0.8
    board = model.leaderboard_
    assert model.out_of_sample_score_ > board["r2"].max() - 0.02
    assert list(board.columns) == ["view", "learner", "r2", "weight", "fits", "rows"]
    assert abs(model.out_of_sample_score_ - model.score(X_new, y_new)) < 0.1
    assert model.out_of_sample_score_ == pytest.approx(r2_score(y, model.out_of_sample_prediction_))
    assert model.out_of_sample_metric_ == "r2"
    assert model.outlier_share_ == 0
    assert model.view_importances_.sum() == pytest.approx(1)
    assert model.view_importances_.min() > 0.1


@pytest.mark.parametrize("power", [20, -664, 664])
def test_the_target_may_have_any_unit(fitted, power):
    """Squares of targets of 2**-664, or 1e-200, vanish."""
    model, X, y, X_new, _ = fitted
    factor = 2.0**power
    with many_rows() if model._by_sums else patch.object(catalogue, "MANY_ROWS", 3000):
        other = clone(model).fit(X, factor * y)
    np.testing.assert_allclose(other.predict(X_new), factor * model.predict(X_new), rtol=1e-9)
    np.testing.assert_allclose(other.predict_interval(X_new), factor * model.predict_interval(X_new), rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
@pytest.mark.parametrize("outlying", [False, True])
def test_the_unit_may_be_a_power_of_ten(factor, outlying):
    """Products are rounded. In forests that may decide between equal splits: there are none here, nor of residuals."""
    X, y, X_new, _ = problem(200)
    y[X[:, 4] > 0.7] *= 1.5
    y[:4] += 60 * outlying
    model = fusion(max_fits=16)
    one, other = clone(model).fit(X, y), clone(model).fit(X, factor * y)
    assert one._sizes is None
    assert (one.outlier_share_ > 0) == outlying
    np.testing.assert_allclose(other.outlier_probabilities_, one.outlier_probabilities_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.predict(X_new), factor * one.predict(X_new), rtol=1e-9)
    np.testing.assert_allclose(other.predict_interval(X_new), factor * one.predict_interval(X_new), rtol=1e-9)


def test_intervals_cover_and_contain_the_prediction(fitted):
    model, _, _, X_new, y_new = fitted
    lower, upper = model.predict_interval(X_new).T
    assert 0.85 < np.mean((lower <= y_new) & (y_new <= upper)) < 0.97
    predicted = model.predict(X_new)
    assert ((lower < predicted) & (predicted < upper)).all()
    narrow = model.predict_interval(X_new, coverage=0.5)
    assert ((lower <= narrow[:, 0]) & (narrow[:, 1] <= upper)).all()


@pytest.mark.parametrize("coverage", [0, 1, 1.5, True, "0.9", None])
def test_a_coverage_that_is_none_is_refused(fitted, coverage):
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        fitted[0].predict_interval(fitted[3], coverage=coverage)


@pytest.mark.parametrize("many", [False, True])
def test_views_may_be_missing(many):
    X, y, X_new, y_new = problem(400, missing=0.4)
    with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
        model = fusion(learners="default" if many else ["linear", "rbf"]).fit(X, y)
    assert model.score(X_new, y_new) > 0.3
    lower, upper = model.predict_interval(X_new).T
    inside = (lower <= y_new) & (y_new <= upper)
    present = ~np.isnan(X_new[:, ::3])
    for n_views in (1, 2, 3):
        assert inside[present.sum(axis=1) == n_views].mean() > 0.8
    nothing = np.full((1, 9), np.nan)
    assert model.predict(nothing)[0] == pytest.approx(y.mean())
    lower, upper = model.predict_interval(nothing)[0]
    assert np.mean((lower <= y_new) & (y_new <= upper)) > 0.85


@pytest.mark.parametrize("many", [False, True])
def test_gross_outliers_of_the_target_count_next_to_nothing(many):
    X, y, X_new, y_new = problem(400)
    draws = np.random.default_rng(0)
    wrong = draws.random(400) < 0.1
    spoilt = y + wrong * 15 * draws.standard_normal(400)
    with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
        model, clean = fusion().fit(X, spoilt), fusion().fit(X, y)
    assert 0.05 < model.outlier_share_ < 0.12
    assert model.outlier_probabilities_[wrong & (np.abs(spoilt - y) > 6)].min() > 0.9
    assert model.score(X_new, y_new) > clean.score(X_new, y_new) - 0.03
    assert model.out_of_sample_scores_["r2_all_rows"] < 0.6 < model.out_of_sample_score_


@pytest.mark.parametrize("many", [False, True])
def test_outliers_on_one_side_do_not_speak_for_the_pass_that_they_pulled(many):
    X, y, X_new, y_new = problem(300)
    spoilt = y + 150 * (np.arange(300) % 25 == 0)
    with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
        model = fusion().fit(X, spoilt)
    assert 0.03 < model.outlier_share_ < 0.06
    assert model.score(X_new, y_new) > 0.75


def test_two_gross_outliers_do_no_harm():
    draws = np.random.default_rng(0)
    X = draws.standard_normal((700, 9))
    y = X[:, 0] + X[:, 3] + 0.3 * draws.standard_normal(700)
    spoilt = y[:200].copy()
    spoilt[:2] += 100
    model = fusion().fit(X[:200], spoilt)
    assert model.outlier_probabilities_[:2].min() > 0.99
    assert 0 < model.outlier_share_ < 0.02
    assert model.score(X[200:], y[200:]) > 0.9  # less than 0 where they are believed


def test_intervals_that_so_few_rows_cannot_promise_are_told():
    X, y, X_new, _ = problem(30)
    model = fusion(max_fits=12).fit(X, y)
    with pytest.warns(UnattainableCoverageWarning, match=r"coverage 0\.99 need 199 training rows.*cover about 0\.9"):
        intervals = model.predict_interval(X_new, 0.99)
    wide = model.predict_interval(X_new, 0.9)  # warnings are errors here
    assert ((intervals[:, 0] <= wide[:, 0]) & (wide[:, 1] <= intervals[:, 1])).all()


def test_a_skewed_target_has_no_outliers():
    X, y, _, _ = problem(400)
    assert fusion().fit(X, np.exp(y / 2)).outlier_share_ == 0


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kind", ["step", "growing"])
def test_noise_that_depends_on_a_column_is_no_outlier_and_intervals_follow_it(kind, many):
    draws = np.random.default_rng(3)
    X = draws.standard_normal((2400, 9))
    spread = np.where(X[:, 4] > 0.7, 3.0, 0.2) if kind == "step" else 0.3 * np.exp(1.2 * X[:, 4])
    y = X[:, 0] + np.sin(2 * X[:, 3]) + X[:, 6] + spread * draws.standard_normal(2400)
    with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
        model = fusion().fit(X[:400], y[:400])
    assert model.outlier_share_ < 0.03
    lower, upper = model.predict_interval(X[400:]).T
    inside = (lower <= y[400:]) & (y[400:] <= upper)
    assert 0.86 < inside.mean() < 0.96
    loud = spread[400:] > 0.5
    assert np.mean((upper - lower)[loud]) > 1.3 * np.mean((upper - lower)[~loud])
    # As outliers, 10 to 22 % of them were covered in steps, and 64 % where noise grows.
    assert inside[loud].mean() > 0.7


@pytest.mark.parametrize("n_lost", [0, 4, 30])
def test_patterns_of_views_that_few_of_many_rows_have_get_intervals_of_their_own_width(n_lost):
    draws = np.random.default_rng(0)
    X = draws.standard_normal((1600, 9))
    y = 2 * X[:, 0] + X[:, 3] + X[:, 6] + 0.3 * draws.standard_normal(1600)
    X[:n_lost, :3] = np.nan
    X[600:, :3] = np.nan
    with many_rows():
        model = fusion().fit(X[:600], y[:600])
    lower, upper = model.predict_interval(X[600:]).T
    # That is 37 % with intervals of rows that have all views.
    assert 0.86 < np.mean((lower <= y[600:]) & (y[600:] <= upper)) < 0.95


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("n_views", [5, 8])
def test_patterns_that_no_training_row_has_are_not_predicted_too_near_to_the_mean(n_views, many):
    draws = np.random.default_rng(0)
    X = draws.standard_normal((1500, 2 * n_views))
    y = X[:, ::2].sum(axis=1) + 0.3 * draws.standard_normal(1500)
    views = {f"view {number}": [2 * number, 2 * number + 1] for number in range(n_views)}
    with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
        model = fusion(views=views, learners=["linear"]).fit(X[:400], y[:400])
    X_new, y_new = X[400:].copy(), y[400:]
    X_new[:, :4] = np.nan
    predicted = model.predict(X_new)
    slope = np.cov(predicted, y_new)[0, 1] / predicted.var()
    assert 0.85 < slope < 1.2
    lower, upper = model.predict_interval(X_new).T
    covered = np.mean((lower <= y_new) & (y_new <= upper))
    assert covered > 0.86
    assert covered < 0.95 or n_views > 6  # of many views, intervals of fewer views stand for some


@pytest.mark.parametrize("many", [False, True])
def test_intervals_of_groups_hold_rows_of_new_groups(many):
    """Rows of a group have most of their error in common, so 30 groups of 10 rows are like 30 rows, not 300."""
    covered = []
    for seed in range(6):
        draws = np.random.default_rng(seed)
        groups = np.repeat(np.arange(330), 10)
        X = draws.standard_normal((3300, 6))
        y = X[:, 0] + X[:, 3] + draws.standard_normal(330)[groups] + 0.2 * draws.standard_normal(3300)
        with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
            model = fusion(views={"a": [0, 1, 2], "b": [3, 4, 5]}, learners=["linear"])
            model.fit(X[:300], y[:300], groups=groups[:300])
        lower, upper = model.predict_interval(X[300:], coverage=0.8).T
        covered.append(np.mean((lower <= y[300:]) & (y[300:] <= upper)))
    assert 0.79 < np.mean(covered) < 0.9


def test_out_of_fold_values_of_groups_have_not_seen_the_group():
    draws = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 5)
    X = np.repeat(draws.standard_normal((60, 9)), 5, axis=0) + 0.01 * draws.standard_normal((300, 9))
    y = np.repeat(draws.standard_normal(60), 5)  # known from the group alone
    assert fusion().fit(X, y).out_of_sample_score_ > 0.5
    assert fusion().fit(X, y, groups=groups).out_of_sample_score_ < 0.2


@pytest.mark.parametrize("many", [False, True])
def test_groups_that_differ_are_no_outliers(many):
    draws = np.random.default_rng(10)
    groups = np.repeat(np.arange(30), 10)
    X = draws.standard_normal((300, 6))
    y = X[:, 0] + 3 * draws.laplace(size=30)[groups] + 0.2 * draws.standard_normal(300)
    model = fusion(views={"a": [0, 1, 2], "b": [3, 4, 5]}, learners=["linear"])
    with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
        shares = [clone(model).fit(X, y, groups=given).outlier_share_ for given in (None, groups)]
    assert shares[0] > 0
    assert shares[1] == 0


def test_weights_of_rows_count():
    X, y, X_new, _ = problem(200)
    weights = np.ones(200)
    weights[100:] = 0
    spoilt = y.copy()
    spoilt[100:] = -100.0
    model = fusion().fit(X, spoilt, sample_weight=weights)
    half = fusion().fit(X[:100], y[:100])
    np.testing.assert_allclose(model.predict(X_new), half.predict(X_new))
    assert np.isnan(model.out_of_sample_prediction_[100:]).all()
    assert np.isnan(model.outlier_probabilities_[100:]).all()


@pytest.mark.parametrize("many", [False, True])
def test_the_model_is_the_same_for_any_number_of_threads(many):
    X, y, X_new, _ = problem(200)
    with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
        one, two = (fusion(learners="default", n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(X_new), two.predict(X_new))
    np.testing.assert_array_equal(one.predict_interval(X_new), two.predict_interval(X_new))


@pytest.mark.parametrize("many", [False, True])
def test_regressors_of_the_user_are_arms(many):
    X, y, X_new, y_new = problem(120)
    with many_rows() if many else patch.object(catalogue, "MANY_ROWS", 3000):
        model = fusion(learners={"line": LinearRegression(), "ridge": Ridge(), "forest": "trees"}).fit(X, y)
    assert {learner for _, learner in model.arms_} == {"line", "ridge", "forest"}
    assert model.score(X_new, y_new) > 0.6


@pytest.mark.parametrize(
    ("learners", "error", "words"),
    [
        ("svm", ValueError, "'svm', which is not known; known are .*'rbf'.*regressor"),
        ([], ValueError, "give regressors"),
        (LogisticRegression(), TypeError, "must be a scikit-learn regressor"),
        (Ridge, TypeError, "must be an instance"),
    ],
)
def test_wrong_learners_are_refused(learners, error, words):
    X, y, _, _ = problem(50)
    with pytest.raises(error, match=words):
        fusion(learners=learners).fit(X, y)


def test_wrong_settings_and_rows_are_refused():
    X, y, _, _ = problem(50)
    with pytest.raises(ValueError, match="max_fits"):
        fusion(max_fits=0).fit(X, y)
    with pytest.raises(ValueError, match="time_limit"):
        fusion(time_limit=-1).fit(X, y)
    with pytest.raises(ValueError, match="text 'a'"):
        fusion().fit(X, np.full(50, "a"))
    with pytest.raises(ValueError, match="n_samples=1"):
        fusion().fit(X, y, sample_weight=np.eye(50)[0])


@pytest.mark.parametrize(
    ("place", "words"),
    [("files", "X is files.*read_parquet"), ("dask", "X is a Dask.*X.compute"), ("gpu", "on a GPU.*X.cpu")],
)
def test_rows_that_are_not_in_memory_are_refused_before_any_work(place, words):
    """Nothing is copied without being asked."""
    X, y, X_new, _ = problem(50)
    model = fusion(learners=["linear"]).fit(X, y)
    with patch("fuselearn.data.view_table.row_location", return_value=place):
        for call in (lambda: fusion().fit(X, y), lambda: model.predict(X_new), lambda: model.predict_interval(X_new)):
            with pytest.raises(TypeError, match=f"FusionRegressor takes rows in memory.*{words}"):
                call()


def test_many_rows_that_are_interrupted_give_what_was_fitted_and_nothing_else_is_begun():
    X, y, X_new, _ = problem(200)
    model = fusion(learners=["linear", "boosting"])
    stopped = patch.object(RegressionArmFitting, "_boost_all_views", side_effect=KeyboardInterrupt)
    with many_rows(), stopped, pytest.warns(InterruptedFitWarning, match="has the 1 base models"):
        model.fit(X, y)
    assert len(model.arms_) == 1
    assert model._sizes is None
    assert np.isfinite(model.predict_interval(X_new)).all()


def test_an_interrupt_after_the_first_pass_leaves_it_whole():
    """Whether residual sizes are learnt, or the second pass is made."""
    X, y, X_new, y_new = problem(150)
    y = y.copy()
    y[:6] += 60
    fit_arms, n_calls, calls = ArmRuns._fit, 0, []

    def counted(self, *arguments):
        nonlocal n_calls
        calls.append(self)
        n_calls += 1
        if n_calls == stop_at:
            raise KeyboardInterrupt
        return fit_arms(self, *arguments)

    with patch.object(ArmRuns, "_fit", counted):
        stop_at = 0
        whole = fusion().fit(X, y)
        stages = [number for number, runs in enumerate(calls, 1) if number == 1 or runs is not calls[number - 2]]
        assert len(stages) == 4  # the target and the sizes, twice
        assert whole.outlier_share_ > 0
        for stop_at in (stages[1], stages[2], stages[3] - 1):
            n_calls = 0
            with pytest.warns(InterruptedFitWarning, match="Interrupted"):
                model = fusion().fit(X, y)
            assert n_calls == stop_at  # nothing is begun after it
            assert model.outlier_share_ > 0
            assert np.isfinite(model.predict_interval(X_new)).all()
            assert np.isfinite(r2_score(y_new, model.predict(X_new)))


@pytest.mark.parametrize("factor", [1e200, 1e-50])
def test_scores_have_no_unit(factor):
    X, y, _, _ = problem(100)
    here, there = fusion().fit(X, y), fusion().fit(X, y * factor)
    for name in ("r2", "r2_all_rows"):
        np.testing.assert_allclose(there.out_of_sample_scores_[name], here.out_of_sample_scores_[name], rtol=1e-6)


def test_a_budget_is_kept():
    X, y, X_new, _ = problem(100)
    model = fusion(learners="default", max_fits=3).fit(X, y)
    assert model.n_fits_ == 3
    assert (model.leaderboard_["fits"] > 0).sum() == 3
    assert np.isfinite(model.predict(X_new)).all()


def test_a_target_that_does_not_vary_is_predicted():
    X, _, X_new, _ = problem(60)
    model = fusion().fit(X, np.full(60, 3.5))
    np.testing.assert_allclose(model.predict(X_new), 3.5)
    np.testing.assert_allclose(model.predict_interval(X_new), 3.5, atol=1e-6)


def test_diabetes():
    X, y = load_diabetes(return_X_y=True)
    model = FusionRegressor(views={"person": slice(0, 4), "blood": slice(4, 10)}, random_state=0).fit(X, y)
    assert model.out_of_sample_score_ > 0.48
    assert model.outlier_share_ == 0


def test_explanations_add_up_to_the_prediction(fitted):
    model, _, _, X_new, _ = fitted
    rows = X_new[:20].copy()
    rows[::3, :3] = np.nan
    explanation = model.explain(rows)
    predicted = model.predict(rows)
    np.testing.assert_allclose(explanation.view_values.sum(axis=1) + explanation.base, predicted, atol=1e-9)
    columns = explanation.column_values.sum(axis=1) + explanation.column_base
    np.testing.assert_allclose(columns, predicted, atol=1e-9)
    assert (explanation.view_values[::3, 0] == 0).all()


def test_a_model_with_local_intervals_is_saved_and_other_parts_are_refused(tmp_path):
    draws = np.random.default_rng(0)
    X = draws.standard_normal((300, 9))
    y = X[:, 0] + 0.3 * np.exp(1.5 * X[:, 4]) * draws.standard_normal(300)
    model = fusion(learners=["linear"]).fit(X, y)
    assert model._sizes is not None
    assert 0.1 < model._sizes.out_of_sample_score_ < 0.9
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    X[::3, :3] = np.nan
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    loaded._sizes.view_columns_ = loaded._sizes.view_columns_[::-1]
    with pytest.raises(ValueError, match="sizes of residuals of other views"):
        loaded.validate()
    for sizes in (None, Ridge(), model):
        loaded._sizes = sizes
        with pytest.raises(ValueError, match="but not what predicts these"):
            loaded.validate()
