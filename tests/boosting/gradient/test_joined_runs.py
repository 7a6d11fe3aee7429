"""Runs of a cross-fitting on a cluster share their round trips, and give the trees of runs in memory."""

import os
import signal
from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fuselearn import ShareGradientBoostingClassifier
from fuselearn.data import read_training_data
from fuselearn.data.folds import Folds
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesArms, BoostingSettings, local_gradient_data
from fuselearn.numeric.threads import Threads

pytest.importorskip("distributed")

from fuselearn.backends.partitioned.dask_cluster import DaskPartitions
from fuselearn.backends.partitioned.partitioned_data import open_source
from fuselearn.boosting.gradient import gradient_data, partitioned_gradient_data
from fuselearn.boosting.gradient.gradient_data import LocalFoldRuns
from fuselearn.boosting.gradient.joined_runs import JoinedRuns
from fuselearn.boosting.gradient.partitioned_gradient_data import read_partitioned_gradient_data
from tests.backends.partitioned.partition_problems import assert_nothing_is_held, in_chunks
from tests.boosting.gradient.gradient_problems import VIEWS, rows

N_FOLDS = 3
SETTINGS = BoostingSettings(n_rounds=2, max_leaf_nodes=4, learning_rate=0.3)
PAIRS = [(None, 0), (None, 1), (1, 0), (None, 2), (2, 2)]


@pytest.fixture(autouse=True)
def _many(monkeypatch):
    """A few hundred rows are too many to be collected."""
    monkeypatch.setattr(partitioned_gradient_data, "COLLECTED_BYTES", 0)


@pytest.fixture
def asked(monkeypatch):
    """Numbers of the questions of each round trip."""
    trips, ask = [], DaskPartitions.ask
    monkeypatch.setattr(
        DaskPartitions,
        "ask",
        lambda self, updates, questions: (trips.append(len(questions)), ask(self, updates, questions))[1],
    )
    return trips


def far_rows(target="three", n=600):
    X, targets, _ = rows(n)
    model = ShareGradientBoostingClassifier(views=VIEWS)
    source = open_source("dask", *in_chunks(3, X, targets[target]))
    data = read_partitioned_gradient_data(model, source, reset=True, has_classes=True)
    data.divide(Folds.of(N_FOLDS, 7))
    return data


def near_rows(target="three", n=600):
    X, targets, _ = rows(n)
    data = read_training_data(ShareGradientBoostingClassifier(views=VIEWS), X, targets[target])
    return local_gradient_data(data, Folds.of(N_FOLDS, 7).numbers(n))


def assert_same(one, other):
    for field in fields(one.trees):
        assert_array_equal(getattr(one.trees, field.name), getattr(other.trees, field.name), err_msg=field.name)
    assert_array_equal(one.baseline, other.baseline)


def test_they_are_those_of_rows_in_memory(client, asked):
    with BoostedTreesArms(near_rows(), N_FOLDS, SETTINGS) as arms:
        here = arms.fit_all(PAIRS)
    with BoostedTreesArms(far_rows(), N_FOLDS, SETTINGS) as arms:
        there = arms.fit_all(PAIRS)
        together = len(asked)
        alone = [arms.fit(view, fold) for view, fold in PAIRS[:2]]
    for model, other in zip(there, here):
        assert_same(model, other)
    for model, other in zip(alone, here):
        assert_same(model, other)
    # Two runs, one after the other, take more round trips than five that share them.
    assert together < len(asked) - together
    assert max(asked[:together]) >= len(PAIRS)
    assert_nothing_is_held()


@pytest.mark.parametrize("target", ["three", pytest.param("two", marks=pytest.mark.long)])
def test_rows_whose_bins_are_collected(target, client, asked, monkeypatch):
    """Their trees grow in this process, without a round trip."""
    with BoostedTreesArms(near_rows(target), N_FOLDS, SETTINGS) as arms:
        here = arms.fit_all(PAIRS)
    monkeypatch.setattr(partitioned_gradient_data, "COLLECTED_BYTES", 2**27)
    with Threads(2) as threads, BoostedTreesArms(far_rows(target), N_FOLDS, SETTINGS, threads) as arms:
        there = arms.fit_all(PAIRS)
    assert not asked
    for model, other in zip(there, here):
        assert_same(model, other)


