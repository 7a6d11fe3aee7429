"""Time of predictions by gradient boosting, against LightGBM and scikit-learn, and what early exit saves.

Usage: ``python -m benchmarks.gradient_predict [--quick]``
"""

from functools import partial

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.command_line import progress, run_script
from benchmarks.data import clustered_views
from benchmarks.tables import at_most, markdown_table, milliseconds, number, quick_note, section
from benchmarks.timing import best_times
from fuselearn import ShareGradientBoostingClassifier
from fuselearn.datasets import load_digit_views
from fuselearn.numeric.votes import codes_of

try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None

N_COLUMNS, N_TREES, N_LEAVES, RATE = 100, 200, 31, 0.1
CASES = {"two classes": (2, 0.0), "two classes, 10 % missing": (2, 0.1), "eight classes": (8, 0.0)}
"""Number of classes, and share of the values that are missing."""
N_VIEWS, N_VIEW_COLUMNS = 5, 20
STRONG = 1.0
"""Distance of the class means in every column of a strong view."""
EARLY_CASES = {
    "views alike, best": (0.0, "best"),
    "one view strong, in turn": (STRONG, "round_robin"),
    "one view strong, best": (STRONG, "best"),
}
"""Distance of the class means in the first view, and the policy that chooses the view of a round."""


def our_model(n_trees, **settings):
    """Return our classifier with the settings that all models have."""
    return ShareGradientBoostingClassifier(
        n_estimators=n_trees,
        learning_rate=RATE,
        max_leaf_nodes=N_LEAVES,
        early_stopping=False,
        random_state=0,
        **settings,
    )


def models(n_trees):
    """Return name to classifier, ours and the peers."""
    peers = {
        "fuselearn": our_model(n_trees),
        "HistGradientBoosting": HistGradientBoostingClassifier(
            max_iter=n_trees, learning_rate=RATE, max_leaf_nodes=N_LEAVES, early_stopping=False
        ),
    }
    if LGBMClassifier is not None:
        peers["LightGBM"] = LGBMClassifier(
            n_estimators=n_trees, learning_rate=RATE, num_leaves=N_LEAVES, n_jobs=1, verbose=-1
        )
    return peers


def time_peers(options):
    """Return a row of the table for each case, and the largest part of LightGBM's time."""
    n_train, n_rows, n_trees = (2_000, 2_000, 20) if options.quick else (20_000, 50_000, N_TREES)
    rows, worst = [], 0.0
    for case, (n_classes, missing) in CASES.items():
        progress(f"gradient_predict: {case}")
        X, y = make_classification(
            n_train + n_rows, N_COLUMNS, n_informative=20, n_classes=n_classes, flip_y=0.1, random_state=0
        )
        X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
        fitted = {name: model.fit(X[:n_train], y[:n_train]) for name, model in models(n_trees).items()}
        works = {name: partial(model.predict_proba, X[n_train:]) for name, model in fitted.items()}
        for work in works.values():
            work()  # compiles ours
        times = {name: timed.seconds for name, timed in best_times(works, repeats=2 if options.quick else 4).items()}
        ours, lightgbm = times["fuselearn"], times.get("LightGBM", np.nan)
        worst = max(worst, ours / lightgbm)
        rows.append(
            (
                f"{case}, {n_rows:,} × {N_COLUMNS}",
                milliseconds(ours),
                milliseconds(lightgbm),
                milliseconds(times["HistGradientBoosting"]),
                number(ours / lightgbm),
            )
        )
    return rows, worst


def early_exit_problems(options):
    """Yield (name, model fitted on trees of one view each, new rows)."""
    n_train, n_rows, n_trees = (2_000, 2_000, 20) if options.quick else (20_000, 50_000, N_TREES)
    for case, (strength, policy) in EARLY_CASES.items():
        X, y, views = clustered_views(n_train + n_rows, N_VIEWS, N_VIEW_COLUMNS)
        X[:, views["view0"]] += strength * y[:, None]
        model = our_model(n_trees, views=views, trees="per_view", view_policy=policy)
        yield f"{case}, {N_VIEWS} × {N_VIEW_COLUMNS}", model.fit(X[:n_train], y[:n_train]), X[n_train:]
    X, views, y = load_digit_views(return_tuple=True)
    for case, labels in {"digits ≥ 5": y >= 5, "digits, ten classes": y}.items():
        model = our_model(n_trees, views=views, trees="per_view").fit(X[:1000], labels[:1000])
        yield case, model, np.tile(X[1000:], (n_rows // len(X[1000:]), 1))


def time_early_exit(options):
    """Return a row of the table for each problem."""
    rows = []
    for case, model, new in early_exit_problems(options):
        progress(f"gradient_predict: {case}")

        def full(model=model, new=new):
            return model.classes_[codes_of(model.decision_function(new))]

        if not np.array_equal(model.predict(new), full()):
            raise RuntimeError("Early exit changed a prediction.")
        works = {"full": full, "early": partial(model.predict, new)}
        times = best_times(works, repeats=2 if options.quick else 4)
        rows.append(
            (
                f"{case}, {len(new):,} rows",
                milliseconds(times["full"].seconds),
                milliseconds(times["early"].seconds),
                f"{number(model.views_used(new).sum(axis=1).mean())} of {len(model.view_names_)}",
            )
        )
    return rows


def report(options):
    """Return the section of the report, as Markdown."""
    with threadpool_limits(limits=1):
        timed, worst = time_peers(options)
        early = time_early_exit(options)
    verdict = "LightGBM is not installed." if LGBMClassifier is None else f"{at_most(worst, 1.5)}."
    return section(
        "Predictions of gradient boosting",
        f"`predict_proba` of {N_TREES} rounds of trees with {N_LEAVES} leaves, one thread, CPU ms.",
        markdown_table(
            ("rows", "fuselearn, ms", "LightGBM, ms", "HistGradientBoosting, ms", "of LightGBM's time"), timed
        ),
        f"Time as part of LightGBM's, worst case: {verdict}",
        "Trees of one view each: classes from the full sum, and by `predict`, which stops at a row when the views to "
        "come cannot change its class. The classes are compared, and are the same. In turn: every view gets as "
        "many rounds. Best: the best view of a round gets it, and a strong one nearly all: little is left to spare.",
        markdown_table(("views", "full sum, ms", "predict, ms", "views read"), early),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
