"""One cell of a comparison: one method on one run's splits, trained on one kind of labels.

Which labels a method is trained on, when each view has labels of its own (S0 §3.1).

How the papers split their data, by name.
"""

import time
from dataclasses import dataclass

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from fuselearn.consensus import LabelConsensus
from fuselearn.data import ViewBlocks
from fuselearn.evaluation.noise import add_label_noise

GIVEN, OWN, MAJORITY, ONE_VIEW, CONSENSUS = "given", "own", "majority", "one view", "consensus"
"""Kinds of labels to train on: the column that is there; each view's own; the views' majority; the first view's; what
label consensus makes of them."""


@dataclass(frozen=True)
class Task:
    """What all cells share.

    Attributes
    ----------
    table : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
    views : dict of name to column numbers
    view_labels : ndarray of shape (n_rows, n_views) or None
    protocol : Protocol
    noise : float
    noise_views : "all" or list of int
    noise_shared : bool
    scoring : str or callable
    seed : int
    """

    table: np.ndarray
    y: np.ndarray
    views: dict
    view_labels: np.ndarray | None
    protocol: object
    noise: float
    noise_views: object
    noise_shared: bool
    scoring: object
    seed: int

    @property
    def labels_differ(self):
        """Whether views have labels of their own."""
        return self.view_labels is not None or self.noise > 0

    def kinds(self, method):
        """Kinds of labels that a method is trained on, the first being the one that it is judged by."""
        if not self.labels_differ:
            return [GIVEN]
        if method.only_view is not None or method.takes_view_labels(self.views):
            return [OWN]
        return [MAJORITY, ONE_VIEW]


def run_cell(task, method, kind, run):
    """Fit and score a method on the splits of a run.

    Returns
    -------
    dict
        Score on each split, and total seconds of fitting and of scoring.
    """
    try:
        return _run_cell(task, method, kind, run)
    except ValueError as error:
        raise ValueError(f"{method.name} on {kind} labels, run {run}: {error}") from error


def _run_cell(task, method, kind, run):
    scorer = get_scorer(task.scoring) if isinstance(task.scoring, str) else task.scoring
    scores, fit_seconds, predict_seconds = [], 0.0, 0.0
    present = ViewBlocks.of(task.table, list(task.views), list(task.views.values())).present
    for number, (train, test) in enumerate(task.protocol.splits(task.y, run, task.seed)):
        # Nobody can learn from a row without any view.
        train = train[present[train].any(axis=1)]
        # The same noise and the same draws for every method.
        seed = int(np.random.SeedSequence([task.seed, run, number]).generate_state(1)[0] % 2**31)
        estimator = method.estimator(task.views, task.protocol.n_estimators, seed)
        table = _filled(task, present, train) if method.whole_views else task.table
        start = time.perf_counter()
        arguments = _labels(task, method, kind, train, present[train], seed)
        rows = table[train]
        if method.only_view is not None:
            has_view = present[train, list(task.views).index(method.only_view)]
            rows, arguments = rows[has_view], {name: labels[has_view] for name, labels in arguments.items()}
            if len(np.unique(arguments["y"])) < 2:
                estimator = DummyClassifier()
        estimator.fit(rows, **arguments)
        fitted = time.perf_counter()
        scores.append(float(scorer(estimator, table[test], task.y[test])))
        fit_seconds += fitted - start
        predict_seconds += time.perf_counter() - fitted
    if not np.isfinite(scores).all():
        raise ValueError(f"the score is {scores}, not a number")
    return {"scores": scores, "fit_seconds": fit_seconds, "predict_seconds": predict_seconds}


def _filled(task, present, train):
    """The table with gaps inside the views that a row has filled by the training rows' means."""
    table = task.table.copy()
    for columns, here in zip(task.views.values(), present.T):
        values = table[:, columns]
        gaps = np.isnan(values) & here[:, None]
        if gaps.any():
            known = values[train][here[train]]
            counts = (~np.isnan(known)).sum(axis=0)
            means = np.nansum(known, axis=0) / np.maximum(counts, 1)
            table[:, columns] = np.where(gaps, means, values)
    return table


