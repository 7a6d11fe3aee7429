"""Types of other packages in a saved model: which of them the caller has to trust, and for what.

skops has two dozen ways of building an object (loaders): some fill an empty one, some call a type with arguments from
the file, some fetch a function. A name that is harmless in one of them need not be so in another. So what needs no
trust goes by loader:

- containers, arrays and numbers: exactly the built-in types; NumPy's ufuncs;
- objects that are filled (never called): our classes that have a public id.

Everything else has to be trusted by name. Along with any type of scikit-learn comes what its estimators are made of
(`PARTS`), since only they can make use of it.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import sklearn

from fuselearn.exceptions import UntrustedTypeError
from fuselearn.persistence.container import MAX_GROWTH, MIN_ALLOWANCE, Json
from fuselearn.persistence.foreign_checks import TREE, check_array, check_sparse, check_tree_arguments
from fuselearn.persistence.foreign_tree import NodePath, nodes_of, where, written_out
from fuselearn.persistence.own_types import MAX_IN_RANGES, own_class
from fuselearn.persistence.public_ids import DEFINED_IN
from fuselearn.persistence.random_generators import BIT_GENERATORS

BUILT_IN = {
    "DictNode": {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"},
    "DefaultDictNode": {"collections.defaultdict"},
    "ListNode": {"builtins.list"},
    "SetNode": {"builtins.set"},
    "TupleNode": {"builtins.tuple"},
    "SliceNode": {"builtins.slice"},
    "BytesNode": {"builtins.bytes"},
    "BytearrayNode": {"builtins.bytearray"},
    "MaskedArrayNode": {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"},
    "DTypeNode": {"numpy.dtype"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
    "ConstructorFromReduceNode": {"builtins.frozenset", "builtins.range"},
    "TypeNode": {f"builtins.{name}" for name in ("bool", "float", "int", "list", "set", "str", "tuple")},
}
"""Types that need no trust, by loader."""
FILLED = ("ObjectNode", "TreeNode", "LossNode", "FunctionNode", "NdArrayNode", "SparseMatrixNode")
"""Loaders of which every type may be named, if it is trusted."""
CALLER_ONLY = ("MethodNode", "PartialNode", "OperatorFuncNode")
"""Loaders that make something callable: what they name has to be trusted under exactly that name."""
BASES = {"DictNode": dict, "ListNode": list, "SetNode": set, "TupleNode": tuple}

PARTS = {
    TREE,
    "sklearn._loss._loss",
    "sklearn._loss.link",
    "sklearn._loss.loss",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.dummy.DummyClassifier",
    "sklearn.dummy.DummyRegressor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.linear_model._base.LinearModel",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._sgd_fast",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.preprocessing._encoders.OrdinalEncoder",
    "sklearn.preprocessing._label.LabelBinarizer",
    "sklearn.preprocessing._label.LabelEncoder",
    "sklearn.svm._classes.LinearSVC",
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.DecisionTreeRegressor",
    "sklearn.tree._classes.ExtraTreeClassifier",
    "sklearn.tree._classes.ExtraTreeRegressor",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
}
"""Types, or modules of types, that hold data only, and that estimators of scikit-learn make when they are fitted."""


class Trust:
    """The types that a caller trusts.

    Parameters
    ----------
    trusted : list of type or of str, or bool
        Types or their full names, ``"sklearn.svm.SVC"`` as well as ``"sklearn.svm._classes.SVC"``; True for all.
    """

    def __init__(self, trusted: Any) -> None:
        self.everything = trusted is True
        if trusted is True or trusted is False:
            trusted = ()
        if isinstance(trusted, str | type) or callable(trusted):
            trusted = [trusted]
        try:
            self.names = {
                item if isinstance(item, str) else f"{item.__module__}.{item.__qualname__}" for item in list(trusted)
            }
        except (TypeError, AttributeError):
            raise TypeError(
                "trusted must be True, or a list of types or of their full names, like ['sklearn.svm.SVC']; got "
                f"{trusted!r:.200}."
            ) from None
        self._parts = any(name.startswith("sklearn.") for name in self.names)

    def accepts(self, name: str) -> bool:
        """Return whether a type may be built."""
        if self.everything or name in self.names or public_name(name) in self.names:
            return True
        return self._parts and (name in PARTS or name.rpartition(".")[0] in PARTS)


def public_name(name: str) -> str:
    """Return the name under which scikit-learn exports a type; other names as they are."""
    module, _, kind = name.rpartition(".")
    if module.partition(".")[0] != "sklearn" or "._" not in module:
        return name
    package = module.partition("._")[0]
    # The name may be from a file that nobody trusts: of all modules, only these are imported for it.
    if package.removeprefix("sklearn.") not in sklearn.__all__:
        return name
    exported = vars(import_module(package)).get(kind)
    return f"{package}.{kind}" if getattr(exported, "__module__", None) == module else name


def names_to_trust(names: Iterable[str]) -> list[str]:
    """Return the names that a caller has to give, so that all of these types may be built.

    Private types come along with the public ones of scikit-learn, and are left out.
    """
    wanted = {public_name(name) for name in names}
    if any(name.startswith("sklearn.") and "._" not in name for name in wanted):
        wanted -= {name for name in wanted if "._" in name and (name in PARTS or name.rpartition(".")[0] in PARTS)}
    return sorted(wanted)


def foreign_names(schema: Json) -> list[str]:
    """Return the full names of all types in a tree that need trust."""
    return sorted({name for node, _ in nodes_of(schema) if (name := _name_to_trust(node)) is not None})


def unimportable_name(schema: Json, places: Sequence[NodePath]) -> str | None:
    """Return what cannot be found again by its name, and where in the model it is; None where there is no such thing.

    `places` says where each of the objects is whose list the tree is of.
    """
    for node, path in nodes_of(schema):
        name = _name_to_trust(node)
        if name is not None and ("<" in name or name.startswith("__main__.")):
            number = next(step for step in path if type(step) is int)
            return f"{name}{where((*places[number], *path[path.index(number) + 1 :]))}"
    return None


def audit(schema: Json, members: dict[str, bytes], untrusted: Callable[[], Iterable[str]], trust: Trust) -> list[str]:
    """Refuse a tree that names a type which is not trusted, or holds an array that is not what it says.

    `untrusted` returns the names that skops does not trust by itself; it is called once the arrays are in order. They
    are returned, since all of them may be built.
    """
    nodes = list(nodes_of(schema))
    _check_members(nodes, members)
    _check_calls(schema)
    names: dict[str, str] = {}
    for node, path in nodes:
        try:
            name = _name_to_trust(node)
            if name is not None and not trust.accepts(name):
                names.setdefault(name, where(path))
            elif name is not None and node["__loader__"] not in ("FunctionNode", *CALLER_ONLY):
                _check_class(node["__module__"], node["__class__"], BASES.get(node["__loader__"], object))
            if node["__loader__"] == "TreeNode" and name == TREE:
                check_tree_arguments(node, members)
        except ValueError as error:
            raise ValueError(f"{error}{where(path)}") from None
    if names:
        places = {public_name(name): place for name, place in names.items()}
        raise UntrustedTypeError(
            names_to_trust(foreign_names(schema)),
            "it holds " + ", ".join(f"{name}{places[name]}" for name in sorted(places)[:5]),
        )
    return sorted(set(untrusted()))


def _name_to_trust(node: Json) -> str | None:
    """Return what the caller would have to trust for a node to be built; None where it may be."""
    loader, name = node["__loader__"], _name(node)
    if "content" in node and "file" in node:
        raise ValueError("it has a node with both a content and a file, which fuselearn.save never writes")
    if loader == "JsonNode":
        if type(node.get("content")) is not str:
            raise ValueError("it has a value that is not text")
        return None
    if loader in CALLER_ONLY:
        return f"{name}.{_content(node, 'func')}" if loader == "MethodNode" else name
    if loader == "RandomGeneratorNode":
        _check_bit_generator(node)
    if name in BUILT_IN.get(loader, ()) or _is_plain(loader, node["__module__"], node["__class__"]):
        return None
    if loader not in BUILT_IN and loader not in FILLED:
        raise ValueError(f"it asks for the loader {loader!r}, which fuselearn.save does not write")
    return name


def _is_plain(loader: str, module: str, name: str) -> bool:
    """Return whether a type is NumPy's, SciPy's or ours, and needs no trust."""
    if loader in ("NdArrayNode", "TypeNode"):
        return f"{module}.{name}" == "numpy.ndarray" or _is_numpy_scalar(module, name)
    if loader == "SparseMatrixNode":
        return module.startswith("scipy.sparse.")
    if loader == "FunctionNode":
        return module == "numpy" and isinstance(vars(np).get(name), np.ufunc)
    if loader == "TupleNode":
        return issubclass(_own_class(module, name) or object, tuple)
    return loader == "ObjectNode" and _own_class(module, name) is not None


def _own_class(module: str, name: str) -> type | None:
    """Return our class of a public id by where it is defined; None for anything else."""
    return next((own_class(public_id) for public_id, place in DEFINED_IN.items() if place == f"{module}:{name}"), None)


def _is_numpy_scalar(module: str, name: str) -> bool:
    """Check whether a type is one of NumPy's numbers or texts."""
    kind = vars(np).get(name) if module == "numpy" else None
    return isinstance(kind, type) and issubclass(kind, np.generic) and not issubclass(kind, np.object_)


