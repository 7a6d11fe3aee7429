"""The types that a file may name, and for what.

skops has two dozen ways of building an object (loaders): some fill an empty one, some call a type with arguments from
the file, some fetch a function. A name that is harmless in one of them need not be so in another. So the list goes by
loader, and what is not on it is refused:

- containers and arrays: exactly the built-in types;
- objects that are filled (never called): our classes that have a public id; the estimators that skops trusts; some
  plain classes of scikit-learn that fitted models hold; trees, once their numbers were checked;
- functions (fetched, never called while loading): NumPy's and SciPy's ufuncs; the metrics, kernels and scores that
  scikit-learn exports;
- what the caller trusts by name.

Our functions are not on it, nor is anything without a public id.
"""

import json
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from fuselearn.persistence.checks import SKLEARN_TREES, check_array, check_sklearn_tree, check_sparse
from fuselearn.persistence.container import MAX_GROWTH, MIN_ALLOWANCE, Json
from fuselearn.persistence.public_ids import DEFINED_IN
from fuselearn.persistence.schema import NodePath, nodes_of, where, written_out

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
    "TreeNode": {"sklearn.tree._tree.Tree"},
}
"""Exactly these types, whatever skops says."""

JUDGED_BY_SKOPS = ("ObjectNode", "FunctionNode", "LossNode")
"""Loaders for which skops keeps a list of its own."""

CALLER_ONLY = ("MethodNode", "PartialNode", "OperatorFuncNode")
"""Loaders that make something callable. What they name has to be trusted by the caller."""

BASES = {"DictNode": dict, "ListNode": list, "SetNode": set, "TupleNode": tuple}

PLAIN_CLASSES = {
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._MultimetricScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._search_successive_halving.HalvingGridSearchCV",
    "sklearn.model_selection._search_successive_halving.HalvingRandomSearchCV",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
}
"""Classes written in Python that fitted classifiers of scikit-learn hold."""

CLASSES_OF = {
    "sklearn.gaussian_process.kernels": "sklearn.gaussian_process.kernels",
    "sklearn.model_selection": "sklearn.model_selection._split",
}
"""Packages, and the module whose classes may be in a model if the package exports them."""
FUNCTIONS_OF = ("sklearn.metrics", "sklearn.feature_selection")
"""Packages whose public functions may be in a model."""
MAX_IN_RANGES = 2_000_000
"""Numbers in all ranges of a file together: views are given as ranges of columns, and what builds arrays counts them
out."""
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


class ForeignType(ValueError):
    """A type that is not on the list. `names` are those that the caller would have to trust."""

    def __init__(self, names: list[str], message: str) -> None:
        super().__init__(message)
        self.names = names


def trusted_names(trusted: Any) -> set[str]:
    """Return what a caller trusts as full names."""
    if isinstance(trusted, str | type) or callable(trusted):
        trusted = [trusted]
    try:
        return {item if isinstance(item, str) else f"{item.__module__}.{item.__qualname__}" for item in list(trusted)}
    except (TypeError, AttributeError):
        raise TypeError(
            "trusted must be a list of types or of their full names, like ['xgboost.sklearn.XGBClassifier']; got "
            f"{trusted!r:.200}."
        ) from None


def audit(
    schema: Json, members: dict[str, bytes], untrusted: Callable[[], Iterable[str]], trusted: set[str]
) -> list[str]:
    """Refuse a tree that names a type which is not on the list, or holds an array that is not what it says.

    `untrusted` returns the names that skops does not trust by itself; it is called once the arrays are in order. They
    are returned, since all of them may be built.
    """
    nodes = list(nodes_of(schema))
    _check_members(nodes, members)
    _check_calls(schema)
    doubted = set(untrusted())
    foreign: dict[str, str] = {}
    node_at = {path: node for node, path in nodes}
    for node, path in nodes:
        try:
            name = _refused_name(node, doubted, trusted)
            if name is None and _name(node) in SKLEARN_TREES and node["__loader__"] in ("ObjectNode", "TreeNode"):
                owners = [node_at[path[:length]] for length in range(len(path)) if path[:length] in node_at]
                check_sklearn_tree(_name(node), node, owners, members)
        except ValueError as error:
            raise ValueError(f"{error}{where(path)}") from None
        if name is not None:
            foreign.setdefault(name, where(path))
    if foreign:
        names = sorted(foreign)
        raise ForeignType(names, "it holds " + ", ".join(f"{name}{foreign[name]}" for name in names[:5]))
    return sorted(doubted)


