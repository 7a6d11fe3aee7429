"""Tests of what needs the conic solver of the extra `sdp`, which takes long to install."""

from importlib.util import find_spec

import pytest

HAS_SOLVER = find_spec("cvxpy") is not None
MARKS = [pytest.mark.long, pytest.mark.skipif(not HAS_SOLVER, reason="CVXPY, of the extra sdp, is not installed")]
"""Marks of a test that needs it."""


def needs_conic_solver(test):
    """Mark a test that needs it."""
    for mark in MARKS:
        test = mark(test)
    return test
