"""One file per view: joined by the id, known by view and name, and refused in words where ids do not agree."""

import json
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from pyarrow import csv

import fuselearn
from fuselearn.cli.files import Source, ViewFile, open_data
from fuselearn.cli.typed_files import ParquetFile
from tests.cli.command_line import run

USUAL = ["--target", "outcome", "--on", "patient", "--method", "shareboost", "--set", "n_estimators=5", "--force"]


@pytest.fixture
def files(table, tmp_path, monkeypatch):
    """Labels of 90 patients; RNA of the last 80 in another order, protein of the first 70 and of one more."""
    monkeypatch.chdir(tmp_path)
    csv.write_csv(table.select(["patient", "outcome", "site"]), "labels.csv")
    rna = table.select([f"rna_{number}" for number in range(4)]).rename_columns([f"g{number}" for number in range(4)])
    rna = rna.append_column("patient", table["patient"]).slice(10)
    csv.write_csv(rna.take(np.random.default_rng(0).permutation(80)), "rna.csv")
    protein = table.select(["patient", "image_0", "image_1"]).rename_columns(["patient", "g0", "g1"]).slice(0, 70)
    other = pa.table({"patient": ["q1"], "g0": [9.0], "g1": [9.0]})
    pq.write_table(pa.concat_tables([protein, other]), "protein.parquet", row_group_size=8)
    return tmp_path


VIEWS = ["--view", "rna=rna.csv", "--view", "protein=protein.parquet"]


def fitted(*arguments):
    result = run("fit", "labels.csv", *USUAL, *arguments, "--output", "model.fuse", "--json")
    assert result.exit_code == 0, result.output
    return fuselearn.load("model.fuse"), json.loads(result.stdout)


def predicted(*arguments):
    result = run("predict", "model.fuse", "labels.csv", *arguments, "--output", "p.parquet", "--force")
    assert result.exit_code == 0, result.output
    return pq.read_table("p.parquet"), result.stderr


def test_views_of_files_make_the_model_of_one_table(files, table):
    """The same rows in one table, with gaps where a file has no row, give the same model and predictions."""
    model, summary = fitted(*VIEWS)
    assert model.columns_.views == {
        "rna": ["rna: g0", "rna: g1", "rna: g2", "rna: g3"],
        "protein": ["protein: g0", "protein: g1"],
    }
    assert summary["notes"] == [
        "1 column is in no view and left out: site.",
        "Views, a file each: rna (4), protein (2)",
        "rna.csv has no row for 10 of 90 ids: the view 'rna' is missing there.",
        "protein.parquet has no row for 20 of 90 ids: the view 'protein' is missing there.",
        "1 id is only in protein.parquet, and not in labels.csv: left out.",
    ]
    columns = {f"rna: g{number}": table[f"rna_{number}"].to_numpy() for number in range(4)}
    columns |= {f"protein: g{number}": table[f"image_{number}"].to_numpy() for number in range(2)}
    whole = np.column_stack(list(columns.values()))
    whole[:10, :4] = np.nan
    whole[70:, 4:] = np.nan
    one = fuselearn.ShareBoostClassifier(views=[slice(0, 4), slice(4, 6)], n_estimators=5, random_state=0)
    one.fit(whole, table["outcome"].to_pylist())
    for rows in (7, 50_000):
        output, _ = predicted(*VIEWS, "--chunk-rows", rows)
        assert output["patient"].to_pylist() == table["patient"].to_pylist()
        np.testing.assert_array_equal(output["probability_ill"].to_numpy(), one.predict_proba(whole)[:, 0])


def test_a_view_whose_file_is_left_out_is_missing(files):
    fitted(*VIEWS)
    output, told = predicted("--view", "protein=protein.parquet")
    assert "There is no file of the view 'rna': it is taken as missing in every row." in told
    prior = output["probability_ill"].to_numpy()[70:]  # of patients without protein, too
    np.testing.assert_allclose(prior, 1 / 3, atol=0.01)


