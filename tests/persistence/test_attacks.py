"""Files as an attacker would write them: what made `load` of the first format run code, or crash.

Each is loaded in a process of its own that notes what it opens, writes and calls. Without trust none of them gets as
far as being built; with it, those that would read foreign memory are still refused before anything is called.
"""

import json
from unittest import mock

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from fuselearn import ShareBoostClassifier, ViewVotingClassifier, load
from fuselearn.exceptions import UntrustedTypeError
from fuselearn.multilabel import RbfSVC
from fuselearn.persistence import model_file
from fuselearn.persistence.model_types import Trust
from tests.persistence.saved_models import THREE, TWO, VIEWS, SavedFile, X, dicts_in, foreign_states
from tests.persistence.watching import watched


def written(model):
    """Return a model as a file, without reading it back: whoever means harm does not."""
    read = lambda content, trust: None  # noqa: E731
    with mock.patch.object(model_file, "read_model", read):
        return model_file.dump(model, Trust(True))


def voting(estimator, y=TWO, edit=None):
    """Return votes of a classifier, whose first one was changed after the fit."""
    with threadpool_limits(1):  # threads of OpenMP, on so few rows, only wait for each other
        model = ViewVotingClassifier(estimator, views=VIEWS).fit(X, y)
    if edit is not None:
        edit(model.estimators_[0])
    return model


# What a file asked for was called


def calls_fit(folder):
    """Return stacking that calls `fit` of a pipeline with a cache, when it is asked for its columns."""
    stacking = StackingClassifier([("a", GaussianNB())], LogisticRegression(), cv=2).fit(X[:, :3], TWO)
    stacking.estimators_ = [Pipeline([("a", GaussianNB()), ("b", GaussianNB())], memory=str(folder / "cache"))]
    stacking.stack_method_ = ["fit"]
    return stacking


def as_preprocessing(transformer):
    """Return boosting whose first view goes through a transformer, as the first format asked for its width."""
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=2).fit(X, TWO)
    model.preprocessors_ = [transformer, *model.preprocessors_[1:]]
    return model


def opens_files(folder):
    """Return a transformer that reads the files that it is given the names of."""
    (folder / "secret").write_text("words to be read")
    vectorizer = CountVectorizer(input="filename").fit([str(folder / "secret")])
    return make_pipeline(ColumnTransformer([("a", "drop", [0])]), vectorizer)


CALLS = {
    "stacking that fits": lambda folder: as_preprocessing(calls_fit(folder)),
    "stacking that fits, in votes": lambda folder: voting(GaussianNB()).set_params(estimator=calls_fit(folder)),
    "a pipeline with a cache": lambda folder: as_preprocessing(Pipeline([("a", GaussianNB())], memory=str(folder))),
    "names of files": lambda folder: as_preprocessing(opens_files(folder)),
}


# One thing was checked and another built, or nothing was checked


def edited(model, edit):
    """Return the file of a model, changed by a function of its parts."""
    file = SavedFile(written(model))
    edit(file)
    return file.content


def arrays_of(file, loader="NdArrayNode"):
    return [node for node in dicts_in(file.schema) if node.get("__loader__") == loader]


def both_at_once(file):
    nodes = next(foreign_states(file.schema, "Tree"))["nodes"]
    nodes["content"] = {"data": 1}


def casting(name):
    def edit(file):
        next(foreign_states(file.schema, "Tree"))["nodes"]["__class__"] = name

    return edit


def more_trees(boosting):
    boosting.estimators_ = np.tile(boosting.estimators_, (1, 50))


def wild_sparse():
    """Return a sparse matrix that SciPy has not looked at."""
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indices[:] = 10**8
    return matrix


def svc(**changes):
    def edit(machine):
        for name, change in changes.items():
            setattr(machine, name, change(getattr(machine, name)))

    return edit


def short_coefficients():
    machine = RbfSVC().fit(X, TWO)
    machine.dual_coef_ = machine.dual_coef_[:, :3]
    return machine


def of_other_classes(boosting):
    """Let three trees a stage be added to a matrix of two columns."""
    boosting.init_.class_prior_ = boosting.init_.class_prior_[:2]


def of_categories(boosting):
    """Let trees look up categories where there are none."""
    for stage in boosting._predictors:
        for tree in stage:
            tree.nodes["is_categorical"] = tree.nodes["is_leaf"] == 0


def kernels_of_other_rows(machine):
    machine.support_ = machine.support_ + 10**7


def far_rows(neighbours):
    neighbours._y = neighbours._y[:5]


