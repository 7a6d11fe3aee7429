"""Scores of decisions and importances of views on a few rows, counted by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

from fuselearn.classifiers.calibration import fit_slope
from fuselearn.fusion import calibration_and_scores
from fuselearn.fusion.base_models import Arm
from fuselearn.fusion.calibration_and_scores import (
    arm_score,
    assess,
    decision_weights,
    metric_of,
    score_of,
    scores_of,
    share_learnt_wrong,
)
from fuselearn.fusion.importances_of_views import importances_of_views
from tests.fusion.calibration_problems import ARMS, some_result, some_rows


def area(positive, values):
    """The share of pairs of a positive and another row that are in the right order."""
    pairs = [(v > w) + (v == w) / 2 for v in values[positive] for w in values[~positive]]
    return sum(pairs) / len(pairs)


def test_the_share_of_rows_that_is_right_and_its_mean_over_the_classes():
    codes, predicted = np.array([0, 0, 0, 0, 1, 3, 3]), np.array([0, 0, 0, 2, 1, 3, 1])
    assert score_of("accuracy", codes, predicted) == pytest.approx(5 / 7)
    # No row is of class 2; one row is of class 1.
    assert score_of("balanced_accuracy", codes, predicted) == pytest.approx((3 / 4 + 1 + 1 / 2) / 3)
    assert score_of("balanced_accuracy", codes, np.full(7, 2)) == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_logits(n_classes):
    rng = np.random.default_rng(0)
    codes = rng.integers(n_classes, size=30)
    logits, log_weights = (
        rng.normal(size=(30, n_classes)) + np.eye(n_classes)[codes],
        np.log(np.arange(1.0, n_classes + 1)),
    )
    scores = scores_of(codes, logits, log_weights)
    weighted = [max(range(n_classes), key=lambda k: np.exp(row[k]) * (k + 1)) for row in logits]
    assert scores["accuracy"] == pytest.approx(np.mean([p == c for p, c in zip(weighted, codes)]))
    balanced = [np.mean([p == c for p, c in zip(weighted, codes) if c == k]) for k in range(n_classes)]
    assert scores["balanced_accuracy"] == pytest.approx(np.mean(balanced))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert scores["roc_auc"] == pytest.approx(np.mean([area(codes == k, shares[:, k]) for k in range(n_classes)]))


def test_an_area_is_of_classes_that_are_there():
    rng = np.random.default_rng(0)
    codes, logits = np.arange(20) % 2 * 2, rng.normal(size=(20, 3))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = (area(codes == 0, shares[:, 0]) + area(codes == 2, shares[:, 2])) / 2
    assert scores_of(codes, logits, np.zeros(3))["roc_auc"] == pytest.approx(expected)
    alone = scores_of(np.ones(20, dtype=int), logits, np.zeros(3))
    assert set(alone) == {"accuracy", "balanced_accuracy"}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_arm_is_judged_on_the_rows_that_have_its_view(n_classes):
    rng = np.random.default_rng(0)
    codes, weights = rng.integers(n_classes, size=60), rng.uniform(0.5, 2.0, 60)
    of_classes = np.eye(n_classes)[codes] + 0.8 * rng.normal(size=(60, n_classes))
    values = of_classes[:, 1:] - of_classes[:, :1] if n_classes == 2 else of_classes
    offsets = np.log(np.arange(1.0, n_classes + 1))
    known = np.arange(60) % 3 > 0
    by_class = np.hstack([-values, values]) if n_classes == 2 else values
    slope = fit_slope(by_class[known], np.eye(n_classes)[codes[known]], weights[known]).slope
    decided = [max(range(n_classes), key=lambda k: slope * row[k] + offsets[k]) for row in by_class]
    for metric in ("accuracy", "balanced_accuracy"):
        expected = score_of(metric, codes[known], np.array(decided)[known])
        given = np.where(known[:, None], values, np.nan)
        assert arm_score(metric, codes, given, weights, offsets) == pytest.approx(expected)
        assert np.isnan(arm_score(metric, codes, np.nan * values, weights, offsets))


def test_weights_of_decisions():
    prior, classes = np.array([0.2, 0.5, 0.3]), np.array(["a", "b", "c"])
    assert_allclose(decision_weights("balanced", classes, prior), [5, 2, 10 / 3])
    assert_array_equal(decision_weights(None, classes, prior), [1, 1, 1])
    assert_array_equal(decision_weights({"b": 4.0}, classes, prior), [1, 4, 1])
    assert metric_of("balanced") == "balanced_accuracy"
    assert metric_of(None) == metric_of({"b": 4.0}) == "accuracy"


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_assessment(class_weight, n_classes, monkeypatch):
    """Scores are of the first pass, importances and the scores of the arms of the last one."""
    data = some_rows(60, n_classes)
    first, last = some_result(data), some_result(data, seed=2)
    last.arm_values[4] = np.nan
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(60, n_classes)) + data.votes()
    monkeypatch.setattr(
        calibration_and_scores,
        "out_of_fold_logits",
        lambda result, arms, rows, most: logits if result is first else None,
    )
    assessment = assess(first, last, ARMS, data, class_weight)
    prior = first.calibration.log_shares
    log_weights = {"None": np.zeros(n_classes), "balanced": -prior}.get(
        str(class_weight), np.log([3.0 if k == 1 else 1.0 for k in range(n_classes)])
    )
    codes = data.codes[:, 0]
    assert assessment.metric == metric_of(class_weight)
    assert assessment.scores == pytest.approx(scores_of(codes, logits, log_weights))
    expected = [
        arm_score(assessment.metric, codes, values, data.weights, prior + log_weights) for values in last.arm_values
    ]
    assert_array_equal(assessment.arm_scores, expected)
    assert np.isnan(expected[4])
    assert_array_equal(assessment.view_importances, importances_of_views(ARMS, last.weights, last.arm_values, 3))


def arms_of(*views):
    return [Arm(view, str(view), "a", None, None, None) for view in views]


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_an_arm_of_all_views_is_shared_out_by_least_squares(size, n_targets):
    """By the combination of the single views' values, none of them negative, that is nearest to its values; what this
    leaves unexplained, equally."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 50, n_targets))
    values[1] += 0.7 * values[0]  # what two views say is related
    values[3] = 2 * values[0] + 0.5 * values[1] - 0.8 * values[2] + 0.3 * values[3]
    values *= size
    values[1, :5] = values[3, 5:10] = np.nan  # rows without a view, and without all of them
    rows = np.r_[0:5, 10:50]
    parts = np.nan_to_num(values[:3][:, rows]).reshape(3, -1)
    ridge = np.sqrt(1e-3 * (parts**2).sum())
    factors = nnls(np.vstack([parts.T, ridge * np.eye(3)]), np.r_[values[3][rows].ravel(), np.zeros(3)])[0]
    explained = factors * np.sqrt((parts**2).sum(axis=1))
    assert explained[2] == 0
    whole = values[3][rows].ravel()
    unexplained = ((whole - factors @ parts) ** 2).sum() / (whole**2).sum()
    expected = (1 - unexplained) * explained / explained.sum() + unexplained / 3
    importances = importances_of_views(arms_of(0, 1, 2, None), np.array([0.0, 0.0, 0.0, 0.4]), values, 3)
    assert_allclose(importances, expected, atol=1e-6)