def test_a_file_of_another_view_is_refused(files):
    """Whether the file of the other view is given, too, or none of the columns is known."""
    fitted(*VIEWS)
    csv.write_csv(csv.read_csv("rna.csv").rename_columns(["patient", "p0", "p1", "p2", "p3"]), "other.csv")
    for views in (["--view", "rna=other.csv"], ["--view", "rna=other.csv", "--view", "protein=protein.parquet"]):
        result = run("predict", "model.fuse", "labels.csv", *views)
        assert result.exit_code == 1
        assert "for 'rna' has none of the columns of this view, such as 'g0', but others, such as 'p0'" in result.stderr
        assert "Name the file" not in result.stderr


def test_rows_without_any_view_are_left_out_by_fit_and_compare(files, table):
    csv.write_csv(table.select(["patient", "rna_0"]).slice(20), "few.csv")
    _, summary = fitted("--view", "few=few.csv")
    assert summary["rows"] == 70
    assert "20 of 90 rows have no value in any view and are left out." in summary["notes"]
    result = run(
        "compare", "labels.csv", "--target", "outcome", "--on", "patient", "--view", "few=few.csv",
        "--methods", "svm_vote", "--runs", 2,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "70 objects" in result.stdout


def test_globs_targets_and_dropped_columns_of_files(files):
    model, summary = fitted("--view", "rna=rna.csv::g0,g2:g3", "--view", "place=labels.csv::s*", "--drop", "rna: g1")
    assert model.columns_.views == {"rna": ["rna: g0", "rna: g2", "rna: g3"], "place": ["place: site"]}
    assert summary["views_found"] == "a file each"
    labelled = csv.read_csv("rna.csv").append_column("outcome", pa.array(["ill"] * 80))
    csv.write_csv(labelled, "rna.csv")
    model, summary = fitted("--view", "rna=rna.csv", "--drop", "g0,g1")
    assert model.columns_.views["rna"] == ["rna: g2", "rna: g3"]
    assert "rna.csv has 'outcome', which is the target: the view 'rna' does without it." in summary["notes"]


def test_inspect_shows_columns_as_their_files_call_them(files):
    fitted(*VIEWS)
    assert "rna: g0, g1, g2, g3\n" in run("inspect", "model.fuse").stdout


def test_report_of_files(files):
    fitted(*VIEWS)
    result = run("report", "model.fuse", "--data", "labels.csv", *VIEWS, "--output", "report.html")
    assert result.exit_code == 0, result.output
    assert "protein" in (files / "report.html").read_text(encoding="utf-8")


def test_the_command_of_a_report_makes_it_again(files):
    """What stands in the report is what was given, files of views and all, and runs as it stands."""
    cut = "--delimiter", ";"
    table = csv.read_csv("labels.csv")
    csv.write_csv(table, "new labels.csv", csv.WriteOptions(delimiter=";"))
    csv.write_csv(csv.read_csv("rna.csv"), "rna.csv", csv.WriteOptions(delimiter=";"))
    views = ["--view", "rna=rna.csv::g[0-2],g3", VIEWS[2], VIEWS[3]]
    fitted = run(
        "fit", "new labels.csv", *USUAL, *cut, *views, "--na-values", "?", "--strict", "--output", "model.fuse"
    )
    assert fitted.exit_code == 0, fitted.output
    given = ["--on", "patient", *views, "--target", "outcome", *cut, "--title", "Two views", "--allow-missing-columns"]
    report = ["report", "model.fuse", "--data", "new labels.csv", "--output", "report.html"]
    result = run(*report, *given, "--strict", "--na-values", "-9", "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)["summary"]
    assert summary["reproduce"]["code"] is None
    fit_again, report_again = map(shlex.split, summary["reproduce"]["command"].splitlines())
    for command in (fit_again, report_again):
        again = run(*command[1:], "--json", *(["--force"] if "--force" not in command else []))
        assert again.exit_code == 0, again.output
    assert {word for word in [*given, "--strict", "--na-values"] if word.startswith("--")} <= set(report_again)
    known = json.loads(again.stdout)["summary"]
    assert known["reproduce"] == summary["reproduce"]
    assert known["title"] == "Two views"
    assert known["quality"] == summary["quality"]


@pytest.mark.long
def test_explanations_and_next_views_of_files(files):
    arguments = ["--target", "outcome", "--on", "patient", "--output", "model.fuse", "--set", "max_fits=12"]
    assert run("fit", "labels.csv", *arguments, *VIEWS).exit_code == 0
    for command, output in (("explain", "explained.csv"), ("next", "next.csv")):
        result = run(command, "model.fuse", "labels.csv", *VIEWS, "--output", output)
        assert result.exit_code == 0, result.output
        read = csv.read_csv(output)
        assert read.column_names[0] == "patient"
        assert set(read["patient"].to_pylist()) == {f"p{number:03d}" for number in range(90)}


@pytest.mark.parametrize(
    ("rna", "words"),
    [
        ("patient,g0\np001,1\np2,2\np001,3\n", "rna.csv has more than one row of 1 id in the column 'patient': 'p001'"),
        ("patient,g0\np001,1\n,2\n", "rna.csv has no id in row 2 of the column 'patient'"),
        ("patient,g0\nP001,1\np002,2\n", "1 id is spelled differently in labels.csv and rna.csv: 'p001' and 'P001'"),
        ("patient,g0\np1,1\np002,2\n", "1 id is spelled differently in labels.csv and rna.csv: 'p001' and 'p1'"),
        ("patient,g0\nx1,1\nx2,2\n", "No id of labels.csv is in rna.csv: 'patient' holds 'p000', 'p001', 'p002'"),
        ("person,g0\nx1,1\n", "--on names the column 'patient', which rna.csv does not have"),
        ("patient\np001\n", "--view rna: rna.csv has no columns beside 'patient'"),
    ],
)  # fmt: skip
def test_ids_that_do_not_agree_are_refused(files, rna, words):
    (files / "rna.csv").write_text(rna)
    result = run("fit", "labels.csv", *USUAL, "--view", "rna=rna.csv", "--output", "model.fuse")
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stderr.splitlines()[-1].startswith("fuselearn: ")


def test_ids_of_other_types_are_refused(files, table):
    numbers = list(range(90))
    for name, ids in (("data", numbers), ("view", [f"{number:03d}" for number in numbers])):
        pq.write_table(table.append_column("key", pa.array(ids)), f"{name}.parquet")
    arguments = ["--target", "outcome", "--on", "key", "--view", "rna=view.parquet::rna_*", "--output", "model.fuse"]
    result = run("fit", "data.parquet", *arguments)
    assert result.exit_code == 1
    assert (
        "The ids are numbers in data.parquet, such as 0, 1, 2, and text in view.parquet, such as '000'" in result.stderr
    )
    csv.write_csv(table.append_column("key", pa.array([f"{number:03d}" for number in numbers])), "data.csv")
    result = run("fit", "data.csv", *arguments, "--method", "shareboost", "--set", "n_estimators=2")
    assert result.exit_code == 0, result.output
    csv.write_csv(table.append_column("key", pa.array(numbers)), "data.csv")
    result = run("fit", "data.csv", *arguments, "--force")
    assert "100 ids" not in result.stderr
    assert "90 ids are spelled differently in data.csv and view.parquet: '0' and '000'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--view", "rna=none.csv"], "--view rna: with --on a view is a file, and none.csv does not exist"),
        (["--view", "rna=rna_*"], "For columns of DATA write rna=DATA::rna_*."),
        (["--view", "rna=rna.csv", "--view", "rna=rna.csv"], "--view names 'rna' more than once"),
        (["--view", "rna"], "--view takes NAME=FILE or NAME=FILE::GLOB with --on"),
        ([], "name them with --view NAME=FILE"),
        ([*VIEWS, "--id", "site"], "--on names the ids, 'patient', in the output too"),
        ([*VIEWS, "--drop", "nothing"], "--drop names the column 'nothing'"),
        (["--view", "rna=rna.csv::h*"], "no column of the data matches 'h*' of the view 'rna'"),
        (["--view", "rna=-"], "only DATA can come from standard input"),
    ],
)
def test_options_that_do_not_go_together(files, arguments, words):
    result = run("fit", "labels.csv", *USUAL, *arguments, "--output", "model.fuse")
    assert result.exit_code == 1
    assert words in result.stderr


