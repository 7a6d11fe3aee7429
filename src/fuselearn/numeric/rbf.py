"""The Gaussian (RBF) kernel e^(-γ·|x - z|²): Gram matrices, and the decision values of a machine on many rows.

Squared distances come from one matrix product, |x|² + |z|² - 2·x·z, of rows that the caller has centred: far from the
origin the sum would cancel. `rbf_kernel` serves any rows and centres; `rbf_gram` and `rbf_decision_values` serve
machines that are fitted by the thousand, and write the exponential out in their loops.

A call to the C library for every value keeps a loop from becoming vector instructions, and one exponential a value is
what kernel machines and logistic losses cost. So the loops write it out: e^x = 2^k · e^r with k the whole number next
to x / ln 2, a polynomial for e^r, and 2^k put together from its bits. r = x - k·ln 2 is taken with ln 2 as one number,
so the relative error grows with |x|: 5e-16 (two units in the last place) down to x = -10, 2e-15 at -50, 7e-15 at -200
and 2e-14 at -700. Where small e^x are added to numbers near 1, which is what they are for, that is nothing. Single
precision is right to 4e-7 down to -50.
"""

from math import factorial, log
from typing import TypeAlias

import numpy as np

from fuselearn.numeric.execution import Scratch, compiled
from fuselearn.typing import FloatArray

LN_2 = log(2.0)
LOG2_E = 1.0 / LN_2
LEAST = -700.0
"""Exponents below it count as this: 2^k stays a normal number, and e^-700 is nothing beside 1."""
WHOLE = 1.5 * 2.0**52
"""Added to a whole number, it leaves that number in the lowest bits."""
BIAS = 1023
MANTISSA_BITS = 52
LEAST_SINGLE, WHOLE_SINGLE, BIAS_SINGLE, MANTISSA_BITS_SINGLE = -80.0, 1.5 * 2.0**23, 127, 23
"""The same for single precision."""
# 1/2! to 1/12! in the series of e^r for |r| ≤ ½ ln 2: what is left out is below 2e-16 (after 1/6!: below 2e-7).
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (1.0 / factorial(power) for power in range(2, 13))
LANES = 256
TILE = 16
BLOCK_ROWS = 128
"""Rows whose products with all support vectors are taken together: they stay in the cache until they are summed."""
NEAR = 50.0
"""Largest γ·|z|² of a support vector in single precision, whose 24 bits then hold an exponent to some 1e-5."""
Kind: TypeAlias = type[np.float32] | type[np.float64]

FAR: dict[Kind, float] = {np.float32: 1e30, np.float64: 1e300}
"""Largest γ·|x|² that is worked with: beyond it a row is so far away from every support vector that its kernel values
are 0, and its products might overflow."""
CANCELLED, ALL_CANCELLED = 1e-5, 1e-4
"""Single precision is off by up to 4e-8·Σ|c|. Values below the first share of Σ|c| are computed again in double
precision, and all values of a call whose largest is below the second."""
NEGLIGIBLE = 1e-10
"""Share of Σ|c| below which a value is what rounding leaves of terms that cancel, and counts as 0."""


def rbf_gram(rows: FloatArray, gamma: float, *, scratch: Scratch | None = None) -> FloatArray:
    """Return kernel values of all pairs of rows.

    Parameters
    ----------
    rows : float64 ndarray of shape (n_rows, n_columns)
        Centred.
    gamma : float
        Factor of the squared distances.
    scratch : Scratch, default=None
        Memory of the matrix, until the next one is asked for; None makes a new one.

    Returns
    -------
    float64 ndarray of shape (n_rows, n_rows)
        Exactly symmetric, with ones on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> rbf_gram(np.array([[-1.0], [1.0]]), 0.25).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """
    gram = np.matmul(rows, rows.T, out=(scratch or Scratch()).array("gram", (len(rows), len(rows))))
    _fill_gram(gram, gram.diagonal() * gamma, gamma)
    return gram


def rbf_kernel(rows: FloatArray, centres: FloatArray, gamma: float) -> FloatArray:
    """Return kernel values of all pairs of a row and a centre, of shape (n_rows, n_centres)."""
    squares = rows @ (-2 * centres.T)
    squares += (rows**2).sum(axis=1)[:, None]
    squares += (centres**2).sum(axis=1)
    np.maximum(squares, 0, out=squares)
    squares *= -gamma
    return np.exp(squares, out=squares)


