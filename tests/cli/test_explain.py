"""``fuselearn explain`` and ``features``: contributions by the columns of the file."""

import json

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from pyarrow import csv

import fuselearn
from tests.cli.command_line import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file with numbers and text, and a model of it."""
    folder, rng = tmp_path_factory.mktemp("explained"), np.random.default_rng(0)
    y = np.arange(80) % 2
    table = pa.table(
        {
            "patient": [f"p{number}" for number in range(80)],
            "rna_0": rng.normal(size=80) + 2 * y,
            "rna_1": rng.normal(size=80),
            "site": np.array(["north", "south", "east"])[rng.integers(0, 3, 80)],
            "outcome": np.array(["ill", "well"])[y],
        }
    )
    csv.write_csv(table, folder / "data.csv")
    run(
        *("fit", folder / "data.csv", "--target", "outcome", "--id", "patient", "--method", "gradient"),
        *("--view", "rna=rna_*", "--view", "place=site", "--set", "n_estimators=10", "--output", folder / "model.fuse"),
    )
    return folder


def test_contributions_add_up_to_the_decision(folder):
    run("explain", folder / "model.fuse", folder / "data.csv", "--output", folder / "why.csv")
    frame = csv.read_csv(folder / "why.csv").to_pandas()
    assert list(frame.columns) == ["patient", "view", "column", "contribution"]
    assert set(frame["column"]) - {""} == {"rna_0", "rna_1", "site"}
    model = fuselearn.load(folder / "model.fuse")
    data = csv.read_csv(folder / "data.csv").to_pandas()
    sums = frame.groupby("patient", sort=False)["contribution"].sum()
    assert sums.index.tolist() == data["patient"].tolist()
    assert_allclose(sums, model.decision_function(data), atol=1e-9)
    explanation = model.explain(data)
    assert explanation.column_names == ["rna_0", "rna_1", "site"]
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), sums, atol=1e-9)


def test_views_to_standard_output(folder):
    text = run("explain", folder / "model.fuse", folder / "data.csv", "--by", "views").stdout
    assert text.splitlines()[0] == "patient,view,contribution"
    assert len(text.splitlines()) == 1 + 80 * 3


def test_features_are_listed_by_importance(folder):
    text = run("features", folder / "model.fuse", folder / "data.csv", "--number", "2").stdout
    assert text.splitlines()[1].endswith("rna_0")
    assert len(text.splitlines()) == 3
    summary = json.loads(run("features", folder / "model.fuse", folder / "data.csv", "--json").stdout)
    assert summary["columns"][0]["column"] == "rna_0"
    assert_allclose(sum(record["share"] for record in summary["columns"]), 1.0)


def test_bad_arguments(folder):
    refused = run("explain", folder / "model.fuse", folder / "data.csv", "--by", "rows")
    assert refused.exit_code == 1
    assert "--by must be columns or views" in refused.stderr
    refused = run("features", folder / "model.fuse", folder / "data.csv", "--id", "nobody")
    assert "nobody" in refused.stderr


@pytest.mark.parametrize("name", ["view", "column", "class", "contribution"])
def test_an_id_that_would_be_lost_is_refused(folder, name):
    table = csv.read_csv(folder / "data.csv")
    named = [name if column == "patient" else column for column in table.column_names]
    csv.write_csv(table.rename_columns(named), folder / "other.csv")
    output = folder / "lost.csv"
    refused = run("explain", folder / "model.fuse", folder / "other.csv", "--id", name, "--output", output)
    assert refused.exit_code == 1
    assert f"{name!r} is the name of another column of the output" in refused.stderr
    assert not output.exists()
