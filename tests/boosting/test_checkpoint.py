"""A run that was killed goes on from its log, and ends as if nothing had happened."""

import base64
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
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier, load, save
from fuselearn.bandits.protocol import Policy, PolicyState
from fuselearn.boosting import base, trace_format
from fuselearn.boosting import checkpoint as run_log
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.learners import Stump, Tree

VIEWS = {"a": [0, 1], "b": [2, 3, 4]}


def make_rows(n=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = np.digitize(X[:, 0] + X[:, 3] + rng.normal(size=n), np.linspace(-1, 1, n_classes + 1)[1:-1])
    X[rng.random(n) < 0.2, :2] = np.nan
    return X, y


X, y = make_rows()
MODELS = {
    "naive Bayes": ShareBoostClassifier(views=VIEWS, n_estimators=8),
    "bandit": ShareBoostClassifier(["stump", Tree(max_depth=2)], views=VIEWS, n_estimators=8, view_policy="exp3p"),
    "independent": IndependentBoostClassifier("tree", views=VIEWS, n_estimators=8),
    "out of bag": ShareBoostClassifier("linear", views=VIEWS, n_estimators=8, resample=True, error="out_of_bag"),
    "classifier": ShareBoostClassifier(LogisticRegression(), views=VIEWS, n_estimators=8, preprocess={"b": PCA(2)}),
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

    def stopped(rows, rule, trace, all_rounds, after_round):
        original(rows, rule, trace, n_rounds, after_round)
        raise error

    original = base.boost
    monkeypatch.setattr(base, "boost", stopped)
    return lambda: monkeypatch.setattr(base, "boost", original)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.long), 3])
def test_a_run_goes_on_where_it_was(name, n_classes, tmp_path, monkeypatch):
    X, y = make_rows(n_classes=n_classes)
    model = clone(MODELS[name]).set_params(random_state=3)
    whole = model.fit(X, y)
    whole = save(whole, tmp_path / "whole.fuse")
    go_on = stop_after(5, monkeypatch, MemoryError("somewhere else"))
    with pytest.raises(MemoryError):
        model.fit(X, y, checkpoint=tmp_path / "log", checkpoint_every=4)
    go_on()
    resumed = model.fit(X, y, checkpoint=str(tmp_path / "log"))
    assert_identical(resumed, load(whole, trusted=True))
    again = model.fit(X, y, checkpoint=tmp_path / "log")
    assert_identical(again, load(whole, trusted=True))


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
    original = run_log.RunLog._put

    def put(self, lines, n_rounds, exhausted):
        original(self, lines, n_rounds, exhausted)
        lengths.append(n_rounds)

    monkeypatch.setattr(run_log.RunLog, "_put", put)
    ShareBoostClassifier("stump", views=VIEWS, n_estimators=10).fit(
        X, y, checkpoint=tmp_path / "log", checkpoint_every=4
    )
    assert lengths == [0, 1, 4, 8, 10]
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


class Interrupted:
    """Lets a method be interrupted once, in a given call, before or after it has done its work."""

    def __init__(self, monkeypatch, owner, name, call, *, after=False):
        self.call, self.after, self.original = call, after, getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *arguments: self.of(*arguments))

    def of(self, *arguments):
        self.call -= 1
        if self.call == 0 and not self.after:
            raise KeyboardInterrupt
        result = self.original(*arguments)
        if self.call == 0:
            raise KeyboardInterrupt
        return result


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("name", "call"), [("round", 2), ("round", 4), ("plan", 1), ("plan", 2), ("_fields", 3)])
def test_an_interrupt_while_the_log_is_written(name, call, after, tmp_path, monkeypatch):
    """It costs at most rounds, never the log."""
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=12, random_state=0)
    with monkeypatch.context() as patch:
        Interrupted(patch, trace_format.Encoder, name, call, after=after)
        with pytest.warns(InterruptedFitWarning, match="rounds that were done"):
            model.fit(X, y, checkpoint=tmp_path / "log", checkpoint_every=5)
    lines = (tmp_path / "log").read_text().splitlines()
    rounds = [line for line in lines if line.startswith('{"round":')]
    assert len(rounds) == json.loads(lines[-1])["rounds"] == model.n_iter_
    assert len(set(rounds)) == len(rounds)
    resumed = save(model.fit(X, y, checkpoint=tmp_path / "log"), tmp_path / "model")
    assert_identical(load(resumed), model.fit(X, y))