def rbf_decision_values(
    rows: FloatArray,
    machine_rows: FloatArray,
    coefficients: FloatArray,
    intercept: float,
    gamma: float,
    out: FloatArray,
    *,
    single: bool = False,
    scratch: Scratch | None = None,
) -> None:
    """Compute Σ_j c_j·e^(-γ·|x - z_j|²) + b for each row x, a block of rows at a time, into `out`.

    A value below 1e-10·Σ|c| is given as 0: it is what rounding leaves of large terms that cancel, and its sign means
    nothing.

    Parameters
    ----------
    rows : float64 ndarray of shape (n_rows, n_columns)
    machine_rows : float64 ndarray of shape (n_vectors, n_columns)
        Support vectors z, centred like the rows.
    coefficients : float64 ndarray of shape (n_vectors,)
    intercept, gamma : float
    out : float64 ndarray of shape (n_rows,)
        Written to.
    single : bool, default=False
        Take products and exponentials in single precision, which is twice as fast and right to about 4e-8·Σ|c|; support
        vectors that are too far out for that, and values that are too small for it, get double precision all the same.
    scratch : Scratch, default=None
        Memory for the products.
    """
    scratch = scratch or Scratch()
    root = np.sqrt(2.0 * gamma)  # on either side of the product: numbers near 1, whatever the units of the columns are
    scaled = root * machine_rows.T
    machine_terms = 0.5 * np.einsum("ij,ij->j", scaled, scaled)
    total = np.abs(coefficients).sum()
    terms = scaled, machine_terms, coefficients, intercept, root
    if single and machine_terms.max(initial=0.0) < NEAR:
        _sum_blocks(rows, *terms, out, np.float32, scratch)
        sizes = np.abs(out)
        least = CANCELLED if sizes.max(initial=0.0) >= ALL_CANCELLED * total else np.inf
        again = np.flatnonzero(sizes <= least * total)
        if len(again):
            exact = np.empty(len(again))
            _sum_blocks(rows[again], *terms, exact, np.float64, scratch)
            out[again] = exact
    else:
        _sum_blocks(rows, *terms, out, np.float64, scratch)
    out[np.abs(out) < NEGLIGIBLE * total] = 0.0


def _sum_blocks(
    rows: FloatArray,
    scaled: FloatArray,
    machine_terms: FloatArray,
    coefficients: FloatArray,
    intercept: float,
    root: float,
    out: FloatArray,
    kind: Kind,
    scratch: Scratch,
) -> None:
    """Compute `rbf_decision_values` in one precision, whatever comes out."""
    sum_exponentials = _sum_exponentials_single if kind is np.float32 else _sum_exponentials
    scaled, machine_terms = scaled.astype(kind, copy=False), machine_terms.astype(kind, copy=False)
    coefficients = np.ascontiguousarray(coefficients, dtype=kind)
    for start in range(0, len(rows), BLOCK_ROWS):
        with np.errstate(over="ignore"):
            block = root * rows[start : start + BLOCK_ROWS]
            row_terms = 0.5 * np.einsum("ij,ij->i", block, block)
        far = ~(row_terms < FAR[kind])
        if far.any():
            block[far], row_terms[far] = 0.0, FAR[kind]
        products = scratch.array("products", (len(block), len(machine_terms)), kind)
        np.matmul(block.astype(kind, copy=False), scaled, out=products)
        sum_exponentials(products, row_terms.astype(kind), machine_terms, coefficients, intercept, out[start:])


@compiled(reassociate=True)
def _fill_gram(gram: FloatArray, row_terms: FloatArray, gamma: float) -> None:
    """Turn products of rows into kernel values, in place: below the diagonal, then mirrored."""
    n_rows = len(gram)
    powers = np.empty(LANES)
    power_bits = powers.view(np.int64)
    for row in range(n_rows):
        row_term = row_terms[row]
        for start in range(0, row, LANES):
            n = min(LANES, row - start)
            block, terms = gram[row, start : start + n], row_terms[start : start + n]
            for i in range(n):
                x = max(min(2.0 * gamma * block[i] - row_term - terms[i], 0.0), LEAST)
                k = np.floor(x * LOG2_E + 0.5)
                r = x - k * LN_2
                r2 = r * r
                even = 1.0 + r2 * (C2 + r2 * (C4 + r2 * (C6 + r2 * (C8 + r2 * (C10 + r2 * C12)))))
                odd = 1.0 + r2 * (C3 + r2 * (C5 + r2 * (C7 + r2 * (C9 + r2 * C11))))
                block[i] = even + r * odd
                powers[i] = k + WHOLE
            for i in range(n):
                power_bits[i] = (power_bits[i] + BIAS) << MANTISSA_BITS
            for i in range(n):
                block[i] *= powers[i]
        gram[row, row] = 1.0
    for top in range(0, n_rows, TILE):  # square tiles: of either side only so many lines of the cache are in use
        for left in range(0, top + 1, TILE):
            for row in range(top, min(top + TILE, n_rows)):
                for column in range(left, min(left + TILE, row)):
                    gram[column, row] = gram[row, column]


