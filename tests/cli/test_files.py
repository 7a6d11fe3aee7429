"""Files that a command reads, of all formats and spellings, and files that it writes."""

import csv as python_csv
import gzip
import io
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

import fuselearn
from fuselearn.boosting import base
from fuselearn.cli.files import Source, open_file, writing
from fuselearn.cli.model_columns import ModelColumns
from fuselearn.evaluation import comparison
from fuselearn.persistence import write_atomically
from fuselearn.reporting import fit_report
from tests.cli.bad_input.refusals import refused
from tests.cli.command_line import run
from tests.cli.patients import N_ROWS, NUMBERS


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models of one column and of two, and of text."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    table = {"x": rng.normal(size=60) + 4 * y, "z": rng.normal(size=60), "kind": np.array(["a", "b"])[y]}
    table["note"] = np.array(["n", "s", "two\nlines"])[rng.integers(0, 3, size=60)]
    csv.write_csv(pa.table(table), folder / "data.csv")
    paths = {}
    for name, columns in {"one": "x", "two": "x,z", "text": "x,note"}.items():
        paths[name] = folder / f"{name}.fuse"
        usual = ["--target", "kind", "--method", "shareboost", "--set", "n_estimators=3", "--set", "estimator=stump"]
        result = run("fit", folder / "data.csv", *usual, "--view", f"all={columns}", "--output", paths[name])
        assert result.exit_code == 0, result.output
    return paths


def predictions(model, content, tmp_path, how="file"):
    """Return the second column of the probabilities of the rows of some bytes."""
    if how == "-":
        result = run("predict", model, "-", input=content)
    else:
        path = tmp_path / ("data.csv.gz" if how == "gz" else "data.csv")
        path.write_bytes(gzip.compress(content) if how == "gz" else content)
        result = run("predict", model, path)
    assert result.exit_code == 0, result.output
    return [line.split(",")[2] for line in result.stdout.splitlines()[1:]]


def expected(model, *columns):
    """Return the probabilities of rows of which None is a gap."""
    arrays = {name: pa.array(values, pa.float64()) for name, values in zip("xz", columns)}
    return [str(row[1]) for row in fuselearn.load(model).predict_proba(pa.table(arrays)).tolist()]


ONE_COLUMN = {
    "blank lines": ("x\n2.0\n\n-2.0\n\n\n2.5\n", [2.0, None, -2.0, None, None, 2.5]),
    "blank at the beginning": ("x\n\n2.0\n", [None, 2.0]),
    "blank at the end": ("x\n2.0\n\n", [2.0, None]),
    "without an end": ("x\n2.0\n\n-2.0", [2.0, None, -2.0]),
    "CRLF": ("x\r\n2.0\r\n\r\n-2.0\r\n", [2.0, None, -2.0]),
    "CRLF at the end": ("x\r\n2.0\r\n\r\n", [2.0, None]),
    "quoted": ('x\n"2.0"\n""\n"-2.0"\n', [2.0, None, -2.0]),
    "blanks": ("x\n2.0\n  \n-2.0\n", [2.0, None, -2.0]),
    "words": ("x\n2.0\nNA\n nan\n-2.0\n", [2.0, None, None, -2.0]),
}
TWO_COLUMNS = {
    "blank lines": ("x,z\n2,1\n\n-2,1\n", [2, None, -2], [1, None, 1]),
    "blank at the end": ("x,z\n2,1\n-2,1\n\n\n", [2, -2], [1, 1]),
    "blanks at the end": ("x,z\n2,1\n-2, \n  \n \n", [2, -2], [1, None]),
    "CRLF": ("x,z\r\n2,1\r\n\r\n-2,1\r\n\r\n", [2, None, -2], [1, None, 1]),
    "delimiters only": ("x,z\n2,1\n,\n-2,\n,\n", [2, None, -2, None], [1, None, None, None]),
    "without an end": ("x,z\n2,1\n-2,", [2, -2], [1, None]),
}