def rewritten(path, change):
    """Change the values of a log's lines, and give it the checksum that it then has."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = change(lines) or lines
    body = b"".join(run_log._line(line) for line in lines[:-1])
    lines[-1]["checksum"] = run_log._checksum(body)
    path.write_bytes(body + run_log._line(lines[-1]))


def in_rounds(change):
    """A change of every round."""

    def of_lines(lines):
        for line in lines:
            if "round" in line:
                change(line["round"])

    return of_lines


def in_hypotheses(name, number):
    """A change of one array of every hypothesis: all its numbers are the given one."""

    def of_round(written):
        for update in written["updates"]:
            array = update[1][name]
            values = np.frombuffer(base64.b64decode(array["array"]), array["kind"]).copy()
            values[:] = number
            array["array"] = base64.b64encode(values.tobytes()).decode()

    return in_rounds(of_round)


def in_plans(change):
    def of_lines(lines):
        for line in lines:
            if "plan" in line:
                change(line["plan"])

    return of_lines


def narrow(plan):
    """A plan of one column less."""
    for name in ("edges", "n_edges"):
        array = plan[name]
        values = np.frombuffer(base64.b64decode(array["array"]), array["kind"]).reshape(array["shape"])[:-1]
        array.update(array=base64.b64encode(values.tobytes()).decode(), shape=values.shape)


def crowded(plan):
    array = plan["n_edges"]
    values = np.full(array["shape"], 10_000, dtype=array["kind"])
    array["array"] = base64.b64encode(values.tobytes()).decode()


FORGERIES = {
    "classes": (in_hypotheses("code", 50_000_000), "code of a TreeHypothesis has numbers out of range"),
    "columns": (in_hypotheses("feature", 50_000_000), "out of it|reads columns beyond"),
    "children": (in_hypotheses("left", 50_000_000), "a tree whose nodes lead out of it"),
    "circles": (in_hypotheses("right", 0), "a tree whose nodes lead out of it, or in a circle"),
    "arms": (in_rounds(lambda one: one["updates"][0].__setitem__(0, 7)), "it has the arm 7; there are 2 arms"),
    "arms of errors": (in_rounds(lambda one: one["arm_errors"].append([9, 0.1])), "an error of the arm 9"),
    "votes": (in_rounds(lambda one: one["updates"][0].__setitem__(2, "much")), "it has the vote 'much'"),
    "widths": (in_plans(narrow), "a Binning of . columns for a view of|reads columns beyond"),
    "bins": (in_plans(crowded), "n_edges of a Binning has numbers out of range"),
    "rounds": (lambda lines: lines[:-2] + lines[-3:], "it has 7 rounds, but its last line counts 6"),
    "no run": (lambda lines: [lines[0], {}, *lines[2:]], "cannot be read"),
    "types": (in_rounds(lambda one: one["updates"][0].__setitem__(1, {"type": "Popen"})), "cannot be read"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_log_is_refused(what, tmp_path):
    """Its checksum is right, so only what it holds tells."""
    change, message = FORGERIES[what]
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=6).fit(X, y, checkpoint=tmp_path / "log")
    rewritten(tmp_path / "log", change)
    with pytest.raises(ValueError, match=f"checkpoint: .*({message}).*Name another file"):
        model.fit(X, y, checkpoint=tmp_path / "log")


@pytest.mark.parametrize("name", ["naive Bayes", "bandit", "classifier"])
def test_a_log_of_single_precision_is_sound(name, tmp_path):
    single = X.astype(np.float32)
    model = clone(MODELS[name]).set_params(random_state=0, n_estimators=4)
    before = model.fit(single, y, checkpoint=tmp_path / "log").estimator_weights_
    assert_array_equal(model.fit(single, y, checkpoint=tmp_path / "log").estimator_weights_, before)


def test_numbers_of_numpy(tmp_path):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=np.int64(3), learning_rate=np.float64(1))
    model.fit(X, y, checkpoint=tmp_path / "log", checkpoint_every=np.int64(2))
    assert model.fit(X, y, checkpoint=tmp_path / "log").n_iter_ == 3


def test_what_cannot_be_kept_is_found_in_the_first_round(tmp_path, monkeypatch):
    """A fitted tree of neighbours has no form in a file."""
    rounds = []
    original = base.BaseBoost._report
    monkeypatch.setattr(base.BaseBoost, "_report", lambda *given: (original(*given), rounds.append(1)))
    model = ShareBoostClassifier(KNeighborsClassifier(algorithm="kd_tree"), views=VIEWS, preprocess=SimpleImputer())
    with pytest.raises(ValueError, match=r"checkpoint cannot keep what was learnt in the first 1 rounds: .*KDTree"):
        model.fit(X, y, checkpoint=tmp_path / "log")
    assert len(rounds) == 1


def test_a_full_disk_does_not_end_the_fit(tmp_path, monkeypatch):
    original = run_log.write_atomically
    times = []

    def full(*arguments):
        times.append(1)
        if len(times) > 2:
            raise OSError(28, "No space left on device")
        return original(*arguments)

    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=8, random_state=0)
    straight = model.fit(X, y).estimator_weights_
    with monkeypatch.context() as patch:
        patch.setattr(run_log, "write_atomically", full)
        with pytest.warns(UserWarning, match=r"could not be written .*No space left"):
            model.fit(X, y, checkpoint=tmp_path / "log")
    assert_array_equal(model.estimator_weights_, straight)
    assert rounds_of(tmp_path / "log") == 1
    assert_array_equal(model.fit(X, y, checkpoint=tmp_path / "log").estimator_weights_, straight)


class AllState(PolicyState):
    def __init__(self, n_arms):
        self.n_arms = n_arms

    def pull(self):
        return list(range(self.n_arms))


class All(Policy):
    """A policy of the user's, which does not say how it is written."""

    competes = True

    def __init__(self, mood):
        self.mood = mood

    def start(self, n_arms, horizon, seed):
        return AllState(n_arms)


