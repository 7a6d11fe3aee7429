"""Calibrations of patterns of views, against fits on the rows of each pattern by themselves."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.classifiers.cross_fitting import deal_folds
from fuselearn.fusion.arm_weights import by_class, weigh_arms
from fuselearn.fusion.calibration_and_scores import (
    _fit_patterns,
    _values_of_pattern,
    _weighed_on,
    fit_pattern_calibration,
    out_of_fold_logits,
    patterns_of_views,
    values_to_calibrate,
)
from fuselearn.fusion.filled_views import CountedViews
from tests.fusion.calibration_problems import (
    ARMS,
    PATTERNS,
    WEIGHTS,
    design_effect,
    fitted_on,
    some_result,
    some_rows,
    with_factor,
)
from tests.naive import fusion_arms as naive

KINDS = [(2, False), (2, True), (3, True)]
ALONE = [number for number, arm in enumerate(ARMS) if arm.view is not None and WEIGHTS[number] > 0]


def of_pattern(pattern, result, present):
    """Values of arms of single views of a pattern, as if the others agreed, and the rows that have some."""
    left = [number for number in ALONE if pattern[ARMS[number].view]]
    if not left:
        return None, []
    values = naive.weighted_sum(result.arm_values[left], WEIGHTS[left]) * WEIGHTS.sum() / WEIGHTS[left].sum()
    views = [ARMS[number].view for number in left]
    rows = [row for row in range(len(present)) if not np.isnan(result.arm_values[left, row, 0]).all()]
    return values, [row for row in rows if present[row, views].any()]


@pytest.mark.parametrize(("n_classes", "grouped"), KINDS)
def test_patterns_are_calibrated_on_the_rows_that_have_some_of_their_views(n_classes, grouped):
    data = some_rows(80, n_classes, grouped)
    result = some_result(data)
    among = np.arange(80) % 5 > 0
    fitted = _fit_patterns(result.calibration, result, ARMS, data, among, list(PATTERNS))
    known = [(np.ones(3, dtype=bool), result.calibration)]
    for pattern in PATTERNS:
        values, rows = of_pattern(pattern, result, data.present)
        assert_array_equal(_values_of_pattern(pattern, result, ARMS, data.present)[1], rows)
        if rows:
            chosen = [row for row in rows if among[row]]
            known.append((pattern, fitted_on(values, result.class_targets, data.weights, data.groups, chosen)))
    assert len(known) == len(PATTERNS)  # the last view's arms have no weight
    assert_array_equal(fitted.patterns, [pattern for pattern, _ in known])
    assert_allclose(fitted.slopes, [calibration.slope for _, calibration in known], rtol=1e-6)
    shifts = np.array([calibration.slope * calibration.shifts for _, calibration in known])
    assert_allclose(fitted.intercepts, shifts + result.calibration.log_shares, atol=1e-6)
    assert_array_equal(fitted.log_prior, result.calibration.log_shares)
    assert fitted.joint_factors is None
    assert len(set(fitted.slopes.tolist())) == 4  # all views, the first two of them, and each of these alone


def test_a_pattern_without_rows_is_left_out():
    data = some_rows(60)
    result = some_result(data)
    few = data.present[:, 0] & ~data.present[:, 1:].any(axis=1)
    alone = _fit_patterns(result.calibration, result, ARMS, data, few, list(PATTERNS))
    assert {tuple(pattern) for pattern in alone.patterns.tolist()} == {
        (True, True, True), (True, True, False), (True, False, True), (True, False, False),
    }  # fmt: skip


@pytest.mark.parametrize(("n_classes", "grouped"), KINDS)
@pytest.mark.parametrize("n_complete", [9, 10])
def test_patterns_of_filled_views_are_calibrated_on_rows_with_these_views(n_classes, grouped, n_complete):
    """Ten complete rows are enough to calibrate complete rows by these alone."""
    data = some_rows(80, n_classes, grouped, share=0.45)
    among = np.arange(80) % 5 > 0
    complete = np.flatnonzero(data.present.all(axis=1) & among)
    data.present[complete[n_complete:], 1] = False
    data.present[::5] = True  # complete, but not among the rows
    result = some_result(data, filled=True)
    fitted = _fit_patterns(result.calibration, result, ARMS, data, among, list(PATTERNS))
    posterior, groups = result.class_targets, data.groups
    chosen = np.flatnonzero(among)
    of_chosen = None if groups is None else groups[chosen]
    effect = design_effect(by_class(result.values[chosen]), posterior[chosen], data.weights[chosen], of_chosen)
    counted = CountedViews(result, ARMS, data.present, result.filled, np.where(among, data.weights, 0.0), effect)
    calibrations, known = [result.calibration], [np.ones(3, dtype=bool)]
    if n_complete >= 10:
        calibrations = [fitted_on(result.values, posterior, data.weights, groups, complete[:n_complete])]
    for pattern in PATTERNS:
        values, rows, weights = counted.of_pattern(pattern)
        assert among[rows].all()
        known.append(pattern)
        of_rows = None if groups is None else groups[rows]
        calibrations.append(fitted_on(values, posterior[rows], weights, of_rows, np.arange(len(rows))))
    assert_array_equal(fitted.patterns, known)
    assert_allclose(fitted.slopes, [calibration.slope for calibration in calibrations], rtol=1e-6)
    shifts = np.array([calibration.slope * calibration.shifts for calibration in calibrations])
    assert_allclose(fitted.intercepts, shifts + result.calibration.log_shares, atol=1e-6)
    assert_array_equal(fitted.joint_factors, [counted.factors[sum(pattern)] for pattern in known])


def test_all_rows_calibrate_the_patterns_of_a_fit():
    data = some_rows(80)
    every = np.ones(80, dtype=bool)
    for filled in (False, True):
        result = some_result(data, filled=filled)
        fitted = fit_pattern_calibration(result, ARMS, data)
        expected = _fit_patterns(result.calibration, result, ARMS, data, every, list(PATTERNS))
        assert {tuple(pattern) for pattern in fitted.patterns} == {tuple(pattern) for pattern in expected.patterns}
        assert_array_equal(np.sort(fitted.slopes), np.sort(expected.slopes))
    # What rows with few views would be predicted is known where views are filled in, whether there are any or not.
    more = np.vstack([PATTERNS, np.ones((1, 3), dtype=bool)])
    wide = some_rows(80)
    wide.present[:] = True
    result = some_result(wide, filled=True)
    predicted = np.concatenate([result.filled.predicted, result.filled.in_sample[None]])
    result = replace(result, filled=replace(result.filled, patterns=more, predicted=predicted))
    assert len(fit_pattern_calibration(result, ARMS, wide).patterns) == 7


def test_values_to_calibrate_count_arms_of_all_views_by_their_factor():
    data = some_rows(60)
    plain = some_result(data)
    values, covered = values_to_calibrate(plain, ARMS, fit_pattern_calibration(plain, ARMS, data), data.present)
    assert_array_equal(values, by_class(plain.values))
    assert covered is plain.covered
    result = some_result(data, filled=True)
    calibration = fit_pattern_calibration(result, ARMS, data)
    values, covered = values_to_calibrate(result, ARMS, calibration, data.present)
    of_rows = calibration.joint_factors_of(data.present)
    factors = np.array([of_rows if arm.view is None else np.ones(60) for arm in ARMS])
    assert 0 < of_rows.min() < of_rows.max() == 1
    assert_allclose(values, by_class(with_factor(result.arm_values, WEIGHTS, factors)), atol=1e-12)
    assert_array_equal(covered, (np.where(np.isnan(result.arm_values[:, :, 0]), 0, 1) * factors).T @ WEIGHTS > 0)


@pytest.mark.parametrize(("n_classes", "grouped"), KINDS)
def test_arms_are_weighed_on_some_of_the_rows(n_classes, grouped):
    data = some_rows(80, n_classes, grouped)
    result = some_result(data)
    result.arm_values[3] = np.nan  # an arm that was not tried
    among = np.arange(80) % 4 > 0
    if grouped:
        among &= data.groups % 4 > 0  # groups are numbered from 0 again
    weighed = _weighed_on(among, result, data)
    tried = [0, 1, 2, 4, 5, 6, 7]
    votes = data.votes()
    targets = votes[among, 1:] * 2 - 1 if n_classes == 2 else votes[among]
    targets = targets - np.average(targets, axis=0, weights=result.row_weights[among])
    groups = np.unique(data.groups[among], return_inverse=True)[1] if grouped else None
    expected = np.zeros(8)
    expected[tried] = weigh_arms(result.arm_values[tried][:, among], targets, result.row_weights[among], groups, 1.0)
    assert_allclose(weighed.weights, expected)
    assert_allclose(weighed.values, naive.weighted_sum(result.arm_values[tried], expected[tried]))
    known = ~np.isnan(result.arm_values[tried, :, 0])
    assert_array_equal(weighed.covered, expected[tried] @ known > 0)


@pytest.mark.parametrize("grouped", [False, True])
def test_logits_of_a_row_follow_from_the_labels_of_other_folds(grouped):
    data = some_rows(80, grouped=grouped)
    result = some_result(data)
    logits = out_of_fold_logits(result, ARMS, data)
    _, fold_of = deal_folds(80, data.groups)
    scored = replace(result, arm_values=result.scored_values)
    for fold in range(5):
        held_out = fold_of == fold
        weighed = _weighed_on(~held_out, scored, data)
        full = fitted_on(weighed.values, result.class_targets, data.weights, data.groups, np.flatnonzero(~held_out))
        full = replace(full, log_shares=result.calibration.log_shares)
        observed = patterns_of_views(data.present, observed_only=True)
        calibration = _fit_patterns(full, weighed, ARMS, data, ~held_out, observed)
        values = by_class(weighed.values)[held_out]
        expected = calibration.logits(values, weighed.covered[held_out], data.present[held_out])
        assert_allclose(logits[held_out], expected, atol=1e-6)


def test_observed_patterns_come_by_their_frequency():
    present = np.zeros((20, 3), dtype=bool)
    present[:8] = True
    present[8:9, 0] = present[9:14, 1] = present[14:17, 2] = True  # the last three rows have no view
    observed = patterns_of_views(present, observed_only=True)
    assert [pattern.tolist() for pattern in observed] == [
        [False, True, False],
        [False, False, True],
        [True, False, False],
    ]


def test_the_rarest_of_very_many_patterns_are_left_out():
    rng = np.random.default_rng(0)
    rare = np.array([[number >> bit & 1 for bit in range(8)] for number in range(1, 255)], dtype=bool)
    common = rare[::5]
    present = rng.permutation(np.vstack([rare, common, common]))
    observed = {tuple(pattern) for pattern in patterns_of_views(present, observed_only=True)}
    assert {tuple(pattern) for pattern in common} < observed
    assert len(observed) < 100


def test_of_two_views_each_may_be_alone():
    alone = [[False, True], [True, False]]
    assert [pattern.tolist() for pattern in patterns_of_views(np.ones((3, 2), dtype=bool))] == alone
    present = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)
    patterns = {tuple(pattern.tolist()) for pattern in patterns_of_views(present)}
    assert len(patterns) == 9
    assert (True, True, False, False) in patterns
