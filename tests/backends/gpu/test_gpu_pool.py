"""Multi-label boosting on a GPU equals that on the host."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    MSSBoostClassifier,
    NSBoostClassifier,
    RSBagClassifier,
)
from fuselearn.backends.gpu.arrays import arrays_of
from fuselearn.backends.gpu.gpu_pool import FusedLosses, GpuJointLoss, GpuPool, PlainLosses, safe_steps_of_all
from fuselearn.multilabel.pool import JointLoss
from fuselearn.multilabel.subspace_models import Candidate
from fuselearn.numeric.logistic import safe_steps
from tests.backends.gpu.gpu_problems import (
    labels_problem,
)


@pytest.mark.long
@pytest.mark.parametrize("model", [MSSBoostClassifier, NSBoostClassifier, RSBagClassifier])
@pytest.mark.parametrize(
    "options",
    [{}, {"significance": 1.0}, {"pool_size": 3}, {"pool_size": 9, "estimator": DecisionTreeClassifier(max_depth=2)}],
    ids=["default", "no test", "small pool", "large pool"],
)
def test_many_labels_equal_those_on_the_host(library, model, options):
    X, Y = labels_problem(0)
    settings_ = {"n_estimators": 8, "feature_ratio": 0.4, "random_state": 0, **options}
    here = model(**settings_).fit(X, Y)
    there = model(**settings_).fit(library.array(X), library.array(Y))
    assert_array_equal(there.source_labels_, here.source_labels_)
    assert_allclose(there.label_weights_, here.label_weights_, atol=1e-9)
    assert_allclose(there.loss_curve_, here.loss_curve_)
    assert_array_equal(there.predict(library.array(X)), here.predict(X))


def test_candidates_are_evaluated_exactly(library):
    rng = np.random.default_rng(0)
    n_candidates, n_labels, n_rows = 7, 5, library.many_rows
    signs = rng.choice([-1, 1], size=(n_labels, n_rows)).astype(np.int8)
    outputs = np.tanh(rng.normal(size=(n_candidates, n_rows)))
    joint = JointLoss(signs)
    joint.add(rng.normal(size=n_labels), np.tanh(rng.normal(size=n_rows)))
    there = GpuJointLoss(signs, arrays_of(library.array(np.zeros(1))), use_fused=library.use_fused)
    with there.arrays.current():
        there.margins[:, :] = there.arrays.from_host(joint.margins)
    # Steps in every direction, many too long, and some that no halving saves.
    newton = rng.normal(size=(n_candidates, n_labels)) * rng.choice(
        [0.0, 0.01, 1.0, 30.0], size=(n_candidates, n_labels)
    )
    kind = FusedLosses if there.losses_class is FusedLosses else PlainLosses
    losses_of = kind(there.arrays, there.arrays.from_host(outputs), there.gpu_signs, there.margins)
    with there.arrays.current():
        weights, losses = safe_steps_of_all(losses_of, newton, joint.losses)
    for candidate in range(n_candidates):
        expected, expected_losses = np.zeros(n_labels), joint.losses.copy()
        labels = np.flatnonzero(newton[candidate])
        steps = newton[candidate]
        safe_steps(labels, steps, outputs[candidate], signs, joint.margins, joint.losses, expected, expected_losses)
        assert_array_equal(weights[candidate], expected)
        assert_allclose(losses[candidate], expected_losses, rtol=1e-12)
    halved = (weights != newton) & (weights != 0)
    assert halved.any()
    assert ((weights == 0) & (newton != 0)).any()


def test_joint_loss_on_a_gpu(library):
    rng = np.random.default_rng(1)
    signs = rng.choice([-1, 1], size=(4, 50)).astype(np.int8)
    here = JointLoss(signs)
    there = GpuJointLoss(signs, arrays_of(library.array(np.zeros(1))), use_fused=library.use_fused)
    for scale in (1.0, 50.0):
        weights, outputs = scale * rng.normal(size=4), np.tanh(rng.normal(size=50))
        weights[1] = 0.0
        assert_array_equal(there.add(weights, outputs), here.add(weights, outputs))
        for name in ("margins", "residuals", "curvatures"):
            assert_allclose(there.arrays.to_host(getattr(there, name)), getattr(here, name), rtol=1e-10, atol=1e-14)
        assert_allclose(there.losses, here.losses)


def test_bad_labels_of_many_are_refused():
    X, Y = labels_problem(1)
    there = array_api_strict.asarray(X)
    other = array_api_strict.asarray(Y, device=array_api_strict.Device("device1"))
    with pytest.raises(ValueError, match="X and y must be on the same GPU"):
        MSSBoostClassifier().fit(there, other)
    with pytest.raises(ValueError, match="float32 or float64"):
        MSSBoostClassifier().fit(array_api_strict.asarray(Y), Y)


def test_only_labels_that_changed_are_multiplied_anew(library, monkeypatch):
    rng = np.random.default_rng(3)
    signs = rng.choice([-1, 1], size=(6, 80)).astype(np.int8)
    outputs = np.tanh(rng.normal(size=(4, 80)))
    joint = GpuJointLoss(signs, arrays_of(library.array(np.zeros(1))), use_fused=library.use_fused)
    candidates = [Candidate(None, None, place, row) for place, row in enumerate(outputs)]
    pool = GpuPool(joint, candidates, significance=1.0, shared=True)
    widths, matmul = [], type(joint.arrays).matmul

    def counted(arrays, one, other):
        widths.append(other.shape[1])
        return matmul(arrays, one, other)

    monkeypatch.setattr(type(joint.arrays), "matmul", counted)
    weights = np.zeros(6)
    weights[[1, 4]] = 0.5, -0.2
    pool.labels_changed(joint.add(weights, outputs[0]))
    assert set(widths) == {2}
    anew = GpuPool(joint, candidates, significance=1.0, shared=True)
    for one, other in zip(pool.evaluate(), anew.evaluate()):
        assert_allclose(one, other, rtol=1e-12)
