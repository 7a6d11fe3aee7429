"""``fuselearn next``: the views to measure next, in a file."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import fuselearn
from tests.cli.command_line import run

N_ROWS = 90


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    y = np.arange(N_ROWS) % 3
    columns = {"patient": [f"{number:04d}" for number in range(N_ROWS)]}
    columns |= {f"rna_{number}": rng.normal(size=N_ROWS) + y for number in range(4)}
    columns |= {f"image_{number}": rng.normal(size=N_ROWS) - y for number in range(3)}
    columns["outcome"] = np.array(["ill", "so", "well"])[y]
    return pa.table(columns)


@pytest.fixture(scope="module")
def fitted(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    csv.write_csv(table, folder / "data.csv")
    csv.write_csv(table.drop_columns([f"image_{number}" for number in range(3)]), folder / "rna.csv")
    views = ["--view", "rna=rna_*", "--view", "image=image_*", "--set", "max_fits=6"]
    for method in ("fusion", "shareboost"):
        settings = views if method == "fusion" else views[:4]
        usual = ["--method", method, *settings, "--target", "outcome", "--id", "patient"]
        result = run("fit", folder / "data.csv", *usual, "--output", folder / f"{method}.fuse")
        assert result.exit_code == 0, result.output
    return folder


def test_views_are_those_of_the_model(fitted, tmp_path):
    output = tmp_path / "next.csv"
    result = run("next", fitted / "fusion.fuse", fitted / "rna.csv", "--output", output, "--json")
    assert result.exit_code == 0, result.output
    found = csv.read_csv(output, convert_options=csv.ConvertOptions(strings_can_be_null=True)).to_pydict()
    assert list(found) == ["patient", "prediction", "next_view"]
    model = fuselearn.load(fitted / "fusion.fuse")
    rows = csv.read_csv(fitted / "rna.csv").select([f"rna_{number}" for number in range(4)])
    X = np.full((N_ROWS, 7), np.nan)
    rna = next(columns for name, columns in zip(model.model_.view_names_, model.model_.view_columns_) if name == "rna")
    X[:, rna] = np.column_stack([rows.column(number).to_numpy() for number in range(4)])
    wanted = model.model_.next_view(X).tolist()
    assert found["next_view"] == wanted
    assert json.loads(result.stdout)["next_views"]["image"] == wanted.count("image") > 0


def test_costs_and_the_least_gain(fitted, tmp_path):
    (tmp_path / "costs.toml").write_text("[costs]\nimage = 20.0\n")
    result = run(
        "next", fitted / "fusion.fuse", fitted / "rna.csv", "--costs", tmp_path / "costs.toml", "--min-gain", "1"
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "patient,prediction,next_view"
    assert all(line.endswith(",") for line in result.stdout.splitlines()[1:])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("image = ", "is not TOML"),
        ("", "needs a cost for each view"),
        ("other = 3", "costs names the view 'other'"),
        ("image = -3", "costs must be numbers above 0"),
        (None, "cannot be read"),
    ],
)
def test_costs_that_are_wrong(fitted, tmp_path, content, words):
    path = tmp_path / "costs.toml"
    if content is not None:
        path.write_text(content)
    result = run("next", fitted / "fusion.fuse", fitted / "rna.csv", "--costs", path)
    assert result.exit_code == 1
    found = result.stderr.replace("\n", " ")
    assert words in found
    assert "--costs" in found
    assert "costs.toml" in found
    assert "rna.csv" not in found


def test_a_least_gain_that_is_none_is_refused_by_its_option(fitted):
    result = run("next", fitted / "fusion.fuse", fitted / "rna.csv", "--min-gain", "1.5")
    assert result.exit_code == 1
    assert "--min-gain must be a probability from 0 to 1, such as 0.005; got 1.5." in result.stderr.replace("\n", " ")


def test_other_models_are_refused(fitted):
    result = run("next", fitted / "shareboost.fuse", fitted / "rna.csv")
    assert result.exit_code == 1
    assert "cannot say what to measure next" in result.stderr
