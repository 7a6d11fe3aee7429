"""One cell of a comparison: a method, fitted and scored on the splits of one run.

The papers differ in how they split their data (:data:`PROTOCOLS`), and a method differs from others in the labels that
it can be trained on when each view has labels of its own (S0 §3.1).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.validation import has_fit_parameter

from fuselearn.consensus import LabelConsensus
from fuselearn.data import ViewBlocks
from fuselearn.data.labels import are_unequal
from fuselearn.evaluation.noise import add_label_noise
from fuselearn.registry import Method
from fuselearn.typing import AnyArray, BoolArray, Estimator, FloatArray, IntArray

GIVEN, PER_VIEW, MAJORITY, ONE_VIEW, CONSENSUS = "given", "own", "majority", "one view", "consensus"
"""Kinds of labels to train on: `y` as given; each view's own; the majority of the views' labels; those of the first
view; what label consensus makes of them."""
MEAN_ABSOLUTE_ERROR = "mean_absolute_error"
GROUP_DRAWS = 1000
"""Draws of groups among which a split with all classes on both sides is looked for."""

Score: TypeAlias = Callable[[Any, AnyArray, AnyArray], float]
Split: TypeAlias = tuple[IntArray, IntArray]


class CellResult(TypedDict):
    """Score on each split of a run, other scores beside it, and total seconds of fitting and of scoring."""

    scores: list[float]
    others: dict[str, list[float | None]]
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Protocol:
    """Repeated splits into training and test rows.

    Attributes
    ----------
    runs : int
        Number of repetitions.
    train_size : float or None
        Share of the rows, or of the groups where there are any, to train on.
    folds : int or None
        Instead of one split, a run is a cross-validation of so many folds, and its score their mean.
    n_estimators : int or None
        Rounds of boosting methods.
    methods : tuple of str
        Methods of the paper whose protocol it is, by their names in `fuselearn.registry`.
    """

    runs: int
    train_size: float | None = None
    folds: int | None = None
    n_estimators: int | None = None
    methods: tuple[str, ...] = ()

    @property
    def train_share(self) -> float:
        """Share of the rows that are trained on."""
        return 1 - 1 / self.folds if self.folds else self.train_size or 0.0

    @property
    def test_share(self) -> float:
        """Number of test rows by number of training rows."""
        return 1 / (self.folds - 1) if self.folds else (1 - self.train_share) / self.train_share

    def splits(self, y: AnyArray, run: int, seed: int, groups: IntArray | None = None) -> list[Split]:
        """Return the (training rows, test rows) of a run: drawn within classes, or with groups kept together."""
        state = (seed + 7919 * run) % 2**32
        if groups is not None:
            return self._grouped_splits(y, groups, state)
        if self.folds:
            splitter = StratifiedKFold(self.folds, shuffle=True, random_state=state)
        else:
            splitter = StratifiedShuffleSplit(1, train_size=self.train_size, random_state=state)
        return list(splitter.split(y, y))

    def _grouped_splits(self, y: AnyArray, groups: IntArray, state: int) -> list[Split]:
        """Return the first splits drawn that keep groups together and have all classes on both sides."""
        n_classes = len(np.unique(y))
        for splits in self._drawn_groups(y, groups, state):
            if all(len(np.unique(y[rows])) == n_classes for split in splits for rows in split):
                return splits
        raise ValueError(
            f"groups allows no split with every class on both sides, in {GROUP_DRAWS} draws; merge or drop the classes "
            "that few groups have."
        )

    def _drawn_groups(self, y: AnyArray, groups: IntArray, state: int) -> Iterator[list[Split]]:
        """Yield one draw of splits after the other, each with every group on one side."""
        if self.folds:
            # One generator for all draws, so that each is another one.
            generator = np.random.RandomState(state)
            for _ in range(GROUP_DRAWS):
                yield list(StratifiedGroupKFold(self.folds, shuffle=True, random_state=generator).split(y, y, groups))
        else:
            shuffled = GroupShuffleSplit(GROUP_DRAWS, train_size=self.train_size, random_state=state)
            for split in shuffled.split(y, y, groups):
                yield [split]


TUNED_SVMS = ("tuned_svm_vote", "tuned_stacking")
ADABOOST = ("adaboost_vote", "adaboost_concatenated")
# MKL by alternation reaches the optimum of the conic program, for which CVXPY is needed.
SDP = "sdp" if find_spec("cvxpy") else "mkl"
PLAIN = Protocol(runs=20, train_size=0.6)
"""That of no paper."""
PROTOCOLS = {
    "bssd": Protocol(runs=20, train_size=0.6, methods=("bssd", "bisd", *ADABOOST, *TUNED_SVMS, SDP)),
    "shareboost": Protocol(
        runs=30,
        train_size=0.6,
        n_estimators=150,
        methods=("shareboost", "rshareboost", "iboost", SDP, *ADABOOST, *TUNED_SVMS),
    ),
    "mssboost": Protocol(runs=10, train_size=0.75, methods=("mssboost", "nsboost", "rsbag", "svm_concatenated")),
    "shared_distribution": Protocol(
        runs=10, train_size=0.5, n_estimators=30, methods=("shared_trees", "tuned_svm_vote", "super_kernel")
    ),
    "tomographic": Protocol(
        runs=1400,
        folds=3,
        methods=("unmatched_tomographic", "unmatched_cartesian", "unmatched_augmented", "matched_kernels"),
    ),
}
"""Those of S0, S1, S2, S3 and S4."""


@dataclass(frozen=True)
class Task:
    """The data and settings that all cells of a comparison share.

    Attributes
    ----------
    table : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        True labels.
    views : dict of name to column numbers
    view_labels : ndarray of shape (n_rows, n_views) or None
    protocol : Protocol
    noise : float
        Share of the training labels that is flipped.
    noise_views : "all" or list of int
    noise_shared : bool
    scoring : str or callable
    seed : int
    groups : int ndarray of shape (n_rows,) or None
        Rows of the same number are on the same side of every split.
    groups_in_fit : bool
        Hand the groups to methods whose `fit` takes them.
    numbers : bool
        Whether `y` holds numbers to predict instead of labels.
    """

    table: FloatArray
    y: AnyArray
    views: dict[str, IntArray]
    view_labels: AnyArray | None
    protocol: Protocol
    noise: float
    noise_views: Literal["all"] | list[int]
    noise_shared: bool
    scoring: str | Score
    seed: int
    groups: IntArray | None = None
    groups_in_fit: bool = True
    numbers: bool = False

    @property
    def strata(self) -> AnyArray:
        """Classes that splits keep the shares of; all numbers are of one."""
        return np.zeros(len(self.y), dtype=np.intp) if self.numbers else self.y

    @property
    def labels_differ(self) -> bool:
        """True where views have labels of their own."""
        return self.view_labels is not None or self.noise > 0

    @property
    def other_scores(self) -> list[str]:
        """Names of scores to be shown beside accuracy, where classes are unequal and it is not enough, or R²."""
        if self.numbers:
            return [MEAN_ABSOLUTE_ERROR] if isinstance(self.scoring, str) and self.scoring == "r2" else []
        counts = np.unique(self.y, return_counts=True)[1]
        if not (isinstance(self.scoring, str) and self.scoring == "accuracy" and are_unequal(counts)):
            return []
        return ["balanced_accuracy", "roc_auc" if len(counts) == 2 else "roc_auc_ovr"]

    def kinds(self, method: Method) -> list[str]:
        """Return the kinds of labels that a method is trained on; it is judged by the first."""
        if not self.labels_differ:
            return [GIVEN]
        if method.only_view is not None or method.takes_view_labels(self.views):
            return [PER_VIEW]
        return [MAJORITY, ONE_VIEW]

    def fit_groups(self, estimator: Estimator, rows: IntArray) -> dict[str, IntArray]:
        """Return the groups of some rows as an argument of `fit`, where an estimator takes them."""
        if self.groups is None or not self.groups_in_fit or not has_fit_parameter(estimator, "groups"):
            return {}
        return {"groups": self.groups[rows]}


class SplitRows(NamedTuple):
    """The rows of a split to train on: their numbers, which views they have, and the seed of the split's draws."""

    numbers: IntArray
    present: BoolArray
    seed: int


