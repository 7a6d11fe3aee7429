"""Models that are saved and loaded again, and what is refused before anything is written."""

import io
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import fuselearn
from fuselearn import (
    AugmentedKernelClassifier,
    ConcatenatedClassifier,
    FusionClassifier,
    IndependentBoostClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    NSBoostClassifier,
    RSBagClassifier,
    ShareBoostClassifier,
    SuperKernelClassifier,
    TomographicClassifier,
    ViewStackingClassifier,
    ViewVotingClassifier,
    load,
    save,
)
from fuselearn.kernels import GramLookup
from fuselearn.multilabel import RbfSVC
from fuselearn.persistence import describe
from fuselearn.persistence.container import pack, unpack

VIEWS = {"a": [0, 1, 2], "b": slice(3, 6), "c": [6, 7, 8]}
DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(90, 9))
SUMS = X[:, 0] + X[:, 4] + X[:, 8] + 0.3 * DRAWS.normal(size=90)
TWO, THREE = (SUMS > 0).astype(int), np.array(["low", "mid", "high"])[np.digitize(SUMS, [-0.8, 0.8])]
LABELS = np.column_stack([SUMS > 0, X[:, 1] > 0, X[:, 7] > 0.2]).astype(int)
ONE_VIEW_EACH = np.where(np.repeat(np.eye(3, dtype=bool)[np.arange(90) % 3], 3, axis=1), X, np.nan)
NUMBERED = np.column_stack([np.arange(90.0), X[:, :2]])

