"""``fuselearn suspects``: training labels that look wrong, with the ids of their rows."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import fuselearn
from fuselearn.persistence import describe
from tests.cli.bad_input.refusals import refused
from tests.cli.command_line import run
from tests.cli.patients import NUMBERS, numbers

FUSION = ["--method", "fusion", "--set", "learners=linear"]
WRONG = (3, 10, 47)
"""Rows whose labels are turned."""


@pytest.fixture
def mislabelled(table, tmp_path):
    """Write the patients with wrong labels, one row without a label and one without a view."""
    labels = table.column("outcome").to_pylist()
    for row in WRONG:
        labels[row] = "well" if labels[row] == "ill" else "ill"
    labels[5] = None
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for name in columns:
        if name.startswith(("rna", "image")):
            columns[name] = (3 * np.array(columns[name])).tolist()
            columns[name][8] = None
    changed = pa.table({**columns, "outcome": labels})
    arrow_csv.write_csv(changed, tmp_path / "wrong.csv")
    parquet.write_table(changed, tmp_path / "wrong.parquet")
    return tmp_path / "wrong.csv"


def test_rows_are_those_of_the_file_and_have_its_ids(fit, mislabelled, tmp_path):
    model, told = fit(*FUSION, *NUMBERS, data=mislabelled)
    path = tmp_path / "model.fuse"
    own = model.model_.suspects()
    assert told["suspect_labels"] == len(own) > 0
    assert told["noise_rates"] == pytest.approx({"outcome": model.model_.noise_rates_[0]})
    assert "skipped_rows" not in told
    shown = run("suspects", path)
    assert shown.exit_code == 0, shown.output
    assert f"{len(own)} are more probably wrong than right" in shown.stdout
    summary = json.loads(run("suspects", path, "--data", mislabelled, "--number", 9, "--json").stdout)
    assert summary["noise_rates"] == told["noise_rates"]
    listed = summary["suspects"]
    with open(mislabelled, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {record["row"] - 1 for record in listed} >= set(WRONG)
    for record, plain in zip(listed, model.model_.suspects(9)):
        assert list(record) == ["patient", "row", "column", "given", "proposed", "probability"]
        assert rows[record["row"] - 1]["patient"] == record["patient"]
        assert rows[record["row"] - 1]["outcome"] == record["given"] == plain["given"]
        assert record["column"] == "outcome"
        assert record["probability"] == plain["probability"]
    without = json.loads(run("suspects", path, "--number", 9, "--json").stdout)["suspects"]
    assert [record["row"] for record in without] == [record["row"] for record in listed]
    assert "patient" not in without[0]


@pytest.mark.parametrize("output", ["list.csv", "list.parquet", "-"])
def test_outputs(fit, mislabelled, tmp_path, output):
    fit(*FUSION, *NUMBERS, data=mislabelled)
    target = output if output == "-" else tmp_path / output
    data = mislabelled.with_suffix(".parquet")
    result = run("suspects", tmp_path / "model.fuse", "--data", data, "--number", 4, "--output", target)
    assert result.exit_code == 0, result.output
    if output == "-":
        lines = result.stdout.splitlines()
        assert lines[0] == "patient,row,column,given,proposed,probability"
        assert len(lines) == 5
        return
    read = parquet.read_table if output.endswith("parquet") else arrow_csv.read_csv
    assert read(target).num_rows == 4
    again = ["suspects", tmp_path / "model.fuse", "--output", target]
    refused(run(*again), "exists")
    assert run(*again, "--force").exit_code == 0


def test_fit_tells_how_many_labels_look_wrong(mislabelled, tmp_path):
    usual = ["--target", "outcome", "--id", "patient", "--output", tmp_path / "model.fuse"]
    result = run("fit", mislabelled, *FUSION, *NUMBERS, *usual)
    assert "Labels estimated to be wrong: " in result.stdout
    assert "more probably wrong than right (fuselearn suspects " in result.stdout


def test_other_data_are_refused(fit, mislabelled, data, tmp_path):
    fit(*FUSION, *NUMBERS, data=mislabelled)
    path = tmp_path / "model.fuse"
    refused(run("suspects", path, "--data", data, "--number", 9), "are not those that the model was given", "wrong.csv")
    lines = mislabelled.read_text(encoding="utf-8").splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([lines[0], *lines[2:], lines[1]]) + "\n")
    refused(run("suspects", path, "--data", tmp_path / "turned.csv", "--number", 1), "are not those", "wrong.csv")
    (tmp_path / "short.csv").write_text("\n".join(lines[:50]) + "\n")
    refused(run("suspects", path, "--data", tmp_path / "short.csv"), "has 49 rows", "a file of 90", "wrong.csv")
    refused(run("suspects", path, "--id", "patient"), "--id", "--data")
    refused(run("suspects", path, "--data", mislabelled, "--id", "nothing"), "--id", "'nothing'")
    refused(run("suspects", path, "--number", 0), "--number must be at least 1")
    refused(run("suspects", path, "--output", "-", "--json"), "--json")


@pytest.mark.parametrize("with_id", [True, False])
def test_rows_in_another_order_with_the_same_labels_are_refused(mislabelled, tmp_path, with_id):
    model, other = tmp_path / "model.fuse", tmp_path / "other.csv"
    first, *lines = mislabelled.read_text().splitlines()
    lines = sorted((line for line in lines if line.rpartition(",")[2]), key=lambda line: line.rpartition(",")[2])
    mislabelled.write_text("\n".join([first, *lines]) + "\n")
    lines[:20] = lines[:20][::-1]
    other.write_text("\n".join([first, *lines]) + "\n")
    usual = ["--target", "outcome", "--output", model, *(["--id", "patient"] if with_id else [])]
    assert run("fit", mislabelled, *FUSION, *NUMBERS, *usual).exit_code == 0
    command = ["suspects", model, "--number", 9, *([] if with_id else ["--id", "patient"]), "--data"]
    refused(run(*command, other), "--data", "other.csv", "in another order", "wrong.csv")
    written = arrow_csv.read_csv(mislabelled)
    parquet.write_table(written, tmp_path / "same.parquet")
    for same in (mislabelled, tmp_path / "same.parquet"):
        told = json.loads(run(*command, same, "--json").stdout)
        assert not told["notes"]
        ids = written.column("patient").to_pylist()
        assert all(ids[record["row"] - 1] == record["patient"] for record in told["suspects"])


def test_a_model_whose_note_does_not_have_the_order_of_its_rows(fit, mislabelled, tmp_path):
    model, _ = fit(*FUSION, *NUMBERS, data=mislabelled)
    note = describe(tmp_path / "model.fuse")["note"]
    del note["row_order"]
    fuselearn.save(model, tmp_path / "older.fuse", note=note)
    told = json.loads(run("suspects", tmp_path / "older.fuse", "--data", mislabelled, "--json").stdout)
    assert "order of the rows could not be compared" in told["notes"][0]


def test_a_method_that_does_not_judge_labels(fit, tmp_path):
    fit()
    refused(run("suspects", tmp_path / "model.fuse"), "ShareBoostClassifier", "--method fusion", "fuselearn report")


def test_a_model_that_a_program_saved(table, data, tmp_path):
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    model = fuselearn.FusionClassifier(learners="linear", random_state=0).fit(X, y)
    fuselearn.save(model, tmp_path / "own.fuse")
    command = ["suspects", tmp_path / "own.fuse", "--number", 5, "--json"]
    plain = json.loads(run(*command).stdout)["suspects"]
    assert [record["row"] - 1 for record in plain] == model.suspects(5)["row"].tolist()
    named = json.loads(run(*command, "--data", data, "--id", "patient").stdout)["suspects"]
    assert [record["patient"] for record in named] == [f"p{record['row'] - 1:03d}" for record in plain]
    refused(run(*command, "--data", data), "has neither ids nor the labels")


def test_the_report_has_the_rows_of_the_training_file(fit, mislabelled, data, tmp_path):
    fit(*FUSION, *NUMBERS, data=mislabelled)
    path = tmp_path / "model.fuse"
    listed = json.loads(run("suspects", path, "--json").stdout)["suspects"]
    told = json.loads(run("report", path, "--data", data, "--output", tmp_path / "page.html", "--json").stdout)
    training = told["summary"]["training_suspects"]
    assert training["from_file"]
    assert [record["row"] for record in training["records"]] == [record["row"] for record in listed]
    assert "data.csv" in told["summary"]["reproduce"]["code"]
    assert "counted from 1" in (tmp_path / "page.html").read_text(encoding="utf-8")
