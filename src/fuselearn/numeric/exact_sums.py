"""Sums of weights that are the same, to the last bit, in whatever order and partitions they are added.

A sum of floats depends on its order. A sum of whole numbers does not. So where rows are spread over files or machines,
weights are added as whole numbers: in units of 2⁻⁶² in histograms, where there are many sums and each row counts
several times, and in three limbs of 31 bits, which lose nothing above 2⁻⁹³, in the few sums that votes are computed
from.

The fingerprint of a table stands for its rows in their order, wherever they are: Σ h(row i)·Gⁱ mod 2⁶⁴, with h a hash
of the bits of a row. So partitions of a table have fingerprints of their own, which are joined when it is known how
many rows come before each.
"""

import math
from collections.abc import Iterable

import numpy as np

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.votes import RIGHT, WRONG
from fuselearn.typing import AnyArray, FloatArray, IntArray

UNIT = 2.0**-62
"""All weights together are 1 at most, and fit into a signed 64-bit number."""
LIMB_BITS = 31
N_LIMBS = 3
G = 0x9E3779B97F4A7C15
"""Odd, so that its powers mod 2⁶⁴ never vanish."""
PRIME = 0x100000001B3
MASK = 2**64 - 1
ROWS_AT_A_TIME = 4096


def in_units(weights: FloatArray) -> IntArray:
    """Return weights as whole numbers of `UNIT`; their sum must not be above 1."""
    whole = np.empty(weights.shape, dtype=np.int64)
    _round(np.ravel(weights), 1.0, 1 / UNIT, whole.ravel())
    return whole


def in_own_units(weights: FloatArray) -> IntArray:
    """Return weights as whole numbers of a power of two, by which they have a sum of 2⁶¹ to 2⁶².

    Examples
    --------
    >>> units = in_own_units(np.array([0.75, 0.25]) * 2.0**-100)
    >>> [int(unit) for unit in units] == [3 * 2**59, 2**59]
    True
    """
    # 1 comes as 0.999… or 1.000…, and is to give the same units.
    power = max(0, -math.frexp(float(weights.sum()))[1])
    whole = np.empty(weights.shape, dtype=np.int64)
    _round(weights, 2.0**power, 1 / UNIT, whole)
    return whole


def limb_sums(values: FloatArray, groups: IntArray, n_groups: int) -> IntArray:
    """Return exact sums of values between 0 and 1, by group.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The values.
    groups : integer ndarray of shape (n,)
        Group of each, from 0 to `n_groups` - 1.
    n_groups : int
        Number of groups.

    Returns
    -------
    int64 ndarray of shape (n_groups, 3)
        Limbs, which can be added to those of other values, up to 2³² of them.

    Examples
    --------
    >>> values = np.array([0.1, 0.2, 0.3])
    >>> limbs = limb_sums(values, np.zeros(3, dtype=np.int8), 1)
    >>> reordered = sum(limb_sums(values[i : i + 1], np.zeros(1, dtype=np.int8), 1) for i in (2, 0, 1))
    >>> sums_of_limbs(limbs), sums_of_limbs(limbs) == sums_of_limbs(reordered)
    ([0.6], True)
    """
    limbs = np.zeros((n_groups, N_LIMBS), dtype=np.int64)
    _add_limbs(values, groups, 2.0**LIMB_BITS, limbs)
    return limbs


def sums_of_limbs(limbs: IntArray) -> list[float]:
    """Return the sums that limbs stand for, each rounded once."""
    sums = []
    for group in limbs.tolist():
        whole = 0
        for limb in group:
            whole = (whole << LIMB_BITS) + limb
        sums.append(whole / (1 << (LIMB_BITS * N_LIMBS)))
    return sums


def exact_mean(values: FloatArray) -> float:
    """Return the mean of values between 0 and 1: the same for any order, and for the limbs of partitions."""
    [total] = sums_of_limbs(limb_sums(values, np.zeros(len(values), dtype=np.int8), 1))
    return total / len(values)


@compiled()
def _round(values: FloatArray, factor: float, unit: float, whole: IntArray) -> None:
    for i in range(len(values)):
        whole[i] = np.int64(np.rint(values[i] * factor * unit))


@compiled()
def _add_limbs(values: FloatArray, groups: IntArray, radix: float, limbs: IntArray) -> None:
    for i in range(len(values)):
        rest = values[i]
        for limb in range(limbs.shape[1]):
            rest *= radix
            whole = np.floor(rest)
            rest -= whole
            limbs[groups[i], limb] += np.int64(whole)


@compiled()
def scale_by_outcome(outcome: IntArray, weights: FloatArray, right: float, wrong: float, absent: float) -> None:
    """Multiply each weight by the factor of its outcome, in place."""
    for i in range(len(outcome)):
        weights[i] *= right if outcome[i] == RIGHT else (wrong if outcome[i] == WRONG else absent)


def fingerprint(table: AnyArray) -> int:
    """Return the fingerprint of a 2-D array of numbers, as if it were float64, or of unsigned 64-bit words.

    Examples
    --------
    >>> table = np.arange(12.0).reshape(6, 2)
    >>> parts = [(2, fingerprint(table[:2])), (4, fingerprint(table[2:]))]
    >>> joined(parts) == fingerprint(table), fingerprint(table) == fingerprint(table[::-1])
    (True, False)
    """
    parts = []
    for start in range(0, len(table), ROWS_AT_A_TIME):
        block = table[start : start + ROWS_AT_A_TIME]
        kind = np.uint64 if table.dtype == np.uint64 else np.float64
        bits = np.array(block, dtype=kind, order="C").view(np.uint64)
        parts.append((len(block), int(_sum_of_hashes(bits, np.uint64(PRIME), np.uint64(G)))))
    return joined(parts)


def joined(parts: Iterable[tuple[int, int]]) -> int:
    """Return the fingerprint of a table from (number of rows, fingerprint) of its consecutive partitions."""
    total, first = 0, 0
    for n_rows, number in parts:
        total += number * pow(G, first, 2**64)
        first += n_rows
    return total & MASK


@compiled()
def _sum_of_hashes(bits: IntArray, prime: np.uint64, g: np.uint64) -> np.uint64:
    total = np.uint64(0)
    power = np.uint64(1)
    half = np.uint64(32)
    for i in range(bits.shape[0]):
        h = prime
        for j in range(bits.shape[1]):
            h = (h ^ bits[i, j]) * prime
            h = h ^ (h >> half)
        total = total + h * power
        power = power * g
    return total
