"""Models that are saved and loaded again, and what is refused before anything is written."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
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
from fuselearn.persistence.model_types import BIT_GENERATORS
from tests.persistence.saved_models import (
    CLASSIFIERS,
    LABELS,
    MODELS,
    POLICIES,
    SHARED,
    TABLE,
    TABLE_MODEL,
    THREE,
    TWO,
    VIEWS,
    X,
    fitted,
    load_trusted,
)


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


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_bit_for_bit_the_same(name, path):
    model, rows = fitted(name)
    assert save(model, path) == path
    assert_same(model, load_trusted(path), rows)


def test_a_table_classifier_is_kept_with_what_it_knows_of_its_columns(path):
    model = clone(TABLE_MODEL).fit(TABLE, THREE)
    save(model, path)
    assert describe(path)["foreign"] == []
    assert_same(model, load(path), TABLE)
    save(clone(TABLE_MODEL), path)
    assert not hasattr(load(path), "classes_")


@pytest.mark.long
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda classifier: type(classifier).__name__)
def test_classifiers_of_scikit_learn(classifier, path):
    model = ViewVotingClassifier(classifier, views=VIEWS).fit(X, TWO)
    save(model, path)
    assert_same(model, load_trusted(path), X)


@pytest.mark.parametrize("name", [*SHARED, *POLICIES, "learner per view", "independent"])
def test_a_loaded_run_goes_on(name, path):
    model, rows, y = MODELS[name]
    model = type(model)(**{**model.get_params(deep=False), "warm_start": True, "random_state": 0}).fit(rows, y)
    save(model, path)
    loaded = load_trusted(path).set_params(n_estimators=9).fit(rows, y)
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
    assert told["format"] == 2
    assert told["foreign"] == []
    assert told["fuselearn_version"] == fuselearn.__version__
    assert told["feature_names"] == [*"pqrstuvwx"]
    assert told["n_features"] == 9
    assert told["views"] == {"a": ["p", "q"], "b": ["r", "s"], "c": ["t", "u"]}
    assert told["classes"] == ["high", "low", "mid"]
    assert told["note"] == {"id": "patient", "columns": [1, 2.5, None]}
    assert_same(model, load(path), frame)


def test_the_views_inside_a_pipeline_and_a_search_are_told(path):
    for name in ("pipeline", "search"):
        save(fitted(name)[0], path)
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
    assert load_trusted(path).estimator.class_weight == {False: 1.0, True: 2.0}


def test_a_model_that_is_not_fitted_is_kept_as_well(path):
    save(ShareBoostClassifier(views=VIEWS), path)
    assert load(path).get_params() == ShareBoostClassifier(views=VIEWS).get_params()
    assert describe(path)["classes"] is None


# What is refused before anything is written


def first_columns(frame):
    return [0, 1]


REFUSED = {
    "lambda": ({"a": lambda frame: [0, 1]}, r"<lambda> \(in views\.a\).*make_column_selector"),
    "local": ({"a": first_columns}, "holds tests.*first_columns, which trusted does not name"),
    "index": ({"a": pd.Index([0, 1])}, "views.a holds Index.*Use plain lists"),
    "numpy slice": ({"a": slice(np.int64(0), 2)}, "views.a holds slice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_views_that_cannot_be_saved_are_named(case, path):
    views, words = REFUSED[case]
    model = ShareBoostClassifier(views=views, n_estimators=2).fit(X, TWO)
    with pytest.raises(ValueError, match=words):
        save(model, path, trusted=[])
    assert not list(path.parent.iterdir())


def test_a_function_defined_inside_another_is_refused(path):
    def inner(values):
        return values

    model = make_pipeline(FunctionTransformer(inner), ShareBoostClassifier(n_estimators=2)).fit(X, TWO)
    with pytest.raises(ValueError, match="inner"):
        save(model, path)
    assert not path.exists()


def test_keys_of_any_plain_type_are_kept_in_a_model_of_ours(path):
    model = ShareBoostClassifier(views=VIEWS, n_estimators=2).fit(X, TWO)
    model.remark_ = {1: "one", "1": "text", (1, 2): "pair", None: "none", 2.5: "half", False: "no"}
    save(model, path)
    assert load(path).remark_ == model.remark_
    assert list(map(type, load(path).remark_)) == list(map(type, model.remark_))


def test_keys_that_text_cannot_tell_apart_are_refused_in_foreign_objects(path):
    model = make_pipeline(StandardScaler(), ShareBoostClassifier(n_estimators=2)).fit(X, TWO)
    model[0].remark_ = {1: "one", "1": "text"}
    with pytest.raises(ValueError, match="equal once they are written as text"):
        save(model, path)
    model[0].remark_ = {(1, 2): "pair"}
    with pytest.raises(ValueError, match=r"remark_ holds .*cannot be saved"):
        save(model, path)
    assert not path.exists()


def test_what_holds_itself_is_refused(path):
    model = ShareBoostClassifier(views=VIEWS, n_estimators=2).fit(X, TWO)
    model.remark_ = [model]
    with pytest.raises(ValueError, match="refers to itself"):
        save(model, path)


PLAIN = {
    "numbers": [0, -1, 2**80, 1.5, np.inf, -np.inf, -0.0, True, None],
    "texts": ["", "\0", "ü", "\ud800", "a" * 1000],
    "scalars": [np.float32(1.5), np.int8(-3), np.bool_(True), np.str_(""), np.str_("x"), np.datetime64("2020-01-02")],
    "containers": [(), (1, (2,)), {}, {"a": [1]}, set(), {"b"}, frozenset({(1, 2)}), b"", b"\0\xff"],
    "ranges": [range(3), range(9, 0, -2), slice(None), slice(1, None, 2)],
}
ARRAYS = {
    "empty": np.zeros((0, 3)),
    "scalar": np.array(3.0),
    "Fortran": np.asfortranarray(X[:4, :3]),
    "strided": X[::2, ::3],
    "big end": np.arange(3, dtype=">i4"),
    "half": np.arange(3, dtype=np.float16),
    "complex": np.array([1j, 2.0]),
    "truth": np.array([True, False]),
    "texts": np.array(["a", "", "\U0010ffff"]),
    "bytes": np.array([b"a", b"bc"]),
    "dates": np.array(["2020-01-02", "NaT"], dtype="M8[D]"),
    "objects": np.array([["a", None], [1, 2.5]], dtype=object),
    "no objects": np.zeros((2, 0), dtype=object),
    "empty texts": np.zeros(3, dtype="<U0"),
}


def kept(value, path):
    """Return a value after it was saved and loaded, as an attribute of a model."""
    model = ShareBoostClassifier(views=VIEWS)
    model.remark_ = value
    save(model, path)
    return load(path).remark_


@pytest.mark.parametrize("case", PLAIN)
def test_plain_values_come_back_with_their_types(case, path):
    again = kept(PLAIN[case], path)
    assert again == PLAIN[case]
    assert [type(value) for value in again] == [type(value) for value in PLAIN[case]]
    assert repr(again) == repr(PLAIN[case])


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_come_back_with_their_types_and_order(case, path):
    again, array = kept(ARRAYS[case], path), ARRAYS[case]
    np.testing.assert_array_equal(again, array)
    assert again.shape == array.shape
    assert again.dtype == array.dtype.newbyteorder("=")
    assert again.flags.writeable
    if case == "Fortran":
        assert again.flags.f_contiguous


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array])
def test_sparse_matrices_come_back(kind, path):
    matrix = kind(np.where(X[:5] > 1, X[:5], 0))
    again = kept(matrix, path)
    assert type(again) is kind
    np.testing.assert_array_equal(again.toarray(), matrix.toarray())


@pytest.mark.parametrize("bits", BIT_GENERATORS)
def test_generators_come_back_in_their_state(bits, path):
    generator = np.random.Generator(getattr(np.random, bits)(3))
    generator.integers(9, size=5, dtype=np.int32)
    again = kept(generator, path)
    np.testing.assert_array_equal(again.normal(size=9), generator.normal(size=9))
    legacy = np.random.RandomState(4)
    legacy.normal(size=3)
    np.testing.assert_array_equal(kept(legacy, path).normal(size=9), legacy.normal(size=9))


def test_an_array_in_two_places_is_one_again(path):
    array = X[:3].copy()
    first, second = kept([array, array], path)
    assert first is second


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
    with pytest.raises(TypeError, match="trusted must be True, or a list of types or of their full names"):
        load(path, trusted=3)
    with pytest.raises(TypeError, match="trusted must be True, or a list of types or of their full names"):
        save(saved, path, trusted=[3])
    with pytest.raises(TypeError, match="note must be a dict"):
        save(saved, path, note=[1])
    with pytest.raises(ValueError, match="note must hold only what JSON can"):
        save(saved, path, note={"a": {1, 2}})
    with pytest.raises(ValueError, match="note must hold only what JSON can"):
        save(saved, path, note={"a": np.nan})
