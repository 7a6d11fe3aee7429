"""Arrays in a saved model: their types, shapes and values, checked before compiled code reads them."""

import math
import re
from contextlib import suppress
from typing import Any

import numpy as np

from fuselearn.typing import AnyArray

MAX_EMPTY_ITEMS = 10_000_000
"""Items of an array whose items take no bytes."""
DTYPE = re.compile(
    r"\|b1|[<|][iu][1248]|<f[248]|<c(?:8|16)|<U\d{1,9}|\|S\d{1,9}|<[mM]8(?:\[(?:\d{1,9})?[a-zA-Z]{1,2}\])?"
)
"""Types of the values of an array, all of them plain."""
LAST_CHARACTER = 0x10FFFF


def check_compressed(data: Any, indices: Any, indptr: Any, n_lines: int, n_in_line: int) -> None:
    """Refuse a compressed sparse matrix whose numbers lead outside of it."""
    arrays = (data, indices, indptr)
    if any(type(array) is not np.ndarray or array.ndim != 1 for array in arrays):
        raise ValueError("it has a sparse matrix that is not made of arrays")
    if data.dtype.kind not in "biuf" or indices.dtype.kind != "i" or indptr.dtype != indices.dtype:
        raise ValueError("it has a sparse matrix of other numbers than every fit makes")
    if len(indptr) != n_lines + 1 or indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("it has a sparse matrix whose rows do not follow each other")
    if len(data) != len(indices) or indptr[-1] != len(data):
        raise ValueError("it has a sparse matrix of another size than its values")
    if len(indices) and (indices.min() < 0 or indices.max() >= n_in_line):
        raise ValueError("it has a sparse matrix with values outside of it")


def checked_list(written: Any, length: int | None = None) -> list[Any]:
    """Return a list of JSON, of a length where one is given; refuse anything else."""
    if type(written) is not list or len(written) != (len(written) if length is None else length):
        raise ValueError("its tree has a node that is not made as fuselearn.save makes it")
    return written


def dtype_named(name: Any) -> np.dtype[Any]:
    """Return a type of plain values by its name."""
    if type(name) is str and DTYPE.fullmatch(name):
        with suppress(TypeError):  # of an unknown unit of time, or of very long texts
            return np.dtype(name)
    raise ValueError(f"its tree has an array of {name!r:.40}, which is not one of plain numbers or text")


def size_of(shape: Any) -> int:
    """Return the number of items of an array of a shape."""
    if any(type(length) is not int or not 0 <= length < 2**62 for length in checked_list(shape)) or len(shape) > 8:
        raise ValueError("its tree has an array of a shape that is none")
    return math.prod(shape)


def native(array: AnyArray) -> AnyArray:
    """Return a copy in the byte order of this machine, of values that their type can have."""
    if array.dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
        raise ValueError("its tree has truth values that are neither true nor false")
    if array.dtype.kind == "U" and np.any(array.view("<u4") > LAST_CHARACTER):
        raise ValueError("its tree has text of unknown characters")
    return array.astype(array.dtype.newbyteorder("="))
