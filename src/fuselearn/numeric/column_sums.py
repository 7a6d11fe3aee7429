"""Sums over the rows of each column, NaN left out."""

from fuselearn.numeric.compiled import compiled


@compiled()
def add_column_sums(X, centres, counts, sums, squares):
    """Add a block's number of values, Σ (x - centre) and Σ (x - centre)² of each column. Works in place."""
    n_rows, n_columns = X.shape
    for i in range(n_rows):
        for j in range(n_columns):
            x = X[i, j] - centres[j]
            here = x == x
            counts[j] += 1.0 if here else 0.0
            sums[j] += x if here else 0.0
            squares[j] += x * x if here else 0.0
