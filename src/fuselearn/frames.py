"""Columns of results as a data frame of whichever library is there."""

from importlib import import_module
from importlib.util import find_spec

MAKERS = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table"))


def data_frame(columns):
    """A pandas data frame; without pandas one of polars, else an Arrow table.

    Parameters
    ----------
    columns : dict of name to list
    """
    for library, maker in MAKERS:
        if find_spec(library):
            return getattr(import_module(library), maker)(columns)
    raise ImportError("A data frame needs pandas, polars or pyarrow: pip install 'fuselearn[app]' brings pyarrow.")
