"""Models that are saved and loaded again, and what is refused before anything is written."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import fuselearn
from fuselearn import (
    FusionClassifier,
    MSSBoostClassifier,
    ShareBoostClassifier,
    ViewVotingClassifier,
    load,
    save,
)
from fuselearn.persistence import describe
from fuselearn.persistence.container import unpack
from tests.persistence.saved_models import CLASSIFIERS, LABELS, MODELS, POLICIES, SHARED, THREE, TWO, VIEWS, X, forge


def assert_same(one, other, X):
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(one, method):
            np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(X), strict=True)
    for name in ("posterior_", "labels_", "kernel_weights_", "view_importances_", "noise_rates_"):
        if hasattr(one, name):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    if isinstance(one, FusionClassifier):
        assert one.suspects(9) == other.suspects(9)
        assert one.leaderboard_.equals(other.leaderboard_)
    assert re.sub(" at 0x[0-9A-Fa-f]+", "", repr(one)) == re.sub(" at 0x[0-9A-Fa-f]+", "", repr(other))


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_bit_for_bit_the_same(name, path):
    model, rows, y = MODELS[name]
    model.fit(rows, y)
    assert save(model, path) == path
    assert_same(model, load(path), rows)


@pytest.mark.long
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda classifier: type(classifier).__name__)
def test_classifiers_of_scikit_learn(classifier, path):
    model = ViewVotingClassifier(classifier, views=VIEWS).fit(X, TWO)
    save(model, path)
    assert_same(model, load(path), X)


@pytest.mark.parametrize("name", [*SHARED, *POLICIES, "learner per view", "independent"])
def test_a_loaded_run_goes_on(name, path):
    model, rows, y = MODELS[name]
    model = type(model)(**{**model.get_params(deep=False), "warm_start": True, "random_state": 0}).fit(rows, y)
    save(model, path)
    loaded = load(path).set_params(n_estimators=9).fit(rows, y)
    assert_same(model.set_params(n_estimators=9).fit(rows, y), loaded, rows)
    assert loaded.n_iter_ > 3


def test_objects_that_are_shared_stay_so(path):
    save(ShareBoostClassifier(views=VIEWS, n_estimators=6).fit(X, TWO), path)
    loaded = load(path)
    assert loaded.estimators_[0] is loaded.trace_.rounds[0].winner.hypothesis
    assert len({id(hypothesis.plan) for hypothesis in loaded.estimators_}) <= 3


def test_the_file_tells_what_is_in_it(path):
    frame = pd.DataFrame(X, columns=[*"pqrstuvwx"])
    views = {"a": ["p", "q"], "b": make_column_selector("^[rs]$"), "c": slice(4, 6)}
    model = ShareBoostClassifier(views=views, n_estimators=2).fit(frame, THREE)
    save(model, path, note={"id": "patient", "columns": [1, 2.5, None]})
    told = describe(path)
    assert told["model"] == "ShareBoostClassifier"
    assert told["format"] == 1
    assert told["fuselearn_version"] == fuselearn.__version__
    assert told["feature_names"] == [*"pqrstuvwx"]
    assert told["n_features"] == 9
    assert told["views"] == {"a": ["p", "q"], "b": ["r", "s"], "c": ["t", "u"]}
    assert told["classes"] == ["high", "low", "mid"]
    assert told["note"] == {"id": "patient", "columns": [1, 2.5, None]}
    assert_same(model, load(path), frame)


def test_the_views_inside_a_pipeline_and_a_search_are_told(path):
    for name in ("pipeline", "search"):
        model, rows, y = MODELS[name]
        save(model.fit(rows, y), path)
        assert describe(path)["views"] == {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7, 8]}
        assert describe(path)["classes"] == [0, 1]
    save(MSSBoostClassifier(n_estimators=2, random_state=0).fit(X, LABELS), path)
    assert describe(path)["model"] == "MSSBoostClassifier"


def test_describe_needs_neither_numpy_nor_scikit_learn(saved, path):
    script = (
        "import sys; from fuselearn.persistence import describe; describe(sys.argv[1]); "
        "print([name for name in ('numpy', 'sklearn', 'skops') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_equal_models_make_equal_files(path):
    contents = []
    for _ in range(2):
        save(ShareBoostClassifier("tree", views=VIEWS, n_estimators=3, random_state=0).fit(X, TWO), path)
        contents.append(unpack(path.read_bytes())[1])
    assert contents[0] == contents[1]


def test_the_training_rows_are_not_in_the_file(path):
    sizes = []
    for repeat in (1, 20):
        rows, y = np.tile(X, (repeat, 1)), np.tile(TWO, repeat)
        save(ShareBoostClassifier(views=VIEWS, n_estimators=4).fit(rows, y), path)
        sizes.append(path.stat().st_size)
        for content in unpack(path.read_bytes())[1].values():
            assert not any(X[:4, column].tobytes() in content for column in range(9))
            assert not any(X[row, :3].tobytes() in content for row in range(90))
    assert abs(sizes[1] - sizes[0]) < 0.05 * sizes[0]


@pytest.mark.long
def test_a_long_run_on_wide_views_stays_small(path):
    rows = np.random.default_rng(1).normal(size=(300, 300))
    y = (rows[:, ::10].sum(axis=1) + 9 * np.random.default_rng(2).normal(size=300) > 0).astype(int)
    views = [slice(0, 100), slice(100, 200), slice(200, 300)]
    model = ShareBoostClassifier(views=views, view_policy="round_robin", n_estimators=150).fit(rows, y)
    assert model.n_iter_ == 150
    save(model, path)
    assert path.stat().st_size < 1_500_000


def test_keys_of_dicts_come_back_as_they_were(path):
    model = ShareBoostClassifier(SVC(class_weight={False: 1.0, True: 2.0}), views=VIEWS, n_estimators=2)
    save(model.fit(X, TWO.astype(bool)), path)
    assert load(path).estimator.class_weight == {False: 1.0, True: 2.0}


def test_a_model_that_is_not_fitted_is_kept_as_well(path):
    save(ShareBoostClassifier(views=VIEWS), path)
    assert load(path).get_params() == ShareBoostClassifier(views=VIEWS).get_params()
    assert describe(path)["classes"] is None


# Forests whose numbers lead astray: compiled code walks them without looking at bounds


# What is refused before anything is written


def first_columns(frame):
    return [0, 1]


REFUSED = {
    "lambda": ({"a": lambda frame: [0, 1]}, r"<lambda> \(in views\.a\).*make_column_selector"),
    "local": ({"a": first_columns}, r"first_columns \(in views\.a\)"),
    "index": ({"a": pd.Index([0, 1])}, "views.a holds Index.*Use plain lists"),
    "numpy slice": ({"a": slice(np.int64(0), 2)}, "views.a holds slice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_views_that_cannot_be_saved_are_named(case, path):
    views, words = REFUSED[case]
    model = ShareBoostClassifier(views=views, n_estimators=2).fit(X, TWO)
    with pytest.raises(ValueError, match=words):
        save(model, path)
    assert not list(path.parent.iterdir())


def test_a_function_defined_inside_another_is_refused(path):
    def inner(values):
        return values

    model = make_pipeline(FunctionTransformer(inner), ShareBoostClassifier(n_estimators=2)).fit(X, TWO)
    with pytest.raises(ValueError, match="inner"):
        save(model, path)
    assert not path.exists()


def test_keys_that_text_cannot_tell_apart_are_refused(path):
    model = ShareBoostClassifier(SVC(), views=VIEWS, n_estimators=2).fit(X, TWO)
    model.remark_ = {1: "one", "1": "text"}
    with pytest.raises(ValueError, match="equal once they are written as text"):
        save(model, path)
    model.remark_ = {(1, 2): "pair"}
    with pytest.raises(ValueError, match=r"remark_ holds .*cannot be saved"):
        save(model, path)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([1], "x.fuse"), TypeError, "model must be a fitted estimator"),
        ((ShareBoostClassifier, "x.fuse"), TypeError, "model must be a fitted estimator"),
        ((ShareBoostClassifier(), 3), TypeError, "path must be a str or a Path"),
    ],
)
def test_bad_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        save(*arguments)


def test_bad_options(saved, path):
    with pytest.raises(TypeError, match="trusted must be a list"):
        load(path, trusted=True)
    with pytest.raises(TypeError, match="note must be a dict"):
        save(saved, path, note=[1])
    with pytest.raises(ValueError, match="note must hold only what JSON can"):
        save(saved, path, note={"a": {1, 2}})
    with pytest.raises(ValueError, match="note must hold only what JSON can"):
        save(saved, path, note={"a": np.nan})


# Types of others

FOREIGN = """
from sklearn.naive_bayes import GaussianNB
made = []
class Louder(GaussianNB):
    def __setstate__(self, state):
        made.append(1)
        super().__setstate__(state)
