"""A run of gradient boosting that was killed goes on from its log, and ends as if nothing had happened."""

import base64
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from fuselearn import ShareBoostClassifier, ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.boosting import checkpoint as run_log
from fuselearn.boosting.gradient import gradient_base, gradient_log
from fuselearn.boosting.gradient.gradient_rounds import GradientRun
from fuselearn.exceptions import InterruptedFitWarning
from tests.boosting.gradient import killed_run
from tests.boosting.gradient.fitted_models import (
    CASES,
    FRAME,
    GROUPS,
    SIGNAL,
    SMALL,
    THREE,
    TWO,
    VIEWS,
    X,
    assert_identical,
)

QUICK = ["bandit", "categories per view", "early stopping", "per view"]


def stop_after(n_rounds, patch, error):
    """Let the next fit fail after some rounds."""
    original = GradientRun.run

    def stopped(self, all_rounds, after_round):
        original(self, n_rounds, after_round)
        raise error

    patch.setattr(GradientRun, "run", stopped)


def rounds_of(path):
    """Return how many rounds a log counts; 0 where there is none."""
    try:
        return json.loads(path.read_text().splitlines()[-1])["rounds"]
    except FileNotFoundError:
        return 0


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in CASES]
)
def test_a_run_goes_on_where_it_was(name, tmp_path, monkeypatch):
    model, rows, y = CASES[name]
    whole = clone(model).fit(rows, y)
    with monkeypatch.context() as patch:
        stop_after(7, patch, MemoryError("somewhere else"))
        with pytest.raises(MemoryError):
            clone(model).fit(rows, y, checkpoint=tmp_path / "log")
    assert rounds_of(tmp_path / "log") == 7
    resumed = clone(model).fit(rows, y, checkpoint=str(tmp_path / "log"))
    assert_identical(resumed, whole, rows)
    again = clone(model).fit(rows, y, checkpoint=tmp_path / "log")
    assert_identical(again, whole, rows)


def test_labels_weights_and_groups_go_on(tmp_path, monkeypatch):
    """Each view's own labels, weights, and whole groups held out."""
    rng = np.random.default_rng(0)
    y = THREE
    arguments = {
        "sample_weight": rng.uniform(0.0, 2.0, size=len(y)).round(2),
        "view_labels": np.column_stack([y, np.where(rng.random(len(y)) < 0.2, 0, y), y]),
        "groups": GROUPS,
    }
    model = ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", early_stopping=True, **SMALL)
    model.set_params(min_samples_leaf=3)
    whole = clone(model).fit(X, y, **arguments)
    with monkeypatch.context() as patch:
        stop_after(4, patch, MemoryError())
        with pytest.raises(MemoryError):
            model.fit(X, y, **arguments, checkpoint=tmp_path / "log")
    assert_identical(model.fit(X, y, **arguments, checkpoint=tmp_path / "log"), whole, X)


def test_a_run_that_is_done_reads_no_rows(tmp_path, monkeypatch):
    model = ShareGradientBoostingClassifier(views=VIEWS, **SMALL)
    whole = clone(model).fit(X, TWO, checkpoint=tmp_path / "log")
    monkeypatch.setattr(gradient_base, "GradientRun", None)
    assert_identical(model.fit(X, TWO, checkpoint=tmp_path / "log"), whole, X)


def test_a_run_can_be_made_longer_but_not_shorter(tmp_path):
    model = ShareGradientBoostingClassifier(views=VIEWS, **SMALL).fit(X, TWO, checkpoint=tmp_path / "log")
    longer = clone(model).set_params(n_estimators=21).fit(X, TWO, checkpoint=tmp_path / "log")
    straight = clone(longer).fit(X, TWO)
    assert_array_equal(longer.train_score_, straight.train_score_)
    assert_array_equal(longer.decision_function(X), straight.decision_function(X))
    with pytest.raises(ValueError, match=r"n_estimators=12 must be at least the 21 rounds that the log .*log has"):
        model.fit(X, TWO, checkpoint=tmp_path / "log")