@pytest.mark.parametrize(("target", "n_outputs"), [("two", 1), ("three", 3)])
def test_all_that_rows_need_decides_whether_they_are_collected(target, n_outputs, client, monkeypatch):
    """Rows of few columns have more scores and gradients than bins."""
    bins, needed = 600 * 8, 600 * LocalFoldRuns.bytes_of_row(8, 3, n_outputs, n_runs=2)
    assert needed > 10 * bins
    with Threads(2) as threads:
        for limit, kind in ((bins, JoinedRuns), (needed - 1, JoinedRuns), (needed, LocalFoldRuns)):
            monkeypatch.setattr(partitioned_gradient_data, "COLLECTED_BYTES", limit)
            data = far_rows(target)
            with data.fold_runs(data.fold_plan(N_FOLDS, 255, 0), threads) as runs:
                assert type(runs) is kind
    assert_nothing_is_held()


@pytest.mark.parametrize("target", ["two", "three"])
def test_no_array_of_a_run_is_left_out_of_the_count(target, monkeypatch):
    """All arrays of a run with weights, after trees of all classes have joined."""
    X, targets, beside = rows(600)
    data = read_training_data(ShareGradientBoostingClassifier(views=VIEWS), X, targets[target], beside["sample_weight"])
    stores, new_store = [], gradient_data.ArrayStore
    monkeypatch.setattr(gradient_data, "ArrayStore", lambda: stores.append(new_store()) or stores[-1])
    with BoostedTreesArms(local_gradient_data(data, Folds.of(N_FOLDS, 7).numbers(600)), N_FOLDS, SETTINGS) as arms:
        arms.fit(None, 0)
        n_outputs = len(stores[0].get("scores"))
        n_bytes = stores[0].n_bytes
    counted = LocalFoldRuns.bytes_of_row(8, 3, n_outputs, n_runs=1)
    # Eight are of row numbers that are drawn and forgotten; leaves of small trees take one byte of two.
    assert 0.75 * counted < n_bytes / 600 + 8 <= counted


def test_an_error_ends_all_runs(client, monkeypatch):
    """A question that fails does not leave the other runs waiting."""
    ask, times = DaskPartitions.ask, []

    def failing(self, updates, questions):
        times.append(1)
        if len(times) == 3:
            raise RuntimeError("the cluster is gone")
        return ask(self, updates, questions)

    monkeypatch.setattr(DaskPartitions, "ask", failing)
    with BoostedTreesArms(far_rows(), N_FOLDS, SETTINGS) as arms, pytest.raises(RuntimeError, match="cluster is gone"):
        arms.fit_all(PAIRS)
    assert_nothing_is_held()


@pytest.mark.skipif(os.name == "nt", reason="SIGINT of one process is POSIX")
def test_an_interrupt_ends_all_runs(client, monkeypatch):
    """They end at their next question, not when all their trees have grown."""
    ask, times = DaskPartitions.ask, []

    def interrupting(self, updates, questions):
        times.append(1)
        if len(times) == 3:
            # As Ctrl-C does: the main thread gets it, which waits for the runs.
            os.kill(os.getpid(), signal.SIGINT)
        return ask(self, updates, questions)

    monkeypatch.setattr(DaskPartitions, "ask", interrupting)
    many = BoostingSettings(n_rounds=200, max_leaf_nodes=4, n_iter_no_change=200)
    # A shell lets what it starts in the background ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with BoostedTreesArms(far_rows(), N_FOLDS, many) as arms, pytest.raises(KeyboardInterrupt):
            arms.fit_all(PAIRS)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(times) < 100
    assert_nothing_is_held()


def test_a_run_without_rows_leaves_the_others_alone(client):
    """A view that only the held-out fold has: nothing is learnt of it, and nothing asked."""
    X, targets, _ = rows(600)
    X = X.copy()
    X[np.ix_(Folds.of(N_FOLDS, 7).numbers(600) != 0, VIEWS["c"])] = np.nan
    source = open_source("dask", *in_chunks(3, X, targets["two"]))
    model = ShareGradientBoostingClassifier(views=VIEWS)
    data = read_partitioned_gradient_data(model, source, reset=True, has_classes=True)
    data.divide(Folds.of(N_FOLDS, 7))
    with BoostedTreesArms(data, N_FOLDS, SETTINGS) as arms:
        models = arms.fit_all([(2, 0), (None, 0), (None, 1)])
    assert [model.n_rounds > 0 for model in models] == [False, True, True]
