"""Comparisons of methods: the same splits, the same numbers however they are computed, and runs that can be resumed."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import stats
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from fuselearn import MKLClassifier, ShareBoostClassifier, add_label_noise, compare
from fuselearn.evaluation import cells, comparison
from fuselearn.evaluation.cells import Protocol, majority_labels
from fuselearn.evaluation.result_store import fingerprint
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.registry import DEFAULT, METHODS, Method, resolve_methods
from tests.conic_solver import MARKS

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


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=MARKS if name == "sdp" else [pytest.mark.long] * (name not in DEFAULT))
        for name in METHODS
        if not name.startswith("tuned")
    ],
)
def test_every_named_method_runs(name):
    X, y = load_iris(return_X_y=True)
    views = {"sepal": slice(0, 2), "petal": slice(2, 4)}
    result = compare(X, y, views=views, methods=[name], runs=1, random_state=0, noise=0.1)
    assert result.scores[0, 0] > 0.6


def test_default_has_every_view_alone():
    names = [method.name for method in resolve_methods("default", ["a", "b"])]
    assert names == [*DEFAULT, "view:a", "view:b"]
    names = [method.name for method in resolve_methods("all", ["a"])]
    assert set(names) >= {*METHODS, "forest", "view:a"}


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
        assert "svm_sum" in (tmp_path / f"table.{suffix}").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))["rows"][0][0] == result.best
    assert repr(result).startswith("<Comparison of 3 methods over 3 runs")


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.long)])
def test_same_numbers_for_any_number_of_processes(wine, backend):
    serial = run(wine, noise=0.2)
    with parallel_config(backend=backend):  # processes take seconds to start
        parallel = run(wine, noise=0.2, n_jobs=2)
    np.testing.assert_array_equal(serial.scores, parallel.scores)
    assert serial.methods == parallel.methods


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
    result = run(wine, methods=["svm_sum"], noise=0.3, consensus=True, runs=1)
    assert sorted(result.methods) == ["svm_sum", "svm_sum + consensus"]
    clean = run(wine, methods=["svm_sum"], consensus=True, runs=2)
    assert np.ptp(clean.scores.mean(axis=1)) < 0.05


def test_folds(wine):
    X, y = wine
    protocol = Protocol(runs=2, folds=3)
    task = cells.Task(X, y, {"all": np.arange(13)}, None, protocol, 0.0, "all", False, "accuracy", 1)
    [method] = resolve_methods({"forest": RandomForestClassifier(n_estimators=5)}, ["all"])
    cell = cells.run_cell(task, method, cells.GIVEN, 0)
    assert len(cell["scores"]) == 3
    assert 0.8 < np.mean(cell["scores"]) <= 1.0
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
    path.write_text(path.read_text(encoding="utf-8") + '{"key": ["svm_sum", "gi')
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
        ({"train_size": 0.5}, "protocol"),
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
        compare(X, X[:, 0], views=VIEWS, task="classification")
    with pytest.raises(ValueError, match="y has 1 objects of the class 7; a comparison needs at least 2"):
        compare(X, np.where(np.arange(len(y)) == 0, 7, y), views=VIEWS)
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        compare(X, np.zeros(len(y)), views=VIEWS)
    with pytest.raises(ValueError, match="a label for each of the 178 rows"):
        compare(X, y[:5], views=VIEWS)
    with pytest.raises(ValueError, match="y has 2 objects of the class 7; a comparison needs at least 3"):
        compare(X, np.where(np.arange(len(y)) < 2, 7, y), views=VIEWS, protocol="tomographic")
    with pytest.raises(TypeError, match="it must be a name or an unfitted estimator"):
        compare(X, y, methods={"a": RandomForestClassifier})
    with pytest.raises(ValueError, match="cannot both be given"):
        compare(X, y, views=VIEWS, view_labels=np.column_stack([y, y]), noise=0.2)


def test_runs_and_train_size_go_before_those_of_a_protocol(wine):
    X, y = wine
    settings = {"views": VIEWS, "methods": ["view:left", "view:right"], "random_state": 0}
    assert compare(X, y, protocol="bssd", runs=2, **settings).scores.shape == (2, 2)
    small = compare(X, y, protocol="shared_distribution", runs=2, train_size=0.2, **settings)
    assert (small.scores != compare(X, y, protocol="shared_distribution", runs=2, **settings).scores).any()
    for wrong in ({"runs": 0}, {"train_size": 1.5}, {"train_size": True}):
        for protocol in (None, "bssd"):
            with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
                compare(X, y, protocol=protocol, **wrong, **settings)
    with pytest.raises(ValueError, match="train_size is not of protocol='tomographic', which has 3 folds"):
        compare(X, y, protocol="tomographic", train_size=0.5, **settings)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"scoring": "foo"}, ValueError, "'foo' is not a score of scikit-learn, such as 'accuracy'"),
        ({"scoring": "acuracy"}, ValueError, "such as 'accuracy'"),
        ({"resume": 3}, TypeError, "resume must be the path of a file, or None; got 3"),
        ({"random_state": "x"}, ValueError, "random_state must be a whole number from 0 to 4294967295, .*; got 'x'"),
    ],
)
def test_settings_that_are_none_are_named(wine, settings, error, words):
    X, y = wine
    with pytest.raises(error, match=words):
        compare(X, y, views=VIEWS, **settings)


def test_files_that_are_not_of_a_comparison(wine, tmp_path):
    (tmp_path / "other.txt").write_text("hello\n")
    with pytest.raises(ValueError, match="not a file of a comparison"):
        run(wine, resume=tmp_path / "other.txt")
    with pytest.raises(ValueError, match="is a folder"):
        run(wine, resume=tmp_path)


def test_method_is_seeded():
    method = Method("boost", METHODS["rshareboost"].make)
    assert method.estimator({"a": [0]}, None, 5).random_state == 5
    assert method.estimator({"a": [0]}, 7, 5).n_estimators == 7


@pytest.mark.long
def test_a_view_alone_is_trained_on_the_rows_that_have_it(wine):
    X, y = wine
    X = X.copy()
    X[::3, :6] = np.nan
    result = compare(
        X, y, views=VIEWS, methods=["view:left", "svm_sum", "shareboost"], runs=2, random_state=0, noise=0.1
    )
    assert result.scores.min() > 0.5


def test_folds_are_not_averaged_away_before_the_test(wine, monkeypatch):
    X, y = wine
    monkeypatch.setitem(comparison.PROTOCOLS, "tomographic", Protocol(runs=4, folds=3))
    result = compare(X, y, views=VIEWS, methods=["mkl_uniform", "view:left"], protocol="tomographic", random_state=0)
    assert result.scores.shape == (2, 4)
    assert result._fold_scores.shape == (2, 12)
    record = result.summary.records()[1]
    differences = result._fold_scores[0] - result._fold_scores[1]
    t = differences.mean() / np.sqrt(differences.var(ddof=1) * (1 / 12 + 1 / 2))
    assert record["p (corrected)"] == pytest.approx(2 * stats.t.sf(t, 11))


def test_resume_knows_a_method_by_its_class_and_an_array_by_its_values(wine, tmp_path):
    path = tmp_path / "cells.jsonl"
    settings = {"n_estimators": 5, "bootstrap": True}
    forest = run(wine, methods={"m": RandomForestClassifier(**settings)}, resume=path)
    trees = run(wine, methods={"m": ExtraTreesClassifier(**settings)}, resume=path)
    assert not np.array_equal(forest.scores, trees.scores)
    long, other = np.arange(2000.0), np.arange(2000.0)
    other[1000] = 7.0
    assert fingerprint(FunctionTransformer(kw_args={"a": long})) != fingerprint(
        FunctionTransformer(kw_args={"a": other})
    )
    assert fingerprint(FunctionTransformer(np.log1p)) == fingerprint(FunctionTransformer(np.log1p))
    assert fingerprint(lambda e, X, y: 0.0) != fingerprint(lambda e, X, y: 1.0)


def test_a_changed_scorer_is_noticed_and_more_runs_are_not_refused(wine, tmp_path):
    path = tmp_path / "cells.jsonl"
    first = run(wine, methods=["mkl_uniform"], scoring=lambda model, X, y: 0.25, resume=path, runs=1)
    assert first.scores.tolist() == [[0.25]]
    with pytest.raises(ValueError, match="a comparison with scoring"):
        run(wine, methods=["mkl_uniform"], scoring=lambda model, X, y: 0.75, resume=path, runs=1)
    path = tmp_path / "more.jsonl"
    few = run(wine, methods=["mkl_uniform"], runs=1, resume=path, random_state=None)
    more = run(wine, methods=["mkl_uniform"], runs=2, resume=path, random_state=None)
    assert few.scores[0, 0] == more.scores[0, 0]


def test_files_that_were_cut_off_at_once(wine, tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text('{"comparison": {"rows": 17')
    assert run(wine, methods=["mkl_uniform"], runs=1, resume=path).scores.shape == (1, 1)
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(ValueError, match="not a file of a comparison"):
        run(wine, methods=["mkl_uniform"], runs=1, resume=path)


def test_what_a_method_is_made_of_is_seeded_too(wine):
    methods = {"net": make_pipeline(StandardScaler(), ExtraTreesClassifier(n_estimators=3))}
    np.random.seed(0)  # noqa: NPY002
    first = run(wine, methods=methods)
    np.random.seed(1)  # noqa: NPY002
    np.testing.assert_array_equal(first.scores, run(wine, methods=methods).scores)


def test_absent_views_have_no_vote():
    labels = np.array([[1, 0, 0], [1, None, None]], dtype=object)
    present = np.array([[True, False, False], [True, False, False]])
    assert majority_labels(labels, np.random.default_rng(0), present).tolist() == [1, 1]


@pytest.mark.long
def test_gaps_and_rows_without_any_view(wine):
    X, y = wine
    X = X.copy()
    X[3, 0] = X[50, 9] = np.nan
    X[7] = np.nan
    result = compare(X, y, views=VIEWS, methods="default", runs=1, random_state=0)
    assert result.scores.min() > 0.5


def test_noise_is_paired_with_a_view_alone(wine, monkeypatch):
    X, y = wine
    X = X.copy()
    X[::3, :6] = np.nan
    drawn = []
    real = cells.add_label_noise
    monkeypatch.setattr(
        cells, "add_label_noise", lambda y, *rest, **settings: drawn.append(len(y)) or real(y, *rest, **settings)
    )
    compare(X, y, views=VIEWS, methods=["view:left", "svm_sum"], runs=1, noise=0.2, random_state=0)
    assert len(set(drawn)) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "acc"}, "scoring 'acc' is not a score of scikit-learn"),
        ({"scoring": 3}, "scoring must be a name or a function"),
        ({"scoring": "roc_auc"}, "is of two classes; for more use 'roc_auc_ovr'"),
        ({"scoring": lambda *cell: float("nan")}, r"shareboost on given labels, run 0: the score is \[nan\]"),
        ({"noise_views": 3}, "noise_views must be 'all' or a list"),
        ({"noise_views": ["top"]}, "noise_views must be 'all' or a list"),
        ({"methods": {1: MKLClassifier(), "1": MKLClassifier()}}, "two methods of one name"),
    ],
)
def test_more_bad_settings(wine, settings, message):
    with pytest.raises(ValueError, match=message):
        run(wine, **settings)


def test_labels_that_y_does_not_have(wine):
    _, y = wine
    labels = np.column_stack([y, y])
    labels[::5, 0] = 7
    with pytest.raises(ValueError, match="not among the classes: 7"):
        run(wine, methods=["mkl_uniform"], view_labels=labels)


def test_rare_classes_are_refused_before_any_fit(wine):
    X, y = wine
    rare = np.where(np.arange(len(y)) < 6, 9, y)
    with pytest.raises(ValueError, match="of which about 3 are trained on; stacking makes 5 folds"):
        compare(X, rare, views=VIEWS, methods=["mkl_uniform", "stacking"], runs=1)


def test_labels_that_are_missing_and_text_are_refused_in_words(wine):
    X, y = wine
    for labels, message in (
        (np.where(np.arange(len(y)) == 3, np.nan, y), r"y has no class in 1 of 178 rows \(nan in row 3\)"),
        (np.where(np.arange(len(y)) == 3, np.nan, X[:, 0]), "y must hold finite numbers; got nan in row 3"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(X, labels, methods=FEW, views=VIEWS, runs=1)
    table = pd.DataFrame({"a": X[:, 0], "site": np.array(["x", "y"])[np.arange(len(X)) % 2]})
    with pytest.raises(ValueError, match="text, categories or dates in 'site'") as refused:
        compare(table, y, methods=["svm_sum"], runs=1)
    # What the message says runs as it stands.
    few = partial(compare, methods=["svm_sum"], runs=1)
    given = {"X": table, "y": y, "views": {"place": ["a", "site"]}, "compare": few}
    exec(str(refused.value).partition("; use ")[2].rstrip("."), given)


def test_labels_that_are_objects_of_one_kind(wine):
    X, y = wine[0][:80], wine[1][:80] > 0
    plain = compare(X, y, methods=["svm_sum"], views=VIEWS, runs=1, random_state=0)
    objects = compare(X, y.astype(object), methods=["svm_sum"], views=VIEWS, runs=1, random_state=0)
    assert np.array_equal(objects.scores, plain.scores)
