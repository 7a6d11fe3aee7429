"""The decision functions of all labels on the training rows, and their joint loss (S2 equation 1)."""

import numpy as np

from fuselearn.numeric.logistic import add_to_margins
from fuselearn.numeric.threads import SERIAL


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