def _refused_name(node: Json, doubted: set[str], trusted: set[str]) -> str | None:
    """Return what the caller would have to trust for a node to be built; None where it may be."""
    loader, name = node["__loader__"], _name(node)
    if loader == "JsonNode":
        if type(node.get("content")) is not str:
            raise ValueError("it has a value that is not text")
        return None
    if loader in CALLER_ONLY:
        needed = f"{name}.{_content(node, 'func')}" if loader == "MethodNode" else name
        return None if needed in trusted else needed
    if loader == "RandomGeneratorNode":
        _check_bit_generator(node)
    if _is_listed(loader, node["__module__"], node["__class__"]):
        return None
    if loader in JUDGED_BY_SKOPS and name not in doubted:
        return None
    if loader not in BUILT_IN and loader not in JUDGED_BY_SKOPS and loader not in ("NdArrayNode", "SparseMatrixNode"):
        raise ValueError(f"it asks for the loader {loader!r}, which fuselearn.save does not write")
    if name not in trusted:
        return name
    if loader != "FunctionNode":
        _check_class(node["__module__"], node["__class__"], BASES.get(loader, object))
    return None


def _is_listed(loader: str, module: str, name: str) -> bool:
    """Check whether a type is on our list for a loader."""
    full_name = f"{module}.{name}"
    if full_name in BUILT_IN.get(loader, ()):
        return True
    if loader in ("NdArrayNode", "TypeNode"):
        return full_name == "numpy.ndarray" or _is_numpy_scalar(module, name)
    if loader == "SparseMatrixNode":
        return _is_exported("scipy.sparse", module, name, type)
    if loader == "FunctionNode":
        return _is_kernel(module, name) or any(
            _is_exported(package, module, name, FunctionType) for package in FUNCTIONS_OF
        )
    if loader == "TupleNode":
        return issubclass(_own_class(module, name) or object, tuple)
    if loader == "ObjectNode":
        return (
            full_name in PLAIN_CLASSES
            or full_name in SKLEARN_TREES
            or _own_class(module, name) is not None
            or any(module == home and _is_exported(package, module, name, type) for package, home in CLASSES_OF.items())
        )
    return False


def _own_class(module: str, name: str) -> type | None:
    """Return our class of a public id by where it is defined; None for anything else."""
    if f"{module}:{name}" not in DEFINED_IN.values():
        return None
    kind = getattr(import_module(module), name, None)
    return kind if isinstance(kind, type) and (kind.__module__, kind.__qualname__) == (module, name) else None


def _is_kernel(module: str, name: str) -> bool:
    """Check whether a function is one of scikit-learn's pairwise kernels."""
    from sklearn.metrics.pairwise import kernel_metrics

    return any((kernel.__module__, kernel.__name__) == (module, name) for kernel in kernel_metrics().values())


def _is_exported(package: str, module: str, name: str, kind: type) -> bool:
    """Check whether a package exports something of a kind, from the module that the file names, under a name."""
    if not module.startswith(f"{package.partition('.')[0]}.") or name.startswith("_"):
        return False
    exporting = import_module(package)
    if name not in getattr(exporting, "__all__", vars(exporting)):
        return False
    exported = vars(exporting).get(name)
    return isinstance(exported, kind) and exported.__module__ == module


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
                check_array(members[name])
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
