"""Compare methods on the same splits, and test their differences."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from joblib import hash as content_hash
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import has_fit_parameter

from fuselearn.arguments import check_choice, check_count, check_flag, check_jobs, check_random_state
from fuselearn.consensus import LabelConsensus
from fuselearn.data import (
    ViewBlocks,
    check_in_memory,
    check_on_host,
    check_one_table,
    encode_view_labels,
    resolve_views,
)
from fuselearn.data.column_kinds import naming_the_way
from fuselearn.data.folds import encode_groups
from fuselearn.data.labels import check_known, check_target, typed_labels
from fuselearn.evaluation.cells import CONSENSUS, PLAIN, PROTOCOLS, CellResult, Protocol, Score, Task, run_cell
from fuselearn.evaluation.leaderboard import Comparison, Trial
from fuselearn.evaluation.result_store import CellStore, Key, fingerprint
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.progress import counted_steps
from fuselearn.registry import SINGLE, Method, Methods, resolve_methods
from fuselearn.regression_methods import resolve_regression_methods
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, RandomState, TableLike, Views

TASKS = ("auto", "classification", "regression")
WAY = (
    "from fuselearn.tables import ViewColumns; columns = ViewColumns(views); "
    "compare(columns.fit_transform(X, y), y, views=columns.views_)"
)
"""What compares methods on a table with text."""


def compare(
    X: TableLike,
    y: ArrayLike,
    *,
    views: Views = None,
    methods: Methods = "default",
    noise: float = 0.0,
    noise_views: Literal["all"] | Sequence[str] = "all",
    noise_shared: bool = False,
    view_labels: ArrayLike | None = None,
    consensus: bool = False,
    protocol: str | None = None,
    runs: int | None = None,
    train_size: float | None = None,
    scoring: str | Score = "accuracy",
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    resume: str | Path | None = None,
    verbose: int | None = None,
    task: str = "auto",
) -> Comparison:
    """Compare fusion methods, and every view alone, on the same splits.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        Numbers; NaN where a view is absent.
    y : array of shape (n_samples,)
        Labels that are taken to be true: methods are judged by them. Numbers to predict, where `task` says so.
    views : dict, list or None, default=None
        Views of the columns of `X`. None is one view of all columns.
    methods : "default", "all", list of names and estimators, or dict of name to estimator or name, default="default"
        See :data:`fuselearn.registry.METHODS`, and :data:`fuselearn.registry.PAPER_METHODS` for more of the papers
        (many labels, one for each class; views that are not matched). With a `protocol`, "default" are the methods of
        that paper, and every view alone. "view:NAME" is the view of that name alone, and
        "forest", "lightgbm" and "xgboost" get the columns of all views, where these libraries are installed. An
        estimator in a list has the name of its class.
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
        Runs, split and rounds of a paper, unless `runs` or `train_size` say otherwise, and its methods unless `methods`
        names others. Its SDP is ``"sdp"`` where CVXPY is installed, and else ``"mkl"``, which has the same optimum.
    runs : int, default=None
        Number of random splits. None is 20, or as many as the `protocol` has.
    train_size : float, default=None
        Share of the rows to train on; with `groups`, share of the groups. None is 0.6, or that of the `protocol`. That
        of S4, ``"tomographic"``, has folds instead.
    scoring : str or callable, default="accuracy"
        What scikit-learn takes; higher is better. Where classes are of unequal size, the leaderboard has balanced
        accuracy and the area under the ROC curve beside accuracy. No method weighs the classes: for balanced accuracy
        give estimators with ``class_weight="balanced"`` as `methods`.
    groups : array of shape (n_samples,), default=None
        The person, place or batch that each row is from, as a number or a name. Rows of one group are never on both
        sides of a split, and methods whose `fit` takes `groups` get them too. Every class is on both sides of every
        split. None: rows are independent, and splits keep the shares of the classes.
    n_jobs : int, default=None
        Number of processes; the numbers are the same for any. None is 1, -1 all cores.
    random_state : int, RandomState or None, default=None
        Seed of splits, noise and methods.
    resume : str or Path, default=None
        File that keeps finished fits. Where it exists, the comparison goes on from it.
    verbose : int or None, default=None
        None shows a progress bar in a terminal or a notebook, 1 also a few lines in a log, 0 nothing.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether classes or numbers are predicted; "auto" predicts numbers where `y` has fractions
        (:func:`sklearn.utils.multiclass.type_of_target`). Methods are then those of
        `fuselearn.regression_methods`, the score is R² unless `scoring` names another one, and the mean absolute error
        stands beside it. Both are of all test rows, gross outliers of the target included, of which a few can bring
        any R² near 0; ``scoring="neg_median_absolute_error"`` is hardly touched by them. Noise, labels of views,
        consensus and protocols are for classes.

    Returns
    -------
    Comparison
        Scores of all methods, with a leaderboard in its `table`.

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
    if verbose is not None:
        check_count("verbose", verbose, least=0)
    check_choice("task", task, TASKS)
    if not isinstance(resume, str | PathLike | None):
        raise TypeError(f"resume must be the path of a file, or None; got {resume!r}.")
    table, y, columns, numbers = _checked_data(X, y, views, _task_of(methods, task))
    _check_kinds(methods, numbers)
    if numbers:
        _check_for_classes_only(noise, view_labels, consensus, protocol)
        scoring = "r2" if isinstance(scoring, str) and scoring == "accuracy" else scoring
    splits = _checked_protocol(protocol, runs, train_size)
    if splits.methods and isinstance(methods, str) and methods == "default":
        methods = [*splits.methods, *(f"{SINGLE}{name}" for name in columns)]
    chosen = (resolve_regression_methods if numbers else resolve_methods)(methods, list(columns))
    # Numbers are split as if they were all of one class.
    strata = np.zeros(len(y), dtype=np.intp) if numbers else y
    _check_class_sizes(strata, splits, [] if numbers else chosen, consensus)
    group_numbers = None if groups is None else _checked_groups(groups, strata, splits)
    if group_numbers is not None:
        estimators = {method.name: method.estimator(columns, None, 0) for method in chosen}
        if consensus:
            estimators["consensus"] = LabelConsensus(views=columns)
        _check_group_folds(int(group_numbers.max()) + 1, splits, estimators)
    _check_scoring(scoring, strata)
    seed = CellStore.seed_of(resume) if resume is not None and random_state is None else None
    if seed is None:
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    setting = Task(
        table,
        y,
        columns,
        _checked_view_labels(view_labels, noise, table, columns, y),
        splits,
        _checked_noise(noise),
        _view_numbers(noise_views, list(columns)),
        bool(noise_shared),
        scoring,
        seed,
        group_numbers,
        numbers=numbers,
    )
    trials = _trials(setting, chosen, consensus)
    store = CellStore(resume, _header(setting) if resume is not None else {})
    run_numbers = list(range(splits.runs))
    try:
        _compute_missing(store, setting, trials, run_numbers, n_jobs, verbose)
    except KeyboardInterrupt:
        run_numbers = [run for run in run_numbers if all(trial.key(run) in store for trial in trials)]
        if not run_numbers:
            raise
        warnings.warn(
            f"Interrupted: the comparison has the {len(run_numbers)} of {splits.runs} runs that were done.",
            InterruptedFitWarning,
            stacklevel=2,
        )
    return Comparison(setting, trials, store, run_numbers)


