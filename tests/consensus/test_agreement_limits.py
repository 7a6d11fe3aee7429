"""When the expectation maximisation ends, and what becomes of rows, columns and values that say nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.consensus import agree
from fuselearn.consensus.expectation_maximisation import agree_on_subsample, judge


def evidence(n_rows=40, n_classes=2, n_columns=1, seed=0):
    """Return values of one view that follow the classes, and label columns, a fifth of them wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_rows)
    values = rng.normal(size=(n_rows, 1, n_classes)) + 2 * (np.arange(n_classes) == truth[:, None])[:, None]
    codes = (truth[:, None] + (rng.random((n_rows, n_columns)) < 0.2)) % n_classes
    return values - values.mean(axis=2, keepdims=True), codes


SILENT = np.zeros((6, 1, 2)), np.full((6, 1), -1)
"""Values and labels of which nothing is learned: after one iteration nothing changes any more, to the last bit."""


# The end


def test_500_iterations_are_the_most():
    values, codes = evidence(6)
    agreement = agree(values, codes, tol=-np.inf)
    assert (agreement.n_iter, agreement.converged) == (500, False)
    assert len(agreement.objective) == 501


@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_no_more_iterations_are_made_than_asked_for(max_iter):
    agreement = agree(*evidence(), max_iter=max_iter, tol=-np.inf)
    assert agreement.n_iter == len(agreement.objective) - 1 == max_iter
    if not max_iter:
        assert_array_equal(agreement.column_rates, 0.3)  # where they begin
        assert_array_equal(agreement.view_weights, 0)


def test_the_first_iteration_may_be_the_last():
    agreement = agree(*evidence(), tol=1e9)
    assert (agreement.n_iter, agreement.converged) == (1, True)


def test_an_iteration_that_gains_just_so_much_is_not_the_last():
    agreement = agree(*SILENT, tol=0.0, max_iter=9)
    assert_array_equal(np.diff(agreement.objective)[1:], 0)
    assert (agreement.n_iter, agreement.converged) == (9, False)
    agreement = agree(*SILENT, tol=1e-9, max_iter=9)
    assert (agreement.n_iter, agreement.converged) == (2, True)


@pytest.mark.parametrize("tol", [None, 1e-4])
def test_the_last_iteration_is_the_first_that_gains_less_than_the_tolerance_of_each_row(tol):
    values, codes = evidence(200, n_columns=2)
    options = {} if tol is None else {"tol": tol}
    for weight in (1.0, 3.0):
        agreement = agree(values, codes, weights=np.full(200, weight), **options)
        assert agreement.converged
        gains = np.diff(agreement.objective) / (200 * weight)
        assert (gains[:-1] >= (tol or 1e-6)).all()
        assert gains[-1] < (tol or 1e-6)
        assert len(gains) > 2


# What says nothing


def test_without_evidence_all_is_as_assumed_beforehand():
    """Two wrong labels of six, shared out over the classes."""
    agreement = agree(*SILENT)
    assert_allclose(agreement.posterior, 0.5)
    assert_allclose(agreement.column_rates, 1 / 3)
    assert np.isnan(agreement.noise_rates).all()
    assert agreement.common_rate == 0


def test_several_columns_without_a_label_have_no_common_rate():
    values, codes = SILENT
    agreement = agree(values, np.repeat(codes, 2, axis=1))
    assert_allclose(agreement.common_rates, 1 / 3)
    assert np.isnan(agreement.common_rate)
    assert np.isnan(agreement.noise_rates).all()


def test_labels_of_rows_without_weight_are_no_labels():
    values, codes = evidence()
    weights = np.where(np.arange(40) < 20, 1.0, 0.0)
    rates = agree(values, codes, weights=weights).noise_rates
    assert_allclose(rates, agree(values[:20], codes[:20]).noise_rates)
    only_there = np.where(weights[:, None] > 0, -1, codes)
    assert np.isnan(agree(values, only_there, weights=weights).noise_rates).all()


def test_thousands_of_columns_do_not_overflow():
    """The product of their probabilities is far from what a float can hold."""
    values, codes = evidence(20, n_classes=3, n_columns=3000)
    agreement = agree(values, codes, max_iter=3)
    assert np.isfinite(agreement.posterior).all()
    assert np.isfinite(agreement.objective).all()
    assert_allclose(agreement.posterior.sum(axis=1), 1)


def test_the_common_rate_is_the_share_of_labelled_rows():
    values, codes = evidence(60, n_classes=3, n_columns=2)
    codes[40:] = -1
    agreement = agree(values, codes, tol=1e-12, max_iter=5000)
    assert agreement.converged
    members = agreement.posterior[:40].sum(axis=0)
    # Each rate is that of the rows of its class and of the two wrong and four right ones that are assumed beforehand.
    missed = agreement.common_rates * (members + 6 / 3) - 2 / 3
    assert_allclose(agreement.common_rate, missed.sum() / members.sum(), atol=1e-5)
    assert 0 < agreement.common_rate < 0.5


# Other rows


def test_rows_are_judged_by_rates_and_weights_of_others():
    values, codes = evidence(80, n_classes=3, n_columns=2)
    codes[::7, 1] = -1
    agreement = agree(values, codes, tol=-np.inf, max_iter=4)
    posterior, noise_rates = judge(values, codes, agreement)
    assert_allclose(posterior, agreement.posterior, atol=1e-12)
    assert_allclose(noise_rates, agreement.noise_rates, atol=1e-12)
    weights = np.random.default_rng(0).uniform(0.5, 2, 80)
    weighted = judge(values, codes, agreement, weights)
    assert_array_equal(weighted[0], posterior)
    right = [weights[rows] @ posterior[rows, column[rows]] / weights[rows].sum() for column, rows in given(codes)]
    assert_allclose(weighted[1], 1 - np.array(right))


def given(codes):
    return [(column, column >= 0) for column in codes.T]


def test_as_many_rows_as_allowed_are_all_taken():
    """To the last bit: a subsample has its rows in another order, and sums that round otherwise."""
    values, codes = evidence(30)
    values = values[:, 0]
    expected = agree((values / np.sqrt((values**2).mean()))[:, None], codes)
    for most_rows, same in ((30, True), (31, True), (29, False)):
        posterior, noise_rates, class_rates = agree_on_subsample(values, codes, most_rows, 0)
        assert (posterior == expected.posterior).all() == same
        assert (class_rates == expected.column_rates[0]).all() == same
        assert (noise_rates == expected.noise_rates).all() == same


@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e6])
def test_the_scale_of_values_does_not_matter(factor):
    values, codes = evidence(30, n_classes=3)
    posterior, _, class_rates = agree_on_subsample(values[:, 0], codes, 100, 0)
    scaled = agree_on_subsample(factor * values[:, 0], codes, 100, 0)
    assert_allclose(scaled[0], posterior, atol=1e-9)
    assert_allclose(scaled[2], class_rates, atol=1e-9)


@pytest.mark.parametrize("most_rows", [5, 100])
def test_values_of_zero_are_of_no_scale(most_rows):
    _, codes = evidence(10)
    posterior, noise_rates, _ = agree_on_subsample(np.zeros((10, 2)), codes, most_rows, 0)
    assert np.isfinite(posterior).all()
    assert np.isfinite(noise_rates).all()
