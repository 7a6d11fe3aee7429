"""Comparing methods: same splits, same numbers however they are computed, and a run that can be taken up again."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit

from fuselearn import MKLClassifier, ShareBoostClassifier, add_label_noise, compare
from fuselearn.evaluation import cells, comparison
from fuselearn.evaluation.methods import DEFAULT, MAKERS, Method, resolve_methods
from fuselearn.evaluation.protocols import Protocol
from fuselearn.exceptions import InterruptedFitWarning

VIEWS = {"left": slice(0, 6), "right": slice(6, 13)}
FEW = ["shareboost", "svm_sum", "view:left"]


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def run(wine, **settings):
    X, y = wine
    return compare(X, y, **{"views": VIEWS, "methods": FEW, "runs": 3, "random_state": 0, **settings})


def test_a_cell_is_a_fit_on_a_split(wine):
    X, y = wine
    result = run(wine, methods={"boost": ShareBoostClassifier(n_estimators=20)})
    expected = []
    for number in range(3):
        seed = result._task.seed
        splitter = StratifiedShuffleSplit(1, train_size=0.6, random_state=(seed + 7919 * number) % 2**32)
        [(train, test)] = splitter.split(X, y)
        model = ShareBoostClassifier(views=VIEWS, n_estimators=20).fit(X[train], y[train])
        expected.append(model.score(X[test], y[test]))
    np.testing.assert_allclose(result.scores[0], expected)


@pytest.mark.parametrize("name", [name for name in MAKERS if not name.startswith("tuned")])
def test_every_named_method_runs(name):
    X, y = load_iris(return_X_y=True)
    views = {"sepal": slice(0, 2), "petal": slice(2, 4)}
    result = compare(X, y, views=views, methods=[name], runs=1, random_state=0, noise=0.1)
    assert result.scores[0, 0] > 0.6


def test_default_has_every_view_alone():
    names = [method.name for method in resolve_methods("default", ["a", "b"])]
    assert names == [*DEFAULT, "view:a", "view:b"]
    assert len(resolve_methods("all", ["a"])) == len(MAKERS) + 1


def test_table_and_files(wine, tmp_path):
    result = run(wine)
    table = result.table
    assert list(table["method"]) == result.methods
    assert table["accuracy"].is_monotonic_decreasing
    assert (table["low"] <= table["accuracy"]).all()
    assert (table["accuracy"] <= table["high"]).all()
    assert table["p (corrected)"].isna()[0]
    assert "svm_sum" in str(result)
    for suffix in ("md", "json", "csv", "txt"):
        result.save(tmp_path / f"table.{suffix}")
        assert "svm_sum" in (tmp_path / f"table.{suffix}").read_text()
    assert json.loads((tmp_path / "table.json").read_text())["rows"][0][0] == result.best
    assert repr(result).startswith("<Comparison of 3 methods over 3 runs")


def test_same_numbers_for_any_number_of_processes(wine):
    one, two = run(wine, noise=0.2), run(wine, noise=0.2, n_jobs=2)
    np.testing.assert_array_equal(one.scores, two.scores)
    assert one.methods == two.methods


def test_noise_is_the_same_for_all_and_the_truth_does_not_leak(wine):
    seen = {}

    class Spy(ShareBoostClassifier):
        def fit(self, X, y, sample_weight=None, view_labels=None):
            seen["with view labels"] = view_labels
            return super().fit(X, y, sample_weight, view_labels)

    class PlainSpy(MKLClassifier):
        def fit(self, X, y):
            seen.setdefault("plain", []).append(y)
            return super().fit(X, y)

    run(wine, methods={"a": Spy(n_estimators=3), "b": PlainSpy()}, noise=0.3, runs=1)
    view_labels = seen["with view labels"]
    majority, one_view = seen["plain"]
    assert view_labels.shape[1] == 2
    np.testing.assert_array_equal(one_view, view_labels[:, 0])
    agree = view_labels[:, 0] == view_labels[:, 1]
    np.testing.assert_array_equal(majority[agree], view_labels[agree, 0])


def test_second_column_under_noise(wine):
    result = run(wine, methods=["mkl_uniform", "shareboost", "view:left"], noise=0.2)
    row = {record["method"]: record for record in result.summary.records()}
    assert row["mkl_uniform"]["one view's labels"] is not None
    assert row["shareboost"]["one view's labels"] is None
    assert row["view:left"]["one view's labels"] is None


def test_given_view_labels_are_what_is_trained_on(wine):
    _, y = wine
    labels, _ = add_label_noise(y, 2, 0.3, random_state=0)
    noisy = run(wine, methods=["svm_sum"], view_labels=labels)
    clean = run(wine, methods=["svm_sum"], view_labels=np.column_stack([y, y]))
    plain = run(wine, methods=["svm_sum"])
    np.testing.assert_array_equal(clean.scores, plain.scores)
    assert noisy.scores.mean() < clean.scores.mean()


def test_consensus_is_a_row_of_its_own(wine):
    result = run(wine, methods=["svm_sum"], noise=0.3, consensus=True, runs=2)
    assert sorted(result.methods) == ["svm_sum", "svm_sum + consensus"]
    clean = run(wine, methods=["svm_sum"], consensus=True, runs=2)
    assert np.ptp(clean.scores.mean(axis=1)) < 0.05


def test_folds(wine):
    X, y = wine
    protocol = Protocol(runs=2, folds=3)
    task = cells.Task(X, y, {"all": np.arange(13)}, None, protocol, 0.0, "all", False, "accuracy", 1)
    [method] = resolve_methods({"forest": RandomForestClassifier(n_estimators=5)}, ["all"])
    cell = cells.run_cell(task, method, cells.GIVEN, 0)
    assert 0.8 < cell["score"] <= 1.0
    assert cell["fit_seconds"] > 0


def test_an_interrupted_comparison_goes_on_where_it_was(wine, tmp_path, monkeypatch):
    whole = run(wine)
    path, calls = tmp_path / "cells.jsonl", []
    real = comparison.run_cell

    def interrupted(*cell):
        calls.append(cell)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(*cell)

    monkeypatch.setattr(comparison, "run_cell", interrupted)
    with pytest.warns(InterruptedFitWarning, match="1 of 3 runs"):
        part = run(wine, resume=path)
    np.testing.assert_array_equal(np.sort(part.scores[:, 0]), np.sort(whole.scores[:, 0]))
    # A crash in the middle of a line leaves a piece of it.
    path.write_text(path.read_text() + '{"key": ["svm_sum", "gi')
    rest = run(wine, resume=path)
    np.testing.assert_array_equal(rest.scores, whole.scores)
    assert len(calls) == 5 + 9 - 4
    calls.clear()
    again = run(wine, resume=path)
    assert calls == []
    assert again.table.equals(rest.table)


def test_an_interrupt_before_the_first_run_is_one(wine, monkeypatch):
    def interrupted(*cell):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "run_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(wine)


def test_a_method_with_other_settings_is_computed_anew(wine, tmp_path, monkeypatch):
    path = tmp_path / "cells.jsonl"
    few = run(wine, methods={"boost": ShareBoostClassifier(n_estimators=1)}, resume=path)
    many = run(wine, methods={"boost": ShareBoostClassifier(n_estimators=60)}, resume=path)
    assert not np.array_equal(few.scores, many.scores)
    back = run(wine, methods={"boost": ShareBoostClassifier(n_estimators=1)}, resume=path)
    np.testing.assert_array_equal(few.scores, back.scores)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"noise": 0.1}, "noise"),
        ({"runs": 4}, "protocol"),
        ({"views": {"left": slice(0, 6)}}, "views"),
        ({"random_state": 1}, "seed"),
    ],
)
def test_a_file_of_another_comparison_is_refused(wine, tmp_path, change, name):
    path = tmp_path / "cells.jsonl"
    run(wine, methods=["mkl_uniform"], runs=1, resume=path)
    with pytest.raises(ValueError, match=f"a comparison with {name} = "):
        run(wine, **{"methods": ["mkl_uniform"], "runs": 1, "resume": path, **change})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": ["sharebost"]}, "methods names 'sharebost', which is not known; did you mean 'shareboost'"),
        ({"methods": []}, "methods is empty"),
        ({"methods": {}}, "methods is empty"),
        ({"methods": ["mkl", "mkl"]}, "names 'mkl' more than once"),
        ({"methods": ["view:top"]}, "'view:top', which is not known"),
        ({"runs": 0}, "runs must be an integer of at least 1"),
        ({"train_size": 1.0}, "train_size must be between 0 and 1"),
        ({"noise": 1.5}, "noise must be at least 0 and below 1"),
        ({"protocol": "mine"}, "protocol must be one of"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"consensus": 1}, "consensus must be True or False"),
        ({"view_labels": [[0, 1]]}, r"view_labels must have shape \(n_samples, n_views\) = \(178, 2\)"),
        ({"views": {"left": [99]}}, "View 'left' asks for column 99"),
    ],
)
def test_bad_settings(wine, settings, message):
    with pytest.raises(ValueError, match=message):
        run(wine, **settings)


def test_bad_targets(wine):
    X, y = wine
    with pytest.raises(ValueError, match="y must hold classes; its values are continuous"):
        compare(X, X[:, 0], views=VIEWS)
    with pytest.raises(ValueError, match="y has 1 objects of the class 7; a comparison needs at least 2"):
        compare(X, np.where(np.arange(len(y)) == 0, 7, y), views=VIEWS)
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        compare(X, np.zeros(len(y)), views=VIEWS)
    with pytest.raises(ValueError, match="a label for each of the 178 rows"):
        compare(X, y[:5], views=VIEWS)
    with pytest.raises(ValueError, match="y has 2 objects of the class 7; a comparison needs at least 3"):
        compare(X, np.where(np.arange(len(y)) < 2, 7, y), views=VIEWS, protocol="tomographic")
    with pytest.raises(TypeError, match="it must be an unfitted estimator"):
        compare(X, y, methods={"a": RandomForestClassifier})
    with pytest.raises(ValueError, match="cannot be given both"):
        compare(X, y, views=VIEWS, view_labels=np.column_stack([y, y]), noise=0.2)


def test_files_that_are_not_of_a_comparison(wine, tmp_path):
    (tmp_path / "other.txt").write_text("hello\n")
    with pytest.raises(ValueError, match="not a file of a comparison"):
        run(wine, resume=tmp_path / "other.txt")
    with pytest.raises(ValueError, match="is a folder"):
        run(wine, resume=tmp_path)


def test_method_is_seeded():
    method = Method("boost", MAKERS["rshareboost"])
    assert method.estimator({"a": [0]}, None, 5).random_state == 5
    assert method.estimator({"a": [0]}, 7, 5).n_estimators == 7


def test_a_view_alone_is_trained_on_the_rows_that_have_it(wine):
    X, y = wine
    X = X.copy()
    X[::3, :6] = np.nan
    result = compare(
        X, y, views=VIEWS, methods=["view:left", "svm_sum", "shareboost"], runs=2, random_state=0, noise=0.1
    )
    assert result.scores.min() > 0.5
