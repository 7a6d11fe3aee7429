"""Gradients of a loss in whole numbers, and its sum over rows: one pass over the scores.

Every value is rounded to a whole number of a unit that is a power of two and stays the same for a run, so that sums of
them are exact in any order. A row's weight is between 0 and 1. Rows have a role: those of `TRAINING` and `HELD_OUT` add
to the sums of losses and weights, those of `UNUSED` to nothing.

A sum of losses has two words: whole units, and whole shares of a unit. One unit is small next to the largest loss that
a row may have, not next to those of other rows. h is rounded up, so that steps never get longer by it.
"""

from itertools import pairwise
from math import exp, log, log1p

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import FloatArray, IntArray

UNUSED, TRAINING, HELD_OUT = range(3)
N_ROLES = 3
HESSIAN_UNIT = 2.0**-28
"""Unit of h, which is at most 1."""
ALL_VIEWS = -1
"""Number of the view of a tree that may split on any column."""
WEIGHT_UNIT = 2.0**-30
LOSS_LIMIT = 2.0**20
"""Largest loss of a row, of a regression as a multiple of that of a residual as large as the scale; a larger one counts
as this."""
DIGIT_BITS = 13
"""Bits of a value by which one pass of the search for a quantile narrows it down."""
N_DIGITS = 2**DIGIT_BITS
KEY_BITS = 64


def whole_number_bits(n_rows: int) -> int:
    """Return the bits that each of `n_rows` whole numbers may have, so that their sum fits into 64."""
    return 62 - int(n_rows).bit_length()


def log_loss_gradients(
    scores: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    roles: IntArray,
    bits: int,
    g: IntArray,
    h: IntArray,
    threads: Threads = SERIAL,
) -> IntArray:
    """Fill g and h of the log loss, and return the sums of the losses by role.

    For two classes there is one score F, p = 1 / (1 + exp(-F)) and g = w·(p - y); for more, p = softmax(F) and
    g_k = w·(p_k - [y = k]). In both cases h = w·p·(1 - p).

    Parameters
    ----------
    scores : ndarray of shape (n_outputs, n_rows)
        Scores so far.
    codes : int32 ndarray of shape (n_rows,)
        Class of each row.
    weights : ndarray of shape (n_rows,) or (0,)
        Weights; none where each is 1.
    roles : int8 ndarray of shape (n_rows,)
        Role of each row.
    bits : int
        Bits of a whole number; the unit of g is 2^-`bits`.
    g : int64 ndarray of shape (n_outputs, n_rows)
        Gradients to fill.
    h : int32 ndarray of shape (n_outputs, n_rows)
        Second derivatives to fill, in units of 2⁻²⁸.
    threads : Threads, default=SERIAL
        Threads that share the rows.

    Returns
    -------
    int64 ndarray of shape (2, 3)
        Sums of the losses of each role, in units of 2^(20 - `bits`), and of what is left, in shares of 2^-`bits` of a
        unit.
    """
    loop = _binary_gradients if len(scores) == 1 else _softmax_gradients

    def work(part: slice) -> IntArray:
        sums = np.zeros((2, N_ROLES), dtype=np.int64)
        loop(
            scores[:, part], codes[part], weights[part], roles[part], 2.0**bits, 1 / HESSIAN_UNIT,
            2.0**bits / LOSS_LIMIT, g[:, part], h[:, part], sums,
        )  # fmt: skip
        return sums

    return np.sum(threads.map(work, row_parts(len(codes), threads)), axis=0)


@compiled()
def _binary_gradients(
    scores: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    roles: IntArray,
    g_steps: float,
    h_steps: float,
    loss_steps: float,
    g: IntArray,
    h: IntArray,
    loss_sums: IntArray,
) -> None:
    weighted = len(weights) > 0
    for i in range(len(codes)):
        score = scores[0, i]
        e = exp(-abs(score))
        # p of the class that the score is for, and of the other; neither is 1 less something tiny.
        likely, unlikely = 1.0 / (1.0 + e), e / (1.0 + e)
        w = weights[i] if weighted else 1.0
        right = (score >= 0) == (codes[i] == 1)
        distance = unlikely if right else likely
        g[0, i] = np.int64(np.rint((-distance if codes[i] == 1 else distance) * w * g_steps))
        h[0, i] = np.int32(np.ceil(w * likely * unlikely * h_steps))
        loss = log1p(e) if right else log1p(e) + abs(score)
        steps = w * min(loss, LOSS_LIMIT) * loss_steps
        loss_sums[0, roles[i]] += np.int64(steps)
        loss_sums[1, roles[i]] += np.int64(np.rint((steps - np.floor(steps)) * g_steps))