def test_a_run_that_ended_early_is_done(tmp_path):
    step = np.repeat([[0.0], [1.0]], 10, axis=0)
    model = ShareGradientBoostingRegressor(learning_rate=1.0, min_samples_leaf=2)
    first = clone(model).fit(step, step[:, 0], checkpoint=tmp_path / "log")
    assert first.n_iter_ < 200
    assert json.loads((tmp_path / "log").read_text().splitlines()[-1])["exhausted"]
    assert_identical(clone(model).fit(step, step[:, 0], checkpoint=tmp_path / "log"), first, step)
    assert_identical(model.set_params(n_estimators=300).fit(step, step[:, 0], checkpoint=tmp_path / "log"), first, step)


def test_a_run_without_any_split_is_done(tmp_path):
    same, y = np.zeros((60, 1)), np.arange(60) % 2
    model = ShareGradientBoostingClassifier()
    assert model.fit(same, y, checkpoint=tmp_path / "log").n_iter_ == 0
    assert model.fit(same, y, checkpoint=tmp_path / "log").train_score_.shape == (1,)


def test_the_first_round_is_written_at_once_then_every_tenth(tmp_path, monkeypatch):
    lengths = []
    original = run_log.RunLog._put

    def put(self, lines, n_rounds, exhausted):
        original(self, lines, n_rounds, exhausted)
        lengths.append(n_rounds)

    monkeypatch.setattr(run_log.RunLog, "_put", put)
    model = ShareGradientBoostingClassifier(views=VIEWS, **SMALL).set_params(n_estimators=23)
    model.fit(X, TWO, checkpoint=tmp_path / "log")
    assert lengths == [0, 1, 10, 20, 23]
    assert os.listdir(tmp_path) == ["log"]


def test_a_run_without_a_seed_goes_on_with_the_one_it_drew(tmp_path, monkeypatch):
    model = ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", view_policy="uniform", early_stopping=True)
    model.set_params(**SMALL).set_params(random_state=None)
    with monkeypatch.context() as patch:
        stop_after(4, patch, MemoryError())
        with pytest.raises(MemoryError):
            model.fit(X, TWO, checkpoint=tmp_path / "log")
    seed = json.loads((tmp_path / "log").read_text().splitlines()[2])["start"]["seed"]
    resumed = clone(model).fit(X, TWO, checkpoint=tmp_path / "log")
    assert resumed._seed == seed

    class Drawn(np.random.RandomState):
        def randint(self, *arguments):
            return seed

    assert_identical(resumed, clone(model).set_params(random_state=Drawn()).fit(X, TWO), X)


def test_an_interrupt_keeps_the_rounds_and_writes_the_log(tmp_path, monkeypatch):
    model = ShareGradientBoostingRegressor(views=VIEWS, **SMALL)
    with monkeypatch.context() as patch:
        stop_after(5, patch, KeyboardInterrupt())
        with pytest.warns(InterruptedFitWarning, match="the model has the 5 of 12 rounds that were done"):
            model.fit(X, SIGNAL, checkpoint=tmp_path / "log")
        assert model.n_iter_ == rounds_of(tmp_path / "log") == 5
        assert np.isfinite(model.predict(X)).all()
        with pytest.warns(InterruptedFitWarning, match="5 of 12"):
            assert clone(model).fit(X, SIGNAL).n_iter_ == 5
    with monkeypatch.context() as patch:
        stop_after(0, patch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):  # nothing to keep
            clone(model).fit(X, SIGNAL)
    assert_identical(model.fit(X, SIGNAL, checkpoint=tmp_path / "log"), clone(model).fit(X, SIGNAL), X)