SHARED = {
    learner: (ShareBoostClassifier(learner, views=VIEWS, n_estimators=4, random_state=0), X, y)
    for learner, y in (("gaussian_nb", THREE), ("stump", TWO), ("tree", THREE), ("linear", TWO))
}
POLICIES = {
    policy: (ShareBoostClassifier(views=VIEWS, n_estimators=6, view_policy=policy, random_state=0), X, TWO)
    for policy in ("exp3p", "uniform", "round_robin")
}
MODELS = {
    **SHARED,
    **POLICIES,
    "resampled": (
        ShareBoostClassifier(SVC(), views=VIEWS, n_estimators=3, resample=True, error="out_of_bag", random_state=0),
        X,
        TWO,
    ),
    "learner per view": (
        ShareBoostClassifier(
            {"a": ["stump", LogisticRegression()], "b": DecisionTreeClassifier(max_depth=2), "c": "tree"},
            views=VIEWS,
            n_estimators=6,
            preprocess={"a": PCA(2), "b": StandardScaler()},
        ),
        X,
        THREE,
    ),
    "gaps": (ShareBoostClassifier("tree", views=VIEWS, n_estimators=4), ONE_VIEW_EACH, TWO),
    "independent": (IndependentBoostClassifier("stump", views=VIEWS, n_estimators=4), X, TWO),
    "mss": (MSSBoostClassifier(n_estimators=4, data_ratio=0.5, feature_ratio=0.5, random_state=0), X, LABELS),
    "ns": (NSBoostClassifier(n_estimators=4, data_ratio=0.5, feature_ratio=0.5, random_state=0), X, LABELS),
    "bag": (
        RSBagClassifier(DecisionTreeClassifier(), n_estimators=4, data_ratio=0.5, feature_ratio=0.5, random_state=0),
        X,
        LABELS,
    ),
    "rbf": (RbfSVC(), X, TWO),
    "tomographic": (TomographicClassifier(views=VIEWS, random_state=0), ONE_VIEW_EACH, TWO),
    "augmented": (AugmentedKernelClassifier(views=VIEWS), ONE_VIEW_EACH, TWO),
    "kernel dict": (
        MKLClassifier(views=VIEWS, kernel={"a": "rbf", "b": laplacian_kernel, "c": "poly"}, weights="mkl"),
        X,
        THREE,
    ),
    "gram": (
        MKLClassifier(views={"g": [0], "a": [1, 2]}, kernel={"g": GramLookup(X @ X.T), "a": "rbf"}),
        NUMBERED,
        TWO,
    ),
    "voting": (ViewVotingClassifier(SVC(), views=VIEWS), X, THREE),
    "stacking": (ViewStackingClassifier(LogisticRegression(), views=VIEWS), X, TWO),
    "concatenated": (ConcatenatedClassifier(AdaBoostClassifier(n_estimators=3), views=VIEWS), X, TWO),
    "super kernel": (SuperKernelClassifier(views=VIEWS), X, TWO),
    "fusion": (FusionClassifier(views=VIEWS, random_state=0), X, TWO),
    "fusion of three classes": (FusionClassifier(views=VIEWS, random_state=0), X, THREE),
    "fusion with gaps": (FusionClassifier(views=VIEWS, consensus=False, random_state=0), ONE_VIEW_EACH, TWO),
    "fusion of classifiers": (
        FusionClassifier(
            views=VIEWS, learners={"nb": GaussianNB(), "svm": SVC(), "forest": RandomForestClassifier(2)}, max_fits=9
        ),
        X,
        THREE,
    ),
    "consensus": (LabelConsensus(GaussianNB(), views=VIEWS, random_state=0), X, TWO),
    "pipeline": (make_pipeline(StandardScaler(), ShareBoostClassifier(views=VIEWS, n_estimators=3)), X, TWO),
    "search": (
        GridSearchCV(
            ShareBoostClassifier(views=VIEWS), {"n_estimators": [2, 3]}, scoring="accuracy", cv=StratifiedKFold(2)
        ),
        X,
        TWO,
    ),
}
CLASSIFIERS = [
    BaggingClassifier(n_estimators=3, max_features=0.5),
    ExtraTreesClassifier(5),
    GaussianProcessClassifier(RBF(2.0)),
    GradientBoostingClassifier(n_estimators=3),
    HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
    MLPClassifier((4,), max_iter=2000),
    RandomForestClassifier(5),
    SGDClassifier(random_state=np.random.RandomState(3)),
    SVC(class_weight={0: 1.0, 1: 2.0}),
    make_pipeline(FunctionTransformer(np.arcsinh), LogisticRegression()),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fuse"


@pytest.fixture
def saved(path):
    """A small model, and its file."""
    model = ShareBoostClassifier(views=VIEWS, n_estimators=3).fit(X, TWO)
    save(model, path)
    return model


def forge(path, edit):
    """Change a file by a function of its header, tree and members, and make its checksum right again."""
    header, members = unpack(path.read_bytes())
    schema = json.loads(members.pop("schema.json"))
    edit(header, schema, members)
    path.write_bytes(pack(header, {"schema.json": json.dumps(schema).encode(), **members}))


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


def forests_in(value):
    if isinstance(value, dict):
        if value.get("__class__") == "Forest":
            yield value["content"]["content"]
        for item in value.values():
            yield from forests_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from forests_in(item)


def changed(edit):
    """Bytes of an array that a function has changed; it may return another."""

    def apply(content):
        array = np.load(io.BytesIO(content)).copy()
        made = edit(array)
        buffer = io.BytesIO()
        np.save(buffer, array if made is None else made)
        return buffer.getvalue()

    return apply


def put(place, value):
    def edit(array):
        array[place] = value

    return edit


FORGED_FORESTS = {
    "a circle": ("left", put(0, 0)),
    "left child out of it": ("left", put(0, 10**6)),
    "right child out of it": ("left", lambda left: put(0, len(left) - 1)(left)),
    "before it": ("left", put(0, -5)),
    "a column too many": ("feature", put(0, 3)),
    "a number that overflows": ("left", lambda left: np.where(np.arange(len(left)) == 0, 2**63 - 1, left)),
    "root out of it": ("roots", put(-1, 10**6)),
    "root before it": ("roots", put(0, -1)),
    "roots of another shape": ("roots", lambda roots: roots[:, None]),
    "a last node that is no leaf": ("feature", put(-1, 0)),
    "fewer values": ("values", lambda values: values[:-1]),
    "fewer thresholds": ("threshold", lambda threshold: threshold[:-1]),
    "fewer links": ("left", lambda left: left[:-1]),
    "flat values": ("values", lambda values: values[:, 0]),
    "fractions": ("left", lambda left: left.astype(np.float64)),
    "numbers without a sign": ("feature", lambda feature: feature.astype(np.uint32)),
    "no nodes": ("feature", lambda feature: feature[:0]),
}


@pytest.fixture(scope="module")
def forest_file(tmp_path_factory):
    """A model of trees, as a file."""
    path = tmp_path_factory.mktemp("forest") / "model.fuse"
    model = FusionClassifier(views=VIEWS, learners="trees", consensus=False, max_fits=1, random_state=0).fit(X, TWO)
    save(model, path)
    return path.read_bytes()


@pytest.mark.parametrize("case", FORGED_FORESTS)
def test_a_forest_that_leads_out_of_itself_is_refused(case, forest_file, path):
    part, edit = FORGED_FORESTS[case]

    def lead_astray(header, schema, members):
        file = next(forests_in(schema))[part]["file"]
        members[file] = changed(edit)(members[file])

    path.write_bytes(forest_file)
    load(path)
    forge(path, lead_astray)
    with pytest.raises(ValueError, match=r"has a (forest|tree)"):
        load(path)


@pytest.mark.parametrize("told", ["2", "true", "3.0", "null", '"3"'])
def test_a_forest_that_hides_how_many_columns_it_reads_is_refused(told, forest_file, path):
    def other_columns(header, schema, members):
        next(forests_in(schema))["n_columns"]["content"] = told

    path.write_bytes(forest_file)
    forge(path, other_columns)
    with pytest.raises(ValueError, match=r"has a (forest|tree)"):
        load(path)


def test_a_forest_that_says_it_reads_more_columns_reads_none(forest_file, path):
    def more_columns(header, schema, members):
        for forest in forests_in(schema):
            forest["n_columns"]["content"] = "4"

    path.write_bytes(forest_file)
    forge(path, more_columns)
    with pytest.raises(ValueError, match="grown on 4 columns; columns has 3"):
        load(path).predict(X)


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
