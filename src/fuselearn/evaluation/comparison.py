"""Every method on the same splits, and what can be said of their differences."""

import sys
import time
import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from numbers import Real

import numpy as np
from joblib import Parallel, delayed
from joblib import hash as content_hash
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import type_of_target

from fuselearn.data import ViewBlocks, check_on_host, encode_view_labels, resolve_views
from fuselearn.data.table import data_frame
from fuselearn.estimators import check_choice, check_count, check_flag, check_jobs
from fuselearn.evaluation.cells import CONSENSUS, ONE_VIEW, PROTOCOLS, Protocol, Task, run_cell
from fuselearn.evaluation.result_store import CellStore, fingerprint
from fuselearn.evaluation.result_table import Table
from fuselearn.evaluation.statistics import interval, mean_ranks, paired_tests
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.registry import resolve_methods

DECIMALS = {"fit seconds": 2, "predict seconds": 3, "mean rank": 1}


def compare(
    X,
    y,
    *,
    views=None,
    methods="default",
    noise=0.0,
    noise_views="all",
    noise_shared=False,
    view_labels=None,
    consensus=False,
    protocol=None,
    runs=20,
    train_size=0.6,
    scoring="accuracy",
    n_jobs=None,
    random_state=None,
    resume=None,
    verbose=0,
):
    """Compare fusion methods, and every view alone, on the same splits.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Labels that are taken to be true: methods are judged by them.
    views : dict, list or None, default=None
        Views of the columns of `X`.
    methods : "default", "all", list of names, or dict of name to estimator, default="default"
        See :data:`fuselearn.registry.MAKERS`; "view:NAME" is the view of that name alone.
    noise : float, default=0.0
        Share of the training labels that are flipped, for each view independently, as in S0 and S1. Methods that take
        one label column get the majority of the views' labels, and in a second column those of the first view.
    noise_views : "all" or list of names, default="all"
        Views whose labels are flipped.
    noise_shared : bool, default=False
        Flip the same labels for all of them.
    view_labels : array of shape (n_samples, n_views), default=None
        Each view's own labels to train on, instead of noise.
    consensus : bool, default=False
        Try every method once more on the labels that :class:`~fuselearn.LabelConsensus` agrees on.
    protocol : {"bssd", "shareboost", "mssboost", "shared_distribution", "tomographic"}, default=None
        Runs, split and rounds of a paper, instead of `runs` and `train_size`.
    runs : int, default=20
        Number of random splits.
    train_size : float, default=0.6
        Share of the rows to train on.
    scoring : str or callable, default="accuracy"
        What scikit-learn takes; higher is better.
    n_jobs : int, default=None
        Processes. The numbers are the same for any.
    random_state : int, RandomState or None, default=None
    resume : str or Path, default=None
        File that keeps finished fits. Where it exists, the comparison goes on from it.
    verbose : int, default=0
        1 shows progress and the time left.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(
    ...     X,
    ...     y,
    ...     views={"sepal": [0, 1], "petal": [2, 3]},
    ...     runs=3,
    ...     random_state=0,
    ...     methods=["shareboost", "svm_sum", "view:petal"],
    ... )
    >>> result.best
    'view:petal'
    >>> result.scores.shape
    (3, 3)
    """
    for name, value in (("noise_shared", noise_shared), ("consensus", consensus)):
        check_flag(name, value)
    check_jobs(n_jobs)
    table, y, columns = _read(X, y, views)
    chosen = resolve_methods(methods, list(columns))
    settled = _protocol(protocol, runs, train_size)
    _check_counts(y, settled, chosen, consensus)
    _check_scoring(scoring, y)
    seed = CellStore.seed_of(resume) if resume is not None and random_state is None else None
    if seed is None:
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    task = Task(
        table,
        y,
        columns,
        _checked_view_labels(view_labels, noise, table, columns, y),
        settled,
        _checked_noise(noise),
        _numbers_of(noise_views, list(columns)),
        bool(noise_shared),
        scoring,
        seed,
    )
    trials = _trials(task, chosen, consensus)
    store = CellStore(resume, _header(task) if resume is not None else {})
    runs = range(settled.runs)
    try:
        _fill(store, task, trials, runs, n_jobs, verbose)
    except KeyboardInterrupt:
        runs = [run for run in runs if all(trial.key(run) in store for trial in trials)]
        if not runs:
            raise
        warnings.warn(
            f"Interrupted: the comparison has the {len(runs)} of {settled.runs} runs that were done.",
            InterruptedFitWarning,
            stacklevel=2,
        )
    return Comparison(task, trials, store, runs)


@dataclass(frozen=True)
class Trial:
    """A row of the leaderboard: a method, and the kind of labels it is trained on."""

    name: str
    method: object
    kind: str
    fingerprint: str

    def key(self, run):
        return (self.name, self.kind, self.fingerprint, run)


