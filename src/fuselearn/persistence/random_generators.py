"""NumPy's random generators in a saved model: their state, checked before a generator takes it.

NumPy takes a position within the state as it is given, and reads there.
"""

from typing import Any

import numpy as np

BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
POSITIONS = {"pos": 624, "buffer_pos": 4}
"""Names of positions in a state, and the largest of each."""


def generator_state(value: Any) -> dict[str, Any] | None:
    """Return the state of a `RandomState` or `Generator` as plain values; None for anything else."""
    if type(value) is np.random.RandomState:
        return dict(value.get_state(legacy=False))
    if type(value) is np.random.Generator and type(value.bit_generator).__name__ in BIT_GENERATORS:
        return dict(value.bit_generator.state)
    return None


def generator_from(kind: Any, state: Any) -> np.random.RandomState | np.random.Generator:
    """Return a generator in a state that was read from a file."""
    if kind not in ("RandomState", "Generator") or type(state) is not dict:
        raise ValueError("its tree has a random generator of an unknown kind")
    name = state.get("bit_generator")
    if name not in BIT_GENERATORS or (kind == "RandomState" and name != "MT19937"):
        raise ValueError("its tree has a random generator of an unknown kind")
    _check_state(state, depth=0)
    try:
        if kind == "RandomState":
            legacy = np.random.RandomState(0)
            legacy.set_state(state)
            return legacy
        bits = getattr(np.random, name)(0)
        bits.state = state
        return np.random.Generator(bits)
    except (TypeError, LookupError, OverflowError) as error:
        raise ValueError(f"its tree has a random generator without a state ({error})") from None


def _check_state(state: dict[str, Any], depth: int) -> None:
    """Refuse a state whose numbers, arrays or positions are not those of a generator."""
    for name, value in state.items():
        if type(value) is dict and depth == 0:
            _check_state(value, depth + 1)
        elif name in POSITIONS and not (type(value) is int and 0 <= value <= POSITIONS[name]):
            raise ValueError("its tree has a random generator at a position outside of its state")
        elif type(value) is np.ndarray and not (value.ndim == 1 and value.dtype.kind == "u" and len(value) <= 624):
            raise ValueError("its tree has a random generator whose state is not whole")
        elif type(value) not in (int, float, str, np.ndarray, bool):
            raise ValueError("its tree has a random generator whose state is not made of numbers")
