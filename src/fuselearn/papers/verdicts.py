"""Verdicts on claims, from scores on the same splits.

A claim is "the first method is better than the second", on one or more data sets. Splits of one set share rows, so its
variance is Nadeau and Bengio's; the sets are independent of each other, so their mean difference can be known better
than that of any one.

What an experiment is given, and what it hands back: tables, figures, and a verdict on each claim of its paper.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from fuselearn.estimators import check_choice, check_count, check_flag, check_jobs
from fuselearn.evaluation.statistics import interval

TOO_WIDE = 0.05
"""Half of an interval that says nothing: a difference that large would not be seen."""
RULE = (
    "That one method is above another *holds* if the 95 % interval of the mean difference over the sets lies above 0, "
    "and the interval of no set lies below 0. If 0 lies within the interval of the mean, the claim *does not hold*, "
    f'or, where half of that interval is more than {TOO_WIDE:g}, *cannot be tested* by these runs. "As good as, '
    'within a margin" puts the margin, below 0, in the place of 0, and is not tested by intervals wider than that. '
    "Intervals are corrected for splits that share rows (Nadeau and Bengio), which is stricter than the papers' paired "
    "t-tests. Evidence is the mean difference with its interval, and that of each set; an asterisk marks a set whose "
    "own interval leaves out 0. With so many claims at 95 %, a few verdicts will be chance: nothing is corrected for "
    "that."
)


@dataclass(frozen=True)
class Pair:
    """Scores of two methods on the same splits of a data set.

    Attributes
    ----------
    where : str
        Data set and conditions.
    first, second : array of shape (n_runs,)
        Higher is better.
    test_share : float, default=0
        Number of test rows by number of training rows; 0 where runs share no rows.
    """

    where: str
    first: np.ndarray
    second: np.ndarray
    test_share: float = 0.0

    @property
    def differences(self):
        """First less second, run by run."""
        return np.asarray(self.first, dtype=float) - np.asarray(self.second, dtype=float)

    @property
    def variance(self):
        """Of the mean difference."""
        return self.differences.var(ddof=1) * (1 / len(self.differences) + self.test_share)


def judge(claim, pairs, *, margin=0.0, every=False):
    """Whether the first method of each pair is above the second.

    Parameters
    ----------
    claim : str
    pairs : list of Pair
    margin : float, default=0
        How far below still counts: with 0.02, "as good as, within 0.02".
    every : bool, default=False
        Whether it must be ahead in every pair, not only in their mean.

    Returns
    -------
    Finding

    Examples
    --------
    >>> scores = [0.9, 0.8, 0.9, 0.9, 0.85], [0.8, 0.75, 0.8, 0.82, 0.74]
    >>> judge("a above b", [Pair("digits", *scores)]).verdict
    'holds'
    >>> judge("b above a", [Pair("digits", *scores[::-1])])
    Finding(claim='b above a', verdict='does not hold', evidence='-0.088 (-0.118 to -0.058): digits -0.088*')
    """
    if not pairs:
        return Finding(claim, UNTESTED, "None of the data sets is there.")
    if any(len(pair.first) < 2 for pair in pairs):
        return Finding(claim, UNTESTED, "One run says nothing of chance; it takes two or more.")
    own = [interval(pair.differences, pair.test_share) for pair in pairs]
    evidence = ", ".join(
        f"{pair.where} {pair.differences.mean():+z.3f}{'*' if low > 0 or high < 0 else ''}"
        for pair, (low, high) in zip(pairs, own)
    )
    deciding = own
    if not every:
        mean, *bounds = mean_interval(pairs)
        deciding = [bounds]
        evidence = f"{mean:+z.3f} ({bounds[0]:+z.3f} to {bounds[1]:+z.3f}): {evidence}"
    if any(high < -margin for _, high in (*own, *deciding)):
        return Finding(claim, FAILS, evidence)
    undecided = [(high - low) / 2 for low, high in deciding if low <= -margin]
    if not undecided:
        return Finding(claim, HOLDS, evidence)
    if max(undecided) > (margin or TOO_WIDE):
        return Finding(claim, UNTESTED, f"These runs cannot tell. {evidence}")
    return Finding(claim, FAILS, evidence)


def mean_interval(pairs, level=0.95):
    """Mean difference over independent pairs, and its interval, with Welch and Satterthwaite's degrees of freedom.

    Parameters
    ----------
    pairs : list of Pair
    level : float, default=0.95

    Returns
    -------
    mean, low, high : float
    """
    mean = float(np.mean([pair.differences.mean() for pair in pairs]))
    variances = np.array([pair.variance for pair in pairs])
    if not variances.any():
        return mean, mean, mean
    freedom = variances.sum() ** 2 / np.sum(variances**2 / [len(pair.differences) - 1 for pair in pairs])
    half = stats.t.ppf(0.5 + level / 2, freedom) * np.sqrt(variances.sum()) / len(pairs)
    return mean, float(mean - half), float(mean + half)


def judge_number(claim, true, evidence):
    """A claim that one number decides."""
    return Finding(claim, HOLDS if true else FAILS, evidence)


HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested"
VERDICTS = (HOLDS, FAILS, UNTESTED)


@dataclass(frozen=True)
class Effort:
    """How much an experiment may do.

    Parameters
    ----------
    quick : bool, default=False
        Few runs on less data, to see that everything works. The verdicts of so few runs are not worth much.
    runs : int or None, default=None
        Runs, draws or trials of every experiment, at least 2; None leaves it to the experiment.
    n_jobs : int or None, default=None
        Processes.
    seed : int, default=0

    Examples
    --------
    >>> Effort(quick=True).count(full=20, quick=3), Effort(runs=7).count(full=20, quick=3)
    (3, 7)
    """

    quick: bool = False
    runs: int | None = None
    n_jobs: int | None = None
    seed: int = 0

    def __post_init__(self):
        check_flag("quick", self.quick)
        if self.runs is not None:
            check_count("runs", self.runs, 2)
        check_jobs(self.n_jobs)
        check_count("seed", self.seed, 0)

    def count(self, full, quick):
        """Runs of an experiment that wants so many of its own accord."""
        return self.runs or (quick if self.quick else full)


@dataclass(frozen=True)
class Finding:
    """A claim of a paper, and what became of it.

    Attributes
    ----------
    claim : str
    verdict : {"holds", "does not hold", "cannot be tested"}
    evidence : str
        The numbers that decided it, or what is missing.
    """

    claim: str
    verdict: str
    evidence: str

    def __post_init__(self):
        check_choice("verdict", self.verdict, VERDICTS)


@dataclass(frozen=True)
class Outcome:
    """What an experiment hands back.

    Attributes
    ----------
    tables : list of Table
    findings : list of Finding
    figures : dict of str to callable
        File stem to a function that draws on an empty :class:`matplotlib.figure.Figure`.
    missing : dict of str to str
        Data sets that could not be had, and why.
    """

    tables: list
    findings: list
    figures: dict = field(default_factory=dict)
    missing: dict = field(default_factory=dict)


def reason(error):
    """Why data could not be had: the first sentence of the error.

    Examples
    --------
    >>> reason(OSError("'mfeat' is not there. Set this and that."))
    "'mfeat' is not there"
    """
    return " ".join(str(error).split()).partition(". ")[0].removesuffix(".")
