"""Standard streams that are closed, full or cut off, and terminals that obey control characters."""

import json
import os
import re
import subprocess
import sys
import unicodedata

import pytest
from pyarrow import csv

import fuselearn
from tests.cli.command_line import run
from tests.cli.patients import NUMBERS, numbers, patients

FIT = ["--target", "outcome", "--id", "patient", *NUMBERS, "--method", "shareboost", "--set", "n_estimators=3"]
HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e\r\n"
SHOWN = r"\x1b]0;owned\x07\x9b31m\u202e"
TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MAIN = [sys.executable, "-c", "from fuselearn.cli import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data, and a model of it."""
    folder = tmp_path_factory.mktemp("streams")
    csv.write_csv(patients(), folder / "data.csv")
    result = run("fit", folder / "data.csv", *FIT, "--output", folder / "model.fuse")
    assert result.exit_code == 0, result.output
    return folder


def shell(folder, command):
    """Run a command line of a shell, in which fuselearn is the one that is tested."""
    script = f'fuselearn() {{ "{sys.executable}" -c "from fuselearn.cli import main; main()" "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is always full")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param(
            "inspect model.fuse > /dev/full",
            "standard output cannot be written to: No space left on device.",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "inspect model.fuse >&-",
            "standard output cannot be written to: Bad file descriptor.",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "predict model.fuse data.csv > /dev/full",
            "No space left on device; what was printed is not all.",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "predict model.fuse data.csv >&-",
            "Bad file descriptor; what was printed is not all.",
            marks=pytest.mark.long,
        ),
        pytest.param("predict model.fuse - <&-", "standard input is empty", marks=pytest.mark.long),
        ("--help > /dev/full", "No space left on device."),
        pytest.param(
            "--version > /dev/full",
            "standard output cannot be written to: No space left on device.",
            marks=pytest.mark.long,
        ),
    ],
)
def test_closed_and_full_streams(command, message, folder):
    result = shell(folder, f"fuselearn {command}")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("fuselearn: ")
    assert message in result.stderr


@pytest.mark.long
@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-", "2> /dev/full", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("name", ["fit", "predict", "report", "compare"])
def test_whatever_happens_to_the_streams_outputs_are_whole(name, redirection, folder, tmp_path):
    """A file that is opened must not take the number of a closed stream, and get what is printed."""
    output = tmp_path / {"fit": "model.fuse", "predict": "out.csv", "report": "page.html", "compare": "out.md"}[name]
    command = {
        "fit": ["data.csv", *FIT],
        "predict": ["model.fuse", "data.csv"],
        "report": ["model.fuse", "--data", "data.csv"],
        "compare": ["data.csv", *FIT[:8], "--methods", "mkl_uniform", "--runs", "2"],
    }[name]
    result = shell(folder, f"fuselearn {name} {' '.join(command)} --output {output} {redirection}")
    assert "Traceback" not in result.stderr
    assert result.returncode == (1 if ">" in redirection.replace("2>", "") else 0)
    if name == "fit":
        assert fuselearn.load(output).model_.n_iter_ == 3
        assert "the model is saved in" in result.stderr or result.returncode == 0 or "2>" in redirection
    else:
        assert not output.read_text(encoding="utf-8").startswith(("fuselearn", "Views"))


@pytest.mark.long
def test_a_reader_that_has_enough(folder):
    """As head does; nothing is said about it."""
    result = shell(folder, "for _ in 1 2 3 4 5 6 7 8; do tail -n +2 data.csv; done > rows; (head -1 data.csv; "
                   "for _ in 1 2 3 4 5 6 7 8; do cat rows; done) > many.csv; "
                   "fuselearn predict model.fuse many.csv --chunk-rows 100 | head -1")  # fmt: skip
    assert result.stdout.startswith("patient,prediction,")
    assert result.stderr == ""


def hostile_table():
    """The patients, with control characters in names of columns and classes."""
    table = patients()
    names = [name + HOSTILE if name != "patient" else name for name in table.column_names]
    classes = [label + HOSTILE for label in table.column("outcome").to_pylist()]
    table = table.set_column(table.column_names.index("outcome"), "outcome", [classes])
    return table.rename_columns(names)


def visible_only(text):
    """Whether a text has line breaks as its only control characters, and no mark that turns its direction."""
    return not any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(character) in TURNS
        for character in text.replace("\n", "")
    )


