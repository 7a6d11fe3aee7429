"""Which types a file may name, and for what.

skops knows two dozen ways of building an object (loaders): some fill an empty one, some call a type with arguments from
the file, some fetch a function. A name that is harmless in one of them need not be so in another. So the list goes by
loader, and what is not on it is refused:

- containers and arrays: exactly the built-in types;
- objects that are filled (never called): classes of our own rooms that hold models; the estimators that skops trusts;
  some plain classes of scikit-learn that fitted models hold; trees, once their numbers were looked at;
- functions (fetched, never called while loading): NumPy's and SciPy's ufuncs; the metrics, kernels and scores that
  scikit-learn exports;
- what the caller trusts by name.

Our functions are not on it, nor is anything of the command line.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType

import numpy as np

from fuselearn.persistence.checks import TREES, check_array, check_sparse, check_tree
from fuselearn.persistence.container import LEAST_ROOM, MOST_GROWTH
from fuselearn.persistence.schema import nodes_of, where, written_out

PACKAGE = Path(__file__).parent.parent
ROOMS = (
    "bandits",
    "boosting",
    "classifiers",
    "consensus",
    "data",
    "ensembles",
    "fusion",
    "fusion.base_models",
    "kernels",
    "learners",
    "multilabel",
    "numeric",
    "tables",
)
"""Our rooms whose classes may be part of a model."""

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

JUDGED = ("ObjectNode", "FunctionNode", "LossNode")
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
MOST_IN_RANGES = 2_000_000
"""Numbers in all ranges of a file together: views are given as ranges of columns, and what builds arrays counts them
out."""
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


class ForeignType(ValueError):
    """A type that is not on the list.

    Attributes
    ----------
    names : list of str
    """

    def __init__(self, names, message):
        super().__init__(message)
        self.names = names


def trusted_names(trusted):
    """What a caller trusts, as a set of full names."""
    if isinstance(trusted, str | type) or callable(trusted):
        trusted = [trusted]
    try:
        items = list(trusted)
        return {item if isinstance(item, str) else f"{item.__module__}.{item.__qualname__}" for item in items}
    except (TypeError, AttributeError):
        raise TypeError(
            "trusted must be a list of types or of their full names, like ['xgboost.sklearn.XGBClassifier']; got "
            f"{trusted!r:.200}."
        ) from None


def audit(schema, members, untrusted, trusted):
    """Refuse a tree that names a type which is not on the list, or holds an array that is not what it says.

    Parameters
    ----------
    schema : dict
        Of a shape that `check_shape` accepts.
    members : dict of name to bytes
    untrusted : callable
        Returns the names of the tree that skops does not trust by itself. Called once the arrays are in order.
    trusted : set of str
        What the caller trusts.

    Returns
    -------
    list of str
        The names of `untrusted`; all of them may be built.
    """
    nodes = list(nodes_of(schema))
    _check_members(nodes, members)
    _check_calls(schema)
    doubted = set(untrusted())
    foreign = {}
    at = {path: node for node, path in nodes}
    for node, path in nodes:
        try:
            name = _refused_name(node, doubted, trusted)
            if name is None and _name(node) in TREES and node["__loader__"] in ("ObjectNode", "TreeNode"):
                owners = [at[path[:length]] for length in range(len(path)) if path[:length] in at]
                check_tree(_name(node), node, owners, members)
        except ValueError as error:
            raise ValueError(f"it {error}{where(path)}") from None
        if name is not None:
            foreign.setdefault(name, where(path))
    if foreign:
        names = sorted(foreign)
        raise ForeignType(names, "it holds " + ", ".join(f"{name}{foreign[name]}" for name in names[:5]))
    return sorted(doubted)


def _refused_name(node, doubted, trusted):
    """What the caller would have to trust for a node to be built; None where it may be."""
    loader, name = node["__loader__"], _name(node)
    if loader == "JsonNode":
        if type(node.get("content")) is not str:
            raise ValueError("has a value that is not text")
        return None
    if loader in CALLER_ONLY:
        needed = f"{name}.{_content(node, 'func')}" if loader == "MethodNode" else name
        return None if needed in trusted else needed
    if loader == "RandomGeneratorNode":
        _check_bit_generator(node)
    if _known(loader, node["__module__"], node["__class__"]):
        return None
    if loader in JUDGED and name not in doubted:
        return None
    if loader not in BUILT_IN and loader not in JUDGED and loader not in ("NdArrayNode", "SparseMatrixNode"):
        raise ValueError(f"asks for the loader {loader!r}, which fuselearn.save does not write")
    if name not in trusted:
        return name
    if loader != "FunctionNode":
        _check_class(node["__module__"], node["__class__"], BASES.get(loader, object))
    return None


def _known(loader, module, name):
    """Whether a type is on our list for a loader."""
    full = f"{module}.{name}"
    if full in BUILT_IN.get(loader, ()):
        return True
    if loader in ("NdArrayNode", "TypeNode"):
        return full == "numpy.ndarray" or _is_numpy_scalar(module, name)
    if loader == "SparseMatrixNode":
        return _exported("scipy.sparse", module, name, type) is not None
    if loader == "FunctionNode":
        return _is_kernel(module, name) or any(
            _exported(package, module, name, FunctionType) is not None for package in FUNCTIONS_OF
        )
    if loader == "TupleNode":
        own = _own_class(module, name)
        return own is not None and issubclass(own, tuple)
    if loader == "ObjectNode":
        return full in PLAIN_CLASSES or full in TREES or _own_class(module, name) is not None or _is_plain(module, name)
    return False


def _own_class(module, name):
    """A class that a file of our model rooms defines, else None."""
    parts = module.split(".")
    if parts[0] != "fuselearn" or ".".join(parts[1:-1]) not in ROOMS:
        return None
    # Nothing is imported but what the package ships. A part like ".." has no file name.
    if not all(part.isidentifier() for part in parts) or parts[-1].startswith("__"):
        return None
    if not PACKAGE.joinpath(*parts[1:-1], f"{parts[-1]}.py").is_file():
        return None
    found = vars(import_module(module)).get(name)
    return found if isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name) else None


def _is_plain(module, name):
    """Whether a type is one of scikit-learn's public splitters or Gaussian process kernels."""
    return any(
        module == home and _exported(package, module, name, type) is not None for package, home in CLASSES_OF.items()
    )


