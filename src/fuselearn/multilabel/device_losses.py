"""The exact loss of every candidate and label on a device; see `fuselearn.numeric.logistic.safe_steps`."""

from functools import cache
from importlib import import_module

import numpy as np

from fuselearn.multilabel.device_source import CANDIDATES, LABELS, ROWS_OF_BLOCK, SOURCE
from fuselearn.numeric.logistic import HALVINGS

VALUES_AT_A_TIME = 2**24
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
        sums, step = 0.0, max(1, VALUES_AT_A_TIME // len(labels))
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
