"""The log of a fusion's fit: a fit that was stopped goes on to the same model, and other logs are refused."""

import base64
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from fuselearn import FusionClassifier, FusionRegressor, ShareGradientBoostingClassifier
from fuselearn.boosting import checkpoint as run_log
from fuselearn.fusion import fusion_log
from fuselearn.fusion.fusion_log import FusionLog, LoggedFit
from fuselearn.persistence.model_file import dump
from fuselearn.persistence.model_types import Trust
from tests.backends.partitioned.fit_arguments import COLUMNS, in_file
from tests.fusion import killed_fusion
from tests.fusion.fusion_data import VIEWS, X_NEW, X, y
from tests.fusion.partition_problems import as_many, assert_same, problem, rows

pytestmark = pytest.mark.filterwarnings("ignore:X has .* gross outlier:UserWarning")
MODEL = FusionClassifier(views=VIEWS, learners=["linear", "trees"], max_fits=20, random_state=0)  # two passes


@pytest.fixture(scope="module")
def straight():
    return clone(MODEL).fit(X, y)


def same(one, other):
    assert_array_equal(one.predict_proba(X_NEW), other.predict_proba(X_NEW))
    assert_array_equal(one.posterior_, other.posterior_)
    assert one.out_of_sample_scores_ == other.out_of_sample_scores_
    assert one.n_fits_ == other.n_fits_


def keys_of(path):
    """Keys of the fits of a log."""
    return [json.loads(line)["fit"] for line in path.read_text().splitlines()[3:-1]]


def cut(path, n_fits):
    """Leave so many fits in a log, as if the process had been killed after them."""
    rewritten(path, lambda lines: [*lines[: 3 + n_fits], {**lines[-1], "rounds": n_fits}])