@pytest.mark.parametrize("how", ["file", "gz", "-"])
@pytest.mark.parametrize("name", ONE_COLUMN)
def test_every_line_of_one_column_is_a_row(name, how, models, tmp_path):
    content, values = ONE_COLUMN[name]
    assert predictions(models["one"], content.encode(), tmp_path, how) == expected(models["one"], values)


@pytest.mark.parametrize("how", ["file", "-"])
@pytest.mark.parametrize("name", TWO_COLUMNS)
def test_blank_lines_among_rows_of_several_columns(name, how, models, tmp_path):
    content, *columns = TWO_COLUMNS[name]
    assert predictions(models["two"], content.encode(), tmp_path, how) == expected(models["two"], *columns)


def test_line_breaks_in_cells(models, tmp_path):
    content = b'x,note\n2,"two\nlines"\n\n-2,"\n\n"\n2,"two\r\n\r\nlines"\n\n'
    table = pa.table({"x": [2.0, None, -2.0, 2.0], "note": ["two\nlines", None, None, "two\r\n\r\nlines"]})
    wanted = [str(row[1]) for row in fuselearn.load(models["text"]).predict_proba(table).tolist()]
    assert predictions(models["text"], content, tmp_path) == wanted


@pytest.mark.parametrize("block", [16, 37, 64])
def test_rows_over_the_ends_of_blocks(block):
    """Blank lines and blanks at the end of what is read at once are kept for what follows."""
    from fuselearn.cli.csv_lines import Rows

    rng = np.random.default_rng(block)
    for _ in range(20):
        rows = rng.choice(["1,2", "", " ", "3, ", ",", "4,5\r"], size=30).tolist()
        text = "\n".join(rows).encode() + rng.choice([b"", b"\n", b"\n\n \n"])
        stream = Rows(io.BytesIO(text), b"\r\n ")
        read = []
        while chunk := stream.read(block):
            read.append(chunk)
        stripped = text.rstrip(b"\r\n ")
        tail = text[len(stripped) :].partition(b"\n")
        assert b"".join(read) == stripped + tail[0] + tail[1]
        assert stream.n_lines == len(b"".join(read).splitlines())


@given(st.lists(st.sampled_from(['"', '""', "\n", ",", "a", " "]), min_size=1, max_size=20), st.integers(1, 9))
def test_lines_are_counted_outside_of_quotes(parts, block):
    """As Python's own reader counts them, wherever a block ends; a quote amid a cell is text."""
    from fuselearn.cli.csv_lines import Rows

    text = "".join(parts)
    stream = Rows(io.BytesIO(text.encode()), b"")
    while stream.read(block):
        pass
    assert stream.n_lines == len(list(python_csv.reader(io.StringIO(text, newline=""))))


@pytest.mark.parametrize("how", ["file", "gz", "-"])
def test_a_row_that_gets_lost_is_told(how, models, tmp_path, monkeypatch):
    """Whatever the reason: rows are counted apart from the reader, in files with quotes too."""
    content = b'x,note\n2,"two\nlines"\n1,"a ""b"""\n3,5"\n-2,"n"\n'
    assert len(predictions(models["text"], content, tmp_path, how)) == 4
    read = csv.open_csv

    @contextmanager
    def without_last_row(*arguments, **settings):
        with read(*arguments, **settings) as reader:
            yield [batch.slice(0, batch.num_rows - (batch[0][-1].as_py() == "-2")) for batch in reader]

    monkeypatch.setattr(csv, "open_csv", without_last_row)
    path = tmp_path / ("data.csv.gz" if how == "gz" else "data.csv")
    data, piped = ("-", content) if how == "-" else (path, None)
    result = run("predict", models["text"], data, input=piped)
    refused(result, "has 4 rows below the names, but only 3 of them could be read", "quotes and line ends")


