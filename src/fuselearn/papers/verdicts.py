"""Verdicts on claims of the papers, from scores on the same splits.

A claim is "the first method is better than the second", on one or more data sets. Splits of one set share rows, so its
variance is Nadeau and Bengio's; the sets are independent of each other, so their mean difference can be known better
than that of any one.

An experiment gets an :class:`Effort` and returns an :class:`Outcome`: tables, figures, and a verdict on each claim.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from fuselearn.arguments import check_choice, check_count, check_flag, check_jobs
from fuselearn.evaluation.leaderboard import interval
from fuselearn.evaluation.result_table import Table
from fuselearn.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOLDS, REFUTED, NOT_SHOWN, UNTESTED = "holds", "refuted", "not shown", "cannot be tested"
VERDICTS = (HOLDS, REFUTED, NOT_SHOWN, UNTESTED)
MARGIN = 0.02
"""Difference of accuracies up to which a method counts as no worse than another."""
SIGN_LEVEL = 0.01
"""Level of S2's sign tests."""
RULE = (
    "That one method is above another *holds* if the 95 % interval of the mean difference over the sets lies above 0, "
    "and the interval of no set lies below 0. It is *refuted* if the interval of the mean lies below 0. Otherwise it "
    "is *not shown*: the interval contains 0, or the sets contradict each other. A claim about every set holds if all "
    'intervals lie above 0, and is refuted if one lies below. "As good as, within a margin" puts the margin, below 0, '
    "in the place of 0. A claim about most labels is judged by a sign test in each set, at 1 %, as S2 does in its one "
    "collection: it holds if the test of a set is significant for it and that of none against it, is refuted the other "
    "way round, and otherwise is not shown. A claim that one number decides holds or is refuted. *Cannot be tested* is "
    "what needs data that is not there. Intervals are corrected for splits that share rows (Nadeau and Bengio), which "
    "is stricter than the papers' paired t-tests. Evidence is the mean difference with its interval, and that of each "
    "set; an asterisk marks a set whose own interval leaves out 0, or whose sign test is significant. With so many "
    "claims at 95 %, a few verdicts will be chance: nothing is corrected for that."
)

Drawing: TypeAlias = Callable[["Figure"], None]
"""A function that draws on an empty figure."""


@dataclass(frozen=True)
class Effort:
    """The size of an experiment.

    Parameters
    ----------
    quick : bool, default=False
        Few runs on less data, to see that everything works. So few runs decide little.
    runs : int or None, default=None
        Runs, draws or trials of every experiment, at least 2; None leaves it to the experiment.
    n_jobs : int or None, default=None
        Number of processes.
    seed : int, default=0
        Seed of splits, noise and methods.

    Examples
    --------
    >>> Effort(quick=True).count(full=20, quick=3), Effort(runs=7).count(full=20, quick=3)
    (3, 7)
    """

    quick: bool = False
    runs: int | None = None
    n_jobs: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_flag("quick", self.quick)
        if self.runs is not None:
            check_count("runs", self.runs, 2)
        check_jobs(self.n_jobs)
        check_count("seed", self.seed, 0)

    def count(self, full: int, quick: int) -> int:
        """Return the number of runs of an experiment, given its own for a full and for a quick run."""
        return self.runs or (quick if self.quick else full)