def test_a_view_that_says_next_to_nothing_has_no_share_of_what_is_unexplained():
    """It says less than a thousandth of what another says."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 50, 1)) * np.array([1.0, 1.0, 5e-4, 1.0])[:, None, None]
    values[3] = values[0] + 3 * values[3]  # mostly what no view says alone
    importances = importances_of_views(arms_of(0, 1, 2, None), np.eye(4)[3], values, 3)
    assert importances[1] > 0.3
    assert importances[2] < 1e-3


def test_importances_are_weights_times_sizes():
    values = np.array([[[3.0], [4.0]], [[1.0], [-1.0]], [[np.nan], [2.0]]])
    importances = importances_of_views(arms_of(0, 1, 1), np.array([0.02, 0.03, 0.01]), values, 3)
    expected = np.array([0.02 * np.sqrt(12.5), 0.03 + 0.01 * 2, 0.0])
    assert_allclose(importances, expected / expected.sum())
    # Where no arm has a weight, or no view says a thing alone, all views are alike.
    assert_allclose(importances_of_views(arms_of(0, 1, 1), np.zeros(3), values, 4), 0.25)
    silent = np.array([np.zeros((5, 1)), np.zeros((5, 1)), np.ones((5, 1))])
    assert_allclose(importances_of_views(arms_of(0, 1, None), np.array([0.0, 0.0, 1.0]), silent, 2), 0.5)
    others = [replace(arm, learner="b") if arm.view is not None else arm for arm in arms_of(0, 1, None)]
    values = np.random.default_rng(0).normal(size=(3, 5, 1))
    assert_allclose(importances_of_views(others, np.array([0.0, 0.0, 1.0]), values, 2), 0.5)
    size, of_all = np.sqrt((values**2).mean(axis=(1, 2)))[[0, 2]] * [0.3, 0.7]
    importances = importances_of_views(others, np.array([0.3, 0.0, 0.7]), values, 2)
    assert_allclose(importances, [1 - of_all / 2 / (size + of_all), of_all / 2 / (size + of_all)])


def test_labels_that_look_wrong_in_what_was_learnt():
    """The first nine rows: of one column its rate counts, of two the worst view that has ten rows, as an arm needs."""
    data = some_rows()
    first = np.arange(60) < 9
    posterior = np.where(first[:, None], 1 - data.votes(), data.votes())
    result = SimpleNamespace(noise_rates=np.array([0.1]), posterior=posterior)
    assert share_learnt_wrong(result, data) == 0.1
    present = np.column_stack([np.ones(60, dtype=bool), first, np.arange(60) < 10])
    two_columns = replace(data, codes=np.repeat(data.codes, 2, axis=1), present=present)
    assert share_learnt_wrong(result, two_columns) == pytest.approx(1 - data.weights[9] / data.weights[:10].sum())