def test_a_policy_of_the_user(tmp_path):
    kept = All("good")
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=3, view_policy=kept)
    model.fit(X, y, checkpoint=tmp_path / "log")
    assert model.set_params(view_policy=All("good")).fit(X, y, checkpoint=tmp_path / "log").n_iter_ == 3
    with pytest.raises(ValueError, match=r"view_policy was .*All\(mood='good'\).* is now .*All\(mood='bad'\)"):
        model.set_params(view_policy=All("bad")).fit(X, y, checkpoint=tmp_path / "log")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder that nobody can write to is Linux's")
def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "read_boosting_data", None)  # nothing is read
    with pytest.raises(OSError, match="checkpoint is /proc/self/log, but no file can be made in its folder"):
        ShareBoostClassifier(views=VIEWS).fit(X, y, checkpoint="/proc/self/log")


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


def foreign():
    class Inner(RandomForestClassifier):
        """A classifier that cannot be found again by its name."""

    return Inner(2)


class Odd(Stump):
    """A learner of the user's."""


@pytest.mark.parametrize("estimator", [foreign(), Odd()])
def test_what_cannot_be_written_is_refused_at_once(estimator, tmp_path):
    with pytest.raises(ValueError, match=r"checkpoint .*cannot"):
        ShareBoostClassifier(estimator, views=VIEWS).fit(X[:, :5], y, checkpoint=tmp_path / "log")
    assert os.listdir(tmp_path) == []


SCRIPT = """
import sys
import numpy as np
from fuselearn import ShareBoostClassifier

rng = np.random.default_rng(5)
X = rng.normal(size=(2_000, 6))
y = np.where(X[:, 0] + X[:, 4] + rng.normal(size=len(X)) > 0, "yes", "no")
model = ShareBoostClassifier(["tree", "gaussian_nb"], views=[[0, 1, 2], [3, 4, 5]], n_estimators=100, random_state=2)
model.fit(X, y, checkpoint=sys.argv[1], checkpoint_every=3)
attributes = {name: getattr(model, name) for name in sys.argv[3:]}
np.savez(sys.argv[2], **attributes, decision=model.decision_function(X[:500]))
"""
ATTRIBUTES = ("estimator_weights_", "estimator_errors_", "winning_arms_", "arm_errors_", "class_prior_")


def rounds_of(path):
    return json.loads(path.read_text().splitlines()[-1])["rounds"] if path.exists() else 0


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_a_killed_process_goes_on(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))

    def command(log, result):
        return [sys.executable, script, tmp_path / log, tmp_path / result, *ATTRIBUTES]

    for n_rounds in (1, 20):  # killed twice
        process = subprocess.Popen(command("log", "resumed.npz"))
        while rounds_of(tmp_path / "log") < n_rounds and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert 20 <= rounds_of(tmp_path / "log") < 100
    subprocess.run(command("log", "resumed.npz"), check=True)
    subprocess.run(command("other_log", "straight.npz"), check=True)
    with np.load(tmp_path / "resumed.npz") as resumed, np.load(tmp_path / "straight.npz") as straight:
        assert len(resumed["winning_arms_"]) == 100
        for name in (*ATTRIBUTES, "decision"):
            assert_array_equal(resumed[name], straight[name], err_msg=name)
    assert (tmp_path / "log").read_bytes() == (tmp_path / "other_log").read_bytes()
