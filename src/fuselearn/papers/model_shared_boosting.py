"""S2's experiments: MSSBoost against its five comparisons, on synthetic points and on real multi-label sets.

S2: Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007. Its two image
collections are not public; yeast and scene stand in for them (``fuselearn.datasets.fetch_views``). Everything of a
study comes from one set of runs, `compare_methods`; `label_sharing_tables` draws S2's table and figures from these.

All methods have the same solver, and ratios are chosen as in S2, by two-fold cross-validation. `settings="S2"` is the
paper's algorithm: exact support vector machines, one candidate for each label, no intercept. `settings="default"` is
what the classifiers do when nothing is set.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from fuselearn.arguments import check_choice, check_count
from fuselearn.datasets import make_overlapping_labels
from fuselearn.evaluation.result_table import Table
from fuselearn.multilabel import MSSBoostClassifier, NSBoostClassifier, RbfSVC, RSBagClassifier
from fuselearn.typing import ArrayLike, FloatArray, IntArray, RandomState

ENSEMBLES = {"RSBag": RSBagClassifier, "NSBoost": NSBoostClassifier, "MSSBoost": MSSBoostClassifier}
METHODS = ("Baseline", "Bagging", "Subspace", *ENSEMBLES)
TRAIN_SHARE = 0.75
TEST_SHARE = (1 - TRAIN_SHARE) / TRAIN_SHARE
"""Number of test rows by number of training rows."""
BAGS = 10
"""Models of a label in S2's bagging."""
SETTINGS: dict[str, dict[str, Any]] = {
    "S2": {"estimator": RbfSVC(), "pool_size": None, "fit_intercept": False},
    "default": {},
}
"""Settings of the ensembles: those of the paper, and none."""
FEW_MODELS = 35
"""Number of models at which S2 sees the largest gain of sharing (§6.2.2)."""


@dataclass(frozen=True)
class Run:
    """The results on one split of the data.

    Attributes
    ----------
    precisions : dict of method to ndarray of shape (n_labels,)
        Average precision of each label; NaN for a label that the test rows do not have.
    curves : dict of ensemble to ndarray of shape (n_models, n_labels)
        The same after each model.
    fit_seconds, predict_seconds : dict of method to float
        Of the processor: other work on the machine does not count.
    n_models, sizes : dict of method to int
    ratios : tuple of float
        Data ratio and feature ratio.
    stage_seconds : ndarray of shape (n_models,)
        CPU seconds that MSSBoost needs to predict with its first models, each number of them timed. This and the
        following are empty where MSSBoost was not run.
    weights : ndarray of shape (n_models, n_labels)
        Of MSSBoost's models for the labels.
    sources : int ndarray of shape (n_models,)
        Label that each model of MSSBoost was learned on.
    """

    precisions: dict[str, FloatArray]
    curves: dict[str, FloatArray]
    fit_seconds: dict[str, float]
    predict_seconds: dict[str, float]
    n_models: dict[str, int]
    sizes: dict[str, int]
    ratios: tuple[float, float]
    stage_seconds: FloatArray
    weights: FloatArray
    sources: IntArray


@dataclass(frozen=True)
class Comparison:
    """Every method on the same splits of a multi-label set.

    Attributes
    ----------
    name : str
    label_names : list of str
    label_frequencies : ndarray of shape (n_labels,)
    runs : list of Run
    """

    name: str
    label_names: list[str]
    label_frequencies: FloatArray
    runs: list[Run]

    def mean_precisions(self, method: str) -> FloatArray:
        """Return the mean average precision of each run."""
        return np.array([np.nanmean(run.precisions[method]) for run in self.runs])

    def label_precisions(self, method: str) -> FloatArray:
        """Return the average precision of each label, over the runs; NaN where the test rows of none have it."""
        precisions = np.ma.masked_invalid([run.precisions[method] for run in self.runs])
        return precisions.mean(axis=0).filled(np.nan)

    def curves(self, ensemble: str) -> FloatArray:
        """Return the mean average precision after each model (S2 figure 5); of shape (n_runs, n_models)."""
        return np.array([np.nanmean(run.curves[ensemble], axis=1) for run in self.runs])


