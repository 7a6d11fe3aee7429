"""Can data that are larger than the memory they may take be trained on, and how fast?

Usage: ``python -m benchmarks.out_of_core [--quick]``

The rows are made by a generator and written to Parquet files in a temporary folder, 8 GB of them unless ``--quick`` is
given. The fit runs in a process of its own (``python -m benchmarks.out_of_core --measure FOLDER ROUNDS``), whose
high-water mark of memory is compared with the limit.
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
from benchmarks.tables import at_most, markdown_table, number, quick_note, section
from fuselearn import ShareBoostClassifier

N_COLUMNS = 20
VIEWS = {"first": slice(0, 7), "second": slice(7, 14), "third": slice(14, 20)}
ROWS_A_FILE = 1_000_000
N_ROUNDS = 20


def write_rows(folder, n_rows):
    """Write files of rows whose label follows from a few of their columns, with noise."""
    import pyarrow as pa
    from pyarrow import parquet

    generator = np.random.default_rng(0)
    for first in range(0, n_rows, ROWS_A_FILE):
        n = min(ROWS_A_FILE, n_rows - first)
        columns = {f"c{number}": generator.normal(size=n) for number in range(N_COLUMNS)}
        score = columns["c0"] + columns["c8"] + columns["c15"] + 2 * generator.normal(size=n)
        table = pa.table(columns | {"target": (score > 0).astype(np.int8)})
        name = f"rows{first // ROWS_A_FILE:04d}.parquet"
        parquet.write_table(table, Path(folder) / name, row_group_size=2**18, compression="none", use_dictionary=False)


def measure(folder, n_rounds):
    """Fit in this process; print, as JSON, seconds before the first round and per round, and bytes taken."""
    first = sorted(Path(folder).glob("*.parquet"))[0]
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=1, random_state=0, n_jobs=2)
    model.fit(first, "target")  # compiles the loops
    lower_peak()
    before = peak_memory()
    seconds = []
    for rounds in (1, n_rounds):
        start = time.perf_counter()
        model.set_params(n_estimators=rounds).fit(folder, "target")
        seconds.append(time.perf_counter() - start)
    a_round = (seconds[1] - seconds[0]) / (n_rounds - 1)
    figures = {"start": seconds[0] - a_round, "round": a_round, "memory": peak_memory() - before}
    print(json.dumps(figures | {"rounds": model.n_iter_}))


def report(options):
    """The section of the report, as Markdown."""
    n_rows = 2_000_000 if options.quick else 50_000_000
    limit = 2**27 if options.quick else 2**30
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        progress(f"out of core: writing {n_rows:,} rows")
        write_rows(folder, n_rows)
        progress("out of core: fitting")
        command = [sys.executable, "-m", "benchmarks.out_of_core", "--measure", folder, str(N_ROUNDS)]
        environment = os.environ | {"FUSELEARN_MEMORY_LIMIT": str(limit), "MALLOC_MMAP_THRESHOLD_": "65536"}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    figures = json.loads(done.stdout)
    if figures["rounds"] < N_ROUNDS:
        raise RuntimeError(f"The run ended after {figures['rounds']} of {N_ROUNDS} rounds.")
    rows.append(
        (
            f"{n_rows:,}",
            number(n_rows * N_COLUMNS * 8 / 2**20),
            number(figures["start"]),
            number(figures["round"]),
            number(figures["memory"] / 2**20),
            at_most(figures["memory"] / limit, 1.0),
        )
    )
    return section(
        "Larger than memory",
        f"Stumps on {N_COLUMNS} columns in {len(VIEWS)} views, read from Parquet files with "
        f"FUSELEARN_MEMORY_LIMIT={limit // 2**20} MiB, two threads. Before the first round the files are read three "
        "times: to check them, to place the bins, and to bin the rows. Memory is what the fit takes beyond the process "
        "as it was before.",
        markdown_table(("rows", "X, MiB", "start, s", "round, s", "peak, MiB", "part of the limit"), rows),
        *quick_note(options),
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], int(sys.argv[3]))
    else:
        run_script(report, __doc__)
