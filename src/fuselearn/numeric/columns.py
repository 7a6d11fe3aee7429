"""Look at the columns of a block of rows, and standardise them."""

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


@compiled()
def standardise_columns(X, means, scales, columns):
    """columns[j, i] = (X[i, j] - mean) / scale; returns whether some value is NaN."""
    n_rows, n_columns = X.shape
    gaps = False
    for j in range(n_columns):
        column = columns[j]
        mean, scale = means[j], scales[j]
        for i in range(n_rows):
            x = (X[i, j] - mean) / scale
            column[i] = x
            gaps |= x != x
    return gaps
