"""Code and commands that reproduce a report, and facts of the file that a note holds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn import FitReport, ShareBoostClassifier, TableClassifier, save
from fuselearn.bandits import Exp3P
from fuselearn.learners import GaussianNB, Tree
from fuselearn.reporting import provenance
from fuselearn.tables import ViewColumns


def test_code_to_reproduce_is_python(report):
    code = report.summary["reproduce"]["code"]
    compile(code, "code", "exec")
    assert "'petal': [2, 3]" in code
    assert "n_estimators=15" in code
    assert "resample" not in code  # a default


def run_code(code, folder, monkeypatch, **names):
    """Run code in a folder; its names."""
    monkeypatch.chdir(folder)
    exec(code, names)
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    return names


SETTINGS = {
    "plain": {"n_estimators": 5, "random_state": 3},
    "estimator": {"estimator": DecisionTreeClassifier(max_depth=1), "n_estimators": 3, "random_state": 0},
    "learners": {
        "n_estimators": 3,
        "estimator": [Tree(max_depth=2), GaussianNB()],
        "view_policy": Exp3P(gamma=0.2),
        "random_state": 0,
    },
}


@pytest.mark.parametrize("case", SETTINGS)
def test_code_to_reproduce_runs(iris, case, tmp_path, monkeypatch):
    X, y = iris
    views = {"some": [0, 3], "all": slice(None), "many": [0, 1, 2]}
    model = ShareBoostClassifier(views=views, **SETTINGS[case]).fit(X[:75], y[:75])
    code = FitReport(model, X[75:], y[75:], ids=range(75)).summary["reproduce"]["code"]
    names = {"X_train": X[:75], "y_train": y[:75], "X": X[75:], "y": y[75:], "ids": range(75)}
    again = run_code(code, tmp_path, monkeypatch, **names)["model"]
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert (tmp_path / "model.fuse").exists()


def test_settings_that_are_no_code_are_loaded(iris, fitted, tmp_path, monkeypatch):
    X, y = iris
    model = ShareBoostClassifier(n_estimators=2, random_state=np.random.RandomState(0)).fit(X[:75], y[:75])
    code = FitReport(model, X[75:]).summary["reproduce"]["code"]
    save(model, tmp_path / "model.fuse")
    assert np.array_equal(run_code(code, tmp_path, monkeypatch, X=X)["model"].predict(X), model.predict(X))


@pytest.fixture(scope="module")
def plants(iris):
    """A table with text, of which a model makes more columns than it has."""
    X, y = iris
    frame = pd.DataFrame(X, columns=["sepal_length", "sepal_width", "petal_length", "petal_width"])
    return frame.assign(petal_colour=np.where(y == "setosa", "blue", np.where(X[:, 1] > 3, "violet", "red"))), y


BY_NAME = {"sepal": ["sepal_length", "sepal_width"], "petal": ["petal_length", "petal_width", "petal_colour"]}
TABLE_MODELS = {
    "names": (ShareBoostClassifier(n_estimators=3, random_state=0), BY_NAME),
    "globs": (ShareBoostClassifier(n_estimators=3, random_state=0), {"sepal": "sepal*", "petal": "petal*"}),
    "numbers of columns": (ShareBoostClassifier(n_estimators=3), [np.array([0, 1]), np.array([2, 3, 4])]),
    "columns": (ShareBoostClassifier(n_estimators=3), ViewColumns(BY_NAME, categorical="target", random_state=0)),
    "own views": (ShareBoostClassifier(views={"first": [0, 1, 2], "last": [3, 4]}, n_estimators=3), BY_NAME),
    "one view": (ShareBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=3, random_state=0), None),
}


@pytest.mark.parametrize("case", TABLE_MODELS)
def test_code_of_a_model_of_a_table_runs(plants, case, tmp_path, monkeypatch):
    X, y = plants
    estimator, views = TABLE_MODELS[case]
    model = TableClassifier(estimator, views=views).fit(X[:75], y[:75])
    reproduce = FitReport(model, X[75:], y[75:]).summary["reproduce"]
    names = {"X_train": X[:75], "y_train": y[:75], "X": X[75:], "y": y[75:]}
    again = run_code(reproduce["code"], tmp_path, monkeypatch, **names)["model"]
    assert isinstance(again, TableClassifier)
    assert "load(" not in reproduce["code"]
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    # There was no command, and no files that it could name.
    assert reproduce["command"] is None


def test_code_of_a_default_model_of_a_table_is_short(plants):
    X, y = plants
    model = TableClassifier().fit(X[:75], y[:75])
    assert (
        "model = fuselearn.TableClassifier().fit(X_train, y_train)"
        in FitReport(model, X[75:]).summary["reproduce"]["code"]
    )


def test_code_of_a_pipeline_runs(iris, tmp_path, monkeypatch):
    X, y = iris
    model = make_pipeline(StandardScaler(), ShareBoostClassifier(views=[[0, 1], [2, 3]], n_estimators=3))
    code = FitReport(model.fit(X[:75], y[:75]), X[75:]).summary["reproduce"]["code"]
    again = run_code(code, tmp_path, monkeypatch, X_train=X[:75], y_train=y[:75], X=X[75:])["model"]
    assert repr(again) == repr(model)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_no_command_is_made_up(iris, fitted, report):
    assert report.summary["reproduce"]["command"] is None
    assert "On the command line" not in report.html
    # A model that was fitted in Python, and a file that the command line has read.
    reproduce = FitReport(fitted, iris[0], note={"file": {"name": "new.csv", "reading": {}}}).summary["reproduce"]
    assert reproduce["command"] == "fuselearn report model.fuse --data new.csv --output report.html"
    assert reproduce["code"] is None


def test_columns_as_code():
    for columns in ([4], [1, 2], [0, 1, 2, 3], [5, 1, 2, 3, 9], list(range(0, 400, 3))):
        code = provenance._columns_as_code(np.array(columns))
        selected = eval(code)
        assert (list(range(500))[selected] if isinstance(selected, slice) else selected) == columns
    assert code.count("\n") > 3


def test_code_of_a_model_of_the_command_line_runs(unequal, tmp_path, monkeypatch):
    X, y = unequal
    frame = pd.DataFrame(X, columns=["a_1", "a_2", "b_1", "b_2"]).assign(kind=y, number=range(len(y)))
    columns = ViewColumns({"a": ["a_1", "a_2"], "b": ["b_1", "b_2"]})
    model = TableClassifier(ShareBoostClassifier(n_estimators=3), views=columns).fit(frame[:300], y[:300])
    save(model, tmp_path / "model.fuse")
    frame[300:].to_csv(tmp_path / "new rows.csv", index=False)
    note = {
        "command": ["fuselearn", "fit", "x.csv"],
        "target": "kind",
        "id": "number",
        "file": {"name": "new rows.csv"},
    }
    reproduce = FitReport(model, frame[300:], y[300:], note=note).summary["reproduce"]
    names = run_code(reproduce["code"], tmp_path, monkeypatch)
    assert len(names["rows"]) == 600
    assert "fuselearn report model.fuse --data 'new rows.csv'" in reproduce["command"]
    assert FitReport(model, frame[300:], y[300:], note=note | {"on": "number"}).summary["reproduce"]["code"] is None


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
