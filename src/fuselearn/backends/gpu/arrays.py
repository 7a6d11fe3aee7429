"""The few array operations that training on a device needs, whatever library the arrays are from.

The array API standard names most of them. CuPy and NumPy of older versions lack some of the names, and torch calls half
of them differently, so each kind of array has a class here that knows its library's words.
"""

import sys
from contextlib import nullcontext
from functools import wraps

import numpy as np

from fuselearn.data.table import is_device_array, library_of


def on_its_device(method):
    """Let a method of an object with `arrays` run with the device of these as the library's current one."""

    @wraps(method)
    def call(self, *arguments, **options):
        with self.arrays.current():
            return method(self, *arguments, **options)

    return call


def arrays_of(X):
    """The operations on arrays of the library and the device of `X`.

    Returns
    -------
    Arrays
    """
    library = library_of(X)
    if library == "torch":
        return TorchArrays(sys.modules["torch"], X.device)
    if library == "array_api_strict":
        return StandardArrays(sys.modules["array_api_strict"], X.device)
    if library == "cupy":
        return CupyArrays(sys.modules["cupy"], X.device)
    return Arrays(np, "cpu")


def on_host(X):
    """An array of a device as a NumPy array; anything else as it is."""
    return arrays_of(X).to_host(X) if is_device_array(X) else X


def all_on_host(values):
    """The same of an array, or of each of a list of them."""
    return [on_host(one) for one in values] if isinstance(values, list | tuple) else on_host(values)


class Arrays:
    """Operations on arrays of NumPy, and what the arrays of all libraries have in common.

    Parameters
    ----------
    xp : module
    device : object
        Where new arrays are made.
    """

    def __init__(self, xp, device):
        self.xp = xp
        self.device = device

    def __repr__(self):
        return f"{self.xp.__name__} on {self.device}"

    def current(self):
        """Context in which the device is the current one of the library, for libraries that have such a thing."""
        return nullcontext()

    def detached(self, values):
        """The array without what the library remembers of how it came about."""
        return values

    def from_host(self, values):
        """A NumPy array as an array of the device."""
        return np.asarray(values)

    def to_host(self, values):
        """An array of the device as a NumPy array."""
        return values

    def kind(self, values):
        """Name of the number format of an array, such as ``"float32"``."""
        return str(values.dtype).rpartition(".")[2]

    def double(self, values):
        return values.astype(self.xp.float64, copy=False)

    def bytes_of(self, values):
        return values.astype(self.xp.uint8)

    def codes(self, values):
        """Numbers, or False and True as 0 and 1, as class codes."""
        return values.astype(self.xp.int32)

    def take(self, values, numbers, axis=0):
        return self.xp.take(values, numbers, axis=axis)

    def below(self, edges, values):
        """How many of the ascending edges are below each of the values."""
        return self.xp.searchsorted(edges, values, side="left")

    def joined(self, parts):
        """Arrays one after the other, along the first axis."""
        return self.xp.concatenate(parts)

    def matmul(self, one, other):
        return self.xp.matmul(one, other)

    def total(self, values, axis=None):
        return self.xp.sum(values, axis=axis)

    def any(self, values, axis=None):
        return self.xp.any(values, axis=axis)

    def all(self, values, axis=None):
        return self.xp.all(values, axis=axis)

    def where(self, condition, one, other):
        return self.xp.where(condition, one, other)

    def isnan(self, values):
        return self.xp.isnan(values)

    def isinf(self, values):
        return self.xp.isinf(values)

    def at_least(self, values, least):
        """max(value, least)"""
        return self.where(values < least, least, values)

    def softplus(self, values):
        """log(1 + e^-m), which nothing overflows in."""
        xp = self.xp
        return self.at_least(-values, 0.0) + xp.log1p(xp.exp(-xp.abs(values)))

    def full(self, shape, value, kind="float64"):
        """Numbers of a format, all of one value, made on the device."""
        return self.xp.full(shape, value, dtype=getattr(self.xp, kind))

    def transposed(self, values):
        return values.T


class CupyArrays(Arrays):
    """Arrays of CuPy. Its operations run on the current device, whatever that of the arrays is."""

    def current(self):
        return self.device

    def from_host(self, values):
        with self.device:
            return self.xp.asarray(values)

    def full(self, shape, value, kind="float64"):
        with self.device:
            return super().full(shape, value, kind)

    def to_host(self, values):
        return self.xp.asnumpy(values)


class StandardArrays(Arrays):
    """Arrays of a library that has the names of the array API standard, and no others."""

    def from_host(self, values):
        return self.xp.asarray(values, device=self.device)

    def to_host(self, values):
        return np.array(np.from_dlpack(values))

    def double(self, values):
        return self.xp.astype(values, self.xp.float64, copy=False)

    def bytes_of(self, values):
        return self.xp.astype(values, self.xp.uint8)

    def codes(self, values):
        return self.xp.astype(values, self.xp.int32)

    def joined(self, parts):
        return self.xp.concat(parts)

    def at_least(self, values, least):
        return self.xp.maximum(values, least)

    def full(self, shape, value, kind="float64"):
        return self.xp.full(shape, value, dtype=getattr(self.xp, kind), device=self.device)


class TorchArrays(Arrays):
    """Tensors of torch."""

    def detached(self, values):
        return values.detach()

    def from_host(self, values):
        return self.xp.asarray(np.ascontiguousarray(values), device=self.device)

    def to_host(self, values):
        return values.detach().cpu().numpy()

    def double(self, values):
        return values.to(self.xp.float64)

    def bytes_of(self, values):
        return values.to(self.xp.uint8)

    def codes(self, values):
        return values.to(self.xp.int32)

    def take(self, values, numbers, axis=0):
        return self.xp.index_select(values, axis, numbers)

    def below(self, edges, values):
        return self.xp.searchsorted(edges, values.contiguous(), side="left")

    def joined(self, parts):
        return self.xp.cat(parts)

    def total(self, values, axis=None):
        return self.xp.sum(values) if axis is None else self.xp.sum(values, dim=axis)

    def any(self, values, axis=None):
        return self.xp.any(values) if axis is None else self.xp.any(values, dim=axis)

    def all(self, values, axis=None):
        return self.xp.all(values) if axis is None else self.xp.all(values, dim=axis)

    def at_least(self, values, least):
        return self.xp.clamp(values, min=least)

    def full(self, shape, value, kind="float64"):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return self.xp.full(shape, value, dtype=getattr(self.xp, kind), device=self.device)
