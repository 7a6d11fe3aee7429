"""Saved models that are edited node by node, as somebody would who means harm, with checksums that are right.

Every forgery starts from a genuine file, draws a kind of edit and a place, and is reproducible by its seed. What a
process does with it is told by `watching`.
"""

import io
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy

import numpy as np

from fuselearn.persistence.foreign_tree import foreign_names, read_schema
from fuselearn.persistence.model_types import DEFINED_IN, names_to_trust
from tests.persistence.saved_models import SavedFile, dicts_in

KINDS_OF_ARRAYS = ["<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "|u1", "|b1", "<c8", "<U2", "|S8"]
KINDS_OF_ARRAYS += ["<M8[s]", "<m8[D]", "|O", "|V8", ">f8", "<i4,<i4", "float64", "<U0"]
NUMBERS = [0, 1, -1, 2, -2, 3, 255, 256, 2**31 - 1, 2**31, -(2**31), 2**40, 2**63, 10**30, 0.5, -0.0, 1e-300, 1e308]
NUMBERS += [True, False, None, "1", [], {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"tuple": []}]
TEXTS = [
    "",
    "rbf",
    "linear",
    "poly",
    "sigmoid",
    "precomputed",
    "laplacian",
    "cosine",
    "chi2",
    "callable",
    "tree",
    "fit",
]
TEXTS += [
    "predict",
    "transform",
    "__class__",
    "/etc/passwd",
    "../../x",
    "os.system",
    "auto",
    "theory",
    "mkl",
    "\x1b[2J",
]
TEXTS += ["fit", "number", "text", "boolean", "onehot", "zero", "a" * 300, "age", "ward"]
METHODS = [
    "predict",
    "decision_function",
    "fit",
    "validate",
    "_ensemble",
    "transform",
    "__class__",
    "__init__",
    "shape",
]
IN_ARRAYS = [-1, -2, 0, 1, 2, 3, 7, 127, 255, 2**15, 2**31 - 1, -(2**31), 2**62]
IN_FLOATS = [math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, 1e300, -1e300, 1e-300, 0.5, 1e9]


class Draws:
    """Choices at random."""

    def __init__(self, seed: int) -> None:
        self.draws = np.random.default_rng(seed)

    def pick(self, values):
        """Return one of several values; None of none."""
        values = list(values)
        return values[int(self.draws.integers(len(values)))] if values else None

    def _spoil(self, array):
        """Change some values of an array; return whether there were any."""
        if not array.size or array.dtype.kind not in "biuf":
            return False
        flat = array.reshape(-1)
        kind = array.dtype.kind
        for place in self.draws.integers(len(flat), size=self.pick([1, 1, 2, len(flat)])):
            wild = self.pick(IN_FLOATS) if kind == "f" else self.pick([*IN_ARRAYS, int(flat[place]) + 1, len(flat)])
            with np.errstate(all="ignore"):
                flat[place] = wild if kind == "f" else np.array(wild).astype(array.dtype)
        return True


class OwnEdits(Draws):
    """Edits of the model's own tree."""

    content: bytes
    donors: list[bytes]

    def types(self, file):
        """Name another type."""
        node = self.pick(_nodes(file.tree, "object"))
        if node is not None:
            node["object"] = self.pick([*DEFINED_IN, "os.system", "fuselearn.cli.app:main", 3, None])

    def casts(self, file):
        """Read the bytes of an array as other values."""
        node = self.pick(_nodes(file.tree, "array"))
        if node is not None:
            node["array"][1] = self.pick(KINDS_OF_ARRAYS)

    def converts(self, file):
        """Write an array in another type, with values that fit."""
        node = self.pick(_nodes(file.tree, "array"))
        if node is not None and file.array(node).dtype.kind in "biuf":
            with np.errstate(all="ignore"):
                file.put(
                    node, file.array(node).astype(self.pick(["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u8", "?"]))
                )

    def both(self, file):
        """Give a node two kinds, or keys that it should not have."""
        node = self.pick(_all_nodes(file.tree))
        node |= self.pick([{"ref": 1}, {"tuple": []}, {"array": [0, "<f8", [1], "C"]}, {"foreign": 0}, {"state": {}}])

    def shapes(self, file):
        """Change the shape of an array, and not its bytes."""
        node = self.pick(_nodes(file.tree, "array"))
        if node is None:
            return
        shape = node["array"][2]
        place = int(self.draws.integers(len(shape))) if shape else None
        edit = self.pick(["less", "more", "none", "huge", "flat", "deep", "turned", "negative", "half"])
        if edit == "flat":
            node["array"][2] = [math.prod(shape)]
        elif edit == "deep":
            node["array"][2] = [*shape, 1]
        elif edit == "turned":
            node["array"][2] = shape[::-1]
        elif place is not None:
            length = shape[place]
            changed = {"less": length - 1, "more": length + 1, "none": 0, "huge": 2**40, "negative": -1}
            shape[place] = changed.get(edit, length // 2)

    def sizes(self, file):
        """Make an array longer or shorter along an axis, with values to fill it."""
        node = self.pick(_nodes(file.tree, "array"))
        array = None if node is None else file.array(node)
        if array is None or not array.ndim or not array.size:
            return
        axis = int(self.draws.integers(array.ndim))
        length = array.shape[axis]
        places = self.pick([range(length - 1), range(length // 2), [*range(length), 0], [0] * 3 * length, [0], []])
        file.put(node, np.take(array, list(places), axis=axis))

    def offsets(self, file):
        """Let an array begin elsewhere."""
        node = self.pick(_nodes(file.tree, "array"))
        if node is not None:
            offset = node["array"][0]
            node["array"][0] = self.pick(
                [0, offset + 8, offset - 8, offset + 1, len(file.arrays), -1, 2**63, offset / 2]
            )

    def orders(self, file):
        """Turn an array."""
        node = self.pick(_nodes(file.tree, "array"))
        if node is not None:
            node["array"][3] = self.pick(["F", "C", "A", None])

    def values(self, file):
        """Put wild numbers into an array."""
        node = self.pick(_nodes(file.tree, "array"))
        if node is not None:
            array = file.array(node)
            if self._spoil(array):
                file.put(node, array)

    def indices(self, file):
        """Put numbers out of range, or just within, into an array of whole numbers."""
        nodes = [node for node in _nodes(file.tree, "array") if str(node["array"][1])[1:2] in "iu"]
        node = self.pick(nodes)
        if node is not None:
            array = file.array(node)
            if self._spoil(array):
                file.put(node, array)

    def swaps(self, file):
        """Let two parts of the model change places."""
        kind = self.pick(["array", "object", "tuple", None, None])
        slots = [slot for slot in _slots(file.tree) if kind is None or (isinstance(slot[2], dict) and kind in slot[2])]
        if len(slots) > 1:
            (one, here, first), (other, there, second) = self.pick(slots), self.pick(slots)
            one[here], other[there] = deepcopy(second), deepcopy(first)

    def copies(self, file):
        """Write a part twice, or put it in the place of another attribute."""
        lists = [value for _, _, value in _slots(file.tree) if isinstance(value, list) and value]
        chosen = self.pick(lists)
        if chosen is not None:
            chosen.append(deepcopy(self.pick(chosen)))

    def deletions(self, file):
        """Leave out an attribute or an item."""
        place, key, _ = self.pick(_slots(file.tree))
        del place[key]

    def references(self, file):
        """Refer to other objects, later ones, none, or itself."""
        numbers = [node["number"] for node in dicts_in(file.tree) if type(node.get("number")) is int]
        if self.draws.random() < 0.5 and numbers:
            node = self.pick(_nodes(file.tree, "number"))
            node["number"] = self.pick([*numbers, 99, -1, "1"])
        else:
            place, key, _ = self.pick(_slots(file.tree))
            place[key] = {"ref": self.pick([*numbers, 1, 99, -1, "1", True, None])}

    def numbers(self, file):
        """Put another number for one."""
        slots = [slot for slot in _slots(file.tree) if type(slot[2]) in (int, float, bool)]
        if slots:
            place, key, number = self.pick(slots)
            place[key] = self.pick([*NUMBERS, number + 1, number - 1])

    def texts(self, file):
        """Put another text for one."""
        slots = [slot for slot in _slots(file.tree) if type(slot[2]) is str]
        if slots:
            place, key, text = self.pick(slots)
            place[key] = self.pick([*TEXTS, text[::-1], text + "_", None])

    def nothing(self, file):
        """Put None, or something empty, for a part."""
        place, key, _ = self.pick(_slots(file.tree))
        place[key] = self.pick([None, None, [], {"tuple": []}, {"dict": []}, "", 0])

    def others(self, file):
        """Put an object of another type, or of another model, for a part."""
        donor = SavedFile(self.pick([self.content, *self.donors]))
        part = deepcopy(self.pick(_nodes(donor.tree, self.pick(["object", "object", "array"])) or [{"tuple": []}]))
        for node in list(dicts_in(part)):
            node.pop("number", None)
            if "array" in node:
                file.put(node, donor.array(node))
        slots = list(_slots(file.tree))
        objects = [slot for slot in slots if isinstance(slot[2], dict)]
        place, key, _ = self.pick(objects if self.draws.random() < 0.8 else slots)
        place[key] = part

    def attributes(self, file):
        """Set an attribute that hides a method, or under the name of another."""
        node = self.pick(_nodes(file.tree, "object"))
        if node is None or not node["state"]:
            return
        name = self.pick(node["state"])
        new = self.pick([*METHODS, name + "_", self.pick(node["state"])])
        if self.draws.random() < 0.5:
            node["state"][new] = deepcopy(node["state"][name])
        else:
            node["state"][new] = node["state"].pop(name)


class ForeignEdits(Draws):
    """Edits of the tree of foreign objects."""

    def foreign_types(self, file):
        """Name another class, or another loader."""
        nodes = _foreign_nodes(file.schema)
        node, other = self.pick(nodes), self.pick(nodes)
        if self.draws.random() < 0.7:
            node["__module__"], node["__class__"] = other["__module__"], other["__class__"]
        else:
            node["__loader__"] = other["__loader__"]

    def foreign_casts(self, file):
        """Cast an array once it was read."""
        node = self.pick([node for node in _foreign_nodes(file.schema) if node["__loader__"] == "NdArrayNode"])
        if node is not None:
            node["__class__"] = self.pick(["float32", "int64", "matrix", "recarray", "memmap", "bool", "object_"])

    def foreign_both(self, file):
        """Give a node both a content and a file, or keys of others."""
        nodes = _foreign_nodes(file.schema)
        node, other = self.pick(nodes), self.pick(nodes)
        for key in ("content", "file", "__reduce__", "key_types", "attrs", "type"):
            if key in other and key not in node:
                node[key] = deepcopy(other[key])

    def foreign_values(self, file):
        """Put wild numbers into an array."""
        name = self.pick([name for name in file.members if name.endswith(".npy")])
        if name is None:
            return
        array = np.load(io.BytesIO(file.members[name]))
        if array.dtype.names:
            field = self.pick(array.dtype.names)
            part = array[field].copy()
            self._spoil(part)
            array[field] = part
        else:
            self._spoil(array)
        file.members[name] = _npy(array)

    def foreign_sizes(self, file):
        """Make an array longer, shorter, or of other numbers."""
        name = self.pick([name for name in file.members if name.endswith(".npy")])
        if name is None:
            return
        array = np.load(io.BytesIO(file.members[name]))
        if array.ndim and array.size:
            axis = int(self.draws.integers(array.ndim))
            length = array.shape[axis]
            places = self.pick([range(length - 1), range(length // 2), [*range(length), 0], [0] * 3 * length, [0]])
            array = np.take(array, list(places), axis=axis)
        if not array.dtype.names and self.draws.random() < 0.3:
            array = array.astype(self.pick(["f4", "f8", "i4", "i8", "u1"])) if array.dtype.kind in "biuf" else array
        file.members[name] = _npy(array)

    def foreign_numbers(self, file):
        """Put another number or text for one."""
        node = self.pick([node for node in _foreign_nodes(file.schema) if node["__loader__"] == "JsonNode"])
        if node is not None:
            plain = [number for number in NUMBERS if not isinstance(number, dict)]
            node["content"] = self.pick([*map(json.dumps, [*plain, *TEXTS]), "NaN", "1e999", "nonsense", '{"a": 1}', 3])

    def foreign_swaps(self, file):
        """Let two parts change places, or two arrays."""
        if self.draws.random() < 0.4 and len(file.members) > 1:
            one, other = self.pick(file.members), self.pick(file.members)
            file.members[one], file.members[other] = file.members[other], file.members[one]
            return
        nodes = _foreign_nodes(file.schema)[1:]
        if nodes:
            one, other = self.pick(nodes), self.pick(nodes)
            first, second = deepcopy(one), deepcopy(other)
            one.clear(), other.clear()
            one.update(second), other.update(first)

    def foreign_deletions(self, file):
        """Leave out an attribute or an item."""
        nodes = [
            node for node in _foreign_nodes(file.schema) if node.get("content") and node["__loader__"] != "JsonNode"
        ]
        node = self.pick([node for node in nodes if isinstance(node["content"], dict | list)])
        if node is None:
            return
        content = node["content"]
        del content[self.pick(content) if isinstance(content, dict) else int(self.draws.integers(len(content)))]
        if isinstance(node.get("key_types"), dict) and self.draws.random() < 0.9:
            node["key_types"]["content"].pop()

    def foreign_attributes(self, file):
        """Set an attribute that hides a method or a constant of a class, or under the name of another."""
        nodes = [node for node in _foreign_nodes(file.schema) if node["__loader__"] == "DictNode" and node["content"]]
        node = self.pick(nodes)
        if node is None:
            return
        name = self.pick(node["content"])
        more = ["_impl", "_sparse", "_in_fit", "_sparse_kernels", "kernel", "is_multiclass", "n_classes_"]
        new = self.pick([*METHODS, *more, self.pick(node["content"])])
        if new not in node["content"]:
            node["key_types"]["content"].append(deepcopy(node["key_types"]["content"][0]))
        node["content"][new] = deepcopy(node["content"][name])

    def foreign_arguments(self, file):
        """Change what a tree, or another type, is made with."""
        node = self.pick([node for node in dicts_in(file.schema) if "__reduce__" in node])
        if node is None:
            self.foreign_numbers(file)
            return
        inner = [part for part in _foreign_nodes(node["__reduce__"]) if part["__loader__"] == "JsonNode"]
        chosen = self.pick(inner)
        if chosen is not None:
            chosen["content"] = self.pick(["0", "-1", "1000", "1000000000", "null", "true", '"a"', "[1]", "2.5"])

    def foreign_identities(self, file):
        """Show one object in two ways, or in a circle."""
        nodes = _foreign_nodes(file.schema)
        node = self.pick(nodes)
        node["__id__"] = self.pick([other["__id__"] for other in nodes if "__id__" in other] + [1, "1", None])


OWN_EDITS = {name: edit for name, edit in vars(OwnEdits).items() if not name.startswith("_")}
FOREIGN_EDITS = {name: edit for name, edit in vars(ForeignEdits).items() if not name.startswith("_")}
# Numbers are what compiled code reads, so they are changed more often.
OWN_KINDS = [*OWN_EDITS, "values", "indices", "sizes", "converts", "others"]
FOREIGN_KINDS = [*FOREIGN_EDITS, "foreign_values", "foreign_sizes"]


class Forger(OwnEdits, ForeignEdits):
    """Makes forgeries of a file.

    Parameters
    ----------
    content : bytes
        The genuine file.
    donors : list of bytes
        Other genuine files, from which objects are taken.
    seed : int
    """

    def __init__(self, content: bytes, donors: list[bytes], seed: int) -> None:
        super().__init__(seed)
        self.content, self.donors = content, donors

    def forged(self, number: int) -> Iterator[tuple[str, bytes]]:
        """Yield kinds and contents of so many forgeries, one kind of edit after the other."""
        kinds = OWN_KINDS
        if SavedFile(self.content).schema is not None:
            kinds = [kind for pair in zip(FOREIGN_KINDS, OWN_EDITS) for kind in pair]
            if "foreign" in SavedFile(self.content).tree:  # all of it, such as a pipeline
                kinds = FOREIGN_KINDS
        made = 0
        first = int(self.draws.integers(len(kinds)))
        for turn in range(first, first + 20 * number):
            kind = kinds[turn % len(kinds)]
            file = SavedFile(self.content)
            edit = (OWN_EDITS | FOREIGN_EDITS)[kind]
            edit(self, file)
            if self.draws.random() < 0.3:
                with suppress(ArithmeticError, LookupError, TypeError, ValueError):  # at what the first one has left
                    edit(self, file)
            if file.schema is not None and self.draws.random() < 0.9:
                name_foreign_types(file)
            content = file.content
            if content != self.content:
                yield kind, content
                made += 1
            if made == number:
                return


def _nodes(tree, key):
    """Return the nodes that have a key."""
    return [node for node in dicts_in(tree) if key in node]


def _all_nodes(tree):
    """Return all dicts of a tree that are nodes, not attributes of one."""
    states = {id(node["state"]) for node in dicts_in(tree) if isinstance(node.get("state"), dict)}
    return [node for node in dicts_in(tree) if id(node) not in states]


def _slots(value):
    """Yield the places of a tree in which a value stands: what holds it, under which key, and the value."""
    if isinstance(value, dict):
        holder = value.get("state", value)
        items = list(holder.items()) if isinstance(holder, dict) else []
    else:
        items, holder = list(enumerate(value)), value
    for key, item in items:
        if key not in ("array", "object", "number", "ref"):
            if not isinstance(holder, dict) or "state" in value:
                yield holder, key, item
            if isinstance(item, dict | list):
                yield from _slots(item)


def _foreign_nodes(schema):
    """Return the nodes of a tree of skops."""
    return [node for node in dicts_in(schema) if isinstance(node.get("__loader__"), str)]


def _npy(array):
    """Return an array as bytes of NumPy's format."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def name_foreign_types(file):
    """Let the header name the types that the tree has, as far as it can be read."""
    try:
        names = foreign_names(read_schema({"schema.json": json.dumps(file.schema).encode()}))
        file.header["foreign"] = names_to_trust(names)
    except Exception:
        return
