"""``fuselearn inspect``: the contents of a model file."""

import json

import pytest

import fuselearn
from tests.cli.command_line import run
from tests.cli.patients import VIEWS, numbers


def test_inspect(fit, tmp_path):
    model, _ = fit()
    shown = run("inspect", tmp_path / "model.fuse")
    assert shown.exit_code == 0, shown.output
    for word in ["ShareBoostClassifier, 5 rounds", "90 rows of data.csv", "target outcome, id patient", "ill, well"]:
        assert word in shown.stdout
    assert shown.stdout.index("rna_0") < shown.stdout.index("image_0") < shown.stdout.index("site")
    told = json.loads(run("inspect", tmp_path / "model.fuse", "--json").stdout)
    assert list(told["views"]) == ["rna", "image", "other"]
    assert told["view_importances"] == pytest.approx(dict(zip(model.view_names_, model.view_importances_)), abs=1e-4)
    assert told["settings"]["n_estimators"] == 5
    assert told["note"]["method"] == "shareboost"


def test_inspect_of_a_model_that_a_program_saved(table, tmp_path):
    model = fuselearn.MKLClassifier(views=VIEWS).fit(numbers(table), table.column("outcome").to_pylist())
    fuselearn.save(model, tmp_path / "model.fuse")
    told = json.loads(run("inspect", tmp_path / "model.fuse", "--json").stdout)
    assert told["model"] == "MKLClassifier"
    assert told["views"] == VIEWS
    assert run("inspect", tmp_path / "model.fuse").exit_code == 0
