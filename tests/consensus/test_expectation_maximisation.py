"""The expectation maximisation equals the slow one, and finds the rates that labels were made with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.consensus import agree
from fuselearn.consensus.expectation_maximisation import agree_on_subsample
from tests.naive import consensus as naive


class Evidence:
    """Random decision values and label columns about random true classes."""

    def __init__(self, seed, n_classes=2, n_columns=1, n_views=2, n_rows=30, gaps=False):
        rng = np.random.default_rng(seed)
        self.truth = rng.integers(n_classes, size=n_rows)
        self.values = rng.normal(size=(n_rows, n_views, n_classes))
        self.values += rng.uniform(0, 2, n_views)[:, None] * (np.arange(n_classes) == self.truth[:, None])[:, None]
        self.values -= self.values.mean(axis=2, keepdims=True)
        wrong = rng.random((n_rows, n_columns)) < rng.uniform(0, 0.4, n_columns)
        slips = rng.integers(1, n_classes, size=wrong.shape)
        self.codes = (self.truth[:, None] + wrong * slips) % n_classes
        if gaps:
            self.values[rng.random((n_rows, n_views)) < 0.3] = 0
            self.codes[rng.random(self.codes.shape) < 0.3] = -1


evidence = st.builds(
    Evidence,
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 3, 4]),
    n_columns=st.sampled_from([1, 2, 3]),
    n_views=st.sampled_from([1, 2, 3]),
    gaps=st.booleans(),
)


@given(evidence, st.sampled_from([1, 2, 5]))
@settings(max_examples=15)
def test_agreement_equals_the_slow_one(problem, n_iter):
    expected = naive.agree(problem.values, problem.codes, n_iter)
    found = agree(problem.values, problem.codes, max_iter=n_iter, tol=-np.inf)
    assert found.n_iter == n_iter
    assert_allclose(found.objective, expected["objective"], rtol=1e-8)
    assert_allclose(found.posterior, expected["posterior"], atol=1e-6)
    assert_allclose(found.column_rates, expected["rates"], atol=1e-6)
    assert_allclose(found.common_rates, expected["common"], atol=1e-6)
    assert_allclose(found.view_weights, expected["weights"], atol=1e-5)


@settings(max_examples=12)
@given(evidence)
def test_the_objective_never_falls(problem):
    found = agree(problem.values, problem.codes, max_iter=60, tol=1e-9)
    assert (np.diff(found.objective) >= -1e-9).all()
    assert_allclose(found.posterior.sum(axis=1), 1)


@settings(max_examples=12)
@given(evidence, st.integers(0, 2**32 - 1))
def test_a_row_of_weight_two_is_the_row_twice(problem, seed):
    counts = np.random.default_rng(seed).integers(4, size=len(problem.codes))
    repeated = np.repeat(np.arange(len(counts)), counts)
    expected = agree(problem.values[repeated], problem.codes[repeated], max_iter=30)
    found = agree(problem.values, problem.codes, weights=counts.astype(float), max_iter=30)
    assert found.n_iter == expected.n_iter
    assert_allclose(found.objective, expected.objective, rtol=1e-9)
    assert_allclose(found.posterior[repeated], expected.posterior, atol=1e-8)
    assert_allclose(found.column_rates, expected.column_rates, atol=1e-8)
    assert_allclose(found.noise_rates, expected.noise_rates, atol=1e-8)
    assert_allclose(found.common_rate, expected.common_rate, atol=1e-8)
    assert_allclose(found.view_weights, expected.view_weights, atol=1e-8)


def test_weights_on_a_subsample_are_those_of_its_rows():
    problem = Evidence(0, n_columns=2, n_rows=300)
    values, weights = problem.values[:, 0], np.random.default_rng(1).uniform(0.5, 3, 300)
    posterior, noise_rates, _ = agree_on_subsample(values, problem.codes, 100, 0, weights)
    drawn = np.random.default_rng(0).permutation(300)[:100]
    scaled = values / np.sqrt(np.average((values**2).mean(axis=1), weights=weights))
    agreement = agree(scaled[drawn][:, None], problem.codes[drawn], weights=weights[drawn])
    assert_allclose(posterior[drawn], agreement.posterior, atol=1e-9)
    right = [weights @ posterior[np.arange(300), column] / weights.sum() for column in problem.codes.T]
    assert_allclose(noise_rates, 1 - np.array(right))


@pytest.mark.parametrize("most_rows", [40, 100])
def test_of_one_column_there_are_rates_by_class(most_rows):
    problem = Evidence(1, n_classes=3, n_rows=100)
    values = problem.values[:, 0]
    posterior, noise_rates, class_rates = agree_on_subsample(values, problem.codes, most_rows, 0)
    drawn = np.random.default_rng(0).permutation(100)[:most_rows] if most_rows < 100 else np.arange(100)
    scaled = values / np.sqrt((values**2).mean())
    agreement = agree(scaled[drawn][:, None], problem.codes[drawn])
    assert_allclose(class_rates, agreement.column_rates[0])
    assert_allclose(posterior[drawn], agreement.posterior, atol=1e-9)
    assert_allclose(noise_rates, 1 - posterior[np.arange(100), problem.codes[:, 0]].mean())
    assert agree_on_subsample(values, np.repeat(problem.codes, 2, axis=1), most_rows, 0)[2] is None


@settings(max_examples=12)
@given(evidence)
def test_the_order_of_columns_views_and_rows_does_not_matter(problem):
    rng = np.random.default_rng(0)
    rows, columns, views = (rng.permutation(n) for n in (*problem.codes.shape, problem.values.shape[1]))
    first = agree(problem.values, problem.codes, max_iter=30, tol=-np.inf)
    second = agree(problem.values[rows][:, views], problem.codes[rows][:, columns], max_iter=30, tol=-np.inf)
    assert_allclose(second.noise_rates, first.noise_rates[columns], atol=1e-6)
    assert_allclose(second.column_rates, first.column_rates[columns], atol=1e-6)
    assert_allclose(second.view_weights, first.view_weights[views], atol=1e-5)
    assert_allclose(second.posterior, first.posterior[rows], atol=1e-6)


@settings(max_examples=12)
@given(evidence)
def test_the_names_of_the_classes_do_not_matter(problem):
    n_classes = problem.values.shape[2]
    turned = np.where(problem.codes >= 0, (problem.codes + 1) % n_classes, -1)
    first = agree(problem.values, problem.codes, max_iter=30, tol=-np.inf)
    second = agree(np.roll(problem.values, 1, axis=2), turned, max_iter=30, tol=-np.inf)
    assert_allclose(second.posterior, np.roll(first.posterior, 1, axis=1), atol=1e-6)


def test_rates_are_those_the_labels_were_made_with():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=3000)
    values = rng.normal(size=(3000, 2, 3)) + 2.0 * (np.arange(3) == truth[:, None])[:, None]
    rates = [0.1, 0.25, 0.4]
    codes = np.column_stack([(truth + (rng.random(3000) < rate) * rng.integers(1, 3, size=3000)) % 3 for rate in rates])
    found = agree(values - values.mean(axis=2, keepdims=True), codes)
    assert found.converged
    assert_allclose(found.noise_rates, rates, atol=0.03)
    assert found.common_rate < 0.03
    assert (found.posterior.argmax(axis=1) == truth).mean() > 0.95


def test_errors_that_all_columns_copy_are_told_from_their_own():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=3000)
    values = rng.normal(size=(3000, 1, 1)) + 2.0 * truth[:, None, None] - 1
    values = np.concatenate([-values, values], axis=2)
    copied = truth ^ (rng.random(3000) < 0.2)
    codes = copied[:, None] ^ (rng.random((3000, 3)) < 0.05)
    found = agree(values, codes)
    assert_allclose(found.common_rate, 0.2, atol=0.04)
    assert_allclose(found.common_rates, 0.2, atol=0.06)
    assert_allclose(found.column_rates, 0.05, atol=0.03)
    assert_allclose(found.noise_rates, 0.23, atol=0.04)
    # Three columns that agree would be believed against any values, if they were taken for independent.
    assert (found.posterior.argmax(axis=1) == truth).mean() > (copied == truth).mean() + 0.05


def test_copies_of_a_column_are_no_new_evidence():
    problem = Evidence(3, n_rows=300)
    once = agree(problem.values, problem.codes, tol=1e-9)
    thrice = agree(problem.values, np.repeat(problem.codes, 3, axis=1), tol=1e-9)
    assert_allclose(thrice.posterior, once.posterior, atol=0.1)


def test_a_column_without_labels_has_no_rate():
    problem = Evidence(0, n_columns=2)
    problem.codes[:, 1] = -1
    assert_array_equal(np.isnan(agree(problem.values, problem.codes).noise_rates), [False, True])