@pytest.mark.long
@pytest.mark.parametrize("call", [1, 2, 4, 11])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_while_the_log_is_written(call, after, tmp_path, monkeypatch):
    """It costs at most rounds, never the log."""
    model = ShareGradientBoostingClassifier(views=VIEWS, **SMALL)
    calls, original = [], gradient_log._written_round

    def interrupted(round_):
        calls.append(1)
        if len(calls) == call and not after:
            raise KeyboardInterrupt
        written = original(round_)
        if len(calls) == call:
            raise KeyboardInterrupt
        return written

    with monkeypatch.context() as patch:
        patch.setattr(gradient_log, "_written_round", interrupted)
        with pytest.warns(InterruptedFitWarning, match="rounds that were done"):
            model.fit(X, TWO, checkpoint=tmp_path / "log")
    lines = (tmp_path / "log").read_text().splitlines()
    assert sum(line.startswith('{"round":') for line in lines) == rounds_of(tmp_path / "log") == model.n_iter_
    assert_identical(clone(model).fit(X, TWO, checkpoint=tmp_path / "log"), clone(model).fit(X, TWO), X)


def changed_value(table):
    table = table.copy()
    table[17, 3] += 1e-9
    return table


def moved(groups):
    """Two groups change some of their rows, so that other rows are held out."""
    groups = groups.copy()
    groups[::2] = groups[::-2]
    return groups


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("content of X", {"X": changed_value(X)}),
        ("rows", {"X": X[:-6], "y": TWO[:-6], "groups": GROUPS[:-6]}),
        ("labels", {"y": np.roll(TWO, 1)}),
        ("classes", {"y": np.where(TWO == "no", "not", TWO)}),
        ("sample_weight", {"sample_weight": np.linspace(1, 2, len(TWO)) / 2}),
        ("weight of a row", {"sample_weight": np.full(len(TWO), 2.0)}),
        ("view_labels", {"view_labels": np.column_stack([TWO] * 3)}),
        ("rows held out", {"groups": moved(GROUPS)}),
        ("class_weight", {"class_weight": {"yes": 2.0}}),
        ("learning_rate", {"learning_rate": 0.5}),
        ("max_leaf_nodes", {"max_leaf_nodes": 7}),
        ("min_samples_leaf", {"min_samples_leaf": 6}),
        ("l2_regularization", {"l2_regularization": 1}),
        ("max_bins", {"max_bins": 254}),
        ("monotonic_cst", {"monotonic_cst": [1, 0, 0, 0, 0, 0]}),
        ("categorical_features", {"categorical_features": [5], "X": np.column_stack([X[:, :5], GROUPS % 3])}),
        ("trees", {"trees": "joint"}),
        ("view_policy", {"view_policy": "exp3p"}),
        ("early_stopping", {"early_stopping": False}),
        ("n_iter_no_change", {"n_iter_no_change": 9}),
        ("validation_fraction", {"validation_fraction": 0.2}),
        ("random_state", {"random_state": 1}),
        ("views", {"views": {"a": [0, 1, 2], "b": [3, 4]}}),
    ],
)
def test_a_log_of_another_run_is_refused(what, change, tmp_path):
    change = dict(change)
    model = ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", early_stopping=True, **SMALL)
    model.set_params(n_estimators=2).fit(X, TWO, groups=GROUPS, checkpoint=tmp_path / "log")
    before = (tmp_path / "log").read_bytes()
    data = {name: change.pop(name) for name in ("X", "y", "sample_weight", "view_labels", "groups") if name in change}
    given = {"X": X, "y": TWO, "groups": GROUPS} | data
    model.set_params(**change)
    with pytest.raises(ValueError, match=f"is the log of another run: {what} was .* and is now .*remove this one"):
        model.fit(**given, checkpoint=tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == before


def test_a_log_of_another_model_is_refused(tmp_path):
    y = (TWO == "yes").astype(float)
    ShareGradientBoostingRegressor(n_estimators=2).fit(X, y, checkpoint=tmp_path / "log")
    for model in (ShareGradientBoostingClassifier(n_estimators=2), ShareBoostClassifier("stump", n_estimators=2)):
        with pytest.raises(ValueError, match="is the log of another run: model was 'ShareGradientBoostingRegressor'"):
            model.fit(X, y, checkpoint=tmp_path / "log")
    for change in ({"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.5}):
        with pytest.raises(ValueError, match="is the log of another run: loss was \"'squared_error'\""):
            ShareGradientBoostingRegressor(n_estimators=2, **change).fit(X, y, checkpoint=tmp_path / "log")


def test_categories_of_another_run_are_refused(tmp_path):
    model, frame, y = clone(CASES["categories"][0]), FRAME, CASES["categories"][2]
    model.set_params(n_estimators=2).fit(frame, y, checkpoint=tmp_path / "log")
    renamed = frame.assign(town=frame["town"].cat.rename_categories({"town 0": "a town"}))
    with pytest.raises(ValueError, match="is the log of another run: categorical_features was"):
        model.fit(renamed, y, checkpoint=tmp_path / "log")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-20], "is damaged"),
        (lambda content: content[: len(content) // 2], "is damaged"),
        (lambda content: content.replace(b'"view":-1', b'"view":-2', 1), "is damaged"),
        (lambda content: b"", "is not a run log of fuselearn"),
        (lambda content: b"\x00\xff" * 100, "is not a run log of fuselearn"),
        (lambda content: content.replace(b'"format":1', b'"format":2', 1), "of format 2; this version reads format 1"),
    ],
)
def test_a_damaged_log_is_refused(damage, message, tmp_path):
    model = ShareGradientBoostingRegressor(**SMALL).set_params(n_estimators=3)
    model.fit(X, SIGNAL, checkpoint=tmp_path / "log")
    content = damage((tmp_path / "log").read_bytes())
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        model.fit(X, SIGNAL, checkpoint=tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == content


def rewritten(path, change):
    """Change the values of a log's lines, and give it the checksum that it then has."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = change(lines) or lines
    body = b"".join(run_log._line(line) for line in lines[:-1])
    lines[-1]["checksum"] = run_log._checksum(body)
    path.write_bytes(body + run_log._line(lines[-1]))


def in_rounds(change):
    """A change of every round."""
    return lambda lines: [change(line["round"]) for line in lines if "round" in line] and None


def in_trees(name, change, dtype=None):
    """A change of one array of every tree."""

    def of_round(written):
        for tree in written["trees"]:
            array = tree[name]
            values = np.frombuffer(base64.b64decode(array["array"]), array["kind"]).reshape(array["shape"]).copy()
            values = np.ascontiguousarray(change(values), dtype=dtype)
            content = base64.b64encode(values.tobytes()).decode()
            tree[name] = {"array": content, "kind": values.dtype.str, "shape": values.shape}

    return in_rounds(of_round)


def first_is(value):
    def change(values):
        values.flat[0] = value
        return values

    return change


def inner_is(value):
    return lambda values: np.where(values >= 0, value, values)


FORGERIES = {
    "columns": (in_trees("column", inner_is(50_000_000), "i4"), "reads columns beyond the 6"),
    "columns below": (in_trees("column", first_is(-2)), "out of range"),
    "columns of another view": (in_trees("column", inner_is(5), "i4"), "columns of other views"),
    "children": (in_trees("left", inner_is(50_000_000), "i4"), "nodes lead out of it"),
    "circles": (in_trees("right", inner_is(0), "i4"), "lead out of it, or in a circle"),
    "bins": (in_trees("cut_bin", inner_is(255), "i4"), "cuts behind the last bin"),
    "bins beyond bytes": (in_trees("cut_bin", inner_is(2**30), "i4"), "thresholds or bins that no column has"),
    "thresholds": (in_trees("threshold", lambda values: values + 0.1), "not the edges between its bins"),
    "thresholds of NaN": (in_trees("threshold", first_is(np.nan)), "thresholds or bins that no column has"),
    "values": (in_trees("value", first_is(np.nan)), "value of a GradientTree has NaN"),
    "types": (in_trees("value", lambda values: values, "f4"), "value of a GradientTree has numbers of type float32"),
    "lengths": (in_trees("gain", lambda values: values[:-1]), "gain of a GradientTree has the shape"),
    "no nodes": (in_trees("column", lambda values: values[:0]), "a tree without nodes"),
    "category rows": (in_trees("category_row", first_is(2**20)), "category_row of a GradientTree has numbers out"),
    "categories of numbers": (in_trees("category_row", first_is(0)), "category_row|split in no way"),
    "categories": (in_trees("categories_left", lambda values: np.zeros((3, 256), "u1")), "categories of no split"),
    "views": (in_rounds(lambda one: one.update(view=3)), "trees of the view 3; there are 3 views"),
    "view of all": (in_rounds(lambda one: one.update(view=-1)), "trees of the view -1"),
    "view of text": (in_rounds(lambda one: one.update(view="a")), "trees of the view 'a'"),
    "more trees": (in_rounds(lambda one: one["trees"].append(one["trees"][0])), "a round of 2 trees; a round has 1"),
    "no trees": (in_rounds(lambda one: one.update(trees=[])), "a round of 0 trees"),
    "a tree of nothing": (in_rounds(lambda one: one.update(trees=[{}])), "cannot be read"),
    "losses": (in_rounds(lambda one: one.update(losses=[float("nan"), None])), "which are not finite numbers"),
    "losses of text": (in_rounds(lambda one: one.update(losses=["0.1", None])), "which are not finite numbers"),
    "losses of held-out rows": (in_rounds(lambda one: one.update(losses=[0.1, 0.1])), "none are held out"),
    "first losses": (lambda lines: lines[:3] + lines[4:], "not have the losses before the first round"),
    "first losses twice": (lambda lines: [*lines[:4], *lines[3:]], "the losses before the first round twice"),
    "rounds": (lambda lines: lines[:-2] + lines[-3:], "it has 4 rounds, but its last line counts 3"),
    "seeds": (lambda lines: lines[2]["start"].update(seed="7"), "seed and number of rounds are not whole numbers"),
    "seeds below 0": (lambda lines: lines[2]["start"].update(seed=-7), "seed and number of rounds"),
    "huge horizons": (lambda lines: lines[2]["start"].update(horizon=10**400), "seed and number of rounds"),
    "no start": (lambda lines: lines[2].clear(), "cannot be read"),
    "no run": (lambda lines: [lines[0], {}, *lines[2:]], "cannot be read"),
    "lines of nothing": (lambda lines: [*lines[:3], {}, *lines[3:]], "cannot be read"),
    "lists": (lambda lines: [*lines[:3], [1], *lines[3:]], "cannot be read"),
}


@pytest.fixture(scope="module")
def written_log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log"
    model = ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", **SMALL).set_params(n_estimators=3)
    # A view of one column would be the only one to win rounds of that column.
    model.fit(X, TWO, checkpoint=path)
    assert set(model.winning_views_.tolist()) <= {0, 1}
    return clone(model), path.read_bytes()


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_log_is_refused(what, written_log, tmp_path):
    """Its checksum is right, so only what it holds tells."""
    model, content = written_log
    (tmp_path / "log").write_bytes(content)
    change, message = FORGERIES[what]
    rewritten(tmp_path / "log", change)
    with pytest.raises(ValueError, match=f"checkpoint: .*({message}).*Name another file"):
        clone(model).set_params(n_estimators=5).fit(X, TWO, checkpoint=tmp_path / "log")


def test_categories_in_a_forged_log(tmp_path):
    """A set of categories is cut as numbers."""
    model, frame, y = clone(CASES["categories"][0]).set_params(n_estimators=3), FRAME, CASES["categories"][2]
    model.fit(frame, y, checkpoint=tmp_path / "log")
    content = (tmp_path / "log").read_bytes()

    def as_numbers(written):
        for tree in written["trees"]:
            n_nodes = tree["column"]["shape"][0]
            row = np.frombuffer(base64.b64decode(tree["category_row"]["array"]), "i4")
            cut = np.where(row >= 0, 0, np.frombuffer(base64.b64decode(tree["cut_bin"]["array"]), "i4")).astype("i4")
            none = np.full(n_nodes, -1, dtype="i4")
            tree["category_row"]["array"] = base64.b64encode(none.tobytes()).decode()
            tree["cut_bin"]["array"] = base64.b64encode(cut.tobytes()).decode()
            tree["categories_left"].update(array="", shape=[0, 256])

    rewritten(tmp_path / "log", in_rounds(as_numbers))
    with pytest.raises(ValueError, match="splits numbers as categories, or categories as numbers"):
        model.fit(frame, y, checkpoint=tmp_path / "log")
    (tmp_path / "log").write_bytes(content)
    assert model.fit(frame, y, checkpoint=tmp_path / "log").n_iter_ == 3


def test_a_full_disk_does_not_end_the_fit(tmp_path, monkeypatch):
    original, times = run_log.write_atomically, []

    def full(*arguments):
        times.append(1)
        if len(times) > 2:
            raise OSError(28, "No space left on device")
        return original(*arguments)

    model = ShareGradientBoostingRegressor(views=VIEWS, **SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(run_log, "write_atomically", full)
        with pytest.warns(UserWarning, match=r"could not be written .*No space left"):
            model.fit(X, SIGNAL, checkpoint=tmp_path / "log")
    assert rounds_of(tmp_path / "log") == 1
    assert_identical(clone(model).fit(X, SIGNAL, checkpoint=tmp_path / "log"), model, X)


def test_bad_arguments(tmp_path):
    model = ShareGradientBoostingClassifier(n_estimators=2)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.fit(X, TWO, checkpoint=tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        model.fit(X, TWO, checkpoint=tmp_path / "nowhere" / "log")
    with pytest.raises(TypeError, match="checkpoint must be None or the path of a file; got 3"):
        model.fit(X, TWO, checkpoint=3)
    model.set_params(warm_start=True).fit(X, TWO)
    with pytest.raises(ValueError, match="checkpoint cannot be used with warm_start=True"):
        model.fit(X, TWO, checkpoint=tmp_path / "log")
    with pytest.raises(ValueError, match="monotonic_cst needs two classes"):
        clone(model).set_params(monotonic_cst=[1] * 6).fit(X, THREE, checkpoint=tmp_path / "log")
    assert os.listdir(tmp_path) == []  # a fit that is refused leaves no log


KILLS = [("after a round", 1), ("while the log is written", 2), ("while a tree grows", 21), ("after a round", 9)]
"""Points at which a process is killed, one after the other, each with the log of the one before."""


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
@pytest.mark.parametrize(
    ("kind", "n_rounds", "kills"),
    [
        ("bandit", 20, [("after a round", 13)]),
        *(pytest.param(kind, 60, KILLS, marks=pytest.mark.long) for kind in ("bandit", "four classes", "numbers")),
    ],
)
def test_a_killed_process_goes_on(kind, n_rounds, kills, tmp_path):
    command = [sys.executable, "-m", "tests.boosting.gradient.killed_run", kind, str(n_rounds), str(tmp_path / "log")]
    for point, count in kills:
        process = subprocess.run([*command, point, str(count)], check=False)
        assert process.returncode == -signal.SIGKILL
    n_done = rounds_of(tmp_path / "log")
    assert n_done == 10 if len(kills) == 1 else 10 <= n_done < 60
    resumed, rows = killed_run.fit(kind, n_rounds, tmp_path / "log")
    straight, _ = killed_run.fit(kind, n_rounds)
    assert_identical(resumed, straight, rows)
    killed_run.fit(kind, n_rounds, tmp_path / "other_log")
    assert (tmp_path / "log").read_bytes() == (tmp_path / "other_log").read_bytes()