def _checked_data(
    X: TableLike, y: ArrayLike, views: Views, task: str
) -> tuple[FloatArray, AnyArray, dict[str, IntArray], bool]:
    """Return X and y as arrays, the columns of each view, and whether numbers are predicted."""
    check_on_host(X, "X", "compare")
    check_in_memory(X, "compare")
    check_one_table(X)
    check_on_host(y, "y", "compare")
    with naming_the_way(X, WAY):
        table = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", estimator="compare")
    names, columns = resolve_views(views, X, table.shape[1])
    y = column_or_1d(y)
    if len(y) != len(table):
        raise ValueError(f"y must hold a label for each of the {len(table)} rows of X; got {len(y)}.")
    if task == "regression" or (task == "auto" and _has_fractions(y)):
        check_target(y, "compare")
        return table, np.asarray(y, dtype=np.float64), dict(zip(names, columns)), True
    check_known(y)
    y = typed_labels(y)
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y must hold classes; its values are {kind}. To predict numbers, use task='regression'.")
    if len(np.unique(y)) < 2:
        raise ValueError(f"y must hold at least two classes; it has {np.unique(y).tolist()}.")
    return table, y, dict(zip(names, columns)), False


def _given_estimators(methods: Methods) -> list[Any]:
    """Return the estimators among the methods, which are not named but given; what is neither is refused later."""
    values = methods.values() if isinstance(methods, Mapping) else methods if isinstance(methods, list | tuple) else ()
    return [value for value in values if hasattr(value, "get_params") and not isinstance(value, str | type)]


def _task_of(methods: Methods, task: str) -> str:
    """Return the task; regressors alone decide it where `y`, which may hold whole numbers, is to decide."""
    estimators = _given_estimators(methods)
    only_regressors = bool(estimators) and all(is_regressor(estimator) for estimator in estimators)
    return "regression" if task == "auto" and only_regressors and len(estimators) == len(methods) else task