def run_cell(task: Task, method: Method, kind: str, run: int) -> CellResult:
    """Fit and score a method on the splits of a run."""
    try:
        return _run_cell(task, method, kind, run)
    except ValueError as error:
        raise ValueError(f"{method.name} on {kind} labels, run {run}: {error}") from error


def _run_cell(task: Task, method: Method, kind: str, run: int) -> CellResult:
    """Fit and score a method on the splits of a run; errors do not name it yet."""
    scorer = get_scorer(task.scoring) if isinstance(task.scoring, str) else task.scoring
    result = CellResult(scores=[], others={}, fit_seconds=0.0, predict_seconds=0.0)
    present = ViewBlocks.of(task.table, list(task.views), list(task.views.values())).present
    for number, (train, test) in enumerate(task.protocol.splits(task.strata, run, task.seed, task.groups)):
        # Nobody can learn from a row without any view.
        train = train[present[train].any(axis=1)]
        # The same noise and the same draws for every method.
        seed = int(np.random.SeedSequence([task.seed, run, number]).generate_state(1)[0] % 2**31)
        rows = SplitRows(train, present[train], seed)
        estimator = method.estimator(task.views, task.protocol.n_estimators, seed)
        table = _with_gaps_filled(task, present, train) if method.whole_views else task.table
        start = time.perf_counter()
        values = table[train]
        arguments = {**_labels(task, method, kind, rows), **task.fit_groups(estimator, train)}
        if method.only_view is not None:
            has_view = rows.present[:, list(task.views).index(method.only_view)]
            values, arguments = values[has_view], {name: array[has_view] for name, array in arguments.items()}
            if not task.numbers and len(np.unique(arguments["y"])) < 2:
                estimator = DummyClassifier()
        estimator.fit(values, **arguments)
        fitted = time.perf_counter()
        result["scores"].append(float(scorer(estimator, table[test], task.y[test])))
        result["fit_seconds"] += fitted - start
        result["predict_seconds"] += time.perf_counter() - fitted
        for name in task.other_scores:
            result["others"].setdefault(name, []).append(_other_score(name, estimator, table[test], task.y[test]))
    if not np.isfinite(result["scores"]).all():
        raise ValueError(f"the score is {result['scores']}, not a number")
    return result