@dataclass(frozen=True)
class Finding:
    """A claim of a paper, with its verdict.

    Attributes
    ----------
    claim : str
    verdict : {"holds", "refuted", "not shown", "cannot be tested"}
    evidence : str
        The numbers that decided it, or what is missing.
    """

    claim: str
    verdict: str
    evidence: str

    def __post_init__(self) -> None:
        check_choice("verdict", self.verdict, VERDICTS)


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment.

    Attributes
    ----------
    tables : list of Table
    findings : list of Finding
    figures : dict of str to callable
        File stem to a function that draws on an empty :class:`matplotlib.figure.Figure`.
    missing : dict of str to str
        Data sets that could not be loaded, and why.
    """

    tables: list[Table]
    findings: list[Finding]
    figures: dict[str, Drawing] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


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
    first: ArrayLike
    second: ArrayLike
    test_share: float = 0.0

    @property
    def differences(self) -> FloatArray:
        """First less second, run by run."""
        return np.asarray(self.first, dtype=float) - np.asarray(self.second, dtype=float)

    @property
    def variance(self) -> float:
        """Variance of the mean difference."""
        return float(self.differences.var(ddof=1) * (1 / len(self.differences) + self.test_share))


def judge(claim: str, pairs: Sequence[Pair], *, margin: float = 0.0, every: bool = False) -> Finding:
    """Judge whether the first method of each pair is above the second.

    With a margin of 0.02 the claim is "as good as, within 0.02". With `every`, the first method must be ahead in every
    pair, not only in their mean.

    Examples
    --------
    >>> scores = [0.9, 0.8, 0.9, 0.9, 0.85], [0.8, 0.75, 0.8, 0.82, 0.74]
    >>> judge("a above b", [Pair("digits", *scores)]).verdict
    'holds'
    >>> judge("b above a", [Pair("digits", *scores[::-1])])
    Finding(claim='b above a', verdict='refuted', evidence='-0.088 (-0.118 to -0.058): digits -0.088*')
    """
    if not pairs:
        return Finding(claim, UNTESTED, "None of the data sets could be loaded.")
    if any(len(pair.differences) < 2 for pair in pairs):
        return Finding(claim, UNTESTED, "One run cannot tell a difference from chance; it takes two or more.")
    by_pair = [interval(pair.differences, pair.test_share) for pair in pairs]
    evidence = ", ".join(
        f"{pair.where} {pair.differences.mean():+z.3f}{'*' if low > 0 or high < 0 else ''}"
        for pair, (low, high) in zip(pairs, by_pair)
    )
    deciding = by_pair
    if not every:
        mean, low, high = mean_interval(pairs)
        deciding = [(low, high)]
        evidence = f"{interval_text(mean, low, high, -margin)}: {evidence}"
    if any(high < -margin for _, high in deciding):
        return Finding(claim, REFUTED, evidence)
    shown = all(low > -margin for low, _ in deciding) and not any(high < -margin for _, high in by_pair)
    return Finding(claim, HOLDS if shown else NOT_SHOWN, evidence)


def judge_signs(claim: str, counts: Mapping[str, tuple[int, int, int]]) -> Finding:
    """Judge whether a method is above another on most labels, by a sign test in each set.

    Counts are those of the labels on which it is above, of those on which it is below, and of all, by set.

    Examples
    --------
    >>> judge_signs("above on most", {"songs": (60, 18, 78), "scenes": (3, 3, 6)})
    Finding(claim='above on most', verdict='holds', evidence='songs 60 of 78 (p = 2e-06*), scenes 3 of 6 (p = 1)')
    """
    if not counts:
        return Finding(claim, UNTESTED, "None of the data sets could be loaded.")
    evidence, signs = [], set()
    for where, (ahead, behind, n_labels) in counts.items():
        p_value = sign_test(ahead, behind)
        significant = p_value < SIGN_LEVEL
        if significant:
            signs.add(ahead > behind)
        evidence.append(f"{where} {ahead} of {n_labels} (p = {p_value:.1g}{'*' if significant else ''})")
    verdict = NOT_SHOWN if len(signs) != 1 else HOLDS if signs == {True} else REFUTED
    return Finding(claim, verdict, ", ".join(evidence))


def sign_test(ahead: int, behind: int) -> float:
    """Return the p-value of the sign test; ties decide nothing."""
    return float(stats.binomtest(ahead, ahead + behind).pvalue) if ahead + behind else 1.0


def judge_number(claim: str, true: bool, evidence: str) -> Finding:
    """Judge a claim that one number decides."""
    return Finding(claim, HOLDS if true else REFUTED, evidence)


def mean_interval(pairs: Sequence[Pair], level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean difference over independent pairs and the two ends of its interval.

    The degrees of freedom are those of Welch and Satterthwaite.
    """
    mean = float(np.mean([pair.differences.mean() for pair in pairs]))
    variances = np.array([pair.variance for pair in pairs])
    if not variances.any():
        return mean, mean, mean
    freedom = variances.sum() ** 2 / np.sum(variances**2 / [len(pair.differences) - 1 for pair in pairs])
    half = stats.t.ppf(0.5 + level / 2, freedom) * np.sqrt(variances.sum()) / len(pairs)
    return mean, float(mean - half), float(mean + half)


def interval_text(mean: float, low: float, high: float, line: float = 0.0, *, digits: int = 3) -> str:
    """Return a mean and the ends of its interval in words, an end near the line that decides with more digits.

    Examples
    --------
    >>> interval_text(-0.0189, -0.0378, -0.0004)
    '-0.019 (-0.038 to -0.0004)'
    """

    def rounded(end: float) -> str:
        places = digits
        while round(end - line, places) == 0 and abs(end - line) > 1e-9:
            places += 1
        return f"{end:+z.{places}f}"

    return f"{mean:+z.{digits}f} ({rounded(low)} to {rounded(high)})"


def reason(error: Exception) -> str:
    """Return why data could not be loaded: the first sentence of the error.

    Examples
    --------
    >>> reason(OSError("'mfeat' is not there. Set this and that."))
    "'mfeat' is not there"
    """
    return " ".join(str(error).split()).partition(". ")[0].removesuffix(".")
