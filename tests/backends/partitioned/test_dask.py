"""Fits on a Dask cluster equal those in memory, whatever is lost on the way."""

import gc
import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from fuselearn import IndependentBoostClassifier, MSSBoostClassifier, ShareBoostClassifier, compare
from fuselearn.boosting import base
from fuselearn.learners import Stump, Tree

pytest.importorskip("distributed")
import dask
import dask.array as da
import dask.bag as bag
import dask.dataframe as dd
import joblib
from distributed import Client, LocalCluster
from distributed.core import Status

from fuselearn.backends.partitioned import dask_cluster as dask_crew
from fuselearn.backends.partitioned import dask_cluster as dask_workers
from fuselearn.backends.partitioned import dask_worker
from fuselearn.backends.partitioned.placement import fair_counts, shares, surplus

VIEWS = {"a": ["c0", "c1", "c2"], "b": ["c3", "c4", "c5"], "c": ["c6", "c7"]}
NUMBERED = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7]}
FLOATS = ("estimator_weights_", "estimator_errors_", "arm_errors_", "class_prior_", "view_importances_")


def make_rows(n=5000, n_classes=2, seed=0):
    """Three views, some of them missing, with a column of few values, one that is mostly zero, and gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    X[:, 2] = rng.integers(0, 6, n)
    X[:, 5] = np.where(rng.random(n) < 0.97, 0, X[:, 5])
    cuts = np.linspace(-1.5, 1.5, n_classes + 1)[1:-1]
    y = np.array(["no", "perhaps", "yes"][:n_classes])[
        np.digitize(X[:, 0] + X[:, 4] + 0.5 * X[:, 6] + rng.normal(size=n), cuts)
    ]
    X[rng.random((n, 8)) < 0.02] = np.nan
    X[rng.random(n) < 0.2, 3:6] = np.nan
    X[rng.random(n) < 0.2, 6:] = np.nan
    X[np.isnan(X[:, :3]).all(axis=1), 0] = 0.0
    weights = rng.random(n)
    weights[rng.random(n) < 0.1] = 0
    return X, y, weights, rng


X, y, weights, _ = make_rows()
FRAME = pd.DataFrame(X, columns=[f"c{number}" for number in range(8)])


@pytest.fixture(scope="module")
def client():
    """Three workers in this process."""
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def processes():
    """Three workers in processes of their own, which can be killed."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def in_chunks(n_parts, *arrays):
    """Dask arrays of so many chunks, of different lengths."""
    cuts = np.unique(np.linspace(0, 1, n_parts + 1) ** 1.5 * len(arrays[0])).astype(int)
    lengths = tuple(np.diff(cuts).tolist())
    return [da.from_array(array, chunks=(lengths, *array.shape[1:])) for array in arrays]


def assert_equal_models(one, other, *, exact):
    """All that a fit says is the same: bit for bit, or floats within 1e-9 and all else bit for bit."""
    assert one.n_iter_ == other.n_iter_
    assert_array_equal(one.classes_, other.classes_)
    assert_array_equal(one.winning_arms_, other.winning_arms_)
    assert_array_equal(one.winning_views_, other.winning_views_)
    for name in FLOATS:
        values = getattr(one, name), getattr(other, name)
        assert_allclose(*values, rtol=0, atol=0 if exact else 1e-9, err_msg=name)
    if one.arm_probabilities_ is None:
        assert other.arm_probabilities_ is None
    else:
        assert_allclose(one.arm_probabilities_, other.arm_probabilities_, rtol=0, atol=0 if exact else 1e-9)
    assert one.trace_.one_label_column == other.trace_.one_label_column
    assert one.trace_.equal_weights == other.trace_.equal_weights
    assert one.n_samples_fit_ == other.n_samples_fit_
    for ours, theirs in zip(one.estimators_, other.estimators_):
        assert (ours is None) == (theirs is None)
        for name, value in vars(ours).items() if ours is not None else ():
            if isinstance(value, np.ndarray):
                discrete = value.dtype.kind != "f" or name == "threshold"
                # Quadratic forms are as large as one over the least variance.
                assert_allclose(
                    value, getattr(theirs, name), rtol=0 if exact or discrete else 1e-9, atol=0, err_msg=name
                )


