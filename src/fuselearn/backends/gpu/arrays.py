"""The few array operations that training on a GPU needs, whatever library the arrays are from.

The array API standard names most of them. CuPy and NumPy of older versions lack some of the names, and torch calls half
of them differently, so each kind of array has a class here that knows its library's words.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from types import ModuleType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np

from fuselearn.data.view_table import as_numpy, library_of, to_host
from fuselearn.typing import AnyArray, ArrayLike

GpuArray: TypeAlias = Any
"""An array of CuPy, torch, ``array_api_strict`` or NumPy."""
Device: TypeAlias = Any
"""A GPU in the words of the array's library."""


class OnGpu(Protocol):
    """An object with arrays on a GPU."""

    @property
    def arrays(self) -> "Arrays":
        """Operations on its arrays."""


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
OnGpuT = TypeVar("OnGpuT", bound=OnGpu)


def on_its_gpu(
    method: Callable[Concatenate[OnGpuT, Parameters], Result],
) -> Callable[Concatenate[OnGpuT, Parameters], Result]:
    """Let a method of an object with `arrays` run with their GPU as the library's current one."""

    @wraps(method)
    def call(self: OnGpuT, /, *arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        with self.arrays.current():
            return method(self, *arguments, **options)

    return call


def arrays_of(X: GpuArray) -> "Arrays":
    """Return the operations on arrays of the library and the GPU of `X`."""
    library = library_of(X)
    if library == "torch":
        return TorchArrays(sys.modules["torch"], X.device)
    if library == "array_api_strict":
        return StandardArrays(sys.modules["array_api_strict"], X.device)
    if library == "cupy":
        return CupyArrays(sys.modules["cupy"], X.device)
    return Arrays(np, "cpu")


def all_to_host(values: ArrayLike) -> ArrayLike:
    """Return an array, or each of a list of them, as NumPy arrays where they are on a GPU."""
    return [to_host(value) for value in values] if isinstance(values, list | tuple) else to_host(values)


class Arrays:
    """Operations on arrays of NumPy, and what the arrays of all libraries have in common; `device` gets new arrays."""

    def __init__(self, xp: ModuleType, device: Device) -> None:
        self.xp: Any = xp
        self.device = device

    def __repr__(self) -> str:
        return f"{self.xp.__name__} on {self.device}"

    def current(self) -> AbstractContextManager[Any]:
        """Return the context in which the GPU is the library's current one, for libraries that have such a thing."""
        return nullcontext()

    def detach(self, values: GpuArray) -> GpuArray:
        """Return the array without the history that the library keeps of it."""
        return values

    def copy(self, values: GpuArray) -> GpuArray:
        """Return an array in memory of its own."""
        return values.copy()

    def from_host(self, values: AnyArray) -> GpuArray:
        """Return a NumPy array as an array on the GPU."""
        return np.asarray(values)

    def to_host(self, values: GpuArray) -> AnyArray:
        """Return an array on the GPU as a NumPy array."""
        return as_numpy(values)

    def dtype_name(self, values: GpuArray) -> str:
        """Return the name of the number format of an array, such as ``"float32"``."""
        return str(values.dtype).rpartition(".")[2]

    def to_double(self, values: GpuArray) -> GpuArray:
        """Return numbers in double precision."""
        return values.astype(self.xp.float64, copy=False)

    def to_bytes(self, values: GpuArray) -> GpuArray:
        """Return numbers as unsigned bytes."""
        return values.astype(self.xp.uint8)

    def to_codes(self, values: GpuArray) -> GpuArray:
        """Return numbers, or False and True as 0 and 1, as class codes."""
        return values.astype(self.xp.int32)

    def to_whole(self, values: GpuArray) -> GpuArray:
        """Return numbers, or False and True as 0 and 1, as whole numbers of 64 bits."""
        return values.astype(self.xp.int64)

    def take(self, values: GpuArray, numbers: GpuArray, axis: int = 0) -> GpuArray:
        """Return some rows or columns."""
        return self.xp.take(values, numbers, axis=axis)

    def count_below(self, edges: GpuArray, values: GpuArray) -> GpuArray:
        """Return how many of the ascending edges are below each of the values."""
        return self.xp.searchsorted(edges, values, side="left")

    def concatenate(self, arrays: Sequence[GpuArray], axis: int = 0) -> GpuArray:
        """Return arrays one after the other, by default along the first axis."""
        return self.xp.concatenate(arrays, axis=axis)

    def matmul(self, left: GpuArray, right: GpuArray) -> GpuArray:
        """Return a matrix product."""
        return self.xp.matmul(left, right)

    def sum(self, values: GpuArray, axis: int | None = None) -> GpuArray:
        """Return the sum along an axis, or of all values."""
        return self.xp.sum(values, axis=axis)

    def any(self, values: GpuArray, axis: int | None = None) -> GpuArray:
        """Return whether any value is true."""
        return self.xp.any(values, axis=axis)

    def all(self, values: GpuArray, axis: int | None = None) -> GpuArray:
        """Return whether all values are true."""
        return self.xp.all(values, axis=axis)

    def largest(self, values: GpuArray, axis: int) -> GpuArray:
        """Return the largest value along an axis."""
        return self.xp.max(values, axis=axis)

    def where(self, condition: GpuArray, values: GpuArray, others: GpuArray) -> GpuArray:
        """Return values where a condition holds, and others elsewhere."""
        return self.xp.where(condition, values, others)

    def isnan(self, values: GpuArray) -> GpuArray:
        """Return where values are NaN."""
        return self.xp.isnan(values)

    def isinf(self, values: GpuArray) -> GpuArray:
        """Return where values are infinite."""
        return self.xp.isinf(values)

    def at_least(self, values: GpuArray, least: float) -> GpuArray:
        """Return max(value, least)."""
        return self.where(values < least, least, values)

    def softplus(self, values: GpuArray) -> GpuArray:
        """Return log(1 + e^-m), in which nothing overflows."""
        xp = self.xp
        return self.at_least(-values, 0.0) + xp.log1p(xp.exp(-xp.abs(values)))

    def full(self, shape: int | tuple[int, ...], value: float, dtype: str = "float64") -> GpuArray:
        """Return an array of one value, made on the GPU."""
        return self.xp.full(shape, value, dtype=getattr(self.xp, dtype))

    def transpose(self, values: GpuArray) -> GpuArray:
        """Return a matrix with its axes exchanged."""
        return values.T


class CupyArrays(Arrays):
    """Arrays of CuPy. Its operations run on the current GPU, whatever that of the arrays is."""

    def current(self) -> AbstractContextManager[Any]:
        return self.device

    def from_host(self, values: AnyArray) -> GpuArray:
        with self.device:
            return self.xp.asarray(values)

    def full(self, shape: int | tuple[int, ...], value: float, dtype: str = "float64") -> GpuArray:
        with self.device:
            return super().full(shape, value, dtype)


class StandardArrays(Arrays):
    """Arrays of a library that has the names of the array API standard, and no others."""

    def copy(self, values: GpuArray) -> GpuArray:
        return self.xp.asarray(values, copy=True)

    def from_host(self, values: AnyArray) -> GpuArray:
        return self.xp.asarray(values, device=self.device)

    def to_double(self, values: GpuArray) -> GpuArray:
        return self.xp.astype(values, self.xp.float64, copy=False)

    def to_bytes(self, values: GpuArray) -> GpuArray:
        return self.xp.astype(values, self.xp.uint8)

    def to_codes(self, values: GpuArray) -> GpuArray:
        return self.xp.astype(values, self.xp.int32)

    def to_whole(self, values: GpuArray) -> GpuArray:
        return self.xp.astype(values, self.xp.int64)

    def concatenate(self, arrays: Sequence[GpuArray], axis: int = 0) -> GpuArray:
        return self.xp.concat(arrays, axis=axis)

    def at_least(self, values: GpuArray, least: float) -> GpuArray:
        return self.xp.maximum(values, least)

    def full(self, shape: int | tuple[int, ...], value: float, dtype: str = "float64") -> GpuArray:
        return self.xp.full(shape, value, dtype=getattr(self.xp, dtype), device=self.device)


class TorchArrays(Arrays):
    """Tensors of torch."""

    def detach(self, values: GpuArray) -> GpuArray:
        return values.detach()

    def copy(self, values: GpuArray) -> GpuArray:
        return values.clone()

    def from_host(self, values: AnyArray) -> GpuArray:
        return self.xp.asarray(np.ascontiguousarray(values), device=self.device)

    def to_double(self, values: GpuArray) -> GpuArray:
        return values.to(self.xp.float64)

    def to_bytes(self, values: GpuArray) -> GpuArray:
        return values.to(self.xp.uint8)

    def to_codes(self, values: GpuArray) -> GpuArray:
        return values.to(self.xp.int32)

    def to_whole(self, values: GpuArray) -> GpuArray:
        return values.to(self.xp.int64)

    def take(self, values: GpuArray, numbers: GpuArray, axis: int = 0) -> GpuArray:
        return self.xp.index_select(values, axis, numbers)

    def count_below(self, edges: GpuArray, values: GpuArray) -> GpuArray:
        return self.xp.searchsorted(edges, values.contiguous(), side="left")

    def concatenate(self, arrays: Sequence[GpuArray], axis: int = 0) -> GpuArray:
        return self.xp.cat(arrays, dim=axis)

    def sum(self, values: GpuArray, axis: int | None = None) -> GpuArray:
        return self.xp.sum(values) if axis is None else self.xp.sum(values, dim=axis)

    def any(self, values: GpuArray, axis: int | None = None) -> GpuArray:
        return self.xp.any(values) if axis is None else self.xp.any(values, dim=axis)

    def all(self, values: GpuArray, axis: int | None = None) -> GpuArray:
        return self.xp.all(values) if axis is None else self.xp.all(values, dim=axis)

    def largest(self, values: GpuArray, axis: int) -> GpuArray:
        return self.xp.amax(values, dim=axis)

    def at_least(self, values: GpuArray, least: float) -> GpuArray:
        return self.xp.clamp(values, min=least)

    def full(self, shape: int | tuple[int, ...], value: float, dtype: str = "float64") -> GpuArray:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return self.xp.full(shape, value, dtype=getattr(self.xp, dtype), device=self.device)
