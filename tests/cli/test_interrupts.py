"""Ctrl-C: it ends a command at once while nothing is finished, and loses nothing that is."""

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import fuselearn
from fuselearn import progress
from fuselearn.boosting import base
from fuselearn.cli import columns, console, fit_summary
from fuselearn.cli.model_columns import ModelColumns
from fuselearn.persistence import model_file
from fuselearn.tables import TableClassifier
from tests.cli.command_line import run
from tests.cli.patients import N_ROWS, NUMBERS

ROUNDS = 5
OPTIONS = ["--target", "outcome", "--id", "patient", *NUMBERS]
BOOST = [*OPTIONS, "--method", "shareboost", "--set", f"n_estimators={ROUNDS}"]
KEPT = "fuselearn: interrupted; what is finished is kept and saved. Press Ctrl-C again to end without it."


@pytest.fixture
def answered(monkeypatch):
    """Interrupts are answered as in a process of the command line; an end at once is a SystemExit."""

    def end(code):
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", end)
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    console.interrupts.install()
    yield
    signal.signal(signal.SIGINT, before)
    sys.unraisablehook = hook
    console.interrupts.begin()


def interrupting(function, at_call=1, times=1):
    """A function that interrupts its process before it does what it should."""
    calls = []

    def call(*arguments, **settings):
        calls.append(1)
        if len(calls) == at_call:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return function(*arguments, **settings)

    return call


def continued(model, table, rounds=ROUNDS):
    """The model after all rounds, of which a saved one has some."""
    X, y = model.matrix(table), np.array(table.column("outcome").to_pylist())
    inner = model.model_.set_params(warm_start=True, n_estimators=rounds)
    return inner.fit(X, y).predict_proba(X)


@pytest.fixture
def whole(table, data, tmp_path):
    """The probabilities of a model that was not interrupted."""
    assert run("fit", data, *BOOST, "--output", tmp_path / "whole.fuse").exit_code == 0
    model = fuselearn.load(tmp_path / "whole.fuse")
    return model.model_.predict_proba(model.matrix(table))


@pytest.mark.parametrize(
    ("owner", "name", "call", "rounds"),
    [
        (progress, "report", 1, 1),
        (progress, "report", 3, 3),
        (base.BaseBoost, "_publish", 1, ROUNDS),
        (TableClassifier, "of", 1, ROUNDS),
        (model_file, "write_atomically", 1, ROUNDS),
        (os, "fsync", 1, ROUNDS),
        (os, "link", 1, ROUNDS),
    ],
)
def test_nothing_is_lost_from_the_first_round_on(
    owner, name, call, rounds, table, data, tmp_path, whole, answered, monkeypatch, capfd
):
    monkeypatch.setattr(owner, name, interrupting(getattr(owner, name), call))
    result = run("fit", data, *BOOST, "--output", tmp_path / "model.fuse", "--json")
    assert result.exit_code == 0, result.output
    # Before the first round was reported, the interrupt came as ever, and the fit kept the round.
    assert capfd.readouterr().err.splitlines() == ([] if rounds == 1 else [KEPT])
    told = json.loads(result.stdout)
    assert told["rounds"] == rounds
    assert told["interrupted"] is (rounds < ROUNDS)
    np.testing.assert_array_equal(continued(fuselearn.load(tmp_path / "model.fuse"), table), whole)


def test_fusion_keeps_the_fits_that_are_done(table, data, tmp_path, answered, monkeypatch):
    monkeypatch.setattr(progress, "report", interrupting(progress.report, 2))
    result = run("fit", data, *OPTIONS, "--set", "max_fits=6", "--output", tmp_path / "model.fuse", "--json")
    assert result.exit_code == 0, result.output
    assert any("Interrupted: the model has the 2 fits" in note for note in json.loads(result.stdout)["notes"])
    assert len(fuselearn.load(tmp_path / "model.fuse").predict(table)) == N_ROWS


@pytest.mark.parametrize(
    ("owner", "name"), [(TableClassifier, "of"), (model_file, "write_atomically"), (os, "fsync"), (os, "link")]
)
def test_a_second_interrupt_ends_it(owner, name, data, tmp_path, answered, monkeypatch, capfd):
    monkeypatch.setattr(owner, name, interrupting(getattr(owner, name), times=2))
    result = run("fit", data, *BOOST, "--output", tmp_path / "model.fuse")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "fuselearn: interrupted; nothing was written."
    assert capfd.readouterr().err.splitlines() == [KEPT]
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_before_the_first_round_nothing_is_kept(data, tmp_path, answered, monkeypatch, capfd):
    for owner, name in ((columns, "training_table"), (base, "boost")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, interrupting(getattr(owner, name)))
            result = run("fit", data, *BOOST, "--output", tmp_path / "model.fuse")
        assert result.exit_code == 130
        told = result.stderr + capfd.readouterr().err
        assert told.splitlines()[-1] == "fuselearn: interrupted; nothing was written."
        assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_after_the_model_is_saved_that_is_said(data, tmp_path, answered, monkeypatch, capfd):
    monkeypatch.setattr(fit_summary, "print_summary", interrupting(fit_summary.print_summary))
    output = tmp_path / "model.fuse"
    assert run("fit", data, *BOOST, "--output", output).exit_code == 130
    assert capfd.readouterr().err == f"fuselearn: interrupted; the model is saved in {output}.\n"
    assert fuselearn.load(output).model_.n_iter_ == ROUNDS