def assert_nothing_is_held():
    """The workers of this process let go of a run once its client does, though not at once."""
    end = time.monotonic() + 20
    while dask_worker.RUNS and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert not dask_worker.RUNS


CASES = {
    "naive Bayes": (ShareBoostClassifier(), 2, {}),
    "naive Bayes of three classes": (ShareBoostClassifier(), 3, {"sample_weight", "view_labels"}),
    "stumps": (ShareBoostClassifier("stump"), 2, {"sample_weight"}),
    "stumps of three classes": (ShareBoostClassifier(["stump", Stump("gini", max_bins=16)]), 3, {"view_labels"}),
    "trees": (ShareBoostClassifier(Tree(max_depth=3, impurity_tolerance=0)), 3, {}),
    "linear": (ShareBoostClassifier("linear"), 2, {}),
    "bandit": (ShareBoostClassifier(["stump", "gaussian_nb"], view_policy="exp3p"), 2, {}),
    "round robin": (ShareBoostClassifier("tree", view_policy="round_robin", learning_rate=0.5), 2, {"view_labels"}),
    "independent": (IndependentBoostClassifier("stump"), 2, {"sample_weight"}),
    "independent naive Bayes": (IndependentBoostClassifier(), 3, {}),
}


def test_no_client():
    # The first test here: the others have one.
    with pytest.raises(RuntimeError, match=r"no Dask client to run on\. Start one"):
        ShareBoostClassifier("stump", views=NUMBERED).fit(*in_chunks(2, X, y))


@pytest.mark.parametrize("case", CASES)
def test_a_cluster_gives_the_local_model(case, client):
    model, n_classes, said = CASES[case]
    model.set_params(views=NUMBERED, n_estimators=8, random_state=5)
    X, y, weights, rng = make_rows(n_classes=n_classes)
    view_labels = np.column_stack([np.where(rng.random(len(y)) < 0.1, rng.permutation(y), y) for _ in range(3)])
    beside = {"sample_weight": weights, "view_labels": view_labels}
    beside = {name: values for name, values in beside.items() if name in said}
    local = pickle.loads(pickle.dumps(model.fit(X, y, **beside)))
    before = None
    for n_parts in (1, 5):
        chunks = in_chunks(n_parts, X, y, *beside.values())
        now = pickle.loads(pickle.dumps(model.fit(*chunks[:2], **dict(zip(beside, chunks[2:])))))
        assert_equal_models(now, local, exact=False)
        assert_allclose(now.decision_function(X), local.decision_function(X), rtol=0, atol=1e-9)
        if before is not None:
            # Sums of weights are exact, so the votes do not depend on the partitions at all.
            assert_array_equal(now.estimator_weights_, before.estimator_weights_)
            trees = not any(name in case for name in ("Bayes", "linear", "bandit"))
            assert_equal_models(now, before, exact=trees)
        before = now
    assert_nothing_is_held()


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_partitions_and_workers_do_not_matter(n_workers, client, monkeypatch):
    look = dask_workers.Workers.look

    def some(self):
        look(self)
        self.threads = dict(sorted(self.threads.items())[:n_workers])
        self._running &= set(self.threads)
        return set(self.threads)

    monkeypatch.setattr(dask_workers.Workers, "look", some)
    model = ShareBoostClassifier(
        Tree(max_depth=2, impurity_tolerance=0), views=NUMBERED, n_estimators=2, random_state=0
    )
    local = pickle.loads(pickle.dumps(model.fit(X, y)))
    first = pickle.loads(pickle.dumps(model.fit(*in_chunks(1, X, y))))
    assert_equal_models(first, local, exact=False)
    for n_parts in (2, 3, 7, 16):
        assert_equal_models(model.fit(*in_chunks(n_parts, X, y)), first, exact=True)


