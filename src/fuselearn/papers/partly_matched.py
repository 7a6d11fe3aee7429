"""Digits in three views of which some matches are known: the gain of these, and the cost of an absent view.

S4 says that its method serves where features are missing in a part of the objects (§5), and has no experiment on it.
This is ours, on the handwritten digits of mfeat, ten classes, in the views fou (76 Fourier coefficients), kar (64
Karhunen-Loève coefficients) and zer (47 Zernike moments).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from fuselearn.arguments import check_choice, check_count, check_jobs
from fuselearn.datasets import fetch_views
from fuselearn.evaluation.leaderboard import half_interval
from fuselearn.evaluation.result_table import Cell, Table
from fuselearn.kernels import MKLClassifier, TomographicClassifier
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.papers.verdicts import Effort, Outcome, Pair, judge
from fuselearn.typing import AnyArray, BoolArray, FloatArray, RandomState

VIEWS = ("fou", "kar", "zer")
SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)
FUSIONS = ("tomographic", "cartesian")
MACHINES = ("tomographic", "MKL uniform")
TRAIN_ROWS, TEST_ROWS = 300, 700
CLAIMS = {
    "matches": "S4 §5: known matches of a part of the objects help",
    "matches plain": "The same by the plain paired interval, which takes trials for independent",
    "order": "S4 §3: without known matches, the tomographic order is better than pairing at random within the class",
    "order plain": "The same by the plain paired interval, which takes trials for independent",
}


@dataclass(frozen=True)
class PartlyMatched:
    """Test accuracies of every trial.

    Attributes
    ----------
    shares : tuple of float
        Shares of the training objects whose matches are known.
    matched : ndarray of shape (n_fusions, n_shares, n_trials)
        Accuracy for tomographic and cartesian fusion.
    views : tuple of str
        Names of the views, of which each is absent in turn.
    absent : ndarray of shape (n_machines, n_views, 3, n_trials)
        Accuracy for tomographic fusion of unmatched objects and for MKL of matched ones: of test objects with all
        views; of the same without one; and, of a machine that was trained without it, of the same.
    settings : str
        Data and kernels in words, for the notes of tables.
    """

    shares: tuple[float, ...]
    matched: FloatArray
    views: tuple[str, ...]
    absent: FloatArray
    settings: str

    def table(self) -> Table:
        """Return the accuracy in % with 95 % intervals, each share against none known by a paired t-test."""
        rows: list[tuple[Cell, ...]] = []
        for fusion, runs in zip(FUSIONS, 100 * self.matched):
            for share, values in zip(self.shares, runs):
                gain = values - runs[0]
                p_value = stats.ttest_1samp(gain, 0).pvalue if np.ptp(gain) > 0 else None
                against_none = (None,) * 3 if share == 0 else (gain.mean(), half_interval(gain), p_value)
                rows.append((fusion, 100 * share, values.mean(), half_interval(values), *against_none))
        columns = ("fusion", "known matches", "accuracy", "± 95 %", "gain", "± gain", "p")
        return Table(
            "Partly matched digits: test accuracy in %",
            columns,
            rows,
            f"{self.settings} Intervals and two-sided paired t-tests are over trials. These share objects, so the true "
            "p values are larger: what is not significant here is not significant.",
            {"known matches": 0, "accuracy": 2, "± 95 %": 2, "gain": 2, "± gain": 2, "p": 4},
        )

    def absent_table(self) -> Table:
        """Return the accuracy in % when test objects lack a view, against a machine that never had it."""
        rows = []
        for machine, by_view in zip(MACHINES, 100 * self.absent):
            for view, (complete, lacking, never) in zip(self.views, by_view):
                means = [values.mean() for values in (complete, lacking, never)]
                loss = never - lacking
                rows.append((machine, view, *means, loss.mean(), half_interval(loss)))
        columns = ("machine", "absent view", "all views", "absent in test", "never had it", "cost", "± 95 %")
        return Table(
            "Digits that lack a view: test accuracy in %",
            columns,
            rows,
            f"{self.settings} Cost: never had it less absent in test. Tomographic fusion was trained on unmatched "
            "objects, MKL on matched ones.",
            dict.fromkeys(columns[2:], 2),
        )


def run(effort: Effort) -> Outcome:
    """Measure what S4's §5 claims; it has no experiment of its own."""
    trials = effort.count(full=20, quick=3)
    result = partly_matched(trials=trials, n_jobs=effort.n_jobs, random_state=effort.seed)
    tomographic, cartesian = result.matched
    half = result.shares.index(0.5)
    # 700 rows to test on and 300 to train on: the correction for shared rows is large, so both intervals are shown.
    findings = [
        judge(CLAIMS[claim + plain], [Pair(where, first, second, test_share)])
        for claim, where, first, second in (
            ("matches", "half of the matches known", tomographic[half], tomographic[0]),
            ("order", "no match known", tomographic[0], cartesian[0]),
        )
        for plain, test_share in (("", TEST_ROWS / TRAIN_ROWS), (" plain", 0.0))
    ]
    return Outcome([result.table(), result.absent_table()], findings)


