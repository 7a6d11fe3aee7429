"""Passes over the arms: order, budget, interruptions and reports."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from fuselearn import FusionClassifier, progress
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion import budget, passes
from fuselearn.fusion.base_models import Arm, ArmFit
from fuselearn.fusion.budget import Budget, FewRowsPlan
from fuselearn.fusion.calibration_and_scores import explains_labels_worse, share_learnt_wrong
from fuselearn.fusion.passes import ArmRuns, Repeats
from fuselearn.numeric.threads import SERIAL
from tests.fusion.fusion_data import MODEL, X_NEW, Y_NEW, X, same, y


class Recorded:
    """An arm that notes its fits. Its values are the targets with noise, which repeats average away."""

    def __init__(self, log, name, noise, n_fits=3):
        self.log, self.name, self.noise, self.n_fits = log, name, noise, n_fits

    def fit(self, targets, number, seed):
        self.log.append((self.name, number))
        noise = self.noise * np.random.default_rng(seed).normal(size=targets.shape)
        return ArmFit(targets + noise, targets + noise, (self.name, number))


def recorded_runs(max_fits=None, time_limit=None, noise=0.5, n_views=3, again=True):
    """Two learners on every view."""
    log, made = [], []
    rows = np.arange(60)
    for view in range(n_views):
        for learner in ("p", "q"):
            name = (view, learner)
            arm = Recorded(log, name, noise)
            made.append(Arm(view, f"view{view}", learner, rows, np.arange(2), lambda arm=arm: arm))
    return ArmRuns(made, np.ones(60), None, SERIAL, 0, FewRowsPlan(Budget(max_fits, time_limit)), again), log


TARGETS = np.where(np.arange(60) % 2, 1.0, -1.0)[:, None]


def test_every_arm_is_tried_first_by_turns_over_the_views():
    runs, log = recorded_runs()
    made = runs.first_pass(TARGETS)
    assert log[:6] == [((view, learner), 0) for learner in "pq" for view in range(3)]
    assert len(log) > 6
    assert all(number > 0 for _, number in log[6:])
    assert [sorted(fits) for fits in made] == [list(range(len(fits))) for fits in made]
    assert runs.n_fits == len(log)
    again = runs.second_pass(-TARGETS)
    assert sorted(log[: runs.n_fits // 2]) == sorted(log[runs.n_fits // 2 :])
    assert [list(fits) for fits in again] == [list(fits) for fits in made]


def test_arms_that_gain_nothing_are_not_repeated():
    runs, log = recorded_runs(noise=0.0)
    runs.first_pass(TARGETS)
    assert 6 < len(log) <= 6 + passes.FITS_AT_ONCE + 2


@pytest.mark.parametrize("max_fits", [1, 3, 4, 5, 6, 7, 9, 12, 17, 30, 100])
def test_no_more_fits_than_allowed(max_fits):
    runs, log = recorded_runs(max_fits)
    runs.first_pass(TARGETS)
    first = runs.n_fits
    free, _ = recorded_runs()
    free.first_pass(TARGETS)
    # Beyond one fit of each arm, the first pass leaves as many for the second one.
    assert first <= free.n_fits
    assert first == min(max_fits, 6) if max_fits < 14 else first > 6
    second = runs.second_pass(TARGETS)
    assert (second is not None) == (2 * first <= max_fits)
    assert runs.n_fits == len(log) <= max_fits


@pytest.mark.thinned(3)
@pytest.mark.parametrize("max_fits", [1, 2, 5, 12, 13, 20, 60])
def test_the_model_counts_its_fits(max_fits):
    model = clone(MODEL).set_params(max_fits=max_fits).fit(X, y)
    assert model.n_fits_ <= max_fits
    if max_fits <= 12:
        assert model.n_fits_ == max_fits
        assert sum(len(models) for models in model.estimators_) == max_fits
        assert np.all(model.arm_weights_[[not models for models in model.estimators_]] == 0)
    assert model.score(X_NEW, Y_NEW) > 0.6


def test_time_that_is_up_leaves_a_usable_model():
    with pytest.warns(InterruptedFitWarning, match=r"time_limit=1e-09: .* linear on 'b', .*svm on 'all views'"):
        model = clone(MODEL).set_params(time_limit=1e-9).fit(X, y)
    assert model.n_fits_ == 1
    assert model.arms_[0] == ("a", "svm")
    assert model.score(X_NEW, Y_NEW) > 0.6
    assert_allclose(model.predict_proba(np.full((1, 6), np.nan)), [[0.5, 0.5]], atol=0.15)
    assert model.leaderboard_["fits"].tolist() == [1] + [0] * 11


def test_no_fit_begins_after_the_time_limit(monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            Clock.now += 1.0
            return Clock.now

    monkeypatch.setattr(budget, "time", Clock())
    allowed = Budget(time_limit=2.5, started=0.0)
    assert [allowed.grant(4) for _ in range(4)] == [4, 4, 0, 0]
    assert allowed.used == 8


def test_the_most_promising_arms_are_repeated_until_they_bring_nothing():
    repeats = Repeats([1, 2, 2, 0, 2, 2], np.array([0.3, 0.1, 0.2, 0.4, 0.15, 0.0]))
    assert repeats.choose() == [0, 2, 4, 1]
    repeats.reward([0, 2, 4, 1], 0.1)
    assert repeats.choose() == [2, 4, 1]
    repeats.reward([2, 4, 1], -0.5)
    assert repeats.choose() == []


class Interrupted(GaussianNB):
    """Is interrupted in its fit number `last`."""

    fits = 0
    last = 3

    def fit(self, X, y, sample_weight=None):
        Interrupted.fits += 1
        if Interrupted.fits == Interrupted.last:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


@pytest.fixture
def interrupted():
    Interrupted.fits = 0
    yield Interrupted
    Interrupted.last = 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_keeps_what_was_fitted(interrupted, n_jobs):
    model = clone(MODEL).set_params(learners=["linear", interrupted()], n_jobs=n_jobs)
    with pytest.warns(InterruptedFitWarning, match="the 4 fits that were done"):
        model.fit(X, y)
    assert model.n_fits_ == 4
    assert [len(models) for models in model.estimators_] == [1, 0] * 4
    assert model.score(X_NEW, Y_NEW) > 0.6
    assert len(model.leaderboard_) == 8


def test_an_interruption_of_the_second_pass_keeps_the_first(interrupted, monkeypatch):
    learners = [interrupted()]
    interrupted.last = 10**6
    monkeypatch.setattr(passes, "LEAST_NOISE", 1.0)
    once = clone(MODEL).set_params(learners=learners).fit(X, y)
    interrupted.fits, interrupted.last = 0, interrupted.fits + 1
    monkeypatch.setattr(passes, "LEAST_NOISE", 0.0)
    model = clone(MODEL).set_params(learners=learners)
    with pytest.warns(InterruptedFitWarning):
        model.fit(X, y)
    assert model.n_fits_ == once.n_fits_
    assert_array_equal(model.arm_weights_, once.arm_weights_)


def test_an_interruption_before_anything_was_fitted_changes_nothing(interrupted):
    model = clone(MODEL).fit(X, y)
    before = model.predict_proba(X_NEW)
    interrupted.last = 1
    with pytest.raises(KeyboardInterrupt):
        model.set_params(learners=interrupted()).fit(X[:50], y[:50])
    assert_array_equal(model.predict_proba(X_NEW), before)
    assert len(model.posterior_) == 90
    fresh = clone(MODEL).set_params(learners=interrupted())
    interrupted.fits = 0
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert not hasattr(fresh, "classes_")


@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.long), 2])
def test_steps_are_reported_in_order_and_printed_where_asked(n_jobs, capsys, monkeypatch):
    monkeypatch.setattr(passes, "LEAST_NOISE", 0.0)  # with a second pass
    steps = []
    quiet = clone(MODEL).set_params(learners=["linear", "trees"], n_jobs=n_jobs)
    with progress.listening(steps.append):
        quiet.fit(X, y)
    assert capsys.readouterr().out == ""
    assert [step.done for step in steps] == list(range(1, quiet.n_fits_ + 1))
    assert {step.estimator for step in steps} == {"FusionClassifier"}
    # Only the second pass knows how many fits there will be.
    n_first = quiet.n_fits_ // 2
    assert [step.total for step in steps] == [None] * n_first + [quiet.n_fits_] * n_first
    assert steps[0].text == "fit 1: linear on 'a'"
    loud = clone(quiet).set_params(verbose=1).fit(X, y)
    assert capsys.readouterr().out == "".join(f"[FusionClassifier] {step.text}\n" for step in steps)
    same(loud, quiet)


def wrong_in(share):
    wrong = np.random.default_rng(0).random(90) < share
    return np.where(wrong, 1 - y, y)


def passes_of(labels, monkeypatch, **settings):
    """The results of the passes on some labels, and the model."""
    results, fuse = [], passes._fuse

    def fused(*arguments):
        results.append(fuse(*arguments))
        return results[-1]

    monkeypatch.setattr(passes, "_fuse", fused)
    return results, clone(MODEL).set_params(learners="linear", **settings).fit(X, labels)


@pytest.mark.parametrize("kept", [0, 1])
def test_a_second_pass_is_kept_unless_it_explains_the_given_labels_worse(kept, monkeypatch):
    monkeypatch.setattr(passes, "explains_labels_worse", lambda second, first, data: kept == 0)
    results, model = passes_of(wrong_in(0.3), monkeypatch)
    assert len(results) == 2
    assert_array_equal(model.arm_weights_, results[kept].weights)
    assert_array_equal(model.posterior_, results[kept].posterior)
    assert (results[0].posterior != results[1].posterior).any()


def test_there_is_no_second_pass_where_hardly_a_label_looks_wrong(monkeypatch):
    results, model = passes_of(y, monkeypatch)
    assert results[0].noise_rates.mean() < passes.LEAST_NOISE
    assert len(results) == 1
    assert model.n_fits_ == sum(map(len, model.estimators_))


@pytest.mark.parametrize("grouped", [False, True])
def test_a_pass_is_worse_if_its_loss_is_higher_by_more_than_a_standard_error(grouped, monkeypatch):
    told = []
    monkeypatch.setattr(passes, "explains_labels_worse", lambda *arguments: told.append(arguments) or False)
    given = wrong_in(0.3)
    passes_of(given, monkeypatch)
    _, first, data = told[0]
    groups = np.arange(90) // 3 if grouped else None
    data = replace(data, groups=groups)
    rng, found = np.random.default_rng(1), set()

    def losses(result):
        logits = LogisticRegression(C=1e6).fit(result.values, given).decision_function(result.values)
        return np.logaddexp(0, -np.where(given == 1, 1, -1) * logits)

    for size in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4):
        other = replace(first, values=first.values + size * rng.normal(size=first.values.shape))
        excess = losses(other) - losses(first)
        if grouped:
            excess = excess.reshape(30, 3).sum(axis=1)
        distance = excess.mean() / (excess.std() / np.sqrt(len(excess))) if size else 0.0
        if abs(distance - 1) > 0.3:  # the calibration here has a ridge, that of the test has none
            assert explains_labels_worse(other, first, data) == (distance > 1)
            found.add(distance > 1)
    assert found == {False, True}
    # Whatever the true classes are: values of the wrong sign explain nothing.
    assert explains_labels_worse(replace(first, values=-first.values), first, data)


def one_column_wrong(sole):
    """Ten views and label columns, one of which is wrong in 45 % of its labels, and the only one of some rows."""
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 2, 300)
    directions = 0.4 * np.random.default_rng(5).normal(size=30)
    rows = draws.normal(size=(300, 30)) + np.where(labels, 1, -1)[:, None] * directions
    columns = np.repeat(labels[:, None], 10, axis=1).astype(float)
    wrong = draws.random(300) < 0.45
    columns[wrong, 0] = 1 - labels[wrong]
    columns[np.ix_(np.arange(300) < 300 * sole, range(1, 10))] = np.nan
    return rows, labels, columns


@pytest.mark.parametrize("sole", [0.0, 0.4])
def test_a_wrong_label_column_counts_by_what_it_teaches(sole, monkeypatch):
    """The mean over columns is below the limit, whether others tell the right class in the same rows or not."""
    rows, labels, columns = one_column_wrong(sole)
    results, fuse = [], passes._fuse
    monkeypatch.setattr(passes, "_fuse", lambda *arguments: results.append(fuse(*arguments)) or results[-1])
    views = {f"view {number}": slice(3 * number, 3 * number + 3) for number in range(10)}
    FusionClassifier(views=views, learners="linear", random_state=0).fit(rows, labels, view_labels=columns)
    assert results[0].noise_rates.mean() < passes.LEAST_NOISE < results[0].noise_rates[0]
    assert len(results) == (2 if sole else 1)


@pytest.mark.parametrize("only", [False, True])
def test_what_is_learnt_wrong_is_that_of_the_worst_view(only, monkeypatch):
    """Twelve rows have wrong labels of the first view, and no others; it has eight rows more."""
    told = []
    monkeypatch.setattr(passes, "share_learnt_wrong", lambda *arguments: told.append(arguments) or 0.0)
    passes_of(wrong_in(0.2), monkeypatch)
    result, data = told[0]
    assert share_learnt_wrong(result, data) == result.noise_rates.mean()  # of one column, its rate
    codes = np.repeat(y[:, None], 3, axis=1)
    codes[:12, 0] = 1 - y[:12]
    present = np.ones((90, 3), dtype=bool)
    if only:
        codes[:12, 1:], present[:12, 1:] = -1, False
        codes[20:, 0], present[20:, 0] = -1, False
    weights = np.where(np.arange(90) < 12, 2.0, 1.0)
    data = replace(data, codes=codes, weights=weights, blocks=replace(data.blocks, present=present))
    result = replace(result, posterior=np.eye(2)[y])
    assert share_learnt_wrong(result, data) == pytest.approx(24 / 32 if only else 24 / 3 / 102)