def test_data_frames(client):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=4, random_state=0)
    local = pickle.loads(pickle.dumps(model.fit(FRAME, y)))
    frame = FRAME.assign(target=y, number=(y == "no").astype(int))
    known = dd.from_pandas(frame, npartitions=4)
    unknown = known.clear_divisions()
    assert not unknown.known_divisions
    features = list(FRAME.columns)
    persisted = known.persist()
    for collection in (known, unknown, persisted):
        there = model.fit(collection[features], collection["target"])
        assert_equal_models(there, local, exact=False)
        assert_array_equal(there.feature_names_in_, features)
    # Labels as an array, of known and of unknown chunks, and in memory.
    assert_equal_models(model.fit(known[features], da.from_array(y, chunks=777)), local, exact=False)
    numbers = known["number"].to_dask_array()
    assert np.isnan(numbers.chunks[0]).all()
    there = model.fit(known[features], numbers)
    assert_array_equal(there.estimator_weights_, model.fit(known[features], known["target"]).estimator_weights_)
    assert_equal_models(model.fit(known[features], y), local, exact=False)
    # Columns of an array in several chunks; an empty partition.
    assert_equal_models(
        model.set_params(views=NUMBERED).fit(da.from_array(X, chunks=(900, 3)), da.from_array(y, chunks=1000)),
        local,
        exact=False,
    )
    empty = known[known["c0"].isna() | (known["c0"] > -99)].partitions[[0, 1, 2, 3]]
    nothing = dd.concat([empty.partitions[[0]].loc[[]], empty], interleave_partitions=False)
    assert_equal_models(model.fit(nothing[features], nothing["target"]), local, exact=False)


def test_predictions_stay_lazy(client):
    for n_classes in (2, 3):
        table, target, _, _ = make_rows(700, n_classes)
        model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=4).fit(table, target)
        [chunks] = in_chunks(3, table)
        frame = dd.from_pandas(pd.DataFrame(table, columns=list("abcdefgh")), npartitions=3)
        model_of_frames = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=4).fit(frame.compute(), target)
        for method in ("predict", "predict_proba", "decision_function"):
            expected = getattr(model, method)(table)
            lazy = getattr(model, method)(chunks)
            assert isinstance(lazy, da.Array)
            assert lazy.dtype == expected.dtype
            assert lazy.shape == expected.shape
            assert_array_equal(lazy.compute(), expected)
            lazy = getattr(model_of_frames, method)(frame)
            assert isinstance(lazy, dd.DataFrame if expected.ndim == 2 else dd.Series)
            computed = lazy.compute()
            assert_array_equal(computed.to_numpy(), expected)
            assert_array_equal(computed.index, np.arange(700))


def test_predictions_have_the_index_of_the_rows(client):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=3).fit(FRAME, y)
    dated = FRAME.set_index(pd.date_range("2020-01-01", periods=len(FRAME), freq="h", name="hour"))
    for method in ("predict", "predict_proba"):
        lazy = getattr(model, method)(dd.from_pandas(dated, npartitions=2))
        assert lazy.index.dtype == dated.index.dtype
        assert lazy.index.name == "hour"
        assert len(lazy.loc["2020-01-02":"2020-01-03"].compute()) == 48


def test_other_columns_are_refused_before_anything_is_computed(client):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=2).fit(FRAME, y)
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(ValueError, match="feature names should match"):
            getattr(model, method)(dd.from_pandas(FRAME[FRAME.columns[::-1]], npartitions=2))
        with pytest.raises(ValueError, match=r"feature names should match|is expecting 8 features"):
            getattr(model, method)(dd.from_pandas(FRAME[["c0", "c1"]], npartitions=2))
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 7 features, .* is expecting 8"):
        model.predict(da.from_array(X[:, :7], chunks=(500, 7)))


