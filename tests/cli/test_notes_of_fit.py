"""What is said of classes, categories and columns that look like a mistake before a model is fitted to them."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from tests.cli.command_line import run

QUICK = ["--target", "outcome", "--id", "patient"]


@pytest.fixture
def noted(table, tmp_path):
    """The lines on standard error of a fit, or a comparison, of the table with some columns replaced."""

    def call(*options, command="fit", **columns):
        changed = table
        for name, values in columns.items():
            changed = changed.set_column(table.column_names.index(name), name, pa.array(values))
        csv.write_csv(changed, tmp_path / "data.csv")
        few = {
            "fit": ["--method", "shareboost", "--set", "n_estimators=1", "--output", tmp_path / "m.fuse", "--force"],
            "compare": ["--methods", "shareboost", "--runs", "1"],
        }[command]
        result = run(command, tmp_path / "data.csv", *QUICK, *(() if "--method" in options else few), *options)
        assert result.exit_code == 0, result.output
        return result.stderr

    return call


def changed_rows(table, name, rows, text):
    values = table.column(name).to_pylist()
    for row in rows:
        values[row] = text
    return values


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_classes_that_differ_in_case_are_named(table, noted, command):
    ill = [row for row, label in enumerate(table.column("outcome").to_pylist()) if label == "ill"]
    told = noted(command=command, outcome=changed_rows(table, "outcome", ill[:10], "ILL"))
    assert "the target 'outcome' has 'ill' (20 rows) beside 'ILL' (10 rows): classes of their own here" in told
    assert "spell them alike in the file" in told
    assert "classes of their own" not in noted(command=command)


def test_categories_that_differ_in_case_are_named(table, noted):
    sites = table.column("site").to_pylist()
    north = [row for row, site in enumerate(sites) if site == "north"]
    told = noted(site=changed_rows(table, "site", north[:2], "North"))
    assert f"'north' ({len(north) - 2} rows) beside 'North' (2 rows) in the column 'site' of the view 'other'" in told
    assert "categories of their own" not in noted()


def test_a_class_of_one_row_is_named(table, noted):
    assert "the class 'il' of the target 'outcome' has 1 row" in noted(
        outcome=changed_rows(table, "outcome", [0], "il")
    )
    two = changed_rows(table, "outcome", [0], "il")
    told = noted(outcome=[*two[:-1], "wel"])
    assert "2 classes ('il', 'wel') of the target 'outcome' have 1 row each" in told
    assert "1 row" not in noted()


def test_classes_with_fewer_rows_than_folds_are_named(table, tmp_path, noted):
    rare = changed_rows(table, "outcome", [1, 40, 80], "worse")
    fusion = ["--method", "fusion", "--set", "learners=linear", "--output", tmp_path / "m.fuse", "--force"]
    told = noted(*fusion, outcome=rare)
    assert "the class 'worse' of the target 'outcome' has fewer rows than the 5 folds of the fit" in told
    assert "folds" not in noted(*fusion)
    assert "folds" not in noted(outcome=rare)  # boosting makes none
    assert np.unique(rare, return_counts=True)[1].min() == 3


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_columns_in_no_view_and_in_two_are_named(noted, command):
    told = noted("--view", "a=rna_0,rna_1", "--view", "b=rna_1,image_*", command=command)
    assert "3 columns are in no view and left out: rna_2, rna_3, site." in told
    assert "1 column is in more than one view (a, b): rna_1." in told
    told = noted("--view", "a=rna_*", "--view", "b=image_*", "--drop", "site", command=command)
    assert "in no view" not in told
    assert "more than one view" not in told
    assert "in no view" not in noted(command=command)


def test_columns_of_joined_files_in_no_view_are_named(table, tmp_path):
    csv.write_csv(table.select(["patient", "image_0", "image_1", "site", "outcome"]), tmp_path / "data.csv")
    csv.write_csv(table.select(["patient", "rna_0", "rna_1", "outcome"]), tmp_path / "rna.csv")
    usual = ["--target", "outcome", "--on", "patient", "--method", "shareboost", "--set", "n_estimators=1"]
    usual += ["--output", tmp_path / "m.fuse", "--force"]
    views = ["--view", f"rna={tmp_path / 'rna.csv'}", "--view", f"image={tmp_path / 'data.csv'}::image_0"]
    result = run("fit", tmp_path / "data.csv", *usual, *views)
    assert result.exit_code == 0, result.output
    assert "2 columns are in no view and left out: image_1, site." in result.stderr
    views = ["--view", f"rna={tmp_path / 'rna.csv'}::rna_0", "--view", f"all={tmp_path / 'data.csv'}"]
    result = run("fit", tmp_path / "data.csv", *usual, *views)
    assert result.exit_code == 0, result.output
    assert "1 column is in no view and left out: rna: rna_1." in result.stderr


def test_advice_can_be_pasted_whatever_the_name(table, tmp_path):
    rows = pa.array(range(len(table)))
    twice = table.set_column(0, "the patient", pa.array([f"p{row // 2}" for row in range(len(table))]))
    csv.write_csv(twice.add_column(0, "Unnamed: 0", rows), tmp_path / "data.csv")
    usual = ["--target", "outcome", "--id", "the patient", "--method", "shareboost", "--set", "n_estimators=1"]
    result = run("fit", tmp_path / "data.csv", *usual, "--output", tmp_path / "m.fuse")
    assert result.exit_code == 0, result.output
    assert "add --id 'Unnamed: 0'." in result.stderr
    assert "add --group 'the patient', so that" in result.stderr