class Comparison:
    """Scores of methods on the same splits.

    Attributes
    ----------
    methods : list of str
        From the best to the worst.
    scores : ndarray of shape (n_methods, n_runs)
    best : str
    """

    def __init__(self, task, trials, store, runs):
        self._task = task
        self._n_runs = len(runs)
        self._cells = {(trial.name, trial.kind): [store[trial.key(run)] for run in runs] for trial in trials}
        judged = [trial for trial in trials if trial.kind != ONE_VIEW]
        judged.sort(key=lambda trial: -np.mean(self._column(trial.name, trial.kind, "scores")))
        self._judged = judged
        self.methods = [trial.name for trial in judged]
        # Folds of a run are not averaged for the tests: their number is part of what these correct for.
        self._fold_scores = np.array([np.ravel(self._column(trial.name, trial.kind, "scores")) for trial in judged])
        self.scores = np.array([np.mean(self._column(trial.name, trial.kind, "scores"), axis=1) for trial in judged])
        self.best = self.methods[0]

    @cached_property
    def summary(self):
        """The leaderboard as a :class:`~fuselearn.evaluation.Table`."""
        share = self._task.protocol.test_share
        score = self._task.scoring if isinstance(self._task.scoring, str) else "score"
        one_view = any(kind == ONE_VIEW for _, kind in self._cells)
        columns = ["method", score, "low", "high", *(["one view's labels"] if one_view else [])]
        columns += ["mean rank", "behind best", "p (t)", "p (corrected)", "p (sign)", "fit seconds", "predict seconds"]
        rows = []
        for trial, scores, rank in zip(self._judged, self._fold_scores, mean_ranks(self.scores)):
            tests = paired_tests(self._fold_scores[0], scores, share)
            first = trial.name == self.best
            other = self._cells.get((trial.name, ONE_VIEW))
            rows.append(
                [
                    trial.name,
                    float(scores.mean()),
                    *interval(scores, share),
                    *([float(np.mean([cell["scores"] for cell in other])) if other else None] if one_view else []),
                    float(rank),
                    tests.difference,
                    *([None] * 3 if first else (tests.t, tests.corrected, tests.sign)),
                    float(np.mean(self._column(trial.name, trial.kind, "fit_seconds"))),
                    float(np.mean(self._column(trial.name, trial.kind, "predict_seconds"))),
                ]
            )
        return Table(self._title(), tuple(columns), tuple(map(tuple, rows)), note=self._note(), decimals=DECIMALS)

    @property
    def table(self):
        """The leaderboard as a data frame (pandas where it is installed, else polars or Arrow)."""
        return data_frame({name: list(self.summary.column(name)) for name in self.summary.columns})

    def save(self, path):
        """Write the leaderboard as Markdown, JSON, CSV or text, by the suffix of `path`."""
        self.summary.save(path)

    def __str__(self):
        return self.summary.to_text()

    def __repr__(self):
        return f"<Comparison of {len(self.methods)} methods over {self._n_runs} runs; best: {self.best}>"

    def _column(self, name, kind, what):
        return [cell[what] for cell in self._cells[name, kind]]

    def _title(self):
        rows, views = len(self._task.y), len(self._task.views)
        noise = f", {self._task.noise:.0%} of the labels flipped" if self._task.noise else ""
        return f"{rows} objects, {views} views, {self._n_runs} runs{noise}"

    def _note(self):
        protocol = self._task.protocol
        split = f"{protocol.folds} folds" if protocol.folds else f"{protocol.train_size:.0%} to train on"
        return (
            f"Each run: {split}. low, high: 95 % interval of the mean, corrected for overlapping splits (Nadeau and "
            "Bengio). behind best and p: against the first row; p (t) is the papers' paired t-test, which takes the "
            "splits to be independent."
        )


def _read(X, y, views):
    check_on_host(X, "X", "compare")
    check_on_host(y, "y", "compare")
    table = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", estimator="compare")
    names, columns = resolve_views(views, X, table.shape[1])
    y = column_or_1d(y)
    if len(y) != len(table):
        raise ValueError(f"y must hold a label for each of the {len(table)} rows of X; got {len(y)}.")
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"y must hold classes; its values are {kind}. fuselearn compares classifiers: cut a measured quantity into "
            "classes first."
        )
    if len(np.unique(y)) < 2:
        raise ValueError(f"y must hold at least two classes; it has {np.unique(y).tolist()}.")
    return table, y, dict(zip(names, columns))


def _protocol(protocol, runs, train_size):
    if protocol is not None:
        check_choice("protocol", protocol, PROTOCOLS)
        return PROTOCOLS[protocol]
    check_count("runs", runs)
    if not (isinstance(train_size, Real) and 0 < train_size < 1):
        raise ValueError(f"train_size must be between 0 and 1; got {train_size!r}.")
    return Protocol(runs=int(runs), train_size=float(train_size))


