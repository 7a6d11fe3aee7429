"""What a refusal looks like, and files to refuse."""

import numpy as np
import pyarrow as pa
from pyarrow import csv

N_ROWS = 40


def refused(result, *words):
    """The last line of stderr says all the words; nothing is on stdout, and nothing was raised."""
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("fuselearn: ")
    assert [line for line in result.stderr.splitlines() if line.startswith("fuselearn: ")] == [last]
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in last


def columns(**others):
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    table = {"patient": [f"p{number}" for number in range(N_ROWS)]}
    table |= {f"rna_{number}": rng.normal(size=N_ROWS) + y for number in range(3)}
    table |= {f"image_{number}": rng.normal(size=N_ROWS) + y for number in range(2)}
    table["kind"] = np.array(["well", "ill"])[y]
    return table | others


def write(folder, name="data.csv", **others):
    path = folder / name
    csv.write_csv(pa.table(columns(**others)), path)
    return path


FIT = ["--target", "kind", "--id", "patient", "--method", "shareboost", "--set", "n_estimators=3"]
