"""The tree that skops writes of foreign objects: put into a plain form with public ids, turned back, and walked.

A node is a dict with `__loader__` (how it is built), `__module__` and `__class__` (of what), and mostly `content`. A
type of ours is written as the module "fuselearn" and its public id.

An object that the model holds in several places is written out in each of them, with the same `__id__`, and built once:
skops builds the first and passes over the others. So a tree in which they differ could show a reader one thing and be
built into another, and one that refers to itself would never end. Both are refused.

What has to be trusted by name goes by loader (`audit`). skops has two dozen ways of building an object: some fill an
empty one, some call a type with arguments from the file, some fetch a function. A name that is harmless in one of them
need not be so in another. These need no trust:

- containers, arrays and numbers: exactly the built-in types; NumPy's ufuncs;
- objects that are filled (never called): our classes that have a public id.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from fuselearn.exceptions import UntrustedTypeError
from fuselearn.persistence.container import MAX_GROWTH, MIN_ALLOWANCE, SCHEMA, Json, parse_tree
from fuselearn.persistence.foreign_checks import check_array, check_sparse, check_tree_arguments
from fuselearn.persistence.model_types import (
    BIT_GENERATORS,
    DEFINED_IN,
    TREE,
    Trust,
    names_to_trust,
    own_class,
    public_name,
)
from fuselearn.persistence.object_tree import MAX_IN_RANGES

NodePath: TypeAlias = tuple[str | int, ...]
OURS = "fuselearn"
"""Module of every type of ours in a file."""
MAX_DEPTH = 150
"""Nested values of a tree. A grid search of a pipeline of an ensemble of ensembles has about 60."""
NODE_KEYS = {
    "__class__",
    "__id__",
    "__loader__",
    "__module__",
    "__reduce__",
    "_skops_version",
    "attrs",
    "content",
    "file",
    "is_json",
    "key_types",
    "protocol",
    "shape",
    "type",
}
"""Keys of a node that skops reads. What stands under another would be parsed and then passed over."""
STRUCTURE = ("content", "__reduce__", "args")
"""Keys that a path through the model leaves out."""
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


def write_schema(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return skops' members with public ids, and with names that make equal models equal files."""
    schema = parse_tree(members, SCHEMA)
    occurrences: dict[Any, int] = {}
    for node, path in nodes_of(schema):
        occurrences[node.get("__id__")] = occurrences.get(node.get("__id__"), 0) + 1
        _check_has_id(node, path)
    ids = {place: public_id for public_id, place in DEFINED_IN.items()}
    numbers: dict[Any, int] = {}
    shared: dict[Any, Json] = {}
    names: dict[str, str] = {}

    def rewritten(value: Any) -> Any:
        if isinstance(value, list):
            return [rewritten(item) for item in value]
        if not isinstance(value, dict):
            return value
        if not is_node(value):
            return {key: rewritten(item) for key, item in value.items()}
        address = value.get("__id__")
        if address in shared:
            return shared[address]
        node = {key: rewritten(item) for key, item in value.items() if key != "__id__"}
        if public_id := ids.get(f"{value['__module__']}:{value['__class__']}"):
            node |= {"__module__": OURS, "__class__": public_id}
        if isinstance(value.get("file"), str):
            old = value["file"]
            node["file"] = names.setdefault(old, f"{len(names)}.{old.rpartition('.')[2]}")
        if value["__loader__"] == "DictNode":
            node["content"] = _plain_keys(node)
        # Numbers, text and types may as well be built twice.
        if occurrences[address] > 1 and value["__loader__"] not in ("JsonNode", "TypeNode"):
            node["__id__"] = numbers.setdefault(address, len(numbers) + 1)
            shared[address] = node
        return node

    text = json.dumps(rewritten(schema), separators=(",", ":")).encode()
    return {SCHEMA: text} | {names[name]: content for name, content in members.items() if name in names}


def read_schema(members: dict[str, bytes]) -> Json:
    """Return the tree of a file's members with classes for public ids, once its shape was checked."""
    schema = parse_tree(members, SCHEMA)
    _check_shape(schema)
    for node, path in written_out(schema):
        module, name = node["__module__"], node["__class__"]
        if module.startswith(f"{OURS}."):
            raise ValueError(
                f"it names {module}.{name} by its module; a saved model names types of fuselearn by public ids, such "
                f"as ShareBoostClassifier{where(path)}"
            )
        if module == OURS:
            if name not in DEFINED_IN:
                raise ValueError(f"it names the type {name!r:.60} of fuselearn, which this version lacks{where(path)}")
            node["__module__"], _, node["__class__"] = DEFINED_IN[name].partition(":")
    return schema


