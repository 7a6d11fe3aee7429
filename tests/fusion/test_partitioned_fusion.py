"""A fusion on Dask collections and Parquet files is the one of rows in memory, whatever is lost on the way."""

import os
import pickle
import signal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import fuselearn
from fuselearn import FusionClassifier

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")
import dask.array as da
import dask.dataframe as dd

from fuselearn.backends.partitioned import dask_cluster, dask_tasks, dask_worker, parquet
from fuselearn.boosting.gradient import partitioned_gradient_data
from fuselearn.fusion import listed_suspects
from fuselearn.fusion.fusion_rows import ArmValues
from tests.backends.partitioned.cluster_faults import SharedList
from tests.backends.partitioned.fit_arguments import COLUMNS, chunked, in_file
from tests.backends.partitioned.partition_problems import assert_nothing_is_held, in_chunks
from tests.fusion.partition_problems import CASES, VIEWS, as_many, assert_same, local_model, problem, rows

LONG = pytest.mark.long
pytestmark = pytest.mark.filterwarnings("ignore:X has .* gross outlier:UserWarning")


@pytest.fixture
def many(monkeypatch):
    """A few hundred rows count as many, also as too many to be collected."""
    as_many(monkeypatch)
    monkeypatch.setattr(partitioned_gradient_data, "COLLECTED_BYTES", 0)


def long_but(*quick):
    return [pytest.param(case, marks=() if case in quick else LONG) for case in CASES]


@pytest.mark.parametrize("case", long_but("groups"))
def test_a_cluster_gives_the_local_model(case, many, client):
    model, X, y, beside = problem(case)
    for n_partitions in (3,) if case == "groups" else (1, 2, 5, 8):
        there = clone(model).fit(**chunked(n_partitions, X, y, beside))
        assert_same(there, local_model(case))
    assert_nothing_is_held()


def test_rows_that_are_drawn_and_rare_patterns_do_not_depend_on_partitions(many, client, monkeypatch):
    for name, most in (("fusion_run.CONSENSUS_ROWS", 200), ("pattern_values.MOST_OWN_NUMBERS", 400)):
        monkeypatch.setattr(f"fuselearn.fusion.{name}", most)
    monkeypatch.setattr("fuselearn.fusion.pattern_values.LEAST_MASKED_ROWS", 100)
    monkeypatch.setattr("fuselearn.fusion.fusion_run.LEAST_PATTERN_ROWS", 20)
    model, X, y, beside = problem("view labels")
    model.set_params(learners="linear")
    here = clone(model).fit(X, y, **beside)
    assert len(here._out_of_fold.own.logits) == 133
    for n_partitions in (1, 4, 8):
        assert_same(clone(model).fit(**chunked(n_partitions, X, y, beside)), here)


@pytest.mark.parametrize("case", long_but("weights"))
def test_rows_whose_bins_are_collected_give_the_local_model(case, many, client, monkeypatch):
    monkeypatch.setattr(partitioned_gradient_data, "COLLECTED_BYTES", 2**27)
    model, X, y, beside = problem(case)
    assert_same(model.fit(**chunked(3, X, y, beside)), local_model(case))
    assert_nothing_is_held()


@pytest.mark.parametrize("case", long_but("weights"))
def test_files_give_the_local_model(case, many, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "MAX_ROWS", 250)
    model, X, y, beside = problem(case)
    assert_same(model.fit(**in_file(tmp_path / "rows.parquet", X, y, beside)), local_model(case))


