"""Gradient boosting on Parquet files gives the model of rows in memory, within little memory and few questions."""

import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.backends.partitioned import parquet
from fuselearn.backends.partitioned.partitions import LocalPartitions
from fuselearn.boosting.gradient import gradient_data
from fuselearn.boosting.gradient.gradient_arguments import read_classes, read_targets
from fuselearn.boosting.gradient.gradient_rows import NumberLeaves
from fuselearn.boosting.gradient.growth import _next_splits
from fuselearn.progress import listening
from tests.backends.partitioned.fit_arguments import COLUMNS, in_file
from tests.boosting.gradient.gradient_problems import (
    CASES,
    QUICK,
    VIEWS,
    assert_same,
    local_model,
    problem,
    rows,
)

pytest.importorskip("pyarrow")


@pytest.mark.parametrize("case", [pytest.param(c, marks=() if c in QUICK else pytest.mark.long) for c in CASES])
def test_files_give_the_local_model(case, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "MAX_ROWS", 700)
    model, X, y, beside = problem(case)
    made = []
    original = LocalPartitions.__init__
    monkeypatch.setattr(
        LocalPartitions, "__init__", lambda self, *given: (made.append(len(given[0])), original(self, *given))[1]
    )
    model.fit(**in_file(tmp_path / "rows.parquet", X, y, beside, row_group_size=500))
    assert made == [6]
    assert_same(model, local_model(case))


