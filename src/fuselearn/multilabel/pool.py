"""The pool of candidates, and which of them lowers the joint loss most (S2 Alg. 2 steps 2a and 2c).

The decision functions of all labels on the training rows, and their joint loss (S2 equation 1).
"""

from dataclasses import replace

import numpy as np

from fuselearn.numeric.execution import SERIAL
from fuselearn.numeric.logistic import Winner, add_to_margins, least_losses, passes_test, safe_steps
from fuselearn.numeric.weights import TIE

LABELS_AT_A_TIME = 64
"""Labels of one matrix product. A constant: the bits of a product may depend on its shape."""
SLACK = 1e-9
"""Part of the loss by which a bound may be off through rounding."""


class Pool:
    """Candidates, one a slot, with their Newton steps for all labels.

    Products of outputs with residuals and curvatures are kept from round to round: those of a label are taken anew when
    its decision function has changed, those of a slot when its candidate has.

    Parameters
    ----------
    joint : JointLoss
    candidates : list of Candidate
    significance : float
        Of the χ² test; 1 is no test.
    shared : bool
        Whether a candidate may serve labels that it was not learned on. NSBoost says no.
    prune : bool, default=True
        Whether to leave out candidates that a bound shows to lose. The winner is the same.
    """

    def __init__(self, joint, candidates, *, significance, shared, prune=True):
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

    def replace(self, slot, candidate, threads=SERIAL):
        """Put a new candidate in the place of a used one (S2 Alg. 2 step 2c)."""
        self._enter(slot, candidate)
        self._take_products(np.arange(len(self._joint.signs)), slice(slot, slot + 1), threads)

    def is_idle(self, slot):
        """Whether a slot's candidate can serve no label: it would never win, and so never be replaced."""
        return not (self._allowed[slot].any() and self._outputs[slot].any())

    def labels_changed(self, labels, threads=SERIAL):
        """Tell the pool that the decision functions of some labels are others now."""
        self._take_products(labels, slice(None), threads)

    def best(self, threads=SERIAL):
        """The candidate and weights of the least joint loss (S2 Alg. 2 step 2a), or None if none lowers the loss.

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
                break  # so do all that follow
            totals[slot], weights[slot] = self._evaluate(slot, newton[slot], threads)
        self.n_evaluated += len(weights)
        least = totals.min()
        if least >= joint.total - TIE * (1.0 + joint.total):
            return None
        slot = int(np.flatnonzero(totals <= least + TIE * (1.0 + abs(least)))[0])
        return Winner(slot, weights[slot])

    def _evaluate(self, slot, newton, threads):
        """Exact joint loss with a candidate, and the weights that it is given."""
        joint = self._joint
        weights, losses = np.zeros(len(newton)), joint.losses.copy()
        labels = np.flatnonzero(newton)

        def work(start, stop):
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

    def _enter(self, slot, candidate):
        self._outputs[slot] = candidate.outputs
        self.candidates[slot] = replace(candidate, outputs=self._outputs[slot])
        np.square(candidate.outputs, out=self._squares[slot])
        allowed = related(candidate.outputs > 0, self._joint.signs, self._n_positives, self._significance)
        if not self._shared:
            own = np.zeros_like(allowed)
            own[candidate.source_label] = True
            allowed &= own
        self._allowed[slot] = allowed

    def _take_products(self, labels, slots, threads):
        """HᵀZ and (H²)ᵀW of S2 equation 2, block by block of the labels."""
        blocks = np.unique(labels // LABELS_AT_A_TIME)
        outputs, squares = self._outputs[slots], self._squares[slots]

        def work(first, last):
            for block in blocks[first:last]:
                some = slice(block * LABELS_AT_A_TIME, (block + 1) * LABELS_AT_A_TIME)
                self._slopes[slots, some] = outputs @ self._joint.residuals[some].T
                self._curvatures[slots, some] = squares @ self._joint.curvatures[some].T

        # One label changed is common without sharing: its products alone, then.
        if len(labels) == 1:
            [label] = labels
            self._slopes[slots, label] = outputs @ self._joint.residuals[label]
            self._curvatures[slots, label] = squares @ self._joint.curvatures[label]
        else:
            threads.share(len(blocks), work)


def related(positive, signs, n_positives, significance):
    """Which labels a candidate has to do with: the χ² test of its sign against the label (S2 section 6.2).

    Parameters
    ----------
    positive : bool ndarray of shape (n_rows,)
        Whether h > 0.
    signs : int8 ndarray of shape (n_labels, n_rows)
    n_positives : ndarray of shape (n_labels,)
        Number of rows that have each label.
    significance : float
        Of the test, with one degree of freedom and no correction. 1 is no test: all are related.

    Returns
    -------
    bool ndarray of shape (n_labels,)
        False where h has one sign only.
    """
    n_rows = len(positive)
    if significance >= 1:
        return np.ones(len(signs), dtype=bool)
    both = np.count_nonzero((signs > 0) & positive, axis=1)
    return passes_test(float(np.count_nonzero(positive)), both, n_positives, n_rows, significance)


class JointLoss:
    """F_l of every label and row, with what the next Newton step needs of it.

    All arrays are labels × rows, so that what belongs to a label is contiguous.

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
        Of each label, summed over the rows, in natural logarithms.
    n_floored : int64 ndarray of shape (n_labels,)
        Number of rows whose w is the floor.
    """

    def __init__(self, signs):
        self.signs = signs
        self.margins = np.zeros(signs.shape)
        self.residuals = np.empty(signs.shape)
        self.curvatures = np.empty(signs.shape)
        self.losses = np.empty(len(signs))
        self.n_floored = np.empty(len(signs), dtype=np.int64)
        nothing = np.zeros(signs.shape[1])
        self._add(np.arange(len(signs)), np.zeros(len(signs)), nothing, SERIAL)

    @property
    def total(self):
        """The joint loss."""
        return float(self.losses.sum())

    def add(self, weights, outputs, threads=SERIAL):
        """F_l ← F_l + α_l·h for every label l (S2 Alg. 2 step 2b); returns the labels whose F changed."""
        changed = np.flatnonzero(weights)
        self._add(changed, weights, outputs, threads)
        return changed

    def _add(self, labels, weights, outputs, threads):
        def work(start, stop):
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
