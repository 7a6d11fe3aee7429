"""The pool of candidates of multi-label boosting, with outputs, margins and losses on a GPU.

Base models are learned on the host. What grows with candidates × labels × rows, the Newton steps and the exact joint
loss of every candidate, is computed on the GPU, in double precision, so that the model is that of the host but for the
order of additions. The CUDA source of the fused kernels is in ``multilabel.cu``.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from fuselearn.backends.gpu.arrays import Arrays, GpuArray, on_its_gpu
from fuselearn.backends.gpu.cuda_kernels import cuda_source, fused_kernels
from fuselearn.numeric.logistic import FLOOR, HALVINGS, Winner, passes_test
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.votes import TIE
from fuselearn.typing import FloatArray, IntArray

VALUES_AT_A_TIME = 2**24
"""Values of a label-by-row or candidate-by-row array that one step makes a copy of."""
LOSSES_AT_A_TIME = 2**24
"""Margins that plain operations look at at a time."""
ROWS_OF_BLOCK = 8192
"""Rows of one partial loss, ROWS in ``multilabel.cu``."""
CANDIDATES, LABELS = 4, 2
"""Candidates and labels that a thread works on at a time, as in ``multilabel.cu``: each value that it reads serves
several pairs."""


class PoolCandidate(Protocol):
    """A base model with its outputs on the training rows."""

    @property
    def source_label(self) -> int:
        """Label that it was learned on."""

    @property
    def outputs(self) -> FloatArray:
        """Outputs, of shape (n_rows,)."""


CandidateT = TypeVar("CandidateT", bound=PoolCandidate)


class GpuJointLoss:
    """`fuselearn.multilabel.pool.JointLoss` with its arrays on a GPU.

    `signs`, of shape (n_labels, n_rows), are on the host, and `gpu_signs`, `margins`, `residuals` and `curvatures` on
    the GPU.
    """

    def __init__(self, signs: IntArray, arrays: Arrays, *, use_fused: bool = True) -> None:
        kernels = fused_kernels(arrays) if use_fused else None
        self.arrays = arrays = arrays if kernels is None else kernels.arrays(arrays)
        self.losses_class = PlainLosses if kernels is None else FusedLosses
        self.signs = signs
        self.gpu_signs = arrays.from_host(signs)
        self.margins, self.residuals, self.curvatures = (arrays.full(signs.shape, 0.0) for _ in range(3))
        self.losses: FloatArray = np.empty(len(signs))
        self.add(np.zeros(len(signs)), np.zeros(signs.shape[1]))

    @property
    def total(self) -> float:
        """The joint loss."""
        return float(self.losses.sum())

    @on_its_gpu
    def host_margins(self) -> FloatArray:
        """Return the margins as an array of NumPy."""
        return self.arrays.to_host(self.margins)

    @on_its_gpu
    def add(self, weights: FloatArray, outputs: FloatArray, threads: Threads = SERIAL) -> IntArray:
        """Set F_l ← F_l + α_l·h for every label l (S2 Alg. 2 step 2b); return the labels whose F changed."""
        arrays, xp = self.arrays, self.arrays.xp
        gpu_outputs = arrays.from_host(outputs)[None, :]
        n_labels, n_rows = self.signs.shape
        losses, step = [], max(1, VALUES_AT_A_TIME // n_rows)
        for start in range(0, n_labels, step):
            stop = min(start + step, n_labels)
            signs = arrays.to_double(self.gpu_signs[start:stop, :])
            m = self.margins[start:stop, :] + arrays.from_host(weights[start:stop])[:, None] * (signs * gpu_outputs)
            e = xp.exp(-xp.abs(m))
            share = 1.0 / (1.0 + e)  # of the likelier side
            self.margins[start:stop, :] = m
            self.residuals[start:stop, :] = signs * arrays.where(m >= 0.0, e * share, share)
            self.curvatures[start:stop, :] = arrays.at_least(e * share * share, FLOOR)
            losses.append(arrays.sum(arrays.softplus(m), axis=1))
        self.losses = arrays.to_host(arrays.concatenate(losses))
        return np.flatnonzero(weights)


class GpuPool(Generic[CandidateT]):
    """`fuselearn.multilabel.pool.Pool` with its arrays on a GPU. No bound excludes candidates: all are evaluated."""

    def __init__(
        self, joint: GpuJointLoss, candidates: Sequence[CandidateT], *, significance: float, shared: bool
    ) -> None:
        arrays = joint.arrays
        n_slots, (n_labels, n_rows) = len(candidates), joint.signs.shape
        self.candidates = list(candidates)
        self.n_evaluated = 0
        self.arrays = arrays
        self._joint = joint
        self._significance = significance
        self._shared = shared
        self._outputs = arrays.full((n_slots, n_rows), 0.0)
        self._allowed = np.zeros((n_slots, n_labels), dtype=bool)
        self._idle = np.zeros(n_slots, dtype=bool)
        self._slopes = np.empty((n_slots, n_labels))
        self._curvatures = np.empty((n_slots, n_labels))
        self._n_positives = np.count_nonzero(joint.signs > 0, axis=1).astype(np.float64)
        with arrays.current():
            for slot, candidate in enumerate(candidates):
                self._enter(slot, candidate)
        self.labels_changed(np.arange(n_labels))

    @on_its_gpu
    def replace(self, slot: int, candidate: CandidateT, threads: Threads = SERIAL) -> None:
        """Put a new candidate in the place of a used one (S2 Alg. 2 step 2c)."""
        self._enter(slot, candidate)
        self._compute_products(slice(slot, slot + 1), np.arange(len(self._joint.signs)))

    def is_idle(self, slot: int) -> bool:
        """Return whether a slot's candidate can serve no label: it would never win, and so never be replaced."""
        return bool(self._idle[slot])

    @on_its_gpu
    def labels_changed(self, labels: IntArray, threads: Threads = SERIAL) -> None:
        """Update the products of labels whose decision functions have changed."""
        if len(labels):
            self._compute_products(slice(0, len(self.candidates)), labels)

    def best(self, threads: Threads = SERIAL) -> Winner | None:
        """Return the candidate and weights of the least joint loss (S2 Alg. 2 step 2a), or None if none lowers it.

        Ties go to the lowest slot; a loss that ties with the present one is not lower.
        """
        joint = self._joint
        weights, losses = self.evaluate()
        self.n_evaluated += len(weights)
        totals = losses.sum(axis=1)
        least = totals.min()
        if least >= joint.total - TIE * (1.0 + joint.total):
            return None
        slot = int(np.flatnonzero(totals <= least + TIE * (1.0 + abs(least)))[0])
        return Winner(slot, weights[slot])

    @on_its_gpu
    def evaluate(self) -> tuple[FloatArray, FloatArray]:
        """Return the weights that all labels give all candidates, and their exact losses; (n_slots, n_labels) each."""
        joint = self._joint
        newton = np.zeros_like(self._slopes)
        np.divide(self._slopes, self._curvatures, out=newton, where=self._allowed & (self._curvatures > 0))
        losses_of = joint.losses_class(joint.arrays, self._outputs, joint.gpu_signs, joint.margins)
        return safe_steps_of_all(losses_of, newton, joint.losses)

    def _enter(self, slot: int, candidate: CandidateT) -> None:
        """Put a candidate into a slot, and test which labels it may serve."""
        arrays, joint = self.arrays, self._joint
        self._outputs[slot, :] = arrays.from_host(candidate.outputs)
        self.candidates[slot] = copy(candidate)
        allowed = np.ones(len(joint.signs), dtype=bool)
        if self._significance < 1:
            # Σ over the rows with h > 0 of y = ±1 is twice the number that have the label, less their number.
            positive = candidate.outputs > 0
            n_out = float(np.count_nonzero(positive))
            sums = self._products(arrays.from_host(positive.astype(np.float64))[None, :], joint.gpu_signs)[0]
            both = (sums + n_out) / 2
            allowed = passes_test(n_out, both, self._n_positives, len(positive), self._significance)
        if not self._shared:
            allowed &= np.arange(len(allowed)) == candidate.source_label
        self._allowed[slot] = allowed
        self._idle[slot] = not (allowed.any() and candidate.outputs.any())

    def _compute_products(self, slots: slice, labels: IntArray) -> None:
        """Compute HᵀZ and (H²)ᵀW of S2 equation 2, for some slots and labels."""
        outputs = self._outputs[slots, :]
        self._slopes[slots, labels] = self._products(outputs, self._joint.residuals, labels)
        self._curvatures[slots, labels] = self._products(outputs, self._joint.curvatures, labels, squared=True)

    def _products(
        self, outputs: GpuArray, others: GpuArray, labels: IntArray | None = None, *, squared: bool = False
    ) -> FloatArray:
        """Return products of candidates' rows with labels' rows, a block of rows at a time; on the host."""
        arrays = self.arrays
        n_rows = outputs.shape[1]
        numbers = arrays.from_host(labels) if labels is not None and len(labels) < others.shape[0] else None
        step = max(1, VALUES_AT_A_TIME // max(outputs.shape[0], others.shape[0]))
        sums = 0.0
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            left = outputs[:, start:stop]
            right = others[:, start:stop]
            right = arrays.transpose(arrays.to_double(right if numbers is None else arrays.take(right, numbers)))
            sums = sums + arrays.matmul(left * left if squared else left, right)
        return arrays.to_host(sums)


def safe_steps_of_all(
    losses_of: Callable[[FloatArray, IntArray | None], FloatArray], newton: FloatArray, losses: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the weight that each label gives each candidate, and its exact loss with it, by candidate and label.

    A Newton step (0 where a candidate may not serve a label) whose loss is above that of weight 0, in `losses`, is
    halved up to five times, then 0; see `fuselearn.numeric.logistic.safe_steps`. `losses_of` takes weights of all pairs
    of a candidate and a label, and the numbers of some pairs or None for all; it returns the losses of those pairs.
    Those of weight 0 may be anything.
    """
    weights = newton.copy()
    new_losses = np.broadcast_to(losses, newton.shape).copy()
    before = new_losses.copy()
    if not newton.any():
        return weights, new_losses
    step_losses = losses_of(weights, None)
    lower = (newton != 0) & (step_losses <= before)
    new_losses[lower] = step_losses[lower]
    remaining = np.flatnonzero((newton != 0) & ~lower)
    for _ in range(HALVINGS):
        if not len(remaining):
            break
        weights.flat[remaining] *= 0.5
        step_losses = losses_of(weights, remaining)
        lower = step_losses <= before.flat[remaining]
        new_losses.flat[remaining[lower]] = step_losses[lower]
        remaining = remaining[~lower]
    weights.flat[remaining] = 0.0
    return weights, new_losses


class PlainLosses:
    """Losses in plain array operations, of `outputs` by candidate and `signs` (bytes) and `margins` by label."""

    def __init__(self, arrays: Arrays, outputs: GpuArray, signs: GpuArray, margins: GpuArray) -> None:
        self._arrays = arrays
        self._outputs, self._signs, self._margins = outputs, signs, margins

    def __call__(self, weights: FloatArray, pairs: IntArray | None) -> FloatArray:
        """Return the losses of all pairs of a candidate and a label, or of some pairs."""
        n_candidates, n_labels = weights.shape
        numbers = np.flatnonzero(weights) if pairs is None else pairs
        losses = np.zeros(weights.size)
        for candidate in range(n_candidates):
            of_candidate = numbers[(numbers >= candidate * n_labels) & (numbers < (candidate + 1) * n_labels)]
            if len(of_candidate):
                labels = of_candidate - candidate * n_labels
                losses[of_candidate] = self._of_labels(candidate, labels, weights[candidate, labels])
        return losses.reshape(weights.shape) if pairs is None else losses[pairs]

    def _of_labels(self, candidate: int, labels: IntArray, weights: FloatArray) -> FloatArray:
        arrays, n_rows = self._arrays, self._outputs.shape[1]
        numbers, factors = arrays.from_host(labels), arrays.from_host(weights)[:, None]
        sums, step = 0.0, max(1, LOSSES_AT_A_TIME // len(labels))
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            signs = arrays.to_double(arrays.take(self._signs[:, start:stop], numbers))
            margins = arrays.take(self._margins[:, start:stop], numbers)
            new_margins = margins + factors * (signs * self._outputs[candidate, start:stop][None, :])
            sums = sums + arrays.sum(arrays.softplus(new_margins), axis=1)
        return arrays.to_host(sums)


class FusedLosses:
    """Losses by fused kernels, through CuPy; parameters as for `PlainLosses`."""

    def __init__(self, arrays: Arrays, outputs: GpuArray, signs: GpuArray, margins: GpuArray) -> None:
        self._cupy = arrays.xp
        self._device = arrays.device
        self._outputs, self._signs, self._margins = outputs, signs, margins

    def __call__(self, weights: FloatArray, pairs: IntArray | None) -> FloatArray:
        """Return the losses of all pairs of a candidate and a label, or of some pairs."""
        with self._device:
            return self._of_all(weights) if pairs is None else self._of_pairs(weights, pairs)

    def _of_all(self, weights: FloatArray) -> FloatArray:
        cupy, (n_candidates, n_labels) = self._cupy, weights.shape
        n_rows = self._outputs.shape[1]
        n_blocks = -(-n_rows // ROWS_OF_BLOCK)
        partial = cupy.empty((n_blocks, n_candidates, n_labels))
        grid = -(-n_candidates // CANDIDATES), -(-n_labels // LABELS), n_blocks
        arguments = (
            self._outputs,
            np.int32(n_candidates),
            self._signs,
            self._margins,
            np.int32(n_labels),
            np.int64(n_rows),
            cupy.asarray(weights),
            partial,
        )
        _kernel("losses_of_all")(grid, (128,), arguments)
        return self._add_blocks(partial, weights.size, n_blocks).reshape(weights.shape)

    def _of_pairs(self, weights: FloatArray, pairs: IntArray) -> FloatArray:
        cupy, n_rows = self._cupy, self._outputs.shape[1]
        n_blocks = -(-n_rows // ROWS_OF_BLOCK)
        partial = cupy.empty((n_blocks, len(pairs)))
        arguments = (
            self._outputs,
            self._signs,
            self._margins,
            np.int32(weights.shape[1]),
            np.int64(n_rows),
            cupy.asarray(weights),
            cupy.asarray(pairs.astype(np.int64)),
            np.int32(len(pairs)),
            partial,
        )
        _kernel("losses_of_pairs")((len(pairs), n_blocks), (128,), arguments)
        return self._add_blocks(partial, len(pairs), n_blocks)

    def _add_blocks(self, partial: GpuArray, width: int, n_blocks: int) -> FloatArray:
        """Return the sums over the blocks of rows, on the host."""
        out = self._cupy.empty(width)
        arguments = partial, np.int64(width), np.int32(n_blocks), out
        _kernel("add_blocks")((-(-width // 256),), (256,), arguments)
        return self._cupy.asnumpy(out)


@cache
def _kernel(name: str) -> Any:
    return import_module("cupy").RawKernel(cuda_source("multilabel.cu"), name, options=("--std=c++14",))