@pytest.mark.long
@pytest.mark.parametrize("limit", ["1 MiB", "64 MiB"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_neither_files_nor_threads_matter(limit, n_jobs, tmp_path, monkeypatch):
    """The lower limit keeps all arrays in files."""
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", limit)
    model, X, y, beside = problem("view labels")
    model.set_params(n_jobs=n_jobs).fit(**in_file(tmp_path / "rows.parquet", X, y, beside))
    assert_same(model, local_model("view labels"))


@pytest.mark.parametrize("case", ["view labels", "a quantile"])
def test_data_are_known_again_wherever_they_are(case, tmp_path):
    """A log of rows in memory is one of the same rows in files."""
    model, X, y, beside = problem(case)
    files = in_file(tmp_path / "rows.parquet", X, y, beside)
    prints = []
    for arguments in ({"X": X, "y": y, **beside}, files):
        given = [arguments.get(name) for name in ("sample_weight", "view_labels", "groups")]
        if case == "a quantile":
            data = read_targets(model, arguments["X"], arguments["y"], given[0], given[2], reset=True)
        else:
            data = read_classes(model, arguments["X"], arguments["y"], *given, reset=True)
        before = data.fingerprint()
        data.plan(255, 0.1, None, 7, None)
        prints.append((before, data.fingerprint()))
        assert before["rows held out"] != prints[-1][1]["rows held out"]
    assert prints[0] == prints[1]


def test_a_warm_start_on_files(tmp_path):
    model, X, y, beside = problem("three classes")
    arguments = in_file(tmp_path / "rows.parquet", X, y, beside)
    model.set_params(warm_start=True, n_estimators=2).fit(**arguments)
    model.set_params(n_estimators=3).fit(**arguments)
    assert_same(model, local_model("three classes"))


def test_a_log_of_files_is_one_of_rows_in_memory(tmp_path):
    model, X, y, beside = problem("early stopping")
    arguments = in_file(tmp_path / "rows.parquet", X, y, beside)
    model.set_params(n_estimators=2).fit(**arguments, checkpoint=tmp_path / "log")
    rounds = []
    with listening(lambda step: rounds.append(step)):
        model.set_params(n_estimators=3).fit(pd.DataFrame(X, columns=COLUMNS), y, **beside, checkpoint=tmp_path / "log")
    assert len(rounds) == 1
    assert_same(model, local_model("early stopping"))
    other = in_file(tmp_path / "others.parquet", X, y, {"sample_weight": beside["sample_weight"][::-1]})
    with pytest.raises(ValueError, match=r"the log of another run: (sample_weight|rows held out) was"):
        model.fit(**other, checkpoint=tmp_path / "log")


def chain(n_values=30, n_each=30):
    """Rows of a regression whose trees are chains: the largest value is always split off."""
    X = np.repeat(np.arange(n_values, dtype=float), n_each)[:, None]
    return X, 3.0 ** X[:, 0]


def counted_questions(monkeypatch):
    """Note the questions that are asked together, with the number of updates."""
    asked = []
    original = LocalPartitions.ask

    def ask(self, updates, questions):
        asked.append((len(updates), questions))
        return original(self, updates, questions)

    monkeypatch.setattr(LocalPartitions, "ask", ask)
    return asked


def test_a_tree_of_31_leaves_takes_at_most_ten_questions(tmp_path, monkeypatch):
    asked = counted_questions(monkeypatch)
    X, targets, _ = rows()
    chain_X, chain_y = chain()
    cases = [
        (ShareGradientBoostingClassifier(min_samples_leaf=5, early_stopping=True), X, targets["two"], 1),
        (ShareGradientBoostingClassifier(min_samples_leaf=5), X, targets["three"], 3),
        (ShareGradientBoostingClassifier(min_samples_leaf=5, views=VIEWS, trees="per_view"), X, targets["two"], 3),
        (ShareGradientBoostingRegressor(learning_rate=0.01), chain_X, chain_y, 1),
    ]
    for model, table, y, n_trees in cases:
        frame = pd.DataFrame(table, columns=COLUMNS[: table.shape[1]]).assign(target=y)
        frame.to_parquet(tmp_path / "rows.parquet")
        asked.clear()
        model.set_params(n_estimators=3, random_state=0).fit(tmp_path / "rows.parquet", "target")
        n_questions = np.bincount([n_updates for n_updates, _ in asked])
        # The losses after the last round are asked for alone.
        assert n_questions[-1] == 1
        assert len(n_questions) == 4
        assert n_questions[:3].max() <= 10 * n_trees
        assert not any(all(isinstance(question, NumberLeaves) for question in together) for _, together in asked)
    assert n_questions[0] == 10  # a chain is as deep as a tree may be
    assert model.trees_.tree(0).n_leaves == 11


class Known:
    """A leaf of which the gain of its best split is known."""

    def __init__(self, gain, *children):
        self.split = None if gain is None else self
        self.gain, self.children = gain, children or None


def test_leaves_are_expanded_where_the_next_splits_can_be():
    inner = Known(9.0)
    expanded = Known(2.0, inner, Known(None))
    best, last = Known(5.0), Known(1.0)
    # With one split left it is that of the best open leaf, though a leaf below another has more to gain.
    assert _next_splits([expanded, best, last], 1) == [best]
    assert _next_splits([expanded, best, last], 2) == [best]
    assert _next_splits([expanded, best, last], 3) == [best, inner]
    assert _next_splits([expanded, best, last], 9) == [best, inner, last]


def test_single_precision_and_a_folder(tmp_path):
    X, targets, _ = rows()
    frame = pd.DataFrame(X.astype(np.float32), columns=COLUMNS)
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(2):
        part = slice(1500 * number, 1500 * (number + 1))
        frame.iloc[part].assign(target=targets["two"][part]).to_parquet(folder / f"{number}.parquet")
    model = ShareGradientBoostingClassifier(n_estimators=3, random_state=0)
    here = ShareGradientBoostingClassifier(n_estimators=3, random_state=0).fit(frame, targets["two"])
    assert_same(model.fit(folder, "target"), here)
    assert_array_equal(model.feature_names_in_, COLUMNS)
    assert_array_equal(model.predict(frame), here.predict(frame))


@pytest.mark.parametrize(
    ("change", "settings", "arguments", "message"),
    [
        ({}, {}, {"groups": "nobody"}, "groups names the column 'nobody', which X does not have"),
        ({}, {}, {"groups": [1, 2]}, "groups must be the name of a column when X is files"),
        ({"group": "all"}, {"early_stopping": True}, {"groups": "group"}, "the rows of X that count are of one group"),
        ({"group": None}, {}, {"groups": "group"}, r"rows.parquet, rows from 0: groups has no value for row 0"),
        ({"kind": "text"}, {}, {}, "the column 'kind' is of type"),
        ({}, {"categorical_features": ["nobody"]}, {}, "categorical_features.*nobody"),
        ({}, {"categorical_features": [0], "max_bins": 16}, {}, "'c0' of X has .* categories; max_bins allows 16"),
        ({"target": 1}, {}, {}, "one class only"),
        ({"weight": 0.0}, {}, {"sample_weight": "weight"}, "sample_weight is zero for every row"),
        ({}, {"class_weight": {"no": 1}}, {}, "class_weight names classes that y does not have"),
    ],
)
def test_bad_input(change, settings, arguments, message, tmp_path):
    X, targets, _ = rows()
    frame = pd.DataFrame(X, columns=COLUMNS).assign(target=targets["two"]).assign(**change)
    frame.to_parquet(tmp_path / "rows.parquet")
    model = ShareGradientBoostingClassifier(n_estimators=2).set_params(**settings)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(tmp_path / "rows.parquet", "target", **arguments)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("text", "rows.parquet, rows from 0: y must hold numbers; got the text 'text' in row 0.*BoostingClassifier"),
        (np.inf, "rows.parquet, rows from 0: .*y contains infinity"),
    ],
)
def test_targets_that_are_no_numbers(target, message, tmp_path):
    X, _, _ = rows()
    pd.DataFrame(X, columns=COLUMNS).assign(target=target).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=message):
        ShareGradientBoostingRegressor(n_estimators=2).fit(tmp_path / "rows.parquet", "target")


