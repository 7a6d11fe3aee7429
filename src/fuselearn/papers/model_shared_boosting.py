"""S2's experiments: MSSBoost against its five comparisons, on synthetic points and on real multi-label sets.

S2: Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007. Its two image
collections are not public; yeast and scene stand in for them (``fuselearn.datasets.fetch_views``). Everything of a
study comes from one set of runs, `compare_methods`; the functions after it draw S2's table and figures from these.

Ratios are chosen as in S2, by two-fold cross-validation. S2's pool has one candidate for each of its 39 or 33 labels;
one for each of scene's six would leave little to choose from, so the pool has 39 here too.
"""

import time
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from fuselearn.datasets import make_overlapping_labels
from fuselearn.estimators import check_count
from fuselearn.evaluation.result_table import Table
from fuselearn.evaluation.statistics import paired_tests
from fuselearn.multilabel import MSSBoostClassifier, NSBoostClassifier, RSBagClassifier

ENSEMBLES = {"RSBag": RSBagClassifier, "NSBoost": NSBoostClassifier, "MSSBoost": MSSBoostClassifier}
METHODS = ("Baseline", "Bagging", "Subspace", *ENSEMBLES)
TRAIN_SHARE = 0.75
BAGS = 10
"""Models of a label in S2's bagging."""
POOL = 39
"""Candidates of S2's pool on its TREC collection."""
FEW_MODELS = 35
"""Where S2 sees the largest gain of sharing (§6.2.2)."""


@dataclass(frozen=True)
class Run:
    """One split of the data.

    Attributes
    ----------
    precisions : dict of method to ndarray of shape (n_labels,)
        Average precision of each label; NaN for a label that the test rows do not have.
    curves : dict of ensemble to ndarray of shape (n_models, n_labels)
        The same after each model.
    fit_seconds, predict_seconds : dict of method to float
        Of the processor: other work on the machine does not count.
    stage_seconds : ndarray of shape (n_models,)
        What MSSBoost needs to predict with its first models, each number of them timed.
    n_models, sizes : dict of method to int
    weights : ndarray of shape (n_models, n_labels)
        MSSBoost's.
    sources : int ndarray of shape (n_models,)
    ratios : tuple of float
        Data ratio and feature ratio.
    """

    precisions: dict
    curves: dict
    fit_seconds: dict
    predict_seconds: dict
    stage_seconds: np.ndarray
    n_models: dict
    sizes: dict
    weights: np.ndarray
    sources: np.ndarray
    ratios: tuple


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
    label_names: list
    label_frequencies: np.ndarray
    runs: list

    def mean_precisions(self, method):
        """Mean average precision of each run."""
        return np.array([np.nanmean(run.precisions[method]) for run in self.runs])

    def label_precisions(self, method):
        """Average precision of each label, over the runs; NaN where the test rows of none have it."""
        precisions = np.ma.masked_invalid([run.precisions[method] for run in self.runs])
        return precisions.mean(axis=0).filled(np.nan)

    def curves(self, ensemble):
        """Mean average precision after each model (S2 figure 5); of shape (n_runs, n_models)."""
        return np.array([np.nanmean(run.curves[ensemble], axis=1) for run in self.runs])


def synthetic_curves(*, runs=10, n_models=20, n_jobs=None, random_state=0):
    """Test error against the number of stumps on the synthetic set (S2 §6.1, figure 4).

    Parameters
    ----------
    runs : int, default=10
        Random splits, 75 % of the points to train on.
    n_models : int, default=20
    n_jobs : int, default=None
    random_state : int or RandomState, default=0

    Returns
    -------
    dict of ensemble to ndarray of shape (runs, n_models)
    """
    check_count("runs", runs)
    X, Y = make_overlapping_labels(random_state=random_state)

    def one(seed):
        X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=TRAIN_SHARE, random_state=seed)
        settings = {"n_estimators": n_models, "data_ratio": 0.1, "feature_ratio": 0.5, "random_state": seed}
        errors = {}
        for name, kind in ENSEMBLES.items():
            model = kind(DecisionTreeClassifier(max_depth=1), **settings).fit(X_train, Y_train)
            errors[name] = [np.mean(predicted != Y_test) for predicted in model.staged_predict(X_test)]
        return errors

    results = Parallel(n_jobs)(delayed(one)(seed) for seed in _seeds(runs, random_state))
    return {name: np.array([result[name] for result in results]) for name in ENSEMBLES}


