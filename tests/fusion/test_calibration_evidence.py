"""How much rows are evidence for a calibration: groups, subsamples, and labels that are believed to be wrong."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.classifiers.calibration import fit_calibration, fit_slope
from fuselearn.fusion import calibration_and_scores
from fuselearn.fusion.calibration_and_scores import (
    _design_effect,
    _fit,
    _subsample,
    explains_labels_worse,
    fit_full_calibration,
    fit_label_slope,
)
from tests.fusion.calibration_problems import Rows, design_effect


def grouped_rows(n_groups, n_classes=2, alike=0.8, seed=0):
    """Values, targets, weights and groups of rows that are alike in a group; the groups have 3 to 5 rows."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(n_groups), 3 + np.arange(n_groups) % 3))
    n = len(groups)
    codes = rng.integers(n_classes, size=n_groups)[groups]
    values = np.eye(n_classes)[codes] + alike * rng.normal(size=(n_groups, n_classes))[groups]
    values += 0.3 * rng.normal(size=(n, n_classes))
    return values, 0.8 * np.eye(n_classes)[codes] + 0.2 / n_classes, rng.uniform(0.5, 2.0, n), groups


@pytest.mark.parametrize("n_groups", [1, 2, 3, 12])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_design_effect_is_a_ratio_of_variances(n_groups, n_classes):
    values, targets, weights, groups = grouped_rows(n_groups, n_classes)
    effect = _design_effect(values, targets, weights, groups)
    assert effect == pytest.approx(design_effect(values, targets, weights, groups))
    assert n_groups < 12 or 1.5 < effect < 5
    # Numbers of groups need not be consecutive, and light rows tell as much of each other as heavy ones.
    assert _design_effect(values, targets, weights / 1000, 2 * groups + 3) == pytest.approx(
        design_effect(values, targets, weights / 1000, groups)
    )
    assert _design_effect(values, targets, weights, None) == 1


def test_no_row_tells_more_than_one():
    """In groups of one row of each class errors cancel out; where all is certain there are none."""
    rng = np.random.default_rng(0)
    values, targets = rng.normal(size=(40, 2)), np.eye(2)[np.arange(40) % 2]
    groups = np.arange(40) // 2
    assert _design_effect(values, targets, np.ones(40), groups) == 1
    assert _design_effect(np.zeros((40, 1)), np.ones((40, 1)), np.ones(40), groups) == 1


def test_twenty_thousand_rows_are_enough():
    assert_array_equal(_subsample(np.arange(20_000)), np.arange(20_000))
    some = _subsample(np.arange(20_001))
    assert len(some) == 20_000
    assert (np.diff(some) > 0).all()
    assert_array_equal(some, _subsample(np.arange(20_001)))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("most", [1000, 25])
def test_a_calibration_of_some_rows_is_one_without_the_others(grouped, most, monkeypatch):
    monkeypatch.setattr(calibration_and_scores, "MOST_ROWS", most)
    values, targets, weights, groups = grouped_rows(12)
    data = Rows(np.zeros((len(values), 1), dtype=int), weights, groups=groups if grouped else None)
    for among in (None, np.arange(len(values)) % 4 > 0):
        rows = np.flatnonzero(np.ones(len(values), dtype=bool) if among is None else among)
        rows = rows[_subsample(np.arange(len(rows)))]
        assert len(rows) <= most
        effect = design_effect(values[rows], targets[rows], weights[rows], groups[rows] if grouped else None)
        expected = fit_calibration(values[rows], targets[rows], weights[rows], effect)
        fitted = _fit(values, targets, data, among)
        assert_allclose((fitted.slope, *fitted.shifts), (expected.slope, *expected.shifts), rtol=1e-6)


@pytest.mark.parametrize("most", [1000, 25])
def test_the_slope_for_labels(most, monkeypatch):
    monkeypatch.setattr(calibration_and_scores, "MOST_ROWS", most)
    values, _, weights, groups = grouped_rows(10, n_classes=3)
    rows, codes = _subsample(np.arange(len(values))), groups % 3
    labels = np.array([[float(code == k) for k in range(3)] for code in codes])
    assert fit_label_slope(values, codes, weights) == fit_slope(values[rows], labels[rows], weights[rows]).slope