def nodes_of(schema: Json) -> Iterator[tuple[Json, NodePath]]:
    """Yield every node of a tree with the path to it, the inside of a shared object once."""
    waiting: list[tuple[Any, NodePath]] = [(schema, ())]
    seen = set()
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, dict):
            if is_node(value):
                yield value, path
                number = value.get("__id__")
                if number in seen:
                    continue
                if number is not None:
                    seen.add(number)
            items: Any = value.items()
        else:
            items = enumerate(value)
        inner = [(item, (*path, key)) for key, item in items if isinstance(item, dict | list)]
        waiting.extend(reversed(inner))


def written_out(schema: Json) -> Iterator[tuple[Json, NodePath]]:
    """Yield every node of a tree with the path to it, as often as it is written there."""
    waiting: list[tuple[Any, NodePath]] = [(schema, ())]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, dict) and is_node(value):
            yield value, path
        items: Any = value.items() if isinstance(value, dict) else enumerate(value)
        waiting.extend((item, (*path, key)) for key, item in items if isinstance(item, dict | list))


def is_node(value: Json) -> bool:
    """Check whether a dict of a tree is a node. One that could be taken for either is refused."""
    if type(value.get("__loader__")) is str:
        if type(value.get("__module__")) is not str or type(value.get("__class__")) is not str:
            raise ValueError("its tree has a node without a type")
        if type(value.get("__id__", 0)) is not int:
            raise ValueError("its tree has a node whose id is not a number")
        if unknown := sorted(value.keys() - NODE_KEYS):
            raise ValueError(f"its tree has a node with the key {unknown[0]!r:.40}, which fuselearn.save never writes")
        return True
    # A dict of the model may well have these keys; what they hold is then a node.
    if any(type(value.get(key)) not in (dict, type(None)) for key in ("__loader__", "__id__")):
        raise ValueError("its tree has a node without a loader")
    return False


def where(path: NodePath) -> str:
    """Return the place in a model that a path leads to, as part of a message."""
    steps = [str(step) for step in path if step not in STRUCTURE]
    return f" (in {'.'.join(steps)[:200]})" if steps else ""


def _check_has_id(node: Json, path: NodePath) -> None:
    """Refuse to write what is ours and has no public id."""
    module, name = node["__module__"], node["__class__"]
    if module.partition(".")[0] == OURS and f"{module}:{name}" not in DEFINED_IN.values():
        raise ValueError(f"it holds {module}.{name}, which has no public id for saved models{where(path)}")


def _plain_keys(node: Json) -> Json:
    """Return the content of a dict node, with keys that come back as what they were."""
    content: Json = node["content"]
    types = [kind["__class__"] for kind in node["key_types"]["content"]]
    if len(content) != len(types) or "NoneType" in types:
        raise ValueError("it has a dict whose keys are None, or equal once they are written as text, like 1 and '1'")
    if "bool" not in types:
        return content
    # A key is built by calling its type on text, and bool("false") is True.
    return {("" if kind == "bool" and key == "false" else key): content[key] for kind, key in zip(types, content)}


def _check_shape(schema: Json) -> None:
    """Refuse a tree that is too deep, has malformed nodes, or shows one object in two ways."""
    _check_depth(schema)
    protocol = schema.get("protocol")
    # Nodes of protocol 0 keep names elsewhere than the later ones, where nothing here would look.
    if type(protocol) is not int or protocol < 1:
        raise ValueError(f"its tree has the protocol {protocol!r}, which fuselearn.save never writes")
    firsts: dict[int, Json] = {}
    for node, path in nodes_of(schema):
        number = node.get("__id__")
        if number is not None and firsts.setdefault(number, node) != node:
            raise ValueError(f"its tree shows the same object in two ways{where(path)}")


def _check_depth(schema: Json) -> None:
    """Refuse a tree that is nested too deeply, before anything recurses into it."""
    level: list[Any] = [schema]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"its tree is more than {MAX_DEPTH} levels deep")
        level = [
            item
            for value in level
            for item in (value.values() if isinstance(value, dict) else value)
            if isinstance(item, dict | list)
        ]


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
