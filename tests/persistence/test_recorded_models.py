"""Models that versions of fuselearn saved, from the first on: every later one loads them and predicts the same."""

import importlib.util
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fuselearn
from fuselearn import load
from fuselearn.exceptions import SavedByOtherVersionWarning
from fuselearn.persistence.model_types import DEFINED_IN
from tests.persistence.saved_models import SavedFile, dicts_in

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "recorded" / "models"
FILES = sorted(RECORDED.glob("*/*.fuse"))


NOT_IN_MODELS = {
    "boosting.GradientTree": "a model has all its trees in one BoostedTrees; single ones are in the log of a fit",
    "fusion.LoggedFit": "it is in the log of a fit",
}
"""Public ids that no fitted model holds, and why."""


def recorded_rows(record):
    """Return the rows of a record: a table where they have named columns, else an array."""
    if not isinstance(record["rows"], dict):
        return np.array(record["rows"], dtype=float)
    table = pd.DataFrame(record["rows"])
    return table.assign(**{name: pd.to_datetime(table[name]) for name in record.get("dates", [])})


@pytest.fixture(scope="module")
def recorder():
    """Return the script that writes the files, as a module."""
    spec = importlib.util.spec_from_file_location("record_models", ROOT / "tools" / "record_models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_answers(model, record):
    """Assert that a model answers for the rows of a record what stands there."""
    rows = recorded_rows(record)
    for name, expected in record["answers"].items():
        answer = getattr(model, name)
        answer = np.asarray(answer(rows) if callable(answer) else answer)
        expected = np.array(expected)
        assert answer.shape == expected.shape, name
        if expected.dtype.kind == "f":
            # Products of matrices round differently on another processor.
            np.testing.assert_allclose(answer, expected, rtol=1e-7, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(answer, expected, err_msg=name)


def test_models_of_a_version_are_recorded():
    assert len(FILES) >= 16


def test_recorded_models_hold_all_that_models_can_hold():
    """So what a later version makes of any of it is tested; a new type of ours needs a model in `record_models.py`."""
    held = set()
    for path in FILES:
        file = SavedFile(path.read_bytes())
        assert file.schema is None, f"{path.name} depends on the version of scikit-learn"
        held |= {node["object"] for node in dicts_in(file.tree) if "object" in node}
    assert {name for name, _ in fuselearn.all_estimators()} <= held
    assert DEFINED_IN.keys() - held == NOT_IN_MODELS.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_model_of_an_earlier_version_loads_and_answers_as_it_did(path):
    record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SavedByOtherVersionWarning)
        model = load(path)
    assert_answers(model, record)
    assert {"predict", "labels_"} & record["answers"].keys()


@pytest.mark.parametrize("version", sorted({path.parent for path in FILES}), ids=lambda folder: folder.name)
def test_every_recorded_file_has_its_answers_and_the_reverse(version):
    models, answers = ({path.stem for path in version.glob(f"*.{suffix}")} for suffix in ("fuse", "json"))
    assert models == answers
    assert max(path.stat().st_size for path in version.iterdir()) < 50_000


def test_a_record_is_read_as_it_was_written(recorder):
    model, rows, y = recorder.models()["share_boost_trees_exp3p"]
    assert np.isnan(rows[-16:]).any()
    record = json.loads(json.dumps(recorder.recorded(model.fit(rows, y), rows)))
    np.testing.assert_array_equal(recorded_rows(record), rows)
    assert_answers(model, record)
    record["answers"]["decision_function"][3] += 1e-5
    with pytest.raises(AssertionError, match="decision_function"):
        assert_answers(model, record)


def test_files_of_a_version_are_not_written_over(recorder, tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "RECORDED", tmp_path)
    monkeypatch.setattr(sys, "argv", ["record_models.py"])
    shutil.copytree(RECORDED / "0.1.0.dev0", tmp_path / fuselearn.__version__)
    with pytest.raises(SystemExit, match="--replace"):
        recorder.main()
