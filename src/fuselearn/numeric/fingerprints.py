"""A number that stands for the rows of a table, in their order, wherever they are.

The number of a table is Σ h(row i)·Gⁱ mod 2⁶⁴, with h a hash of the bits of a row. So parts of a table can be looked at
apart, and put together when it is known how many rows come before each.
"""

import numpy as np

from fuselearn.numeric.compiled import compiled

G = 0x9E3779B97F4A7C15
"""Odd, so that its powers mod 2⁶⁴ never vanish."""
PRIME = 0x100000001B3
MASK = 2**64 - 1
ROWS_AT_A_TIME = 4096


def fingerprint(table):
    """Number of a 2-D array of numbers, as if it were float64, or of unsigned 64-bit words.

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


def joined(parts):
    """Number of a table from (number of rows, number) of its consecutive parts."""
    total, first = 0, 0
    for n_rows, number in parts:
        total += number * pow(G, first, 2**64)
        first += n_rows
    return total & MASK


@compiled()
def _sum_of_hashes(bits, prime, g):
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
