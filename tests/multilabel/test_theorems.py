"""S2's theorems as numbers: what they say is so, and they are what S2 prints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fuselearn import MSSBoostClassifier
from fuselearn.multilabel.mssboost import boosted_rounds
from fuselearn.multilabel.pool import JointLoss
from fuselearn.multilabel.theorems import edges, least_decrease, most_errors, most_rounds, speedup
from fuselearn.numeric.threads import SERIAL
from tests.multilabel.test_multilabel_oracle import RandomTrainer, as_signs, data, random_labels


def test_training_errors_are_at_most_the_bound():
    X, Y = data()
    model = MSSBoostClassifier(n_estimators=5, feature_ratio=0.5, random_state=0).fit(X, Y)
    assert np.count_nonzero(model.predict(X) != Y) <= most_errors(model.loss_curve_[-1])


@given(st.integers(0, 2**32 - 1), st.integers(8, 30), st.integers(1, 3), st.sampled_from(["real", "signs"]))
def test_a_round_lowers_the_loss_as_theorem_3_says(seed, n_rows, n_labels, kind):
    """Where every candidate of the pool has an edge on its own label."""
    trainer = RandomTrainer(random_labels(seed, n_rows, n_labels), seed, kind)
    joint = JointLoss(as_signs(trainer.Y))
    rounds = boosted_rounds(trainer, joint, SERIAL, pool_size=None, significance=1.0, shared=True)
    generations = [0] * n_labels
    for _ in range(4):
        pool = [trainer.outputs(label, generations[label]) for label in range(n_labels)]
        edge = min(edges(h, joint.signs, joint.margins)[label] for label, h in enumerate(pool))
        before, worst = joint.total, joint.losses.max()
        candidate, weights = next(rounds)
        joint.add(weights, candidate.outputs)
        generations[candidate.source_label] += 1
        if edge > 1e-6:
            assert before - joint.total >= least_decrease(n_rows, n_labels, edge, worst) * (1 - 1e-9)


def test_edge_by_the_formula():
    rng = np.random.default_rng(0)
    h, signs, margins = rng.uniform(-1, 1, 20), rng.choice([-1, 1], (2, 20)), rng.normal(size=(2, 20))
    w = 1 / (1 + np.exp(margins))
    expected = [sum(w[k] * signs[k] * h) / sum(w[k]) for k in range(2)]
    assert_allclose(edges(h, signs, margins), expected)


def test_rounds_of_theorem_3():
    """S2's 2·N⁴·L⁴ / (λ²·S₀²), whose losses are in base 2, but for its rounding: S₀ in bits is S₀ / ln 2."""
    bits = 2 * 50**4 * 4**4 / (0.2**2 * (3.0 / np.log(2)) ** 2)
    assert most_rounds(50, 4, edge=0.2, loss=3.0) == pytest.approx(bits * np.log(2))
    for bad in ({"edge": 0.0}, {"loss": -1.0}, {"n_rows": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            most_rounds(**({"n_rows": 50, "n_labels": 4, "edge": 0.2, "loss": 3.0} | bad))


def test_decrease_of_few_rows_has_the_factor_that_s2_rounds():
    assert least_decrease(3, 1, 0.5, 1.0) == pytest.approx((0.5 * 7 / 8 / (3 * np.log(2))) ** 2 / 6)
    assert least_decrease(1, 2, 0.5, 1.0) == pytest.approx((0.5 * 3 / 4 / (2 * np.log(2))) ** 2 / 4)


def test_costs_of_section_4_4():
    """S2's example: r_d = r_f = 0.1 and T = 3L, "around 250 times and 33 times"."""
    assert speedup(20, 60, 0.1, 0.1) == pytest.approx((250, 33.3), rel=0.01)
    assert speedup(20, 60, 0.1, 0.1, kernel_machines=False) == pytest.approx((25, 33.3), rel=0.01)
