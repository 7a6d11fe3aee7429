"""Fits on Parquet files equal those in memory, and keep to the memory they are given."""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.backends.partitioned import parquet
from fuselearn.bandits import Exp3P
from fuselearn.learners import Stump, Tree

VIEWS = {"a": ["c0", "c1"], "b": slice("c2", "c4")}


def make_frame(n=9000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 5)), columns=[f"c{number}" for number in range(5)])
    frame["target"] = np.where(frame["c0"] + frame["c3"] + rng.normal(size=n) > 0, "yes", "no")
    frame["weight"] = rng.random(n)
    frame["first"] = np.where(rng.random(n) < 0.1, "yes", frame["target"])
    frame["second"] = np.where(rng.random(n) < 0.1, "no", frame["target"])
    frame.loc[rng.random(n) < 0.2, ["c2", "c3", "c4"]] = np.nan
    return frame


FRAME = make_frame()
FEATURES = [f"c{number}" for number in range(5)]


@pytest.fixture
def paths(tmp_path):
    """Three files of different lengths."""
    cuts = [0, 2000, 2001, len(FRAME)]
    for number, (start, stop) in enumerate(pairwise(cuts)):
        FRAME.iloc[start:stop].to_parquet(tmp_path / f"part{number}.parquet")
    return [str(tmp_path / f"part{number}.parquet") for number in range(3)]


def fitted(model, *arguments, **options):
    return pickle.loads(pickle.dumps(model.fit(*arguments, **options)))


CASES = {
    "naive Bayes": ShareBoostClassifier(),
    "stumps": ShareBoostClassifier("stump"),
    "trees": ShareBoostClassifier(Tree(max_depth=2), view_policy="exp3p"),
    "independent": IndependentBoostClassifier(["stump", "linear"]),
    "BSSD": ShareBoostClassifier(["stump", "gaussian_nb"], resample=True),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("n_jobs", "limit"),
    [(2, "1 MiB"), *(pytest.param(*p, marks=pytest.mark.long) for p in ((1, "1 MiB"), (1, "4 GiB"), (2, "4 GiB")))],
)
@pytest.mark.parametrize("case", CASES)
def test_files_give_the_model_of_memory(case, n_jobs, limit, paths, monkeypatch, tmp_path):
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", limit)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    model = clone(CASES[case]).set_params(views=VIEWS, n_estimators=4, random_state=0, n_jobs=n_jobs)
    columns = {"sample_weight": "weight", "view_labels": ["first", "second"]}
    local = fitted(
        model,
        FRAME[FEATURES],
        FRAME["target"],
        sample_weight=FRAME["weight"],
        view_labels=FRAME[["first", "second"]].to_numpy(),
    )
    there = fitted(model, paths, "target", **columns)
    assert_array_equal(there.winning_arms_, local.winning_arms_)
    assert_array_equal(there.feature_names_in_, local.feature_names_in_)
    for name in ("estimator_weights_", "estimator_errors_", "arm_errors_", "class_prior_"):
        assert_allclose(getattr(there, name), getattr(local, name), rtol=0, atol=1e-9, err_msg=name)
    assert_allclose(
        there.decision_function(FRAME[FEATURES]), local.decision_function(FRAME[FEATURES]), rtol=0, atol=1e-9
    )
    assert not list(tmp_path.glob("fuselearn-*"))


def test_the_limit_says_where_rows_are_kept(paths, monkeypatch, tmp_path):
    features = FRAME[[*FEATURES, "target"]]
    features.to_parquet(tmp_path / "all.parquet")
    kept = []
    original = parquet.ArrayStore.move_to

    def noted(self, folder):
        original(self, folder)
        kept.append(Path(folder))

    monkeypatch.setattr(parquet.ArrayStore, "move_to", noted)
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=2, random_state=0)
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", "100MB")
    in_memory = fitted(model, tmp_path / "all.parquet", "target")
    assert not kept
    monkeypatch.setattr(parquet, "memory_limit", lambda: 2**18)
    on_disk = fitted(model, tmp_path / "all.parquet", "target")
    assert len(kept) > 1
    assert not any(folder.exists() for folder in kept)
    assert_array_equal(on_disk.estimator_weights_, in_memory.estimator_weights_)