def test_labels_of_a_regression_are_not_gathered(tmp_path):
    X, targets, _ = rows()
    arguments = in_file(tmp_path / "rows.parquet", X, targets["number"], {})
    data = read_targets(ShareGradientBoostingRegressor(), arguments["X"], "target", None, None, reset=True)
    assert data.classes is None
    assert all(len(summary.labels) == 0 == len(summary.weighted_labels) for summary in data._summaries)


def write_many(path, n_rows, row_group_size):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 20)), columns=[f"c{n}" for n in range(20)])
    frame.assign(target=(frame["c0"] * frame["c1"] > 0).astype(int)).to_parquet(path, row_group_size=row_group_size)


@pytest.mark.long
def test_arrays_stay_within_the_limit(tmp_path, monkeypatch):
    """A row takes about 60 bytes, which would be 3.6 MB here, and 160 as it is read."""
    write_many(tmp_path / "small.parquet", 200, 100)
    write_many(tmp_path / "rows.parquet", 60_000, 3_000)
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", "3 MiB")
    # As many for any number of rows, but more than the limit here: the rows that place the bins, and the bins.
    monkeypatch.setattr(gradient_data, "SKETCH_ROWS", 2000)
    model = ShareGradientBoostingClassifier(n_estimators=2, early_stopping=False, max_leaf_nodes=4, max_bins=15)
    model.fit(tmp_path / "small.parquet", "target")  # compiles the loops
    tracemalloc.start()
    try:
        model.fit(tmp_path / "rows.parquet", "target")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 2**19 < peak < 3 * 2**20


SCRIPT = """
import json, sys
from pathlib import Path
from fuselearn import ShareGradientBoostingClassifier

def peak():
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])

model = ShareGradientBoostingClassifier(n_estimators=2, early_stopping=False)
model.fit(sys.argv[1], "target")  # compiles the loops
Path("/proc/self/clear_refs").write_text("5")
before = peak()
model.fit(sys.argv[2], "target")
print(json.dumps(peak() - before))
"""


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the peak of memory is Linux's")
def test_memory_stays_within_the_limit(tmp_path):
    """A row takes about 60 bytes, which would be 60 MB here, and 160 as it is read."""
    for name, n_rows in (("small", 70_000), ("large", 1_000_000)):
        write_many(tmp_path / f"{name}.parquet", n_rows, 12_000)
    command = [sys.executable, "-c", SCRIPT, tmp_path / "small.parquet", tmp_path / "large.parquet"]
    environment = os.environ | {"FUSELEARN_MEMORY_LIMIT": "48 MiB", "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    assert json.loads(done.stdout) < 48 * 2**20
