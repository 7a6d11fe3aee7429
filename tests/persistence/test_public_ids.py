"""Ids by which saved models name fuselearn's own types."""

import json
import sys
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import fuselearn
from fuselearn import ShareBoostClassifier, load, save
from fuselearn.kernels import augmented_kernel
from fuselearn.persistence.container import pack, unpack
from fuselearn.persistence.public_ids import DEFINED_IN
from fuselearn.persistence.schema import id_of
from tests.persistence.forged_models import collected
from tests.persistence.saved_models import MODELS, TWO, VIEWS, X, forge


@pytest.fixture
def saved_trees(path):
    model = ShareBoostClassifier("tree", views=VIEWS, n_estimators=2, view_policy="exp3p", random_state=0).fit(X, TWO)
    save(model, path)
    return model


def rename(path, change):
    """Change the module and class of every node of a file, and make its checksum right again."""
    header, members = unpack(path.read_bytes())

    def renamed(value):
        if isinstance(value, list):
            return [renamed(item) for item in value]
        if not isinstance(value, dict):
            return value
        value = {key: renamed(item) for key, item in value.items()}
        if isinstance(value.get("__module__"), str):
            value["__module__"], value["__class__"] = change(value["__module__"], value["__class__"])
        return value

    schema = renamed(json.loads(members["schema.json"]))
    path.write_bytes(pack(header, members | {"schema.json": json.dumps(schema).encode()}))


@pytest.mark.parametrize("public_id", DEFINED_IN)
def test_every_id_is_that_of_a_class_defined_where_the_table_says(public_id):
    module, _, name = DEFINED_IN[public_id].partition(":")
    kind = getattr(import_module(module), name)
    assert isinstance(kind, type)
    assert (kind.__module__, kind.__qualname__) == (module, name)
    assert id_of(kind) == public_id


def test_no_two_ids_are_of_the_same_class():
    assert len(set(DEFINED_IN.values())) == len(DEFINED_IN)


def test_every_public_estimator_has_its_name_for_an_id():
    for name, kind in fuselearn.all_estimators():
        assert DEFINED_IN[name] == f"{kind.__module__}:{kind.__qualname__}"


def test_a_file_names_ids_and_no_modules_of_ours(saved_trees, path):
    names = set()
    rename(path, lambda module, name: names.add((module, name)) or (module, name))
    ours = {(module, name) for module, name in names if module.partition(".")[0] == "fuselearn"}
    assert {("fuselearn", "ShareBoostClassifier"), ("fuselearn", "learners.TreeHypothesis")} <= ours
    assert {("fuselearn", "bandits.Exp3P"), ("fuselearn", "boosting.Trace"), ("fuselearn", "boosting.Round")} <= ours
    assert {module for module, _ in ours} == {"fuselearn"}


def types_of_ours(value, seen):
    """Types of fuselearn among all that an object holds."""
    if id(value) in seen or isinstance(value, type | ModuleType | str | bytes):
        return set()
    seen[id(value)] = value
    kinds = {type(value)} if type(value).__module__.startswith("fuselearn.") else set()
    if isinstance(value, dict):
        inner = [*value, *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = list(value)
    elif isinstance(value, np.ndarray):
        inner = value.ravel().tolist() if value.dtype == object else []
    else:
        inner = []
    for item in [*inner, *getattr(value, "__dict__", {}).values()]:
        kinds |= types_of_ours(item, seen)
    return kinds


@pytest.mark.parametrize("name", MODELS)
def test_every_type_of_ours_in_a_fitted_model_has_an_id(name):
    model, rows, y = MODELS[name]
    kinds = types_of_ours(model.fit(rows, y), {})
    assert {kind.__qualname__ for kind in kinds if id_of(kind) is None} == set()


def test_the_models_of_these_tests_are_of_all_estimators():
    kinds = set()
    for model, _, _ in MODELS.values():
        kinds |= types_of_ours(model, {})
    assert {name for name, _ in fuselearn.all_estimators()} <= {kind.__name__ for kind in kinds} | {"TableClassifier"}


def test_a_class_may_move_without_orphaning_a_file(saved_trees, path, monkeypatch):
    """The module moves, and the class gets another name; the file was written before."""
    expected = saved_trees.decision_function(X)
    tree = type(saved_trees.estimators_[0])
    moved = ModuleType("fuselearn.somewhere_else")
    moved.GrownTree = type("GrownTree", (tree,), {"__module__": moved.__name__, "__qualname__": "GrownTree"})
    monkeypatch.setitem(sys.modules, moved.__name__, moved)
    monkeypatch.setitem(DEFINED_IN, "learners.TreeHypothesis", f"{moved.__name__}:GrownTree")
    loaded = load(path)
    assert type(loaded.estimators_[0]) is moved.GrownTree
    np.testing.assert_array_equal(loaded.decision_function(X), expected)


def test_the_saved_model_itself_may_be_renamed(saved_trees, path, monkeypatch):
    moved = ModuleType("fuselearn.somewhere_else")
    names = {"__module__": moved.__name__, "__qualname__": "SharedBoosting"}
    moved.SharedBoosting = type("SharedBoosting", (ShareBoostClassifier,), names)
    monkeypatch.setitem(sys.modules, moved.__name__, moved)
    monkeypatch.setitem(DEFINED_IN, "ShareBoostClassifier", f"{moved.__name__}:SharedBoosting")
    assert type(load(path)) is moved.SharedBoosting


def test_a_file_that_names_a_module_of_ours_is_refused(saved_trees, path):
    rename(path, lambda module, name: DEFINED_IN[name].split(":") if module == "fuselearn" else (module, name))
    with pytest.raises(ValueError, match=r"names fuselearn\..* by its module; .* by public ids"):
        load(path)


def test_an_unknown_id_is_refused(saved_trees, path):
    rename(path, lambda module, name: (module, name.replace("learners.Tree", "learners.Shrub")))
    with pytest.raises(ValueError, match=r"names the type 'learners\.Shrub.*' of fuselearn, which this version lacks"):
        load(path)


@pytest.mark.parametrize(
    "node",
    [
        {"__loader__": "FunctionNode"},
        {"__loader__": "TypeNode"},
        {"__loader__": "ListNode", "content": []},
        {"__loader__": "TupleNode", "content": []},
        {"__loader__": "DictNode", "content": {}, "key_types": {}},
        {"__loader__": "OperatorFuncNode", "attrs": {}},
        {"__loader__": "ConstructorFromReduceNode", "content": collected("TupleNode", "tuple", [])},
    ],
    ids=lambda node: node["__loader__"],
)
def test_an_id_is_that_of_an_object_and_of_nothing_that_is_called(node, saved_trees, path):
    def edit(header, schema, members):
        schema["content"]["content"]["verbose"] = {
            "__module__": "fuselearn",
            "__class__": "ShareBoostClassifier",
        } | node

    forge(path, edit)
    with pytest.raises(ValueError, match="was not loaded"):
        load(path)


def test_what_has_no_id_is_not_saved(saved_trees, path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.delitem(DEFINED_IN, "learners.TreeHypothesis")
    with pytest.raises(ValueError, match=r"was not saved.*TreeHypothesis, which has no public id"):
        save(saved_trees, path)
    assert path.read_bytes() == before


def test_a_function_of_ours_is_not_saved_even_if_it_is_trusted(path):
    model = make_pipeline(FunctionTransformer(augmented_kernel), ShareBoostClassifier())
    for trusted in ((), [augmented_kernel]):
        with pytest.raises(ValueError, match=r"was not saved.*augmented_kernel, which has no public id"):
            save(model, path, trusted=trusted)
