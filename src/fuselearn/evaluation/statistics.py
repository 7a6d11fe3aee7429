"""Is one method better than another on the same splits? The papers' paired t-test, and tests that overlap less easily.

Repeated splits of one data set share most of their rows, so that their scores are not independent and the plain t-test
finds differences that are not there. Nadeau and Bengio (Machine Learning 52, 2003) correct the variance for it.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

NOT_DIFFERENT = 1e-12
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


def paired_tests(first, second, test_share):
    """Compare two methods by their scores on the same splits.

    Parameters
    ----------
    first, second : array of shape (n_runs,)
        With several folds a run, of each fold.
    test_share : float
        Number of test rows by number of training rows.

    Returns
    -------
    PairedTests
        p-values are NaN where there are fewer than two runs or all differences are the same, and 1 where they are 0.

    Examples
    --------
    >>> tests = paired_tests([0.9, 0.8, 0.9, 0.9], [0.8, 0.75, 0.8, 0.82], 40 / 60)
    >>> round(tests.t, 3), round(tests.corrected, 3), tests.sign
    (0.006, 0.036, 0.125)
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    differences = np.where(np.abs(differences) < NOT_DIFFERENT, 0.0, differences)
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


def interval(scores, test_share, level=0.95):
    """Confidence interval of a mean score over repeated splits, with Nadeau and Bengio's variance.

    Parameters
    ----------
    scores : array of shape (n_runs,)
    test_share : float
        Number of test rows by number of training rows.
    level : float, default=0.95

    Returns
    -------
    low, high : float
        NaN where there are fewer than two runs.
    """
    scores = np.asarray(scores, dtype=float)
    if len(scores) < 2:
        return np.nan, np.nan
    half = stats.t.ppf(0.5 + level / 2, len(scores) - 1) * np.sqrt(
        scores.var(ddof=1) * _factor(len(scores), test_share)
    )
    return float(scores.mean() - half), float(scores.mean() + half)


def mean_ranks(scores):
    """Mean rank of each method over the runs, 1 being the best; ties share their ranks.

    Parameters
    ----------
    scores : array of shape (n_methods, n_runs)
        Higher is better.
    """
    return stats.rankdata(-np.asarray(scores, dtype=float), axis=0).mean(axis=1)


def _factor(n_runs, test_share):
    return 1.0 / n_runs + test_share


def _p_value(mean, variance, n_runs):
    if variance <= NOT_DIFFERENT**2:
        return 1.0 if mean == 0 else np.nan  # the same difference in every run says nothing of its spread
    return float(2 * stats.t.sf(abs(mean) / np.sqrt(variance), n_runs - 1))
