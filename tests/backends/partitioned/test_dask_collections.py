"""Dask collections: which can be fitted on, and what predictions for them are."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from fuselearn import MSSBoostClassifier, ShareBoostClassifier, compare

pytest.importorskip("distributed")
import dask
import dask.array as da
import dask.bag as bag
import dask.dataframe as dd

from tests.backends.partitioned.partition_problems import (
    FRAME,
    NUMBERED,
    VIEWS,
    X,
    assert_equal_models,
    in_chunks,
    make_rows,
    y,
)


def test_no_client(monkeypatch):
    def no_client():
        raise ValueError("No global client found and no address provided")

    # A cluster of other tests in this process would be found.
    monkeypatch.setattr("distributed.get_client", no_client)
    with pytest.raises(RuntimeError, match=r"no Dask client to run on\. Start one"):
        ShareBoostClassifier("stump", views=NUMBERED).fit(*in_chunks(2, X, y))


@pytest.mark.long
def test_data_frames(client):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=2, random_state=0)
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


@pytest.mark.long
def test_labels_and_weights_in_other_forms(client):
    """One weight for all rows, labels in lists, and labels in as many chunks as X, but other ones."""
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=1, random_state=0)
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
    with pytest.raises(ValueError, match=r"partition 1: y has missing labels; the first is .*, in row 2490 of"):
        ShareBoostClassifier("stump", views=VIEWS).fit(frame, dd.from_pandas(labels, npartitions=2))


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
    ],
)
def test_bad_input(settings, given, message, client):
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=2).set_params(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(*given())
    assert not hasattr(model, "classes_")


def test_types_that_differ_between_partitions(client):
    def half(part):
        return part.astype({"c1": "float32"}) if part.index[0] > 0 else part

    frame = dd.from_pandas(FRAME, npartitions=2).map_partitions(half, meta=FRAME.head(0))
    with pytest.raises(ValueError, match=r"partition 1: the column 'c1' of X is float32 there, but .* float64"):
        ShareBoostClassifier("stump", views=VIEWS).fit(frame, dd.from_pandas(pd.Series(y), npartitions=2))


def test_joblib_on_dask(client):
    table, target, _, _ = make_rows(80)
    table = np.nan_to_num(table)
    methods = {"shared": ShareBoostClassifier("stump", n_estimators=2)}
    settings = {"views": NUMBERED, "methods": methods, "runs": 2, "random_state": 0}
    here = compare(table, target, **settings)
    labels = np.column_stack([table[:, 0] > 0, table[:, 4] > 0, table[:, 6] > 0.5]).astype(int)
    pool = MSSBoostClassifier(n_estimators=2, feature_ratio=0.5, random_state=0)
    alone = pool.fit(table, labels).decision_function(table)
    with joblib.parallel_config("dask", n_jobs=2):
        there = compare(table, target, n_jobs=2, **settings)
        together = pool.set_params(n_jobs=2).fit(table, labels).decision_function(table)
    for ours, theirs in zip(here.scores, there.scores):
        assert_array_equal(ours, theirs)
    assert_allclose(together, alone, rtol=0, atol=1e-12)