def synthetic_curves(
    *, runs: int = 10, n_models: int = 20, n_jobs: int | None = None, random_state: RandomState = 0
) -> dict[str, FloatArray]:
    """Measure the test error against the number of stumps on the synthetic set (S2 §6.1, figure 4).

    Parameters
    ----------
    runs : int, default=10
        Number of random splits, 75 % of the points to train on.
    n_models : int, default=20
        Number of stumps.
    n_jobs : int, default=None
        Number of processes.
    random_state : int or RandomState, default=0
        Seed of points, splits and ensembles.

    Returns
    -------
    dict of ensemble to ndarray of shape (runs, n_models)
        Test errors.
    """
    check_count("runs", runs)
    X, Y = make_overlapping_labels(random_state=random_state)

    def errors_of_split(seed: int) -> dict[str, list[float]]:
        X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=TRAIN_SHARE, random_state=seed)
        errors = {}
        for name, ensemble in ENSEMBLES.items():
            stump = DecisionTreeClassifier(max_depth=1)
            model = ensemble(stump, n_estimators=n_models, data_ratio=0.1, feature_ratio=0.5, random_state=seed)
            model.fit(X_train, Y_train)
            errors[name] = [float(np.mean(predicted != Y_test)) for predicted in model.staged_predict(X_test)]
        return errors

    results = Parallel(n_jobs)(delayed(errors_of_split)(seed) for seed in _seeds(runs, random_state))
    return {name: np.array([result[name] for result in results]) for name in ENSEMBLES}


def synthetic_table(curves: Mapping[str, FloatArray]) -> Table:
    """Return the error after 5, 12 and all stumps, and the number that reaches NSBoost's error of 12 (S2 §6.1).

    Parameters
    ----------
    curves : dict of ensemble to ndarray of shape (runs, n_models)
        Test errors, of :func:`synthetic_curves`.

    Returns
    -------
    Table
        A row for each ensemble.
    """
    n_models = curves["MSSBoost"].shape[1]
    marks = [mark for mark in (5, 8, 12) if mark < n_models] + [n_models]
    goal = curves["NSBoost"].mean(axis=0)[min(12, n_models) - 1]
    rows = []
    for name, errors in curves.items():
        mean = errors.mean(axis=0)
        reached = np.flatnonzero(mean <= goal)
        rows.append((name, *mean[[mark - 1 for mark in marks]], int(reached[0]) + 1 if len(reached) else None))
    return Table(
        "Synthetic labels: test error against the number of stumps (S2 figure 4)",
        ("method", *(f"error, {mark} stumps" for mark in marks), "stumps to NSBoost's error of 12"),
        rows,
        note=f"Mean of {len(curves['MSSBoost'])} splits. S2: MSSBoost converges with 5 stumps, NSBoost needs 12.",
    )


def compare_methods(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    name: str = "data",
    label_names: Iterable[str] | None = None,
    methods: Sequence[str] = METHODS,
    runs: int = 10,
    n_models: int = 100,
    data_ratio: float | str = "auto",
    feature_ratio: float | str = "auto",
    settings: str = "S2",
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> Comparison:
    """Fit and score S2's six methods on random splits, 75 % of the rows to train on (S2 §6.2).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers.
    Y : array of shape (n_samples, n_labels)
        1 where a row has a label, else 0.
    name : str, default="data"
        Name of the set, for the titles of tables.
    label_names : sequence of str, default=None
        Names of the labels; None numbers them.
    methods : sequence of str, default=all six
        Some of ``"Baseline"`` (one SVM per label on all rows and columns), ``"Bagging"`` (ten of them), ``"Subspace"``
        (one base model per label), ``"RSBag"``, ``"NSBoost"`` and ``"MSSBoost"``.
    runs : int, default=10
        Number of random splits.
    n_models : int, default=100
        Number of base models of the last three.
    data_ratio, feature_ratio : float or "auto", default="auto"
        Chosen once for a split, for all methods that draw subspaces; the search is not part of their times.
    settings : {"S2", "default"}, default="S2"
        Whether base models are S2's, or those of the classifiers when nothing is set; see :data:`SETTINGS`.
    n_jobs : int, default=None
        Number of processes, each with its own run.
    random_state : int or RandomState, default=0
        Seed of splits and methods.

    Returns
    -------
    Comparison
        Average precisions, times and sizes of every run.
    """
    check_count("runs", runs)
    check_count("n_models", n_models)
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise ValueError(f"methods must be some of {list(METHODS)}; got {unknown[0]!r}.")
    X, Y = np.asarray(X), np.asarray(Y)
    names = [f"label{number}" for number in range(Y.shape[1])] if label_names is None else [str(n) for n in label_names]
    check_choice("settings", settings, tuple(SETTINGS))
    common = {**SETTINGS[settings], "data_ratio": data_ratio, "feature_ratio": feature_ratio}
    seeds = _seeds(runs, random_state)
    results = Parallel(n_jobs)(delayed(_run)(X, Y, methods, n_models, common, seed) for seed in seeds)
    return Comparison(name, names, Y.mean(axis=0), results)


def _seeds(runs: int, random_state: RandomState) -> list[int]:
    """Return a seed for each run."""
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=runs).tolist()


