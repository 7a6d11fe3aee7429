"""Time that predictions save by reading no further views once a row is decided, and the cost where nothing is saved.

Usage: ``python -m benchmarks.early_exit [--quick]``
"""

import os
import tracemalloc
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.command_line import progress, run_script
from benchmarks.data import clustered_views, mfeat
from benchmarks.tables import at_most, markdown_table, number, quick_note, section
from benchmarks.timing import best_times
from fuselearn import ShareBoostClassifier
from fuselearn.datasets import load_digit_views
from fuselearn.numeric.votes import codes_of

LEARNERS = {"naive Bayes": "gaussian_nb", "stump": "stump", "tree": "tree"}
TIMED = ("naive Bayes", "stump")
SHAPES = {3: 30, 20: 15}
"""Number of views, and of the columns of each."""
ROWS = (1, 100, 20_000, 200_000)
N_TRAIN = 5_000
STRONG = 1.0
"""Distance of the class means in every column of a strong view."""


CASES = {
    "views alike, in turn": (0.0, "round_robin"),
    "one view strong, in turn": (STRONG, "round_robin"),
    "one view strong, best": (STRONG, "best"),
}
"""Distance of the class means in the first view, and the policy that chooses the view of a round."""


def full(model, X):
    """Return the classes from all votes, without early exit."""
    return model.classes_[codes_of(model.decision_function(X))]


def time_predictions(options):
    """Time the full sum and early exit for each case and number of rows.

    Returns
    -------
    rows : list of tuple of str
    worst : float
        Largest share of the full sum's time.
    """
    sizes = ROWS[:2] if options.quick else ROWS
    rows, worst = [], 0.0
    for n_views, n_columns in SHAPES.items():
        X, y, views = clustered_views(max(N_TRAIN, *sizes), n_views, n_columns)
        moved = 0.0
        for case, (strength, policy) in CASES.items():
            X[:, views["view0"]] += (strength - moved) * y[:, None]  # in place: X is large
            moved = strength
            for name in TIMED:
                progress(f"early_exit: {n_views} views, {case}, {name}")
                model = ShareBoostClassifier(LEARNERS[name], views=views, view_policy=policy, learning_rate=0.1)
                model.fit(X[:N_TRAIN], y[:N_TRAIN])
                for n_rows in sizes:
                    full_time, early_time = time_both(model, X[:n_rows])
                    n_used = model.views_used(X[:n_rows]).sum(axis=1).mean()
                    worst = max(worst, early_time / full_time)
                    rows.append(
                        (
                            f"{case}, {n_views} × {n_columns}, {name}",
                            f"{n_rows:,}",
                            number(1e6 * full_time / n_rows),
                            number(1e6 * early_time / n_rows),
                            number(full_time / early_time),
                            f"{number(n_used)} of {n_views}",
                        )
                    )
    return rows, worst


def time_both(model, X):
    """Return the seconds of the full sum and of predict; a few rows are predicted many times, to be worth timing."""
    if not np.array_equal(model.predict(X), full(model, X)):
        raise RuntimeError("Early exit changed a prediction.")
    n_times = 1 if len(X) > 1_000 else 60

    def repeated(predict):
        for _ in range(n_times):
            predict(X)

    works = {"full": lambda: repeated(partial(full, model)), "early": lambda: repeated(model.predict)}
    times = best_times(works, repeats=5)
    return times["full"].seconds / n_times, times["early"].seconds / n_times


def real_sets():
    """Return digits, and mfeat where it can be loaded: name to (X, y, views)."""
    X, views, y = load_digit_views(return_tuple=True)
    sets = {"digits, ten classes": (X, y, views), "digits ≥ 5": (X, (y >= 5).astype(int), views)}
    data = mfeat()
    if data is not None:
        X, y, views = data
        with np.load(os.path.join(os.environ["FUSELEARN_DATA"], "mfeat", "mfeat.npz")) as arrays:
            digits = arrays["y"]
        sets |= {"mfeat, ten classes": (X, digits, views), "mfeat ≥ 5": (X, y, views)}
    return sets


def count_views(options):
    """Return the views read per held-out row, and the share of rows that the first k views decide."""
    rows = []
    n_rounds = 20 if options.quick else 150
    for set_name, (X, y, views) in real_sets().items():
        X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
        for name, learner in LEARNERS.items():
            progress(f"early_exit: {set_name}, {name}")
            model = ShareBoostClassifier(learner, views=views, n_estimators=n_rounds).fit(X_train, y_train)
            used, order = model.views_used(X_test), model.view_order_
            decided = [(~used[:, order[k:]].any(axis=1)).mean() for k in range(1, len(order) + 1)]
            rows.append(
                (
                    f"{set_name}, {name}",
                    f"{used.sum(axis=1).mean():.2f} of {len(views)}",
                    ", ".join(model.view_names_[view] for view in order),
                    ", ".join(f"{100 * share:.0f}" for share in decided),
                )
            )
    return rows


def extra_memory(n_rows):
    """Return the MiB that predicting takes beyond X and the result."""
    X, y, views = clustered_views(n_rows, 3, 30)
    model = ShareBoostClassifier(views=views, n_estimators=20, learning_rate=0.1).fit(X[:2_000], y[:2_000])
    extra = {}
    for method in (model.predict, model.decision_function, model.predict_proba):
        method(X[:10])
        tracemalloc.start()
        result = method(X)
        extra[method.__name__] = (tracemalloc.get_traced_memory()[1] - result.nbytes) / 2**20
        tracemalloc.stop()
    return extra


def report(options):
    """Return the section of the report, as Markdown."""
    timed, worst = time_predictions(options)
    small, large = (20_000, 40_000) if options.quick else (50_000, 400_000)
    memory = {n_rows: extra_memory(n_rows) for n_rows in (small, large)}
    return section(
        "Early exit",
        "Predicting with 150 rounds, one thread, CPU µs a row: from all votes (the classes of `decision_function`), "
        "and by `predict`, which stops at a row when the rest cannot change its class. The classes are compared, and "
        "are the same. In turn: every view gets as many rounds. Best: the best view of a round gets it, and a strong "
        "one nearly all, so that few views are read but few hypotheses are spared. Strong: the means of the classes "
        f"are {STRONG:g} further apart in each column of the view.",
        markdown_table(("ensemble", "rows", "all votes, µs", "predict, µs", "times faster", "views read"), timed),
        f"Time of predict as part of that of all votes, worst case: {at_most(worst, 1.05)}.",
        "Views read on held-out rows (30 %), ShareBoost, and the share of rows that the first k views decide.",
        markdown_table(
            ("set, learner", "views a row", "order of reading", "decided by the first k, %"), count_views(options)
        ),
        "Memory beyond `X` and the result, MiB, naive Bayes on 3 × 30 columns:",
        markdown_table(
            ("rows", *memory[small]),
            [(f"{n_rows:,}", *(number(extra) for extra in row.values())) for n_rows, row in memory.items()],
        ),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
