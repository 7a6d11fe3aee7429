"""The time limit of a fit on many rows, by a clock that each step moves on by what it is said to take."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import FusionClassifier
from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.boosting.gradient.gradient_rounds import GradientRun
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion import arm_fitting, budget, fusion_classifier, fusion_options, fusion_run, local_fusion, time_plan
from fuselearn.fusion.base_models import boosted_trees, ridge_features
from fuselearn.fusion.base_models.ridge_features import RidgeFeatures
from fuselearn.fusion.budget import Budget
from fuselearn.fusion.time_plan import TimePlan
from tests.fusion.clock import Clock
from tests.fusion.many_rows import VIEWS, table


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (arm_fitting, budget, time_plan, boosted_trees, ridge_features):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(fusion_classifier, "Budget", lambda *limits: Budget(*limits, started=clock.now))
    monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 100)
    monkeypatch.setattr(arm_fitting, "LANDMARKS", 30)
    settings = fusion_options.boosting_settings
    monkeypatch.setattr(local_fusion, "boosting_settings", lambda n, seed: replace(settings(n, seed), n_rounds=20))
    return clock


@pytest.fixture
def costs(clock, monkeypatch):
    """Let passes, rounds and the judging of labels take their time, in shares of a second."""
    monkeypatch.setattr(LocalPartitions, "ask", clock.after(0.01, LocalPartitions.ask))
    monkeypatch.setattr(GradientRun, "_best_trees", clock.after(0.1, GradientRun._best_trees))
    monkeypatch.setattr(RidgeFeatures, "__call__", clock.after(0.02, RidgeFeatures.__call__))
    monkeypatch.setattr(time_plan, "agree", clock.after(0.3 * 500 / 4000, time_plan.agree))
    monkeypatch.setattr(fusion_run, "agree", clock.after(0.3, fusion_run.agree))


def fit(time_limit):
    X, y = table(300, 3)
    return FusionClassifier(views=VIEWS, random_state=0, time_limit=time_limit).fit(X, y)


@pytest.mark.usefixtures("costs")
@pytest.mark.parametrize("time_limit", [3.0, 5.0])
def test_a_limit_is_kept_and_what_was_left_out_is_said(clock, time_limit):
    start = clock.now
    said = rf"time_limit={time_limit:g}: there was no time for .*boosting on 'c'"
    with pytest.warns(InterruptedFitWarning, match=said):
        model = fit(time_limit)
    assert clock.now - start <= 1.1 * time_limit
    # It is whole: what has weight was fitted in all folds, or on all rows.
    assert ("all views", "boosting") in model.arms_
    assert all(len(models) in (1, 5) for models, w in zip(model.estimators_, model.arm_weights_) if w > 0)
    assert model.score(*table(500, 3, seed=4)) > 0.6


@pytest.mark.usefixtures("costs")
def test_a_limit_that_is_long_enough_changes_nothing(clock):
    free, limited = fit(None), fit(1000.0)
    assert limited.arms_ == free.arms_
    np.testing.assert_array_equal(limited.arm_weights_, free.arm_weights_)


def test_what_has_to_follow_is_reserved(clock):
    plan = TimePlan(Budget(None, 10.0, started=clock.now))
    assert plan.seconds_left() == 10.0
    plan.measure_pass(clock.after(0.05, lambda: None))
    assert plan.seconds_left() == pytest.approx(9.95 - 25 * 0.05)
    assert plan.may_fit("a quick one", 7.0)
    assert not plan.may_fit("a slow one", 9.0)
    assert plan.budget.left_out == ["a slow one"]
    # However much that would be, some time is left for fits.
    plan.measure_pass(clock.after(1.0, lambda: None))
    assert plan.seconds_left() == pytest.approx(8.95 - 4.0)
    assert plan.may_improve() is False


def test_predictions_with_fewer_views_are_reserved_and_fewer_where_time_is_short(clock):
    plan = TimePlan(Budget(None, 10.0, started=clock.now), 1)
    assert plan.most_masked(5000, 100) == 5000
    assert plan.measured_prediction(clock.after(1.0, lambda: "values"), 2000, again=False) == "values"
    assert plan.seconds_left() == 9.0
    plan.measured_prediction(clock.after(2.0, lambda: None), 2000, again=True)
    # Of 512 rows at least, with all views and with the one.
    assert plan.seconds_left() == pytest.approx(7.0 - 1024 * 0.001)
    assert plan.most_masked(5000, 100) == 5000
    assert plan.most_masked(50_000, 100) == pytest.approx(7000, abs=1)
    clock.now += 6.99
    assert plan.most_masked(50_000, 100) == 100


class Costly(LogisticRegression):
    """Takes 0.4 s for each fit, by a clock that stands still otherwise."""

    clock = None

    def fit(self, X, y, sample_weight=None):
        Costly.clock.now += 0.4
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("time_limit", "n_models", "seconds"), [(1.0, [2], 0.8), (2.2, [2], 1.2), (3.5, [5], 2.4), (6.0, [5, 5], 4.4)]
)
def test_a_classifier_that_there_is_no_time_for_is_left_out_after_one_fold(clock, time_limit, n_models, seconds):
    Costly.clock, start = clock, clock.now
    X, y = table(300)
    with pytest.warns(InterruptedFitWarning, match="costly on 'c', costly on 'all views'") as told:
        model = FusionClassifier(views=VIEWS, learners=[Costly()], random_state=0, time_limit=time_limit).fit(X, y)
    assert len(told) == 1
    # The first is needed: it is tried without half of the rows, and fitted in two folds if there is no time for five.
    # Another one is tried in one of the five folds.
    assert [len(models) for models in model.estimators_ if models] == n_models
    assert clock.now - start == pytest.approx(seconds)
    assert model.score(*table(300, seed=4)) > 0.6


def test_without_a_limit_nothing_is_measured(clock):
    plan = TimePlan(Budget(3))
    plan.measure_pass(lambda: pytest.fail("it is not to be made"))
    assert [plan.may_fit("a fit") for _ in range(4)] == [True, True, True, False]
    assert plan.budget.left_out == []
    assert plan.may_improve()