def test_globs_select_the_columns_of_the_fit_again(files):
    fitted("--view", "rna=rna.csv::g[01],g2")
    without = run("predict", "model.fuse", "labels.csv", "--on", "patient", "--view", "rna=rna.csv")
    assert without.exit_code == 0, without.stderr
    for globs in ("g[01],g2", "g*", "g0:g2"):
        done = run("predict", "model.fuse", "labels.csv", "--on", "patient", "--view", f"rna=rna.csv::{globs}")
        assert done.stdout == without.stdout
    done = run("predict", "model.fuse", "labels.csv", "--on", "patient", "--view", "rna=rna.csv::g0")
    assert done.exit_code == 1
    assert "--view rna=rna.csv::g0 leaves out the column 'g1' and 1 more" in done.stderr
    assert "without globs: rna=rna.csv." in done.stderr
    done = run("predict", "model.fuse", "labels.csv", "--on", "patient", "--view", "rna=rna.csv::h*")
    assert done.exit_code == 1
    assert "no column of the data matches 'h*' of the view 'rna'" in done.stderr


def test_models_and_files_that_do_not_go_together(files, fit, data):
    fit("--view", "rna=rna_*")
    result = run("predict", "model.fuse", data, "--on", "patient", "--view", "rna=rna.csv")
    assert "this one takes all columns from DATA" in result.stderr
    fitted(*VIEWS)
    result = run("predict", "model.fuse", "labels.csv", "--view", "image=rna.csv")
    assert "its views are rna, protein" in result.stderr
    result = run("predict", "model.fuse", "labels.csv")
    assert result.exit_code == 1
    assert "Name the file of each view: --view rna=FILE." in result.stderr


