"""The time limit of a fit on many rows, by a clock that each step moves on by what it is said to take."""

from dataclasses import replace

import numpy as np
import pytest

from fuselearn import FusionClassifier
from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.boosting.gradient.gradient_rounds import GradientRun
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion import arm_fitting, fusion_classifier, fusion_options, fusion_run, local_fusion, passes, time_plan
from fuselearn.fusion.base_models import boosted_trees, ridge_features
from fuselearn.fusion.base_models.ridge_features import RidgeFeatures
from fuselearn.fusion.passes import Budget
from fuselearn.fusion.time_plan import TimePlan
from tests.fusion.many_rows import VIEWS, table


class Clock:
    """Stands in for the module `time`; only `after` moves it on."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def after(self, seconds, work):
        def slow(*arguments, **settings):
            result = work(*arguments, **settings)
            self.now += seconds
            return result

        return slow


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (arm_fitting, passes, time_plan, boosted_trees, ridge_features):
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
    assert plan.left_out == ["a slow one"]
    # However much that would be, some time is left for fits.
    plan.measure_pass(clock.after(1.0, lambda: None))
    assert plan.seconds_left() == pytest.approx(8.95 - 4.0)
    assert plan.may_improve() is False


def test_without_a_limit_nothing_is_measured(clock):
    plan = TimePlan(Budget(3))
    plan.measure_pass(lambda: pytest.fail("it is not to be made"))
    assert [plan.may_fit("a fit") for _ in range(4)] == [True, True, True, False]
    assert plan.left_out == []
    assert plan.may_improve()