def partly_matched(
    *,
    trials: int = 20,
    train_size: int = TRAIN_ROWS,
    kernel: Literal["linear", "rbf"] = "rbf",
    shares: Sequence[float] = SHARES,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> PartlyMatched:
    """Train with some of the matches known, and test with a view absent.

    Parameters
    ----------
    trials : int, default=20
        Number of random splits, at least 2.
    train_size : int, default=300
        Number of training objects, out of 2000; 700 others are the test set.
    kernel : {"linear", "rbf"}, default="rbf"
        Kernel of every view.
    shares : sequence of float, default=(0, 0.1, 0.5, 0.9, 1)
        Shares of the training objects whose matches are known, 0 first. The others are split up: each view of them is a
        row of its own. Within a trial, objects that are matched at a share stay so at larger ones.
    n_jobs : int, default=None
        Number of processes. The result is the same for any.
    random_state : int, RandomState or None, default=0
        Seed of splits, matches and fusions.

    Returns
    -------
    PartlyMatched
        Accuracies of every trial.

    Notes
    -----
    Columns are standardised by the training objects. The machines have the defaults of their classes but for the
    kernel. A share is of each class alike, rounded.

    Examples
    --------
    >>> from fuselearn.papers.partly_matched import partly_matched
    >>> print(partly_matched(trials=10).table())  # doctest: +SKIP
    """
    check_count("trials", trials, 2)
    check_count("train_size", train_size, 20)
    check_choice("kernel", kernel, ("linear", "rbf"))
    check_jobs(n_jobs)
    shares = _checked_shares(shares)
    data = fetch_views("mfeat")
    if train_size > len(data.y) - TEST_ROWS:
        raise ValueError(f"train_size must leave {TEST_ROWS} of the {len(data.y)} objects to test; got {train_size!r}.")
    blocks = [data.X[:, data.views[name]] for name in VIEWS]
    ends = np.cumsum([block.shape[1] for block in blocks]).tolist()
    views = {name: slice(start, end) for name, start, end in zip(VIEWS, [0, *ends[:-1]], ends)}
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=trials)
    tasks = (delayed(_trial)(np.hstack(blocks), data.y, views, train_size, kernel, shares, seed) for seed in seeds)
    matched, absent = zip(*Parallel(n_jobs=n_jobs)(tasks))
    settings = (
        f"mfeat, views {', '.join(VIEWS)}, {kernel} kernels, {train_size} training and {TEST_ROWS} test objects, "
        f"{trials} trials."
    )
    return PartlyMatched(shares, np.stack(matched, axis=-1), VIEWS, np.stack(absent, axis=-1), settings)


