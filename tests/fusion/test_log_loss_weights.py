import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.fusion.fusion_run import Decisions, WithoutFolds
from fuselearn.fusion.log_loss_weights import (
    LossSums,
    PatternSums,
    Penalty,
    Stack,
    constrained_minimum,
    fit_patterns,
    losses_without,
    patterns_without_folds,
    plain_sum,
    weigh,
    without_folds,
)
from fuselearn.fusion.pattern_calibration import PatternCalibration
from tests.fusion.many_rows import blocks, table
from tests.naive.fusion_sums import log_loss
from tests.naive.fusion_sums import weigh as naive_weigh


def with_values(n_classes, n_blocks=1, n=120, seed=0, n_arms=3):
    """Blocks with values of arms, of which the last knows nothing."""
    X, y = table(n, n_classes, seed)
    rng = np.random.default_rng(seed + 1)
    weights = rng.uniform(0.5, 2.0, n)
    _, made, _ = blocks(X, y, n_blocks, weights=weights)
    shares = np.eye(n_classes)[y]
    targets = shares[:, 1:] - 0.5 if n_classes == 2 else shares - 1 / n_classes
    values = np.array([known * targets + rng.normal(size=targets.shape) for known in (1.0, 2.0, 0.0)])[:n_arms]
    for block in made:
        rows = slice(block.first_row, block.first_row + block.n_rows)
        for arm, of_arm in enumerate(values):
            block.keep_values(arm, of_arm[rows])
    return made, values, shares, weights / weights.mean()


def asker(made):
    rows = LocalPartitions(made)

    def ask(stack):
        [answer] = rows.ask([], [LossSums(stack)])
        return answer

    return ask


def start_of(values, weights, shares):
    squares = np.einsum("n,ant,ant->a", weights, values, values) / weights.sum()
    prior = weights @ shares / weights.sum()
    n_targets = values.shape[2]
    log_prior = np.log(prior[1:] / prior[:1]) if n_targets == 1 else np.log(prior)
    arms = tuple(range(len(values)))
    return Stack(arms, np.full(len(arms), 0.1), log_prior), Penalty(squares, log_prior)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_those_of_a_general_minimiser(n_classes):
    made, values, shares, weights = with_values(n_classes, n=60)
    start, penalty = start_of(values, weights, shares)
    found = weigh(asker(made), start, penalty).stack
    expected = naive_weigh(values, shares, weights, penalty.log_prior, penalty.squares)
    arguments = values, shares, weights, penalty.log_prior, penalty.squares
    assert log_loss(found.point, *arguments) <= log_loss(expected, *arguments) + 1e-8
    assert_allclose(found.point, expected, atol=2e-4)
    assert found.weights[1] > found.weights[2] >= 0


def test_many_classes_end_at_the_same_weights(monkeypatch):
    made, values, shares, weights = with_values(4)
    start, penalty = start_of(values, weights, shares)
    dense = weigh(asker(made), start, penalty).stack
    monkeypatch.setattr("fuselearn.fusion.log_loss_weights.MOST_DENSE", 2)
    bounded = weigh(asker(made), start, penalty).stack
    assert_allclose(bounded.weights, dense.weights, atol=1e-5)
    # What is added to all intercepts changes nothing.
    assert_allclose(np.diff(bounded.intercepts), np.diff(dense.intercepts), atol=1e-5)


def test_sums_do_not_depend_on_the_blocks():
    made, values, shares, weights = with_values(3, n_blocks=1)
    start, penalty = start_of(values, weights, shares)
    one = weigh(asker(made), start, penalty)
    several = weigh(asker(with_values(3, n_blocks=5)[0]), start, penalty)
    assert_allclose(several.stack.point, one.stack.point, rtol=1e-10)
    assert_allclose(several.curvatures, one.curvatures, rtol=1e-9, atol=1e-12)


def test_derivatives_are_those_of_the_loss():
    made, values, shares, weights = with_values(3)
    start, _ = start_of(values, weights, shares)
    ask, point, step = asker(made), start.point, 1e-5
    _, gradients, curvatures = ask(start)
    for place in range(len(point)):
        moved = np.eye(len(point))[place] * step
        losses = [ask(start.at(point + sign * moved))[0].sum() for sign in (1, -1)]
        assert_allclose(gradients.sum(axis=0)[place], (losses[0] - losses[1]) / (2 * step), rtol=1e-5, atol=1e-6)
        slopes = [ask(start.at(point + sign * moved))[1].sum(axis=0) for sign in (1, -1)]
        assert_allclose(curvatures.sum(axis=0)[place], (slopes[0] - slopes[1]) / (2 * step), rtol=1e-4, atol=1e-5)