def test_sorted_parquet_is_joined_in_parts(tmp_path, monkeypatch):
    """Of files sorted alike every row group is read once or twice; others are read in whole, with the same rows."""
    rng = np.random.default_rng(0)
    ids = np.sort(rng.choice(10_000, 2_000, replace=False))
    kept = np.sort(rng.choice(ids, 1_500, replace=False))
    view = pa.table({"key": kept, "value": kept * 2.0})
    pq.write_table(view, tmp_path / "view.parquet", row_group_size=100)
    pq.write_table(view.take(rng.permutation(len(kept))), tmp_path / "mixed.parquet", row_group_size=100)
    pq.write_table(pa.table({"key": ids}), tmp_path / "data.parquet")
    read = []
    group = ParquetFile.group
    monkeypatch.setattr(
        ParquetFile, "group", lambda self, number, *rest: read.append(number) or group(self, number, *rest)
    )
    expected = np.where(np.isin(ids, kept), ids * 2.0, np.nan)
    for name in ("view", "mixed"):
        source = Source(
            str(tmp_path / "data.parquet"), on="key", views=(ViewFile("v", str(tmp_path / f"{name}.parquet")),)
        )
        with open_data(source) as opened:
            tables = list(opened.batches(["key", "v: value"], {"v: value": pa.float64()}, 100))
        assert [len(table) for table in tables] == [100] * 20
        values = np.concatenate([table["v: value"].to_numpy() for table in tables])
        np.testing.assert_array_equal(values, expected)
        if name == "view":
            assert 15 <= len(read) <= 30
            read.clear()
    assert not read


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            ["1.5"] * 40 + ["many"] * 40,
            "rna.csv has text in the column 'rna: g0' of the view 'rna', such as 'many' in row",
        ),
        (["1.5"] * 79 + ["inf"], "rna.csv has an infinite value in the column 'rna: g0', row"),
    ],
)
def test_cells_are_found_by_the_row_of_data(files, cells, words):
    """The view's file has an order of its own: what names the object is the row of DATA."""
    rna = csv.read_csv("rna.csv")
    csv.write_csv(rna.set_column(rna.column_names.index("g0"), "g0", pa.array(cells)), "rna.csv")
    ids = [name for name, cell in zip(rna["patient"].to_pylist(), cells) if cell != "1.5"]
    result = run("fit", "labels.csv", *USUAL, "--view", "rna=rna.csv", "--output", "model.fuse")
    row = min(int(name[1:]) for name in ids) + 1
    assert f"{words} {row} of labels.csv" in result.stderr


