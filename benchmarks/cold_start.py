"""First fits, commands and predictions: processor time while no loop is compiled yet, and once all are.

Usage: ``python -m benchmarks.cold_start [--quick]``

Each runs in a new process with a numba cache of its own, first an empty one, then the same one as the first process
left it. Times are of the whole process, with its imports.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.command_line import progress, run_script
from benchmarks.fitted_files import first_lines, fit_fusion, fuselearn
from benchmarks.tables import at_most, markdown_table, number, quick_note, section

REPEATS = 3
N_COLUMNS, N_PREDICTED = 384, 70
MOST_SECONDS = 3
"""By the clock, of a first ``fuselearn predict`` with an empty cache."""
PREDICT = f"`fuselearn predict`, {N_PREDICTED} rows × {N_COLUMNS} columns"
IMPORTS = """
from fuselearn import {estimator}
from fuselearn.datasets import make_views
"""
FIT = f"""{IMPORTS}
data = make_views(300, n_features=5, random_state=0)
{{estimator}}({{settings}}views=data.views).fit(data.X, data.y)
"""


class Seconds(NamedTuple):
    """What a process took, by the clock and of the processor, its own processes included."""

    wall: float
    processor: float


class Starts(NamedTuple):
    """What a process took with an empty cache, and with the cache that such a process had filled."""

    empty: Seconds
    filled: Seconds


def python(code):
    """Return the command that runs code in a new interpreter."""
    return [sys.executable, "-c", code]


def fit_of(estimator, settings=""):
    """Return the command that fits an estimator to small data."""
    return python(FIT.format(estimator=estimator, settings=settings))


def commands(folder, *, quick):
    """Return what is measured, by name; its model and rows are made in a folder."""
    quick_ones = {
        "`import fuselearn`": python("import fuselearn"),
        "`fuselearn --help`": fuselearn("--help"),
        "`ShareBoostClassifier`, naive Bayes": fit_of("ShareBoostClassifier", "'gaussian_nb', "),
    }
    if quick:
        return quick_ones
    progress("cold_start: the model that predicts")
    model, rows = fit_fusion(folder, N_COLUMNS)
    few = folder / "few.csv"
    few.write_text(first_lines(rows, N_PREDICTED), encoding="utf-8")
    return {
        "Python alone": python("pass"),
        "imports of a fit": python(IMPORTS.format(estimator="ShareBoostClassifier")),
        **quick_ones,
        "`TomographicClassifier`": fit_of("TomographicClassifier"),
        "`ShareGradientBoostingClassifier`": fit_of("ShareGradientBoostingClassifier"),
        PREDICT: fuselearn("predict", model, few),
        "`fuselearn demo`": fuselearn("demo"),
        "`fuselearn warmup`": fuselearn("warmup"),
    }


def run_timed(command, cache):
    """Run a command with a folder for what numba compiles, and return its `Seconds`."""
    before, start = processor_time_of_children(), time.perf_counter()
    finished = subprocess.run(
        command,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # Not the terminal: there the command line draws progress bars, which take time of their own.
        stderr=subprocess.PIPE,
        text=True,
    )
    seconds = Seconds(time.perf_counter() - start, processor_time_of_children() - before)
    if finished.returncode:
        raise RuntimeError(f"{command} failed: {finished.stderr}")
    return seconds


def processor_time_of_children():
    """Return the user's and the system's time of all processes that this one has waited for."""
    import resource  # which Windows lacks

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def start_twice(command):
    """Return the `Starts` of a command: with a new empty cache, and again with what is then in it."""
    with tempfile.TemporaryDirectory() as cache:
        return Starts(run_timed(command, cache), run_timed(command, cache))


def least(runs):
    """Return the `Starts` that hold the least of each figure over several runs."""
    return Starts(*(Seconds(*map(min, zip(*of_cache))) for of_cache in zip(*runs)))


def report(options):
    """Return the section of the report, as Markdown."""
    repeats = 1 if options.quick else REPEATS
    with tempfile.TemporaryDirectory() as folder:
        measured = commands(Path(folder), quick=options.quick)
        runs = {name: [] for name in measured}
        for repeat in range(repeats):
            for name, command in measured.items():
                progress(f"cold_start: {name}, run {repeat + 1} of {repeats}")
                runs[name].append(start_twice(command))
    starts = {name: least(of_name) for name, of_name in runs.items()}
    rows = [(name, number(one.empty.processor), number(one.filled.processor)) for name, one in starts.items()]
    return section(
        "First fits",
        "Processor time, the user's and the system's, of whole processes with their imports. The cache of numba is a "
        "new empty folder, then the same folder again. Fits are of 300 rows in three views of 5 columns. "
        f"Runs of each, in turn, of which the least counts: {repeats}.",
        markdown_table(("what", "empty cache, CPU s", "filled cache, CPU s"), rows),
        *([predict_verdict(starts[PREDICT].empty)] if PREDICT in starts else []),
        *quick_note(options),
    )


def predict_verdict(seconds):
    """Return in words whether a first prediction was soon enough."""
    return (
        f"{PREDICT}, with an empty cache and a FusionClassifier, once its files have been read before: "
        f"{number(seconds.processor)} s of the processor; by the clock, in seconds, "
        f"{at_most(seconds.wall, MOST_SECONDS)}."
    )


if __name__ == "__main__":
    run_script(report, __doc__)
