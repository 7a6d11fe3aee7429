"""Weighted moments per class, and the quadratic scores that Gaussian naive Bayes makes of them.

Moments are all that Gaussian naive Bayes needs of the rows. Its prediction, like that of linear classifiers, is the
class with the largest quadratic score. The score of a class is s(x) = c + Σ_j x_j·(b_j + x_j·a_j): for naive Bayes its
log-posterior, up to a term common to all classes.
"""

import numpy as np

from fuselearn.numeric.execution import BLOCK_ROWS, compiled, n_blocks
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.numeric.votes import TIE
from fuselearn.typing import FloatArray, IntArray


def weighted_moments(
    values: FloatArray,
    n_columns: int,
    codes: IntArray,
    weights: FloatArray,
    n_classes: int,
    *,
    gaps: bool,
    threads: Threads = SERIAL,
) -> FloatArray:
    """Return the sums of w, w·x and w·x² per class and column.

    Parameters
    ----------
    values : ndarray of shape (n_rows * n_columns,)
        Rows in blocks of `BLOCK_ROWS`, and within a block column after column.
    n_columns : int
    codes : int32 ndarray of shape (n_rows,)
        Class of each row, 0 to `n_classes` - 1. Rows that are sorted by class are quickest, since a block is read
        once for each class in it.
    weights : ndarray of shape (n_rows,)
    n_classes : int
    gaps : bool
        Whether some value may be NaN. A NaN is left out of its column's sums.

    Returns
    -------
    ndarray of shape (n_classes, 1 + 3 * n_columns)
        Class weight, then per column the weight of the observed values, Σ w·x and Σ w·x².
    """
    # With many classes several blocks share a partial sum, so that these stay a small part of the values.
    group_blocks = max(1, 32 * n_classes // BLOCK_ROWS)
    n_groups = -(-n_blocks(len(codes)) // group_blocks)
    partial = np.zeros((n_groups, n_classes, 1 + 3 * n_columns))

    def work(start: int, stop: int) -> None:
        _moments(values, n_columns, codes, weights, gaps, BLOCK_ROWS, group_blocks, start, stop, partial)

    threads.share(n_groups, work)
    return partial.sum(axis=0)


@compiled(reassociate=True)
def _moments(
    values: FloatArray,
    n_columns: int,
    codes: IntArray,
    weights: FloatArray,
    gaps: bool,
    block_rows: int,
    group_blocks: int,
    first_group: int,
    last_group: int,
    partial: FloatArray,
) -> None:
    n_rows = len(codes)
    class_weights = np.empty(block_rows)
    for group in range(first_group, last_group):
        group_stop = min(n_rows, (group + 1) * group_blocks * block_rows)
        for start in range(group * group_blocks * block_rows, group_stop, block_rows):
            m = min(block_rows, n_rows - start)
            block_codes, block_weights = codes[start : start + m], weights[start : start + m]
            lowest, highest = block_codes[0], block_codes[0]
            for i in range(m):
                lowest = min(lowest, block_codes[i])
                highest = max(highest, block_codes[i])
            for k in range(lowest, highest + 1):
                total = 0.0
                for i in range(m):
                    w = block_weights[i] if block_codes[i] == k else 0.0
                    class_weights[i] = w
                    total += w
                sums = partial[group, k]
                sums[0] += total
                for j in range(n_columns):
                    column = values[start * n_columns + j * m : start * n_columns + (j + 1) * m]
                    observed, first, second = 0.0, 0.0, 0.0
                    if gaps:
                        for i in range(m):
                            here = column[i] == column[i]
                            x = column[i] if here else 0.0
                            w = class_weights[i] if here else 0.0
                            observed += w
                            first += w * x
                            second += w * x * x
                    else:
                        observed = total
                        for i in range(m):
                            wx = class_weights[i] * column[i]
                            first += wx
                            second += wx * column[i]
                    sums[1 + j] += observed
                    sums[1 + n_columns + j] += first
                    sums[1 + 2 * n_columns + j] += second


@compiled()
def add_column_sums(
    X: FloatArray, centres: FloatArray, counts: FloatArray, sums: FloatArray, squares: FloatArray
) -> None:
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
def standardise_columns(X: FloatArray, means: FloatArray, scales: FloatArray, columns: FloatArray) -> bool:
    """Set columns[j, i] = (X[i, j] - mean) / scale; return whether some value is NaN."""
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


def class_forms(
    moments: FloatArray, smoothing: FloatArray, least_variance: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return quadratic forms whose values are the log-posteriors of the classes, up to a term common to all.

    Parameters
    ----------
    moments : ndarray of shape (n_classes, 1 + 3 * n_columns)
        As `weighted_moments` returns them.
    smoothing : ndarray of shape (n_columns,)
        Added to the variances of each column.
    least_variance : float

    Returns
    -------
    squares, slopes, column_constants : ndarray of shape (n_classes, n_columns)
    log_priors : ndarray of shape (n_classes,)
        For two classes these are the one difference of class 1 and class 0. A class without weight has a log-prior of
        -inf. A column that some class with weight was never observed in takes no part.
    """
    n_classes, n_columns = len(moments), len(smoothing)
    # A slice of moments would be an array of another layout, for which the loop would be compiled again.
    moments = np.ascontiguousarray(moments)
    squares, slopes, constants = np.zeros((3, n_classes, n_columns))
    log_priors = np.full(n_classes, -np.inf)
    n_seen = _fill_forms(moments, smoothing, least_variance, squares, slopes, constants, log_priors)
    if n_classes != 2:
        return squares, slopes, constants, log_priors
    if n_seen < 2:  # one class alone: its prior decides, and no column says anything
        nothing = np.zeros((1, n_columns))
        return nothing, nothing, nothing, log_priors[1:] - log_priors[:1]
    squares, slopes, constants = squares[1:] - squares[:1], slopes[1:] - slopes[:1], constants[1:] - constants[:1]
    return squares, slopes, constants, log_priors[1:] - log_priors[:1]


@compiled()
def _fill_forms(
    moments: FloatArray,
    smoothing: FloatArray,
    least_variance: float,
    squares: FloatArray,
    slopes: FloatArray,
    constants: FloatArray,
    log_priors: FloatArray,
) -> int:
    n_classes, n_columns = squares.shape
    total, n_seen = 0.0, 0
    for k in range(n_classes):
        total += moments[k, 0]
    for k in range(n_classes):
        if moments[k, 0] > 0.0:
            n_seen += 1
            log_priors[k] = np.log(moments[k, 0] / total)
    for j in range(n_columns):
        n_observed = 0
        for k in range(n_classes):
            if moments[k, 0] > 0.0 and moments[k, 1 + j] > 0.0:
                n_observed += 1
        if n_observed < n_seen:
            continue
        for k in range(n_classes):
            if moments[k, 0] > 0.0:
                observed = moments[k, 1 + j]
                mean = moments[k, 1 + n_columns + j] / observed
                raw = moments[k, 1 + 2 * n_columns + j] / observed
                spread = raw - mean * mean
                # Of a column that is constant in the class only rounding is left, which even far below the smoothing
                # would tell apart classes that are equally far: such log-posteriors are as large as 1e9.
                variance = (spread if spread > 1e-13 * raw else 0.0) + smoothing[j]
                variance = max(variance, least_variance)
                squares[k, j] = -0.5 / variance
                slopes[k, j] = mean / variance
                constants[k, j] = -0.5 * (np.log(variance) + mean * mean / variance)
    return n_seen


def largest_quadratic(
    values: FloatArray,
    n_rows: int,
    squares: FloatArray,
    slopes: FloatArray,
    column_constants: FloatArray,
    constants: FloatArray,
    *,
    gaps: bool,
    threads: Threads = SERIAL,
) -> IntArray:
    """Return the code of the class with the largest score in each row; ties, to rounding, go to the lowest code.

    Parameters
    ----------
    values : ndarray of shape (n_rows * n_columns,)
        Rows in blocks of `BLOCK_ROWS`, and within a block column after column.
    n_rows : int
    squares, slopes, column_constants : ndarray of shape (n_forms, n_columns)
        a, b and each column's share of the constant. One form alone is the score of class 1 against class 0.
    constants : ndarray of shape (n_forms,)
        What remains of the constant, such as the log-priors.
    gaps : bool
        Whether some value may be NaN; its column's whole term is then left out.
    """
    codes = np.empty(n_rows, dtype=np.int32)
    # Copies have one layout, so the loop is compiled once, whatever the forms are slices of.
    a, b, shares, rest = (np.array(part, order="C") for part in (squares, slopes, column_constants, constants))

    def work(start: int, stop: int) -> None:
        _largest(values, a, b, shares, rest, gaps, TIE, BLOCK_ROWS, start, stop, codes)

    threads.share(n_blocks(n_rows), work)
    return codes


@compiled(reassociate=True)
def _largest(
    values: FloatArray,
    squares: FloatArray,
    slopes: FloatArray,
    column_constants: FloatArray,
    constants: FloatArray,
    gaps: bool,
    tie: float,
    block_rows: int,
    first_block: int,
    last_block: int,
    codes: IntArray,
) -> None:
    n_rows = len(codes)
    n_forms, n_columns = slopes.shape
    scores = np.empty((n_forms, block_rows))
    # From the end: the last blocks may still be in the cache from the pass that fitted the forms.
    for block in range(last_block - 1, first_block - 1, -1):
        start = block * block_rows
        m = min(block_rows, n_rows - start)
        for k in range(n_forms):
            # Without gaps every row has every column's constant.
            constant = constants[k]
            if not gaps:
                of_columns = 0.0
                for j in range(n_columns):
                    of_columns += column_constants[k, j]
                constant += of_columns
            for i in range(m):
                scores[k, i] = constant
        for j in range(n_columns):
            column = values[start * n_columns + j * m : start * n_columns + (j + 1) * m]
            for k in range(n_forms):
                a, b, c = squares[k, j], slopes[k, j], column_constants[k, j]
                score = scores[k]
                if gaps:
                    for i in range(m):
                        x = column[i]
                        score[i] += x * (b + x * a) + c if x == x else 0.0
                else:
                    for i in range(m):
                        score[i] += column[i] * (b + column[i] * a)
        block_codes = codes[start : start + m]
        if n_forms == 1:
            for i in range(m):
                block_codes[i] = 1 if scores[0, i] > tie else 0
            continue
        for i in range(m):
            best, code = scores[0, i], 0
            for k in range(1, n_forms):
                if scores[k, i] > best + tie:
                    best, code = scores[k, i], k
            block_codes[i] = code
