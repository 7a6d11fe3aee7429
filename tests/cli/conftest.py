"""A table, its file, and a way to fit a model to it."""

import json

import pytest
from pyarrow import csv

import fuselearn
from tests.cli.command_line import run
from tests.cli.patients import patients


@pytest.fixture(scope="session")
def table():
    return patients()


@pytest.fixture
def data(table, tmp_path):
    csv.write_csv(table, tmp_path / "data.csv")
    return tmp_path / "data.csv"


@pytest.fixture
def fit(data, tmp_path):
    """Fit with some options; the model, and what was told as JSON."""

    def call(*arguments, data=data, output="model.fuse", **settings):
        path = tmp_path / output
        usual = [] if "--method" in arguments else ["--method", "shareboost", "--set", "n_estimators=5"]
        usual += ["--target", "outcome", "--id", "patient", "--output", path, "--force", "--json"]
        result = run("fit", data, *usual, *arguments, **settings)
        assert result.exit_code == 0, result.output
        return fuselearn.load(path, trusted=True), json.loads(result.stdout)

    return call
