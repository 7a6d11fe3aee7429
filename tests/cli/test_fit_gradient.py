"""``fuselearn fit --method gradient`` and ``gradient_views``: from a file with gaps and text to a report."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from sklearn.utils.class_weight import compute_sample_weight

from fuselearn import ShareGradientBoostingClassifier
from fuselearn.boosting.gradient.gradient_base import BaseGradientBoosting
from tests.cli.command_line import run
from tests.cli.patients import N_ROWS, NUMBERS, VIEWS, numbers

TREES = {"gradient": "joint", "gradient_views": "per_view"}
FEW = ["--set", "n_estimators=6", "--set", "min_samples_leaf=5"]


def expected_model(trees, **settings):
    return ShareGradientBoostingClassifier(
        views=VIEWS, trees=trees, n_estimators=6, min_samples_leaf=5, random_state=0, **settings
    )


@pytest.fixture
def gaps(table, tmp_path):
    """A file with text, gaps, rows without a view, and three classes."""
    frame = table.to_pandas()
    frame["outcome"] = np.array(["well", "ill", "unclear"])[np.arange(N_ROWS) % 3]
    frame.loc[::6, ["image_0", "image_1", "image_2"]] = None
    frame.loc[3:20, "rna_1"] = None
    frame.loc[5:9, "site"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    return tmp_path / "gaps.csv"


@pytest.mark.parametrize(("method", "trees"), TREES.items())
def test_the_model_is_that_of_the_library(table, fit, method, trees):
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    model, told = fit(*NUMBERS, *FEW, "--method", method, "--class-weight", "balanced")
    expected = expected_model(trees, class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(X))
    weighted = expected_model(trees).fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    np.testing.assert_allclose(model.predict_proba(table), weighted.predict_proba(X), rtol=1e-6)
    assert (told["class_weight"], told["rounds"]) == ("balanced", 6)
    assert model.model_.class_weight == "balanced"
    plain, told = fit(*NUMBERS, *FEW, "--method", method)
    np.testing.assert_array_equal(plain.predict_proba(table), expected_model(trees).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("method", TREES)
def test_from_a_file_with_gaps_to_a_report(gaps, tmp_path, fit, method):
    model, told = fit(*FEW, "--method", method, data=gaps)
    assert told["views"].keys() == {"rna", "image", "other"}
    assert np.isnan(model.matrix(csv.read_csv(gaps).to_pandas())).any()  # nothing is filled
    saved, page = tmp_path / "model.fuse", tmp_path / "report.html"
    absent = csv.read_csv(gaps).drop_columns(["image_0", "image_1", "image_2"])
    csv.write_csv(absent, tmp_path / "absent.csv")
    result = run("predict", saved, tmp_path / "absent.csv", "--output", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    assert "no column of the view 'image'" in result.stderr
    predicted = csv.read_csv(tmp_path / "out.csv")
    names = ["patient", "prediction", "probability_ill", "probability_unclear", "probability_well"]
    assert predicted.column_names == names
    result = run("report", saved, "--data", gaps, "--output", page, "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)["summary"]
    assert summary["rounds"]["trees"] == 18
    columns = {record["name"] for record in summary["columns"]["records"]}
    assert columns <= set(csv.read_csv(gaps).column_names)  # those of the file, though text became more
    assert summary["training"]["likeness"] == "same"
    result = run("inspect", saved)
    assert "ShareGradientBoostingClassifier, 6 rounds" in result.stdout


def test_labels_of_views_are_for_trees_of_views(table, data, tmp_path, fit):
    y = np.array(table.column("outcome").to_pylist())
    wrong = np.where(np.arange(N_ROWS) < 10, np.where(y == "ill", "well", "ill"), y)
    labelled = table.append_column("by_rna", pa.array(y)).append_column("by_image", pa.array(wrong))
    csv.write_csv(labelled, tmp_path / "labels.csv")
    options = [*NUMBERS, *FEW, "--label-columns", "by_rna,by_image"]
    model, told = fit(*options, "--method", "gradient_views", data=tmp_path / "labels.csv")
    expected = expected_model("per_view").fit(numbers(table), y, view_labels=np.column_stack([y, wrong]))
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(numbers(table)))
    assert told["class_weight"] == "none"
    same, _ = fit(*options, "--method", "gradient", "--set", "trees=per_view", data=tmp_path / "labels.csv")
    np.testing.assert_array_equal(same.predict_proba(table), model.predict_proba(table))
    usual = ["--target", "outcome", "--id", "patient", "--output", tmp_path / "other.fuse"]
    result = run("fit", tmp_path / "labels.csv", *usual, *options, "--method", "gradient")
    assert result.exit_code == 1
    expected_words = "--label-columns: gradient takes one column of labels; gradient_views takes each view's own."
    assert result.stderr.splitlines()[-1] == f"fuselearn: {expected_words}"


def test_groups_are_held_out_together_where_rows_are_held_out(table, tmp_path, fit):
    grouped = table.append_column("person", pa.array(np.arange(N_ROWS) // 5))
    csv.write_csv(grouped, tmp_path / "grouped.csv")
    options = [*NUMBERS, *FEW, "--method", "gradient", "--group", "person"]
    _, told = fit(*options, data=tmp_path / "grouped.csv")
    assert any("--group made no difference: gradient needs groups only where" in note for note in told["notes"])
    model, told = fit(*options, "--set", "early_stopping=true", data=tmp_path / "grouped.csv")
    assert not any("--group" in note for note in told["notes"])
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    expected = expected_model("joint", early_stopping=True)
    expected.fit(X, y, groups=np.arange(N_ROWS) // 5)
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(X))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("class_weight=balanced", "--set class_weight: use --class-weight instead."),
        ("trees=forest", "trees must be one of"),
        ("max_leaf_nodes=1", "max_leaf_nodes must be"),
        ("estimator=stump", "--set estimator: gradient has no such setting"),
    ],
)
def test_settings_that_mean_nothing_are_refused_in_one_line(data, tmp_path, setting, words):
    usual = ["--target", "outcome", "--id", "patient", "--output", tmp_path / "model.fuse"]
    result = run("fit", data, *usual, "--method", "gradient", "--set", setting)
    assert result.exit_code == 1
    assert words in result.stderr.splitlines()[-1]
    assert not (tmp_path / "model.fuse").exists()


def test_an_interrupt_keeps_the_rounds_that_are_done(fit, table, monkeypatch):
    report = BaseGradientBoosting._report

    def interrupted(self, trace, names):
        report(self, trace, names)
        if len(trace) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(BaseGradientBoosting, "_report", interrupted)
    model, told = fit(*NUMBERS, *FEW, "--method", "gradient_views")
    assert told["interrupted"] is True
    assert told["rounds"] == model.model_.n_iter_ == 2
    assert any("Interrupted: the model has the 2 of 6 rounds" in note for note in told["notes"])
    assert len(model.predict(table)) == N_ROWS


def test_compare_knows_both(data, tmp_path):
    options = ["--target", "outcome", "--id", "patient", "--methods", "gradient,gradient_views,view:rna"]
    result = run("compare", data, *options, *NUMBERS, "--runs", "2", "--json")
    assert result.exit_code == 0, result.output
    table = json.loads(result.stdout)
    assert {row[table["columns"].index("method")] for row in table["rows"]} == {
        "gradient",
        "gradient_views",
        "view:rna",
    }
