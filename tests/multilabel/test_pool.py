"""Parts of a round alone: further Newton steps, what is a lower loss, the sizes of pools, and the test of relation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.multilabel.pool import JointLoss, Pool, further_steps, log_odds, number_of_candidates, related
from fuselearn.multilabel.subspace_models import Candidate
from fuselearn.multilabel.theorems import most_errors
from tests.multilabel.test_multilabel_oracle import as_signs
from tests.naive import mssboost as naive


def expected_steps(weight, h, y, F, n_steps):
    """The weight of one label after further steps, each that of a new model where the last one led."""
    for _ in range(n_steps):
        weight += naive.safe_weight(h, y, F + weight * h)
    return weight


@pytest.mark.parametrize("n_steps", [0, 1, 2, 5])
def test_further_steps_go_on_where_the_last_one_led(n_steps):
    rng = np.random.default_rng(0)
    for _ in range(20):
        n_rows, n_labels = 30, 3
        Y, h = rng.integers(0, 2, (n_rows, n_labels)), np.clip(rng.normal(size=n_rows), -1, 1)
        F, weights = rng.normal(size=(n_rows, n_labels)) * 3, rng.normal(size=n_labels) * [1, 0, 3]
        before = weights.copy()
        ours = further_steps(weights, h, as_signs(Y), F.T * as_signs(Y), n_steps)
        expected = [expected_steps(a, h, Y[:, k], F[:, k], n_steps) for k, a in enumerate(weights)]
        expected[1] = 0.0  # a label without a weight stays without
        assert_allclose(ours, expected, rtol=1e-7)
        assert_array_equal(weights, before)


@pytest.mark.parametrize("start", [4.0, 6.0, 8.0, 9.0, 10.0, 12.0])
@pytest.mark.parametrize("weight", [0.4, -0.3])
def test_a_further_step_that_overshoots_is_halved(start, weight):
    """40 rows that are right and far inside, one that is wrong: the nearer they are to 0, the less it overshoots."""
    y = np.r_[np.ones(40), 0]
    h = -np.r_[np.full(40, 0.02), 1.0]
    F = np.full(41, start) - weight * h
    signs = as_signs(y[:, None])
    [ours] = further_steps(np.array([weight]), h, signs, F * signs, 1)
    assert ours == pytest.approx(weight + naive.safe_weight(h, y, np.full(41, start)), rel=1e-9)
    shares = {4.0: 1, 6.0: 2, 8.0: 16, 9.0: 32}
    newton = naive.newton_weight(h, y, np.full(41, start))
    assert ours - weight == pytest.approx(newton / shares[start] if start in shares else 0.0, abs=1e-9)


def test_an_enormous_step_is_halved_five_times_and_no_more():
    """Between the last half that is tried and the next one the loss begins to fall."""
    y, h = np.r_[np.ones(40), 0], -np.r_[np.full(40, 0.02), 1.0]
    signs, found = as_signs(y[:, None]), set()
    for start in np.arange(8.5, 10.5, 0.05):
        F = np.full(41, start)
        newton = naive.newton_weight(h, y, F)
        losses = [naive.label_loss(h, y, F, newton / 2**k) for k in range(8)]
        first = next((k for k, loss in enumerate(losses) if loss <= naive.label_loss(h, y, F, 0.0)), None)
        found.add(first)
        step = further_steps(np.array([1e-9]), h, signs, F * signs, 1)[0] - 1e-9
        assert step == pytest.approx(newton / 2**first if first is not None and first <= 5 else 0.0, abs=1e-6)
    assert {4, 5, 6} <= found


def best_of(joint, *outputs):
    """The slot that wins, or None."""
    pool = Pool(joint, [Candidate(None, None, 0, h) for h in outputs], significance=1.0, shared=True)
    winner = pool.best()
    return None if winner is None else winner.slot


@pytest.mark.parametrize(("lowered_by", "joins"), [(1e-7, True), (5e-9, True), (1e-9, False), (1e-10, False)])
def test_what_hardly_lowers_a_large_loss_is_rounding(lowered_by, joins):
    """A part of 10⁻¹² of a loss of 2773, and of 1, is 2.8·10⁻⁹."""
    signs = as_signs(np.arange(4000)[:, None] % 2)
    joint = JointLoss(signs)
    # At F = 0 the slope is Σ y·h / 2, the curvature Σ h² / 4, and a step lowers the loss by slope² / (2·curvature).
    h = np.where(np.arange(4000) % 4 < 2, 1.0, -1.0)  # as often right as wrong, but for the first row
    h[0] -= 2 * np.sqrt(2 * lowered_by * 4000 / 4)
    slope, curvature = joint.residuals[0] @ h, joint.curvatures[0] @ h**2
    assert slope**2 / (2 * curvature) == pytest.approx(lowered_by, rel=1e-3)
    assert (best_of(joint, h) == 0) == joins


@pytest.mark.parametrize(("margin", "joins"), [(20.0, True), (21.5, True), (22.0, False), (25.0, False)])
def test_what_hardly_lowers_a_small_loss_is_rounding(margin, joins):
    """With all curvatures at their floor, 8 rows of loss u lower it by 8·u²·10⁶, which 10⁻¹² is compared with."""
    signs = as_signs(np.arange(8)[:, None] % 2)
    joint = JointLoss(signs)
    joint.add(np.array([margin]), signs[0].astype(float))
    lowered_by = 8e6 * np.exp(-margin) ** 2
    assert joins == (lowered_by > 1e-12)
    assert (best_of(joint, signs[0].astype(float)) == 0) == joins


def test_candidates_of_small_losses_are_equals_within_rounding():
    signs = as_signs(np.arange(8)[:, None] % 2)
    h = signs[0].astype(float)
    worse = h * (np.arange(8) > 0)
    for margin, winner in ((21.0, 0), (19.0, 1)):  # which differ by 6·10⁻¹³ and by 3·10⁻¹¹
        joint = JointLoss(signs)
        joint.add(np.array([margin]), h)
        assert best_of(joint, worse, h) == winner


@pytest.mark.parametrize(
    ("pool_size", "n_labels", "default_model", "size"),
    [
        (5, 3, True, 5),
        (5, 90, False, 5),
        (None, 6, False, 6),
        (None, 6, True, 39),
        (None, 39, True, 39),
        (None, 50, True, 50),
    ],
)
def test_sizes_of_pools(pool_size, n_labels, default_model, size):
    """As given; or one candidate a label, with the default model at least the 39 of S2's TREC collection."""
    assert number_of_candidates(pool_size, n_labels, default_model=default_model) == size