@compiled(reassociate=True)
def _sum_exponentials(
    products: FloatArray,
    row_terms: FloatArray,
    machine_terms: FloatArray,
    coefficients: FloatArray,
    intercept: float,
    out: FloatArray,
) -> None:
    """Set out_i = b + Σ_j c_j·e^min(products_ij - row_i - machine_j, 0)."""
    n_rows, n_vectors = products.shape
    powers = np.empty(LANES)
    power_bits = powers.view(np.int64)
    scaled = np.empty(LANES)
    for row in range(n_rows):
        row_term = row_terms[row]
        total = intercept
        for start in range(0, n_vectors, LANES):
            n = min(LANES, n_vectors - start)
            block, terms = products[row, start : start + n], machine_terms[start : start + n]
            c = coefficients[start : start + n]
            for i in range(n):
                x = max(min(block[i] - row_term - terms[i], 0.0), LEAST)
                k = np.floor(x * LOG2_E + 0.5)
                r = x - k * LN_2
                r2 = r * r
                even = 1.0 + r2 * (C2 + r2 * (C4 + r2 * (C6 + r2 * (C8 + r2 * (C10 + r2 * C12)))))
                odd = 1.0 + r2 * (C3 + r2 * (C5 + r2 * (C7 + r2 * (C9 + r2 * C11))))
                scaled[i] = even + r * odd
                powers[i] = k + WHOLE
            for i in range(n):
                power_bits[i] = (power_bits[i] + BIAS) << MANTISSA_BITS
            for i in range(n):
                total += c[i] * (scaled[i] * powers[i])
        out[row] = total


@compiled(reassociate=True)
def _sum_exponentials_single(
    products: FloatArray,
    row_terms: FloatArray,
    machine_terms: FloatArray,
    coefficients: FloatArray,
    intercept: float,
    out: FloatArray,
) -> None:
    """Compute `_sum_exponentials` in single precision, but the sum over the support vectors in double."""
    n_rows, n_vectors = products.shape
    log2_e, ln_2, half = np.float32(LOG2_E), np.float32(LN_2), np.float32(0.5)
    one, none, least, whole = np.float32(1.0), np.float32(0.0), np.float32(LEAST_SINGLE), np.float32(WHOLE_SINGLE)
    c2, c3, c4, c5, c6 = np.float32(C2), np.float32(C3), np.float32(C4), np.float32(C5), np.float32(C6)
    bias, mantissa_bits = np.int32(BIAS_SINGLE), np.int32(MANTISSA_BITS_SINGLE)
    powers = np.empty(LANES, dtype=np.float32)
    power_bits = powers.view(np.int32)
    scaled = np.empty(LANES, dtype=np.float32)
    for row in range(n_rows):
        row_term = row_terms[row]
        total = intercept
        for start in range(0, n_vectors, LANES):
            n = min(LANES, n_vectors - start)
            block, terms = products[row, start : start + n], machine_terms[start : start + n]
            c = coefficients[start : start + n]
            for i in range(n):
                x = max(min(block[i] - row_term - terms[i], none), least)
                k = np.floor(x * log2_e + half)
                r = x - k * ln_2
                r2 = r * r
                even = one + r2 * (c2 + r2 * (c4 + r2 * c6))
                odd = one + r2 * (c3 + r2 * c5)
                scaled[i] = even + r * odd
                powers[i] = k + whole
            for i in range(n):
                power_bits[i] = (power_bits[i] + bias) << mantissa_bits
            part = none
            for i in range(n):
                part += c[i] * (scaled[i] * powers[i])
            total += part  # type: ignore[assignment]  # a number of single precision, added in double
        out[row] = total
