"""``fuselearn features --fdr``: a selection of columns with few false ones."""

import json

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from pyarrow import csv

import fuselearn
from fuselearn.inspection import feature_stability
from tests.cli.command_line import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of which two columns decide, and a model of it."""
    folder, rng = tmp_path_factory.mktemp("selected"), np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    names = [f"{'ab'[column // 15]}_{column % 15}" for column in range(30)]
    target = np.where(X[:, 0] + X[:, 20] > 0, "ill", "well")
    table = pa.table({**dict(zip(names, X.T)), "outcome": target})
    csv.write_csv(table, folder / "data.csv")
    run(
        *("fit", folder / "data.csv", "--target", "outcome", "--view", "a=a_*", "--view", "b=b_*"),
        *("--method", "gradient", "--set", "n_estimators=20", "--output", folder / "model.fuse"),
    )
    return folder


def test_the_columns_that_decide_are_selected(folder):
    options = ("--fdr", "0.2", "--subsamples", "2", "--seed", "1", "--output", folder / "all.csv")
    done = run("features", folder / "model.fuse", folder / "data.csv", *options)
    assert done.stdout.splitlines()[0] == "Selected 2 of 30 columns on 300 rows, asked for at most 20% false ones."
    assert {line.split()[-1] for line in done.stdout.splitlines()[2:]} == {"a_0", "b_5"}
    listed = csv.read_csv(folder / "all.csv").to_pandas()
    assert len(listed) == 30
    assert listed["selected"].sum() == 2
    # The same as in Python, on the matrix of the model.
    model, data = fuselearn.load(folder / "model.fuse"), csv.read_csv(folder / "data.csv").to_pandas()
    X, y = model.matrix(data.drop(columns="outcome")), data["outcome"].to_numpy()
    expected = feature_stability(model.model_, X, y, fdr=0.2, n_subsamples=2, random_state=1)
    assert_allclose(np.sort(listed["q_value"]), np.sort(expected.q_values), rtol=1e-9)


def test_few_columns_are_selected_and_texts_noted(folder, tmp_path):
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=40), "site": np.array(["n", "s", "e"])[np.arange(40) % 3]}
    table["kind"] = np.array(["ill", "well"])[(table["x"] > 0).astype(int)]
    csv.write_csv(pa.table(table), tmp_path / "data.csv")
    run(
        *("fit", tmp_path / "data.csv", "--target", "kind", "--view", "a=x", "--view", "b=site"),
        *(
            "--method",
            "gradient",
            "--set",
            "n_estimators=3",
            "--set",
            "min_samples_leaf=12",
            "--output",
            tmp_path / "model.fuse",
        ),
    )
    options = ("--fdr", "0.1", "--subsamples", "2", "--json")
    summary = json.loads(run("features", tmp_path / "model.fuse", tmp_path / "data.csv", *options).stdout)
    assert (summary["rows"], summary["fdr"], summary["selected"]) == (40, 0.1, 1)
    assert summary["columns"][0]["column"] == "x"
    assert any(note.startswith("Texts and dates, such as 'site'") for note in summary["notes"])
    assert any("no tree can be split" in note for note in summary["notes"])
    names = [record["column"] for record in summary["columns"]]
    assert "x" in names
    assert len(set(names)) == 4


def selected(tmp_path, table, *fitted, options=()):
    """Return the columns that are selected for a model of a table, and the notes."""
    csv.write_csv(table, tmp_path / "data.csv")
    model = ("--method", "gradient", "--set", "n_estimators=20", "--output", tmp_path / "model.fuse", "--force")
    done = run("fit", tmp_path / "data.csv", "--target", "outcome", *model, *fitted)
    assert done.exit_code == 0, done.output
    arguments = ("--fdr", "0.1", "--subsamples", "2", "--json", *options)
    done = run("features", tmp_path / "model.fuse", tmp_path / "data.csv", *arguments)
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    return {record["column"] for record in summary["columns"] if record["selected"]}, summary["notes"]


def test_mean_targets_are_refused(tmp_path):
    """Labels by chance would select them: they have seen the labels that columns are tested on."""
    rng = np.random.default_rng(0)
    columns = {"a_street": [f"s{number}" for number in rng.integers(0, 60, 300)], "b_x": rng.normal(size=300)}
    by_chance = pa.table({**columns, "outcome": np.array(["ill", "well"])[rng.integers(0, 2, 300)]})
    with pytest.raises(
        AssertionError, match=r"mean targets of the texts in 'a_street'.* fit with --categorical onehot"
    ):
        selected(tmp_path, by_chance, "--categorical", "target")
    assert selected(tmp_path, by_chance)[0] == set()


def test_rows_of_a_group_count_as_one(tmp_path):
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 10)
    a, b = rng.normal(size=(2, 30))[:, person] + 0.01 * rng.normal(size=(2, 300))
    outcome = np.array(["ill", "well"])[rng.integers(0, 2, 30)][person]
    table = pa.table({"a_0": a, "b_0": b, "person": person, "outcome": outcome})
    assert selected(tmp_path, table, "--group", "person") == (set(), [])
    alone = ("--drop", "person")
    assert selected(tmp_path, table, *alone)[0] == {"a_0", "b_0"}
    assert selected(tmp_path, table, *alone, options=("--group", "person"))[0] == set()
    run("fit", tmp_path / "data.csv", "--target", "outcome", "--group", "person", "--output", tmp_path / "of.fuse")
    csv.write_csv(table.drop(["person"]), tmp_path / "alone.csv")
    options = ("--fdr", "0.1", "--subsamples", "1")
    done = run("features", tmp_path / "of.fuse", tmp_path / "alone.csv", *options)
    assert "has no column 'person', which held the groups of the fit" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fdr", "1"), "--fdr must be a share between 0 and 1"),
        (("--fdr", "0.1", "--by", "views"), "--fdr selects columns"),
        (("--target", "outcome"), "--target is for --fdr"),
        (("--group", "outcome"), "--group is for --fdr"),
        (("--fdr", "0.1", "--subsamples", "0"), "--subsamples must be at least 1"),
        (("--fdr", "0.1", "--target", "nothing"), "nothing"),
    ],
)
def test_what_is_refused(folder, options, message):
    refused = run("features", folder / "model.fuse", folder / "data.csv", *options)
    assert refused.exit_code == 1
    assert message in refused.stderr


def test_a_file_without_target_is_refused(folder):
    table = csv.read_csv(folder / "data.csv").drop(["outcome"])
    csv.write_csv(table, folder / "unlabelled.csv")
    refused = run("features", folder / "model.fuse", folder / "unlabelled.csv", "--fdr", "0.1")
    assert refused.exit_code == 1
    assert "--fdr needs the target" in refused.stderr
