"""The tree that skops writes: put into a plain form, and walked.

A node is a dict with `__loader__` (how it is built), `__module__` and `__class__` (of what), and mostly `content`. An
object that the model holds in several places is written out in each of them, with the same `__id__`, and built once:
skops builds the first and passes over what is written in the others. So a tree in which they differ could show a
reader one thing and be built into another, and one that refers to itself would never end. Both are refused.
"""

import json

from fuselearn.persistence.container import SCHEMA, parse_schema

MOST_DEPTH = 150
"""Nested values of a tree. A grid search of a pipeline of an ensemble of ensembles has about 60."""
KEYS = {
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


def put_in_order(members):
    """Name arrays and shared objects by their order, so that equal models make equal files.

    Parameters
    ----------
    members : dict of name to bytes
        As skops wrote them: named by addresses in memory and by random numbers.

    Returns
    -------
    dict of name to bytes
    """
    schema = parse_schema(members)
    times = {}
    for node, _ in nodes_of(schema):
        times[node.get("__id__")] = times.get(node.get("__id__"), 0) + 1
    numbers, firsts, names = {}, {}, {}

    def rewritten(value):
        if isinstance(value, list):
            return [rewritten(item) for item in value]
        if not isinstance(value, dict):
            return value
        if not is_node(value):
            return {key: rewritten(item) for key, item in value.items()}
        known = value.get("__id__")
        if known in firsts:
            return firsts[known]
        node = {key: rewritten(item) for key, item in value.items() if key != "__id__"}
        if isinstance(value.get("file"), str):
            old = value["file"]
            node["file"] = names.setdefault(old, f"{len(names)}.{old.rpartition('.')[2]}")
        if value["__loader__"] == "DictNode":
            node["content"] = _plain_keys(node)
        # Numbers, text and types are as well built twice.
        if times[known] > 1 and value["__loader__"] not in ("JsonNode", "TypeNode"):
            node["__id__"] = numbers.setdefault(known, len(numbers) + 1)
            firsts[known] = node
        return node

    text = json.dumps(rewritten(schema), separators=(",", ":")).encode()
    return {SCHEMA: text} | {names[name]: content for name, content in members.items() if name in names}


def _plain_keys(node):
    """Content of a dict whose keys come back as what they were."""
    content = node["content"]
    types = [kind["__class__"] for kind in node["key_types"]["content"]]
    if len(content) != len(types) or "NoneType" in types:
        raise ValueError("it has a dict whose keys are None, or equal once they are written as text, like 1 and '1'")
    if "bool" not in types:
        return content
    # A key is built by calling its type on text, and bool("false") is True.
    return {("" if kind == "bool" and key == "false" else key): content[key] for kind, key in zip(types, content)}


def check_shape(schema):
    """Refuse a tree that is too deep, has nodes that are none, or shows one object in two ways."""
    _check_depth(schema)
    protocol = schema.get("protocol")
    # Nodes of protocol 0 keep names elsewhere than the later ones, where this room would not look.
    if type(protocol) is not int or protocol < 1:
        raise ValueError(f"its tree has the protocol {protocol!r}, which fuselearn.save never writes")
    firsts = {}
    for node, path in nodes_of(schema):
        known = node.get("__id__")
        if known is None:
            continue
        if firsts.setdefault(known, node) != node:
            raise ValueError(f"its tree shows the same object in two ways{where(path)}")


def nodes_of(schema):
    """Every node of a tree with the path to it. What looks like a node but is none is refused.

    What is inside an object comes once: where it is shown again, the walk does not go in.

    Yields
    ------
    node : dict
    path : tuple of str or int
    """
    waiting, seen = [(schema, ())], set()
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, dict):
            if is_node(value):
                yield value, path
                known = value.get("__id__")
                if known in seen:
                    continue
                if known is not None:
                    seen.add(known)
            items = value.items()
        else:
            items = enumerate(value)
        inner = [(item, (*path, key)) for key, item in items if isinstance(item, dict | list)]
        waiting.extend(reversed(inner))


def written_out(schema):
    """Every node of a tree with the path to it, as often as it is written there.

    Yields
    ------
    node : dict
    path : tuple of str or int
    """
    waiting = [(schema, ())]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, dict) and is_node(value):
            yield value, path
        items = value.items() if isinstance(value, dict) else enumerate(value)
        waiting.extend((item, (*path, key)) for key, item in items if isinstance(item, dict | list))


def is_node(value):
    """Whether a dict of a tree is a node. One that could be taken for either is refused."""
    if type(value.get("__loader__")) is str:
        if type(value.get("__module__")) is not str or type(value.get("__class__")) is not str:
            raise ValueError("its tree has a node without a type")
        if type(value.get("__id__", 0)) is not int:
            raise ValueError("its tree has a node whose number is none")
        if unknown := sorted(value.keys() - KEYS):
            raise ValueError(f"its tree has a node with the key {unknown[0]!r:.40}, which fuselearn.save never writes")
        return True
    # A dict of the model may well have these keys; what they hold is then a node.
    if any(type(value.get(key)) not in (dict, type(None)) for key in ("__loader__", "__id__")):
        raise ValueError("its tree has a node without a loader")
    return False


def where(path):
    """The place in a model that a path leads to, as part of a message."""
    steps = [str(step) for step in path if step not in STRUCTURE]
    return f" (in {'.'.join(steps)[:200]})" if steps else ""


def _check_depth(schema):
    level, depth = [schema], 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            raise ValueError(f"its tree is more than {MOST_DEPTH} levels deep")
        level = [
            item
            for value in level
            for item in (value.values() if isinstance(value, dict) else value)
            if isinstance(item, dict | list)
        ]
