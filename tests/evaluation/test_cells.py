"""Splits of the papers' protocols, and majority labels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn.evaluation.cells import PROTOCOLS, Protocol, majority_labels


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols(name):
    protocol = PROTOCOLS[name]
    y = np.repeat([0, 1], [60, 40])
    splits = protocol.splits(y, run=3, seed=5)
    for train, test in splits:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == 100
        assert len(test) / len(train) == pytest.approx(protocol.test_share, rel=0.05)
        assert y[train].mean() == pytest.approx(0.4, abs=0.02)
    again = protocol.splits(y, run=3, seed=5)
    assert all(np.array_equal(a, b) for one, other in zip(splits, again) for a, b in zip(one, other))
    other_run = protocol.splits(y, run=4, seed=5)
    assert not np.array_equal(splits[0][0], other_run[0][0])


def test_what_the_papers_do():
    expected = {
        "bssd": Protocol(runs=20, train_size=0.6),
        "shareboost": Protocol(runs=30, train_size=0.6, n_estimators=150),
        "shared_distribution": Protocol(runs=10, train_size=0.5, n_estimators=30),
        "mssboost": Protocol(runs=10, train_size=0.75),
        "tomographic": Protocol(runs=1400, folds=3),
    }
    assert {name: replace(protocol, methods=()) for name, protocol in PROTOCOLS.items()} == expected


@given(st.integers(0, 2**32 - 1))
def test_majority(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=(30, 4))
    chosen = majority_labels(labels, rng)
    for row, label in zip(labels, chosen):
        assert (row == label).sum() == np.bincount(row).max()
