"""Odd command lines: whatever the order of options and the names of files, one line says what is wrong."""

import os
import random

import pytest
from pyarrow import csv

from tests.cli.command_line import run
from tests.cli.patients import NUMBERS, patients

LONG = "x" * 300
PATHS = ["data.csv", "model.fuse", "folder.csv", "empty.csv", "loop.csv", "a\nb.csv", "", "-", ".", "/", "/dev/null"]
PATHS += ["no.csv", LONG, f"{LONG}.csv", "data.csv/x", "\udcff.csv", "\x1b[31m.csv", "--", "-x", " ", "\x00"]
OUTPUTS = ["", "-", ".", "/", "folder.csv", f"{LONG}.csv", f"{LONG}.html", f"{LONG}.fuse", "data.csv", "model.fuse"]
OUTPUTS += [
    "data.csv/x.csv",
    "no/x.csv",
    "x/",
    "o\n.csv",
    "\x1b.html",
    "/proc/x.csv",
    ".csv",
    "\udcff.fuse",
    "\x00.csv",
]
NAMES = ["outcome", "patient", "rna_0", "", "nope", "\n", " outcome", "\x1b", "outcome,outcome"]
NUMBERS_AND_NOT = ["0", "1", "-1", "nan", "inf", "x", "", "99999999999999999999", "0.5", "\x1b"]
VALUES = {
    "--target": NAMES,
    "--id": NAMES,
    "--group": NAMES,
    "--label-columns": [*NAMES, "rna=outcome,image=outcome", "a=b", "=", ","],
    "--view": [
        "rna=rna_*",
        "=rna_*",
        "rna=",
        "rna",
        "a=b=c",
        "a=*",
        "rna=rna_3:rna_0",
        "x=[",
        "a=,",
        "[/red]=rna_*",
        "",
    ],
    "--views": PATHS,
    "--method": ["stacking", "svm_vote", "", "nope", "rna", "\x1b"],
    "--set": [
        "n_estimators=0",
        "n_estimators=x",
        "=",
        "a",
        "a=",
        "estimator=nope",
        "views=3",
        "learning_rate=nan",
        "\x1b=1",
    ],
    "--categorical": ["target", "none", "", "x"],
    "--class-weight": ["balanced", "none", ""],
    "--seed": NUMBERS_AND_NOT,
    "--jobs": NUMBERS_AND_NOT,
    "--format": ["csv", "tsv", "parquet", "", "x"],
    "--delimiter": [",", ";", "", "ab", "\n", '"', "é", "\x00"],
    "--encoding": ["utf-8", "latin-1", "", "utf-16", "\x1b"],
    "--output": OUTPUTS,
    "--trust": ["", "a", "sklearn.svm.SVC", "\x1b", "os.system"],
    "--chunk-rows": NUMBERS_AND_NOT,
    "--output-format": ["csv", "parquet", "", "x"],
    "--title": ["", LONG, "\x1b", "<b>"],
    "--data": PATHS,
    "--resume": OUTPUTS,
    "--runs": ["0", "-1", "x"],
    "--noise": NUMBERS_AND_NOT,
    "--train-size": NUMBERS_AND_NOT,
    "--scoring": ["", "x", "r2"],
    "--methods": ["", "nope", ",", "mkl_uniform,mkl_uniform", "\x1b"],
    "--force": [None],
    "--json": [None],
    "--allow-missing-columns": [None],
}
COLUMNS = ["--target", "outcome", "--id", "patient", *NUMBERS]
QUICK = ["--method", "shareboost", "--set", "n_estimators=2"]
COMMANDS = {
    "fit": ["data.csv", *COLUMNS, *QUICK, "--output", "new.fuse"],
    "predict": ["model.fuse", "data.csv", "--output", "new.csv"],
    "report": ["model.fuse", "--data", "data.csv", "--output", "new.html"],
    "inspect": ["model.fuse"],
    "compare": ["data.csv", *COLUMNS, "--methods", "mkl_uniform", "--runs", "2", "--output", "new.md"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with data, a model, and some things that are neither."""
    monkeypatch.chdir(tmp_path)
    csv.write_csv(patients(), "data.csv")
    os.mkdir("folder.csv")
    open("empty.csv", "w").close()
    if os.name != "nt":  # where no name holds a line break, and links need rights
        csv.write_csv(patients(), "a\nb.csv")
        os.symlink("loop.csv", "loop.csv")
    result = run("fit", *COMMANDS["fit"][:-1], "model.fuse")
    assert result.exit_code == 0, result.output
    return tmp_path


def check(name, arguments, folder):
    """A command ends with one of three codes, words for a refusal, no traceback, and nothing half-written."""
    model = (folder / "model.fuse").read_bytes()
    result = run(name, *arguments, input=b"")
    about = f"{name} {arguments!r}: {result.exception!r}\n{result.stderr}"
    assert result.exception is None or isinstance(result.exception, SystemExit), about
    assert result.exit_code in (0, 1, 2), about
    if result.exit_code == 1:
        assert result.stderr.splitlines()[-1].startswith("fuselearn: "), about
    assert "\x1b" not in result.stdout + result.stderr, about
    assert not list(folder.glob(".*.part")), about
    assert "--force" in arguments or (folder / "model.fuse").read_bytes() == model, about
    for path in folder.glob("new*"):
        path.unlink()


@pytest.mark.long
@pytest.mark.parametrize("name", ["predict", "report", "inspect"])
def test_files_of_all_kinds_in_the_place_of_others(name, folder):
    for place, value in enumerate(COMMANDS[name]):
        for path in PATHS if not value.startswith("--") else []:
            check(name, [*COMMANDS[name][:place], path, *COMMANDS[name][place + 1 :]], folder)


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_outputs_of_all_kinds(name, folder):
    for output in OUTPUTS:
        check(name, [*COMMANDS[name], "--output", output], folder)


def test_the_last_of_a_repeated_option_counts_and_their_order_does_not_matter(folder):
    result = run("predict", "--output", "folder.csv", "--json", "model.fuse", "--output", "new.csv", "data.csv")
    assert result.exit_code == 0, result.output
    assert (folder / "new.csv").exists()
    assert run("inspect", "--json", "--json", "--", "model.fuse").exit_code == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_random_command_lines(seed, folder):
    draws = random.Random(seed)
    for _ in range(100):
        name = draws.choice(list(COMMANDS))
        arguments = list(COMMANDS[name])
        for _ in range(draws.choice([1, 1, 2, 3])):
            option = draws.choice(list(VALUES))
            value = draws.choice(VALUES[option])
            place = draws.randrange(len(arguments) + 1)
            if draws.random() < 0.3:
                arguments[draws.randrange(len(arguments))] = draws.choice([*PATHS, *OUTPUTS, *NAMES])
            else:
                arguments[place:place] = [option] if value is None else [option, value]
        check(name, arguments, folder)