def test_names_in_files_do_not_reach_the_terminal(tmp_path):
    csv.write_csv(hostile_table(), tmp_path / "data.csv")
    model = tmp_path / "model.fuse"
    target = [
        "--target",
        f"outcome{HOSTILE}",
        "--id",
        "patient",
        "--view",
        f"rna{HOSTILE}=rna_*",
        "--view",
        "b=image_*",
    ]
    settings = ["--method", "shareboost", "--set", "n_estimators=3"]
    fitted = run("fit", tmp_path / "data.csv", *target, *settings, "--output", model)
    assert fitted.exit_code == 0, fitted.output
    results = [
        fitted,
        run("inspect", model),
        run("inspect", model, "--json"),
        run("report", model, "--data", tmp_path / "data.csv", "--output", tmp_path / "page.html"),
        run("report", model, "--data", tmp_path / "data.csv", "--output", tmp_path / "other.html", "--json"),
        run("predict", model, tmp_path / "data.csv", "--output", tmp_path / "out.csv"),
        run("compare", tmp_path / "data.csv", *target, "--methods", "mkl_uniform", "--runs", "2"),
        run("fit", tmp_path / "data.csv", "--target", "outcom", "--output", tmp_path / "no.fuse"),
        run("fit", tmp_path / f"no{HOSTILE}.csv", "--target", "outcom", "--output", tmp_path / "no.fuse"),
        run("predict", tmp_path / f"no{HOSTILE}.fuse", tmp_path / "data.csv"),
        run("predict", model, tmp_path / "data.csv", "--id", HOSTILE),
        run(f"no{HOSTILE}"),
        run("fit", f"--no{HOSTILE}"),
        run("predict", model, tmp_path / "data.csv", HOSTILE),
    ]
    for number, result in enumerate(results):
        assert visible_only(result.stdout), number
        # compare counts its fits in one line
        assert visible_only(re.sub(r"\r\d+ of \d+ fits", "", result.stderr)), number
        assert "Traceback" not in result.stderr
    assert SHOWN in results[0].stdout
    assert SHOWN in results[1].stdout
    # JSON says what the names are.
    assert json.loads(results[2].stdout)["classes"] == [f"ill{HOSTILE}".strip(), f"well{HOSTILE}".strip()]


def on_a_terminal(*arguments):
    """Run the command line with a terminal as its standard output, and return what it shows."""
    ours, theirs = pytest.importorskip("pty", reason="Windows has no terminals of this kind").openpty()
    process = subprocess.Popen([*MAIN, *map(str, arguments)], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # so ends a terminal on Linux
        pass
    os.close(ours)
    told = process.communicate()[1]
    return process.returncode, shown.decode().replace("\r\n", "\n"), told.decode()


@pytest.mark.long
def test_predictions_on_a_terminal(folder, tmp_path):
    """They are data for a file or a pipe, and are shown on a terminal."""
    model = fuselearn.load(folder / "model.fuse")
    table = patients()
    code, shown, _ = on_a_terminal("predict", folder / "model.fuse", folder / "data.csv")
    assert code == 0
    assert len(shown.splitlines()) == 91
    ids = [f"p{number}{HOSTILE}" for number in range(table.num_rows)]
    csv.write_csv(table.set_column(0, "patient", [ids]), tmp_path / "data.csv")
    code, shown, told = on_a_terminal("predict", folder / "model.fuse", tmp_path / "data.csv")
    assert code == 0, told
    assert visible_only(shown)
    assert shown.splitlines()[1].startswith(f"p0{SHOWN}")
    piped = run("predict", folder / "model.fuse", tmp_path / "data.csv")
    assert HOSTILE in piped.stdout_bytes.decode()
    code, shown, told = on_a_terminal(
        "predict", folder / "model.fuse", folder / "data.csv", "--output-format", "parquet"
    )
    assert (code, shown) == (1, "")
    assert "--output-format parquet is not for a terminal" in told
    assert model.model_.n_iter_ == 3


@pytest.mark.long
def test_names_that_an_encoding_lacks(folder, tmp_path):
    result = subprocess.run(
        [*MAIN, "predict", "model.fuse", "nö\udcff.csv"],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "ascii:strict"},
        capture_output=True,
        check=False,
    )
    assert result.returncode == 1
    told = result.stderr.decode()
    assert told.endswith("\\udcff.csv does not exist; check the name and the folder.\n")
    assert len(told.splitlines()) == 1


def test_header_of_a_forged_model(table, tmp_path):
    """A header is what anybody wrote there."""
    model = fuselearn.ShareBoostClassifier(n_estimators=2).fit(numbers(table), table.column("outcome").to_pylist())
    for number, note in enumerate([{"target": HOSTILE, "id": HOSTILE, "data": HOSTILE}, HOSTILE, {"target": [1]}, [3]]):
        path = tmp_path / f"model{number}.fuse"
        try:
            fuselearn.save(model, path, note=note)
        except (TypeError, ValueError):
            continue
        shown = run("inspect", path)
        assert shown.exit_code == 0, shown.output
        assert visible_only(shown.stdout)
