"""Kernels of views, placed on what a machine is trained on.

A machine is trained on *items*: rows of a table (matched views), meta-objects (unmatched ones), or single observations
of single views (the augmented kernel). An item has an object in some views and none in others, and the kernel between
two items is the weighted sum of their objects' kernels over the views that both have. This is all that the three
classifiers differ in.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from fuselearn.kernels.composition import sum_over_views


@dataclass(frozen=True)
class PlacedKernels:
    """Kernel matrices between the objects of each view, and the object of each item in each view.

    Attributes
    ----------
    grams : list of ndarray of shape (n_objects of the view, n_objects of the view)
    places : intp ndarray of shape (n_items, n_views)
        Number of the item's object in each view, -1 where it has none.
    """

    grams: list
    places: np.ndarray

    def __len__(self):
        """Number of items."""
        return len(self.places)

    @property
    def complete(self):
        """Whether every item has an object in every view."""
        return bool((self.places >= 0).all())

    def combined(self, weights):
        """Kernel between items under weights of the views, of shape (n_items, n_items)."""
        if self.complete:
            return sum_over_views(self.grams, [(column, column) for column in self.places.T], weights)
        total = np.zeros((len(self), len(self)))
        for gram, column, weight in zip(self.grams, self.places.T, weights):
            here = np.flatnonzero(column >= 0)
            total[np.ix_(here, here)] += weight * gram[np.ix_(column[here], column[here])]
        return total

    def one_view(self, view):
        """Kernel between items by one view alone."""
        return self.combined(np.eye(len(self.grams))[view])

    def on_objects(self, coefficients):
        """Coefficients of items summed up on the objects of each view.

        Parameters
        ----------
        coefficients : sparse array of shape (n_problems, n_items)

        Returns
        -------
        list of ndarray of shape (n_problems, n_objects of the view)
        """
        sums = []
        for gram, column in zip(self.grams, self.places.T):
            items = np.flatnonzero(column >= 0)
            held = csr_array((np.ones(len(items)), (items, column[items])), shape=(len(column), len(gram)))
            sums.append((coefficients @ held).toarray())
        return sums

    def squared_norms(self, coefficients):
        """Σ over problems of cᵀ K_m c for each view m, from coefficients of items."""
        return np.array(
            [np.einsum("ki,ki->", sums @ gram, sums) for gram, sums in zip(self.grams, self.on_objects(coefficients))]
        )