def stores_of(monkeypatch):
    """Return a list that the stores of the next fits are added to."""
    made = []
    original = parquet.ArrayStore.__init__

    def noted(self, folder=None):
        original(self, folder)
        made.append(self)

    monkeypatch.setattr(parquet.ArrayStore, "__init__", noted)
    return made


@pytest.mark.long
def test_the_first_rows_do_not_speak_for_all(tmp_path, monkeypatch):
    """A wide view is absent in the first rows: they take little room."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20_000, 42))
    target = (table[:, 0] + table[:, 5] > 0).astype(int)
    table[:8192, 2:] = np.nan
    frame = pd.DataFrame(table, columns=[f"c{number}" for number in range(42)]).assign(target=target)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=4096)
    made = stores_of(monkeypatch)
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", "2 MiB")
    model = ShareBoostClassifier("gaussian_nb", views=[[0, 1], slice(2, 42)], n_estimators=2)
    there = fitted(model, tmp_path / "rows.parquet", "target")
    assert len(made) > 10
    assert sum(store.n_bytes for store in made) == 0
    local = model.fit(frame.drop(columns="target"), target)
    assert_allclose(there.estimator_weights_, local.estimator_weights_, rtol=0, atol=1e-9)


@pytest.mark.long
def test_outcomes_count_as_memory(tmp_path, monkeypatch):
    """Of 24 views with a column each, outcomes take as much as the bins."""
    monkeypatch.setattr(parquet, "PARTITIONS_OF_LIMIT", 4)  # fewer partitions take less time
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(10_000, 24)), columns=[f"c{number}" for number in range(24)])
    frame.assign(target=(frame["c0"] > 0).astype(int)).to_parquet(tmp_path / "rows.parquet")
    made = stores_of(monkeypatch)
    model = ShareBoostClassifier("stump", views=[[number] for number in range(24)], n_estimators=1)
    for limit in (1_250_000, 2_000_000):
        made.clear()
        monkeypatch.setattr(parquet, "memory_limit", lambda limit=limit: limit)
        model.fit(tmp_path / "rows.parquet", "target")
        kept = sum(store.n_bytes for store in made)
        assert kept <= parquet.SHARE_IN_MEMORY * limit
        assert (kept > 0) == (limit == 2_000_000)


@pytest.mark.long
def test_wide_rows_are_read_few_at_a_time(tmp_path, monkeypatch):
    columns = [f"c{number}" for number in range(3000)]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(700, 3000)), columns=columns)
    frame.assign(target=(frame["c0"] > 0).astype(int)).to_parquet(tmp_path / "wide.parquet")
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", "128 MiB")
    source = parquet.ParquetSource(tmp_path / "wide.parquet", "target")
    sizes = source.map(lambda raw: raw.table.nbytes)
    assert max(sizes) <= 8 * 2**20
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", "64 MiB")
    with pytest.raises(ValueError, match=r"Rows of 3000 columns need a memory limit of at least 94 MiB.*it is 64 MiB"):
        parquet.ParquetSource(tmp_path / "wide.parquet", "target")


def test_the_index_of_a_data_frame_is_no_feature(tmp_path):
    frame = FRAME[[*FEATURES, "target"]].sort_values("target")  # so that the index is written
    model = ShareBoostClassifier("stump", n_estimators=3)
    for index in (frame.index, frame.index.rename("number")):
        frame.set_index(index).to_parquet(tmp_path / "rows.parquet")
        assert model.fit(tmp_path / "rows.parquet", "target").feature_names_in_.tolist() == FEATURES


def test_columns_chosen_by_scikit_learn(paths):
    views = {"a": make_column_selector("c[01]"), "b": make_column_selector("c[234]", dtype_include="number")}
    model = ShareBoostClassifier("stump", views=views, n_estimators=2)
    model.fit(paths, "target", "weight", ["first", "second"])
    assert [columns.tolist() for columns in model.view_columns_] == [[0, 1], [2, 3, 4]]


@pytest.mark.parametrize("estimator", ["stump", "tree", "gaussian_nb"])
def test_a_view_whose_rows_hardly_count(estimator, tmp_path):
    """Their weights are less than the unit of exact sums."""
    frame = FRAME[[*FEATURES, "target"]].assign(weight=1.0)
    frame.loc[:299, "weight"] = 1e-25
    frame.loc[300:, ["c2", "c3", "c4"]] = np.nan
    frame.loc[:299, ["c2", "c3", "c4"]] = 1.0
    frame.to_parquet(tmp_path / "rows.parquet")
    model = ShareBoostClassifier(estimator, views=VIEWS, n_estimators=3, random_state=0)
    there = fitted(model, tmp_path / "rows.parquet", "target", sample_weight="weight")
    local = model.fit(frame[FEATURES], frame["target"], sample_weight=frame["weight"])
    assert_array_equal(there.winning_arms_, local.winning_arms_)
    assert_allclose(there.estimator_weights_, local.estimator_weights_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["object", "category", "boolean", "Int64"])
def test_missing_labels(kind, tmp_path):
    numbers = (FRAME["target"] == "yes").astype(int)
    labels = FRAME["target"].astype(kind) if kind in ("object", "category") else numbers.astype(kind)
    labels[3] = None
    FRAME[FEATURES].assign(target=labels).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(
        ValueError, match=r"rows.parquet, rows from 0: .*(y has missing labels.* row 3|Input y contains)"
    ):
        ShareBoostClassifier("stump", views=VIEWS).fit(tmp_path / "rows.parquet", "target")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "nonsense"}, "estimator must be one of"),
        ({"estimator": {"a": "stump", "b": ["tree", "nonsense"]}}, "estimator must be one of"),
        ({"estimator": {"a": "stump"}}, "estimator has nothing for the view 'b'"),
        ({"estimator": LogisticRegression()}, "cannot be fitted on Parquet files"),
        ({"estimator": Stump(max_bins=1)}, "max_bins must be"),
        ({"view_policy": "nonsense"}, "view_policy must be"),
        ({"view_policy": Exp3P(gamma=7)}, "Exp3P's gamma must be"),
        ({"preprocess": {"b": PCA(1)}}, "preprocess has a transformer for the view 'b'"),
        ({"preprocess": {"c": PCA(1)}}, "preprocess names the view 'c'"),
    ],
)
def test_settings_are_checked_before_the_rows_are_read(settings, message, paths, monkeypatch):
    monkeypatch.setattr(parquet.ParquetSource, "_raw_partitions", None)  # it is not come to that
    model = ShareBoostClassifier("stump", views=VIEWS).set_params(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(paths, "target", "weight", ["first", "second"])


def test_predictions_take_no_paths(paths):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=2)
    model.fit(paths, "target", "weight", ["first", "second"])
    for predict in (model.predict, model.predict_proba, model.views_used, lambda path: model.score(path, "target")):
        for given in (paths[0], [paths[0]], Path(paths[0])):
            with pytest.raises(TypeError, match=r"X must hold rows; got the path .*part0.*read them first"):
                predict(given)


def test_a_checkpoint_of_files(paths, tmp_path):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=3, random_state=0)
    arguments = (paths, "target", "weight", ["first", "second"])
    model.fit(*arguments, checkpoint=tmp_path / "log")
    resumed = fitted(model.set_params(n_estimators=7), *arguments, checkpoint=tmp_path / "log")
    assert_array_equal(resumed.estimator_weights_, model.fit(*arguments).estimator_weights_)
    with pytest.raises(ValueError, match="is the log of another run: content of X was"):
        model.fit(paths[::-1], *arguments[1:], checkpoint=tmp_path / "log")


def test_a_folder_and_single_precision(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    single = FRAME[[*FEATURES, "target"]].astype(dict.fromkeys(FEATURES, "float32"))
    single.iloc[:5000].to_parquet(folder / "0.parquet")
    single.iloc[5000:].to_parquet(folder / "1.parquet")
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=3, random_state=0)
    there = fitted(model, folder, "target")
    assert_allclose(
        there.estimator_weights_, model.fit(single[FEATURES], single["target"]).estimator_weights_, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": "nowhere.parquet"}, FileNotFoundError, "there is no file"),
        ({"y": np.arange(3)}, TypeError, "y must be the name of a column when X is files"),
        ({"y": "nobody"}, ValueError, "y names the column 'nobody', which X does not have"),
        ({"sample_weight": [1, 2]}, TypeError, "sample_weight must be the name of a column"),
        ({"view_labels": "first"}, TypeError, "view_labels must be a list of names"),
        ({"view_labels": ["first", "second", "target"]}, ValueError, "a column for each of the views"),
        ({"view_labels": ["first"]}, ValueError, "the column 'second' is of type"),
        ({"sample_weight": "second"}, ValueError, "the column 'weight'|could not convert"),
        ({"y": "c0"}, ValueError, "the column 'target' is of type"),
    ],
)
def test_bad_arguments(arguments, error, message, paths):
    given = {"X": paths, "y": "target", "sample_weight": "weight", "view_labels": ["first", "second"]} | arguments
    with pytest.raises(error, match=message):
        ShareBoostClassifier("stump", views=VIEWS).fit(**given)


def test_files_that_are_not_alike(paths, tmp_path):
    model = ShareBoostClassifier("stump", views=VIEWS)
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(ValueError, match="cannot be read as a Parquet file"):
        model.fit([*paths, tmp_path / "text.parquet"], "target")
    FRAME.astype({"c1": "float32"}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match=r"the columns of .*other.parquet are not those of .*c1: float"):
        model.fit([*paths, tmp_path / "other.parquet"], "target")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="has no"):
        model.fit(tmp_path / "empty", "target")


SCRIPT = """
import json, sys
from pathlib import Path
from fuselearn import ShareBoostClassifier

