"""What an experiment is given, and what it hands back: tables, figures, and a verdict on each claim of its paper."""

from dataclasses import dataclass, field

from fuselearn.settings import check_choice, check_count, check_flag, check_jobs

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
