"""The joint logistic loss of many labels (S2 equation 1), its derivatives, and what a new model does to it.

The margin of a row for a label is m = y·F with y = ±1, and its loss log(1 + e^-m), which is

    max(-m, 0) + log(1 + e^-|m|),

where nothing overflows. Several hundred factors 1 + e^-|m|, each between 1 and 2, are multiplied before one logarithm
is taken, so that a value costs one exponential, which the loops write out (see `fuselearn.numeric.rbf`).
"""

from math import log
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from fuselearn.numeric.execution import compiled
from fuselearn.numeric.rbf import (
    BIAS,
    C2,
    C3,
    C4,
    C5,
    C6,
    C7,
    C8,
    C9,
    C10,
    C11,
    C12,
    LEAST,
    LN_2,
    LOG2_E,
    MANTISSA_BITS,
    WHOLE,
)
from fuselearn.typing import BoolArray, FloatArray, IntArray

LANES = 512
"""Rows at a time: so many factors of at most 2 have a product of at most 2^512, which a float holds."""
FLOOR = 1e-6
"""Least weight w = p·(1 - p) of a row in a Newton step (S2 footnote 4)."""
HALVINGS = 5
"""Most halvings of a Newton step that raises the loss; then the weight of the label is 0."""


@compiled(reassociate=True)
def add_to_margins(
    labels: IntArray,
    weights: FloatArray,
    outputs: FloatArray,
    signs: IntArray,
    margins: FloatArray,
    residuals: FloatArray,
    curvatures: FloatArray,
    losses: FloatArray,
    n_floored: IntArray,
) -> None:
    """Set F_l ← F_l + α_l·h (S2 Alg. 2 step 2b), and the terms of the next Newton step (S2 equation 2), in place.

    Parameters
    ----------
    labels : intp ndarray
        Rows of the label-by-row arrays to work on.
    weights : ndarray of shape (n_labels,)
        α of each label.
    outputs : ndarray of shape (n_rows,)
        h of each row.
    signs : int8 ndarray of shape (n_labels, n_rows)
        Whether a row has the label: +1 or -1.
    margins : ndarray of shape (n_labels, n_rows)
        y·F.
    residuals, curvatures : ndarray of shape (n_labels, n_rows)
        z = y' - p and w = max(p·(1 - p), 1e-6), with p = 1/(1 + e^-F) and y' = (y + 1)/2.
    losses : ndarray of shape (n_labels,)
        Σ log(1 + e^-m) over the rows.
    n_floored : int64 ndarray of shape (n_labels,)
        Number of rows whose w is the floor.
    """
    n_rows = len(outputs)
    powers = np.empty(LANES)
    power_bits = powers.view(np.int64)
    scaled = np.empty(LANES)
    for place in range(len(labels)):
        label = labels[place]
        weight = weights[label]
        loss, floored = 0.0, 0
        for start in range(0, n_rows, LANES):
            n = min(LANES, n_rows - start)
            h, y = outputs[start : start + n], signs[label, start : start + n]
            m, z = margins[label, start : start + n], residuals[label, start : start + n]
            w = curvatures[label, start : start + n]
            for i in range(n):
                m[i] += weight * (y[i] * h[i])
            for i in range(n):
                x = max(-abs(m[i]), LEAST)
                k = np.floor(x * LOG2_E + 0.5)
                r = x - k * LN_2
                # Horner's rule in r, even and odd powers separately: a shorter chain of dependent multiplications
                r2 = r * r
                even = 1.0 + r2 * (C2 + r2 * (C4 + r2 * (C6 + r2 * (C8 + r2 * (C10 + r2 * C12)))))
                odd = 1.0 + r2 * (C3 + r2 * (C5 + r2 * (C7 + r2 * (C9 + r2 * C11))))
                scaled[i] = even + r * odd
                powers[i] = k + WHOLE
            for i in range(n):
                power_bits[i] = (power_bits[i] + BIAS) << MANTISSA_BITS
            product, excess = 1.0, 0.0
            for i in range(n):
                e = scaled[i] * powers[i]
                product *= 1.0 + e
                excess += max(-m[i], 0.0)
                share = 1.0 / (1.0 + e)  # of the likelier side
                z[i] = y[i] * (e * share if m[i] >= 0.0 else share)
                w[i] = e * share * share
            for i in range(n):
                if w[i] < FLOOR:
                    floored += 1
                    w[i] = FLOOR
            loss += excess + log(product)
        losses[label] = loss
        n_floored[label] = floored