def _check_kinds(methods: Methods, numbers: bool) -> None:
    """Refuse estimators of the other task before anything is fitted."""
    for estimator in _given_estimators(methods):
        if numbers and is_classifier(estimator):
            raise ValueError(
                f"methods has the classifier {estimator!r:.80}, but y is taken for numbers to predict. For classes, "
                "pass task='classification' and a y of labels."
            )
        if not numbers and is_regressor(estimator):
            raise ValueError(
                f"methods has the regressor {estimator!r:.80}, but y is taken for classes. To predict numbers, pass "
                "task='regression'."
            )


def _has_fractions(y: AnyArray) -> bool:
    """Check whether labels are numbers to predict."""
    if y.dtype.kind != "f":
        return False
    known = y[np.isfinite(y)]
    return bool((known != np.round(known)).any())


def _check_for_classes_only(noise: float, view_labels: ArrayLike | None, consensus: bool, protocol: str | None) -> None:
    """Refuse what makes sense for classes only, where numbers are predicted."""
    given = {"noise": noise, "view_labels": view_labels is not None, "consensus": consensus, "protocol": protocol}
    for name, value in given.items():
        if value:
            raise ValueError(f"{name} is for classes, but y holds numbers to predict; leave it out.")


def _checked_protocol(protocol: str | None, runs: int | None, train_size: float | None) -> Protocol:
    """Return the protocol of a paper, or a plain one, with as many runs and as large a share to train on as given."""
    chosen = PLAIN
    if protocol is not None:
        check_choice("protocol", protocol, PROTOCOLS)
        chosen = PROTOCOLS[protocol]
    if runs is not None:
        check_count("runs", runs)
        chosen = replace(chosen, runs=int(runs))
    if train_size is not None:
        if isinstance(train_size, bool) or not (isinstance(train_size, Real) and 0 < train_size < 1):
            raise ValueError(f"train_size must be between 0 and 1; got {train_size!r}.")
        if chosen.folds is not None:
            raise ValueError(
                f"train_size is not of protocol={protocol!r}, which has {chosen.folds} folds; leave it out."
            )
        chosen = replace(chosen, train_size=float(train_size))
    return chosen


def _check_class_sizes(y: AnyArray, protocol: Protocol, methods: list[Method], consensus: bool) -> None:
    """Refuse classes too rare to be on both sides of every split, and in every fold that a method makes inside."""
    if not methods:
        return  # numbers, which no method makes folds of by class
    classes, counts = np.unique(y, return_counts=True)
    rarest = int(counts.argmin())
    label, count = classes.tolist()[rarest], int(counts[rarest])
    needed = protocol.folds or 2
    if count < needed:
        raise ValueError(
            f"y has {count} objects of the class {label!r}; a comparison needs at least {needed} of each class to have "
            "it in every part of a split."
        )
    trained_on = int(count * protocol.train_share)
    inner_folds = {method.name: method.folds for method in methods} | ({"consensus": 5} if consensus else {})
    most = max(inner_folds, key=lambda name: inner_folds[name])
    if trained_on < inner_folds[most]:
        raise ValueError(
            f"y has {count} objects of the class {label!r}, of which about {trained_on} are trained on; {most} makes "
            f"{inner_folds[most]} folds of them. Leave {most} out, or merge or drop the class."
        )


def _checked_groups(groups: ArrayLike, y: AnyArray, protocol: Protocol) -> IntArray:
    """Return the number of each row's group; every class must be in as many groups as a split has sides."""
    numbers = encode_groups(groups, len(y), np.arange(len(y)))
    needed = protocol.folds or 2
    for label in np.unique(y):
        n_groups = len(np.unique(numbers[y == label]))
        if n_groups < needed:
            raise ValueError(
                f"groups has the class {label.tolist()!r} in {n_groups} group{'s' * (n_groups > 1)} only; a comparison "
                f"needs each class in at least {needed} groups, to have it on both sides of a split. Merge or drop the "
                "class, or leave groups out where rows are independent."
            )
    return numbers


def _check_group_folds(n_groups: int, protocol: Protocol, estimators: dict[str, Any]) -> None:
    """Refuse fewer groups to train on than an estimator makes folds of, by its `cv`."""
    trained_on = int(n_groups * protocol.train_share)
    for name, estimator in estimators.items():
        cv = getattr(estimator, "cv", None)
        if isinstance(cv, int) and has_fit_parameter(estimator, "groups") and trained_on < cv:
            raise ValueError(
                f"groups has {n_groups} groups, of which about {trained_on} are trained on; {name} makes {cv} folds of "
                f"them. Leave {name} out, or leave groups out where rows are independent."
            )


