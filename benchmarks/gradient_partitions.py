"""Gradient boosting on a Dask cluster beside memory, and from files larger than the memory it may take.

Usage: ``python -m benchmarks.gradient_partitions [--quick]``

The cluster is on this machine: two workers of one thread each, in processes of their own. Each measurement runs in a
new process (``python -m benchmarks.gradient_partitions --measure WHAT …``), so that memory of one is not that of
another. Trees have 31 leaves, and a round is one tree.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.command_line import progress, run_script
from benchmarks.memory import lower_peak, peak_memory
from benchmarks.out_of_core import write_rows
from benchmarks.tables import at_most, markdown_table, number, quick_note, section
from benchmarks.timing import round_times
from fuselearn import ShareGradientBoostingClassifier

N_COLUMNS = 60
N_WORKERS, N_PARTITIONS = 2, 8
N_ROUNDS = 8
MOST_REDUCTIONS = 10
LIMIT = 2 * 2**30


def model(n_rounds, **settings):
    """Return gradient boosting of 31 leaves a tree, without early stopping."""
    return ShareGradientBoostingClassifier(n_estimators=n_rounds, early_stopping=False, random_state=0, **settings)


def block(number, n_rows):
    """Return the rows of one partition, made on the worker that needs them."""
    return np.random.default_rng(number).normal(size=(n_rows, N_COLUMNS)).astype(np.float32)


def labels(X):
    """Return the class of each row: a sum, a product and a square, with noise that follows from the row itself."""
    score = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] ** 2 - 1 + np.sin(1e4 * X[:, 4])
    return (score > 0).astype(np.int32)


def a_round(ends):
    """Return the median of the seconds of a round; the preparation of the first does not count."""
    return float(np.median(np.diff(ends)))


def measure_memory(n_rows, n_jobs):
    """Fit rows in memory; return the seconds of a round."""
    n_rows_each = n_rows // N_PARTITIONS
    X = np.concatenate([block(part, n_rows_each) for part in range(N_PARTITIONS)])
    y = labels(X)
    model(2).fit(X[:5000], y[:5000])  # compiles the loops
    fitted = model(N_ROUNDS, n_jobs=n_jobs)
    return {"round": a_round(round_times(fitted, X, y)), "score": fitted.train_score_.tolist()}


def measure_cluster(n_rows):
    """Fit rows on a cluster; return the seconds of a round, and the reductions of a tree."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster, wait

    from fuselearn.backends.partitioned.dask_cluster import DaskPartitions

    n_asked = []
    ask = DaskPartitions.ask

    def counted(self, updates, questions):
        n_asked.append(len(updates))
        return ask(self, updates, questions)

    DaskPartitions.ask = counted
    options = {"n_workers": N_WORKERS, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    n_rows_each = n_rows // N_PARTITIONS
    with LocalCluster(memory_limit=0, **options) as cluster, Client(cluster):
        parts = [
            da.from_delayed(delayed(block)(part, n_rows_each), (n_rows_each, N_COLUMNS), dtype=np.float32)
            for part in range(N_PARTITIONS)
        ]
        X = da.concatenate(parts).persist()
        y = X.map_blocks(labels, drop_axis=1, dtype=np.int32).persist()
        wait([X, y])
        model(2).fit(X[: n_rows_each // 100], y[: n_rows_each // 100])  # compiles the loops
        n_asked.clear()
        fitted = model(N_ROUNDS)
        ends = round_times(fitted, X, y)
    # Those of a tree are asked with the trees before it; its losses come with the root of the next.
    reductions = np.bincount(n_asked)[:N_ROUNDS]
    return {"round": a_round(ends), "score": fitted.train_score_.tolist(), "reductions": int(reductions.max())}


def measure_files(folder):
    """Fit rows from files; return seconds before the first round and per round, and bytes taken."""
    first = sorted(Path(folder).glob("*.parquet"))[0]
    model(2).fit(first, "target")  # compiles the loops
    lower_peak()
    before = peak_memory()
    start = time.perf_counter()
    ends = round_times(model(N_ROUNDS, n_jobs=2), folder, "target")
    seconds = a_round(ends)
    return {
        "start": ends[0] - start - seconds,
        "round": seconds,
        "memory": peak_memory() - before,
        "resident": peak_memory(),
    }


MEASURES = {"memory": measure_memory, "cluster": measure_cluster, "files": measure_files}


def in_new_process(what, *arguments, limit=None):
    """Call a measurement in a new process, under a limit of memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.gradient_partitions", "--measure", what, *map(str, arguments)]
    environment = dict(os.environ)
    if limit is not None:
        environment |= {"FUSELEARN_MEMORY_LIMIT": str(limit), "MALLOC_MMAP_THRESHOLD_": "65536"}
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(finished.stdout.splitlines()[-1])


def cluster_table(options):
    """Return a table of the time of a round in memory and on a cluster."""
    n_rows = 200_000 if options.quick else 10_000_000
    figures = {}
    for n_jobs in (1, 2):
        progress(f"gradient_partitions: {n_rows:,} rows in memory, {n_jobs} threads")
        figures[n_jobs] = in_new_process("memory", n_rows, n_jobs)
    progress(f"gradient_partitions: {n_rows:,} rows on {N_WORKERS} workers")
    there = in_new_process("cluster", n_rows)
    same = all(there["score"] == here["score"] for here in figures.values())
    return markdown_table(
        (
            "rows",
            "1 thread: round, s",
            "2 threads: round, s",
            "2 workers: round, s",
            "reductions a tree",
            "same losses",
        ),
        [
            (
                f"{n_rows:,} × {N_COLUMNS}",
                number(figures[1]["round"]),
                number(figures[2]["round"]),
                number(there["round"]),
                at_most(there["reductions"], MOST_REDUCTIONS),
                "yes, bit for bit" if same else "**no**",
            )
        ],
    )


def files_table(options):
    """Return a table of a fit from files."""
    n_rows = 2_000_000 if options.quick else 50_000_000
    limit = LIMIT // 16 if options.quick else LIMIT
    with tempfile.TemporaryDirectory() as folder:
        progress(f"gradient_partitions: writing {n_rows:,} rows")
        write_rows(folder, n_rows)
        progress(f"gradient_partitions: {n_rows:,} rows from files within {limit // 2**20:,} MiB")
        figures = in_new_process("files", folder, limit=limit)
    return markdown_table(
        (
            "rows",
            "limit, MiB",
            "start, s",
            "round, s",
            "peak of the fit, MiB",
            "peak of the process, MiB",
            "of the limit",
        ),
        [
            (
                f"{n_rows:,} × 20",
                number(limit / 2**20),
                number(figures["start"]),
                number(figures["round"]),
                number(figures["memory"] / 2**20),
                number(figures["resident"] / 2**20),
                at_most(figures["memory"] / limit, 1.0),
            )
        ],
    )


def report(options):
    """Return the section of the report, as Markdown."""
    return section(
        "Gradient boosting in partitions",
        f"Trees of 31 leaves on {N_COLUMNS} columns of single precision, one tree a round: in memory, and in "
        f"{N_PARTITIONS} partitions on {N_WORKERS} workers of one thread.",
        cluster_table(options),
        "The same from Parquet files of double precision under a FUSELEARN_MEMORY_LIMIT, two threads. The files are "
        "read to check them, to place the bins (twice), and to bin the rows; these and their scores lie in a temporary "
        "folder.",
        files_table(options),
        *quick_note(options),
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        what, *arguments = sys.argv[2:]
        given = [int(argument) if argument.isdigit() else argument for argument in arguments]
        print(json.dumps(MEASURES[what](*given)))
    else:
        run_script(report, __doc__)