def synthetic_table(curves):
    """Error after 5, 12 and all stumps, and how many stumps reach what NSBoost has after 12 (S2 §6.1)."""
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
    X,
    Y,
    *,
    name="data",
    label_names=None,
    methods=METHODS,
    runs=10,
    n_models=100,
    data_ratio="auto",
    feature_ratio="auto",
    pool_size=POOL,
    n_jobs=None,
    random_state=0,
):
    """Fit and judge S2's six methods on random splits, 75 % of the rows to train on (S2 §6.2).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    Y : indicator array of shape (n_samples, n_labels)
    name : str, default="data"
    label_names : sequence of str, default=None
    methods : sequence of str, default=all six
        Some of ``"Baseline"`` (one SVM per label on all rows and columns), ``"Bagging"`` (ten of them), ``"Subspace"``
        (one base model per label), ``"RSBag"``, ``"NSBoost"`` and ``"MSSBoost"``.
    runs : int, default=10
    n_models : int, default=100
        Base models of the last three.
    data_ratio, feature_ratio : float or "auto", default="auto"
        Chosen once for a split, for all methods that draw subspaces; the search is not part of their times.
    pool_size : int or None, default=39
    n_jobs : int, default=None
        Runs side by side, in processes.
    random_state : int or RandomState, default=0

    Returns
    -------
    Comparison
    """
    check_count("runs", runs)
    check_count("n_models", n_models)
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise ValueError(f"methods must be some of {list(METHODS)}; got {unknown[0]!r}.")
    X, Y = np.asarray(X), np.asarray(Y)
    names = [f"label{number}" for number in range(Y.shape[1])] if label_names is None else [str(n) for n in label_names]
    settings = {"data_ratio": data_ratio, "feature_ratio": feature_ratio, "pool_size": pool_size}
    seeds = _seeds(runs, random_state)
    done = Parallel(n_jobs)(delayed(_one_run)(X, Y, methods, n_models, settings, seed) for seed in seeds)
    return Comparison(name, names, Y.mean(axis=0), done)


def method_table(comparison):
    """Mean AP, time, models and size of every method (S2 table 2)."""
    rows = []
    for method in comparison.runs[0].precisions:
        scores = comparison.mean_precisions(method)
        rows.append(
            (
                method,
                scores.mean(),
                _half_width(scores),
                _mean(comparison, "fit_seconds", method),
                _mean(comparison, "predict_seconds", method),
                comparison.runs[0].n_models[method],
                round(_mean(comparison, "sizes", method)),
            )
        )
    return Table(
        f"{comparison.name}: the six methods (S2 table 2)",
        ("method", "mean AP", "± (95 %)", "fit, CPU s", "predict, CPU s", "models", "model size"),
        rows,
        note=f"Mean of {len(comparison.runs)} splits. Model size: support vectors × features.",
    )


def sharing_table(comparison, n_models=FEW_MODELS):
    """Mean AP of the three ensembles after a few models, with a paired test of MSSBoost against each (S2 figure 5)."""
    place = min(n_models, comparison.curves("MSSBoost").shape[1]) - 1
    ours = comparison.curves("MSSBoost")[:, place]
    rows = []
    for name in ENSEMBLES:
        scores = comparison.curves(name)[:, place]
        ahead = p_plain = p_corrected = None
        if name != "MSSBoost":
            tests = paired_tests(ours, scores, (1 - TRAIN_SHARE) / TRAIN_SHARE)
            ahead, p_plain, p_corrected = int(np.count_nonzero(ours > scores)), tests.t, tests.corrected
        rows.append((name, scores.mean(), _half_width(scores), ahead, p_plain, p_corrected))
    return Table(
        f"{comparison.name}: mean AP after {place + 1} models (S2 figure 5)",
        ("method", "mean AP", "± (95 %)", "MSSBoost ahead in", "p, paired t", "p, corrected"),
        rows,
        note=f"{len(ours)} splits. Corrected: Nadeau and Bengio's variance, for splits that share rows.",
        decimals={"p, paired t": 5, "p, corrected": 5},
    )


def speed_table(comparison):
    """How many models reach 100 % and 90 % of the baseline, and what predicting then takes (S2 figure 6)."""
    baseline = comparison.mean_precisions("Baseline").mean()
    seconds = _mean(comparison, "predict_seconds", "Baseline")
    curve = comparison.curves("MSSBoost").mean(axis=0)
    stages = np.mean([run.stage_seconds for run in comparison.runs], axis=0)
    rows = [("Baseline", None, baseline, seconds, 1.0)]
    for share in (1.0, 0.9):
        reached = np.flatnonzero(curve >= share * baseline)
        row = (None, None, None, None)
        if len(reached):
            first = reached[0]
            row = (int(first) + 1, curve[first], stages[first], seconds / stages[first])
        rows.append((f"MSSBoost ({share:.0%})", *row))
    return Table(
        f"{comparison.name}: time to predict the test rows (S2 figure 6)",
        ("method", "models", "mean AP", "predict, CPU s", "times faster"),
        rows,
        note="The first models that together reach so much of the baseline's mean AP; none where they do not.",
    )