@LONG
@pytest.mark.parametrize("limit", ["1 MiB", "64 MiB"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_neither_the_place_of_arrays_nor_threads_matter(limit, n_jobs, many, tmp_path, monkeypatch):
    """The lower limit keeps all arrays in files."""
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", limit)
    model, X, y, beside = problem("view labels")
    model.set_params(n_jobs=n_jobs).fit(**in_file(tmp_path / "rows.parquet", X, y, beside))
    assert_same(model, local_model("view labels"))


@pytest.mark.parametrize("case", long_but("view labels"))
def test_few_rows_are_collected(case, client, tmp_path):
    model, X, y, beside = problem(case)
    X, y, beside = X[:240], y[:240], {name: values[:240] for name, values in beside.items()}
    model.set_params(learners="linear")
    here = clone(model).fit(X, y, **beside)
    assert not here._by_sums
    there = clone(model).fit(**chunked(4, X, y, beside))
    assert_same(there, here, exact=True)
    for name in ("posterior_", "out_of_sample_decision_"):
        assert_array_equal(getattr(there, name), getattr(here, name))
    assert_same(model.fit(**in_file(tmp_path / "rows.parquet", X, y, beside)), here, exact=True)


@pytest.mark.parametrize("learners", ["linear", pytest.param("default", marks=LONG)])
def test_partitions_without_rows(learners, many, client):
    model, X, y, beside = problem("weights")
    model.set_params(learners=learners, consensus=learners != "linear")
    lengths = ((0, 300, 0, len(X) - 300, 0),)
    arrays = [da.from_array(array, chunks=(*lengths, *array.shape[1:])) for array in (X, y, *beside.values())]
    there = clone(model).fit(**dict(zip(("X", "y", *beside), arrays)))
    assert_same(there, model.fit(X, y, **beside))


def test_what_would_be_as_long_as_the_data(many, tmp_path):
    _, X, y, beside = problem("two classes")
    here = local_model("two classes")
    arguments = in_file(tmp_path / "rows.parquet", X, y, beside)
    there = pickle.loads(pickle.dumps(here)).fit(**arguments)  # what an earlier fit left is gone
    for name in ("posterior_", "out_of_sample_decision_"):
        assert not hasattr(there, name)
        with pytest.raises(AttributeError, match=rf"has no {name}: .*partitions.*fit on rows in memory"):
            getattr(there, name)
    with pytest.raises(AttributeError, match="object has no attribute 'nothing'"):
        there.nothing  # noqa: B018
    assert [record["row"] for record in there.suspects()] == [record["row"] for record in here.suspects()]
    assert there.suspects(0) == []
    with pytest.raises(ValueError, match="n must be"):
        there.suspects(-1)
    fuselearn.save(there, tmp_path / "model.fuse")
    again = fuselearn.load(tmp_path / "model.fuse")
    assert again.suspects(5) == there.suspects(5)
    frame = pd.DataFrame(X, columns=COLUMNS)
    assert_array_equal(again.predict_proba(frame), there.predict_proba(frame))
    assert_same(there.fit(X, y), here, exact=True)
    assert len(there.posterior_) == len(X)


@pytest.mark.long
def test_a_list_of_suspects_has_an_end(many, tmp_path, monkeypatch):
    """The most suspect labels are listed, however they are spread over the partitions."""
    monkeypatch.setattr(parquet, "MAX_ROWS", 250)
    monkeypatch.setattr(listed_suspects, "MOST_SUSPECTS", 7)
    monkeypatch.setattr(listed_suspects.list_suspects, "__kwdefaults__", {"most": 7})
    model, X, y, beside = problem("view labels")
    model.fit(**in_file(tmp_path / "rows.parquet", X, y, beside))
    here = local_model("view labels").suspects(7)
    assert [(r["row"], r["column"]) for r in model.suspects(7)] == [(r["row"], r["column"]) for r in here]
    assert len(model.suspects()) == 7
    with pytest.raises(ValueError, match="n must be at most 7, the labels that are listed"):
        model.suspects(8)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions(method, many, client, tmp_path, monkeypatch):
    """They are lazy for collections; files are read some rows at a time, with their columns in any order."""
    monkeypatch.setattr(parquet, "MAX_ROWS", 250)
    X, _, _ = rows()
    model = local_model("weights")
    here = getattr(model, method)(X)
    (chunks,) = in_chunks(3, X)
    there = getattr(model, method)(chunks)
    assert isinstance(there, da.Array)
    same = assert_array_equal if method == "predict" else partial(assert_allclose, rtol=0, atol=1e-12)
    same(there.compute(), here)
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=200)
    same(getattr(model, method)(tmp_path / "rows.parquet"), here)
    named = pickle.loads(pickle.dumps(model))
    named.feature_names_in_ = np.array(COLUMNS, dtype=object)
    frame[COLUMNS[::-1]].assign(more="text").to_parquet(tmp_path / "other.parquet")
    same(getattr(named, method)([tmp_path / "other.parquet"]), here)
    lazy = getattr(named, method)(dd.from_pandas(frame, npartitions=2)).compute()
    same(np.asarray(lazy), here)


def test_views_to_measure_next_of_a_frame_are_names_or_none(many, client):
    X, _, _ = rows()
    named = pickle.loads(pickle.dumps(local_model("weights")))
    named.feature_names_in_ = np.array(COLUMNS, dtype=object)
    frame = pd.DataFrame(X, columns=COLUMNS)
    here = named.next_view(frame)
    assert None in here
    lazy = named.next_view(dd.from_pandas(frame, npartitions=2)).compute()
    assert lazy.dtype == object
    assert lazy.tolist() == here.tolist()


def test_files_that_cannot_be_predicted(many, tmp_path):
    X, _, _ = rows()
    model = local_model("two classes")
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame[COLUMNS[:5]].to_parquet(path)
    with pytest.raises(ValueError, match=r"have the 5 columns .* was fitted on 8 columns without names"):
        model.predict(path)
    named = pickle.loads(pickle.dumps(model))
    named.feature_names_in_ = np.array(COLUMNS, dtype=object)
    with pytest.raises(ValueError, match=r"lack 3 of the columns .* the first being 'c5'"):
        named.predict(path)
    frame[:0].to_parquet(path)
    with pytest.raises(ValueError, match="X has no rows"):
        model.predict(path)
    frame.assign(c3=np.inf).to_parquet(path)
    with pytest.raises(ValueError, match="rows from 0: X holds infinity"):
        model.predict(path)


def test_outliers_are_named_with_their_rows(many, client):
    model, X, y, beside = problem("two classes")
    model.set_params(learners="linear", consensus=False)
    with pytest.warns(
        UserWarning, match=r"2 gross outliers.* 1e\+20 in column 1, row 300\. Each counts as the nearest"
    ):
        model.fit(**chunked(4, X, y, beside))


def test_bad_rows(many, client):
    X, targets, beside = rows()
    model = FusionClassifier(views=VIEWS)
    with pytest.raises(ValueError, match="groups puts all rows of X that count into one group"):
        model.fit(*in_chunks(3, X, targets["two"]), groups=np.zeros(len(X)))
    labels = beside["view_labels"].copy()
    labels[:, 1] = None
    with pytest.raises(ValueError, match="view_labels has no label for any row of the view 'b'"):
        model.fit(*in_chunks(3, X, targets["three"]), view_labels=labels)
    labels[:, 1] = "other"
    with pytest.raises(ValueError, match=r"partition \d: view_labels of the view 'b' holds labels that are not among"):
        model.fit(*in_chunks(3, X, targets["three"]), view_labels=labels)
    with pytest.raises(ValueError, match="class_weight"):
        clone(model).set_params(class_weight={"unknown": 2}).fit(*in_chunks(3, X, targets["two"]))
    assert not hasattr(model, "classes_")


def forget_once(forgotten, run_name, numbers, first, message):
    """Lose the partitions of this worker, once, after an arm was fitted."""
    updates, _ = dask_worker.unpack(message, ())
    if not forgotten and first and any(isinstance(update, ArmValues) for update in updates):
        forgotten.append(list(numbers))
        dask_worker.RUNS[run_name, dask_worker.get_worker().address].partitions.clear()
    return dask_worker.ask_partitions(run_name, numbers, first, message)


def test_partitions_that_are_lost(many, client, monkeypatch):
    forgotten = SharedList()
    monkeypatch.setattr(dask_cluster, "ask_partitions", partial(forget_once, forgotten))
    model, X, y, beside = problem("two classes")
    model.set_params(learners="linear")
    assert_same(clone(model).fit(**chunked(5, X, y, beside)), model.fit(X, y, **beside))
    assert len(forgotten) == 1
    assert_nothing_is_held()


def die_once(folder, run_name, numbers, first, message):
    """Kill the worker, once while boosted trees grow, and once after arms were fitted."""
    updates, questions = dask_worker.unpack(message, ())
    kinds = {"trees": first > 3 and type(questions[0]).__name__ == "OfRun"} if questions else {}
    kinds["arms"] = first > 1 and any(isinstance(update, ArmValues) for update in updates)
    for kind, is_time in kinds.items():
        if is_time:
            try:
                os.close(os.open(os.path.join(folder, kind), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
    return dask_worker.ask_partitions(run_name, numbers, first, message)


@LONG
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
@pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed")
@pytest.mark.parametrize("case", ["two classes", "view labels"])
def test_workers_that_are_killed(case, many, processes, monkeypatch, tmp_path):
    # Quick to see that a worker is lost, and slow to give up: a new worker may take long to start.
    monkeypatch.setattr(dask_tasks, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(dask_cluster, "REBALANCE_SECONDS", 0.5)
    monkeypatch.setattr(dask_tasks, "CLUSTER_TIMEOUT_SECONDS", 300.0)
    monkeypatch.setattr(dask_cluster, "ask_partitions", partial(die_once, str(tmp_path)))
    model, X, y, beside = problem(case)
    with processes.as_current():
        model.fit(**chunked(5, X, y, beside))
    assert sorted(os.listdir(tmp_path)) == ["arms", "trees"]
    assert_same(model, local_model(case))


def test_a_score_is_that_of_all_rows(many, tmp_path):
    """It does not depend on how rows are divided, and is near that of new rows."""
    model, X, y, beside = problem("two classes")
    model.fit(**in_file(tmp_path / "rows.parquet", X, y, beside))
    accuracy = np.mean(model.predict(pd.DataFrame(X, columns=COLUMNS)) == y)
    assert_allclose(model.out_of_sample_score_, accuracy, atol=0.1)
