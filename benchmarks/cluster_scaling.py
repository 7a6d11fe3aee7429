"""Estimated time of a fit on 100 workers, from constants of a round measured on a cluster on this machine.

Usage: ``python -m benchmarks.cluster_scaling [--quick]``

The derivation is in ``docs/scaling.md``. Nothing here was run on 100 workers.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.command_line import progress, run_script
from benchmarks.dask_cluster import cluster, output_to_stderr
from benchmarks.tables import markdown_table, number, quick_note, section
from benchmarks.timing import round_times
from fuselearn import ShareBoostClassifier

SHAPES = ((1, 20), (1, 100), (5, 20), (5, 100))
"""Numbers of views, and columns of each."""
N_WORKERS = (1, 2, 4, 8, 16)
FEW_ROWS = 6400
N_BINS, BYTES_OF_A_SUM, N_CLASSES = 256, 8, 2
NETWORK = 1.25e9
"""Bytes a second into the machine of the client: 10 Gbit/s. Assumed, not measured."""
ROWS, COLUMNS, VIEWS, WORKERS, ROUNDS = 10**9, 1000, 20, 100, 200
"""The task that time is derived for; workers of one thread."""


@dataclass(frozen=True)
class Constants:
    """Seconds that a round of stumps takes.

    Attributes
    ----------
    start, per_worker : float
        Independent of the rows.
    per_row, per_view, per_value : float
        On a worker, for each of its rows: once, for each view that is tried, and for each of its columns.
    per_column : float
        At the client, for each worker and column: reading its sums, adding them, and searching for the best cut.
    """

    start: float
    per_worker: float
    per_row: float
    per_view: float
    per_value: float
    per_column: float

    def round(self, n_rows, n_columns, n_views, n_workers):
        """Return the seconds of a round that tries these views: for messages, rows, and sums at the client."""
        messages = self.start + self.per_worker * n_workers
        rows = n_rows / n_workers * (self.per_row + self.per_view * n_views + self.per_value * n_columns)
        sent = n_columns * N_BINS * N_CLASSES * BYTES_OF_A_SUM * n_workers
        sums = self.per_column * n_columns * n_workers + sent / NETWORK
        return messages, rows, sums

    def best_number_of_workers(self, n_rows, n_columns, n_views):
        """Return the number at which one more worker costs the client as much as it saves the others."""
        shared = n_rows * (self.per_row + self.per_view * n_views + self.per_value * n_columns)
        sent = n_columns * N_BINS * N_CLASSES * BYTES_OF_A_SUM
        return np.sqrt(shared / (self.per_worker + self.per_column * n_columns + sent / NETWORK))


def random_rows(n_rows, n_columns, n_partitions):
    """Return X and y as Dask arrays on the workers."""
    import dask.array as da
    from distributed import wait

    X = da.random.default_rng(0).normal(size=(n_rows, n_columns), chunks=(n_rows // n_partitions, n_columns)).persist()
    y = (X[:, 0] + X[:, n_columns // 2] > 0).astype(np.int32).persist()
    wait([X, y])
    return X, y


def seconds_a_round(n_rows, n_views, n_columns, n_partitions, n_rounds):
    """Return the median seconds of a round of stumps that tries all views."""
    views = [slice(first, first + n_columns) for first in range(0, n_views * n_columns, n_columns)]
    model = ShareBoostClassifier("stump", views=views, n_estimators=2 + n_rounds, learning_rate=0.1, random_state=0)
    X, y = random_rows(n_rows, n_views * n_columns, n_partitions)
    return float(np.median(np.diff(round_times(model, X, y))[1:]))


def measure(options):
    """Return the constants, the seconds of a round of next to no rows, and the numbers of workers these are for."""
    n_rows, n_rounds = (20_000, 5) if options.quick else (400_000, 12)
    worker_counts = N_WORKERS[:2] if options.quick else N_WORKERS
    times, idle, wide = {}, [], []
    with cluster(1) as client:
        seconds_a_round(FEW_ROWS, 1, 20, 1, 3)  # compiles the loops
        for shape in SHAPES:
            progress(f"cluster_scaling: {shape[0]} views of {shape[1]} columns")
            times[shape] = seconds_a_round(n_rows, *shape, 4, n_rounds) - seconds_a_round(FEW_ROWS, *shape, 4, n_rounds)
        client.shutdown()
    for n_workers in worker_counts:
        progress(f"cluster_scaling: {n_workers} workers")
        with cluster(n_workers) as client:
            idle.append(seconds_a_round(FEW_ROWS, 1, 20, n_workers, 3 * n_rounds))
            wide.append(seconds_a_round(FEW_ROWS, 1, 500, n_workers, n_rounds))
            client.shutdown()
    design = np.array([(1.0, views, views * columns) for views, columns in SHAPES])
    by_row = np.linalg.lstsq(design, np.array([times[shape] for shape in SHAPES]) / (n_rows - FEW_ROWS), rcond=None)[0]
    per_worker, start = np.polyfit(worker_counts, idle, 1)
    per_column = np.polyfit(worker_counts, np.subtract(wide, idle) / (500 - 20), 1)[0]
    return Constants(start, max(per_worker, 0.0), *np.maximum(by_row, 0.0), max(per_column, 0.0)), idle, worker_counts


def constants_table(constants):
    """Return the constants as a Markdown table."""
    rows = [
        ("a round, ms", number(1e3 * constants.start)),
        ("a round and worker, ms", number(1e3 * constants.per_worker)),
        ("a row, ns", number(1e9 * constants.per_row)),
        ("a row and view, ns", number(1e9 * constants.per_view)),
        ("a row and column, ns", number(1e9 * constants.per_value)),
        ("a column and worker, at the client, µs", number(1e6 * constants.per_column)),
    ]
    return markdown_table(("constant", "measured"), rows)


def derived_table(constants):
    """Return the time on few and on many workers, for all views a round and for one, as a Markdown table."""
    rows = []
    for name, n_views in (("best of all views", VIEWS), ("bandit, one view", 1)):
        n_columns = COLUMNS * n_views // VIEWS
        for n_workers in (WORKERS // 10, WORKERS, 10 * WORKERS):
            parts = constants.round(ROWS, n_columns, n_views, n_workers)
            a_round = sum(parts)
            rows.append(
                (
                    name,
                    f"{n_workers:,}",
                    *map(number, parts),
                    number(a_round),
                    number(ROUNDS * a_round / 60),
                    number(ROUNDS * a_round * n_workers / 3600),
                )
            )
    header = ("round", "workers", "messages, s", "rows, s", "sums at the client, s", "a round, s")
    return markdown_table((*header, f"{ROUNDS} rounds, min", "core hours"), rows)


def report(options):
    """Return the section of the report, as Markdown."""
    with output_to_stderr():
        constants, idle, worker_counts = measure(options)
    best = constants.best_number_of_workers(ROWS, COLUMNS, VIEWS)
    best_of_one = constants.best_number_of_workers(ROWS, COLUMNS // VIEWS, 1)
    workers = ", ".join(f"{1e3 * seconds:.0f} ms on {n}" for n, seconds in zip(worker_counts, idle))
    return section(
        "A larger cluster, on paper",
        "Constants of a round of stumps, two classes, workers of one thread on this machine, from fits of 400,000 and "
        f"of {FEW_ROWS:,} rows. A round of next to no rows: {workers}. All processes share two cores, so that figures "
        "of many workers are too high.",
        constants_table(constants),
        f"Estimates for {ROWS:,} rows of {COLUMNS:,} columns in {VIEWS} views, after loading, with "
        f"{NETWORK / 1e9:g} GB/s into the client; `docs/scaling.md` has the formula. Derived, not run.",
        derived_table(constants),
        f"More workers than {number(best)} make a round of all views slower, and more than {number(best_of_one)} one "
        "of a single view.",
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
