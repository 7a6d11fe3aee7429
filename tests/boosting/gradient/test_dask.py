"""Gradient boosting on a Dask cluster gives the model of rows in memory, whatever is lost on the way."""

import os
import pickle
import signal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd

from fuselearn.backends.partitioned import cluster_workers, dask_cluster, dask_tasks, dask_worker, partitioned_data
from fuselearn.boosting.gradient.gradient_rows import LeafHistograms
from tests.backends.partitioned.cluster_faults import SharedList
from tests.backends.partitioned.fit_arguments import COLUMNS, chunked
from tests.backends.partitioned.partition_problems import assert_nothing_is_held, in_chunks
from tests.boosting.gradient.gradient_problems import (
    CASES,
    VIEWS,
    assert_same,
    local_model,
    problem,
    rows,
)

POSIX = pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
LOST_WORKERS = pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed")


QUICK = ("early stopping",)


@pytest.mark.parametrize("case", [pytest.param(c, marks=() if c in QUICK else pytest.mark.long) for c in CASES])
def test_a_cluster_gives_the_local_model(case, client):
    model, X, y, beside = problem(case)
    for n_partitions in (4,) if case in QUICK else (1, 5):
        assert_same(clone(model).fit(**chunked(n_partitions, X, y, beside)), local_model(case))
    assert_nothing_is_held()


@pytest.mark.long
@pytest.mark.parametrize("n_partitions", [1, 2, 3, 5, 8, 13, 16])
@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_partitions_and_workers_do_not_matter(n_partitions, n_workers, client, monkeypatch):
    update = cluster_workers.Workers.update
    monkeypatch.setattr(
        cluster_workers.Workers, "update", lambda self, workers: update(self, dict(sorted(workers.items())[:n_workers]))
    )
    for case in ("view labels", "a quantile"):
        model, X, y, beside = problem(case)
        assert_same(model.fit(**chunked(n_partitions, X, y, beside)), local_model(case))


@pytest.mark.long
def test_a_partition_without_rows(client):
    model, X, y, beside = problem("class weights")
    lengths = ((0, 1000, 0, len(X) - 1000),)
    arrays = [da.from_array(array, chunks=(*lengths, *array.shape[1:])) for array in (X, y, *beside.values())]
    assert_same(model.fit(**dict(zip(("X", "y", *beside), arrays))), local_model("class weights"))


@pytest.mark.long
def test_a_weight_for_all_rows(client):
    X, targets, _ = rows()
    model = ShareGradientBoostingRegressor(n_estimators=1, max_leaf_nodes=4, random_state=0)
    here = clone(model).fit(X, targets["number"], sample_weight=0.25)
    assert_same(model.fit(*in_chunks(3, X, targets["number"]), sample_weight=0.25), here)
    assert model.trees_.weight[0] == 750


def frame(text):
    """A data frame with a categorical column, of text or of numbers, and the target."""
    X, targets, _ = rows()
    table = pd.DataFrame(X, columns=COLUMNS)
    names = np.array(["red", "blue", "green", "grey", "black", "white"])
    codes = table["c2"].fillna(0).astype(int).to_numpy()
    values = pd.Series(names[codes] if text else 10 * codes).where(table["c2"].notna(), None)
    return table.assign(c2=pd.Categorical(values)), pd.Series(targets["three"], name="target")


def test_categories_of_a_data_frame(client):
    """They are text; of numbers, and of a collection whose categories are not known beforehand, see below."""
    table, y = frame(text=True)
    model = ShareGradientBoostingClassifier(views=VIEWS, n_estimators=1, random_state=0)
    here = clone(model).fit(table, y)
    assert np.any(here.trees_.category_row >= 0)
    there, labels = dd.from_pandas(table, npartitions=3), dd.from_pandas(y, npartitions=3)
    assert_same(model.fit(there, labels), here)
    assert model.categories_.values == here.categories_.values
    assert_array_equal(model.predict(there).compute(), here.predict(table))
    assert_array_equal(model.predict_proba(there).compute(), here.predict_proba(table))


@pytest.mark.long
@pytest.mark.parametrize("text", [True, False])
def test_categories_of_all_kinds(text, client):
    table, y = frame(text)
    model = ShareGradientBoostingClassifier(views=VIEWS, n_estimators=2, random_state=0)
    here = clone(model).fit(table, y)
    there, labels = dd.from_pandas(table, npartitions=4), dd.from_pandas(y, npartitions=4)
    assert_same(clone(model).fit(there, labels), here)
    assert_same(clone(model).fit(there.assign(c2=there["c2"].cat.as_unknown()), labels), here)
    plain = there.assign(c2=there["c2"].astype("string" if text else "float64"))
    assert_same(model.set_params(categorical_features=["c2"]).fit(plain, labels), here)


