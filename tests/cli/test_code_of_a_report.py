"""The code that a report of the command line shows makes the same report."""

import json

import pyarrow as pa
from pyarrow import csv

import fuselearn
from tests.cli.command_line import run
from tests.cli.patients import patients


def test_the_code_of_a_report_makes_it_again(tmp_path, monkeypatch):
    """Decimal commas, dates, other words for nothing and another title are in the code, too."""
    table = patients()
    days = [f"2024-{1 + row % 12:02d}-11" for row in range(table.num_rows)]
    numbers = [f"{value:.4f}".replace(".", ",") for value in table["image_0"].to_pylist()]
    numbers[3] = "?"
    told = (
        table.select(["patient", "outcome", "site"])
        .append_column("rna_0", pa.array(numbers))
        .append_column("rna_1", pa.array(days))
    )
    monkeypatch.chdir(tmp_path)
    csv.write_csv(told, "t.csv", csv.WriteOptions(delimiter=";"))
    usual = ["--target", "outcome", "--id", "patient", "--method", "shareboost", "--set", "n_estimators=3"]
    how = ["--delimiter", ";", "--decimal", ",", "--na-values", "?"]
    assert run("fit", "t.csv", *usual, *how, "--output", "model.fuse").exit_code == 0
    report = ["report", "model.fuse", "--data", "t.csv", "--delimiter", ";", "--title", "Sites & days"]
    result = run(*report, "--output", "first.html", "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)["summary"]
    names = {}
    exec(summary["reproduce"]["code"].replace("fuselearn.FitReport(", "made = fuselearn.FitReport("), names)
    again = fuselearn.FitReport(
        names["model"], names["rows"], names["rows"]["outcome"], ids=names["rows"]["patient"], title="Sites & days"
    ).summary
    assert again["title"] == "Sites & days"
    assert again["quality"] == summary["quality"]
    result = run(*report, "--output", "second.html", "--date-format", "%d.%m.%Y", "--json")
    assert json.loads(result.stdout)["summary"]["reproduce"]["code"] is None
