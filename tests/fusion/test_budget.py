"""The time limit of a fit on few rows, by a clock that each step moves on by what it is said to take."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from fuselearn import FusionClassifier, FusionRegressor
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion import budget, fusion_classifier, fusion_regressor, passes
from fuselearn.fusion.base_models import absent_views
from fuselearn.fusion.base_models.kernel_machines import KernelMachineRows
from fuselearn.fusion.budget import Budget, FewRowsPlan
from tests.fusion.clock import Clock
from tests.fusion.fusion_data import MODEL, X_NEW, Y_NEW, X, same, table, y
from tests.fusion.test_filled_views import drawn_views, without


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(budget, "time", clock)
    for module in (fusion_classifier, fusion_regressor):
        monkeypatch.setattr(module, "Budget", lambda *limits: Budget(*limits, started=clock.now))
    return clock


class Costly:
    """Takes 0.4 s for each fit, by a clock that stands still otherwise."""

    clock = None

    def fit(self, X, y, sample_weight=None):
        Costly.clock.now += 0.4
        return super().fit(X, y, sample_weight)


class CostlyClassifier(Costly, LogisticRegression):
    pass


class CostlyRegressor(Costly, LinearRegression):
    pass


@pytest.mark.parametrize(
    ("time_limit", "grouped", "n_models", "seconds"),
    [(1.0, False, 2, 0.8), (1.0, True, 2, 0.8), (3.5, False, 5, 2.4), (3.5, True, 2, 1.2), (6.0, True, 5, 4.4)],
)
def test_the_first_arm_is_fitted_in_two_folds_if_there_is_no_time_for_all(
    clock, time_limit, grouped, n_models, seconds
):
    Costly.clock, start = clock, clock.now
    model = clone(MODEL).set_params(learners=[CostlyClassifier()], time_limit=time_limit)
    said = "costlyclassifier on 'b', costlyclassifier on 'noise', costlyclassifier on 'all views'. The model"
    with pytest.warns(InterruptedFitWarning, match=re.escape(said)) as told:
        model.fit(X, y, groups=np.arange(90) // 2 if grouped else None)
    assert len(told) == 1
    # With groups it takes ten fits, or two of whole groups. The next one may be tried in one of its folds.
    assert [len(models[0].models) for models in model.estimators_ if models] == [n_models]
    assert clock.now - start == pytest.approx(seconds)
    assert model.score(X_NEW, Y_NEW) > 0.6


def test_a_costly_learner_is_left_out_after_one_fold_and_not_tried_again(clock):
    Costly.clock, start = clock, clock.now
    model = clone(MODEL).set_params(learners=["linear", CostlyClassifier()], time_limit=1.5)
    with pytest.warns(InterruptedFitWarning, match="for costlyclassifier on 'a', .*costlyclassifier on 'all views'"):
        model.fit(X, y)
    assert clock.now - start == pytest.approx(0.4)
    assert [arm for arm, models in zip(model.arms_, model.estimators_) if not models] == [
        (view, "costlyclassifier") for view in ("a", "b", "noise", "all views")
    ]


@pytest.mark.parametrize("learners", [[CostlyRegressor()], ["linear", CostlyRegressor()]])
def test_a_limit_of_a_regression_is_kept(clock, learners):
    Costly.clock, start = clock, clock.now
    model = FusionRegressor(views={"a": [0, 1, 2], "b": [3, 4, 5]}, learners=learners, time_limit=1.5, random_state=0)
    with pytest.warns(InterruptedFitWarning, match="costlyregressor on 'all views'") as told:
        model.fit(X, X @ np.arange(6))
    assert len(told) == 1
    assert clock.now - start <= 1.1 * 1.5
    assert np.isfinite(model.predict(X_NEW)).all()


def test_quick_learners_are_tried_first_on_every_view(clock, monkeypatch):
    monkeypatch.setattr(KernelMachineRows, "fit", clock.after(0.2, KernelMachineRows.fit))
    model = clone(MODEL).set_params(learners=["rbf", "linear"], time_limit=1.0)
    with pytest.warns(InterruptedFitWarning, match="no time for rbf on 'a', rbf on 'b', rbf on 'noise', rbf on 'all"):
        model.fit(X, y)
    assert [learner for (_, learner), models in zip(model.arms_, model.estimators_) if models] == ["linear"] * 4


def test_what_has_to_follow_is_reserved(clock):
    plan = FewRowsPlan(Budget(None, 10.0, started=clock.now))
    assert plan.seconds_left() == pytest.approx(8.5)
    plan.measure_weighing(clock.after(0.5, lambda: None))
    assert plan.seconds_left() == pytest.approx(9.5 - 1.5 - 3 * 0.5)
    plan.note_fit("linear", 2.0)
    assert plan.may_fit("trees")  # which is taken to be no slower than what was fitted
    plan.note_fit("trees", 7.0)
    assert plan.may_fit("linear")
    assert not plan.may_fit("trees")
    assert not plan.may_fit("rbf")
    # However much that would be, some time is left for fits.
    plan.measure_weighing(clock.after(2.0, lambda: None))
    assert plan.seconds_left() == pytest.approx(7.5 - 4.0)


def test_as_much_is_done_as_there_is_time_for(clock):
    plan, asked = FewRowsPlan(Budget(None, 10.0, started=clock.now)), []

    def work(n_items):
        asked.append(n_items)
        clock.now += 0.1 * n_items
        return n_items

    assert plan.as_many(work, 2, 20, 0.5) == 20
    assert plan.as_many(work, 2, 200, 0.5) in (37, 38)
    clock.now += 3.5
    assert plan.as_many(work, 2, 200, 0.5) == 2
    assert asked[:3] == [2, 20, 2]
    assert FewRowsPlan(Budget()).as_many(work, 2, 200, 0.5) == 200


def test_filling_in_views_ends_in_time(clock, monkeypatch):
    steps = []
    solve = clock.after(0.1, absent_views._Patterns.solve)
    monkeypatch.setattr(absent_views._Patterns, "solve", lambda *given: steps.append(clock.now) or solve(*given))
    start = clock.now
    model = clone(MODEL).set_params(learners=["linear"], time_limit=2.0)
    table_with_gaps = without(table(90)[0], drawn_views(90))
    model.fit(table_with_gaps, y)
    # Three steps of expectation maximisation, in 15 % of the time, and what is filled in then.
    assert steps[:4] == pytest.approx([start, start + 0.1, start + 0.2, start + 0.3])
    assert steps[4] > start + 0.35
    assert model._imputer.noise > 0
    assert model.score(X_NEW, Y_NEW) > 0.6


@pytest.mark.parametrize("gaps", [False, True])
def test_a_limit_that_is_long_enough_changes_nothing(gaps, monkeypatch):
    monkeypatch.setattr(passes, "LEAST_NOISE", 0.0)  # with a second pass
    cells = without(X, drawn_views(90)) if gaps else X
    learners = ["linear", "trees", LogisticRegression()]
    if gaps:
        learners.pop()
    free = FusionClassifier(views=MODEL.views, learners=learners, random_state=0).fit(cells, y)
    limited = clone(free).set_params(time_limit=1e6).fit(cells, y)
    same(free, limited)
    assert_array_equal(free.out_of_sample_decision_, limited.out_of_sample_decision_)