def _run(X: FloatArray, Y: IntArray, methods: Sequence[str], n_models: int, settings: dict[str, Any], seed: int) -> Run:
    """Fit and score the methods on one split."""
    X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=TRAIN_SHARE, random_state=seed)
    # One search for all: the first ensemble's, with a single model.
    search = RSBagClassifier(n_estimators=1, random_state=seed, **settings).fit(X_train, Y_train)
    settings = {**settings, "data_ratio": search.data_ratio_, "feature_ratio": search.feature_ratio_}
    n_labels = Y.shape[1]
    no_models = {"stage_seconds": np.empty(0), "weights": np.empty((0, n_labels)), "sources": np.empty(0, dtype=int)}
    run = Run({}, {}, {}, {}, {}, {}, (search.data_ratio_, search.feature_ratio_), **no_models)
    for name, model in _classifiers(methods, n_labels, n_models, settings, seed).items():
        start = time.process_time()
        model.fit(X_train, Y_train)
        fitted = time.process_time()
        decision = model.decision_function(X_test)
        run.fit_seconds[name] = fitted - start
        run.predict_seconds[name] = time.process_time() - fitted
        run.precisions[name] = _precisions(Y_test, decision)
        run.n_models[name], run.sizes[name] = _extent(model)
        if name in ENSEMBLES:
            stages = model.staged_decision_function(X_test)
            run.curves[name] = np.array([_precisions(Y_test, stage) for stage in stages])
        if name == "MSSBoost":
            seconds = _stage_seconds(model, X_test)
            run = replace(run, stage_seconds=seconds, weights=model.label_weights_, sources=model.source_labels_)
    return run


def _classifiers(
    methods: Sequence[str], n_labels: int, n_models: int, settings: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Return the unfitted classifiers of some methods, in S2's order."""
    common = {**settings, "random_state": seed}
    makers: dict[str, Callable[[], Any]] = {
        "Baseline": lambda: OneVsRestClassifier(RbfSVC()),
        "Bagging": lambda: OneVsRestClassifier(BaggingClassifier(RbfSVC(), n_estimators=BAGS, random_state=seed)),
        "Subspace": lambda: RSBagClassifier(n_estimators=n_labels, **common),
        **{name: partial(ensemble, n_estimators=n_models, **common) for name, ensemble in ENSEMBLES.items()},
    }
    return {name: makers[name]() for name in METHODS if name in methods}


def _stage_seconds(model: MSSBoostClassifier, X: FloatArray) -> FloatArray:
    """Return the CPU seconds to predict with the first model, the first two, and so on."""
    times = [time.process_time()]
    for n_models in range(1, len(model.estimators_) + 1):
        model.prune(n_models).decision_function(X)
        times.append(time.process_time())
    return np.diff(times)


def _precisions(Y: IntArray, decision: FloatArray) -> FloatArray:
    """Return the average precision of each label; NaN for a label that no row has."""
    return np.array(
        [average_precision_score(y, values) if y.any() else np.nan for y, values in zip(np.transpose(Y), decision.T)]
    )


def _extent(model: Any) -> tuple[int, int]:
    """Return the number of base models, and their size."""
    if hasattr(model, "model_size_"):
        return len(model.estimators_), model.model_size_
    machines = [machine for base in model.estimators_ for machine in getattr(base, "estimators_", [base])]
    return len(machines), sum(machine.support_vectors_.size for machine in machines)