def test_what_is_said_of_rows_in_other_forms(client):
    """One weight for all rows, labels in lists, and labels in as many chunks as X, but other ones."""
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=2, random_state=0)
    chunks = in_chunks(3, X, y)
    plain = model.fit(*chunks).estimator_weights_
    for one in (2.0, 3, np.float32(0.5), np.array(4.0)):
        assert_array_equal(model.fit(*chunks, sample_weight=one).estimator_weights_, plain)
    with pytest.raises(ValueError, match="sample_weight must be above 0 where one is given for all rows; got -1"):
        model.fit(*chunks, sample_weight=-1)
    labels = np.column_stack([y, y, y]).tolist()
    assert_array_equal(model.fit(*chunks, view_labels=labels).estimator_weights_, plain)
    frame = dd.from_pandas(FRAME, npartitions=4)
    assert len(frame.divisions) == 5
    other = da.from_array(y, chunks=((300, 700, 2000, 2000),))
    assert_array_equal(model.set_params(views=VIEWS).fit(frame, other).estimator_weights_, plain)
    for odd, name in ((bag.from_sequence([1, 2]), "Bag"), (dask.delayed(X), "Delayed")):
        with pytest.raises(TypeError, match=f"X must be a Dask Array or DataFrame; got a {name}"):
            model.fit(odd, other)
        with pytest.raises(TypeError, match=f"X must be a Dask Array or DataFrame; got a {name}"):
            model.predict(odd)


@pytest.mark.parametrize("kind", ["boolean", "string", "category", "object"])
def test_missing_labels(kind, client):
    labels = pd.Series(y == "no" if kind == "boolean" else y).astype(kind)
    labels[4990] = None
    frame = dd.from_pandas(FRAME, npartitions=2)
    with pytest.raises(ValueError, match=r"partition 1: y has missing labels, the first, .*, in row 2490 there"):
        ShareBoostClassifier("stump", views=VIEWS).fit(frame, dd.from_pandas(labels, npartitions=2))


def test_a_warm_start_and_a_checkpoint(client, tmp_path, monkeypatch):
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=9, random_state=0)
    chunks = in_chunks(3, X, y)
    whole = pickle.loads(pickle.dumps(model.fit(*chunks)))
    warm = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=4, random_state=0, warm_start=True).fit(*chunks)
    assert_equal_models(warm.set_params(n_estimators=9).fit(*chunks), whole, exact=True)
    assert warm.trace_.one_data_set
    original = base.boost

    def stopped(rows, one_round, trace, n_rounds, report):
        original(rows, one_round, trace, 5, report)
        raise MemoryError

    monkeypatch.setattr(base, "boost", stopped)
    with pytest.raises(MemoryError):
        model.fit(*chunks, checkpoint=tmp_path / "log")
    assert_nothing_is_held()
    monkeypatch.setattr(base, "boost", original)
    # Also when the partitions are others by then.
    assert_equal_models(model.fit(*in_chunks(4, X, y), checkpoint=tmp_path / "log"), whole, exact=True)
    with pytest.raises(ValueError, match="is the log of another run: content of X was"):
        model.fit(*in_chunks(3, X[::-1], y), checkpoint=tmp_path / "log")


def without_view(table):
    table = table.copy()
    table[:, 3:6] = np.nan
    return table


