import csv
import dataclasses
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn.evaluation import Table

CELLS = st.none() | st.text(max_size=6) | st.integers() | st.floats()
ROWS = st.lists(st.tuples(CELLS, CELLS), max_size=5)


@pytest.fixture
def table():
    rows = [("a", 0.12345, 3, 1.5), ("longer", None, 100, float("nan"))]
    return Table("Title", ("name", "score", "n", "time"), rows, note="A note.", decimals={"time": 1})


def test_text(table):
    assert table.to_text() == "\n".join(
        [
            "Title",
            "",
            "name    score    n  time",
            "------  -----  ---  ----",
            "a       0.123    3   1.5",
            "longer      –  100     –",
            "",
            "A note.",
        ]
    )
    assert str(table) == table.to_text()


def test_markdown(table):
    assert table.to_markdown() == "\n".join(
        [
            "### Title",
            "",
            "| name | score | n | time |",
            "| --- | ---: | ---: | ---: |",
            "| a | 0.123 | 3 | 1.5 |",
            "| longer | – | 100 | – |",
            "",
            "A note.",
        ]
    )


def test_json_is_strict_and_not_rounded(table):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    content = json.loads(table.to_json(), parse_constant=refuse)
    assert content == {
        "title": "Title",
        "columns": ["name", "score", "n", "time"],
        "rows": [["a", 0.12345, 3, 1.5], ["longer", None, 100, None]],
        "note": "A note.",
        "decimals": {"time": 1},
    }


def test_csv(table):
    assert table.to_csv() == "name,score,n,time\na,0.12345,3,1.5\nlonger,,100,\n"


def test_records_and_column(table):
    records = table.records()
    assert records[0] == {"name": "a", "score": 0.12345, "n": 3, "time": 1.5}
    assert np.isnan(records[1]["time"])
    assert table.column("score") == (0.12345, None)


def test_an_unknown_column_is_refused(table):
    with pytest.raises(ValueError, match=r"name must be a column of the table \(name, score, n, time\); got 'speed'"):
        table.column("speed")


def test_title_and_note_may_be_left_out():
    table = Table("", ["x"], [[1]])
    assert table.to_text() == "x\n-\n1"
    assert table.to_markdown() == "| x |\n| ---: |\n| 1 |"


def test_a_table_without_rows():
    table = Table("Empty", ("x", "long name"), ())
    assert table.to_text() == "Empty\n\nx  long name\n-  ---------"
    assert table.records() == []
    assert table.column("x") == ()


def test_numbers_stand_right_also_beside_words():
    lines = Table("", ("x", "words"), [("n/a", "b"), (7, "c"), (-0.5, "d")]).to_text().splitlines()
    assert lines[2:] == ["   n/a  b", "     7  c", "-0.500  d"]


def test_small_and_infinite_numbers():
    rows = [(-0.0001,), (float("inf"),), (float("-inf"),), (1e15,)]
    table = Table("", ("x",), rows, decimals={"x": 2})
    shown = [line.strip() for line in table.to_text().splitlines()[2:]]
    assert shown == ["0.00", "inf", "-inf", "1000000000000000.00"]
    assert json.loads(table.to_json())["rows"] == [[-0.0001], ["inf"], ["-inf"], [1e15]]


def test_no_decimals_at_all():
    assert Table("", ("x",), [(2.7,)], decimals={"x": 0}).to_text().splitlines()[-1] == "3"


def test_cells_of_several_lines_and_bars_do_not_break_the_layout():
    table = Table("", ("a|b",), [("one\ntwo",), ("x|y",)])
    assert table.to_text().splitlines() == ["a|b", "-------", "one two", "x|y"]
    assert table.to_markdown().splitlines() == [r"| a\|b |", "| --- |", "| one two |", r"| x\|y |"]
    assert list(csv.reader(table.to_csv().splitlines(keepends=True)))[1:] == [["one\ntwo"], ["x|y"]]


def test_numpy_numbers_become_plain_ones():
    table = Table("", ("a", "b", "c"), [(np.float32(0.5), np.int64(3), np.str_("x"))])
    assert [type(cell) for cell in table.rows[0]] == [float, int, str]
    assert json.loads(table.to_json())["rows"] == [[0.5, 3, "x"]]


