"""Fits on data larger than the memory they may take.

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
from benchmarks.timing import round_times
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
    start = time.perf_counter()
    ends = round_times(model.set_params(n_estimators=n_rounds), folder, "target")
    a_round = float(np.median(np.diff(ends)))
    figures = {"start": ends[0] - start - a_round, "round": a_round, "memory": peak_memory() - before}
    print(json.dumps(figures))


def report(options):
    """Return the section of the report, as Markdown."""
    n_rows = 2_000_000 if options.quick else 50_000_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        progress(f"out of core: writing {n_rows:,} rows")
        write_rows(folder, n_rows)
        for limit in (2**27, 2**30) if options.quick else (2**30, 2**33):
            progress(f"out of core: fitting within {limit // 2**20:,} MiB")
            figures = measure_in_new_process(folder, limit)
            rows.append(
                (
                    f"{n_rows:,}",
                    number(n_rows * N_COLUMNS * 8 / 2**20),
                    number(limit / 2**20),
                    number(figures["start"]),
                    number(figures["round"]),
                    number(figures["memory"] / 2**20),
                    at_most(figures["memory"] / limit, 1.0),
                )
            )
    return section(
        "Larger than memory",
        f"Stumps on {N_COLUMNS} columns in {len(VIEWS)} views, read from Parquet files under a FUSELEARN_MEMORY_LIMIT, "
        "two threads. Before the first round the files are read three times: to check them, to place the bins, and to "
        "bin the rows. Under the lower limit the prepared rows lie in a temporary folder, under the higher one in "
        "memory. Peak is the memory that the fit takes beyond what the process had before.",
        markdown_table(
            ("rows", "X, MiB", "limit, MiB", "start, s", "round, s", "peak, MiB", "part of the limit"), rows
        ),
        *quick_note(options),
    )


def measure_in_new_process(folder, limit):
    """Call `measure` in a new process under a limit of memory, in bytes."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--measure", folder, str(N_ROUNDS)]
    environment = os.environ | {"FUSELEARN_MEMORY_LIMIT": str(limit), "MALLOC_MMAP_THRESHOLD_": "65536"}
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(finished.stdout)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], int(sys.argv[3]))
    else:
        run_script(report, __doc__)