def test_the_constant_of_least_loss_is_the_log_odds():
    Y = np.array([[1, 0], [1, 0], [1, 1], [0, 0], [1, 0]])
    assert_allclose(log_odds(as_signs(Y)), np.log([4 / 1, 1 / 4]))


def test_without_a_test_all_labels_are_related():
    """Also those that nothing could be related to, and those of which the table is what chance says."""
    Y = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0]])
    n_positives = Y.sum(axis=0).astype(float)
    for positive in (np.ones(4, dtype=bool), np.array([True, False, False, True])):
        assert related(positive, as_signs(Y), n_positives, 1.0).all()
        assert not related(positive, as_signs(Y), n_positives, 0.99999)[0]


def test_renewed_slots_are_as_if_they_had_been_there_from_the_start():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (60, 70))  # of more labels than are multiplied at a time
    joint = JointLoss(as_signs(Y))
    candidates = [Candidate(None, None, k % 70, rng.uniform(-1, 1, 60)) for k in range(8)]
    pool = Pool(joint, candidates[:4], significance=1.0, shared=True)
    for slot in (0, 3, 2):
        pool.replace(slot, candidates[4 + slot])
    joint.add(rng.normal(size=70), candidates[7].outputs)
    pool.labels_changed(np.arange(70))
    some = np.array([3, 69])
    joint.add(np.isin(np.arange(70), some) * 0.5, candidates[4].outputs)
    pool.labels_changed(some)
    joint.add((np.arange(70) == 66) * 0.5, candidates[5].outputs)
    pool.labels_changed(np.array([66]))
    fresh = Pool(joint, [candidates[4], candidates[1], candidates[6], candidates[7]], significance=1.0, shared=True)
    ours, expected = pool.best(), fresh.best()
    assert ours.slot == expected.slot
    assert_allclose(ours.weights, expected.weights, rtol=1e-9)
    assert_allclose(pool._slopes, fresh._slopes, rtol=1e-9, atol=1e-12)
    assert_allclose(pool._curvatures, fresh._curvatures, rtol=1e-9)


def test_scores_of_0_may_be_wrong_everywhere():
    """The bound on the errors, of a loss of ln 2 for each row and label, is their number."""
    joint = JointLoss(as_signs(np.arange(10).reshape(5, 2) % 3 > 0))
    assert most_errors(joint.total) == pytest.approx(10)
    assert most_errors(0.5 * joint.total) == pytest.approx(5)