@compiled()
def _softmax_gradients(
    scores: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    roles: IntArray,
    g_steps: float,
    h_steps: float,
    loss_steps: float,
    g: IntArray,
    h: IntArray,
    loss_sums: IntArray,
) -> None:
    n_classes = len(scores)
    weighted = len(weights) > 0
    e = np.empty(n_classes)
    for i in range(len(codes)):
        w = weights[i] if weighted else 1.0
        largest = scores[0, i]
        for k in range(1, n_classes):
            largest = max(largest, scores[k, i])
        total = 0.0
        for k in range(n_classes):
            e[k] = exp(scores[k, i] - largest)
            total += e[k]
        for k in range(n_classes):
            p = e[k] / total
            g[k, i] = np.int64(np.rint((p - 1.0 if codes[i] == k else p) * w * g_steps))
            h[k, i] = np.int32(np.ceil(w * p * (1.0 - p) * h_steps))
        loss = log(total) + largest - scores[codes[i], i]
        steps = w * min(loss, LOSS_LIMIT) * loss_steps
        loss_sums[0, roles[i]] += np.int64(steps)
        loss_sums[1, roles[i]] += np.int64(np.rint((steps - np.floor(steps)) * g_steps))


def regression_gradients(
    scores: FloatArray,
    target: FloatArray,
    weights: FloatArray,
    roles: IntArray,
    bits: int,
    scale: float,
    quantile: float | None,
    g: IntArray,
    h: IntArray,
    threads: Threads = SERIAL,
) -> IntArray:
    """Fill g and h of the squared error, or of the quantile loss, and return the sums of the losses by role.

    The squared error has g = w·(F - y) and the loss (F - y)²; that of a quantile q has g = w·(1 - q) above the target
    and -w·q below, and the loss q·(y - F) or (1 - q)·(F - y). In both cases h = w.

    Parameters
    ----------
    scores : ndarray of shape (1, n_rows)
        Scores so far.
    target : ndarray of shape (n_rows,)
        Target of each row.
    weights, roles
        See `log_loss_gradients`.
    bits : int
        Bits of a whole number.
    scale : float
        Power of two above which no residual is expected; a larger one counts as this. The unit of g is
        `scale`·2^-`bits` for the squared error and 2^-`bits` otherwise.
    quantile : float or None
        The quantile; None for the squared error.
    g, h, threads
        See `log_loss_gradients`.

    Returns
    -------
    int64 ndarray of shape (2, 3)
        Sums of the losses of each role, in units of S·2^(20 - `bits`) with S = `scale`² for the squared error and
        `scale` otherwise, and of what is left, in shares of 2^-`bits` of a unit.
    """

    def work(part: slice) -> IntArray:
        sums = np.zeros((2, N_ROLES), dtype=np.int64)
        _regression_gradients(
            scores[0, part], target[part], weights[part], roles[part], 2.0**bits, 1 / HESSIAN_UNIT,
            2.0**bits / LOSS_LIMIT, scale, -1.0 if quantile is None else quantile, g[0, part], h[0, part],
            sums,
        )  # fmt: skip
        return sums

    return np.sum(threads.map(work, row_parts(len(target), threads)), axis=0)