def label_table(comparison):
    """Average precision of each label, and the sign test of MSSBoost over the labels (S2 figure 7)."""
    precisions = {name: comparison.label_precisions(name) for name in ENSEMBLES}
    borrows = np.sum([_borrows(run) for run in comparison.runs], axis=0)
    order = np.lexsort((-comparison.label_frequencies, borrows == 0))
    rows = [
        (
            comparison.label_names[label],
            comparison.label_frequencies[label],
            int(borrows[label]),
            *(precisions[name][label] for name in ENSEMBLES),
        )
        for label in order
    ]
    notes = []
    for name in ("NSBoost", "RSBag"):
        # A label that the test rows of no run have says nothing, and neither does a tie.
        gains = precisions["MSSBoost"] - precisions[name]
        gains = gains[np.isfinite(gains)]
        ahead, n_labels = int(np.count_nonzero(gains > 0)), int(np.count_nonzero(gains))
        p_value = stats.binomtest(ahead, n_labels).pvalue if n_labels else 1.0
        notes.append(f"MSSBoost is above {name} on {ahead} of {len(gains)} labels (sign test, p = {p_value:.4f}).")
    notes.append(
        f"Of {len(comparison.runs)} runs those in which a label uses models of others; labels of none come last."
    )
    return Table(
        f"{comparison.name}: average precision of each label (S2 figure 7)",
        ("label", "frequency", "runs with others' models", *ENSEMBLES),
        rows,
        note=" ".join(notes),
    )


def sharing_matrix(comparison, *, run=0, n_models=30):
    """What the first base models of a run count for each label (S2 figure 8).

    Returns
    -------
    weights : ndarray of shape (n_labels, n_models)
    sources : list of str
        Label that each model was learned on.
    """
    weights, sources = comparison.runs[run].weights[:n_models].T, comparison.runs[run].sources[:n_models]
    return weights, [comparison.label_names[source] for source in sources]


def _seeds(runs, random_state):
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=runs).tolist()


def _classifiers(methods, n_labels, n_models, settings, seed):
    common = {**settings, "random_state": seed}
    everything = {
        "Baseline": lambda: OneVsRestClassifier(SVC()),
        "Bagging": lambda: OneVsRestClassifier(BaggingClassifier(SVC(), n_estimators=BAGS, random_state=seed)),
        "Subspace": lambda: RSBagClassifier(n_estimators=n_labels, **common),
        **{name: lambda kind=kind: kind(n_estimators=n_models, **common) for name, kind in ENSEMBLES.items()},
    }
    return {name: everything[name]() for name in METHODS if name in methods}


def _one_run(X, Y, methods, n_models, settings, seed):
    X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=TRAIN_SHARE, random_state=seed)
    parts = {name: {} for name in ("precisions", "curves", "fit_seconds", "predict_seconds", "n_models", "sizes")}
    stage_seconds = weights = sources = None
    # One search for all: the first ensemble's, with a single model.
    chosen = RSBagClassifier(n_estimators=1, random_state=seed, **settings).fit(X_train, Y_train)
    settings = {**settings, "data_ratio": chosen.data_ratio_, "feature_ratio": chosen.feature_ratio_}
    for name, model in _classifiers(methods, Y.shape[1], n_models, settings, seed).items():
        start = time.process_time()
        model.fit(X_train, Y_train)
        fitted = time.process_time()
        decision = model.decision_function(X_test)
        parts["fit_seconds"][name] = fitted - start
        parts["predict_seconds"][name] = time.process_time() - fitted
        parts["precisions"][name] = _precisions(Y_test, decision)
        parts["n_models"][name], parts["sizes"][name] = _extent(model)
        if name in ENSEMBLES:
            stages = model.staged_decision_function(X_test)
            parts["curves"][name] = np.array([_precisions(Y_test, stage) for stage in stages])
        if name == "MSSBoost":
            stage_seconds = _stage_seconds(model, X_test)
            weights, sources = model.label_weights_, model.source_labels_
    ratios = chosen.data_ratio_, chosen.feature_ratio_
    return Run(**parts, stage_seconds=stage_seconds, weights=weights, sources=sources, ratios=ratios)


def _stage_seconds(model, X):
    """CPU seconds to predict with the first model, the first two, and so on."""
    times = [time.process_time()]
    for n_models in range(1, len(model.estimators_) + 1):
        model.prune(n_models).decision_function(X)
        times.append(time.process_time())
    return np.diff(times)


def _precisions(Y, decision):
    return np.array(
        [average_precision_score(y, said) if y.any() else np.nan for y, said in zip(np.transpose(Y), decision.T)]
    )


def _extent(model):
    """Number of base models, and their size."""
    if hasattr(model, "model_size_"):
        return len(model.estimators_), model.model_size_
    machines = [machine for one in model.estimators_ for machine in getattr(one, "estimators_", [one])]
    return len(machines), sum(machine.support_vectors_.size for machine in machines)


def _borrows(run):
    """Labels that use a base model of another one."""
    foreign = run.weights != 0
    foreign[np.arange(len(foreign)), run.sources] = False
    return foreign.any(axis=0)


def _mean(comparison, part, method):
    return float(np.mean([getattr(run, part)[method] for run in comparison.runs]))


def _half_width(values):
    """Half of the 95 % confidence interval of a mean."""
    return None if len(values) < 2 else float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