def _labels(task, method, kind, train, present, seed):
    """Arguments of `fit` beside X."""
    y = task.y[train]
    if not task.labels_differ:
        return {"y": y} if kind == GIVEN else {"y": _agreed(task, train, y, None, seed)}
    if task.view_labels is not None:
        view_labels = task.view_labels[train]
    else:
        settings = {"views": task.noise_views, "shared": task.noise_shared, "random_state": seed}
        view_labels, _ = add_label_noise(y, len(task.views), task.noise, **settings)
    if kind == OWN:
        if method.only_view is not None:
            return {"y": view_labels[:, list(task.views).index(method.only_view)]}
        return {"y": y, "view_labels": view_labels}
    if kind == CONSENSUS:
        return {"y": _agreed(task, train, y, view_labels, seed)}
    majority = majority_labels(view_labels, np.random.default_rng(seed), present)
    if kind == MAJORITY:
        return {"y": majority}
    # The first view that is noisy; where a row lacks it, what the others say.
    one = 0 if task.noise_views == "all" else task.noise_views[0]
    return {"y": np.where(present[:, one], view_labels[:, one], majority).astype(majority.dtype)}


def _agreed(task, train, y, view_labels, seed):
    consensus = LabelConsensus(views=task.views, random_state=seed)
    return consensus.fit(task.table[train], y, view_labels=view_labels).labels_


def majority_labels(view_labels, rng, present=None):
    """What most views say of each row; ties are drawn.

    Parameters
    ----------
    view_labels : ndarray of shape (n_rows, n_views)
    rng : numpy.random.Generator
    present : bool ndarray of shape (n_rows, n_views), default=None
        Views that a row has: the labels of others are not looked at. Every row must have one.

    Examples
    --------
    >>> majority_labels(np.array([[1, 1, 0], [0, 2, 2]]), np.random.default_rng(0)).tolist()
    [1, 2]
    """
    present = np.ones(view_labels.shape, dtype=bool) if present is None else present
    classes = np.unique(view_labels[present])
    votes = np.zeros((len(view_labels), len(classes)))
    for column, here in zip(view_labels.T, present.T):
        votes[here, np.searchsorted(classes, column[here])] += 1
    # Less than a vote, so that it decides between equals only.
    return classes[(votes + rng.uniform(0, 0.5, size=votes.shape)).argmax(axis=1)]


@dataclass(frozen=True)
class Protocol:
    """Repeated splits into training and test rows.

    Attributes
    ----------
    runs : int
    train_size : float or None
        Share of the rows to train on.
    folds : int or None
        Instead of one split, a run is a cross-validation of so many folds, and its score their mean.
    n_estimators : int or None
        Rounds of boosting methods.
    """

    runs: int
    train_size: float | None = None
    folds: int | None = None
    n_estimators: int | None = None

    @property
    def test_share(self):
        """Number of test rows by number of training rows."""
        return 1 / (self.folds - 1) if self.folds else (1 - self.train_size) / self.train_size

    def splits(self, y, run, seed):
        """List of (training rows, test rows) of a run, drawn within classes."""
        state = (seed + 7919 * run) % 2**32
        if self.folds:
            splitter = StratifiedKFold(self.folds, shuffle=True, random_state=state)
        else:
            splitter = StratifiedShuffleSplit(1, train_size=self.train_size, random_state=state)
        return list(splitter.split(y, y))


PROTOCOLS = {
    "bssd": Protocol(runs=20, train_size=0.6),
    "shareboost": Protocol(runs=30, train_size=0.6, n_estimators=150),
    "mssboost": Protocol(runs=10, train_size=0.75),
    "shared_distribution": Protocol(runs=10, train_size=0.5, n_estimators=30),
    "tomographic": Protocol(runs=1400, folds=3),
}
"""S0, S1, S2, S3 and S4."""