EQUAL, UNEQUAL, ONE_HEAVY = np.ones(50), np.repeat([1.0, 3.0], 25), np.r_[100.0, np.full(49, 1e-3)]


@pytest.mark.parametrize(
    ("weights", "effect", "n_observations"),
    [
        (EQUAL, 1.0, 50.0),
        (EQUAL, 5.0, 10.0),
        (4 * EQUAL, 1.0, 50.0),
        (UNEQUAL, 1.0, 40.0),  # (25 + 75)² / (25 + 225)
        (ONE_HEAVY, 1.0, 2.0),  # one row is no evidence at all
        (EQUAL, 40.0, 2.0),
    ],
)
@pytest.mark.parametrize("share", [0.98, 1.02])
def test_wrong_labels_are_believed_where_they_gain_more_than_two_numbers_cost(
    weights, effect, n_observations, share, monkeypatch
):
    """The gain in log likelihood of independent rows is at least the logarithm of how many there are."""
    rng = np.random.default_rng(0)
    gain, asked, targets = share * effect * np.log(n_observations), [], rng.dirichlet(np.ones(2), 50)
    data = Rows(rng.integers(2, size=(50, 1)), weights, groups=np.arange(50))
    rates = np.array([0.2, 0.0])

    def likely(likelihood, expected):
        def label_likelihood(values, codes, row_weights, noise_rates):
            assert_array_equal(noise_rates, expected)
            assert_array_equal(codes, data.codes[:, 0])
            assert_array_equal(row_weights, weights)
            return likelihood

        return SimpleNamespace(label_likelihood=label_likelihood)

    by_targets, by_votes = likely(-30.0 + gain, rates), likely(-30.0, [0.0, 0.0])
    monkeypatch.setattr(
        calibration_and_scores, "_fit", lambda values, given, rows: by_targets if given is targets else by_votes
    )
    monkeypatch.setattr(
        calibration_and_scores,
        "_design_effect",
        lambda values, given, *beside: asked.append((given, *beside)) or effect,
    )
    calibration, used = fit_full_calibration(np.zeros((50, 2)), data, targets, rates)
    if share > 1:
        assert calibration is by_targets
        assert used is targets
    else:
        assert calibration is by_votes
        assert_array_equal(used, data.votes())
    [(given, row_weights, groups)] = asked
    assert_array_equal(given, data.votes())
    assert row_weights is data.weights
    assert groups is data.groups


def test_several_label_columns_are_believed():
    values, targets, weights, _ = grouped_rows(12)
    data = Rows(np.zeros((len(values), 1), dtype=int), weights)
    calibration, used = fit_full_calibration(values, data, targets, None)
    assert used is targets
    assert calibration.slope == fit_calibration(values, targets, weights).slope


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(("share", "worse"), [(-1.1, False), (0.0, False), (0.9, False), (1.1, True)])
def test_a_loss_is_higher_by_more_than_a_standard_error(grouped, share, worse, monkeypatch):
    """The error is of a sum of rows, or of groups of them where there are some."""
    monkeypatch.setattr(
        calibration_and_scores, "_fit", lambda values, votes, data: SimpleNamespace(log_probabilities=lambda logs: logs)
    )
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), 3)
    excess = rng.normal(size=6)[groups] + 0.3 * rng.normal(size=18)
    units = groups if grouped else np.arange(18)
    sums = np.array([excess[units == unit].sum() for unit in range(units.max() + 1)])
    wanted = share * np.sqrt(len(sums)) * sums.std()
    excess += (wanted - excess.sum()) / 18 if not grouped else (wanted - sums.sum()) / 18
    codes, weights = rng.integers(2, size=18), rng.uniform(0.5, 2.0, 18)
    data = Rows(codes[:, None], weights, groups=groups if grouped else None)
    # Values are log probabilities here: minus the first class's, and the second one's.
    base = rng.normal(size=18)
    values = base - np.where(codes == 1, 1, -1) * excess / weights
    result, other = (SimpleNamespace(values=of_rows[:, None]) for of_rows in (values, base))
    assert explains_labels_worse(result, other, data) == worse
    assert not explains_labels_worse(result, result, data)
