"""Comparison of two results of an experiment."""

import dataclasses
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal


def same(first: Any, second: Any) -> bool:
    """Check that two results hold the same values."""
    for field in dataclasses.fields(first):
        value, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(value, dict):
            assert value.keys() == other.keys()
            for key, entry in value.items():
                assert_array_equal(entry, other[key])
        elif isinstance(value, tuple) and isinstance(value[0], np.ndarray):
            for entry, again in zip(value, other, strict=True):
                assert_array_equal(entry, again)
        else:
            assert_array_equal(value, other)
    return True
