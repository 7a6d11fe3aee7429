"""Gain of two threads.

Usage: ``python -m benchmarks.threads [--quick]``
"""

import time
from functools import partial

import numpy as np

from benchmarks.command_line import progress, run_script
from benchmarks.data import clustered_views
from benchmarks.machine import n_cores
from benchmarks.tables import markdown_table, number, quick_note, section
from benchmarks.timing import best_times
from fuselearn import ShareBoostClassifier

LEARNERS = {"naive Bayes": "gaussian_nb", "stump": "stump", "tree": "tree"}
N_VIEWS = 3
LEARNING_RATE = 0.1
"""Small steps, so that no run ends before its last round."""


def sizes(options):
    """Return rows, columns of each view and rounds of the fits."""
    if options.quick:
        return [(2_000, 100, 10), (50_000, 10, 5)]
    return [(20_000, 100, 50), (1_000_000, 10, 20)]


def measure(n_rows, n_columns, n_rounds, repeats):
    """Measure the best wall-clock time of a whole fit with one and with two threads.

    Returns
    -------
    dict of (learner's name, number of threads) to Timed
    """
    X, y, views = clustered_views(n_rows, N_VIEWS, n_columns)

    def fit(learner, n_jobs, rounds=n_rounds):
        model = ShareBoostClassifier(
            learner, views=views, n_estimators=rounds, learning_rate=LEARNING_RATE, n_jobs=n_jobs, random_state=0
        )
        return model.fit(X, y)

    for learner in LEARNERS.values():
        fit(learner, n_jobs=1, rounds=2)  # compiles the loops
    works = {(name, n_jobs): partial(fit, learner, n_jobs) for name, learner in LEARNERS.items() for n_jobs in (1, 2)}
    # CPU time adds the threads up; only the wall clock shows what they save.
    return best_times(works, repeats, clock=time.perf_counter)


def report(options):
    """Return the section of the report, as Markdown."""
    title = "Two threads against one"
    if n_cores() < 2:
        return section(title, "Skipped: this machine has one core.")
    rows = []
    for n_rows, n_columns, n_rounds in sizes(options):
        progress(f"threads: {n_rows} rows")
        times = measure(n_rows, n_columns, n_rounds, repeats=1 if options.quick else 5)
        for name in LEARNERS:
            one, two = times[name, 1], times[name, 2]
            same = np.array_equal(one.result.arm_errors_, two.result.arm_errors_)
            rows.append(
                (
                    name,
                    f"{n_rows:,} × {N_VIEWS} × {n_columns}, {n_rounds} rounds",
                    number(one.seconds),
                    number(two.seconds),
                    number(one.seconds / two.seconds),
                    "yes" if same else "**no**",
                )
            )
    return section(
        title,
        "Whole fits of ShareBoost by the wall clock, `n_jobs=1` and `n_jobs=2`; the models must be the same, bit for "
        "bit.",
        markdown_table(("learner", "size", "one thread, s", "two threads, s", "times faster", "same model"), rows),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
