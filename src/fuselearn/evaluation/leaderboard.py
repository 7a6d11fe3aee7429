"""The leaderboard of a comparison: mean scores, their intervals, and tests against the best method.

Repeated splits of one data set share most of their rows, so that their scores are not independent and the papers' plain
t-test finds differences that do not exist. Nadeau and Bengio (Machine Learning 52, 2003) correct the variance for it.
"""

from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from fuselearn.data.view_table import data_frame
from fuselearn.evaluation.cells import ONE_VIEW, CellResult, Task
from fuselearn.evaluation.result_store import CellStore, Key
from fuselearn.evaluation.result_table import Cell, Table
from fuselearn.records import Records
from fuselearn.registry import Method
from fuselearn.typing import FloatArray

DECIMALS = {"fit seconds": 2, "predict seconds": 3, "mean rank": 1}
FROM_0_TO_1 = (
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "f1",
    "jaccard",
    "precision",
    "recall",
    "roc_auc",
    "top_k",
)
"""First letters of the scores that are from 0 to 1."""
TIE = 1e-12
"""Scores that differ by less are ties."""


@dataclass(frozen=True)
class Trial:
    """A row of the leaderboard: a method, and the kind of labels it is trained on."""

    name: str
    method: Method
    kind: str
    fingerprint: str

    def key(self, run: int) -> Key:
        """Return the name of the trial's cell of a run in the store."""
        return (self.name, self.kind, self.fingerprint, run)


class Comparison:
    """Scores of methods on the same splits, as :func:`~fuselearn.compare` returns them.

    Parameters
    ----------
    task : Task
        Data, labels and splits of the comparison.
    trials : list of Trial
        Methods, with the kinds of labels they are trained on.
    store : CellStore
        Finished fits of all trials and runs.
    runs : list of int
        Numbers of the runs that are finished.

    Attributes
    ----------
    methods : list of str
        Names of the methods, from the best to the worst.
    scores : ndarray of shape (n_methods, n_runs)
        Score of each method in each run, in the order of `methods`.
    best : str
        Name of the method with the highest mean score.
    """

    def __init__(self, task: Task, trials: list[Trial], store: CellStore, runs: list[int]) -> None:
        self._task = task
        self._n_runs = len(runs)
        self._cells: dict[tuple[str, str], list[CellResult]] = {
            (trial.name, trial.kind): [store[trial.key(run)] for run in runs] for trial in trials
        }
        judged = [trial for trial in trials if trial.kind != ONE_VIEW]
        judged.sort(key=lambda trial: -np.mean(self._split_scores(trial)))
        self._judged = judged
        self.methods = [trial.name for trial in judged]
        # Folds of a run are not averaged for the tests: their number is part of what these correct for.
        self._fold_scores = np.array([np.ravel(self._split_scores(trial)) for trial in judged])
        self.scores = np.array([np.mean(self._split_scores(trial), axis=1) for trial in judged])
        self.best = self.methods[0]

    @cached_property
    def summary(self) -> Table:
        """The leaderboard as a :class:`~fuselearn.evaluation.Table`."""
        share = self._task.protocol.test_share
        score = self._task.scoring if isinstance(self._task.scoring, str) else "score"
        has_one_view = any(kind == ONE_VIEW for _, kind in self._cells)
        others = self._task.other_scores
        columns = ["method", score, "low", "high", *others, *(["one view's labels"] if has_one_view else [])]
        columns += ["mean rank", "behind best", "p (t)", "p (corrected)", "p (sign)", "fit seconds", "predict seconds"]
        rows: list[list[Cell]] = []
        for trial, scores, rank in zip(self._judged, self._fold_scores, mean_ranks(self.scores)):
            tests = paired_tests(self._fold_scores[0], scores, share)
            cells = self._cells[trial.name, trial.kind]
            row: list[Cell] = [trial.name, float(scores.mean()), *np.clip(interval(scores, share), *bounds_of(score))]
            row += [_mean_of_others(cells, name) for name in others]
            if has_one_view:
                row.append(self._one_view_score(trial.name))
            row += [float(rank), tests.difference]
            row += [None] * 3 if trial.name == self.best else [tests.t, tests.corrected, tests.sign]
            row.append(float(np.mean([cell["fit_seconds"] for cell in cells])))
            row.append(float(np.mean([cell["predict_seconds"] for cell in cells])))
            rows.append(row)
        return Table(self._title(), columns, rows, note=self._note(), decimals=DECIMALS)

    @property
    def table(self) -> Any:
        """The leaderboard: a data frame of pandas, else of polars, or without both `Records`."""
        return data_frame({name: list(self.summary.column(name)) for name in self.summary.columns})

    def save(self, path: str | Path) -> None:
        """Write the leaderboard as Markdown, JSON, CSV or text.

        Parameters
        ----------
        path : str or Path
            Ends with .md, .json, .csv or .txt.
        """
        self.summary.save(path)

    def __str__(self) -> str:
        return self.summary.to_text()

    def _repr_html_(self) -> str:
        """Return the leaderboard for notebooks."""
        rows = Records({name: list(self.summary.column(name)) for name in self.summary.columns})
        title, note = escape(self.summary.title), escape(self.summary.note)
        return f"<p><strong>{title}</strong></p>{rows._repr_html_()}<p>{note}</p>"

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.methods)} methods over {self._runs}; best: {self.best}>"

    @property
    def _runs(self) -> str:
        """Return the number of runs in words."""
        return "1 run" if self._n_runs == 1 else f"{self._n_runs} runs"

    def _split_scores(self, trial: Trial) -> list[list[float]]:
        """Return the score on each split of each run."""
        return [cell["scores"] for cell in self._cells[trial.name, trial.kind]]

    def _one_view_score(self, name: str) -> float | None:
        """Return the mean score of a method that was trained on the labels of one view; None where it was not."""
        cells = self._cells.get((name, ONE_VIEW))
        return float(np.mean([cell["scores"] for cell in cells])) if cells else None

    def _title(self) -> str:
        """Return the size of the comparison in words."""
        rows, views = len(self._task.y), len(self._task.views)
        noise = f", {self._task.noise:.0%} of the labels flipped" if self._task.noise else ""
        return f"{rows} objects, {views} views, {self._runs}{noise}"

    def _note(self) -> str:
        """Return the explanation of the leaderboard's columns."""
        protocol, groups = self._task.protocol, self._task.groups
        split = f"{protocol.folds} folds" if protocol.folds else f"{protocol.train_size:.0%} to train on"
        if groups is not None:
            split += f", with {groups.max() + 1} groups kept together"
        unequal = ""
        if self._task.other_scores and not self._task.numbers:
            unequal = " Classes are of unequal size: see the other scores, too; methods are ranked by accuracy."
        outliers = ""
        if self._task.numbers and self._task.scoring == "r2":
            outliers = " R² is of all test rows, gross outliers of the target included."
        return (
            f"Each run: {split}. low, high: 95 % interval of the mean, corrected for overlapping splits (Nadeau and "
            "Bengio). behind best and p: against the first row; p (t) is the papers' paired t-test, which takes the "
            f"splits to be independent.{unequal}{outliers}"
        )


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