def test_the_next_command_is_not_stopped_by_the_last_interrupt(data, tmp_path, answered, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(progress, "report", interrupting(progress.report, 2))
        assert run("fit", data, *BOOST, "--output", tmp_path / "first.fuse").exit_code == 0
    result = run("fit", data, *BOOST, "--output", tmp_path / "second.fuse", "--json")
    assert json.loads(result.stdout)["rounds"] == ROUNDS


def test_predictions_are_written_in_whole_or_not_at_all(data, tmp_path, answered, monkeypatch):
    assert run("fit", data, *BOOST, "--output", tmp_path / "model.fuse").exit_code == 0
    before = set(tmp_path.iterdir())
    monkeypatch.setattr(ModelColumns, "matrix", interrupting(ModelColumns.matrix, 2))
    result = run("predict", tmp_path / "model.fuse", data, "--output", tmp_path / "out.csv", "--chunk-rows", "40")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "fuselearn: interrupted; nothing was written."
    assert set(tmp_path.iterdir()) == before


def test_an_interrupt_that_a_callback_swallows_is_repeated(data, tmp_path, answered, monkeypatch):
    """Compiled code cannot pass on an exception of a callback of its own, as while numba compiles the first round."""

    @ctypes.CFUNCTYPE(None)
    def callback():
        signal.raise_signal(signal.SIGINT)

    def compiling(*arguments):
        callback()
        for _ in range(1000):  # until the repetition comes
            time.sleep(0.01)
        pytest.fail("the interrupt was lost")

    monkeypatch.setattr(base, "boost", compiling)
    console.interrupts.install()  # again, since pytest before 8.4 has a hook of its own for each call
    result = run("fit", data, *BOOST, "--output", tmp_path / "model.fuse")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "fuselearn: interrupted; nothing was written."
    assert "Traceback" not in result.stderr


def test_an_interrupt_is_repeated_on_windows_as_well(answered, monkeypatch):
    """Where `os.kill` would end the process, so that nothing finished was kept."""
    seen = []
    signal.signal(signal.SIGINT, lambda *arguments: seen.append(arguments[0]))
    monkeypatch.setattr(console, "os", SimpleNamespace(name="nt"))
    console._interrupt_again()
    assert seen == [signal.SIGINT]


@pytest.mark.parametrize("module", ["typer", "numpy"])
def test_interrupts_of_imports_end_without_a_traceback(module):
    """The first is imported before the command is known, the second within it."""
    script = f"""
import signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from fuselearn.cli import main
main()
"""
    command = [sys.executable, "-c", script, "demo", "--rounds", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 130
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("fuselearn: interrupted")


COUNTED = """
import os, sys
import fuselearn.progress as progress
report, log = progress.report, os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def counted(*arguments, **settings):
    os.write(log, b"x")
    report(*arguments, **settings)

progress.report = counted
from fuselearn.cli import main
print("ready", file=sys.stderr, flush=True)
main()
"""
"""The command line, with a byte in a file for each round that is finished."""


def start(log, *arguments):
    """Start a process, and wait until Python has started."""
    command = [sys.executable, "-c", COUNTED, str(log), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline() == "ready\n"
    return process


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="SIGINT of one process is POSIX")
def test_forty_interrupts_at_random_moments(table, data, tmp_path):
    rounds = 150
    arguments = ["fit", data, *OPTIONS, "--method", "shareboost", "--set", f"n_estimators={rounds}", "--output"]
    started = time.monotonic()
    process = start(tmp_path / "log", *arguments, tmp_path / "whole.fuse")
    process.communicate()
    duration = time.monotonic() - started
    model = fuselearn.load(tmp_path / "whole.fuse")
    expected = model.model_.predict_proba(model.matrix(table))
    draws = random.Random(0)
    kept = 0
    for number in range(40):
        log, output = tmp_path / f"log{number}", tmp_path / f"model{number}.fuse"
        process = start(log, *arguments, output)
        time.sleep(draws.uniform(0, duration))
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
        assert "Traceback" not in told
        assert process.returncode in (0, 130, -signal.SIGINT), told
        if output.exists():
            kept += 1
            np.testing.assert_array_equal(continued(fuselearn.load(output), table, rounds), expected)
        else:
            assert process.returncode == 130
            assert log.stat().st_size == 0, told  # no round was finished
    assert not list(tmp_path.glob(".*.part"))
    assert 0 < kept < 40
