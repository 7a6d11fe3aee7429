"""The solver of small kernel machines reaches libsvm's optimum, on any input that has one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from fuselearn.numeric import svm
from fuselearn.numeric.svm import SumOfGrams, solve_svm

KERNELS = {
    "rbf": lambda X: rbf_kernel(X, gamma=0.5),
    "linear": linear_kernel,
    "poly": lambda X: polynomial_kernel(X, degree=3, gamma=0.5, coef0=1.0),
}


def two_classes(seed, n_rows=60, n_columns=3, distance=0.7):
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(n_rows) < 0.4, 1, -1)
    signs[:2] = 1, -1
    return rng.normal(size=(n_rows, n_columns)) + distance * signs[:, None], signs


def dual_objective(alpha, signs, gram):
    beta = alpha * signs
    return 0.5 * beta @ gram @ beta - alpha.sum()


def alpha_of(machine, n_rows):
    alpha = np.zeros(n_rows)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    return alpha


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(4, 120),
    kernel=st.sampled_from(sorted(KERNELS)),
    C=st.sampled_from([0.01, 1.0, 30.0]),
    weighted=st.booleans(),
)
@settings(max_examples=80)
def test_it_is_libsvms_optimum(seed, n_rows, kernel, C, weighted):
    X, signs = two_classes(seed, n_rows)
    gram = KERNELS[kernel](X)
    weights = np.random.default_rng(seed).integers(1, 5, n_rows).astype(float) if weighted else np.ones(n_rows)
    solution = solve_svm(gram, signs, C * weights)
    machine = SVC(C=C, kernel="precomputed").fit(gram, signs, sample_weight=weights)
    theirs = dual_objective(alpha_of(machine, n_rows), signs, gram)
    assert solution.converged
    # Both stop when no condition is violated by more than 1e-3: their objectives then agree to far less than that.
    assert_allclose(solution.objective, theirs, rtol=1e-5)
    assert_allclose(solution.objective, dual_objective(solution.alpha, signs, gram), rtol=1e-9)
    values = gram @ (solution.alpha * signs) + solution.intercept
    assert_allclose(values, machine.decision_function(gram), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_at_a_fine_tolerance_the_optimality_conditions_hold(C):
    X, signs = two_classes(7, 200)
    gram = rbf_kernel(X)
    solution = solve_svm(gram, signs, C, tolerance=1e-10)
    machine = SVC(C=C, kernel="precomputed", tol=1e-10).fit(gram, signs)
    values = gram @ (solution.alpha * signs) + solution.intercept
    # libsvm keeps the Gram matrix in single precision, so that C = 20 leaves it 1e-5 off; we are not.
    assert_allclose(values, machine.decision_function(gram), atol=2e-5)
    free = (solution.alpha > 0) & (solution.alpha < C)
    assert free.sum() > 10
    assert_allclose((values * signs)[free], 1.0, atol=1e-9)
    assert ((values * signs)[solution.alpha == 0] >= 1 - 1e-9).all()
    assert ((values * signs)[solution.alpha == C] <= 1 + 1e-9).all()
    assert_array_equal(solution.alpha > 0, alpha_of(machine, 200) > 0)


def test_the_constraints_hold():
    X, signs = two_classes(3, 150)
    upper = np.random.default_rng(0).uniform(0.1, 3.0, 150)
    solution = solve_svm(rbf_kernel(X), signs, upper)
    assert (solution.alpha >= 0).all()
    assert (solution.alpha <= upper * (1 + 1e-12)).all()
    assert_allclose(solution.alpha @ signs, 0.0, atol=1e-10)


def test_a_row_drawn_twice_is_a_row_with_twice_the_bound():
    X, signs = two_classes(5, 40)
    counts = np.random.default_rng(1).integers(1, 4, 40)
    merged = solve_svm(rbf_kernel(X), signs, 2.0 * counts, tolerance=1e-9)
    repeated = np.repeat(np.arange(40), counts)
    drawn = solve_svm(rbf_kernel(X[repeated]), signs[repeated], 2.0, tolerance=1e-9)
    assert_allclose(merged.objective, drawn.objective, rtol=1e-9)
    assert_allclose(merged.alpha, np.bincount(repeated, drawn.alpha), atol=1e-6)
    assert_allclose(merged.intercept, drawn.intercept, atol=1e-7)


def test_a_start_at_the_optimum_takes_no_step():
    X, signs = two_classes(2, 100)
    gram = rbf_kernel(X)
    first = solve_svm(gram, signs, 1.0, tolerance=1e-6)
    again = solve_svm(gram, signs, 1.0, tolerance=1e-5, alpha=first.alpha)
    assert again.n_iter == 0
    assert first.n_iter > 20
    assert_allclose(again.intercept, first.intercept, atol=1e-4)


@pytest.mark.parametrize("start", [np.full(100, 9.0), np.full(100, -1.0), np.linspace(0, 2, 100)])
def test_a_start_outside_the_constraints_is_brought_inside(start):
    X, signs = two_classes(2, 100)
    gram = rbf_kernel(X)
    cold, warm = solve_svm(gram, signs, 1.0), solve_svm(gram, signs, 1.0, alpha=start)
    assert_allclose(warm.objective, cold.objective, rtol=1e-5)
    assert_allclose(warm.alpha @ signs, 0.0, atol=1e-10)


def test_equal_rows_of_both_classes():
    """The curvature is 0, the step unbounded but for the box."""
    solution = solve_svm(np.ones((4, 4)), [1, -1, 1, -1], 1.0)
    assert solution.converged
    assert_allclose(solution.alpha, 1.0)
    assert_allclose(solution.intercept, 0.0, atol=1e-12)


def test_steps_can_be_limited():
    X, signs = two_classes(0, 100)
    solution = solve_svm(rbf_kernel(X), signs, 1.0, max_iter=5)
    assert not solution.converged
    assert solution.n_iter == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(3), [1, -1], 1.0), r"gram must have shape \(2, 2\)"),
        ((np.eye(2), [1, 1], 1.0), r"signs must hold \+1 and -1, each at least once"),
        ((np.eye(2), [1, 0], 1.0), r"signs must hold \+1 and -1, each at least once"),
        ((np.eye(2), [1, -1], [1.0, 0.0]), "upper must be above 0 for every row; the least is 0"),
    ],
)
def test_what_has_no_optimum_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve_svm(*arguments)


@pytest.mark.parametrize("C", [1e8, 1e12, 1e14])
def test_a_box_without_walls(C):
    # Small coefficients are far from the upper bound, and must not be taken for rounding beside it.
    X, signs = two_classes(0, 80, distance=0.5)
    gram = rbf_kernel(X, gamma=0.5)
    solution = solve_svm(gram, signs, C)
    machine = SVC(C=C, kernel="precomputed").fit(gram, signs)
    decision = gram @ (solution.alpha * signs) + solution.intercept
    assert solution.converged
    assert abs((solution.alpha * signs).sum()) < 1e-6
    assert (signs * decision).min() == pytest.approx((signs * machine.decision_function(gram)).min(), abs=2e-3)


def test_a_kernel_with_gaps_is_refused():
    with pytest.raises(ValueError, match="gram holds NaN"):
        solve_svm(np.full((2, 2), np.nan), [-1, 1], 1.0)


@pytest.mark.parametrize("start", [None, 0.5])
def test_a_sum_over_views_is_solved_as_its_matrix_is(start):
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(n, 2)) for n in (9, 7, 5)]
    grams = [rbf_kernel(own) for own in points]
    objects = np.column_stack([rng.integers(len(own), size=60) for own in points])
    signs = np.where(rng.random(60) < 0.4, 1.0, -1.0)
    whole = sum(gram[np.ix_(column, column)] for gram, column in zip(grams, objects.T))
    parts = SumOfGrams.of(grams, objects)
    np.testing.assert_array_equal(parts.diagonal(), whole.diagonal())
    np.testing.assert_allclose(parts.times(signs), whole @ signs)
    alpha = None if start is None else np.full(60, start)
    options = {"upper": rng.uniform(0.5, 2.0, size=60), "tolerance": 1e-6, "alpha": alpha}
    by_matrix, by_sum = solve_svm(whole, signs, **options), solve_svm(parts, signs, **options)
    # Items of the same objects share them out in many ways: the decisions are unique, the dual variables are not.
    decisions = [parts.times(solution.alpha * signs) for solution in (by_sum, by_matrix)]
    np.testing.assert_allclose(*decisions, atol=1e-4)
    assert by_sum.objective == pytest.approx(by_matrix.objective, rel=1e-9)
    assert by_sum.intercept == pytest.approx(by_matrix.intercept, abs=1e-4)
    some = np.arange(0, 60, 2)
    np.testing.assert_array_equal(parts.some_items(some).diagonal(), whole.diagonal()[some])


@pytest.mark.parametrize("every", [1, 8])
@pytest.mark.parametrize("start", [None, 0.5])
@pytest.mark.parametrize("rare", [False, True])
def test_setting_items_aside_leaves_the_solution_as_it_is(monkeypatch, every, start, rare):
    monkeypatch.setattr(svm, "SAMPLED_FROM", 40)
    monkeypatch.setattr(svm, "STEPS_BETWEEN", 7)
    monkeypatch.setattr(svm, "EVERY", every if every > 1 else 39)
    rng = np.random.default_rng(1)
    points = [rng.normal(size=(n, 2)) for n in (20, 15)]
    objects = np.column_stack([rng.integers(len(own), size=200) for own in points])
    values = points[0][objects[:, 0], 0] + points[1][objects[:, 1], 1] + 0.5 * rng.normal(size=200)
    signs = np.where(values > (2.2 if rare else 0.3), 1.0, -1.0)
    parts = SumOfGrams.of([rbf_kernel(own) for own in points], objects)
    options = {
        "upper": rng.uniform(0.5, 2.0, size=200),
        "tolerance": 1e-6,
        "alpha": None if start is None else np.full(200, start),
    }
    found = solve_svm(parts, signs, **options)
    monkeypatch.setattr(svm, "SAMPLED_FROM", 10**9)
    expected = solve_svm(parts, signs, **options)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.intercept == pytest.approx(expected.intercept, abs=1e-4)
    decisions = [parts.times(solution.alpha * signs) for solution in (found, expected)]
    np.testing.assert_allclose(*decisions, atol=1e-4)
    assert abs((found.alpha * signs).sum()) < 1e-9
    assert ((found.alpha >= 0) & (found.alpha <= options["upper"])).all()


def test_items_set_aside_count_where_the_steps_run_out(monkeypatch):
    monkeypatch.setattr(svm, "SAMPLED_FROM", 40)
    monkeypatch.setattr(svm, "STEPS_BETWEEN", 5)
    rng = np.random.default_rng(2)
    points = rng.normal(size=(30, 2))
    objects = rng.integers(30, size=(100, 1))
    signs = np.where(rng.random(100) < 0.5, 1.0, -1.0)
    parts = SumOfGrams.of([rbf_kernel(points)], objects)
    solution = solve_svm(parts, signs, 1.0, max_iter=12, alpha=np.zeros(100))
    assert not solution.converged
    assert solution.n_iter == 12
    beta = solution.alpha * signs
    # The objective follows from the gradient, which must know of the last steps.
    assert solution.objective == pytest.approx(0.5 * beta @ parts.times(beta) - signs @ beta)


def test_a_sample_without_one_of_the_classes_is_no_start():
    parts = SumOfGrams.of([np.eye(4)], np.arange(32)[:, None] % 4)
    signs = np.where(np.arange(32) == 1, 1.0, -1.0)
    assert svm._start_from_sample(parts, signs, np.ones(32), 1e-3) is None


def test_a_sample_has_both_of_two_classes_that_take_turns():
    objects = np.arange(400)[:, None] % 4
    signs = np.where(objects[:, 0] < 2, 1.0, -1.0)
    assert svm._start_from_sample(SumOfGrams.of([np.eye(4)], objects), signs, np.ones(400), 1e-3) is not None


def test_a_start_from_a_sample_meets_the_constraints():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(40, 2))
    objects = rng.integers(40, size=(400, 1))
    signs = np.where(points[objects[:, 0], 0] + rng.normal(size=400) > 0.8, 1.0, -1.0)
    upper = rng.uniform(0.5, 2.0, size=400)
    alpha = svm._start_from_sample(SumOfGrams.of([rbf_kernel(points)], objects), signs, upper, 1e-3)
    assert abs(alpha @ signs) < 1e-9
    assert ((alpha >= 0) & (alpha <= upper)).all()
    assert ((alpha > 0) & (alpha < upper)).sum() <= 1
    assert (alpha > 0).any()
