"""Odd tables: what was written is what is learnt from, or the refusal says in one line what to do."""

import builtins
import json
import sys

import pyarrow
import pytest
from pyarrow import parquet

from fuselearn.cli import columns
from tests.cli import numbers_for_nothing, text_tables
from tests.cli.command_line import run
from tests.cli.odd_tables import READ, REFUSED, X, plain, same, sheet, workbook

ALL_READ = READ | numbers_for_nothing.READ | text_tables.READ
ALL_REFUSED = REFUSED | text_tables.REFUSED
FIT = ["--target", "kind", "--id", "id", "--method", "shareboost", "--set", "n_estimators=1"]


@pytest.fixture
def fit(tmp_path, monkeypatch):
    """Fit a file; the table that was learnt from, and the command's end."""
    monkeypatch.chdir(tmp_path)
    tables = []
    make = columns.training_table
    monkeypatch.setattr(columns, "training_table", lambda table, *rest: tables.append(table) or make(table, *rest))

    def call(name, content, *options):
        (tmp_path / name).write_bytes(content)
        result = run("fit", name, *FIT, *options, "--output", "model.fuse", "--force")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return tables, result

    return call


def test_there_are_enough_of_them():
    assert len(READ) + len(REFUSED) >= 60


@pytest.mark.parametrize("name", ALL_READ)
def test_a_table_is_read_as_it_was_written(name, fit):
    file, content, options, expected, *words = ALL_READ[name]
    tables, result = fit(file, content, *options)
    assert result.exit_code == 0, result.stderr
    for column, values in expected.items():
        assert same(tables[0].column(column).to_pylist(), values), tables[0].column(column).to_pylist()
    assert all(word in result.stderr for word in words), result.stderr
    if not words:
        assert "cell" not in result.stderr
    # The very same file is predicted without a further word on other cells than at fit.
    predicted = run(
        "predict", "model.fuse", file, *([] if "--date-format" in options else options), "--output", "p.csv", "--force"
    )
    assert predicted.exit_code == 0, predicted.stderr


@pytest.mark.parametrize("name", ALL_REFUSED)
def test_a_table_is_refused_with_a_remedy(name, fit):
    file, content, options, words = ALL_REFUSED[name]
    _, result = fit(file, content, *options)
    assert result.exit_code == 1, result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("fuselearn: ")
    assert [word for word in words if word not in last] == [], last


def test_excel_needs_its_extra(fit, monkeypatch):
    content, real = workbook(sheet()), builtins.__import__

    def without_openpyxl(name, *arguments, **settings):
        if name.startswith("openpyxl"):
            raise ModuleNotFoundError(name="openpyxl")
        return real(name, *arguments, **settings)

    monkeypatch.setattr(builtins, "__import__", without_openpyxl)
    monkeypatch.delitem(sys.modules, "openpyxl", raising=False)
    _, result = fit("t.xlsx", content)
    assert result.exit_code == 1
    assert "pip install 'fuselearn[excel]', or save it as CSV UTF-8 in Excel" in result.stderr


def test_options_of_the_fit_hold_for_predict(fit, tmp_path):
    content = plain(day=["31.12.2020", "01.02.2021"] * 12)
    fit("t.csv", content, "--date-format", "%d.%m.%Y")
    result = run("predict", "model.fuse", "t.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    (tmp_path / "t.csv").write_bytes(plain(day=["2020-12-31", "soon"] * 12))
    result = run("predict", "model.fuse", "t.csv")
    assert result.exit_code == 1
    assert "'soon' in the column 'day', and such text in" in result.stderr


@pytest.mark.parametrize("labels", [["a", "a ", "b", "b"], ["a ", "a ", "b", "b"], ["True", " True", "False", "False"]])
def test_a_report_of_labels_with_blanks_has_no_code(fit, tmp_path, labels):
    """Pandas would leave the blanks in the labels, which are none of the classes then."""
    fit("t.csv", plain(kind=labels * 6))
    result = run("report", "model.fuse", "--data", "t.csv", "--output", "r.html", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["summary"]["reproduce"]["code"] is None
    (tmp_path / "t.csv").write_bytes(plain(kind=[label.strip() for label in labels] * 6))
    result = run("report", "model.fuse", "--data", "t.csv", "--output", "r.html", "--force", "--json")
    assert "pandas.read_csv" in json.loads(result.stdout)["summary"]["reproduce"]["code"]


def test_few_rows_with_an_odd_cell_are_predicted(fit, tmp_path):
    """A service predicts row by row: one odd cell is missing there as well, and is told of."""
    fit("t.csv", plain(w=X))
    (tmp_path / "one.csv").write_text("id,x,w\nq,1.5,unknown\n")
    (tmp_path / "gap.csv").write_text("id,x,w\nq,1.5,\n")
    odd, gap = run("predict", "model.fuse", "one.csv"), run("predict", "model.fuse", "gap.csv")
    said = "1 cell is not a number, unlike the others of the column, and counts as missing: 'unknown' in 'w'"
    assert said in odd.stderr
    assert odd.stdout == gap.stdout


def test_few_rows_with_another_decimal_sign_are_refused(tmp_path):
    """Ten odd cells are too many in any column, three in one that has no other."""
    train, new, model = tmp_path / "train.csv", tmp_path / "new.csv", tmp_path / "model.fuse"
    lines = [f"{number / 7:.3f},{'ab'[number % 2]}" for number in range(40)]
    train.write_text("\n".join(["x,kind", *lines]) + "\n")
    options = ["--method", "shareboost", "--set", "n_estimators=2", "--output", str(model)]
    assert run("fit", str(train), "--target", "kind", *options).exit_code == 0
    new.write_text("x\n" + '"0,5"\n"1,5"\n"2,5"\n')
    result = run("predict", str(model), str(new), "--output", str(tmp_path / "out.csv"))
    assert result.exit_code == 1
    assert "'0,5' in the column 'x'" in result.stderr
    assert "--decimal" in result.stderr


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ('"1,5"', "Add --decimal , if the comma"),
        ("1.234.567", "write them plainly"),
        ("1.5 mg", "where there were numbers"),
    ],
)
@pytest.mark.parametrize("n_rows", [1, 2])
def test_one_row_of_numbers_gone_wrong_is_refused(cell, words, n_rows, fit, tmp_path):
    """Nothing of its cells could be read, and a prediction of an empty row is none."""
    fit("t.csv", plain(w=X))
    (tmp_path / "new.csv").write_text("id,x,w\n" + f"q,1.5,{cell}\n" * n_rows)
    result = run("predict", "model.fuse", "new.csv")
    assert result.exit_code == 1
    assert words in result.stderr
    assert cell.strip('"') in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_row_with_a_unit_beside_one_without_is_predicted(suffix, fit, tmp_path):
    fit("t.csv", plain(w=X))
    cells = {"id": ["p", "q"], "x": [1.5, 2.5], "w": ["1.5 mg", "2.5"]}
    (tmp_path / "new.csv").write_text(
        "\n".join(map(",".join, zip(*([name, *map(str, cells[name])] for name in cells))))
    )
    parquet.write_table(pyarrow.table(cells), tmp_path / "new.parquet")
    result = run("predict", "model.fuse", f"new.{suffix}")
    assert result.exit_code == 0, result.stderr
    assert "'1.5 mg' in 'w'" in result.stderr


