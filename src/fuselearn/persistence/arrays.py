"""Arrays in an archive: as large as they say, and of numbers or text."""

import io
import math
import zipfile

from numpy.lib import format as npy

MOST_EMPTY_ITEMS = 10_000_000
"""Items of an array whose items take no bytes."""


def check_array(content):
    """Refuse bytes that are not one whole array in NumPy's format.

    NumPy would take an archive or a pickle for an array as well, and makes room for the size that is declared before it
    looks whether so much is there.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    shape : tuple of int
    dtype : dtype
    """
    if not content.startswith(b"\x93NUMPY"):
        raise ValueError("is not in NumPy's format")
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, _, dtype = read(file)
    except KeyError:
        raise ValueError("is of a version of NumPy's format that fuselearn.save does not use") from None
    except Exception as error:  # NumPy parses it as Python's literals, which fails in many ways
        raise ValueError(f"has a header that cannot be read ({error})") from None
    if dtype.hasobject:
        raise ValueError("holds Python objects, which only a pickle can hold")
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"has the shape {shape}")
    items, there = math.prod(shape), len(content) - file.tell()
    if items * dtype.itemsize != there or (not dtype.itemsize and items > MOST_EMPTY_ITEMS):
        raise ValueError(f"declares {items * dtype.itemsize:,} bytes and has {there:,}")
    return shape, dtype


def check_sparse(content, room):
    """Refuse bytes that are not a sparse matrix as SciPy saves it, or that unpack to more than `room` bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > room:
                raise ValueError("unpacks to far more than a model of its size")
            arrays = {info.filename: archive.read(info) for info in infos}
    except (ValueError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"is not a sparse matrix ({error})") from None
    for array in arrays.values():
        check_array(array)
