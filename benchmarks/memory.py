"""Memory that a fit takes beyond the data itself.

Usage: ``python -m benchmarks.memory [--quick]``

Each figure comes from a process of its own (``python -m benchmarks.memory --measure gaussian_nb 450000``), since the
high-water mark of a process only rises.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil

from benchmarks.command_line import progress, run_script
from benchmarks.data import clustered_views
from benchmarks.tables import at_most, markdown_table, number, quick_note, section
from fuselearn import ShareBoostClassifier

COPIES_ALLOWED = {"gaussian_nb": 1.0, "stump": 0.25, "tree": 0.25}
"""Extra memory at most, in copies of X."""
NAMES = {"gaussian_nb": "naive Bayes", "stump": "stump", "tree": "tree"}
N_VIEWS, N_COLUMNS = 3, 100
N_ROUNDS = 5


def peak_memory():
    """Return the high-water mark of this process's resident memory, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage: its mark is handed down from the parent process.
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return 1024 * int(line.split()[1])
    import resource

    mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return mark if sys.platform == "darwin" else 1024 * mark


def lower_peak():
    """Bring the high-water mark down to the memory in use, where the system can do that."""
    mark = Path("/proc/self/clear_refs")
    if mark.exists():
        mark.write_text("5")


def extra_memory(work):
    """Return the bytes by which the peak during `work` is above what was in use before it."""
    before = psutil.Process().memory_info().rss
    lower_peak()
    work()
    return peak_memory() - before


def measure(learner, n_rows):
    """Fit in this process and print, as JSON, the bytes of X and the bytes that fit took beyond what was in use."""
    model = ShareBoostClassifier(learner, n_estimators=N_ROUNDS, random_state=0)
    X, y, views = clustered_views(5_000, N_VIEWS, N_COLUMNS)
    model.set_params(views=views).fit(X, y)  # compiles the loops, which takes memory too
    X, y, views = clustered_views(n_rows, N_VIEWS, N_COLUMNS)
    known = X.size
    measured = extra_memory(lambda: np.ones(known, dtype=np.uint8))
    if abs(measured - known) > 0.05 * known:
        # Freed memory that the process still holds would hide what a fit takes.
        raise RuntimeError(f"An array of {known:,} bytes showed as {measured:,} bytes: memory cannot be measured here.")
    print(json.dumps({"data": X.nbytes, "fit": extra_memory(lambda: model.fit(X, y))}))


def measure_in_new_process(learner, n_rows):
    """Call `measure` in a fresh process, whose freed arrays go back to the system at once."""
    command = [sys.executable, "-m", "benchmarks.memory", "--measure", learner, str(n_rows)]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(answer.stdout)


def report(options):
    """Return the section of the report, as Markdown."""
    n_rows = 50_000 if options.quick else 450_000
    rows = []
    for learner, target in COPIES_ALLOWED.items():
        progress(f"memory: {NAMES[learner]}")
        figures = measure_in_new_process(learner, n_rows)
        rows.append(
            (
                NAMES[learner],
                number(figures["data"] / 2**20),
                number(figures["fit"] / 2**20),
                at_most(figures["fit"] / figures["data"], target),
            )
        )
    return section(
        "Memory",
        f"{n_rows:,} rows, {N_VIEWS} views of {N_COLUMNS} columns, float64: the rise of the peak of the resident "
        "memory during a fit above what was in use before it, in a process of its own.",
        markdown_table(("learner", "X, MiB", "fit takes, MiB", "in copies of X"), rows),
        *quick_note(options),
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], int(sys.argv[3]))
    else:
        run_script(report, __doc__)
