"""The pool of candidates with outputs, margins and losses on a device.

Base models are learned on the host. What grows with candidates × labels × rows, the Newton steps and the exact joint
loss of every candidate, is computed on the device, in double precision, so that the model is that of the host but for
the order of additions.

The exact loss of every candidate and label on a device; see `fuselearn.numeric.logistic.safe_steps`.
"""

from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np

from fuselearn.backends.gpu.arrays import on_its_device
from fuselearn.backends.gpu.fused import fused
from fuselearn.backends.gpu.multilabel_source import CANDIDATES, LABELS, ROWS_OF_BLOCK, SOURCE
from fuselearn.numeric.execution import SERIAL
from fuselearn.numeric.logistic import FLOOR, HALVINGS, Winner, passes_test
from fuselearn.numeric.weights import TIE

VALUES_AT_A_TIME = 2**24
"""Values of a label-by-row or candidate-by-row array that one step makes a copy of."""


class DeviceJointLoss:
    """`JointLoss` with its arrays on a device.

    Parameters
    ----------
    signs : int8 ndarray of shape (n_labels, n_rows)
    arrays : Arrays
        Of the library and the device to use.
    use_fused : bool, default=True
        Whether to use fused kernels where they can be.

    Attributes
    ----------
    signs : int8 ndarray of shape (n_labels, n_rows)
        On the host.
    device_signs, margins, residuals, curvatures : array of shape (n_labels, n_rows)
        On the device.
    losses : ndarray of shape (n_labels,)
    """

    def __init__(self, signs, arrays, *, use_fused=True):
        kernels = fused(arrays) if use_fused else None
        self.arrays = arrays = arrays if kernels is None else kernels.arrays(arrays)
        self.losses_of = PlainLosses if kernels is None else FusedLosses
        self.signs = signs
        self.device_signs = arrays.from_host(signs)
        self.margins, self.residuals, self.curvatures = (arrays.full(signs.shape, 0.0) for _ in range(3))
        self.losses = np.empty(len(signs))
        self.add(np.zeros(len(signs)), np.zeros(signs.shape[1]))

    @property
    def total(self):
        """The joint loss."""
        return float(self.losses.sum())

    @on_its_device
    def add(self, weights, outputs, threads=SERIAL):
        """F_l ← F_l + α_l·h for every label l (S2 Alg. 2 step 2b); returns the labels whose F changed."""
        arrays, xp = self.arrays, self.arrays.xp
        outputs = arrays.from_host(outputs)[None, :]
        n_labels, n_rows = self.signs.shape
        losses, step = [], max(1, VALUES_AT_A_TIME // n_rows)
        for start in range(0, n_labels, step):
            stop = min(start + step, n_labels)
            signs = arrays.double(self.device_signs[start:stop, :])
            m = self.margins[start:stop, :] + arrays.from_host(weights[start:stop])[:, None] * (signs * outputs)
            e = xp.exp(-xp.abs(m))
            share = 1.0 / (1.0 + e)  # of the likelier side
            self.margins[start:stop, :] = m
            self.residuals[start:stop, :] = signs * arrays.where(m >= 0.0, e * share, share)
            self.curvatures[start:stop, :] = arrays.at_least(e * share * share, FLOOR)
            losses.append(arrays.total(arrays.softplus(m), axis=1))
        self.losses = arrays.to_host(arrays.joined(losses))
        return np.flatnonzero(weights)


class DevicePool:
    """`Pool` with its arrays on a device. All candidates are evaluated: no bound leaves any out.

    Parameters
    ----------
    joint : DeviceJointLoss
    candidates, significance, shared
        As for `Pool`.
    """

    def __init__(self, joint, candidates, *, significance, shared):
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

    @on_its_device
    def replace(self, slot, candidate, threads=SERIAL):
        """Put a new candidate in the place of a used one (S2 Alg. 2 step 2c)."""
        self._enter(slot, candidate)
        self._take_products(slice(slot, slot + 1), np.arange(len(self._joint.signs)))

    def is_idle(self, slot):
        """Whether a slot's candidate can serve no label: it would never win, and so never be replaced."""
        return bool(self._idle[slot])

    @on_its_device
    def labels_changed(self, labels, threads=SERIAL):
        """Tell the pool that the decision functions of some labels are others now."""
        if len(labels):
            self._take_products(slice(0, len(self.candidates)), labels)

    def best(self, threads=SERIAL):
        """The candidate and weights of the least joint loss (S2 Alg. 2 step 2a), or None if none lowers the loss.

        Ties go to the lowest slot; a loss that ties with the present one is not lower.
        """
        joint = self._joint
        weights, losses = self.evaluated()
        self.n_evaluated += len(weights)
        totals = losses.sum(axis=1)
        least = totals.min()
        if least >= joint.total - TIE * (1.0 + joint.total):
            return None
        slot = int(np.flatnonzero(totals <= least + TIE * (1.0 + abs(least)))[0])
        return Winner(slot, weights[slot])

    @on_its_device
    def evaluated(self):
        """Weights that all labels give all candidates, and their exact losses; of shape (n_slots, n_labels) each."""
        joint = self._joint
        newton = np.zeros_like(self._slopes)
        np.divide(self._slopes, self._curvatures, out=newton, where=self._allowed & (self._curvatures > 0))
        losses_of = joint.losses_of(joint.arrays, self._outputs, joint.device_signs, joint.margins)
        return safe_steps_of_all(losses_of, newton, joint.losses)

    def _enter(self, slot, candidate):
        arrays, joint = self.arrays, self._joint
        self._outputs[slot, :] = arrays.from_host(candidate.outputs)
        self.candidates[slot] = replace(candidate)
        allowed = np.ones(len(joint.signs), dtype=bool)
        if self._significance < 1:
            # Σ over the rows with h > 0 of y = ±1 is twice the number that have the label, less their number.
            positive = candidate.outputs > 0
            n_out = float(np.count_nonzero(positive))
            sums = self._products(arrays.from_host(positive.astype(np.float64))[None, :], joint.device_signs)[0]
            both = (sums + n_out) / 2
            allowed = passes_test(n_out, both, self._n_positives, len(positive), self._significance)
        if not self._shared:
            own = np.zeros_like(allowed)
            own[candidate.source_label] = True
            allowed &= own
        self._allowed[slot] = allowed
        self._idle[slot] = not (allowed.any() and candidate.outputs.any())

    def _take_products(self, slots, labels):
        """HᵀZ and (H²)ᵀW of S2 equation 2, for some slots and labels."""
        outputs = self._outputs[slots, :]
        self._slopes[slots, labels] = self._products(outputs, self._joint.residuals, labels)
        self._curvatures[slots, labels] = self._products(outputs, self._joint.curvatures, labels, squared=True)

    def _products(self, outputs, others, labels=None, *, squared=False):
        """Products of candidates' rows with labels' rows, a block of rows at a time; on the host."""
        arrays = self.arrays
        n_rows = outputs.shape[1]
        some_labels = labels is not None and len(labels) < others.shape[0]
        numbers = arrays.from_host(labels) if some_labels else None
        step = max(1, VALUES_AT_A_TIME // max(outputs.shape[0], others.shape[0]))
        sums = 0.0
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            some = outputs[:, start:stop]
            right = others[:, start:stop]
            right = arrays.transposed(arrays.double(arrays.take(right, numbers) if some_labels else right))
            sums = sums + arrays.matmul(some * some if squared else some, right)
        return arrays.to_host(sums)


LOSSES_AT_A_TIME = 2**24
"""Margins that plain operations look at at a time."""


def safe_steps_of_all(losses_of, newton, losses):
    """The weight that each label gives each candidate, and its exact loss with it.

    A Newton step whose loss is above that of weight 0 is halved up to five times, then 0.

    Parameters
    ----------
    losses_of : callable
        Takes weights of shape (n_candidates, n_labels) and either None or the numbers of some pairs of a candidate and
        a label in it, and returns the losses of all pairs in that shape, or of those pairs. Those of weight 0 may be
        anything.
    newton : ndarray of shape (n_candidates, n_labels)
        Newton steps; 0 where a candidate may not serve a label.
    losses : ndarray of shape (n_labels,)
        Of weight 0.

    Returns
    -------
    weights, new_losses : ndarray of shape (n_candidates, n_labels)
    """
    weights = newton.copy()
    new_losses = np.broadcast_to(losses, newton.shape).copy()
    before = new_losses.copy()
    if not newton.any():
        return weights, new_losses
    found = losses_of(weights, None)
    lower = (newton != 0) & (found <= before)
    new_losses[lower] = found[lower]
    left = np.flatnonzero((newton != 0) & ~lower)
    for _ in range(HALVINGS):
        if not len(left):
            break
        weights.flat[left] *= 0.5
        found = losses_of(weights, left)
        lower = found <= before.flat[left]
        new_losses.flat[left[lower]] = found[lower]
        left = left[~lower]
    weights.flat[left] = 0.0
    return weights, new_losses


class PlainLosses:
    """Losses in plain array operations.

    Parameters
    ----------
    arrays : Arrays
    outputs : array of shape (n_candidates, n_rows)
    signs, margins : array of shape (n_labels, n_rows)
        Of the device; `signs` as bytes.
    """

    def __init__(self, arrays, outputs, signs, margins):
        self._arrays = arrays
        self._outputs, self._signs, self._margins = outputs, signs, margins

    def __call__(self, weights, pairs):
        n_candidates, n_labels = weights.shape
        numbers = np.flatnonzero(weights) if pairs is None else pairs
        found = np.zeros(weights.size)
        for candidate in range(n_candidates):
            own = numbers[(numbers >= candidate * n_labels) & (numbers < (candidate + 1) * n_labels)]
            if len(own):
                labels = own - candidate * n_labels
                found[own] = self._of_labels(candidate, labels, weights[candidate, labels])
        return found.reshape(weights.shape) if pairs is None else found[pairs]

    def _of_labels(self, candidate, labels, weights):
        arrays, n_rows = self._arrays, self._outputs.shape[1]
        numbers, factors = arrays.from_host(labels), arrays.from_host(weights)[:, None]
        sums, step = 0.0, max(1, LOSSES_AT_A_TIME // len(labels))
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            signs = arrays.double(arrays.take(self._signs[:, start:stop], numbers))
            margins = arrays.take(self._margins[:, start:stop], numbers)
            ahead = margins + factors * (signs * self._outputs[candidate, start:stop][None, :])
            sums = sums + arrays.total(arrays.softplus(ahead), axis=1)
        return arrays.to_host(sums)


class FusedLosses:
    """Losses by fused kernels, through CuPy; parameters as for `PlainLosses`."""

    def __init__(self, arrays, outputs, signs, margins):
        self._cupy = arrays.xp
        self._device = arrays.device
        self._outputs, self._signs, self._margins = outputs, signs, margins

    def __call__(self, weights, pairs):
        with self._device:
            return self._of_all(weights) if pairs is None else self._of_pairs(weights, pairs)

    def _of_all(self, weights):
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
        return self._added(partial, weights.size, n_blocks).reshape(weights.shape)

    def _of_pairs(self, weights, pairs):
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
        return self._added(partial, len(pairs), n_blocks)

    def _added(self, partial, width, n_blocks):
        out = self._cupy.empty(width)
        arguments = partial, np.int64(width), np.int32(n_blocks), out
        _kernel("add_blocks")((-(-width // 256),), (256,), arguments)
        return self._cupy.asnumpy(out)


@cache
def _kernel(name):
    return import_module("cupy").RawKernel(SOURCE, name, options=("--std=c++14",))