HISTOGRAMS = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5, max_leaf_nodes=4)
UNSAFE = {
    "a node with both a content and a file": lambda: edited(voting(DecisionTreeClassifier()), both_at_once),
    "an array that casts itself": lambda: edited(voting(DecisionTreeClassifier()), casting("recarray")),
    "an array that is one number": lambda: edited(voting(DecisionTreeClassifier()), casting("float64")),
    "more trees in a stage than classes": lambda: written(
        voting(GradientBoostingClassifier(n_estimators=2), edit=more_trees)
    ),
    "boosting that begins with other classes": lambda: written(
        voting(GradientBoostingClassifier(n_estimators=2), THREE, of_other_classes)
    ),
    "boosting of categories": lambda: written(voting(HISTOGRAMS, edit=of_categories)),
    "more outputs than trees": lambda: written(voting(HISTOGRAMS, edit=svc(n_trees_per_iteration_=lambda n: n + 4))),
    "fewer coefficients": lambda: written(voting(SVC(), edit=svc(_dual_coef_=lambda a: a[:, :2]))),
    "fewer intercepts": lambda: written(voting(SVC(), THREE, svc(_intercept_=lambda a: a[:1]))),
    "counts of other vectors": lambda: written(voting(SVC(), edit=svc(_n_support=lambda a: a + 10**6))),
    "counts below 0": lambda: written(voting(SVC(), edit=svc(_n_support=lambda a: np.array([-5, a.sum() + 5], "i4")))),
    "vectors of other columns": lambda: written(voting(SVC(), edit=svc(support_vectors_=lambda a: a[:, :1].copy()))),
    "probabilities of other classes": lambda: written(voting(SVC(), THREE, svc(_probA=lambda a: np.ones(1)))),
    "another machine": lambda: written(voting(SVC(), edit=svc(_impl=lambda _: "nu_svr"))),
    "kernels of other rows": lambda: written(voting(SVC(kernel=linear_kernel), edit=kernels_of_other_rows)),
    "neighbours without classes": lambda: written(voting(KNeighborsClassifier(algorithm="brute"), edit=far_rows)),
}
OURS_UNSAFE = {
    "a short dual_coef_": lambda: written(short_coefficients()),
    "sparse with wild indices": lambda: _with_attribute(wild_sparse()),
}


def _with_attribute(value):
    model = ShareBoostClassifier(views=VIEWS, n_estimators=2).fit(X, TWO)
    model.remark_ = value
    return written(model)


@pytest.mark.parametrize("name", CALLS)
def test_what_would_call_something_is_refused_without_trust(name, tmp_path):
    path = tmp_path / "attack.fuse"
    path.write_bytes(written(CALLS[name](tmp_path)))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(UntrustedTypeError, match="If you trust whoever made the file"):
        load(path)
    assert set(tmp_path.rglob("*")) == before


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Load all of them, with and without trust, and return what became of each."""
    pytest.importorskip("resource")  # with which the memory of the process is limited; not on Windows
    folder = tmp_path_factory.mktemp("attacks")
    tasks, names = [], []
    contents = {name: written(make(folder)) for name, make in CALLS.items()}
    contents |= {name: make() for name, make in (UNSAFE | OURS_UNSAFE).items()}
    before = {path.name for path in folder.iterdir()}
    for number, (name, content) in enumerate(contents.items()):
        for trusted in (False, True):
            path = folder / f"{number}-{trusted}.fuse"
            path.write_bytes(content)
            names.append((name, trusted))
            tasks.append({"path": str(path), "trusted": trusted, "rows": "none", "predict": False})
    rows = folder / "rows"
    rows.mkdir()
    (rows / "genuine.json").write_text(json.dumps([]))
    results = dict(zip(names, watched(tasks, rows, n_workers=1)))
    left = {path.name for path in folder.iterdir() if path.suffix != ".fuse"} - before - {"rows"}
    return results, left


@pytest.mark.long
@pytest.mark.parametrize("name", [*CALLS, *UNSAFE])
def test_without_trust_nothing_of_it_is_built(name, told):
    result = told[0][name, False]
    # Those whose tree is not sound are refused before anybody asks for trust.
    assert result["outcome"].startswith(("UntrustedTypeError: ", "ValueError: "))
    assert result["outcome"].startswith("UntrustedTypeError: ") or name in UNSAFE
    assert result["events"] == []
    assert result["methods"] == []


@pytest.mark.long
@pytest.mark.parametrize("name", CALLS)
def test_with_trust_nothing_of_it_is_called_by_load(name, told):
    result = told[0][name, True]
    assert result["outcome"] == "loaded"
    assert result["events"] == []
    assert result["methods"] == []


@pytest.mark.long
@pytest.mark.parametrize("name", UNSAFE | OURS_UNSAFE)
def test_what_would_read_foreign_memory_is_refused_even_if_it_is_trusted(name, told):
    result = told[0][name, True]
    assert result["outcome"].startswith("ValueError: "), result["outcome"]
    assert ".fuse was not loaded: " in result["outcome"]
    assert "makes no model" not in result["outcome"]
    assert result["events"] == []
    assert result["methods"] == []


@pytest.mark.long
@pytest.mark.parametrize("name", OURS_UNSAFE)
def test_our_own_types_need_no_trust_and_are_refused_as_well(name, told):
    assert told[0][name, False]["outcome"].startswith("ValueError: ")


@pytest.mark.long
def test_no_file_was_left_behind(told):
    assert told[1] == set()