def test_a_table_does_not_change():
    rows, decimals = [["a", 1]], {"y": 2}
    table = Table("", ["x", "y"], rows, decimals=decimals)
    rows[0][1] = 9
    rows.append(["b", 2])
    decimals["y"] = 7
    assert table == Table("", ("x", "y"), (("a", 1),), decimals={"y": 2})
    assert hash(table) == hash(Table("", ("x", "y"), (("a", 1),)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.title = "new"
    assert pickle.loads(pickle.dumps(table)) == table


@given(rows=ROWS)
def test_any_table_is_rectangular_and_comes_back_from_json(rows):
    table = Table("T", ("x", "y"), rows, note="n")
    again = Table(**json.loads(table.to_json()))
    expected = [
        tuple(None if c != c else str(c) if c in (float("inf"), -float("inf")) else c for c in row) for row in rows
    ]
    assert list(again.rows) == expected
    markdown = table.to_markdown().split("\n")
    assert len(markdown) == 2 + 2 + len(rows) + 2
    assert all(line.replace(r"\|", "").count("|") == 3 for line in markdown[2:-2])
    assert len(table.to_text().split("\n")) == 2 + 2 + len(rows) + 2


@pytest.mark.parametrize("suffix", ["md", "json", "txt", "csv"])
def test_saved_files_hold_the_format_of_their_suffix(table, tmp_path, suffix):
    path = tmp_path / f"results.{suffix}"
    path.write_text("old")
    table.save(str(path))
    form = {"md": table.to_markdown, "json": table.to_json, "txt": table.to_text, "csv": table.to_csv}[suffix]
    assert path.read_bytes().decode("utf-8") == form().rstrip("\n") + "\n"
    assert os.listdir(tmp_path) == [path.name]


def test_a_saved_file_has_the_usual_permissions(table, tmp_path):
    (tmp_path / "usual").touch()
    table.save(tmp_path / "table.md")
    assert (tmp_path / "table.md").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_the_file_is_replaced_at_once_or_not_at_all(table, tmp_path, monkeypatch):
    path = tmp_path / "table.md"
    path.write_text("old")
    moves = []

    def replace(source, target):
        moves.append((os.path.dirname(source), Path(source).read_text(encoding="utf-8"), path.read_text()))
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="the disk is full"):
        table.save(path)
    assert moves == [(str(tmp_path), table.to_markdown() + "\n", "old")]
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.md"]


@pytest.mark.parametrize("name", ["table.html", "table", "table.MD.gz"])
def test_an_unknown_suffix_is_refused(table, tmp_path, name):
    with pytest.raises(ValueError, match=r"path must end with \.md, \.json, \.txt, \.csv; got .*table"):
        table.save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there_is_refused(table, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"path must be in a folder that exists; there is no .*nowhere"):
        table.save(tmp_path / "nowhere" / "table.md")


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"title": None}, TypeError, "title must be a string; got None"),
        ({"note": 3}, TypeError, "note must be a string; got 3"),
        ({"columns": "xy"}, TypeError, "columns must be a sequence of strings; got the string 'xy'"),
        ({"columns": ("x", 2)}, TypeError, "columns must be strings; got 2"),
        ({"columns": ("x", "x")}, ValueError, "columns must be at least one, and all different"),
        ({"columns": (), "rows": ()}, ValueError, "columns must be at least one, and all different"),
        ({"rows": [(1,)]}, ValueError, "rows must have 2 cells, one per column; row 0 has 1"),
        ({"rows": ["ab"]}, TypeError, "rows must be sequences of cells; row 0 is 'ab'"),
        ({"rows": [3]}, TypeError, "rows must be sequences of cells; row 0 is 3"),
        ({"rows": [(1, 2), (1, True)]}, TypeError, "row 1 has True in column 'y'"),
        ({"rows": [(1, np.bool_(True))]}, TypeError, "row 0 has True in column 'y'"),
        ({"rows": [([1], 2)]}, TypeError, r"row 0 has \[1\] in column 'x'"),
        ({"decimals": {"z": 1}}, ValueError, r"decimals must name columns of the table \(x, y\); got 'z'"),
        ({"decimals": {"x": -1}}, ValueError, "decimals must be whole numbers of at least 0; got -1 for 'x'"),
        ({"decimals": {"x": 1.5}}, ValueError, "decimals must be whole numbers of at least 0; got 1.5 for 'x'"),
    ],
)
def test_what_is_no_table_is_refused(arguments, error, told):
    with pytest.raises(error, match=told):
        Table(**({"title": "T", "columns": ("x", "y"), "rows": ()} | arguments))
