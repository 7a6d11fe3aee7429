"""Growth of the time of a fit with rows, columns and rounds.

Usage: ``python -m benchmarks.scaling [--quick]``
"""

from functools import partial

from benchmarks.command_line import progress, run_script
from benchmarks.data import clustered_views
from benchmarks.tables import at_most, markdown_table, number, quick_note, section
from benchmarks.timing import best_times, exponent
from fuselearn import ShareBoostClassifier

LEARNERS = {"naive Bayes": "gaussian_nb", "stump": "stump", "tree": "tree"}
LARGEST_EXPONENT = 1.1
"""Linear, with room for the caches that large data no longer fit into."""
LEARNING_RATE = 0.01
"""Small steps, so that no run ends before its last round."""
N_VIEWS = 3


def grids(options):
    """Return the quantities that are varied, and the sizes (rows, columns in all, rounds) to try for each."""
    if options.quick:
        return {
            "rows": [(1_000, 30, 10), (3_000, 30, 10), (10_000, 30, 10)],
            "columns": [(2_000, 30, 10), (2_000, 90, 10), (2_000, 300, 10)],
            "rounds": [(2_000, 30, 10), (2_000, 30, 30), (2_000, 30, 100)],
        }
    return {
        "rows": [(10_000, 30, 20), (100_000, 30, 20), (1_000_000, 30, 20)],
        "columns": [(20_000, 30, 20), (20_000, 300, 20), (20_000, 3_000, 20)],
        "rounds": [(20_000, 30, 20), (20_000, 30, 200), (20_000, 30, 2_000)],
    }


SIZE_OF = {"rows": 0, "columns": 1, "rounds": 2}


def seconds_of_fits(n_rows, n_columns, n_rounds, repeats):
    """Return the seconds of the best whole fit of each learner at one size."""
    X, y, views = clustered_views(n_rows, N_VIEWS, n_columns // N_VIEWS)

    def fit(learner):
        model = ShareBoostClassifier(
            learner, views=views, n_estimators=n_rounds, learning_rate=LEARNING_RATE, random_state=0
        )
        return model.fit(X, y)

    times = best_times({name: partial(fit, learner) for name, learner in LEARNERS.items()}, repeats)
    for name, timed in times.items():
        if timed.result.n_iter_ < n_rounds:
            # A shorter run would pass for a faster one.
            raise RuntimeError(f"{name} ended after {timed.result.n_iter_} of {n_rounds} rounds.")
    return {name: timed.seconds for name, timed in times.items()}


def report(options):
    """Return the section of the report, as Markdown."""
    seconds_of_fits(3_000, 30, 2, repeats=1)  # compiles the loops
    parts = []
    for varied, sizes in grids(options).items():
        by_size = []
        for size in sizes:
            progress(f"scaling: rows, columns, rounds = {size}")
            by_size.append(seconds_of_fits(*size, repeats=1 if options.quick else 2))
        tried = [size[SIZE_OF[varied]] for size in sizes]
        header = (f"fit, s, by {varied}", *(f"{value:,}" for value in tried), "exponent")
        rows = []
        for name in LEARNERS:
            seconds = [times[name] for times in by_size]
            rows.append((name, *map(number, seconds), at_most(exponent(tried, seconds), LARGEST_EXPONENT)))
        fixed = [f"{sizes[0][place]:,} {other}" for other, place in SIZE_OF.items() if other != varied]
        parts += [f"By {varied}, with {' and '.join(fixed)}:", markdown_table(header, rows)]
    return section(
        "Growth with rows, columns and rounds",
        f"Whole fits of ShareBoost over {N_VIEWS} views, one thread. The exponent is the slope of log time over log "
        "size: 1 is linear; less means that fixed costs of a fit or a round still count at the small sizes. Trees "
        "grow until their leaves are pure enough, which takes more nodes in later rounds.",
        *parts,
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
