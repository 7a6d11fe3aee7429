"""The pool of candidates, and the joint loss that a round lowers as much as it can (S2 equation 1, Alg. 2 step 2)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit

from fuselearn.multilabel.subspace_models import Candidate
from fuselearn.numeric.logistic import FLOOR, HALVINGS, Winner, add_to_margins, least_losses, passes_test, safe_steps
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.votes import TIE
from fuselearn.typing import BoolArray, FloatArray, IntArray

LABELS_AT_A_TIME = 64
"""Labels of one matrix product. A constant: the bits of a product may depend on its shape."""
LEAST_POOL = 39
"""Least number of candidates by default, that of S2's TREC collection: six labels would leave little to choose from."""
SLACK = 1e-9
"""Part of the loss by which a bound may be off through rounding."""


class JointLoss:
    """F_l of every label and row, and the terms of the next Newton step.

    All arrays are labels × rows, so that the values of a label are contiguous.

    Parameters
    ----------
    signs : int8 ndarray of shape (n_labels, n_rows)
        Whether a row has a label: +1 or -1.

    Attributes
    ----------
    signs : int8 ndarray of shape (n_labels, n_rows)
    margins : ndarray of shape (n_labels, n_rows)
        y·F.
    residuals, curvatures : ndarray of shape (n_labels, n_rows)
        z and w of S2 equation 2, w with its floor.
    losses : ndarray of shape (n_labels,)
        Loss of each label, summed over the rows, in natural logarithms.
    n_floored : int64 ndarray of shape (n_labels,)
        Number of rows whose w is the floor.
    """

    def __init__(self, signs: IntArray) -> None:
        self.signs = signs
        self.margins = np.zeros(signs.shape)
        self.residuals = np.empty(signs.shape)
        self.curvatures = np.empty(signs.shape)
        self.losses = np.empty(len(signs))
        self.n_floored = np.empty(len(signs), dtype=np.int64)
        no_outputs = np.zeros(signs.shape[1])
        self._add(np.arange(len(signs)), np.zeros(len(signs)), no_outputs, SERIAL)

    @property
    def total(self) -> float:
        """The joint loss."""
        return float(self.losses.sum())

    def host_margins(self) -> FloatArray:
        """Return the margins as an array of NumPy."""
        return self.margins

    def add(self, weights: FloatArray, outputs: FloatArray, threads: Threads = SERIAL) -> IntArray:
        """Set F_l ← F_l + α_l·h for every label l (S2 Alg. 2 step 2b); return the labels whose F changed.

        Intercepts are the weights of outputs of 1.
        """
        changed = np.flatnonzero(weights)
        self._add(changed, weights, outputs, threads)
        return changed

    def _add(self, labels: IntArray, weights: FloatArray, outputs: FloatArray, threads: Threads) -> None:
        """Add weighted outputs to the decision functions of labels, and update the terms of their Newton steps."""

        def work(start: int, stop: int) -> None:
            add_to_margins(
                labels[start:stop],
                weights,
                outputs,
                self.signs,
                self.margins,
                self.residuals,
                self.curvatures,
                self.losses,
                self.n_floored,
            )

        threads.share(len(labels), work)


