"""A run that was killed goes on from its log, and ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier, load, save
from fuselearn.boosting import base
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.learners import Tree
from fuselearn.learners.stump import Stump

VIEWS = {"a": [0, 1], "b": [2, 3, 4]}


def make_rows(n=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = np.digitize(X[:, 0] + X[:, 3] + rng.normal(size=n), np.linspace(-1, 1, n_classes + 1)[1:-1])
    X[rng.random(n) < 0.2, :2] = np.nan
    return X, y


X, y = make_rows()
MODELS = {
    "naive Bayes": ShareBoostClassifier(views=VIEWS, n_estimators=12),
    "bandit": ShareBoostClassifier(["stump", Tree(max_depth=2)], views=VIEWS, n_estimators=12, view_policy="exp3p"),
    "independent": IndependentBoostClassifier("tree", views=VIEWS, n_estimators=12),
    "out of bag": ShareBoostClassifier("linear", views=VIEWS, n_estimators=12, resample=True, error="out_of_bag"),
    "classifier": ShareBoostClassifier(LogisticRegression(), views=VIEWS, n_estimators=12, preprocess={"b": PCA(2)}),
}


def assert_identical(one, other):
    """All that a fit sets is the same, bit for bit."""
    for name in ("estimator_weights_", "estimator_errors_", "winning_arms_", "arm_errors_", "class_prior_"):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    if one.arm_probabilities_ is None:
        assert other.arm_probabilities_ is None
    else:
        assert_array_equal(one.arm_probabilities_, other.arm_probabilities_)
    assert one.trace_.horizon == other.trace_.horizon
    assert one.trace_.seed == other.trace_.seed
    assert_array_equal(one.decision_function(X), other.decision_function(X))


def stop_after(n_rounds, monkeypatch, error):
    """Let the next fit fail after some rounds."""

    def stopped(rows, one_round, trace, all_rounds, report):
        original(rows, one_round, trace, n_rounds, report)
        raise error

    original = base.boost
    monkeypatch.setattr(base, "boost", stopped)
    return lambda: monkeypatch.setattr(base, "boost", original)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_run_goes_on_where_it_was(name, n_classes, tmp_path, monkeypatch):
    X, y = make_rows(n_classes=n_classes)
    model = MODELS[name].set_params(random_state=3)
    whole = model.fit(X, y)
    whole = save(whole, tmp_path / "whole.fuse")
    go_on = stop_after(7, monkeypatch, MemoryError("somewhere else"))
    with pytest.raises(MemoryError):
        model.fit(X, y, checkpoint=tmp_path / "log", checkpoint_every=5)
    go_on()
    resumed = model.fit(X, y, checkpoint=str(tmp_path / "log"))
    assert_identical(resumed, load(whole))
    again = model.fit(X, y, checkpoint=tmp_path / "log")
    assert_identical(again, load(whole))


def test_a_run_that_is_done_fits_nothing(tmp_path, monkeypatch):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=9)
    first = model.fit(X, y, checkpoint=tmp_path / "log").estimator_weights_

    def nothing(self, plan, n_classes):
        raise AssertionError("something was fitted")

    monkeypatch.setattr(Stump, "sums", nothing)
    assert_array_equal(model.fit(X, y, checkpoint=tmp_path / "log").estimator_weights_, first)


def test_a_run_can_be_made_longer_but_not_shorter(tmp_path):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=5).fit(X, y, checkpoint=tmp_path / "log")
    longer = ShareBoostClassifier("stump", views=VIEWS, n_estimators=11)
    weights = longer.fit(X, y, checkpoint=tmp_path / "log").estimator_weights_
    assert_array_equal(weights, longer.fit(X, y).estimator_weights_)
    assert_array_equal(weights[:5], model.estimator_weights_)
    with pytest.raises(ValueError, match="n_estimators=5 must be at least the 11 rounds that the log"):
        model.fit(X, y, checkpoint=tmp_path / "log")


def test_the_log_is_written_every_few_rounds(tmp_path, monkeypatch):
    lengths = []
    original = base.RunLog.write

    def write(self, trace, exhausted=False):
        original(self, trace, exhausted)
        lengths.append(len(trace))

    monkeypatch.setattr(base.RunLog, "write", write)
    ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(
        X, y, checkpoint=tmp_path / "log", checkpoint_every=4
    )
    assert lengths == [0, 4, 8, 10]
    assert os.listdir(tmp_path) == ["log"]


def test_a_run_without_a_seed_goes_on_with_the_one_it_drew(tmp_path, monkeypatch):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=8, resample=True)
    go_on = stop_after(4, monkeypatch, MemoryError())
    with pytest.raises(MemoryError):
        model.fit(X, y, checkpoint=tmp_path / "log")
    go_on()
    resumed = model.fit(X, y, checkpoint=tmp_path / "log")
    straight = ShareBoostClassifier("stump", views=VIEWS, n_estimators=8, resample=True, warm_start=True)
    straight.fit(X, y)
    straight.trace_.seed = resumed.trace_.seed
    straight.trace_.rounds.clear()
    assert_array_equal(straight.fit(X, y).estimator_weights_, resumed.estimator_weights_)


def test_an_interrupt_writes_the_log(tmp_path, monkeypatch):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=8)
    go_on = stop_after(3, monkeypatch, KeyboardInterrupt())
    with pytest.warns(InterruptedFitWarning, match="the 3 of 8 rounds"):
        model.fit(X, y, checkpoint=tmp_path / "log")
    assert model.n_iter_ == 3
    assert json.loads((tmp_path / "log").read_text().splitlines()[-1])["rounds"] == 3
    go_on()
    resumed = model.fit(X, y, checkpoint=tmp_path / "log").estimator_weights_
    assert_array_equal(resumed, model.fit(X, y).estimator_weights_)


def test_a_run_that_ended_early_is_done(tmp_path):
    separable = np.repeat([[0.0], [1.0]], 10, axis=0)
    model = ShareBoostClassifier("stump", n_estimators=20)
    target = separable[:, 0].astype(int)
    assert model.fit(separable, target, checkpoint=tmp_path / "log").n_iter_ == 1
    assert model.fit(separable, target, checkpoint=tmp_path / "log").n_iter_ == 1


def changed_value(table):
    table = table.copy()
    table[17, 3] += 1e-9
    return table


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("content of X", {"X": changed_value(X)}),
        ("content of X", {"X": X[::-1]}),
        ("rows", {"X": X[:-1], "y": y[:-1]}),
        ("labels", {"y": np.roll(y, 1)}),
        ("classes", {"y": y + 1}),
        ("sample_weight", {"sample_weight": np.linspace(1, 2, len(y))}),
        ("view_labels", {"view_labels": np.column_stack([y, y])}),
        ("learning_rate", {"learning_rate": 0.5}),
        ("estimator", {"estimator": Tree(max_depth=3)}),
        ("view_policy", {"view_policy": "exp3p"}),
        ("random_state", {"random_state": 1}),
        ("preprocess", {"preprocess": PCA(1)}),
        ("resample", {"resample": True}),
        ("views", {"views": {"a": [0, 1], "b": [2, 3]}}),
    ],
)
def test_a_log_of_another_run_is_refused(what, change, tmp_path):
    change = dict(change)
    model = ShareBoostClassifier(Tree(max_depth=2), views=VIEWS, n_estimators=3, random_state=0)
    model.fit(X, y, checkpoint=tmp_path / "log")
    before = (tmp_path / "log").read_bytes()
    data = {name: change.pop(name) for name in ("X", "y", "sample_weight", "view_labels") if name in change}
    given = {"X": X, "y": y} | data
    model.set_params(**change)
    with pytest.raises(ValueError, match=f"is the log of another run: {what} was .* and is now .*remove this one"):
        model.fit(**given, checkpoint=tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-20], "is damaged"),
        (lambda content: content[: len(content) // 2], "is damaged"),
        (lambda content: content.replace(b'"error":0.', b'"error":0.1', 1), "is damaged"),
        (lambda content: b"", "is not a run log of fuselearn"),
        (lambda content: b"\x00\xff" * 100, "is not a run log of fuselearn"),
        (lambda content: b'{"a": 1}\n', "is not a run log of fuselearn"),
        (lambda content: content.replace(b'"format":1', b'"format":2', 1), "of format 2; this version reads format 1"),
    ],
)
def test_a_damaged_log_is_refused(damage, message, tmp_path):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=6).fit(X, y, checkpoint=tmp_path / "log")
    content = damage((tmp_path / "log").read_bytes())
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, checkpoint=tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == content


def test_bad_arguments(tmp_path):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=2)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.fit(X, y, checkpoint=tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        model.fit(X, y, checkpoint=tmp_path / "nowhere" / "log")
    with pytest.raises(TypeError, match="checkpoint must be None or the path of a file; got 3"):
        model.fit(X, y, checkpoint=3)
    with pytest.raises(ValueError, match="checkpoint_every must be an integer of at least 1"):
        model.fit(X, y, checkpoint_every=0)
    model.set_params(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint cannot be used with warm_start=True"):
        model.fit(X, y, checkpoint=tmp_path / "log")
    assert os.listdir(tmp_path) == []


class Foreign(RandomForestClassifier):
    """A classifier that no file may name."""


class Odd(Stump):
    """A learner of the user's."""


