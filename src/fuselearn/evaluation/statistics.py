"""Tests of whether one method is better than another on the same splits.

Repeated splits of one data set share most of their rows, so that their scores are not independent and the papers' plain
t-test finds differences that do not exist. Nadeau and Bengio (Machine Learning 52, 2003) correct the variance for it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from fuselearn.typing import FloatArray

TIE = 1e-12
"""Scores that differ by less are ties."""


@dataclass(frozen=True)
class PairedTests:
    """Two-sided p-values of a difference between two methods on the same splits.

    Attributes
    ----------
    difference : float
        Mean score of the first less that of the second.
    t : float
        Paired t-test, as in the papers.
    corrected : float
        The same with Nadeau and Bengio's variance.
    sign : float
        Sign test; ties are left out.
    """

    difference: float
    t: float
    corrected: float
    sign: float


def paired_tests(first: ArrayLike, second: ArrayLike, test_share: float) -> PairedTests:
    """Compare two methods by their scores on the same splits, of which a run may have several (its folds).

    `test_share` is the number of test rows by that of training rows. The p-values are NaN where there are fewer than
    two splits or all differences are the same, and 1 where they are all 0.

    Examples
    --------
    >>> tests = paired_tests([0.9, 0.8, 0.9, 0.9], [0.8, 0.75, 0.8, 0.82], 40 / 60)
    >>> round(tests.t, 3), round(tests.corrected, 3), tests.sign
    (0.006, 0.036, 0.125)
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    differences = np.where(np.abs(differences) < TIE, 0.0, differences)
    n_runs, mean = len(differences), float(differences.mean())
    if n_runs < 2:
        return PairedTests(mean, np.nan, np.nan, np.nan)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    sign = float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    variance = differences.var(ddof=1)
    return PairedTests(
        mean,
        _p_value(mean, variance / n_runs, n_runs),
        _p_value(mean, variance * _factor(n_runs, test_share), n_runs),
        sign,
    )


def interval(scores: ArrayLike, test_share: float, level: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval of a mean score over repeated splits, with Nadeau and Bengio's variance.

    Both ends are NaN where there are fewer than two splits.
    """
    mean, half = float(np.asarray(scores, dtype=float).mean()), half_interval(scores, test_share, level)
    return mean - half, mean + half


def half_interval(values: ArrayLike, test_share: float = 0.0, level: float = 0.95) -> float:
    """Return half the width of a mean's confidence interval; with a `test_share` of 0 it is Student's.

    Examples
    --------
    >>> round(half_interval([1.0, 2.0, 3.0]), 2)
    2.48
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return np.nan
    spread = np.sqrt(values.var(ddof=1) * _factor(len(values), test_share))
    return float(stats.t.ppf(0.5 + level / 2, len(values) - 1) * spread)


def mean_ranks(scores: ArrayLike) -> FloatArray:
    """Return the mean rank of each row of (n_methods, n_runs) scores, 1 being the best; ties share their ranks."""
    return stats.rankdata(-np.asarray(scores, dtype=float), axis=0).mean(axis=1)


def _factor(n_runs: int, test_share: float) -> float:
    """Return the factor of the variance of single differences that gives that of their mean."""
    return 1.0 / n_runs + test_share


def _p_value(mean: float, variance: float, n_runs: int) -> float:
    """Return the two-sided p-value of a mean under Student's t-distribution."""
    if variance <= TIE**2:
        return 1.0 if mean == 0 else np.nan  # the same difference in every run tells nothing about its spread
    return float(2 * stats.t.sf(abs(mean) / np.sqrt(variance), n_runs - 1))