def unmatch(
    X: FloatArray,
    y: AnyArray,
    views: Mapping[str, slice],
    matched: BoolArray,
    generator: np.random.RandomState,
) -> tuple[FloatArray, AnyArray]:
    """Return rows that each hold one view, but for the objects that stay matched, and their labels; in random order.

    Examples
    --------
    >>> import numpy as np
    >>> X, views = np.array([[1.0, 2.0], [3.0, 4.0]]), {"a": slice(0, 1), "b": slice(1, 2)}
    >>> rows, labels = unmatch(X, np.array([0, 1]), views, np.array([True, False]), np.random.RandomState(0))
    >>> rows[np.argsort(labels, kind="stable")].shape, labels.tolist().count(1)
    ((3, 2), 2)
    """
    others = X[~matched]
    blocks, labels = [X[matched]], [y[matched]]
    for columns in views.values():
        block = np.full_like(others, np.nan)
        block[:, columns] = others[:, columns]
        blocks.append(block)
        labels.append(y[~matched])
    X, y = np.vstack(blocks), np.concatenate(labels)
    order = generator.permutation(len(y))
    return X[order], y[order]


def _checked_shares(shares: Sequence[float]) -> tuple[float, ...]:
    """Return shares from 0 to 1, of which the first is 0."""
    try:
        checked = tuple(float(share) for share in shares)
    except (TypeError, ValueError):
        checked = ()
    if not checked or checked[0] != 0 or not all(0 <= share <= 1 for share in checked):
        raise ValueError(f"shares must be numbers from 0 to 1, the first of them 0; got {shares!r}.")
    return checked


# One thread for matrix products: their last bits depend on the number, and processes have fewer than their parent.
@single_threaded_blas()
def _trial(
    X: FloatArray,
    y: AnyArray,
    views: Mapping[str, slice],
    train_size: int,
    kernel: str,
    shares: Sequence[float],
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the accuracies by fusion and share, and those with absent views, of one split."""
    generator = np.random.RandomState(seed)
    train, test = train_test_split(
        np.arange(len(y)), train_size=train_size, test_size=TEST_ROWS, stratify=y, random_state=generator
    )
    scaler = StandardScaler().fit(X[train])
    X_train, X_test, y_train, y_test = scaler.transform(X[train]), scaler.transform(X[test]), y[train], y[test]
    ranks = _ranks_in_class(y_train, generator)
    models = [
        TomographicClassifier(views=views, kernel=kernel, correspondence=fusion, random_state=seed)
        for fusion in FUSIONS
    ]
    accuracies = np.empty((len(models), len(shares)))
    for place, share in enumerate(shares):
        rows, labels = unmatch(X_train, y_train, views, ranks < share, np.random.RandomState(seed))
        accuracies[:, place] = [clone(model).fit(rows, labels).score(X_test, y_test) for model in models]
    unmatched = unmatch(X_train, y_train, views, np.zeros(len(train), dtype=bool), np.random.RandomState(seed))
    absent = [
        _without_each_view(models[0], *unmatched, X_test, y_test, views),
        _without_each_view(MKLClassifier(views=views, kernel=kernel), X_train, y_train, X_test, y_test, views),
    ]
    return accuracies, np.array(absent)


def _ranks_in_class(y: AnyArray, generator: np.random.RandomState) -> FloatArray:
    """Return each object's place in a random order of its class, from 0 to 1: a share is all that ranks below it."""
    ranks = np.empty(len(y))
    for code in np.unique(y):
        here = np.flatnonzero(y == code)
        ranks[generator.permutation(here)] = (np.arange(len(here)) + 0.5) / len(here)
    return ranks


def _without_each_view(
    model: TomographicClassifier | MKLClassifier,
    X: FloatArray,
    y: AnyArray,
    X_test: FloatArray,
    y_test: AnyArray,
    views: Mapping[str, slice],
) -> FloatArray:
    """Return the accuracy with all views, with one absent in the test, and of a model without it: (n_views, 3)."""
    model = clone(model).fit(X, y)
    complete = model.score(X_test, y_test)
    accuracies = []
    for name, columns in views.items():
        lacking = X_test.copy()
        lacking[:, columns] = np.nan
        others = {other: where for other, where in views.items() if other != name}
        # Rows that held the absent view only have nothing left to learn from.
        seen = ~np.isnan(np.hstack([X[:, where] for where in others.values()])).all(axis=1)
        without = clone(model).set_params(views=others).fit(X[seen], y[seen])
        accuracies.append((complete, model.score(lacking, y_test), without.score(X_test, y_test)))
    return np.array(accuracies)