def nothing_in_row(table, number):
    table = table.copy()
    table[number] = np.nan
    return table


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, lambda: (in_chunks(3, without_view(X))[0], in_chunks(3, y)[0]), "view 'b' is absent .* in every row"),
        ({}, lambda: in_chunks(3, nothing_in_row(X, 4321), y), "Every view is absent .* the first being row 4321"),
        ({}, lambda: (in_chunks(3, X)[0], in_chunks(3, y[:-1])[0]), "X has 5000 rows and y has 4999"),
        (
            {},
            lambda: (dd.from_pandas(FRAME, npartitions=4), dd.from_pandas(pd.Series(y), npartitions=3)),
            "y has 3 part",
        ),
        (
            {},
            lambda: (
                dd.from_pandas(FRAME, npartitions=2),
                dd.from_pandas(pd.Series(y, index=-np.arange(5000)[::-1]), npartitions=2),
            ),
            r"partition \d: y has another index than X",
        ),
        ({}, lambda: in_chunks(3, X, np.full(5000, "same")), "at least two classes"),
        ({}, lambda: in_chunks(2, np.where(X > 2.5, np.inf, X), y), r"partition \d: .*infinity"),
        (
            {"preprocess": PCA(1)},
            lambda: in_chunks(2, X, y),
            "preprocess has a transformer .* transform the columns before",
        ),
        (
            {"estimator": LogisticRegression()},
            lambda: in_chunks(2, X, y),
            "has to see all rows at once .* use 'gaussian_nb'",
        ),
        ({"resample": True}, lambda: in_chunks(2, X, y), "resample=True draws .* use resample=False"),
    ],
)
def test_bad_input(settings, given, message, client):
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=2).set_params(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(*given())
    assert not hasattr(model, "classes_")


def test_kinds_that_differ_between_partitions(client):
    def half(part):
        return part.astype({"c1": "float32"}) if part.index[0] > 0 else part

    frame = dd.from_pandas(FRAME, npartitions=2).map_partitions(half, meta=FRAME.head(0))
    with pytest.raises(ValueError, match="partition 1: the column 'c1' of X is float32 there, and float64"):
        ShareBoostClassifier("stump", views=VIEWS).fit(frame, dd.from_pandas(pd.Series(y), npartitions=2))


class Killer:
    """Kills workers once the fit has come to given rounds."""

    def __init__(self, client, rounds):
        self.client, self.rounds, self.killed = client, list(rounds), []

    def __call__(self, n_rounds):
        if self.rounds and n_rounds >= self.rounds[0]:
            self.rounds.pop(0)
            # One that holds parts, and is not a newcomer.
            addresses = sorted(self.client.run(holds_parts).items())
            victim = next(address for address, holds in addresses if holds and address not in self.killed)
            self.killed.append(victim)
            pid = self.client.run(os.getpid, workers=[victim])[victim]
            os.kill(pid, signal.SIGKILL)


def holds_parts():
    return len(dask_worker.RUNS) > 0


def after_round(number, act, monkeypatch):
    """Let something be done once, after a round of the next fit."""
    original = base.BaseBoost._report

    def report(self, trace):
        original(self, trace)
        if len(trace) == number:
            act()

    monkeypatch.setattr(base.BaseBoost, "_report", report)


def spill(dask_worker):
    """Write all of Dask's data to disk, as it does when memory is short."""
    times = 0
    while dask_worker.data.fast and times < 100:
        dask_worker.data.evict()
        times += 1
    return times


def test_what_dask_writes_to_disk_are_not_the_parts(client, monkeypatch):
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=3, random_state=0)
    chunks = in_chunks(4, X, y)
    undisturbed = pickle.loads(pickle.dumps(model.fit(*chunks)))
    loaded, spilled = [], []
    original = dask_crew.DaskCrew._load
    monkeypatch.setattr(
        dask_crew.DaskCrew, "_load", lambda self, numbers: (loaded.extend(numbers), original(self, numbers))
    )
    after_round(1, lambda: spilled.extend(client.run(spill).values()), monkeypatch)
    assert_equal_models(model.fit(*chunks), undisturbed, exact=True)
    assert sum(spilled) > 0
    assert sorted(loaded) == [0, 1, 2, 3]
    assert_nothing_is_held()


def test_a_client_that_is_lost_leaves_nothing_behind(client, monkeypatch):
    monkeypatch.setattr(dask_crew.DaskCrew, "close", lambda self: crews.append(self))
    crews = []
    with Client(client.cluster, set_as_default=False) as other, other.as_current():
        ShareBoostClassifier("stump", views=NUMBERED, n_estimators=2).fit(*in_chunks(3, X, y))
        assert sum(len(run.parts) for run in dask_worker.RUNS.values()) == 3
    assert_nothing_is_held()


