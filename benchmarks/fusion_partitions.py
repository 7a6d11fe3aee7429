"""FusionClassifier on a Dask cluster, from files larger than memory, and on a GPU; a part of `fusion.py`.

The cluster is on this machine: two workers of one thread each, in processes of their own. Each measurement runs in a
new process (``python -m benchmarks.fusion_partitions --measure WHAT …``), so that memory of one is not that of another.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.command_line import progress
from benchmarks.data import clustered_views
from benchmarks.machine import cpu_model, n_cores
from benchmarks.memory import lower_peak, peak_memory
from benchmarks.out_of_core import VIEWS, write_rows
from benchmarks.tables import at_least, at_most, markdown_table, number, quick_note, section
from fuselearn import FusionClassifier

N_VIEWS, N_COLUMNS = 3, 20
N_WORKERS, N_PARTITIONS = 2, 8
N_TEST = 10_000
MOST_DIFFERENCE = 1e-9
"""Between probabilities of a model fitted on a cluster and of one fitted here."""
LIMIT = 4 * 2**30
GPU_COLUMNS = 100
"""Columns of each of three views."""
GOAL_OF_GPU = 10
GPU_WARM_UP = 6_000
"""Rows that are fitted first: enough to be many, which few rows are not fitted like."""


def model(views, **settings):
    """Return FusionClassifier with its defaults."""
    return FusionClassifier(views=views, random_state=0, **settings)


def rows_of(n_rows, n_columns=N_COLUMNS):
    """Return training rows, test rows and views."""
    X, y, views = clustered_views(n_rows + N_TEST, N_VIEWS, n_columns)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], views


def timed(work):
    """Return what work returns, and how many seconds it took by the wall clock."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def measure_memory(n_rows, n_jobs):
    """Fit rows in memory; return the seconds, and the probabilities of test rows."""
    X, y, X_test, y_test, views = rows_of(n_rows)
    model(views).fit(X[:3_000], y[:3_000])  # compiles the loops
    fitted, seconds = timed(lambda: model(views, n_jobs=n_jobs).fit(X, y))
    return _outcome(fitted, X_test, y_test) | {"seconds": seconds}


def measure_cluster(n_rows):
    """Fit rows on a cluster; return the seconds, and the probabilities of test rows."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    X, y, X_test, y_test, views = rows_of(n_rows)
    model(views).fit(X[:3_000], y[:3_000])
    options = {"n_workers": N_WORKERS, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(memory_limit=0, **options) as cluster, Client(cluster):
        size = -(-n_rows // N_PARTITIONS)
        there = da.from_array(X, chunks=(size, -1)).persist()
        labels = da.from_array(y, chunks=size).persist()
        wait([there, labels])
        model(views).fit(there[:3_000], labels[:3_000])  # compiles the loops on the workers
        fitted, seconds = timed(lambda: model(views).fit(there, labels))
    return _outcome(fitted, X_test, y_test) | {"seconds": seconds}


def measure_files(folder):
    """Fit rows from files; return the seconds, the bytes taken, and accuracy on rows of another file."""
    from pyarrow import parquet

    paths = sorted(Path(folder).glob("*.parquet"))
    *train, test = paths
    model(VIEWS).fit(train[:1], "target")  # compiles the loops
    lower_peak()
    before = peak_memory()
    fitted, seconds = timed(lambda: model(VIEWS, n_jobs=2).fit(train, "target"))
    memory = peak_memory() - before
    predicted, predict_seconds = timed(lambda: np.asarray(fitted.predict([test])))
    y = parquet.read_table(test, columns=["target"])["target"].to_numpy()
    return {
        "seconds": seconds,
        "predict": predict_seconds,
        "memory": memory,
        "resident": peak_memory(),
        "accuracy": float(np.mean(predicted == y)),
    }


def measure_gpu(n_rows):
    """Fit and predict rows on the GPU and on all cores, in three views and in one; return the seconds of all."""
    import cupy

    X, y, X_test, y_test, views = rows_of(n_rows, GPU_COLUMNS)
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    places = {"gpu": (cupy.asarray(X), cupy.asarray(y), {}), "cores": (X, y, {"n_jobs": -1})}
    figures = {}
    for name, of_table in ((f"{N_VIEWS} views", views), ("one view", None)):
        figures[name], outcomes = {}, []
        for place, (table, labels, settings) in places.items():
            few = slice(0, GPU_WARM_UP)
            model(of_table, **settings).fit(table[few], labels[few]).predict_proba(table[few])  # compiles
            fitted, figures[name][place] = timed(lambda: model(of_table, **settings).fit(table, labels))  # noqa: B023
            _, figures[name][f"predict_{place}"] = timed(lambda: fitted.predict_proba(table))  # noqa: B023
            outcomes.append(_outcome(fitted, X_test, y_test))
        figures[name]["difference"] = _difference(*outcomes)
        figures[name]["accuracy"] = [outcome["accuracy"] for outcome in outcomes]
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    machine = f"{properties['name'].decode()}, {cpu_model()}, {n_cores()} cores; CuPy {cupy.__version__}."
    return {"machine": machine, "figures": figures}


def _outcome(fitted, X_test, y_test):
    probabilities = np.asarray(fitted.predict_proba(X_test))
    accuracy = float(np.mean(probabilities.argmax(axis=1) == y_test))
    return {"accuracy": accuracy, "probabilities": probabilities[:, 1].tolist()}


def _difference(first, second):
    return float(np.abs(np.subtract(first["probabilities"], second["probabilities"])).max())


MEASURES = {"memory": measure_memory, "cluster": measure_cluster, "files": measure_files, "gpu": measure_gpu}


def in_new_process(what, *arguments, limit=None):
    """Call a measurement in a new process, under a limit of memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.fusion_partitions", "--measure", what, *map(str, arguments)]
    environment = dict(os.environ)
    if limit is not None:
        environment |= {"FUSELEARN_MEMORY_LIMIT": str(limit), "MALLOC_MMAP_THRESHOLD_": "65536"}
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(finished.stdout.splitlines()[-1])