def double(values):
    return 2 * values
"""


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "someones_models.py").write_text(FOREIGN)
    monkeypatch.syspath_prepend(folder)
    import someones_models

    yield someones_models
    del sys.modules["someones_models"]


def test_a_foreign_type_has_to_be_allowed_by_name(foreign, path):
    model = ViewVotingClassifier(foreign.Louder(), views=VIEWS).fit(X, TWO)
    with pytest.raises(ValueError, match=r"someones_models\.Louder.*trusted=\['someones_models\.Louder'\]"):
        save(model, path)
    assert not path.exists()
    save(model, path, trusted=["someones_models.Louder"])
    foreign.made.clear()
    with pytest.raises(ValueError, match=r"model\.fuse .*someones_models\.Louder.*trusted="):
        load(path)
    assert not foreign.made
    assert_same(model, load(path, trusted=[foreign.Louder]), X)
    assert foreign.made


def test_a_trusted_function_is_kept_but_never_called_as_a_type(foreign, path):
    model = make_pipeline(FunctionTransformer(foreign.double), ShareBoostClassifier(n_estimators=2)).fit(X, TWO)
    save(model, path, trusted=foreign.double)
    assert load(path, trusted=foreign.double).predict(X).tolist() == model.predict(X).tolist()

    def call_it(header, schema, members):
        schema["content"]["content"]["memory"] = {
            "__loader__": "ConstructorFromReduceNode",
            "__module__": "someones_models",
            "__class__": "double",
            "content": _tuple_of(_json("3")),
        }

    forge(path, call_it)
    with pytest.raises(ValueError, match=r"uses someones_models\.double as a type"):
        load(path, trusted=["someones_models.double"])


def _json(text):
    return {"__loader__": "JsonNode", "__module__": "builtins", "__class__": "str", "content": text}


def _tuple_of(*nodes):
    return {"__loader__": "TupleNode", "__module__": "builtins", "__class__": "tuple", "content": list(nodes)}


def test_a_search_tree_of_neighbours_is_foreign_and_says_so(path):
    model = ViewVotingClassifier(KNeighborsClassifier(algorithm="kd_tree"), views=VIEWS).fit(X, TWO)
    with pytest.raises(ValueError, match="KDTree"):
        save(model, path)
    model = ViewVotingClassifier(KNeighborsClassifier(algorithm="brute"), views=VIEWS).fit(X, TWO)
    save(model, path)
    assert_same(model, load(path), X)