def _other_score(name: str, estimator: Estimator, rows: FloatArray, y: AnyArray) -> float | None:
    """Return a score of scikit-learn; None for an estimator without the decision values or probabilities it needs."""
    if name == MEAN_ABSOLUTE_ERROR:
        return -float(get_scorer("neg_mean_absolute_error")(estimator, rows, y))
    try:
        return float(get_scorer(name)(estimator, rows, y))
    except (AttributeError, ValueError):
        return None


def _with_gaps_filled(task: Task, present: BoolArray, train: IntArray) -> FloatArray:
    """Return the table with gaps inside the views that a row has filled by the means of the training rows."""
    table = task.table.copy()
    for columns, has_view in zip(task.views.values(), present.T):
        values = table[:, columns]
        gaps = np.isnan(values) & has_view[:, None]
        if gaps.any():
            known = values[train][has_view[train]]
            counts = (~np.isnan(known)).sum(axis=0)
            means = np.nansum(known, axis=0) / np.maximum(counts, 1)
            table[:, columns] = np.where(gaps, means, values)
    return table


def _labels(task: Task, method: Method, kind: str, rows: SplitRows) -> dict[str, AnyArray]:
    """Return the labels that a method is fitted on, as arguments of `fit`."""
    y = task.y[rows.numbers]
    if not task.labels_differ:
        return {"y": y if kind == GIVEN else _consensus_labels(task, rows, None)}
    if task.view_labels is not None:
        view_labels = task.view_labels[rows.numbers]
    else:
        view_labels, _ = add_label_noise(
            y, len(task.views), task.noise, views=task.noise_views, shared=task.noise_shared, random_state=rows.seed
        )
    if kind == PER_VIEW:
        if method.only_view is not None:
            return {"y": view_labels[:, list(task.views).index(method.only_view)]}
        return {"y": y, "view_labels": view_labels}
    if kind == CONSENSUS:
        return {"y": _consensus_labels(task, rows, view_labels)}
    majority = majority_labels(view_labels, np.random.default_rng(rows.seed), rows.present)
    if kind == MAJORITY:
        return {"y": majority}
    # The first view that is noisy; where a row lacks it, the majority of the others.
    view = 0 if task.noise_views == "all" else task.noise_views[0]
    return {"y": np.where(rows.present[:, view], view_labels[:, view], majority).astype(majority.dtype)}


def _consensus_labels(task: Task, rows: SplitRows, view_labels: AnyArray | None) -> AnyArray:
    """Return the labels that views and labels agree on."""
    consensus = LabelConsensus(views=task.views, random_state=rows.seed)
    groups = task.fit_groups(consensus, rows.numbers)
    return consensus.fit(task.table[rows.numbers], task.y[rows.numbers], view_labels=view_labels, **groups).labels_


def majority_labels(view_labels: AnyArray, rng: np.random.Generator, present: BoolArray | None = None) -> AnyArray:
    """Return the label that most of a row's present views give it; ties are drawn.

    An estimator breaks ties by the order of the views (`majority_codes`). A comparison must not: with two views, the
    majority would be the first view's label.

    Examples
    --------
    >>> majority_labels(np.array([[1, 1, 0], [0, 2, 2]]), np.random.default_rng(0)).tolist()
    [1, 2]
    """
    present = np.ones(view_labels.shape, dtype=bool) if present is None else present
    classes = np.unique(view_labels[present])
    votes = np.zeros((len(view_labels), len(classes)))
    for labels, has_view in zip(view_labels.T, present.T):
        votes[has_view, np.searchsorted(classes, labels[has_view])] += 1
    # Less than a vote, so that it decides between equals only.
    return classes[(votes + rng.uniform(0, 0.5, size=votes.shape)).argmax(axis=1)]