def _check_class(module: str, name: str, base: type) -> None:
    """Refuse a trusted name that is not a class where one would be called or filled."""
    try:
        kind = getattr(sys.modules.get(module) or import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"it needs {module}.{name}, which cannot be imported here ({error})") from None
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise ValueError(f"it uses {module}.{name} as a type, which it is not")


def _check_bit_generator(node: Json) -> None:
    """Refuse a random generator that NumPy does not name."""
    try:
        kind = json.loads(node["content"]["bit_generator"]["content"]["bit_generator"]["content"])
    except (KeyError, TypeError, ValueError):
        kind = None
    if kind not in BIT_GENERATORS:
        raise ValueError("it has a random generator of an unknown kind")


def _check_calls(schema: Json) -> None:
    """Refuse calls of types with other arguments than save writes: a few characters can ask for billions of numbers."""
    in_ranges = 0
    for node, path in written_out(schema):
        masked = node["__loader__"] == "MaskedArrayNode"
        if masked and any(_loader(_content(node, array)) != "NdArrayNode" for array in ("data", "mask")):
            raise ValueError(f"it has a masked array that is not made of arrays{where(path)}")
        if node["__loader__"] != "ConstructorFromReduceNode":
            continue
        content = node.get("content")
        arguments = content.get("content") if isinstance(content, dict) and _loader(content) == "TupleNode" else None
        if not isinstance(arguments, list):
            raise ValueError(f"it calls a type without a list of arguments{where(path)}")
        name = _name(node)
        if name == "builtins.frozenset" and [_loader(argument) for argument in arguments] not in ([], ["ListNode"]):
            raise ValueError(f"it has a frozenset that is not made of a list{where(path)}")
        if name == "builtins.range":
            in_ranges += _length_of_range(arguments, path)
            if in_ranges > MAX_IN_RANGES:
                raise ValueError(f"it has ranges of more than {MAX_IN_RANGES:,} numbers{where(path)}")


