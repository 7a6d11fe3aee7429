"""``fuselearn inspect``: the contents of a model file."""

import json

import pytest

import fuselearn
from fuselearn.persistence import describe
from tests.cli.bad_input.refusals import refused
from tests.cli.command_line import run
from tests.cli.patients import NUMBERS, VIEWS, numbers


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


def test_models_with_types_of_other_packages_open_by_trust(fit, data, tmp_path):
    """The refusal says what to add, for every command that loads a model, and fit says it beforehand."""
    path = tmp_path / "model.fuse"
    options = [*NUMBERS, "--method", "shareboost", "--set", "n_estimators=2", "--set", "estimator=svm"]
    usual = ["--target", "outcome", "--id", "patient", "--output", path]
    fitted = run("fit", data, *options, *usual)
    assert fitted.exit_code == 0, fitted.output
    hint = fitted.stdout.splitlines()[-1]
    assert "--trust sklearn.svm.SVC" in hint
    trust = hint[hint.index("--trust") :].rstrip(".")
    for command in (
        ["inspect", path],
        ["predict", path, data, "--output", tmp_path / "out.csv"],
        ["report", path, "--data", data, "--output", tmp_path / "page.html"],
    ):
        refused(run(*command), "model.fuse was not opened", trust)
        refused(run(*command, "--trust", "sklearn.svm.SVC"), trust)
        refused(run(*command, "--trust", ""), trust)
        trusted = run(*command, *trust.split())
        assert trusted.exit_code == 0, trusted.output
    told = json.loads(run("fit", data, *options, *usual, "--force", "--json").stdout)
    assert told["foreign"] == trust.split()[1::2]
    run("fit", data, *NUMBERS, *usual[:4], "--output", tmp_path / "own.fuse", "--set", "max_fits=4")
    assert run("inspect", tmp_path / "own.fuse").exit_code == 0


@pytest.mark.thinned(3)
@pytest.mark.parametrize("claim", [3, "text", [1, [2]], {"a": 3}, {"a": {"b": None}}, None, True])
def test_headers_that_claim_anything(claim, fit, tmp_path, monkeypatch):
    """A header is not made by fuselearn because it says so: what makes no sense is not shown."""
    fit(*NUMBERS)
    path, out = tmp_path / "model.fuse", tmp_path / "out.csv"
    header = describe(path)
    claims = dict.fromkeys(("created", "views", "classes", "n_features", "feature_names"), claim)
    for note in (claim, dict.fromkeys(("target", "id", "rows", "data", "command", "settings"), claim)):
        claimed = {**header, **claims, "note": note}
        monkeypatch.setattr("fuselearn.persistence.describe", lambda path, claimed=claimed: claimed)
        for options in ([], ["--json"]):
            shown = run("inspect", path, *options)
            assert shown.exit_code == 0, shown.output
            assert "ShareBoostClassifier" in shown.stdout
        assert run("predict", path, tmp_path / "data.csv", "--output", out, "--force").exit_code == 0


def test_inspect_of_a_model_that_a_program_saved(table, tmp_path):
    model = fuselearn.MKLClassifier(views=VIEWS).fit(numbers(table), table.column("outcome").to_pylist())
    fuselearn.save(model, tmp_path / "model.fuse")
    told = json.loads(run("inspect", tmp_path / "model.fuse", "--json").stdout)
    assert told["model"] == "MKLClassifier"
    assert told["views"] == VIEWS
    assert run("inspect", tmp_path / "model.fuse").exit_code == 0
