"""Ids by which saved models name fuselearn's own types."""

import json
import sys
from dataclasses import is_dataclass
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import fuselearn
from fuselearn import ShareBoostClassifier, load, save
from fuselearn.bandits import Policy
from fuselearn.kernels import augmented_kernel
from fuselearn.learners import Learner
from fuselearn.persistence import describe, model_types
from fuselearn.persistence.model_types import DEFINED_IN, id_of, own_class
from fuselearn.persistence.validation import declared_fields
from tests.persistence.forged_models import collected
from tests.persistence.saved_models import (
    MODELS,
    TABLE,
    TABLE_MODEL,
    TWO,
    VIEWS,
    SavedFile,
    X,
    dicts_in,
    fitted,
    foreign_states,
    forge,
)


@pytest.fixture
def saved_trees(path):
    model = ShareBoostClassifier("tree", views=VIEWS, n_estimators=2, view_policy="exp3p", random_state=0).fit(X, TWO)
    save(model, path)
    return model


def rename(path, old, new):
    """Put another id for that of all objects of a type in a file."""

    def edit(file):
        for node in dicts_in(file.tree):
            if node.get("object") == old:
                node["object"] = new

    forge(path, edit)


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
    file = SavedFile(path.read_bytes())
    ids = {node["object"] for node in dicts_in(file.tree) if "object" in node}
    assert {"ShareBoostClassifier", "learners.TreeHypothesis", "bandits.Exp3P", "boosting.Trace"} <= ids
    assert ids <= DEFINED_IN.keys()
    assert "fuselearn." not in json.dumps(file.tree)


def test_ids_stand_for_our_types_inside_foreign_objects_as_well(path):
    save(fitted("pipeline")[0], path)
    file = SavedFile(path.read_bytes())
    names = {(node["__module__"], node["__class__"]) for node in dicts_in(file.schema) if "__module__" in node}
    assert ("fuselearn", "ShareBoostClassifier") in names
    assert not [module for module, _ in names if module.startswith("fuselearn.")]


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


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", MODELS)
def test_every_type_of_ours_in_a_fitted_model_has_an_id(name):
    kinds = types_of_ours(fitted(name)[0], {})
    assert {kind.__qualname__ for kind in kinds if id_of(kind) is None} == set()


@pytest.mark.parametrize("public_id", DEFINED_IN)
def test_every_type_is_checked_once_it_was_built(public_id):
    """By its declared fields, or by a method of its own; what holds settings only is looked at by the next fit."""
    kind = own_class(public_id)
    settings_only = issubclass(kind, Learner | Policy)
    assert settings_only or declared_fields(kind) or hasattr(kind, "validate")
    if is_dataclass(kind):
        assert "__dict__" in dir(kind), "the reader fills a dict"


def test_types_in_a_table_classifier_have_ids():
    kinds = types_of_ours(clone(TABLE_MODEL).fit(TABLE, TWO), {})
    assert {kind.__qualname__ for kind in kinds if id_of(kind) is None} == set()
    assert {"ViewColumns", "ViewPreparation", "OneHotEncoding"} <= {kind.__name__ for kind in kinds}


def test_the_models_of_these_tests_are_of_all_estimators():
    kinds = set()
    for model, _, _ in MODELS.values():
        kinds |= types_of_ours(model, {})
    tables = {"TableClassifier", "TableRegressor"}
    assert {name for name, _ in fuselearn.all_estimators()} <= {kind.__name__ for kind in kinds} | tables


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
    place = f"{moved.__name__}:SharedBoosting"
    monkeypatch.setitem(DEFINED_IN, "ShareBoostClassifier", place)
    monkeypatch.setitem(model_types._IDS, place, "ShareBoostClassifier")
    assert type(load(path)) is moved.SharedBoosting


def test_a_file_that_names_a_module_of_ours_is_refused(saved_trees, path):
    rename(path, "learners.TreeHypothesis", DEFINED_IN["learners.TreeHypothesis"])
    with pytest.raises(
        ValueError, match=r"names the type 'fuselearn\.learners\.tree_growth:TreeHypothesis' of fuselearn"
    ):
        load(path)
    save(fitted("pipeline")[0], path)

    def name_module(file):
        for node in dicts_in(file.schema):
            if node.get("__class__") == "ShareBoostClassifier":
                node["__module__"] = "fuselearn.boosting.share"

    forge(path, name_module)
    with pytest.raises(ValueError, match=r"names fuselearn\..* by its module; .* by public ids"):
        load(path, trusted=True)


@pytest.mark.parametrize("odd", ["learners.Shrub", "", "os", "builtins.object", "__class__"])
def test_an_unknown_id_is_refused(odd, saved_trees, path):
    rename(path, "learners.TreeHypothesis", odd)
    with pytest.raises(ValueError, match=rf"names the type '{odd}' of fuselearn, which this version lacks"):
        load(path)


@pytest.mark.parametrize("odd", [None, 3, ["learners.Tree"], {"object": "learners.Tree", "state": {}}, True])
def test_an_id_is_text(odd, saved_trees, path):
    rename(path, "learners.TreeHypothesis", odd)
    with pytest.raises(ValueError, match="which this version lacks"):
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
def test_an_id_is_that_of_an_object_and_of_nothing_that_is_called(node, path):
    save(fitted("pipeline")[0], path)

    def edit(file):
        pipeline = next(foreign_states(file.schema, "Pipeline"))
        pipeline["verbose"] = {"__module__": "fuselearn", "__class__": "ShareBoostClassifier"} | node

    forge(path, edit)
    for trusted in ((), describe(path)["foreign"]):
        with pytest.raises(ValueError, match="was not loaded"):
            load(path, trusted=trusted)


def test_what_has_no_id_is_not_saved(saved_trees, path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.delitem(model_types._IDS, DEFINED_IN["learners.TreeHypothesis"])
    with pytest.raises(ValueError, match=r"was not saved: .*TreeHypothesis, which has no public id"):
        save(saved_trees, path)
    assert path.read_bytes() == before


def test_a_function_of_ours_is_not_saved_even_if_it_is_trusted(path):
    model = make_pipeline(FunctionTransformer(augmented_kernel), ShareBoostClassifier())
    for trusted in ((), [augmented_kernel], True):
        with pytest.raises(ValueError, match=r"(?s)was not saved.*augmented_kernel, which has no public id"):
            save(model, path, trusted=trusted)
