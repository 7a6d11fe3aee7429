"""Cost of a round on a Dask cluster, gain of more workers, and loss of a worker.

Usage: ``python -m benchmarks.dask_cluster [--quick]``

The cluster is on this machine: workers of one thread each, in processes of their own. The last part kills a worker in
the middle of a fit with SIGKILL, for ShareBoost and for the Dask interfaces of XGBoost and LightGBM where these are
installed.
"""

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np

from benchmarks.command_line import progress, run_script
from benchmarks.tables import at_least, at_most, markdown_table, number, quick_note, section
from benchmarks.timing import round_times
from fuselearn import ShareBoostClassifier

N_VIEWS, N_COLUMNS = 3, 20
MOST_OVERHEAD = 0.1
LEAST_SPEED_UP = 1.5
PARTITIONS = (2, 8, 64)
PATIENCE = 60
"""Seconds after which a fit that lost a worker counts as stuck."""


def cluster(n_workers):
    """Return the client of a cluster of processes of one thread each."""
    from distributed import Client, LocalCluster

    return Client(
        LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50)
    )


def block(number, n_rows):
    """Return the rows of one partition, made on the worker that needs them."""
    return np.random.default_rng(number).normal(size=(n_rows, N_VIEWS * N_COLUMNS))


def labels(X):
    """Return the class of each row, to which every view contributes."""
    return (X[:, ::N_COLUMNS].sum(axis=1) > 0).astype(np.int32)


def collections(n_rows, n_partitions):
    """Return X and y as Dask arrays on the workers."""
    import dask.array as da
    from dask import delayed
    from distributed import wait

    n_rows_each = n_rows // n_partitions
    partitions = [
        da.from_delayed(delayed(block)(number, n_rows_each), (n_rows_each, N_VIEWS * N_COLUMNS), dtype=float)
        for number in range(n_partitions)
    ]
    X = da.concatenate(partitions).persist()
    y = X.map_blocks(labels, drop_axis=1, dtype=np.int32).persist()
    wait([X, y])
    return X, y


def model(n_rounds):
    """Return shared boosting of stumps, with small steps, so that no run ends early."""
    views = [slice(first, first + N_COLUMNS) for first in range(0, N_VIEWS * N_COLUMNS, N_COLUMNS)]
    return ShareBoostClassifier("stump", views=views, n_estimators=n_rounds, learning_rate=0.1, random_state=0)


def seconds_a_round(X, y, n_rounds):
    """Return the median of the seconds between two rounds: the preparation of the first does not count."""
    return float(np.median(np.diff(round_times(model(2 + n_rounds), X, y))))


def overhead(options):
    """Return a table of the time of a round on next to no rows, by number of partitions."""
    n_rounds = 10 if options.quick else 40
    rows = []
    with cluster(2) as client:
        model(2).fit(*collections(6400, 2))  # compiles the loops
        for n_partitions in PARTITIONS:
            progress(f"dask_cluster: overhead with {n_partitions} partitions")
            a_round = seconds_a_round(*collections(6400, n_partitions), n_rounds)
            rows.append((str(n_partitions), at_most(a_round, MOST_OVERHEAD)))
        client.shutdown()
    return markdown_table(("partitions", "round, s"), rows)


def speed_up(options):
    """Return a table of the time of a round by number of workers."""
    n_rows, n_rounds = (400_000, 5) if options.quick else (10_000_000, 10)
    seconds = {}
    for n_workers in (1, 2):
        progress(f"dask_cluster: {n_rows:,} rows on {n_workers} workers")
        with cluster(n_workers) as client:
            model(2).fit(*collections(6400, 2))
            seconds[n_workers] = seconds_a_round(*collections(n_rows, 8), n_rounds)
            client.shutdown()
    return markdown_table(
        ("rows", "1 worker: round, s", "2 workers: round, s", "times faster"),
        [(f"{n_rows:,}", number(seconds[1]), number(seconds[2]), at_least(seconds[1] / seconds[2], LEAST_SPEED_UP))],
    )


def peers():
    """Return the fits that are compared when a worker is killed, by name."""
    fits = {"ShareBoost, stumps": lambda X, y: model(200).fit(X, y)}
    if find_spec("xgboost"):

        def xgboost_fit(X, y):
            import xgboost.dask

            return xgboost.dask.DaskXGBClassifier(n_estimators=200, max_depth=6).fit(X, y)

        fits["XGBoost"] = xgboost_fit
    if find_spec("lightgbm"):

        def lightgbm_fit(X, y):
            import lightgbm

            return lightgbm.DaskLGBMClassifier(n_estimators=200, verbose=-1).fit(X, y)

        fits["LightGBM"] = lightgbm_fit
    return fits


def fit_with_a_kill(client, fit, X, y, after):
    """Fit, and kill a worker after some seconds; return the outcome in words, and the model or None."""
    result = {}

    def work():
        try:
            result["model"] = fit(X, y)
        except BaseException as error:
            result["error"] = error

    pids = client.run(os.getpid)
    thread = threading.Thread(target=work, daemon=True)
    start = time.perf_counter()
    thread.start()
    time.sleep(after)
    if not thread.is_alive():
        return "done before the kill", result.get("model")
    os.kill(sorted(pids.values())[0], signal.SIGKILL)
    thread.join(PATIENCE)
    seconds = time.perf_counter() - start
    if thread.is_alive():
        return f"stuck, stopped waiting after {PATIENCE} s", None
    if "error" in result:
        return f"aborted: {type(result['error']).__name__}: {str(result['error'])[:80]}", None
    return f"done in {seconds:.1f} s", result["model"]


def losses(options):
    """Return a table of the outcomes of fits that lose a worker."""
    n_rows = 200_000 if options.quick else 1_000_000
    rows = []
    for name, fit in peers().items():
        progress(f"dask_cluster: a worker of {name} is killed")
        with cluster(2) as client:
            X, y = collections(n_rows, 8)
            start = time.perf_counter()
            undisturbed = fit(X, y)
            seconds = time.perf_counter() - start
            words, survivor = fit_with_a_kill(client, fit, X, y, seconds / 2)
            same = "-"
            if survivor is not None and hasattr(survivor, "estimator_weights_"):
                equal = np.array_equal(survivor.estimator_weights_, undisturbed.estimator_weights_)
                same = "yes, bit for bit" if equal else "no"
            rows.append((name, number(seconds), words.replace("\n", " ").replace("|", "/"), same))
            client.shutdown()
    return markdown_table(("fit", "undisturbed, s", "one of two workers killed half-way", "same model"), rows)


@contextmanager
def output_to_stderr():
    """Send what the workers and their libraries print to stderr: stdout is for the Markdown."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def report(options):
    """Return the section of the report, as Markdown."""
    with output_to_stderr():
        return figures(options)


def figures(options):
    """Return all tables, as Markdown."""
    return section(
        "Dask cluster",
        f"Workers of one thread on this machine. {N_VIEWS} views of {N_COLUMNS} columns, stumps.",
        "A round on 6,400 rows, which is all overhead, on two workers:",
        overhead(options),
        "More workers:",
        speed_up(options),
        "A worker is lost:",
        losses(options),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