def _is_kernel(module, name):
    """Whether a function is one of scikit-learn's pairwise kernels."""
    from sklearn.metrics.pairwise import kernel_metrics

    return any((kernel.__module__, kernel.__name__) == (module, name) for kernel in kernel_metrics().values())


def _exported(package, module, name, kind):
    """What a package exports under a name, if it is of a kind and from the module that the file says; else None."""
    if not module.startswith(f"{package.partition('.')[0]}.") or name.startswith("_"):
        return None
    package = import_module(package)
    if name not in getattr(package, "__all__", vars(package)):
        return None
    found = vars(package).get(name)
    return found if isinstance(found, kind) and found.__module__ == module else None


def _is_numpy_scalar(module, name):
    found = vars(np).get(name) if module == "numpy" else None
    return isinstance(found, type) and issubclass(found, np.generic) and not issubclass(found, np.object_)


def _check_class(module, name, base):
    """Refuse a trusted name that is not a class where one would be called or filled."""
    try:
        found = getattr(sys.modules.get(module) or import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"needs {module}.{name}, which cannot be imported here ({error})") from None
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ValueError(f"uses {module}.{name} as a type, which it is not")


def _check_bit_generator(node):
    try:
        told = json.loads(node["content"]["bit_generator"]["content"]["bit_generator"]["content"])
    except (KeyError, TypeError, ValueError):
        told = None
    if told not in BIT_GENERATORS:
        raise ValueError("has a random generator of an unknown kind")


def _check_calls(schema):
    """What types are called with: a few characters of a file can ask for billions of numbers."""
    in_ranges = 0
    for node, path in written_out(schema):
        masked = node["__loader__"] == "MaskedArrayNode"
        if masked and any(_loader(_content(node, part)) != "NdArrayNode" for part in ("data", "mask")):
            raise ValueError(f"it has a masked array that is not made of arrays{where(path)}")
        if node["__loader__"] != "ConstructorFromReduceNode":
            continue
        arguments = node.get("content")
        arguments = arguments.get("content") if _loader(arguments) == "TupleNode" else None
        if not isinstance(arguments, list):
            raise ValueError(f"it calls a type without a list of arguments{where(path)}")
        name = _name(node)
        if name == "builtins.frozenset" and [_loader(one) for one in arguments] not in ([], ["ListNode"]):
            raise ValueError(f"it has a frozenset that is not made of a list{where(path)}")
        if name == "builtins.range":
            in_ranges += _length_of_range(arguments, path)
            if in_ranges > MOST_IN_RANGES:
                raise ValueError(f"it has ranges of more than {MOST_IN_RANGES:,} numbers{where(path)}")


def _length_of_range(arguments, path):
    try:
        numbers = [json.loads(one["content"]) for one in arguments if one["__loader__"] == "JsonNode"]
        if len(numbers) == len(arguments) == 3 and all(type(number) is int for number in numbers):
            return len(range(*numbers))
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"it has a range that is not one of three whole numbers, or too long{where(path)}")


def _check_members(nodes, members):
    """Every array is what it says, and belongs to one object."""
    owners, used = {}, {}
    room = LEAST_ROOM + MOST_GROWTH * sum(map(len, members.values()))
    for node, path in nodes:
        name = node.get("file")
        if name is None or node["__loader__"] == "JsonNode":
            continue
        if type(name) is not str or name not in members:
            raise ValueError(f"its tree names a member that is not there{where(path)}")
        known = node.get("__id__")
        if name in owners and (known is None or owners[name] != known):
            raise ValueError(f"two objects of its tree share the member {name}{where(path)}")
        owners[name] = known
        if used.get(name) == node["__loader__"]:
            continue
        used[name] = node["__loader__"]
        try:
            if node["__loader__"] == "NdArrayNode":
                check_array(members[name])
            elif node["__loader__"] == "SparseMatrixNode":
                check_sparse(members[name], room)
        except ValueError as error:
            raise ValueError(f"its member {name} {error}{where(path)}") from None


def _loader(node):
    return node.get("__loader__") if isinstance(node, dict) else None


def _content(node, key):
    content = node.get("content")
    return content.get(key) if isinstance(content, dict) else None


def _name(node):
    return f"{node['__module__']}.{node['__class__']}"
