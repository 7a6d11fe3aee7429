"""NumPy arrays in the words of CuPy, on GPUs that are only numbers.

As in CuPy, operations run on the current GPU, and refuse arrays of another one and arrays of NumPy.
"""

from types import ModuleType

import numpy as np

MAKERS = ("arange", "asarray", "empty", "full", "ones", "zeros")


class Device:
    """A GPU, and the context in which it is the current one."""

    _entered = (0,)

    def __init__(self, number=None):
        self.id = self._entered[-1] if number is None else number

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return hash(self.id)

    def __repr__(self):
        return f"<stand-in device {self.id}>"

    def __enter__(self):
        Device._entered = (*Device._entered, self.id)

    def __exit__(self, *exception):
        Device._entered = Device._entered[:-1]


class ndarray(np.ndarray):
    """An array on the GPU that was current when it was made."""

    __module__ = "cupy"

    device = None

    def __array_finalize__(self, source):
        self.device = source.device if isinstance(source, ndarray) else Device()

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return _placed(getattr(ufunc, method)(*_checked(inputs), **_checked(options)))

    def __array_function__(self, function, types, arguments, options):
        return _placed(function(*_checked(arguments), **_checked(options)))

    def __getitem__(self, key):
        found = super().__getitem__(key)
        return found if isinstance(found, np.ndarray) else _placed(found, self.device)

    def __setitem__(self, key, value):
        _checked([self])
        self.view(np.ndarray)[key] = _checked([value])[0]

    def astype(self, dtype, copy=True):
        return _placed(_checked([self])[0].astype(dtype, copy=copy))


def _checked(values):
    """What an operation is given as NumPy has it, where all of it is on the current GPU."""
    if isinstance(values, dict):
        return {name: _checked([value])[0] for name, value in values.items()}
    checked = []
    for value in values:
        if isinstance(value, list | tuple):
            value = type(value)(_checked(value))
        elif isinstance(value, ndarray):
            if value.device != Device():
                raise ValueError(f"the array is on {value.device}, and {Device()} is current")
            value = value.view(np.ndarray)
        elif isinstance(value, np.ndarray):
            raise TypeError("CuPy takes no arrays of NumPy")
        checked.append(value)
    return checked


def _placed(values, device=None):
    with device or Device():
        return np.asarray(values).view(ndarray)


class StandIn(ModuleType):
    """The module; what it does not have itself is NumPy's."""

    def __init__(self):
        super().__init__("cupy")
        self.ndarray = ndarray

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in MAKERS:
            return lambda *arguments, **options: _placed(getattr(np, name)(*arguments, **options))
        return getattr(np, name)

    def asnumpy(self, values):
        return np.array(values.view(np.ndarray))