def set_status(status, dask_worker):
    dask_worker.status = Status[status]


@pytest.mark.parametrize("others", [True, False])
def test_a_paused_worker_is_not_waited_for_in_vain(others, client, monkeypatch):
    """Dask pauses a worker whose memory is nearly full."""
    monkeypatch.setattr(dask_crew, "PATIENCE", 0.1)
    monkeypatch.setattr(dask_workers, "PAUSED_TOO_LONG", 0.5)
    monkeypatch.setattr(dask_workers, "WAIT_FOR_WORKERS", 1.0)
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=3, random_state=0)
    chunks = in_chunks(4, X, y)
    undisturbed = pickle.loads(pickle.dumps(model.fit(*chunks)))
    victims = sorted(client.nthreads())[: 1 if others else None]
    after_round(1, lambda: client.run(set_status, "paused", workers=victims), monkeypatch)
    try:
        # Its own look at the memory would wake it up.
        client.run(lambda dask_worker: dask_worker.periodic_callbacks["memory_monitor"].stop())
        if others:
            assert_equal_models(model.fit(*chunks), undisturbed, exact=True)
        else:
            with pytest.raises(RuntimeError, match=r"were paused for too long, since the rows fill their memory \(th"):
                model.fit(*chunks)
    finally:
        client.run(set_status, "running", workers=victims)
        client.run(lambda dask_worker: dask_worker.periodic_callbacks["memory_monitor"].start())
    assert_nothing_is_held()