@compiled(reassociate=True)
def safe_steps(
    labels: IntArray,
    newton: FloatArray,
    outputs: FloatArray,
    signs: IntArray,
    margins: FloatArray,
    losses: FloatArray,
    weights: FloatArray,
    new_losses: FloatArray,
) -> None:
    """Find the weight that each label gives a model, and its exact loss with it. Works in place.

    A Newton step whose loss is above that of weight 0 is halved up to five times, then 0. Only `labels` are worked on.

    Parameters
    ----------
    labels : intp ndarray
    newton : ndarray of shape (n_labels,)
        Newton steps.
    outputs, signs, margins, losses
        As for `add_to_margins`; `losses` are those of weight 0.
    weights, new_losses : ndarray of shape (n_labels,)
        Written to, at `labels`.
    """
    n_rows = len(outputs)
    powers = np.empty(LANES)
    power_bits = powers.view(np.int64)
    scaled = np.empty(LANES)
    ahead = np.empty(LANES)
    for place in range(len(labels)):
        label = labels[place]
        weight = newton[label]
        weights[label], new_losses[label] = 0.0, losses[label]
        for _ in range(HALVINGS + 1):
            loss = 0.0
            for start in range(0, n_rows, LANES):
                n = min(LANES, n_rows - start)
                h, y = outputs[start : start + n], signs[label, start : start + n]
                m = margins[label, start : start + n]
                for i in range(n):
                    ahead[i] = m[i] + weight * (y[i] * h[i])
                for i in range(n):
                    x = max(-abs(ahead[i]), LEAST)
                    k = np.floor(x * LOG2_E + 0.5)
                    r = x - k * LN_2
                    r2 = r * r
                    even = 1.0 + r2 * (C2 + r2 * (C4 + r2 * (C6 + r2 * (C8 + r2 * (C10 + r2 * C12)))))
                    odd = 1.0 + r2 * (C3 + r2 * (C5 + r2 * (C7 + r2 * (C9 + r2 * C11))))
                    scaled[i] = even + r * odd
                    powers[i] = k + WHOLE
                for i in range(n):
                    power_bits[i] = (power_bits[i] + BIAS) << MANTISSA_BITS
                product, excess = 1.0, 0.0
                for i in range(n):
                    product *= 1.0 + scaled[i] * powers[i]
                    excess += max(-ahead[i], 0.0)
                loss += excess + log(product)
            if loss <= losses[label]:
                weights[label], new_losses[label] = weight, loss
                break
            weight *= 0.5


def least_losses(
    newton: FloatArray, slopes: FloatArray, curvatures: FloatArray, n_floored: IntArray, losses: FloatArray
) -> FloatArray:
    """Return a lower bound of the loss of each label for any of its steps, without a pass over the rows.

    Along α the loss C of a label has |C'''| ≤ C'' where |h| ≤ 1. Generalised self-concordance (Bach, "Self-concordant
    analysis for logistic regression", Electronic Journal of Statistics 2010, lemma 1) then gives

        C(α) ≥ C(0) + α·C'(0) + C''(0)·(e^-|α| + |α| - 1).

    Parameters
    ----------
    newton : ndarray of shape (n_models, n_labels)
        Newton steps; 0 where a model may not serve a label.
    slopes : ndarray of shape (n_models, n_labels)
        Σ h·z = -C'(0).
    curvatures : ndarray of shape (n_models, n_labels)
        Σ h²·w with w at least `FLOOR`.
    n_floored : ndarray of shape (n_labels,)
        Number of rows whose w is the floor; without it, C''(0) is at least so many floors less.
    losses : ndarray of shape (n_labels,)
        C(0).

    Returns
    -------
    ndarray of shape (n_models, n_labels)
    """
    curvatures = np.maximum(curvatures - FLOOR * n_floored, 0.0)
    least = np.zeros_like(newton)
    step = newton.copy()
    for _ in range(HALVINGS + 1):
        size = np.abs(step)
        np.minimum(least, -step * slopes + curvatures * (np.expm1(-size) + size), out=least)
        step *= 0.5
    return losses + least


class Winner(NamedTuple):
    """The best candidate of a round.

    Attributes
    ----------
    slot : int
        Number of the candidate.
    weights : ndarray of shape (n_labels,)
        α of each label.
    """

    slot: int
    weights: FloatArray


def passes_test(n_out: float, both: FloatArray, n_positives: FloatArray, n_rows: int, significance: float) -> BoolArray:
    """Return whether h > 0 depends on each label (χ² test), from the rows with h > 0 and those that also have it."""
    # For a 2 × 2 table Σ (observed - expected)² / expected is n·(ad - bc)² over the product of the four margins.
    margins = n_out * (n_rows - n_out) * n_positives * (n_rows - n_positives)
    excess = n_rows * both - n_out * n_positives
    statistic = np.zeros(len(n_positives))
    np.divide(n_rows * excess**2, margins, out=statistic, where=margins > 0)
    return (chi2.sf(statistic, 1) < significance) & (margins > 0)
