"""Growth of FusionClassifier's time, memory and accuracy with the number of rows; a part of `fusion.py`.

Every fit runs in a process of its own, so that its peak of memory is not that of another (``python -m
benchmarks.fusion_growth --measure KIND ROWS METHOD``).
"""

import json
import subprocess
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.command_line import progress
from benchmarks.data import clustered_views
from benchmarks.fusion_large import FIRST, fit
from benchmarks.fusion_methods import OURS, LGBMClassifier, remark_on_packages
from benchmarks.fusion_store import open_store, source_of_ours
from benchmarks.memory import extra_memory
from benchmarks.tables import markdown_table, number, quick_note, section
from benchmarks.timing import exponent
from fuselearn import add_label_noise
from fuselearn.datasets import make_views

SIZES, QUICK_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000), (500, 1_000)
N_TEST, FLIPPED = 10_000, 0.2
N_VIEWS, N_COLUMNS = 3, 20
MEASURES = ("fit", "predict", "accuracy", "memory", "data")
PROTOCOL = (
    f"{N_VIEWS} views of {N_COLUMNS} columns, two classes, {FLIPPED:.0%} of the training labels wrong, one thread, CPU "
    f"seconds; predictions and accuracy of {N_TEST:,} other rows with clean labels, accuracy in percent. Peak is the "
    "memory that a fit takes beyond what was in use before it (X was), in MiB. LightGBM has 200 trees of 31 leaves on "
    "all views side by side."
)


def gaussian_classes(n_rows, seed):
    """Draw classes that a plane separates as well as anything."""
    data = make_views(n_rows, n_views=N_VIEWS, n_features=N_COLUMNS, strength=1.0, random_state=seed)
    return data.X, data.y, data.views


def clustered_classes(n_rows, seed):
    """Draw classes of eight clusters each, which no plane separates: there is more to learn from more rows."""
    return clustered_views(n_rows, N_VIEWS, N_COLUMNS, flipped=0.0, seed=seed)


DATA = {"Gaussian classes": gaussian_classes, "classes of eight clusters": clustered_classes}


def measure(kind, n_rows, method):
    """Fit one method in this process, and return the `MEASURES`, for JSON."""
    X, y, views = DATA[kind](n_rows + N_TEST, 0)
    train, test = slice(0, n_rows), slice(n_rows, None)
    noisy = add_label_noise(y[train], 1, FLIPPED, random_state=0)[0][:, 0]
    few = slice(0, 3_000)
    fit(method, X[train][few], noisy[few], views, 0)(X[test][:100])  # compiles the loops and loads libraries
    outcome = {}

    def work():
        start = time.process_time()
        outcome["model"] = fit(method, X[train], noisy, views, 0)
        outcome["fit"] = time.process_time() - start

    memory = extra_memory(work)
    start = time.process_time()
    probabilities = outcome["model"](X[test])
    predict = time.process_time() - start
    accuracy = float(np.mean(probabilities.argmax(axis=1) == y[test]))
    return {"fit": outcome["fit"], "predict": predict, "accuracy": accuracy, "memory": memory, "data": X[train].nbytes}


def in_new_process(*arguments):
    """Call `measure` in a new process."""
    command = [sys.executable, "-m", "benchmarks.fusion_growth", "--measure", *map(str, arguments)]
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(finished.stdout.splitlines()[-1])


def report(options, keep=None):
    """Return the section of the report, as Markdown."""
    sizes = QUICK_SIZES if options.quick else SIZES
    methods = [OURS, *([FIRST] if LGBMClassifier else [])]
    names = [OURS, "LightGBM"][: len(methods)]
    store, source = open_store(keep, PROTOCOL), source_of_ours()
    parts = []
    for kind in list(DATA)[:1] if options.quick else DATA:
        rows, seconds = [], []
        for size in sizes:
            found = []
            for method in methods:
                key = kind, size, f"{method} {source}" if method == OURS else method
                if key not in store:
                    progress(f"fusion: {kind}, {size:,} rows, {method}")
                    store.add(key, in_new_process(kind, size, method))
                found.append(store[key])
            by_measure = {name: [one[name] for one in found] for name in MEASURES}
            seconds.append(by_measure["fit"])
            rows.append(
                (
                    f"{size:,}",
                    *(number(value) for value in by_measure["fit"]),
                    *([number(by_measure["fit"][0] / by_measure["fit"][1])] if len(methods) > 1 else []),
                    *(number(value) for value in by_measure["predict"]),
                    number(by_measure["data"][0] / 2**20),
                    *(number(value / 2**20) for value in by_measure["memory"]),
                    *(f"{100 * value:.1f}" for value in by_measure["accuracy"]),
                )
            )
        header = (
            f"{kind}, rows",
            *(f"{name}, fit, s" for name in names),
            *(["ratio"] if len(methods) > 1 else []),
            *(f"{name}, predict, s" for name in names),
            "X, MiB",
            *(f"{name}, peak" for name in names),
            *(f"{name}, accuracy" for name in names),
        )
        slopes = (f"{name} n^{exponent(sizes, times):.2f}" for name, times in zip(names, np.transpose(seconds)))
        parts += [markdown_table(header, rows), f"Time of a fit grows as: {', '.join(slopes)}."]
    return section(
        "FusionClassifier by number of rows", PROTOCOL, *remark_on_packages(["LightGBM"]), *parts, *quick_note(options)
    )


if __name__ == "__main__":
    if sys.argv[1:2] != ["--measure"]:
        sys.exit("usage: python -m benchmarks.fusion --growth")
    with threadpool_limits(1):
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]), sys.argv[4])))