def test_predictions_are_lazy(client):
    X, _, _ = rows()
    (chunks,) = in_chunks(3, X)
    classifier, regressor = local_model("three classes"), local_model("a squared error")
    for model, methods in (
        (classifier, ("predict", "predict_proba", "decision_function")),
        (regressor, ("predict",)),
    ):
        for method in methods:
            there = getattr(model, method)(chunks)
            assert isinstance(there, da.Array)
            assert_array_equal(there.compute(), getattr(model, method)(X))


@pytest.mark.long
def test_groups_of_a_data_frame(client):
    model, X, y, beside = problem("groups")
    table = dd.from_pandas(pd.DataFrame(X, columns=COLUMNS).assign(target=y, **beside), npartitions=3)
    model.set_params(views={name: [COLUMNS[number] for number in columns] for name, columns in VIEWS.items()})
    assert_same(model.fit(table[COLUMNS], table["target"], groups=table["groups"]), local_model("groups"))


@pytest.mark.parametrize("name", ["dask", "pyarrow"])
def test_a_library_that_is_not_installed(name, monkeypatch, tmp_path):
    monkeypatch.setattr(partitioned_data, "find_spec", lambda module: None)
    X, targets, _ = rows()
    given = da.from_array(X, chunks=(1000, 8)) if name == "dask" else tmp_path / "rows.parquet"
    with pytest.raises(ImportError, match=r"To fit on .*, install (distributed|pyarrow): pip install 'fuselearn\["):
        ShareGradientBoostingClassifier().fit(given, targets["two"])


def test_text_that_is_no_category(client):
    table, y = frame(text=True)
    there = dd.from_pandas(table.assign(c2=table["c2"].astype(object)), npartitions=2)
    with pytest.raises(ValueError, match=r"partition \d: could not convert string to float"):
        ShareGradientBoostingClassifier(n_estimators=2).fit(there, dd.from_pandas(y, npartitions=2))


def ask_and_forget(forgotten, run_name, numbers, first, message):
    """Lose the partitions of this worker, once, in the middle of a tree of the third round."""
    updates, questions = dask_worker.unpack(message, ())
    growing = any(isinstance(question, LeafHistograms) and question.splits for question in questions)
    if first + len(updates) == 2 and growing and not forgotten:
        forgotten.append(list(numbers))
        run = dask_worker.RUNS[run_name, dask_worker.get_worker().address]
        run.partitions.clear()
    return dask_worker.ask_partitions(run_name, numbers, first, message)


@pytest.mark.parametrize("case", ["two classes", pytest.param("view labels", marks=pytest.mark.long)])
def test_partitions_that_are_lost_in_the_middle_of_a_tree(case, client, monkeypatch):
    forgotten = SharedList()
    monkeypatch.setattr(dask_cluster, "ask_partitions", partial(ask_and_forget, forgotten))
    model, X, y, beside = problem(case)
    assert_same(model.fit(**chunked(5, X, y, beside)), local_model(case))
    assert len(forgotten) == 1
    assert_nothing_is_held()


def ask_or_die(marker, run_name, numbers, first, message):
    """Kill the worker, once, while a tree of the third round grows."""
    updates, questions = dask_worker.unpack(message, ())
    growing = any(isinstance(question, LeafHistograms) and question.splits for question in questions)
    if first + len(updates) == 2 and growing:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return dask_worker.ask_partitions(run_name, numbers, first, message)


@pytest.fixture
def patient(monkeypatch):
    """Quick to see that a worker is lost, and slow to give up: a new worker may take long to start."""
    monkeypatch.setattr(dask_tasks, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(dask_cluster, "REBALANCE_SECONDS", 0.5)
    monkeypatch.setattr(dask_tasks, "CLUSTER_TIMEOUT_SECONDS", 300.0)


@pytest.mark.long
@POSIX
@LOST_WORKERS
@pytest.mark.parametrize("case", ["two classes", "view labels", "an absolute error"])
def test_a_worker_that_is_killed_while_a_tree_grows(case, processes, patient, monkeypatch, tmp_path):
    model, X, y, beside = problem(case)
    monkeypatch.setattr(dask_cluster, "ask_partitions", partial(ask_or_die, str(tmp_path / "died")))
    with processes.as_current():
        survived = pickle.loads(pickle.dumps(model.fit(**chunked(5, X, y, beside))))
    assert (tmp_path / "died").exists()
    assert_same(survived, local_model(case))
