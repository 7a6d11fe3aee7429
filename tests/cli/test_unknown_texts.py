"""What is said of texts in a new file that the model was not fitted on: how many, of how many rows."""

import pyarrow as pa
import pytest
from pyarrow import csv

from tests.cli.command_line import run


@pytest.fixture
def told(table, tmp_path, fit):
    """The lines on standard error of predictions, where the model was fitted on the towns north, south and east."""
    fit()

    def call(sites, *options):
        changed = table.set_column(table.column_names.index("site"), "site", pa.array(sites))
        csv.write_csv(changed, tmp_path / "new.csv")
        output = ["--output", tmp_path / "p.csv", "--force"]
        result = run("predict", tmp_path / "model.fuse", tmp_path / "new.csv", *output, *options)
        assert result.exit_code == 0, result.output
        return result.stderr

    return call


def test_a_column_of_unknown_texts_only_is_told_as_such(told, table):
    sites = [f" {site.upper()}" if site == "north" else site.upper() for site in table.column("site").to_pylist()]
    said = told(sites)
    assert "the column 'site' has only values that the model was not fitted on, in 90 of the first 90 rows" in said
    assert "Spell them as at fit" in said


def test_some_unknown_texts_are_counted_once_whatever_the_chunks(told, table):
    sites = ["west" if row in (3, 30, 60) else site for row, site in enumerate(table.column("site").to_pylist())]
    assert "has values that the model was not fitted on, in 3 of the first 90 rows, such as 'west'" in told(sites)
    said = told(sites, "--chunk-rows", 20)
    assert "has values that the model was not fitted on, in 1 of the first 20 rows, such as 'west'" in said
    assert said.count("not fitted on") == 1
    sites = ["west" if row == 30 else site for row, site in enumerate(table.column("site").to_pylist())]
    assert "in 1 of the first 40 rows" in told(sites, "--chunk-rows", 20)