@pytest.mark.parametrize("estimator", [Foreign(2), Odd()])
def test_what_cannot_be_written_is_refused_at_once(estimator, tmp_path):
    with pytest.raises(ValueError, match=r"checkpoint .*cannot"):
        ShareBoostClassifier(estimator, views=VIEWS).fit(X[:, :5], y, checkpoint=tmp_path / "log")
    assert os.listdir(tmp_path) == []


SCRIPT = """
import sys
import numpy as np
from fuselearn import ShareBoostClassifier

rng = np.random.default_rng(5)
X = rng.normal(size=(6_000, 6))
y = np.where(X[:, 0] + X[:, 4] + rng.normal(size=len(X)) > 0, "yes", "no")
model = ShareBoostClassifier(["tree", "gaussian_nb"], views=[[0, 1, 2], [3, 4, 5]], n_estimators=150, random_state=2)
model.fit(X, y, checkpoint=sys.argv[1], checkpoint_every=3)
told = {name: getattr(model, name) for name in sys.argv[3:]}
np.savez(sys.argv[2], **told, decision=model.decision_function(X[:500]))
"""
TOLD = ("estimator_weights_", "estimator_errors_", "winning_arms_", "arm_errors_", "class_prior_")


def rounds_of(path):
    try:
        return json.loads(path.read_text().splitlines()[-1])["rounds"]
    except FileNotFoundError:
        return 0


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_a_killed_process_goes_on(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))

    def command(log, result):
        return [sys.executable, script, tmp_path / log, tmp_path / result, *TOLD]

    for n_rounds in (1, 20):  # killed twice
        process = subprocess.Popen(command("log", "resumed.npz"))
        while rounds_of(tmp_path / "log") < n_rounds and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert 20 <= rounds_of(tmp_path / "log") < 150
    subprocess.run(command("log", "resumed.npz"), check=True)
    subprocess.run(command("other_log", "straight.npz"), check=True)
    with np.load(tmp_path / "resumed.npz") as resumed, np.load(tmp_path / "straight.npz") as straight:
        assert len(resumed["winning_arms_"]) == 150
        for name in (*TOLD, "decision"):
            assert_array_equal(resumed[name], straight[name], err_msg=name)
    assert (tmp_path / "log").read_bytes() == (tmp_path / "other_log").read_bytes()