class Pool:
    """Candidates, one a slot, with their Newton steps for all labels.

    Products of outputs with residuals and curvatures are kept from round to round: those of a label are computed anew
    when its decision function has changed, those of a slot when its candidate has.

    Parameters
    ----------
    joint : JointLoss
    candidates : list of Candidate
    significance : float
        Of the χ² test; 1 is no test.
    shared : bool
        Whether a candidate may serve labels that it was not learned on; False for NSBoost.
    prune : bool, default=True
        Whether to leave out candidates that a bound shows to lose. The winner is the same.
    """

    def __init__(
        self,
        joint: JointLoss,
        candidates: Sequence[Candidate],
        *,
        significance: float,
        shared: bool,
        prune: bool = True,
    ) -> None:
        n_slots, n_labels = len(candidates), len(joint.signs)
        self.candidates = list(candidates)
        self.n_evaluated = 0
        self._joint = joint
        self._significance = significance
        self._shared = shared
        self._prune = prune
        self._outputs = np.empty((n_slots, joint.signs.shape[1]))
        self._squares = np.empty_like(self._outputs)
        self._allowed = np.zeros((n_slots, n_labels), dtype=bool)
        self._slopes = np.empty((n_slots, n_labels))
        self._curvatures = np.empty((n_slots, n_labels))
        self._n_positives = np.count_nonzero(joint.signs > 0, axis=1).astype(np.float64)
        for slot, candidate in enumerate(candidates):
            self._enter(slot, candidate)
        self.labels_changed(np.arange(n_labels))

    def replace(self, slot: int, candidate: Candidate, threads: Threads = SERIAL) -> None:
        """Put a new candidate in the place of a used one (S2 Alg. 2 step 2c)."""
        self._enter(slot, candidate)
        self._compute_products(np.arange(len(self._joint.signs)), slice(slot, slot + 1), threads)

    def is_idle(self, slot: int) -> bool:
        """Return whether a slot's candidate can serve no label: it would never win, and so never be replaced."""
        return not (self._allowed[slot].any() and self._outputs[slot].any())

    def labels_changed(self, labels: IntArray, threads: Threads = SERIAL) -> None:
        """Update the products of labels whose decision functions have changed."""
        self._compute_products(labels, slice(None), threads)

    def best(self, threads: Threads = SERIAL) -> Winner | None:
        """Return the candidate and weights of the least joint loss (S2 Alg. 2 step 2a), or None if none lowers it.

        Ties go to the lowest slot; a loss that ties with the present one is not lower.
        """
        joint = self._joint
        newton = np.zeros_like(self._slopes)
        np.divide(self._slopes, self._curvatures, out=newton, where=self._allowed & (self._curvatures > 0))
        bounds = np.full(len(newton), -np.inf)
        if self._prune:
            bounds = least_losses(newton, self._slopes, self._curvatures, joint.n_floored, joint.losses).sum(axis=1)
            bounds -= SLACK * (1.0 + joint.total)
        totals = np.full(len(newton), np.inf)
        weights = {}
        for slot in np.argsort(bounds, kind="stable"):
            least = totals.min()
            if bounds[slot] > least + TIE * (1.0 + abs(least)):
                break  # so are all that follow
            totals[slot], weights[slot] = self._evaluate(slot, newton[slot], threads)
        self.n_evaluated += len(weights)
        least = totals.min()
        if least >= joint.total - TIE * (1.0 + joint.total):
            return None
        slot = int(np.flatnonzero(totals <= least + TIE * (1.0 + abs(least)))[0])
        return Winner(slot, weights[slot])

    def _evaluate(self, slot: int, newton: FloatArray, threads: Threads) -> tuple[float, FloatArray]:
        """Return the exact joint loss with a candidate, and the weights that it is given."""
        joint = self._joint
        weights, losses = np.zeros(len(newton)), joint.losses.copy()
        labels = np.flatnonzero(newton)

        def work(start: int, stop: int) -> None:
            safe_steps(
                labels[start:stop],
                newton,
                self._outputs[slot],
                joint.signs,
                joint.margins,
                joint.losses,
                weights,
                losses,
            )

        threads.share(len(labels), work)
        return losses.sum(), weights

    def _enter(self, slot: int, candidate: Candidate) -> None:
        """Put a candidate into a slot, and test which labels it may serve."""
        self._outputs[slot] = candidate.outputs
        self.candidates[slot] = replace(candidate, outputs=self._outputs[slot])
        np.square(candidate.outputs, out=self._squares[slot])
        allowed = related(candidate.outputs > 0, self._joint.signs, self._n_positives, self._significance)
        if not self._shared:
            allowed &= np.arange(len(allowed)) == candidate.source_label
        self._allowed[slot] = allowed

    def _compute_products(self, labels: IntArray, slots: slice, threads: Threads) -> None:
        """Compute HᵀZ and (H²)ᵀW of S2 equation 2, block by block of the labels."""
        blocks = np.unique(labels // LABELS_AT_A_TIME)
        outputs, squares = self._outputs[slots], self._squares[slots]

        def work(first: int, last: int) -> None:
            for block in blocks[first:last]:
                here = slice(block * LABELS_AT_A_TIME, (block + 1) * LABELS_AT_A_TIME)
                self._slopes[slots, here] = outputs @ self._joint.residuals[here].T
                self._curvatures[slots, here] = squares @ self._joint.curvatures[here].T

        # A single changed label is common without sharing: its products alone, then.
        if len(labels) == 1:
            [label] = labels
            self._slopes[slots, label] = outputs @ self._joint.residuals[label]
            self._curvatures[slots, label] = squares @ self._joint.curvatures[label]
        else:
            threads.share(len(blocks), work)


def further_steps(
    weights: FloatArray, outputs: FloatArray, signs: IntArray, margins: FloatArray, n_steps: int
) -> FloatArray:
    """Return the weights of a model after further Newton steps of each label that has one (S2 section 4.2).

    Each step is that of S2 equation 2, taken at the weight so far, and halved up to five times where it raises the
    loss. Labels without a weight stay without. `margins` are those without the model.
    """
    weights = weights.copy()
    for label in np.flatnonzero(weights):
        moves, margin, weight = signs[label] * outputs, margins[label], weights[label]
        loss = np.logaddexp(0.0, -(margin + weight * moves)).sum()
        for _ in range(n_steps):
            share = expit(-(margin + weight * moves))
            step = (share @ moves) / (np.maximum(share * (1.0 - share), FLOOR) @ moves**2)
            for _ in range(HALVINGS + 1):
                new_loss = np.logaddexp(0.0, -(margin + (weight + step) * moves)).sum()
                if new_loss <= loss:
                    weight, loss = weight + step, new_loss
                    break
                step *= 0.5
        weights[label] = weight
    return weights


def number_of_candidates(pool_size: int | None, n_labels: int, *, default_model: bool) -> int:
    """Return the size of the pool: as given, or S2's, one a label, of which our default base model has more."""
    if pool_size is not None:
        return int(pool_size)
    return max(n_labels, LEAST_POOL) if default_model else n_labels


def log_odds(signs: IntArray) -> FloatArray:
    """Return the constant F of least loss for each label: ln(n₊ / n₋)."""
    n_positives = np.count_nonzero(signs > 0, axis=1)
    return np.log(n_positives) - np.log(signs.shape[1] - n_positives)


def related(positive: BoolArray, signs: IntArray, n_positives: FloatArray, significance: float) -> BoolArray:
    """Test by χ² whether a candidate's sign is related to each label (S2 section 6.2), of shape (n_labels,).

    The test of h > 0 (`positive`) has one degree of freedom and no correction. A significance of 1 is no test: all
    are related. Otherwise none is where h has one sign only.
    """
    n_rows = len(positive)
    if significance >= 1:
        return np.ones(len(signs), dtype=bool)
    both = np.count_nonzero((signs > 0) & positive, axis=1)
    return passes_test(float(np.count_nonzero(positive)), both, n_positives, n_rows, significance)
