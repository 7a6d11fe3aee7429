"""The tree that skops writes of foreign objects: put into a plain form with public ids, turned back, and walked.

A node is a dict with `__loader__` (how it is built), `__module__` and `__class__` (of what), and mostly `content`. A
type of ours is written as the module "fuselearn" and its public id.

An object that the model holds in several places is written out in each of them, with the same `__id__`, and built once:
skops builds the first and passes over the others. So a tree in which they differ could show a reader one thing and be
built into another, and one that refers to itself would never end. Both are refused.
"""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from fuselearn.persistence.container import SCHEMA, Json, parse_tree
from fuselearn.persistence.public_ids import DEFINED_IN

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