def _length_of_range(arguments: list[Any], path: NodePath) -> int:
    """Return how many numbers a range has, without counting them out."""
    try:
        numbers = [json.loads(argument["content"]) for argument in arguments if argument["__loader__"] == "JsonNode"]
        if len(numbers) == len(arguments) == 3 and all(type(number) is int for number in numbers):
            return len(range(*numbers))
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"it has a range that is not one of three whole numbers, or too long{where(path)}")


def _check_members(nodes: list[tuple[Json, NodePath]], members: dict[str, bytes]) -> None:
    """Refuse an array that is not what it says, or that belongs to two objects."""
    owners: dict[str, int | None] = {}
    checked: dict[str, str] = {}
    allowance = MIN_ALLOWANCE + MAX_GROWTH * sum(map(len, members.values()))
    for node, path in nodes:
        name = node.get("file")
        if name is None or node["__loader__"] == "JsonNode":
            continue
        if type(name) is not str or name not in members:
            raise ValueError(f"its tree names a member that does not exist{where(path)}")
        owner = node.get("__id__")
        if name in owners and (owner is None or owners[name] != owner):
            raise ValueError(f"two objects of its tree share the member {name}{where(path)}")
        owners[name] = owner
        if checked.get(name) == node["__loader__"]:
            continue
        checked[name] = node["__loader__"]
        try:
            if node["__loader__"] == "NdArrayNode":
                check_array(members[name], node["__class__"])
            elif node["__loader__"] == "SparseMatrixNode":
                check_sparse(members[name], allowance)
        except ValueError as error:
            raise ValueError(f"its member {name} {error}{where(path)}") from None


def _loader(node: Any) -> str | None:
    """Return the loader of a node; None of anything else."""
    return node.get("__loader__") if isinstance(node, dict) else None


def _content(node: Json, key: str) -> Any:
    """Return what a node holds under a key."""
    content = node.get("content")
    return content.get(key) if isinstance(content, dict) else None


def _name(node: Json) -> str:
    """Return the full name of a node's type."""
    return f"{node['__module__']}.{node['__class__']}"