def _check_scoring(scoring: str | Score, y: AnyArray) -> None:
    """Refuse what scikit-learn does not know as a score, and scores of two classes where there are more."""
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            near = get_close_matches(scoring, get_scorer_names(), n=3) or ["accuracy", "balanced_accuracy", "roc_auc"]
            raise ValueError(
                f"scoring {scoring!r} is not a score of scikit-learn, such as {', '.join(map(repr, near))}."
            )
        if scoring in ("roc_auc", "average_precision") and len(np.unique(y)) > 2:
            raise ValueError(
                f"scoring {scoring!r} is of two classes; for more use 'roc_auc_ovr' or 'balanced_accuracy'."
            )
    elif not callable(scoring):
        raise ValueError(f"scoring must be a name or a function of (estimator, X, y); got {scoring!r}.")


def _checked_noise(noise: float) -> float:
    """Return a share of labels to flip."""
    if isinstance(noise, bool) or not (isinstance(noise, Real) and 0 <= noise < 1):
        raise ValueError(f"noise must be at least 0 and below 1, a share of the labels; got {noise!r}.")
    return float(noise)


def _view_numbers(noise_views: Literal["all"] | Sequence[str], names: list[str]) -> Literal["all"] | list[int]:
    """Return the views to be made noisy, as `add_label_noise` takes them."""
    if isinstance(noise_views, str) and noise_views == "all":
        return "all"
    is_list = isinstance(noise_views, list | tuple) and len(noise_views) > 0
    if not is_list or any(name not in names for name in noise_views):
        raise ValueError(f"noise_views must be 'all' or a list of the views {names}; got {noise_views!r}.")
    return [names.index(name) for name in noise_views]


def _checked_view_labels(
    view_labels: ArrayLike | None, noise: float, table: FloatArray, columns: dict[str, IntArray], y: AnyArray
) -> AnyArray | None:
    """Return the views' own labels as an array; every label must be a class of `y`."""
    if view_labels is None:
        return None
    view_labels = np.asarray(view_labels)
    expected = (len(table), len(columns))
    if view_labels.shape != expected:
        raise ValueError(f"view_labels must have shape (n_samples, n_views) = {expected}; got {view_labels.shape}.")
    if noise:
        raise ValueError("view_labels and noise cannot both be given: noise makes its own view labels.")
    blocks = ViewBlocks.of(table, list(columns), list(columns.values()))
    encode_view_labels(view_labels, np.unique(y), list(columns), blocks.present)  # refuses other classes
    return view_labels


def _trials(task: Task, methods: list[Method], consensus: bool) -> list[Trial]:
    """Return the rows of the leaderboard."""
    trials = []
    for method in methods:
        # A method whose settings changed is another one, and its cells are computed anew.
        settings = fingerprint(method.estimator(task.views, task.protocol.n_estimators, 0))[:16]
        trials += [Trial(method.name, method, kind, settings) for kind in task.kinds(method)]
        if consensus:
            trials.append(Trial(f"{method.name} + consensus", method, CONSENSUS, settings))
    return trials


def _header(task: Task) -> dict[str, Any]:
    """Return what two comparisons must have in common to share cells."""
    return {
        "rows": len(task.y),
        "protocol": [task.protocol.train_size, task.protocol.folds, task.protocol.n_estimators],
        "noise": [task.noise, task.noise_views, task.noise_shared],
        "scoring": task.scoring if isinstance(task.scoring, str) else fingerprint(task.scoring),
        "seed": task.seed,
        "views": content_hash({name: columns.tolist() for name, columns in task.views.items()}),
        "data": content_hash([task.table, task.y, task.view_labels]),
        "groups": None if task.groups is None else content_hash(task.groups),
    }


def _compute_missing(
    store: CellStore, task: Task, trials: list[Trial], runs: list[int], n_jobs: int | None, verbose: int | None
) -> None:
    """Compute the cells that the store lacks, and keep each as soon as it is done."""
    missing = [(trial, run) for run in runs for trial in trials if trial.key(run) not in store]
    cells = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_computed)(task, trial, run) for trial, run in missing
    )
    with counted_steps("fits", len(missing), verbose) as show:
        for number, (key, cell) in enumerate(cells, start=1):
            store.add(key, cell)
            show(number)


def _computed(task: Task, trial: Trial, run: int) -> tuple[Key, CellResult]:
    """Return a cell with its key."""
    return trial.key(run), run_cell(task, trial.method, trial.kind, run)