def _check_counts(y, protocol, methods, consensus):
    """Each class must be on both sides of every split, and in every fold of what methods try inside."""
    classes, counts = np.unique(y, return_counts=True)
    rarest = int(counts.argmin())
    label, count = classes.tolist()[rarest], int(counts[rarest])
    needed = protocol.folds or 2
    if count < needed:
        raise ValueError(
            f"y has {count} objects of the class {label!r}; a comparison needs at least {needed} of each class to have "
            "it in every part of a split."
        )
    share = 1 - 1 / protocol.folds if protocol.folds else protocol.train_size
    trained_on = int(count * share)
    inner = {method.name: method.folds for method in methods} | ({"consensus": 5} if consensus else {})
    most = max(inner, key=inner.get)
    if trained_on < inner[most]:
        raise ValueError(
            f"y has {count} objects of the class {label!r}, of which about {trained_on} are trained on; {most} makes "
            f"{inner[most]} folds of them. Leave {most} out, or merge or drop the class."
        )


def _check_scoring(scoring, y):
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            near = get_close_matches(scoring, get_scorer_names(), n=3)
            raise ValueError(f"scoring {scoring!r} is not a score of scikit-learn; near names are {near}.")
        if scoring in ("roc_auc", "average_precision") and len(np.unique(y)) > 2:
            raise ValueError(
                f"scoring {scoring!r} is of two classes; for more use 'roc_auc_ovr' or 'balanced_accuracy'."
            )
    elif not callable(scoring):
        raise ValueError(f"scoring must be a name or a function of (estimator, X, y); got {scoring!r}.")


def _checked_noise(noise):
    if isinstance(noise, bool) or not (isinstance(noise, Real) and 0 <= noise < 1):
        raise ValueError(f"noise must be at least 0 and below 1, a share of the labels; got {noise!r}.")
    return float(noise)


def _numbers_of(noise_views, names):
    """Views to be made noisy, as `add_label_noise` takes them."""
    if isinstance(noise_views, str) and noise_views == "all":
        return "all"
    listed = isinstance(noise_views, list | tuple) and len(noise_views) > 0
    if not listed or any(name not in names for name in noise_views):
        raise ValueError(f"noise_views must be 'all' or a list of the views {names}; got {noise_views!r}.")
    return [names.index(name) for name in noise_views]


def _checked_view_labels(view_labels, noise, table, columns, y):
    if view_labels is None:
        return None
    view_labels = np.asarray(view_labels)
    expected = (len(table), len(columns))
    if view_labels.shape != expected:
        raise ValueError(f"view_labels must have shape (n_samples, n_views) = {expected}; got {view_labels.shape}.")
    if noise:
        raise ValueError("view_labels and noise cannot be given both: noise makes view labels of its own.")
    blocks = ViewBlocks.of(table, list(columns), list(columns.values()))
    encode_view_labels(view_labels, np.unique(y), list(columns), blocks.present)  # refuses other classes
    return view_labels


def _trials(task, methods, consensus):
    trials = []
    for method in methods:
        # A method whose settings changed is another one, and its cells are computed anew.
        own = fingerprint(method.estimator(task.views, task.protocol.n_estimators, 0))[:16]
        trials += [Trial(method.name, method, kind, own) for kind in task.kinds(method)]
        if consensus:
            trials.append(Trial(f"{method.name} + consensus", method, CONSENSUS, own))
    return trials


def _header(task):
    """What makes two comparisons the same."""
    return {
        "rows": len(task.y),
        "protocol": [task.protocol.train_size, task.protocol.folds, task.protocol.n_estimators],
        "noise": [task.noise, task.noise_views, task.noise_shared],
        "scoring": task.scoring if isinstance(task.scoring, str) else fingerprint(task.scoring),
        "seed": task.seed,
        "views": content_hash({name: columns.tolist() for name, columns in task.views.items()}),
        "data": content_hash([task.table, task.y, task.view_labels]),
    }


def _fill(store, task, trials, runs, n_jobs, verbose):
    """Compute the cells that are not there yet, and keep each as soon as it is done."""
    missing = [(trial, run) for run in runs for trial in trials if trial.key(run) not in store]
    started = time.monotonic()
    cells = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_computed)(task, trial, run) for trial, run in missing
    )
    for number, (key, cell) in enumerate(cells, start=1):
        store.add(key, cell)
        if verbose:
            _tell(number, len(missing), time.monotonic() - started)


def _computed(task, trial, run):
    return trial.key(run), run_cell(task, trial.method, trial.kind, run)


def _tell(done, total, seconds):
    left = seconds / done * (total - done)
    end = "\n" if done == total else ""
    print(f"\r{done} of {total} fits, {left:.0f} s left ", end=end, file=sys.stderr, flush=True)
