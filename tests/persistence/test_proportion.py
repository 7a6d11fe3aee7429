"""Small files that ask for much: memory, time or depth out of all proportion is refused before it is spent."""

import json

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.svm import SVC

from fuselearn import ShareBoostClassifier, ViewVotingClassifier, load, save
from fuselearn.persistence import describe
from fuselearn.persistence.container import HEADER, pack_plainly
from fuselearn.persistence.object_tree import FEW_NODES, MAX_REPETITION, Reader
from fuselearn.persistence.validation import MAX_TREE_DEPTH, check_children
from tests.persistence.saved_models import TWO, VIEWS, X, forge
from tests.persistence.test_attacks import written


@pytest.fixture
def model_path(path):
    save(ShareBoostClassifier("tree", views=VIEWS, n_estimators=3, random_state=0).fit(X, TWO), path)
    return path


def with_setting(node):
    """Return an edit that makes a node a setting of the model."""
    return lambda file: file.tree["state"].update(random_state=node)


def test_arrays_hold_no_arrays(model_path):
    """Freeing arrays within arrays, many levels deep, overflows the stack."""
    inner = {"objects": [[1], [{"array": [0, "<f8", [1], "C"]}]]}
    forge(model_path, with_setting(inner))
    with pytest.raises(ValueError, match="something else than numbers and text"):
        load(model_path)


@pytest.mark.parametrize("node", [{"tuple": [1], "number": 10**6}, {"dict": [], "number": 10**6}])
def test_only_objects_and_arrays_are_shared(node, model_path):
    """Tuples of two equal tuples, some levels deep, would take for ever to compare or print."""
    forge(model_path, with_setting({"tuple": [node, {"ref": 10**6}]}))
    with pytest.raises(ValueError, match="with a number, which only objects have that are referred to"):
        load(model_path)


def test_estimators_are_not_nested_without_end(path):
    model = ShareBoostClassifier(views=VIEWS, n_estimators=2).fit(X, TWO)
    for level in range(6):
        outer = ViewVotingClassifier(model, views=VIEWS)
        outer.inner_ = model
        model = outer
        path.write_bytes(written(model))
        if level < 2:
            assert isinstance(load(path), ViewVotingClassifier)
    with pytest.raises(ValueError, match="more than 200 levels deep"):
        load(path)


def test_what_is_shared_counts_as_often_as_it_is_referred_to():
    reader = Reader(b"", [])
    base = {"object": "bandits.RoundRobin", "state": {}, "number": 0}
    reader.read([base, *({"ref": 0} for _ in range(1000))])
    assert reader._n_written_out == 1 + 1 + 1000
    reader._n_written_out = FEW_NODES + MAX_REPETITION * (reader._n_nodes + 2)
    with pytest.raises(ValueError, match="far too often"):
        reader.read({"ref": 0})


def test_quotes_that_never_end_take_no_time(path):
    text = b'{"a": "' + b'\\"' * 300_000
    path.write_bytes(pack_plainly({HEADER: text}))
    with pytest.raises(ValueError, match=r"not JSON|far more parts"):
        describe(path)


def test_text_of_another_encoding_is_refused(path):
    path.write_bytes(pack_plainly({HEADER: json.dumps({"format": 2}).encode("utf-16")}))
    with pytest.raises(ValueError, match="was not read"):
        describe(path)


def test_complex_numbers_are_no_keys(model_path):
    """Many of them have the same hash."""
    node = {"scalar": ["<c16", "AAAAAAAA8D8AAAAAAADwPw=="]}
    forge(model_path, with_setting({"set": [node]}))
    with pytest.raises(ValueError, match="complex128 for a key"):
        load(model_path)


def test_empty_texts_are_counted_over_the_whole_file(model_path):
    many = [{"array": [0, "<U0", [6_000_000], "C"]} for _ in range(2)]
    forge(model_path, with_setting(many))
    with pytest.raises(ValueError, match="empty texts"):
        load(model_path)


def test_classes_are_different(model_path):
    def edit(file):
        file.tree["state"]["classes_"] = {"array": [0, "<f8", [2], "C"]}
        file.arrays[:16] = bytes(16)

    forge(model_path, edit)
    with pytest.raises(ValueError, match="2 classes, some of them twice"):
        load(model_path)


def test_threads_are_few(model_path):
    forge(model_path, lambda file: file.tree["state"].update(n_jobs=100_000))
    with pytest.raises(ValueError, match="n_jobs"):
        load(model_path)


def test_a_tree_is_not_one_way_down():
    n = MAX_TREE_DEPTH * 2 + 3
    inner = np.arange(n) < n // 2
    left, right = np.arange(n) + 1, np.arange(n) + n // 2 + 1
    with pytest.raises(ValueError, match="levels"):
        check_children(inner, left, right, np.zeros(n, dtype=np.int32), 1)
    children = 2 * np.arange(n) + 1
    check_children(children + 1 < n, children, children + 1, np.zeros(n, dtype=np.int32), 1)


def test_a_tree_whose_nodes_share_children_is_refused():
    """To follow every way down such a graph would take a step for each of 2^n of them."""
    n = MAX_TREE_DEPTH + 10
    inner = np.arange(n) < n - 2
    following = np.minimum(np.arange(n) + 1, n - 1)
    with pytest.raises(ValueError, match="a node of two parents"):
        check_children(inner, following, following, np.zeros(n, dtype=np.int32), 1)


# With trust: what stands for a method, or for other columns


def voting(estimator, edit):
    model = ViewVotingClassifier(estimator, views=VIEWS).fit(X, TWO)
    edit(model.estimators_[0])
    return model


UNSAFE = {
    "a method that is replaced": (SVC(), lambda svc: vars(svc).update(_validate_for_predict=np.positive), "replaced"),
    "a kernel that is none": (SVC(), lambda svc: vars(svc).update(kernel=np.multiply), "kernel"),
    "columns that a forest does not choose": (
        RandomForestClassifier(2),
        lambda forest: (
            vars(forest).update(estimators_features_=[np.arange(3), np.arange(9)]),
            vars(forest.estimators_[1]).update(n_features_in_=9),
        ),
        "columns",
    ),
    "columns that boosting does not choose": (
        GradientBoostingClassifier(n_estimators=2),
        lambda boosting: (
            vars(boosting).update(estimators_features_=[np.arange(3), np.arange(9)]),
            vars(boosting.estimators_[1, 0]).update(n_features_in_=9),
        ),
        "columns",
    ),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_trusted_objects_are_what_their_class_makes_of_them(name, path):
    estimator, edit, words = UNSAFE[name]
    path.write_bytes(written(voting(estimator, edit)))
    with pytest.raises(ValueError, match=words):
        load(path, trusted=True)