@pytest.mark.parametrize(("n_workers", "threads", "n_parts"), [(10, 1, 14), (100, 1, 149), (20, 4, 88), (10, 1, 4)])
def test_parts_are_shared_out_evenly(n_workers, threads, n_parts):
    workers = {f"w{number:03}": threads for number in range(n_workers)}
    dealt = shares(range(n_parts), workers, {})
    assert sorted(number for share in dealt.values() for number in share) == list(range(n_parts))
    sizes = [len(dealt.get(address, [])) for address in workers]
    assert max(sizes) == -(-n_parts // n_workers)
    assert max(sizes) - min(sizes) <= 1
    assert all(share == list(range(share[0], share[-1] + 1)) for share in dealt.values())


def test_parts_go_where_there_are_threads():
    assert fair_counts(4, {"large": 8, "small": 1}) == {"large": 4, "small": 0}
    assert fair_counts(18, {"large": 8, "small": 1}) == {"large": 16, "small": 2}
    # A worker that holds more than its share gets nothing, and the rest is dealt evenly.
    assert shares([7, 8, 9], {"a": 1, "b": 1, "c": 1}, {"a": 5}) == {"b": [7, 8], "c": [9]}


@pytest.mark.parametrize("seed", range(20))
def test_parts_do_not_move_without_need(seed):
    """What was dealt out stays, until workers come; then as few move as must, and none moves back."""
    rng = np.random.default_rng(seed)
    workers = {f"w{number}": int(rng.integers(1, 9)) for number in range(rng.integers(1, 7))}
    homes = {}

    def settle(numbers):
        held = {address: list(homes.values()).count(address) for address in workers}
        homes.update((one, address) for address, share in shares(numbers, workers, held).items() for one in share)

    settle(range(int(rng.integers(1, 60))))
    assert surplus(homes, workers) == []
    workers["new"] = int(rng.integers(1, 9))
    before = dict(homes)
    moved = surplus(homes, workers)
    for number in moved:
        del homes[number]
    settle(moved)
    assert all(homes[number] == "new" for number in moved)
    assert {number: home for number, home in before.items() if number not in moved}.items() <= homes.items()
    assert surplus(homes, workers) == []
    busiest = max(list(homes.values()).count(address) / n_threads for address, n_threads in workers.items())
    fair = fair_counts(len(homes), workers)
    assert busiest == max(fair[address] / n_threads for address, n_threads in workers.items())


class Done:
    status = "finished"


class FakeClient:
    """Has tasks done at once."""

    def compute(self, tasks, **options):
        return tasks

    def submit(self, function, *arguments, **options):
        return Done()


def test_a_worker_whose_share_is_loaded_may_be_lost(monkeypatch):
    crew = dask_crew.DaskCrew.__new__(dask_crew.DaskCrew)
    crew._client, crew._workers = FakeClient(), dask_workers.Workers(None)
    crew._run, crew._plan_book, crew._homes, crew._kept = "run", None, {}, {}
    crew._n_loaded = iter(range(100))
    crew._raw_parts = lambda: list(range(8))
    crew._workers.threads = {"A": 1, "B": 1}
    monkeypatch.setattr(crew, "_shares", lambda numbers: {"A": [0, 1], "B": [2, 3, 4, 5, 6, 7]})

    def wait(sent):
        crew._workers.threads = {"B": 1}
        return set()

    monkeypatch.setattr(crew, "_wait", wait)
    crew._load(range(8))
    assert crew._homes == {number: "A" if number < 2 else "B" for number in range(8)}


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
@pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed")
@pytest.mark.parametrize("estimator", ["gaussian_nb"])
def test_killed_workers_change_nothing(estimator, processes, monkeypatch):
    monkeypatch.setattr(dask_crew, "PATIENCE", 0.2)
    monkeypatch.setattr(dask_crew, "LOOK_FOR_WORKERS", 0.5)
    model = ShareBoostClassifier(estimator, views=NUMBERED, n_estimators=12, random_state=0)
    with processes.as_current():
        chunks = in_chunks(7, X, y)
        undisturbed = pickle.loads(pickle.dumps(model.fit(*chunks)))
        killer = Killer(processes, [3, 6])
        original = base.BaseBoost._report

        def report(self, trace):
            original(self, trace)
            killer(len(trace))

        monkeypatch.setattr(base.BaseBoost, "_report", report)
        survived = model.fit(*chunks)
    assert len(killer.killed) == 2
    assert_equal_models(survived, undisturbed, exact=True)


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
@pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed")
def test_a_worker_that_dies_at_work(processes, monkeypatch):
    """It is killed while a task runs on it, not between two."""
    monkeypatch.setattr(dask_crew, "PATIENCE", 0.2)
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=12, random_state=0)
    with processes.as_current():
        chunks = in_chunks(4, X, y)
        undisturbed = pickle.loads(pickle.dumps(model.fit(*chunks)))
        pids = processes.run(os.getpid)
        killer = threading.Timer(0.5, os.kill, (sorted(pids.values())[0], signal.SIGKILL))
        killer.start()
        survived = pickle.loads(pickle.dumps(model.fit(*chunks)))
        killer.join()
    assert_equal_models(survived, undisturbed, exact=True)


def test_joblib_on_dask(client):
    table, target, _, _ = make_rows(120)
    table = np.nan_to_num(table)
    methods = {"shared": ShareBoostClassifier("stump", n_estimators=5)}
    settings = {"views": NUMBERED, "methods": methods, "runs": 2, "random_state": 0}
    here = compare(table, target, **settings)
    labels = np.column_stack([table[:, 0] > 0, table[:, 4] > 0, table[:, 6] > 0.5]).astype(int)
    pool = MSSBoostClassifier(n_estimators=4, feature_ratio=0.5, random_state=0)
    alone = pool.fit(table, labels).decision_function(table)
    with joblib.parallel_config("dask", n_jobs=2):
        there = compare(table, target, n_jobs=2, **settings)
        together = pool.set_params(n_jobs=2).fit(table, labels).decision_function(table)
    for ours, theirs in zip(here.scores, there.scores):
        assert_array_equal(ours, theirs)
    assert_allclose(together, alone, rtol=0, atol=1e-12)
