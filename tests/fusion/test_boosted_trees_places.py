"""Boosted trees of a fusion are the same on Parquet files, on a Dask cluster, and on a GPU."""

import os
import signal
from functools import cache

import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn import FusionClassifier
from fuselearn.backends.partitioned import parquet
from fuselearn.backends.partitioned.partitioned_data import open_source
from fuselearn.boosting.gradient import partitioned_gradient_data
from fuselearn.boosting.gradient.gradient_arguments import _reader
from fuselearn.boosting.gradient.partitioned_gradient_data import read_partitioned_gradient_data
from fuselearn.data import read_training_data
from fuselearn.data.folds import Folds
from fuselearn.data.view_table import row_location
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesArms, BoostingSettings, local_gradient_data
from fuselearn.numeric.threads import Threads
from tests.backends.partitioned.fit_arguments import COLUMNS
from tests.boosting.gradient.gradient_problems import VIEWS, rows
from tests.boosting.gradient.test_gpu import EXACT, library
from tests.fusion.test_boosted_trees import assert_same_model

__all__ = ["library"]
SETTINGS = BoostingSettings(n_rounds=4, max_leaf_nodes=6, min_samples_leaf=10.0, n_iter_no_change=2)
PAIRS = [(None, 0), (1, 2), (2, 0), (None, 1)]
SEED, N_FOLDS = 5, 3
POSIX = pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
LOST_WORKERS = pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed")
GIVEN = [(), ("sample_weight",), ("groups", "sample_weight")]


class Model(FusionClassifier):
    """A model whose columns are all numbers."""

    categorical_features = None
    max_bins = 255


@cache
def local_models(given, target="three", n_rows=3000):
    X, targets, beside = rows()
    X, y = X[:n_rows], targets[target][:n_rows]
    weights = beside["sample_weight"][:n_rows] if "sample_weight" in given else None
    groups = beside["groups"][:n_rows] if "groups" in given else None
    folds = Folds.of(N_FOLDS, SEED, groups).numbers(len(X), groups=groups)
    data = read_training_data(FusionClassifier(views=VIEWS), X, y, weights)
    with BoostedTreesArms(local_gradient_data(data, folds), N_FOLDS, SETTINGS) as arms:
        return arms.fit_all(PAIRS)


def partitioned_data(X, y, **beside):
    source = open_source(row_location(X), X, y, beside.get("sample_weight"), None, beside.get("groups"))
    data = read_partitioned_gradient_data(Model(views=VIEWS), source, reset=True, has_classes=True)
    data.divide(data.folds(N_FOLDS, SEED))
    return data


@pytest.mark.parametrize(
    ("n_partitions", "given"),
    [
        (3, GIVEN[2]),
        *(
            pytest.param(n_partitions, given, marks=pytest.mark.long)
            for n_partitions in range(1, 9)
            for given in GIVEN
            if (n_partitions, given) != (3, GIVEN[2])
        ),
    ],
    ids=str,
)
def test_files(n_partitions, given, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(parquet, "MAX_ROWS", -(-3000 // n_partitions))
    X, targets, beside = rows()
    frame = pd.DataFrame(X, columns=COLUMNS).assign(target=targets["three"])
    for name in given:
        frame[name] = beside[name]
    frame.to_parquet(tmp_path / "rows.parquet")
    data = partitioned_data(tmp_path / "rows.parquet", "target", **{name: name for name in given})
    with (
        Threads(1 + n_partitions % 2) as threads,
        BoostedTreesArms(data, N_FOLDS, SETTINGS, threads) as arms,
    ):
        for model, expected in zip(arms.fit_all(PAIRS), local_models(given)):
            assert_same_model(model, expected)
            assert expected.n_rounds > 1


def dask_data(n_partitions, given):
    from tests.backends.partitioned.partition_problems import in_chunks

    X, targets, beside = rows()
    arrays = in_chunks(n_partitions, X, targets["three"], *(beside[name] for name in given))
    return partitioned_data(*arrays[:2], **dict(zip(given, arrays[2:])))


@pytest.mark.long
@pytest.mark.parametrize(
    ("n_partitions", "pairs"),
    [(3, PAIRS[2:3]), *(pytest.param(n, PAIRS, marks=pytest.mark.long) for n in (1, 2, 5, 8))],
)
@pytest.mark.parametrize("collected", [0, 2**27])
def test_a_cluster(collected, n_partitions, pairs, client, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(partitioned_gradient_data, "COLLECTED_BYTES", collected)
    from tests.backends.partitioned.partition_problems import assert_nothing_is_held

    given = ("groups", "sample_weight")
    with BoostedTreesArms(dask_data(n_partitions, given), N_FOLDS, SETTINGS) as arms:
        models = dict(zip(PAIRS, local_models(given)))
        for pair, model in zip(pairs, arms.fit_all(pairs)):
            assert_same_model(model, models[pair])
    assert_nothing_is_held()


@POSIX
@LOST_WORKERS
@pytest.mark.long
def test_a_killed_worker_costs_a_step(processes, monkeypatch):
    """In the second run, after some rounds; what the first run left is not needed any more."""
    monkeypatch.setattr(partitioned_gradient_data, "COLLECTED_BYTES", 0)
    killed = []

    def kill(progress):
        if progress.view == 1 and progress.n_rounds == 2 and not killed:
            killed.append(next(iter(processes.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with processes.as_current(), BoostedTreesArms(dask_data(4, ()), N_FOLDS, SETTINGS, report=kill) as arms:
        for pair, expected in zip(PAIRS, local_models(())):
            assert_same_model(arms.fit(*pair), expected)
    assert killed


@pytest.mark.parametrize("target", ["two", pytest.param("three", marks=pytest.mark.long)])
def test_a_gpu(library, target):
    """Where exponentials are rounded otherwise, leaves differ by as much."""
    X, targets, beside = rows()
    n_rows = 3000 if library.many_rows > 3000 else 200
    X, y, weights = X[:n_rows], targets[target][:n_rows], beside["sample_weight"][:n_rows]
    there = library.array(X)
    data = read_training_data(FusionClassifier(views=VIEWS), there, y, weights, reader=_reader(row_location(there)))
    folds = Folds.of(N_FOLDS, SEED).numbers(n_rows)
    with BoostedTreesArms(local_gradient_data(data, folds), N_FOLDS, SETTINGS) as arms:
        models = arms.fit_all(PAIRS[:2])
    for model, expected in zip(models, local_models(("sample_weight",), target, n_rows)):
        for name in (*EXACT, "starts", "output"):
            assert_array_equal(getattr(model.trees, name), getattr(expected.trees, name), err_msg=name)
        assert_allclose(model.predict(X), expected.predict(X), rtol=1e-7, atol=1e-7)
