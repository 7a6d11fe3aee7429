"""Code and commands that reproduce a report, and facts of the file that a note holds."""

import numpy as np
import pytest

from fuselearn import FitReport


def test_code_to_reproduce_is_python(report):
    code = report.summary["reproduce"]["code"]
    compile(code, "code", "exec")
    assert "'petal': [2, 3]" in code
    assert "n_estimators=15" in code
    assert "resample" not in code  # a default


def test_the_command_of_the_fit_is_shown(iris, fitted):
    note = {"command": "fuselearn fit iris.csv --target kind"}
    assert FitReport(fitted, iris[0], note=note).summary["reproduce"]["command"].startswith(note["command"])


def test_columns_and_gaps_are_those_of_the_file(iris, fitted):
    X, y = iris[0][75:].copy(), iris[1][75:]
    X[:15, :2] = np.nan
    facts = {"columns_per_view": {"sepal": 7, "petal": 1}, "gaps_per_view": {"sepal": 0.6, "petal": 0.1}}
    note = {"id": "plant", "file": facts | {"rows_left_out": 4}}
    found = FitReport(fitted, X, y, note=note).summary
    assert [record["columns"] for record in found["views"]["records"]] == [7, 1]
    assert [record["columns"] for record in found["missingness"]["records"]] == [7, 1]
    # A fifth of the rows has no sepals: of the other cells a half is empty.
    assert [record["gaps"] for record in found["missingness"]["records"]] == pytest.approx([0.5, 0.1])
    assert found["data"]["columns"] == 8
    assert found["note"] == [["id", "plant"]]
    assert "4 rows of the file have no label and are not used here." in [
        caution["text"] for caution in found["words"]["careful"]
    ]
    for odd in (None, "x", {"columns_per_view": {"sepal": 1}, "gaps_per_view": 3, "rows_left_out": "many"}):
        plain = FitReport(fitted, X, y, note={"file": odd}).summary
        assert plain["data"]["columns"] == 4
        assert plain["data"]["rows_left_out"] == 0