def test_too_large_a_file_says_what_to_do(files, monkeypatch):
    def fail(*arguments):
        raise MemoryError

    monkeypatch.setattr(ParquetFile, "table", fail)
    result = run("fit", "labels.csv", *USUAL, *VIEWS, "--output", "model.fuse")
    assert (
        "protein.parquet does not fit into memory; write it and DATA as Parquet, both sorted by 'patient'"
        in result.stderr
    )


def test_ids_are_checked_across_batches(tmp_path):
    csv.write_csv(pa.table({"key": [*range(3000), 5]}), tmp_path / "data.csv")
    csv.write_csv(pa.table({"key": [5, 6], "value": [1.0, 2.0]}), tmp_path / "view.csv")
    source = Source(str(tmp_path / "data.csv"), on="key", views=(ViewFile("v", str(tmp_path / "view.csv")),))
    with open_data(source) as opened, pytest.raises(typer.Exit):
        list(opened.batches(["key", "v: value"], {"v: value": pa.float64()}, 100))


@pytest.mark.parametrize("target", ["extra: subtype", "subtype"])
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_target_in_the_file_of_a_view_is_refused(command, target, files, table):
    """It would be in the view, too, and tell itself."""
    csv.write_csv(pa.table({"patient": table["patient"], "subtype": table["outcome"]}), "extra.csv")
    output = ["--output", "model.fuse"] if command == "fit" else []
    arguments = ["--on", "patient", *VIEWS, "--view", "extra=extra.csv", *output]
    result = run(command, "labels.csv", "--target", target, *arguments)
    assert result.exit_code == 1
    assert (
        f"--target names the column {target!r}, which the file of the view 'extra' has, but labels.csv does not; write "
        "it into labels.csv" in result.stderr
    )
    if command == "fit":
        result = run("fit", "labels.csv", "--target", "outcome", "--group", target, *arguments)
        assert result.exit_code == 1
        assert f"--group names the column {target!r}, which the file of the view 'extra' has" in result.stderr
    result = run(command, "labels.csv", "--target", "outcom", *arguments)
    assert "its columns are patient, outcome, site. Did you mean 'outcome'?" in result.stderr


def test_a_file_as_a_view_without_ids_is_refused_with_the_way(files):
    result = run("fit", "labels.csv", "--target", "outcome", *VIEWS, "--output", "model.fuse")
    assert result.exit_code == 1
    assert "matches 'rna.csv' of the view 'rna'. It is a file: --on, with the column of ids, joins" in result.stderr
    result = run("fit", "labels.csv", "--target", "Outcome", "--output", "model.fuse")
    assert "Did you mean 'outcome'?" in result.stderr
    # No file can have such a name.
    result = run("fit", "labels.csv", "--target", "outcome", "--view", f"a={'x' * 300}", "--output", "model.fuse")
    assert result.exit_code == 1
    assert "of the view 'a'." in result.stderr
