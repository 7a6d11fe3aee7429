"""A table of patients: two views of numbers and one of text."""

import numpy as np
import pyarrow as pa

N_ROWS = 90


NUMBERS = ["--view", "rna=rna_*", "--view", "image=image_*"]


VIEWS = {"rna": [0, 1, 2, 3], "image": [4, 5, 6]}


def numbers(table):
    names = [name for name in table.column_names if name.startswith(("rna", "image"))]
    return np.column_stack([table.column(name).to_numpy() for name in names])


def patients():
    """Return the table."""
    rng = np.random.default_rng(0)
    y = (np.arange(N_ROWS) % 3 == 0).astype(int)
    columns = {"patient": [f"p{number:03d}" for number in range(N_ROWS)]}
    columns |= {f"rna_{number}": rng.normal(size=N_ROWS) + y for number in range(4)}
    columns |= {f"image_{number}": rng.normal(size=N_ROWS) - y for number in range(3)}
    columns["site"] = np.where(rng.uniform(size=N_ROWS) < 0.8, np.array(["north", "south"])[y], "east")
    columns["outcome"] = np.array(["well", "ill"])[y]
    return pa.table(columns)