def test_weights_without_a_fold_do_not_depend_on_it():
    # A step from the weights of all rows comes next to those of the other folds, fitted from scratch.
    made, values, shares, weights = with_values(2, n=600)
    start, penalty = start_of(values, weights, shares)
    everything = asker(made)
    weighing = weigh(everything, start, penalty)
    for fold, stack in enumerate(without_folds(weighing, penalty)):

        def ask(stack, fold=fold):
            sums = [array.copy() for array in everything(stack)]
            for array in sums:
                array[fold] = 0
            return tuple(sums)

        assert_allclose(stack.weights, weigh(ask, start, penalty).stack.weights, atol=2e-2)
        # Without the fold they would lean against its classes.
        assert_allclose(stack.intercepts, weighing.stack.intercepts)


def test_an_arm_that_is_needed_is_missed_most():
    made, values, shares, weights = with_values(2, n=400)
    start, penalty = start_of(values, weights, shares)
    weighing = weigh(asker(made), start, penalty)
    rises = losses_without(weighing, penalty)
    assert rises[1] > rises[0] > rises[2]
    # Near the best weights it is by as much as the loss really rises.
    without = Stack((0, 1), start.weights[:2], start.intercepts)
    rest = weigh(asker(made), without, penalty.of([0, 1]))
    assert_allclose(rises[2], rest.loss - weighing.loss, atol=0.2)
    without = Stack((1, 2), start.weights[1:], start.intercepts)
    rest = weigh(asker(made), without, penalty.of([1, 2]))
    assert_allclose(rises[0], rest.loss - weighing.loss, rtol=0.3)


def test_constrained_minimum_is_that_of_the_quadratic_function():
    rng = np.random.default_rng(0)
    for _ in range(20):
        root = rng.normal(size=(8, 5))
        curvature, gradient, point = root.T @ root, rng.normal(size=5) * 3, rng.uniform(size=5)
        found = constrained_minimum(point, gradient, curvature, 3)
        slope = gradient + curvature @ (found - point)
        assert (found[:3] >= 0).all()
        assert_allclose(slope[3:], 0, atol=1e-6)
        # At a bound the slope leads into it; elsewhere there is none.
        assert (slope[:3] >= -1e-6).all()
        assert_allclose(slope[:3] * found[:3], 0, atol=1e-5)


def test_decisions_are_counted_by_the_weights_of_each_fold():
    made, values, _, _ = with_values(2, n_blocks=3)
    _, _, folds = blocks(*table(120, 2))
    stacks = tuple(Stack((0, 1, 2), np.array([1.0, fold, 0.0]), np.zeros(1)) for fold in range(3))
    _, y = table(120, 2)
    line = PatternCalibration(np.ones((1, 3), dtype=bool), np.ones(1), np.zeros((1, 2)), np.zeros(2))
    [(counts, right)] = LocalPartitions(made).ask([], [Decisions(WithoutFolds(stacks, (line,) * 3), np.zeros(2))])
    z = values[0, :, 0] + folds * values[1, :, 0]
    assert counts.tolist() == np.bincount(y).tolist()
    assert right.sum() == ((z > 0) == y).sum()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_patterns_without_a_fold_are_those_of_the_other_rows(n_classes):
    made, *_ = with_values(n_classes, n_blocks=2, n=900)
    stack = Stack((0, 1), np.array([0.7, 0.4]), np.zeros(1 if n_classes == 2 else n_classes))
    start = np.repeat(np.append(1.0, stack.intercepts)[None], 2, axis=0)
    # Rows that lack the third view have other slopes.
    for block in made:
        block.present[: block.n_rows // 2, 2] = False

    def ask(points, folds=(None,)):
        rows = LocalPartitions(made)
        answers = rows.ask([], [PatternSums(stack, (0b011,), points, only_fold=fold) for fold in folds])
        return tuple(np.sum(sums, axis=0) for sums in zip(*answers))

    points = fit_patterns(ask, start, 1.0)
    for whole, by_fold in zip(ask(points), ask(points, (0, 1, 2))):
        assert_allclose(by_fold, whole, rtol=1e-9, atol=1e-9)
    without = patterns_without_folds([ask(points, (fold,)) for fold in range(3)], points, start, 1.0)
    for fold, found in enumerate(without):
        others = tuple(other for other in range(3) if other != fold)
        expected = fit_patterns(lambda at, others=others: ask(at, others), start, 1.0)
        assert np.abs(expected - points).max() > 0.02
        assert_allclose(found, expected, atol=0.2 * np.abs(expected - points).max())


def test_absent_values_count_as_nothing():
    values = [np.array([[1.0], [np.nan], [np.nan]]), np.array([[2.0], [3.0], [np.nan]])]
    sums, covered = plain_sum(values, np.array([1.0, 0.5]), (3, 1))
    assert sums[:, 0].tolist() == [2.0, 1.5, 0.0]
    assert covered.tolist() == [True, True, False]
    assert plain_sum([], np.zeros(0), (2, 3))[0].shape == (2, 3)