def peak():
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])

model = ShareBoostClassifier("gaussian_nb", views=[slice(0, 10), slice(10, 20)], n_estimators=2)
model.fit(sys.argv[1], "target")  # compiles the loops
Path("/proc/self/clear_refs").write_text("5")
before = peak()
model.fit(sys.argv[2], "target")
print(json.dumps(peak() - before))
"""


def write_rows(path, n_rows, row_group_size):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(n_rows, 20)), columns=[f"c{n}" for n in range(20)])
    frame.assign(target=(frame["c0"] > 0).astype(int)).to_parquet(path, row_group_size=row_group_size)


@pytest.mark.long
def test_arrays_stay_within_the_limit(tmp_path, monkeypatch):
    """Naive Bayes keeps 160 bytes a row, which would be 4.8 MB here."""
    write_rows(tmp_path / "small.parquet", 100, 100)
    write_rows(tmp_path / "rows.parquet", 30_000, 3_000)
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", "3 MiB")
    model = ShareBoostClassifier("gaussian_nb", views=[slice(0, 10), slice(10, 20)], n_estimators=2)
    model.fit(tmp_path / "small.parquet", "target")  # compiles the loops
    tracemalloc.start()
    try:
        model.fit(tmp_path / "rows.parquet", "target")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 2**19 < peak < 3 * 2**20


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the peak of memory is Linux's")
def test_memory_stays_within_the_limit(tmp_path):
    """Naive Bayes keeps 160 bytes a row, which would be 38 MB here."""
    for name, n_rows in (("small", 100), ("large", 240_000)):
        write_rows(tmp_path / f"{name}.parquet", n_rows, 12_000)
    command = [sys.executable, "-c", SCRIPT, tmp_path / "small.parquet", tmp_path / "large.parquet"]
    environment = os.environ | {"FUSELEARN_MEMORY_LIMIT": "24 MiB", "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    assert json.loads(done.stdout) < 24 * 2**20
