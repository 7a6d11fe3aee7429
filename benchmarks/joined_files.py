"""Memory and time of ``fuselearn predict`` with one Parquet file per view, sorted by the id and in another order.

Usage: ``python -m benchmarks.joined_files [--quick]``

The files are written to a temporary folder. Each join runs in a process of its own (``python -m benchmarks.joined_files
--measure FOLDER NAME COLUMNS``), whose high-water mark of memory is not that of writing them, or of another join.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.command_line import progress, run_script
from benchmarks.memory import extra_memory
from benchmarks.tables import markdown_table, number, quick_note, section

SIZES = ((200_000, 200), (400_000, 100), (800_000, 100))
"""Rows and columns; the last two differ in rows only, so that they tell what a row takes."""
QUICK_SIZES = ((20_000, 20),)
BATCH = 20_000
SORTED, MIXED = "sorted", "mixed"


def write_files(folder, n_rows, n_columns):
    """Write ids, and a view of them: sorted, and in another order."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    ids = np.arange(n_rows)
    view = pa.table({"id": ids, **{f"g{column}": rng.normal(size=n_rows) for column in range(n_columns)}})
    parquet.write_table(pa.table({"id": ids}), Path(folder) / "data.parquet")
    parquet.write_table(view, Path(folder) / f"{SORTED}.parquet", row_group_size=BATCH)
    parquet.write_table(view.take(rng.permutation(n_rows)), Path(folder) / f"{MIXED}.parquet", row_group_size=BATCH)


def measure(folder, name, n_columns):
    """Read the join batch by batch; return its rows, seconds, and the bytes that reading takes beyond opening it."""
    import pyarrow as pa

    from fuselearn.cli.files import Source, ViewFile, open_data

    view = ViewFile("v", str(Path(folder) / f"{name}.parquet"))
    columns = [f"v: g{column}" for column in range(n_columns)]
    with open_data(Source(str(Path(folder) / "data.parquet"), on="id", views=(view,))) as opened:
        n_rows = 0

        def read():
            nonlocal n_rows
            for batch in opened.batches(["id", *columns], dict.fromkeys(columns, pa.float64()), BATCH):
                n_rows += batch.num_rows

        start = time.perf_counter()
        memory = extra_memory(read)
        return {"rows": n_rows, "seconds": time.perf_counter() - start, "memory": memory}


def measure_in_new_process(folder, name, n_columns):
    """Call `measure` in a new process."""
    command = [sys.executable, "-m", "benchmarks.joined_files", "--measure", folder, name, str(n_columns)]
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(finished.stdout)


def measure_size(n_rows, n_columns):
    """Return the figures of both orders for one size, by the name of the order."""
    progress(f"joined files: {n_rows:,} × {n_columns}")
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, n_rows, n_columns)
        results = {name: measure_in_new_process(folder, name, n_columns) for name in (SORTED, MIXED)}
    if any(figures["rows"] != n_rows for figures in results.values()):
        raise RuntimeError(f"Joins of {n_rows:,} rows had others: {results}.")
    return results


def growth_part(sizes, results):
    """Return the bytes that one more row takes with sorted files, by the last two sizes, as a list of paragraphs."""
    if len(sizes) < 2 or sizes[-1][1] != sizes[-2][1]:
        return []
    less, more = (figures[SORTED]["memory"] for figures in results[-2:])
    bytes_a_row = (more - less) / (sizes[-1][0] - sizes[-2][0])
    return [
        f"From {sizes[-2][0]:,} to {sizes[-1][0]:,} rows, memory with sorted files grows by {number(bytes_a_row)} "
        "bytes a row."
    ]


def report(options):
    """Return the section of the report, as Markdown."""
    sizes = QUICK_SIZES if options.quick else SIZES
    results = [measure_size(*size) for size in sizes]
    rows = [
        (
            f"{n_rows:,} × {n_columns}",
            number(8 * n_rows * n_columns / 1e6),
            *(f"{figures[name]['seconds']:.1f}, {figures[name]['memory'] / 1e6:,.0f}" for name in (SORTED, MIXED)),
        )
        for (n_rows, n_columns), figures in zip(sizes, results)
    ]
    return section(
        "One file per view",
        f"Rows of DATA with a view in another Parquet file, read in batches of {BATCH:,} rows as `predict` does, each "
        "join in a process of its own. Sorted by the id, as DATA is, the view's row groups are read where they are "
        "needed, and what grows with the rows are the ids; in another order the file is held whole. Peak is the memory "
        "beyond that of a process that has opened the files.",
        markdown_table(("rows × columns", "view, MB", "sorted: s, peak MB", "other order: s, peak MB"), rows),
        *growth_part(sizes, results),
        *quick_note(options),
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    else:
        run_script(report, __doc__)
