"""What a command writes: it takes no other file's place without ``--force``, and nothing that was made is lost."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import fuselearn
from fuselearn.boosting import base
from fuselearn.cli.model_columns import ModelColumns
from fuselearn.cli.outputs import writing
from fuselearn.evaluation import comparison
from fuselearn.persistence import write_atomically
from fuselearn.reporting import fit_report
from tests.cli.bad_input.refusals import refused
from tests.cli.command_line import run
from tests.cli.patients import N_ROWS, NUMBERS

FIT = ["--target", "outcome", "--id", "patient", *NUMBERS, "--method", "shareboost", "--set", "n_estimators=3"]


@pytest.fixture
def model(data, tmp_path):
    assert run("fit", data, *FIT, "--output", tmp_path / "model.fuse").exit_code == 0
    return tmp_path / "model.fuse"


@pytest.fixture
def appearing(monkeypatch):
    """A file that another process writes when a function is called."""

    def prepare(path, owner, name):
        own = getattr(owner, name)

        def call(*arguments, **settings):
            path.write_text("theirs")
            return own(*arguments, **settings)

        monkeypatch.setattr(owner, name, call)

    return prepare


def check_kept(result, output, kept):
    refused(result, f"{output} appeared while the command ran", f"kept as {kept}", "--force")
    assert output.read_text() == "theirs"
    assert not list(output.parent.glob(".*.part"))


def test_a_model_is_kept_beside_one_that_appeared(table, data, tmp_path, appearing):
    output = tmp_path / "model.fuse"
    appearing(output, base.BaseBoost, "_publish")
    check_kept(run("fit", data, *FIT, "--output", output), output, tmp_path / "model-2.fuse")
    assert len(fuselearn.load(tmp_path / "model-2.fuse").predict(table)) == N_ROWS
    assert run("fit", data, *FIT, "--output", output, "--force").exit_code == 0
    assert len(fuselearn.load(output).predict(table)) == N_ROWS


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predictions_are_kept_beside_those_that_appeared(suffix, data, model, tmp_path, appearing):
    output = tmp_path / f"out.{suffix}"
    appearing(output, ModelColumns, "matrix")
    check_kept(run("predict", model, data, "--output", output), output, tmp_path / f"out-2.{suffix}")
    with open(tmp_path / f"out-2.{suffix}", "rb") as file:
        assert file.read(4) == (b"pati" if suffix == "csv" else b"PAR1")


def test_a_report_is_kept_beside_one_that_appeared(data, model, tmp_path, appearing):
    output = tmp_path / "page.html"
    appearing(output, fit_report, "draw_charts")
    check_kept(run("report", model, "--data", data, "--output", output), output, tmp_path / "page-2.html")
    assert (tmp_path / "page-2.html").read_text().startswith("<!doctype html>")


def test_a_leaderboard_is_kept_beside_one_that_appeared(data, tmp_path, appearing):
    output = tmp_path / "board.md"
    appearing(output, comparison, "run_cell")
    arguments = ["--target", "outcome", "--id", "patient", *NUMBERS, "--methods", "mkl_uniform", "--runs", "2"]
    check_kept(run("compare", data, *arguments, "--output", output), output, tmp_path / "board-2.md")
    assert "mkl_uniform" in (tmp_path / "board-2.md").read_text()


def test_of_many_commands_at_a_time_one_gets_the_name(tmp_path):
    """All wrote at the same time; each but one is told where its own output is."""
    output, together = tmp_path / "out.csv", threading.Barrier(4)

    def write(number):
        try:
            with writing(str(output)), write_atomically(output, overwrite=False) as file:
                file.write(str(number))
                together.wait()
        except BaseException as error:
            return error.exit_code
        return 0

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(write, range(4))) == [0, 1, 1, 1]
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["0", "1", "2", "3"]
