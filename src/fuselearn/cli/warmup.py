"""``fuselearn warmup``: loops compiled ahead of time, when a machine or an image is set up."""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.console import interruptible, progress_bar, refuse, say, say_json
from fuselearn.cli.options import AsJson

if TYPE_CHECKING:
    from fuselearn.typing import AnyArray, FloatArray

KINDS = ("fusion", "boosting", "gradient", "kernels", "multilabel")
MANY_ROWS = 4_000
"""Rows that are fused by sums, which have loops of their own."""
SHARED_ROWS = 50_000
"""Rows of six columns of which threads share a tree."""


def warmup(
    only: Annotated[
        list[str] | None,
        typer.Option(help=f"What to compile: {', '.join(KINDS[:-1])} or {KINDS[-1]}, repeated.", show_default="all"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile what fits and predictions need, so that the first of them need not wait for it.

    It fits small models of every kind. What is compiled is kept by numba in a cache on disk, for this processor: in
    the folder NUMBA_CACHE_DIR if that is set, else beside the package or, where that is read-only, in the user's cache.
    """
    chosen = list(dict.fromkeys(only or KINDS))
    for kind in chosen:
        if kind not in KINDS:
            refuse(f"--only must be {', '.join(KINDS[:-1])} or {KINDS[-1]}; got {kind!r}.")
    seconds: dict[str, float] = {}
    with interruptible("what was compiled is kept"), progress_bar("", total=len(chosen)) as update:
        for number, kind in enumerate(chosen):
            update(done=number, description=f"compiling {kind}")
            started = time.perf_counter()
            compile_loops(kind)
            seconds[kind] = round(time.perf_counter() - started, 1)
    folder = _cache_folder()
    if as_json:
        say_json({"seconds": seconds, "cache": folder})
    else:
        times = ", ".join(f"{kind} ({value:.1f} s)" for kind, value in seconds.items())
        say(f"Compiled or found compiled: {times}. Kept in {folder}.")


def compile_loops(kind: str) -> None:
    """Compile the loops of one of `KINDS` that are not in the cache, by fits and predictions."""
    import numpy as np

    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(len(y), 6)) + y[:, None]
    X[::7, 3:] = np.nan  # a view is missing, and a value of another
    X[1::7, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows and rounds give cause for some
        for fit in _fits(kind, X, y):
            fit()


def _fits(kind: str, X: "FloatArray", y: "AnyArray") -> Iterator[Callable[[], Any]]:
    """Yield functions that fit and predict, for rows of three classes and two views."""
    import numpy as np

    import fuselearn

    views = {"first": [0, 1, 2], "second": [3, 4, 5]}
    filled = np.nan_to_num(X)

    def fit(model: Any, X: "FloatArray", y: "AnyArray", **labels: Any) -> Callable[[], Any]:
        def fit_and_predict() -> None:
            rows = np.repeat(X, 5, axis=0)
            model.fit(X, y, **labels).predict(rows)
            if hasattr(model, "predict_proba"):
                model.predict_proba(rows)

        return fit_and_predict

    targets = (y, y > 0)
    if kind == "fusion":
        rows = np.arange(MANY_ROWS) % len(X)
        noise = np.random.default_rng(1).normal(size=(MANY_ROWS, X.shape[1]))
        for target in targets:
            yield fit(fuselearn.FusionClassifier(views=views, random_state=0), X, target)
            few_rounds = fuselearn.FusionClassifier(views=views, max_fits=12, random_state=0)
            yield fit(few_rounds, X[rows] + noise, target[rows])
        every = ["svm", "rbf", "linear", "trees"]
        yield fit(fuselearn.FusionClassifier(views=views, learners=every, random_state=0), filled, y > 0)
    elif kind == "boosting":
        for learner in ("gaussian_nb", "stump", "tree", "linear"):
            for target in targets:
                model = fuselearn.ShareBoostClassifier(learner, views=views, n_estimators=3, random_state=0)
                yield fit(model, X, target)
                yield fit(model.set_params(n_jobs=2), filled, target)
            yield fit(model, X, y, view_labels=np.column_stack([y, y]))
            yield fit(model.set_params(resample=True, view_policy="exp3p"), X, y)
        yield fit(fuselearn.IndependentBoostClassifier(views=views, n_estimators=3), X, y)
    elif kind == "gradient":
        for trees in ("joint", "per_view"):
            for target in targets:
                model = fuselearn.ShareGradientBoostingClassifier(
                    views=views, trees=trees, n_estimators=2, min_samples_leaf=5, random_state=0
                )
                yield fit(model, X, target)
                yield fit(model.set_params(n_jobs=2), X, target, sample_weight=1.0 + y)
            regressor = fuselearn.ShareGradientBoostingRegressor(
                views=views, trees=trees, n_estimators=2, min_samples_leaf=5, random_state=0
            )
            yield fit(regressor, X, y.astype(float))
            yield fit(regressor.set_params(loss="quantile", quantile=0.3), X, y.astype(float))
        rows = np.arange(SHARED_ROWS) % len(X)
        for target in targets:
            threaded = fuselearn.ShareGradientBoostingClassifier(n_estimators=1, n_jobs=2, random_state=0)
            yield fit(threaded, X[rows], target[rows])
    elif kind == "kernels":
        yield fit(fuselearn.TomographicClassifier(views=views, random_state=0), filled, y)
        yield fit(fuselearn.TomographicClassifier(views=views, random_state=0), _unmatched(filled), y)
        yield fit(fuselearn.AugmentedKernelClassifier(views=views), _unmatched(filled), y)
        for weights in ("uniform", "mkl"):
            yield fit(fuselearn.MKLClassifier(views=views, weights=weights), filled, y)
    else:
        labels = np.column_stack([y == 0, y == 1, y > 0]).astype(int)
        for estimator in (fuselearn.MSSBoostClassifier, fuselearn.NSBoostClassifier, fuselearn.RSBagClassifier):
            yield fit(estimator(n_estimators=6, feature_ratio=0.5, random_state=0), filled, labels)


def _unmatched(X: "FloatArray") -> "FloatArray":
    """Return rows of which half lack one of two views of three columns."""
    import numpy as np

    X = X.copy()
    X[::4, :3] = np.nan
    X[1::4, 3:] = np.nan
    return X


def _cache_folder() -> str:
    """Return the folder that numba keeps compiled loops in."""
    import fuselearn

    if os.environ.get("NUMBA_CACHE_DIR"):
        return os.environ["NUMBA_CACHE_DIR"]
    package = os.path.dirname(fuselearn.__file__)
    return package if os.access(package, os.W_OK) else "numba's folder in the user's cache"