@compiled()
def _regression_gradients(
    scores: FloatArray,
    target: FloatArray,
    weights: FloatArray,
    roles: IntArray,
    g_steps: float,
    h_steps: float,
    loss_steps: float,
    scale: float,
    quantile: float,
    g: IntArray,
    h: IntArray,
    loss_sums: IntArray,
) -> None:
    weighted = len(weights) > 0
    for i in range(len(target)):
        w = weights[i] if weighted else 1.0
        excess = scores[i] - target[i]
        if quantile < 0:
            relative = min(max(excess / scale, -1.0), 1.0)
            gradient, loss = relative, (excess / scale) ** 2
        else:
            gradient = (1.0 - quantile) if excess > 0 else (-quantile if excess < 0 else 0.0)
            loss = gradient * excess / scale
        g[i] = np.int64(np.rint(w * gradient * g_steps))
        h[i] = np.int32(np.ceil(w * h_steps))
        steps = w * min(loss, LOSS_LIMIT) * loss_steps
        loss_sums[0, roles[i]] += np.int64(steps)
        loss_sums[1, roles[i]] += np.int64(np.rint((steps - np.floor(steps)) * g_steps))


def row_parts(n_rows: int, threads: Threads) -> list[slice]:
    """Return consecutive parts of the rows, one for each thread."""
    n_parts = max(1, min(threads.count, n_rows // 4096))
    cuts = [n_rows * part // n_parts for part in range(n_parts + 1)]
    return [slice(first, last) for first, last in pairwise(cuts)]


def add_digit_weights(
    scores: FloatArray,
    target: FloatArray,
    weights: IntArray,
    rows: IntArray,
    prefix: int,
    digit: int,
    sums: IntArray,
) -> None:
    """Add up the weights of the residuals y - F of some rows by one digit, of those whose earlier digits are given.

    A float's bits, read as a whole number, are in the order of the floats once those of negative ones are flipped; its
    digits are `DIGIT_BITS` of these bits each, the highest first.

    Parameters
    ----------
    scores, target : ndarray of shape (n_all_rows,)
        F and y.
    weights : int32 ndarray of shape (n_all_rows,) or (0,)
        Weights, in units; none where each row counts 1.
    rows : int32 ndarray of shape (n_rows,)
        Rows of a leaf.
    prefix : int
        The earlier digits, as one number.
    digit : int
        Number of the digit.
    sums : int64 ndarray of shape (8192,)
        What is added to.
    """
    shift = max(KEY_BITS - DIGIT_BITS * (digit + 1), 0)
    _add_digits(scores, target, weights, rows, np.uint64(prefix), np.uint64(shift), _digit_size(digit), sums)


def narrowed(weights: IntArray, rank: int, prefix: int, digit: int) -> tuple[int, int]:
    """Return the rank that is left and the digits up to this one, given the weights by this digit.

    The rank is the weight that values up to the one that is looked for have at least, among those of the same earlier
    digits.

    Examples
    --------
    >>> narrowed(np.array([2, 0, 5]), rank=3, prefix=1, digit=0)
    (1, 8194)
    """
    up_to = np.cumsum(weights)
    found = int(np.searchsorted(up_to, rank))
    return rank - int(up_to[found] - weights[found]), prefix * int(_digit_size(digit)) + found


def value_of_digits(digits: int) -> float:
    """Return the residual whose digits, all of them, are given as one number."""
    key = np.uint64(digits)
    sign = np.uint64(1 << 63)
    bits = key ^ sign if key & sign else ~key
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])


def n_digits() -> int:
    """Return the number of digits of a residual."""
    return -(-KEY_BITS // DIGIT_BITS)


def _digit_size(digit: int) -> np.uint64:
    """Return the number of values of a digit; the last one has the bits that are left."""
    return np.uint64(2 ** min(DIGIT_BITS, KEY_BITS - DIGIT_BITS * digit))


@compiled()
def _add_digits(
    scores: FloatArray,
    target: FloatArray,
    weights: IntArray,
    rows: IntArray,
    prefix: np.uint64,
    shift: np.uint64,
    size: np.uint64,
    sums: IntArray,
) -> None:
    weighted = len(weights) > 0
    value = np.empty(1, np.float64)
    bits = value.view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    for i in range(len(rows)):
        value[0] = target[rows[i]] - scores[rows[i]] + 0.0  # one zero, not two
        key = ~bits[0] if bits[0] & sign else bits[0] | sign
        digits = key >> shift
        if digits // size == prefix:
            sums[digits % size] += weights[rows[i]] if weighted else 1