@pytest.mark.parametrize("cell", ["<5", "not recorded"])
def test_one_row_with_a_limit_of_detection_is_predicted(cell, fit, tmp_path):
    fit("t.csv", plain(w=X))
    (tmp_path / "new.csv").write_text(f"id,x,w\nq,1.5,{cell}\n")
    assert run("predict", "model.fuse", "new.csv").exit_code == 0


def test_one_row_with_another_date_is_refused(fit, tmp_path):
    fit("t.csv", plain(day=[f"2020-01-{1 + number:02d}" for number in range(24)]))
    (tmp_path / "new.csv").write_text("id,x,day\nq,1.5,31.12.2020\n")
    result = run("predict", "model.fuse", "new.csv")
    assert result.exit_code == 1
    assert "'31.12.2020' in the column 'day', where there were dates at fit" in result.stderr


def test_predict_reads_numbers_and_dates_as_fit_does(fit, tmp_path):
    days = [f"2020-{1 + number % 12:02d}-{1 + number:02d}" for number in range(24)]
    fit("t.csv", plain(w=[f"0x{number:02x}" for number in range(24)], day=[f"{day}T08" for day in days]))
    (tmp_path / "plain.csv").write_bytes(plain(w=range(24), day=[f"{day}T08:00" for day in days]))
    as_fitted, plainly = run("predict", "model.fuse", "t.csv"), run("predict", "model.fuse", "plain.csv")
    assert as_fitted.stderr == plainly.stderr == ""
    assert as_fitted.stdout == plainly.stdout


def test_a_format_of_dates_is_for_a_column_of_any_file(fit, tmp_path):
    (tmp_path / "visits.csv").write_text("id,day\n" + "".join(f"p{n:02d},{1 + n:02d}.12.2020\n" for n in range(24)))
    joined = ["fit", "t.csv", "--on", "id", "--view", "visits=visits.csv", "--target", "kind"]
    joined += ["--method", "shareboost", "--set", "n_estimators=1", "--output", "model.fuse", "--force"]
    fit("t.csv", plain())
    assert run(*joined, "--date-format", "day=%d.%m.%Y").exit_code == 0
    result = run(*joined, "--date-format", "dya=%d.%m.%Y")
    assert result.exit_code == 1
    assert "--date-format names the column 'dya'" in result.stderr


def test_a_format_of_the_fit_may_be_for_a_column_that_is_absent(fit, tmp_path):
    fit("t.csv", plain(day=["31.12.2020", "01.02.2021"] * 12), "--date-format", "day=%d.%m.%Y")
    (tmp_path / "new.csv").write_text("id,x\nq,1.5\n")
    lacking = ["predict", "model.fuse", "new.csv", "--allow-missing-columns"]
    assert run(*lacking).exit_code == 0
    assert run(*lacking, "--date-format", "day=%d.%m.%Y").exit_code == 1


def test_numbers_for_nothing_with_commas_hold_for_predict(fit, tmp_path):
    fit("t.csv", plain(w=["-999", "-9", *X[2:]]), "--na-values", "-999,-9")
    for cell in ("-9", ""):
        (tmp_path / f"new{cell}.csv").write_text(f"id,x,w\nq,1.5,{cell}\n")
    assert run("predict", "model.fuse", "new-9.csv").stdout == run("predict", "model.fuse", "new.csv").stdout


def test_a_report_of_a_file_that_states_its_delimiter_has_no_code(fit):
    """Pandas would take the line above the names for these."""
    fit("t.csv", b"sep=;\n" + plain().replace(b",", b";"))
    result = run("report", "model.fuse", "--data", "t.csv", "--output", "r.html", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["summary"]["reproduce"]["code"] is None


def test_comparisons_note_categories_that_begin_with_a_number(fit):
    fit("t.csv", plain(w=text_tables.ROOMS))
    result = run("compare", "t.csv", "--target", "kind", "--id", "id", "--methods", "svm_vote", "--runs", "1")
    assert "they are taken as categories" in result.stderr
    assert "1 run\n" in result.stdout or "1 run " in result.stdout, result.stdout
