"""Memory and time of ``fuselearn predict`` with one Parquet file per view, sorted by the id and in any order.

    python benchmarks/joined_files.py [--rows 200000] [--columns 200]

Each join runs in a process of its own. Printed are the size of the file in memory, the seconds, and the peak of memory
above that of a process that has opened the files.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

BATCH = 20_000


def write(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write ids, and a view of them: sorted, and in another order."""
    rng = np.random.default_rng(0)
    ids = np.arange(n_rows)
    view = pa.table({"id": ids, **{f"g{number}": rng.normal(size=n_rows) for number in range(n_columns)}})
    parquet.write_table(pa.table({"id": ids}), folder / "data.parquet")
    parquet.write_table(view, folder / "sorted.parquet", row_group_size=BATCH)
    parquet.write_table(view.take(rng.permutation(n_rows)), folder / "mixed.parquet", row_group_size=BATCH)


def join(folder: Path, name: str, n_columns: int) -> None:
    """Read the join batch by batch, and print seconds and the peak of memory in MB."""
    from fuselearn.cli.files import Source, ViewFile, open_data

    source = Source(str(folder / "data.parquet"), on="id", views=(ViewFile("v", str(folder / f"{name}.parquet")),))
    columns = [f"v: g{number}" for number in range(n_columns)]
    with open_data(source) as opened:
        start, before, total = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
        for batch in opened.batches(["id", *columns], dict.fromkeys(columns, pa.float64()), BATCH):
            total += batch.num_rows
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{name:8} {time.perf_counter() - start:.1f} s, {(peak - before) / 1000:.0f} MB; {total} rows")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--write", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--join", nargs=2, metavar=("FOLDER", "NAME"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.join:
        join(Path(given.join[0]), given.join[1], given.columns)
        return
    if given.write:
        write(Path(given.write), given.rows, given.columns)
        return
    with tempfile.TemporaryDirectory() as folder:
        size = ["--rows", str(given.rows), "--columns", str(given.columns)]
        # Not here: a process has the peak of the one that started it.
        subprocess.run([sys.executable, __file__, *size, "--write", folder], check=True)
        print(f"{given.rows} rows x {given.columns} columns, {8 * given.rows * given.columns / 1e6:.0f} MB")
        for name in ("sorted", "mixed"):
            subprocess.run(
                [sys.executable, __file__, "--columns", str(given.columns), "--join", folder, name], check=True
            )


if __name__ == "__main__":
    main()
