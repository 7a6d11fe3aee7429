"""Odd command lines end in a result, in one line that says what is wrong, or in the usage: never in a traceback."""

import re

import pytest

from tests.cli.command_line import run
from tests.cli.odd_inputs import OddInput, write_model_data

N_QUICK, N_ALL = 60, 600
CONTROL = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e]")
"""Characters that no name may bring to the terminal; how far compare is begins with CR."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    write_model_data(folder / "train.csv")
    usual = [
        "--target",
        "kind",
        "--id",
        "id",
        "--method",
        "shareboost",
        "--set",
        "n_estimators=2",
        "--set",
        "estimator=stump",
    ]
    result = run("fit", folder / "train.csv", *usual, "--output", folder / "model.fuse")
    assert result.exit_code == 0, result.output
    return folder / "model.fuse"


def check(number, folder, model, monkeypatch):
    """Run the odd command line of a number, and see how it ends."""
    monkeypatch.chdir(folder)
    odd = OddInput(number, folder, model)
    before = {path.name for path in folder.iterdir()}
    result = run(*odd.arguments, input=odd.input)
    said = f"{number}: {odd.arguments}\n{result.exit_code} {result.exception!r}\n{result.stderr[-2000:]}"
    assert result.exception is None or isinstance(result.exception, SystemExit), said
    assert result.exit_code in (0, 1, 2), said
    assert "Traceback" not in result.stderr, said
    assert ".py:" not in result.stderr, said  # where a warning came from
    assert not CONTROL.search(result.stderr), said
    lines = result.stderr.splitlines()
    refusals = [line for line in lines if line.startswith("fuselearn: ")]
    if result.exit_code == 1:
        assert refusals == lines[-1:], said
        assert len(refusals[0]) > 20, said
    else:
        assert not refusals, said
    if result.exit_code == 2:
        assert "Usage: " in result.stderr or "Usage: " in result.stdout, said
    if result.exit_code:
        assert {path.name for path in folder.iterdir()} == before, said
    return result.exit_code


@pytest.mark.thinned(2)
@pytest.mark.parametrize("number", range(N_QUICK))
def test_odd_inputs(number, tmp_path, model, monkeypatch):
    check(number, tmp_path, model, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("number", range(N_QUICK, N_ALL))
def test_more_odd_inputs(number, tmp_path, model, monkeypatch):
    check(number, tmp_path, model, monkeypatch)


def test_odd_inputs_are_not_all_of_one_kind(tmp_path, model, monkeypatch):
    codes = []
    for number in range(24):
        folder = tmp_path / str(number)
        folder.mkdir()
        codes.append(check(number, folder, model, monkeypatch))
    assert set(codes) == {0, 1, 2}