def cluster_report(options):
    """Return the section of a cluster, as Markdown."""
    rows = []
    for n_rows in (4_000,) if options.quick else (100_000, 1_000_000):
        progress(f"fusion: {n_rows:,} rows in memory")
        here = {n_jobs: in_new_process("memory", n_rows, n_jobs) for n_jobs in (1, 2)}
        progress(f"fusion: {n_rows:,} rows on {N_WORKERS} workers")
        there = in_new_process("cluster", n_rows)
        rows.append(
            (
                f"{n_rows:,}",
                *(number(here[n_jobs]["seconds"]) for n_jobs in (1, 2)),
                number(there["seconds"]),
                f"{100 * here[1]['accuracy']:.1f}",
                f"{100 * there['accuracy']:.1f}",
                at_most(_difference(here[1], there), MOST_DIFFERENCE),
            )
        )
    header = (
        "rows",
        "1 thread, s",
        "2 threads, s",
        f"{N_WORKERS} workers, s",
        "accuracy here",
        "accuracy there",
        "largest difference of probabilities",
    )
    return section(
        "FusionClassifier on a Dask cluster",
        f"{N_VIEWS} views of {N_COLUMNS} columns, two classes of eight clusters, a tenth of the labels wrong: in "
        f"memory, and in {N_PARTITIONS} partitions on {N_WORKERS} workers of one thread on this machine. Seconds by "
        "the wall clock.",
        markdown_table(header, rows),
        *quick_note(options),
    )


def files_report(options):
    """Return the section of Parquet files, as Markdown."""
    # One file more, to test on.
    n_rows, limit = (2_000_000, LIMIT // 8) if options.quick else (21_000_000, LIMIT)
    with tempfile.TemporaryDirectory() as folder:
        progress(f"fusion: writing {n_rows:,} rows")
        write_rows(folder, n_rows)
        progress(f"fusion: fitting from files within {limit // 2**20:,} MiB")
        figures = in_new_process("files", folder, limit=limit)
    return section(
        "FusionClassifier from files larger than memory",
        f"Parquet files of double precision, {len(VIEWS)} views, under a FUSELEARN_MEMORY_LIMIT, two threads; accuracy "
        "in percent on the rows of a file that was not fitted.",
        markdown_table(
            (
                "rows",
                "limit, MiB",
                "fit, s",
                "predict 1,000,000 rows, s",
                "peak of the fit, MiB",
                "peak of the process",
                "accuracy",
                "of the limit",
            ),
            [
                (
                    f"{n_rows - 1_000_000:,} × 20",
                    number(limit / 2**20),
                    number(figures["seconds"]),
                    number(figures["predict"]),
                    number(figures["memory"] / 2**20),
                    number(figures["resident"] / 2**20),
                    f"{100 * figures['accuracy']:.1f}",
                    at_most(figures["memory"] / limit, 1.0),
                )
            ],
        ),
        *quick_note(options),
    )


def gpu_report(options):
    """Return the section of a GPU, as Markdown."""
    title = "FusionClassifier on a GPU"
    if find_spec("cupy") is None:
        return section(title, "Left out: CuPy is not installed (`pip install 'fuselearn[cuda]'`).")
    n_rows = 6_000 if options.quick else 200_000
    progress(f"fusion: {n_rows:,} rows on the GPU and on all cores")
    outcome = in_new_process("gpu", n_rows)
    n_columns = N_VIEWS * GPU_COLUMNS
    rows = [
        (
            name,
            number(figures["gpu"]),
            number(figures["cores"]),
            at_least(figures["cores"] / figures["gpu"], GOAL_OF_GPU),
            number(figures["predict_gpu"]),
            number(figures["predict_cores"]),
            number(figures["predict_cores"] / figures["predict_gpu"]),
            " and ".join(f"{100 * value:.1f}" for value in figures["accuracy"]),
            f"{figures['difference']:.0e}",
        )
        for name, figures in outcome["figures"].items()
    ]
    return section(
        title,
        outcome["machine"],
        f"{n_rows:,} rows of {n_columns} columns, single precision. Seconds by the wall clock; the training rows are "
        "predicted. The last column is the largest difference of probabilities of test rows.",
        markdown_table(
            (
                "",
                "fit, GPU, s",
                "all cores, s",
                "times faster",
                "predict, GPU, s",
                "all cores, s",
                "times faster",
                "accuracy, %",
                "difference",
            ),
            rows,
        ),
        *quick_note(options),
    )


REPORTS = {"dask": cluster_report, "parquet": files_report, "gpu": gpu_report}


if __name__ == "__main__":
    if sys.argv[1:2] != ["--measure"]:
        sys.exit(f"usage: python -m benchmarks.fusion --beyond {{{','.join(REPORTS)}}}")
    what, *arguments = sys.argv[2:]
    given = [int(argument) if argument.isdigit() else argument for argument in arguments]
    print(json.dumps(MEASURES[what](*given)))