def bounds_of(scoring: str) -> tuple[float, float]:
    """Return the least and the largest value that a score of scikit-learn can have, for the end of an interval.

    Examples
    --------
    >>> bounds_of("balanced_accuracy"), bounds_of("neg_log_loss")
    ((0.0, 1.0), (-inf, 0.0))
    """
    if scoring.startswith(FROM_0_TO_1):
        return 0.0, 1.0
    if scoring == "matthews_corrcoef":
        return -1.0, 1.0
    if scoring == "r2":
        return -np.inf, 1.0
    return -np.inf, 0.0 if scoring.startswith("neg_") else np.inf


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


def _mean_of_others(cells: list[CellResult], name: str) -> float | None:
    """Return the mean of one of the other scores; None where a split has none."""
    scores = [score for cell in cells for score in cell["others"].get(name, [None])]
    known = [score for score in scores if score is not None]
    return float(np.mean(known)) if known and len(known) == len(scores) else None


def _factor(n_runs: int, test_share: float) -> float:
    """Return the factor of the variance of single differences that gives that of their mean."""
    return 1.0 / n_runs + test_share


def _p_value(mean: float, variance: float, n_runs: int) -> float:
    """Return the two-sided p-value of a mean under Student's t-distribution."""
    if variance <= TIE**2:
        return 1.0 if mean == 0 else np.nan  # the same difference in every run tells nothing about its spread
    return float(2 * stats.t.sf(abs(mean) / np.sqrt(variance), n_runs - 1))