def rewritten(path, change):
    """Change the values of a log's lines, and give it the checksum that it then has."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = change(lines) or lines
    body = b"".join(run_log._line(line) for line in lines[:-1])
    lines[-1]["checksum"] = run_log._checksum(body)
    path.write_bytes(body + run_log._line(lines[-1]))


@pytest.fixture
def counted(monkeypatch):
    """Keys of the fits that are made."""
    made, add = [], FusionLog._add
    monkeypatch.setattr(
        FusionLog, "_add", lambda self, key, fit: (key in self._places or made.append(key), add(self, key, fit))[1]
    )
    return made


@pytest.fixture(scope="module")
def whole_log(straight, tmp_path_factory):
    """The log of a fit from its first model to its last."""
    path = tmp_path_factory.mktemp("log") / "whole"
    same(clone(MODEL).fit(X, y, checkpoint=path), straight)
    return path.read_bytes()


@pytest.mark.parametrize("n_kept", [1, None, *(pytest.param(n_kept, marks=pytest.mark.long) for n_kept in (0, 5))])
def test_a_fit_goes_on_after_some_fits(n_kept, straight, whole_log, counted, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(whole_log)
    n_fits = len(keys_of(path))
    assert n_fits == straight.n_fits_
    if n_kept is not None:
        cut(path, n_kept)
    same(clone(MODEL).fit(X, y, checkpoint=path), straight)
    assert len(counted) == n_fits - (n_fits if n_kept is None else n_kept)
    assert len(keys_of(path)) == n_fits


def test_limits_and_class_weights_may_be_changed(straight, counted, tmp_path):
    model = clone(MODEL).set_params(max_fits=4, class_weight="balanced")
    assert model.fit(X, y, checkpoint=tmp_path / "log").n_fits_ == 4
    counted.clear()
    same(model.set_params(max_fits=MODEL.max_fits, class_weight=None).fit(X, y, checkpoint=tmp_path / "log"), straight)
    # The second pass of fewer fits had other targets, if there was one.
    assert len(counted) < straight.n_fits_


def test_a_fit_without_a_seed_goes_on_with_the_one_it_drew(tmp_path):
    model = clone(MODEL).set_params(max_fits=8, random_state=None)
    first = clone(model).fit(X, y, checkpoint=tmp_path / "log")
    same(model.fit(X, y, checkpoint=tmp_path / "log"), first)


@pytest.mark.long
def test_classifiers_of_the_user_are_kept(tmp_path):
    model = FusionClassifier(views=VIEWS, learners={"nb": GaussianNB()}, max_fits=4, random_state=0)
    straight = clone(model).fit(X, y)
    same(clone(model).fit(X, y, checkpoint=tmp_path / "log"), straight)
    same(clone(model).fit(X, y, checkpoint=tmp_path / "log"), straight)
    forged = base64.b64encode(dump(LoggedFit(LogisticRegression().fit(X, y)), Trust(True))).decode()
    rewritten(tmp_path / "log", lambda lines: [line.update(model=forged) for line in lines if "fit" in line] and None)
    with pytest.raises(ValueError, match=r"checkpoint: .*cannot be read: .*LogisticRegression"):
        model.fit(X, y, checkpoint=tmp_path / "log")


@pytest.fixture(scope="module")
def written_log(tmp_path_factory):
    """The log of a fit of one model."""
    path = tmp_path_factory.mktemp("log") / "log"
    clone(MODEL).set_params(max_fits=1).fit(X, y, checkpoint=path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("content of X", {"X": np.where(X[3, 2] == X, 0.5, X)}),
        ("rows that count", {"X": X[:-2], "y": y[:-2]}),
        ("labels", {"y": np.roll(y, 1)}),
        ("classes", {"y": y + 1}),
        ("sample_weight", {"sample_weight": np.linspace(1, 2, len(X))}),
        ("groups", {"groups": np.arange(len(X)) // 2}),
        ("learners", {"learners": ["linear"]}),
        ("consensus", {"consensus": False}),
        ("random_state", {"random_state": 1}),
        ("views", {"views": {"a": [0, 1], "b": [2, 3, 4, 5]}}),
    ],
)
def test_a_log_of_another_fit_is_refused(what, change, written_log, tmp_path):
    path, change = tmp_path / "log", dict(change)
    path.write_bytes(written_log)
    data = {name: change.pop(name) for name in ("X", "y", "sample_weight", "groups") if name in change}
    model = clone(MODEL).set_params(**change)
    with pytest.raises(ValueError, match=f"is the log of another run: {what} was .* and is now .*remove this one"):
        model.fit(**({"X": X, "y": y} | data), checkpoint=path)
    assert path.read_bytes() == written_log


def test_a_log_of_another_model_is_refused(tmp_path):
    ShareGradientBoostingClassifier(n_estimators=1).fit(X, y, checkpoint=tmp_path / "log")
    with pytest.raises(ValueError, match=r"cannot be read|is the log of another run"):
        clone(MODEL).fit(X, y, checkpoint=tmp_path / "log")


def in_fits(change):
    return lambda lines: [change(line) for line in lines if "fit" in line] and None


def with_fit(**changes):
    """A change of what each fit holds."""
    from fuselearn.persistence.model_file import read_model

    def change(line):
        fit = read_model(base64.b64decode(line["model"]), Trust(()))[1]
        for name, of_value in changes.items():
            setattr(fit, name, of_value(getattr(fit, name)))
        line["model"] = base64.b64encode(dump(fit, Trust(()))).decode()

    return in_fits(change)


FORGERIES = {
    "values of other rows": (
        with_fit(out_of_fold=lambda values: values[:-1], scored=lambda values: None),
        "of other rows than there are",
    ),
    "no values": (with_fit(out_of_fold=lambda values: None), "of other rows than there are"),
    "no model": (with_fit(model=lambda model: None), "for a base model"),
    "text for a model": (in_fits(lambda line: line.update(model="AAAA")), "cannot be read"),
    "a number for a model": (in_fits(lambda line: line.update(model=3)), "without a model"),
    "keys": (in_fits(lambda line: line.update(fit={"a": 1})), "it has the fit"),
    "fits twice": (lambda lines: [*lines[:4], *lines[3:-1], {**lines[-1], "rounds": 2}], "twice"),
    "counts": (lambda lines: lines[-1].update(rounds=7), "its last line counts 7"),
    "seeds": (lambda lines: lines[2]["start"].update(seed="7"), "seed and number"),
    "no start": (lambda lines: lines[2].clear(), "cannot be read"),
    "lines of nothing": (lambda lines: [*lines[:3], {}, *lines[3:]], "cannot be read"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_log_is_refused(what, written_log, tmp_path):
    """Its checksum is right, so only what it holds tells."""
    (tmp_path / "log").write_bytes(written_log)
    change, message = FORGERIES[what]
    rewritten(tmp_path / "log", change)
    with pytest.raises(ValueError, match=f"checkpoint: .*({message}).*Name another file"):
        clone(MODEL).fit(X, y, checkpoint=tmp_path / "log")


def test_bad_arguments(tmp_path):
    for given, error in ((tmp_path, IsADirectoryError), (tmp_path / "no" / "log", FileNotFoundError), (3, TypeError)):
        with pytest.raises(error, match="checkpoint"):
            clone(MODEL).fit(X, y, checkpoint=given)
    with pytest.raises(ValueError, match=r"two classes|one class"):
        clone(MODEL).fit(X, 0 * y, checkpoint=tmp_path / "log")
    assert os.listdir(tmp_path) == []  # a fit that is refused leaves no log


def test_a_full_disk_does_not_end_the_fit(straight, tmp_path, monkeypatch):
    original, times = run_log.write_atomically, []

    def full(*arguments):
        times.append(1)
        if len(times) > 2:
            raise OSError(28, "No space left on device")
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(run_log, "write_atomically", full)
        with pytest.warns(UserWarning, match=r"could not be written .*No space left"):
            same(clone(MODEL).fit(X, y, checkpoint=tmp_path / "log"), straight)
    same(clone(MODEL).fit(X, y, checkpoint=tmp_path / "log"), straight)


def test_the_file_is_written_less_often_as_it_grows(tmp_path, monkeypatch):
    monkeypatch.setattr(fusion_log, "SECONDS", np.inf)
    sizes, put = [], FusionLog._put
    monkeypatch.setattr(
        FusionLog, "_put", lambda self, lines, *a, **b: (sizes.append(len(lines)), put(self, lines, *a, **b))[1]
    )
    log = FusionLog(tmp_path / "log", {})
    log.open({}, 1, fusion_log.ArmColumns(6, 3))
    for number in range(200):
        log._add(("fit", number), LoggedFit(None, np.zeros((10, 1))))
    log.finish()
    assert len(sizes) < 40
    assert len(keys_of(tmp_path / "log")) == 200


def test_many_rows_go_on_wherever_they_are(counted, tmp_path, monkeypatch):
    """A log of rows in memory is one of the same rows in files."""
    as_many(monkeypatch)
    path = tmp_path / "log"
    model, table, labels, beside = problem("weights")
    arguments = in_file(tmp_path / "rows.parquet", table, labels, beside)
    straight = clone(model).fit(**arguments)
    assert_same(clone(model).fit(**arguments, checkpoint=path), straight, exact=True)
    n_fits = len(counted)
    assert n_fits == len(keys_of(path)) >= 5
    cut(path, 3)
    counted.clear()
    resumed = clone(model).fit(pd.DataFrame(table, columns=COLUMNS), labels, **beside, checkpoint=path)
    assert len(counted) == n_fits - 3
    assert_same(resumed, straight)


def numbers():
    """Numbers of the rows, of which some are far away: there is a second pass, and fits of the sizes of residuals."""
    draws = np.random.default_rng(0)
    target = X[:, 0] + X[:, 3] + 0.2 * draws.standard_normal(len(X))
    return target + 40 * (draws.random(len(X)) < 0.08)


def assert_same_regression(one, other):
    assert one.arms_ == other.arms_
    assert one.n_fits_ == other.n_fits_
    assert one.outlier_share_ == other.outlier_share_ > 0
    assert_array_equal(one.predict_interval(X_NEW), other.predict_interval(X_NEW))
    assert_array_equal(one.out_of_sample_prediction_, other.out_of_sample_prediction_)


@pytest.mark.parametrize("many", [False, True])
def test_a_regression_goes_on_after_some_fits(many, counted, tmp_path, monkeypatch):
    if many:
        as_many(monkeypatch)
        monkeypatch.setattr("fuselearn.fusion.base_models.catalogue.MANY_ROWS", 50)
        monkeypatch.setattr("fuselearn.fusion.regression_sums.n_folds_of", lambda n_rows: 3)
    model = FusionRegressor(views=VIEWS, learners=["linear", "boosting" if many else "trees"], random_state=0)
    straight = clone(model).fit(X, numbers())
    path = tmp_path / "log"
    assert_same_regression(clone(model).fit(X, numbers(), checkpoint=path), straight)
    n_fits = len(keys_of(path))
    assert n_fits == len(counted) >= 8
    cut(path, n_fits - 3)
    counted.clear()
    assert_same_regression(clone(model).fit(X, numbers(), checkpoint=path), straight)
    assert len(counted) == 3
    counted.clear()
    assert_same_regression(clone(model).fit(X, numbers(), checkpoint=path), straight)
    assert not counted
    with pytest.raises(ValueError, match=r"log of another run: labels was .*Name another file"):
        clone(model).fit(X, numbers() + 1, checkpoint=path)
    with pytest.raises(ValueError, match="log of another run: model was 'FusionRegressor'"):
        FusionClassifier(views=VIEWS, random_state=0).fit(X, y, checkpoint=path)


def test_a_regression_with_other_limits_does_not_take_fits_of_other_targets_for_its_own(tmp_path):
    model = FusionRegressor(views=VIEWS, learners=["linear", "trees"], random_state=0)
    straight = clone(model).fit(X, numbers())
    few = clone(model).set_params(max_fits=4).fit(X, numbers(), checkpoint=tmp_path / "log")
    assert few.n_fits_ == 4
    assert_same_regression(model.fit(X, numbers(), checkpoint=tmp_path / "log"), straight)


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_a_killed_regression_goes_on(tmp_path):
    path = tmp_path / "log"
    for point, count in [("while the log is written", 2), ("after a fit", 5)]:
        command = [sys.executable, "-m", "tests.fusion.killed_fusion", "numbers", str(path), point, str(count)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert 1 <= len(keys_of(path)) <= 8
    resumed, straight = killed_fusion.fit("numbers", path), killed_fusion.fit("numbers")
    new, _, _ = rows()
    assert_array_equal(resumed.predict_interval(new), straight.predict_interval(new))


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("few fits", [("after a fit", 3)]),
        pytest.param("few rows", [("while the log is written", 2), ("after a fit", 5)], marks=pytest.mark.long),
        pytest.param("many rows", [("after a fit", 1), ("while the log is written", 2)], marks=pytest.mark.long),
    ],
)
def test_a_killed_process_goes_on(kind, kills, tmp_path):
    path = tmp_path / "log"
    for point, count in kills:
        command = [sys.executable, "-m", "tests.fusion.killed_fusion", kind, str(path), point, str(count)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert 1 <= len(keys_of(path)) <= 8
    assert_same(killed_fusion.fit(kind, path), killed_fusion.fit(kind), exact=True)