def test_a_quote_that_is_not_closed_is_refused(models, tmp_path):
    """It makes one cell of all that follows it, which may well fit the columns."""
    path = tmp_path / "data.csv"
    path.write_bytes(b'x,note\n2,"two\nlines"\n1,"a\n3,5\n-2,n\n')
    refused(run("predict", models["text"], path), "a quote", "in row 2", "not closed")


def test_lines_that_end_with_cr_only_are_refused(models, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"x,z\n1,2\r3,4\n5,6\n")
    refused(run("predict", models["two"], path), "2 lines below the names, but 3 rows", "CR only")


def test_rows_without_any_value_are_left_out_of_the_fit(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x_1,x_2,kind\n" + "1,2,a\n\n3,1,b\n" * 8)
    usual = ["--target", "kind", "--method", "shareboost", "--set", "n_estimators=2"]
    result = run("fit", path, *usual, "--output", tmp_path / "model.fuse")
    assert result.exit_code == 0, result.output
    assert "8 of 24 rows have no 'kind' and are left out." in result.stderr


def compressed():
    rows = "".join(f"{number / 7},{number}\n" for number in range(3000))
    return gzip.compress(f"x,z\n{rows}".encode())


DAMAGED = {
    "cut off": (lambda content: content[: len(content) // 2], ["damaged or cut off", "copy it again"]),
    "cut off in its head": (lambda content: content[:12], ["damaged or cut off"]),
    "a wrong checksum": (lambda content: content[:-8] + b"\0\0\0\0" + content[-4:], ["CRC check failed"]),
    "a byte changed": (lambda content: content[:60] + b"\xff\xff\xff\xff" + content[64:], ["cannot be read as csv"]),
    "something after it": (lambda content: content + b"more", ["cannot be read as csv"]),
    "zlib": (lambda content: zlib.compress(gzip.decompress(content)), ["named .gz, but is not compressed with gzip"]),
    "text": (gzip.decompress, ["named .gz, but is not compressed with gzip", "rename it"]),
}


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_gzip(name, encoding, models, tmp_path):
    damage, words = DAMAGED[name]
    path = tmp_path / "data.csv.gz"
    path.write_bytes(damage(compressed()))
    output = tmp_path / "predictions.csv"
    refused(run("predict", models["two"], path, "--encoding", encoding, "--output", output), "data.csv.gz", *words)
    assert not output.exists()


def test_text_named_gz_is_read_where_its_format_is_given(models, tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.decompress(compressed()))
    result = run("predict", models["two"], path, "--format", "csv")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 3001


def test_standard_input_of_another_kind(models):
    refused(run("predict", models["two"], "-", input=compressed()), "standard input is gzip", "unpack it first")
    written = io.BytesIO()
    parquet.write_table(pa.table({"x": [1.0]}), written)
    refused(run("predict", models["two"], "-", input=written.getvalue()), "is parquet", "--format parquet")


@pytest.mark.parametrize("encoding", ["rot13", "hex", "base64", "zip", "bz2", "quopri", "uu", "idna", "punycode"])
def test_codecs_that_are_not_of_text(encoding, models, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,z\n1,2\n")
    words = [f"--encoding {encoding!r} is not an encoding of text files"]
    refused(run("predict", models["two"], path, "--encoding", encoding), *words)


@pytest.mark.parametrize("encoding", ["unicode_escape", "raw_unicode_escape", "undefined"])
def test_encodings_that_no_file_has(encoding, models):
    refused(run("predict", models["two"], "-", "--encoding", encoding, input=b"x,z\n1,2\n"), "not an encoding of text")


@pytest.mark.parametrize("encoding", ["utf-7", "utf-32", "cp037", "shift_jis", "utf-8-sig", "iso2022_jp"])
def test_other_encodings_of_text(encoding, models, tmp_path):
    content = "x,z\n2,1\n\n-2,1\n".encode(encoding)
    result = run("predict", models["two"], "-", "--encoding", encoding, input=content)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 4


def test_names_that_no_file_can_have(models):
    for name in ("x" * 300 + ".csv", "/".join(["y" * 200] * 30) + ".parquet", "zero\0.csv"):
        refused(run("predict", models["two"], name), "cannot be opened")


class CountedName(str):
    """A name that counts how often it is compared with another; a look-up by hash compares once."""

    __slots__ = ()
    __hash__ = str.__hash__
    n_comparisons = 0

    def __eq__(self, other):
        CountedName.n_comparisons += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_names_are_looked_up_in_linear_time(suffix, tmp_path, monkeypatch):
    from fuselearn.cli.csv_files import CsvFile
    from fuselearn.cli.typed_files import ParquetFile

    def counted(read):
        def names_of(self, *arguments):
            read(self, *arguments)
            self.names = [CountedName(name) for name in self.names]

        return names_of

    counts = []
    for n_columns in (100, 400):
        rng = np.random.default_rng(0)
        table = {f"{'ab'[number % 2]}_{number}": rng.normal(size=20) for number in range(n_columns)}
        table = pa.table({**table, "kind": ["x", "y"] * 10})
        path, model = tmp_path / f"{n_columns}.{suffix}", tmp_path / f"{n_columns}.fuse"
        csv.write_csv(table, path) if suffix == "csv" else parquet.write_table(table, path)
        usual = ["--target", "kind", "--method", "shareboost", "--set", "n_estimators=2", "--output", model, "--force"]
        fit = ["fit", path, *usual, "--view", "a=a_*,*", "--view", "b=b_*"]
        assert run(*fit).exit_code == 0
        CountedName.n_comparisons = 0
        with monkeypatch.context() as patch:
            for reader in (CsvFile, ParquetFile):
                patch.setattr(reader, "__init__", counted(reader.__init__))
            patch.setattr("fuselearn.cli.fit.save_model", lambda *arguments, **settings: None)  # these are no names
            for arguments in (fit, ["predict", model, path]):
                result = run(*arguments)
                assert result.exit_code == 0, result.output
        counts.append(CountedName.n_comparisons)
    assert counts[1] < 6 * counts[0]  # a quadratic look-up makes sixteen times as many


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
    assert output.read_text(encoding="utf-8") == "theirs"
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
    assert (tmp_path / "page-2.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_leaderboard_is_kept_beside_one_that_appeared(data, tmp_path, appearing):
    output = tmp_path / "board.md"
    appearing(output, comparison, "run_cell")
    arguments = ["--target", "outcome", "--id", "patient", *NUMBERS, "--methods", "mkl_uniform", "--runs", "2"]
    check_kept(run("compare", data, *arguments, "--output", output), output, tmp_path / "board-2.md")
    assert "mkl_uniform" in (tmp_path / "board-2.md").read_text(encoding="utf-8")


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
    assert sorted(path.read_text(encoding="utf-8") for path in tmp_path.iterdir()) == ["0", "1", "2", "3"]


class SlowRows(io.BytesIO):
    """Rows that come slowly, and never end; it knows whether one is being read."""

    def __init__(self):
        super().__init__(b"x,y\n")
        self.n_read, self.is_read = 0, threading.Event()

    def read(self, size=-1):
        self.is_read.set()
        time.sleep(0.02)
        self.n_read += 1
        self.is_read.clear()
        return b"1,2\n" * 200


def test_nothing_reads_on_where_rows_are_left():
    """A thread in Python's code while the process ends keeps it from ending, or kills it."""
    rows = SlowRows()
    with open_file(Source("rows.csv"), rows) as opened:
        batches = opened.batches(["x", "y"], {"x": pa.float64(), "y": pa.float64()}, 1)
        assert next(batches).num_rows > 0
    assert not rows.is_read.is_set()
    done = rows.n_read
    time.sleep(0.1)
    assert rows.n_read == done
