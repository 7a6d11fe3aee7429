"""Files of models that were damaged on the way, or made to do harm."""

import io
import json
import pickle
import zipfile
from copy import deepcopy

import numpy as np
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

from fuselearn import ShareBoostClassifier, save
from fuselearn.persistence.container import ARRAYS, FOREIGN, HEADER, MODEL, unpack
from tests.persistence.forging import name_foreign_types
from tests.persistence.saved_models import SavedFile, dicts_in

NAMES = [
    ("os", "system"),
    ("posix", "system"),
    ("subprocess", "Popen"),
    ("subprocess", "check_output"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("builtins", "open"),
    ("builtins", "__import__"),
    ("operator", "call"),
    ("functools", "partial"),
    ("importlib", "import_module"),
    ("pickle", "loads"),
    ("joblib", "load"),
    ("ctypes", "CDLL"),
    ("antigravity", "fly"),
    ("numpy", "load"),
    ("numpy", "memmap"),
    ("numpy", "fromfile"),
    ("numpy", "frompyfunc"),
    ("numpy.ctypeslib", "load_library"),
    ("sklearn.datasets", "fetch_openml"),
    ("sklearn.utils._testing", "TempMemmap"),
    ("sklearn.metrics", "accuracy_score"),
    ("fuselearn", "save"),
    ("fuselearn", "boosting.share.ShareBoostClassifier"),
    ("fuselearn", "ShareBoostClassifier.fit"),
    ("fuselearn.boosting.share", "ShareBoostClassifier"),
    ("fuselearn.cli", "main"),
    ("fuselearn.cli.app", "app"),
    ("fuselearn.persistence.model_file", "save"),
    ("fuselearn.persistence.model_types", "Trust"),
    ("fuselearn.evaluation.result_store", "CellStore"),
    ("fuselearn.numeric.threads", "Threads"),
    ("fuselearn.boosting.rounds", "boost"),
    ("fuselearn.boosting.base", "import_module"),
    ("fuselearn.boosting.share", "BaseBoost"),
    ("fuselearn.boosting...cli.app", "main"),
    ("fuselearn.boosting.no_such_file", "Thing"),
]


def value(text):
    return {"__loader__": "JsonNode", "__module__": "builtins", "__class__": "str", "content": text}


def collected(loader, kind, content):
    return {"__loader__": loader, "__module__": "builtins", "__class__": kind, "content": content}


def called(kind, arguments):
    """A built-in type that is called with arguments."""
    return collected("ConstructorFromReduceNode", kind, collected("TupleNode", "tuple", arguments))


def evil_nodes(module, name, file):
    """A type or function, named in every way that skops has of building something."""
    node = {"__module__": module, "__class__": name}
    command = collected("TupleNode", "tuple", [value('"touch /tmp/never"')])
    filled = collected("DictNode", "dict", {"a": value("1")})
    filled["key_types"] = collected(
        "ListNode", "list", [{"__loader__": "TypeNode", "__module__": "builtins", "__class__": "str"}]
    )
    odd_keys = deepcopy(filled)
    odd_keys["key_types"]["content"] = [node | {"__loader__": "TypeNode"}]
    yield node | {"__loader__": "FunctionNode"}
    yield node | {"__loader__": "FunctionNode", "content": {"module_path": module, "function": name}}
    yield node | {"__loader__": "TypeNode"}
    yield odd_keys
    yield node | {"__loader__": "ObjectNode", "content": filled}
    yield node | {"__loader__": "ObjectNode"}
    for loader in ("ListNode", "SetNode", "TupleNode"):
        yield node | {"__loader__": loader, "content": [value('"touch /tmp/never"')]}
    yield node | {"__loader__": "DictNode", "content": filled["content"], "key_types": filled["key_types"]}
    yield node | {"__loader__": "DefaultDictNode", "content": {"main": filled, "default_factory": value("null")}}
    yield node | {"__loader__": "ConstructorFromReduceNode", "content": command}
    yield node | {"__loader__": "NdArrayNode", "type": "numpy", "file": file}
    yield node | {"__loader__": "BytesNode", "file": file}
    yield node | {"__loader__": "SparseMatrixNode", "type": "scipy", "file": file}
    yield node | {"__loader__": "MaskedArrayNode", "content": {"data": value("1"), "mask": value("1")}}
    yield node | {"__loader__": "RandomStateNode", "content": filled}
    yield node | {"__loader__": "LossNode", "__reduce__": {"args": command}, "content": filled}
    yield node | {"__loader__": "TreeNode", "__reduce__": {"args": command}, "content": filled}
    yield node | {"__loader__": "OperatorFuncNode", "attrs": command}
    function = node | {"__loader__": "FunctionNode"}
    yield {"__module__": "functools", "__class__": "partial", "__loader__": "PartialNode"} | {
        "content": {"func": function, "args": command, "kwds": filled, "namespace": filled}
    }
    yield collected("DefaultDictNode", "x", {}) | {
        "__module__": "collections",
        "__class__": "defaultdict",
        "content": {"main": filled, "default_factory": function},
    }
    owner = node | {"__loader__": "ObjectNode", "content": filled}
    yield node | {"__loader__": "MethodNode", "content": {"func": "__init__", "obj": owner}}
    yield node | {"__loader__": "NoSuchNode"}


class Genuine:
    """A genuine file that forgeries start from."""

    def __init__(self, path):
        rows = np.random.default_rng(0).normal(size=(60, 4))
        estimator = {"a": "tree", "b": DecisionTreeClassifier(max_depth=2)}
        model = ShareBoostClassifier(estimator, views={"a": [0, 1], "b": [2, 3]}, n_estimators=3, random_state=0)
        save(model.fit(rows, (rows.sum(axis=1) > 0).astype(int)), path)
        self.model, self.content = model, path.read_bytes()
        self.header, self.members = unpack(self.content)

    def forged(self, edit):
        """The file with an edited tree of foreign objects or members, and a checksum that is right."""
        file = SavedFile(self.content)
        file.schema = edit(file.schema, file.members) or file.schema
        if isinstance(file.schema, dict):
            name_foreign_types(file)
        return file.content

    def with_node(self, node):
        """The file with a node as one more attribute of its first classifier."""

        def edit(schema, members):
            members["extra.npy"] = array_of(np.arange(3))
            attributes = _attributes(schema)
            attributes["content"] = {"zzz": node, **attributes["content"]}
            attributes["key_types"]["content"].append(deepcopy(attributes["key_types"]["content"][0]))

        return self.forged(edit)

    def with_array(self, content):
        """The file with other bytes for its first array."""
        return self.forged(lambda schema, members: members.update({"0.npy": content}))


def _attributes(schema):
    """The attributes of the first classifier of a tree, as a node."""
    return next(node for node in dicts_in(schema) if node.get("__class__") == "DecisionTreeClassifier")["content"]


def array_of(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


class Trap:
    """Unpickles into a call."""

    def __reduce__(self):
        return (exec, ("import antigravity_of_the_trap",))


def declared(shape, descr="<f8"):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(64)


def archive_of(members, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def laughs(levels):
    """Each list holds the one before it twice, by its number."""
    node = collected("ListNode", "list", [value("1")]) | {"__id__": 1}
    for number in range(2, levels):
        short = collected("ListNode", "list", []) | {"__id__": number - 1}
        node = collected("ListNode", "list", [node, short, short]) | {"__id__": number}
    return node


def damaged(genuine, n_flips=80):
    """Name and content of files that were damaged on the way."""
    draws = np.random.default_rng(1)
    content = genuine.content
    for number in range(n_flips):
        flipped = bytearray(content)
        for place in draws.integers(len(content), size=1 + number % 4):
            flipped[place] ^= 1 << draws.integers(8)
        yield f"flipped {number}", bytes(flipped)
    for number, length in enumerate(draws.integers(len(content), size=30)):
        yield f"truncated {number}", content[:length]
    for number, place in enumerate(draws.integers(len(content), size=10)):
        yield f"hole {number}", content[:place] + content[place + 50 :]
        yield f"zeros {number}", content[:place] + bytes(100) + content[place + 100 :]
    yield "doubled", content + content[: len(content) // 2]
    yield "noise", draws.bytes(5000)


def forged_archives(genuine):
    """Archives that zip tools would make, and would not."""
    header, members = genuine.header, genuine.members
    text = json.dumps(header).encode()
    rest = list(members.items())
    first = f"{FOREIGN}0.npy"
    other = next(name for name in members if name.endswith(".npy") and members[name] != members[first])
    swapped = dict(members) | {first: members[other], other: members[first]}
    yield "swapped", archive_of([(HEADER, text), *swapped.items()])
    yield "missing member", archive_of([(HEADER, text), *rest[:-1]])
    yield "repeated header", _quietly([(HEADER, text), *rest, (HEADER, text)])
    yield "repeated tree", _quietly([(HEADER, text), (MODEL, b"{}"), *rest])
    yield "repeated arrays", _quietly([(HEADER, text), *rest, (ARRAYS, b"")])
    yield "no header", archive_of(rest)
    yield "no tree", archive_of([(HEADER, text)])
    yield "from skops", skops.io.dumps(genuine.model)
    yield "lzma", archive_of([(HEADER, text), *rest], compression=zipfile.ZIP_LZMA)
    yield (
        "bomb",
        archive_of([(HEADER, text), *rest, (f"{FOREIGN}b", bytes(120 * 2**20))], compression=zipfile.ZIP_DEFLATED),
    )
    bomb = {MODEL: b"[" * 20 * 2**20, ARRAYS: b""}
    yield "bomb of text", archive_of([(HEADER, text), *bomb.items()], compression=zipfile.ZIP_DEFLATED)
    lying = bytearray(archive_of([(HEADER, text), *rest]))
    at = lying.rfind(b"PK\x01\x02")
    lying[at + 24 : at + 28] = (2**31).to_bytes(4, "little")
    yield "lying about sizes", bytes(lying)
    for name, odd in (
        ("list", b"[]"),
        ("deep", b"[" * 10**5),
        ("text", b"\xff\xfe"),
        ("nan", b"NaN"),
        ("parts", b"[" + b"[]," * 10**6),
    ):
        yield f"header of {name}", archive_of([(HEADER, odd), *rest])


def _quietly(members):
    with pytest.warns(UserWarning, match="Duplicate name"):
        return archive_of(members)


def forged_trees(genuine, every=3):
    """Trees that name what they should not, or are no trees."""
    for turn, (module, name) in enumerate(NAMES):
        for number, node in enumerate(evil_nodes(module, name, "extra.npy")):
            # The first names in every way, the others in every third; in a quick run, all in fewer.
            if (every == 3 and turn < 6) or number % every == turn % every:
                yield f"names {module}.{name} {number}", genuine.with_node(node)
    for number, node in enumerate(evil_nodes("builtins", "eval", "extra.npy")):
        yield f"root {number}", genuine.forged(lambda schema, members, node=node: {**schema, **node})
    yield "deep", genuine.forged(lambda schema, members: b'{"content":' * 10**5)
    yield "deep lists", genuine.forged(lambda schema, members: b"[" * 10**6)
    nested = value("1")
    for _ in range(400):
        nested = collected("ListNode", "list", [nested])
    yield "deep nodes", genuine.with_node(nested)
    yield "deep text", genuine.with_node(value("[" * 10**6))
    yield "laughs", genuine.with_node(laughs(40))
    yield (
        "cycle",
        genuine.with_node(
            collected("ListNode", "list", [collected("ListNode", "list", []) | {"__id__": 5}]) | {"__id__": 5}
        ),
    )
    yield "reference", genuine.with_node({"__id__": 1})
    yield (
        "cached",
        genuine.with_node({"__loader__": "CachedNode", "__module__": "builtins", "__class__": "list", "__id__": 1}),
    )
    yield (
        "two faces",
        genuine.with_node(
            collected("ListNode", "list", [])
            | {"__id__": 77, "content": [{**value("1"), "__id__": 78}, {**value('"other"'), "__id__": 78}]}
        ),
    )
    for protocol in (0, -1, 10**9, None, True, "2"):
        yield f"protocol {protocol}", genuine.forged(lambda schema, members, p=protocol: {**schema, "protocol": p})
    for number, odd in enumerate((None, 1, "text", [], {}, {"__loader__": 3}, {"__class__": "x"}, [[[]]])):
        yield f"odd {number}", genuine.with_node(odd)
        yield f"odd inside {number}", genuine.with_node(collected("ListNode", "list", [odd]))
        yield f"odd content {number}", genuine.with_node(collected("DictNode", "dict", odd))
    generator = {
        "__loader__": "RandomGeneratorNode",
        "__module__": "numpy.random._generator",
        "__class__": "Generator",
        "content": {
            "bit_generator": collected("DictNode", "dict", {"bit_generator": value('"seed"')}),
            "seed_seq": value("null"),
        },
    }
    yield "random seed", genuine.with_node(generator)
    large = called("range", [value("0"), value(str(10**10)), value("1")])
    yield "frozenset of a range", genuine.with_node(called("frozenset", [large]))
    small = called("range", [value("0"), value("9"), value("1")])
    yield "frozenset of a small range", genuine.with_node(called("frozenset", [small]))
    yield "long range", genuine.with_node(large)
    yield "endless range", genuine.with_node(called("range", [value("0"), value("9" * 40), value("1")]))
    yield "range of text", genuine.with_node(called("range", [value('"0"'), value("9"), value("1")]))
    some = called("range", [value("0"), value("1000000"), value("1")]) | {"__id__": 99}
    yield "many ranges", genuine.with_node(collected("ListNode", "list", [some] * 3))
    masked = {"__loader__": "MaskedArrayNode", "__module__": "numpy.ma", "__class__": "MaskedArray"}
    yield "masked range", genuine.with_node(masked | {"content": {"data": small, "mask": value("false")}})
    yield "unknown key", genuine.with_node(value("1") | {"aside": [[]]})
    yield "many parts", genuine.forged(lambda schema, members: b'{"a":[' + b"[]," * 10**6 + b"1]}")
    yield "many numbers", genuine.forged(lambda schema, members: b'{"a":[' + b"257," * 10**6 + b"1]}")
    yield "wrong class", genuine.forged(lambda schema, members: {**schema, "__class__": "set"})
    yield "plain value", genuine.forged(lambda schema, members: {**schema, **value("1")})


def forged_arrays(genuine):
    """Arrays that are not what they say."""
    trap = np.array([Trap()], dtype=object)
    yield "pickle in array", genuine.with_array(array_of(trap, allow_pickle=True))
    yield "pickle for array", genuine.with_array(pickle.dumps(Trap()))
    yield "archive for array", genuine.with_array(archive_of([("x.npy", array_of(trap, allow_pickle=True))]))
    for shape in ((10**12,), (2**62, 2**62), (-1,), (10**6, 10**6), (2**40, 0, 0, 2**40), (True,)):
        yield f"huge {len(shape)} {shape[0]}", genuine.with_array(declared(shape))
    yield "empty items", genuine.with_array(declared((10**15,), "|V0"))
    yield "objects", genuine.with_array(declared((8,), "|O"))
    yield "code for header", genuine.with_array(b"\x93NUMPY\x01\x00\x20\x00__import__('os').system('true')\n")
    yield "code for dtype", genuine.with_array(declared((8,)).replace(b"'<f8'", b"exec("))
    yield "long header", genuine.with_array(b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b"(" * 10**5)
    yield "version", genuine.with_array(b"\x93NUMPY\x09\x00" + bytes(100))
    yield "no array", genuine.with_array(b"")
    yield (
        "same array twice",
        genuine.with_node(
            collected("ListNode", "list", [])
            | {
                "content": [
                    {"__loader__": "NdArrayNode", "__module__": "numpy", "__class__": "ndarray", "type": "numpy"}
                    | {"file": "extra.npy"}
                ]
                * 1000
            }
        ),
    )
    sparse = {
        "__loader__": "SparseMatrixNode",
        "__module__": "scipy.sparse._csr",
        "__class__": "csr_matrix",
        "type": "scipy",
        "file": "extra.npz",
    }

    def with_sparse(content):
        def edit(schema, members):
            members["extra.npz"] = content
            _attributes(schema)["content"]["class_weight"] = sparse

        return genuine.forged(edit)

    inside = [("format.npy", array_of(np.array(b"csr"))), ("shape.npy", array_of(np.array([3, 3])))]
    yield "sparse pickle", with_sparse(archive_of([*inside, ("data.npy", array_of(trap, allow_pickle=True))]))
    yield (
        "sparse bomb",
        with_sparse(archive_of([*inside, ("data.npy", bytes(120 * 2**20))], compression=zipfile.ZIP_DEFLATED)),
    )
    yield "sparse half", with_sparse(archive_of(inside))
    yield "sparse nothing", with_sparse(b"PK")
