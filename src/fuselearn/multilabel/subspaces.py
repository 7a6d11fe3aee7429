"""The columns of a base model, as dense rows, whatever the table is."""

import numpy as np
from scipy.sparse import issparse

CHUNK_ROWS = 4096
"""Rows of a subspace that are made dense together."""


class SubspaceTable:
    """A table of which base models read some columns each.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_rows, n_features)
        A sparse table is never made dense as a whole.
    """

    def __init__(self, X):
        self.is_sparse = issparse(X)
        self._X = X.tocsc() if self.is_sparse else X

    def __len__(self):
        return self._X.shape[0]

    @property
    def n_chunks(self):
        return -(-len(self) // CHUNK_ROWS)

    def sample(self, rows, columns):
        """Some rows of some columns, as an array of shape (n_rows, n_columns)."""
        if self.is_sparse:
            return self._X[:, columns].tocsr()[rows].toarray()
        return self._X[np.ix_(rows, columns)]

    def columns(self, columns, *, sparse=False):
        """All rows of some columns, as an array; a sparse table leaves them so if `sparse`."""
        if not self.is_sparse:
            return np.take(self._X, columns, axis=1)
        return self._X[:, columns].tocsr() if sparse else self._X[:, columns].toarray()

    def chunks(self, columns, *, sparse=False):
        """A function of a chunk's number that gives (slice of rows, those rows of the columns); `sparse` as above."""
        table = self._X[:, columns].tocsr() if self.is_sparse else self._X

        def chunk(number):
            rows = _rows_of(number, len(self))
            if not self.is_sparse:
                return rows, np.take(table[rows], columns, axis=1)
            return rows, table[rows] if sparse else table[rows].toarray()

        return chunk

    def chunk_tables(self):
        """A function of a chunk's number that gives (slice of rows, table of those rows)."""
        table = self._X.tocsr() if self.is_sparse else self._X

        def chunk(number):
            rows = _rows_of(number, len(self))
            return rows, SubspaceTable(table[rows])

        return chunk

    def rows(self, rows):
        """The table of some rows."""
        return SubspaceTable(self._X[rows])


def _rows_of(number, n_rows):
    return slice(number * CHUNK_ROWS, min((number + 1) * CHUNK_ROWS, n_rows))
