"""Nodes of a model's tree that `save` never writes: each is refused in words, and nothing is built of it."""

import json
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from fuselearn import ShareBoostClassifier, ViewVotingClassifier, load, save
from fuselearn.persistence.container import MODEL, pack, unpack
from fuselearn.persistence.object_tree import MAX_DEPTH, MAX_IN_RANGES, Reader, Writer
from fuselearn.persistence.validation import later_fields
from tests.persistence.saved_models import TWO, VIEWS, SavedFile, X, forge, states


def nested(levels):
    node = 1
    for _ in range(levels):
        node = {"tuple": [node]}
    return node


def generator(**changes):
    """Return the node of a legacy generator, with some of its state changed."""
    state = {
        "bit_generator": "MT19937",
        "state": {"dict": [["key", changes.pop("key", {"array": [0, "<u4", [624], "C"]})], ["pos", 0]]},
        "has_gauss": 0,
        "gauss": 0.0,
    } | changes
    return {"generator": ["RandomState", {"dict": [[key, value] for key, value in state.items()]}]}


def at_position(position):
    node = generator()
    node["generator"][1]["dict"][1][1]["dict"][1][1] = position
    return node


TREE = "its tree has"
NODES = {
    "no key": ({}, TREE),
    "unknown kind": ({"pickle": "gASV"}, r"a node of \['pickle'\], which fuselearn\.save never writes"),
    "a loader of skops": ({"__loader__": "TypeNode", "__module__": "os", "__class__": "system"}, "never writes"),
    "two kinds": ({"tuple": [], "set": []}, "never writes"),
    "an array and a reference": ({"array": [0, "<f8", [1], "C"], "ref": 1}, "never writes"),
    "an object without attributes": ({"object": "learners.Stump"}, "never writes"),
    "attributes without an object": ({"tuple": [], "state": {}}, "never writes"),
    "only attributes": ({"state": {}}, "never writes"),
    "only a number": ({"number": 1}, "never writes"),
    "an object of a list": ({"object": "learners.Stump", "state": []}, "without attributes"),
    "a key more": ({"tuple": [], "content": []}, "never writes"),
    "a tuple of a number": ({"tuple": 3}, "not made as"),
    "a dict of a dict": ({"dict": {"a": 1}}, "not made as"),
    "a pair of three": ({"dict": [["a", 1, 2]]}, "not made as"),
    "one key twice": ({"dict": [["a", 1], ["a", 2]]}, "a dict with one key twice"),
    "a list for a key": ({"dict": [[[1], 2]]}, "a list for a key"),
    "an array for a key": ({"dict": [[{"array": [0, "<f8", [1], "C"]}, 2]]}, "a ndarray for a key"),
    "large numbers for keys": ({"dict": [[(2**61 - 1) * 7, 1]]}, "for a key"),
    "tuples for keys": ({"set": [{"tuple": [number]} for number in range(10_001)]}, "too many of them"),
    "an object in a set": ({"set": [{"object": "bandits.RoundRobin", "state": {}}]}, "for a key"),
    "an object in a tuple in a set": (
        {"set": [{"tuple": [{"object": "bandits.RoundRobin", "state": {}}]}]},
        "for a key",
    ),
    "a reference to what comes later": ({"ref": 99}, "does not come before"),
    "a reference to itself": ({"objects": [[1], [{"ref": 98}]], "number": 98}, "does not come before"),
    "a reference by text": ({"ref": "1"}, "does not come before"),
    "a reference by truth": ({"ref": True}, "does not come before"),
    "a reference by a list": ({"ref": [1]}, "does not come before"),
    "two of one number": (
        {"tuple": [{"objects": [[0], []], "number": 97}, {"objects": [[0], []], "number": 97}]},
        "two objects of one number",
    ),
    "a tuple with a number": ({"tuple": [], "number": 97}, "a tuple with a number, which only objects have"),
    "a number of text": ({"objects": [[0], []], "number": "1"}, "a number, which only objects have"),
    "a foreign object": ({"foreign": 0}, "refers to a foreign object that is not in the file"),
    "a foreign object before the first": ({"foreign": -1}, "that is not in the file"),
    "a foreign object by text": ({"foreign": "0"}, "that is not in the file"),
    "NaN as a literal": (float("nan"), "a number that fuselearn.save would write otherwise"),
    "infinity as a literal": (float("inf"), "would write otherwise"),
    "an unknown float": ({"float": "1.5"}, "a number that is none"),
    "a float of a number": ({"float": 1.5}, "a number that is none"),
    "too deep": (nested(MAX_DEPTH + 1), "levels deep"),
    "objects": ({"array": [0, "|O", [1], "C"]}, "which is not one of plain numbers or text"),
    "pairs": ({"array": [0, "<i4,<i4", [1], "C"]}, "which is not one of plain"),
    "void": ({"array": [0, "|V8", [1], "C"]}, "which is not one of plain"),
    "big end": ({"array": [0, ">f8", [1], "C"]}, "which is not one of plain"),
    "a type by its name": ({"array": [0, "float64", [1], "C"]}, "which is not one of plain"),
    "a type of a list": ({"array": [0, [["a", "<f8"]], [1], "C"]}, "which is not one of plain"),
    "a line after the type": ({"array": [0, "<f8\n", [1], "C"]}, "which is not one of plain"),
    "an unknown unit": ({"array": [0, "<M8[zz]", [1], "C"]}, "which is not one of plain"),
    "long texts": ({"array": [0, "<U9999999", [10**9], "C"]}, "larger than the bytes of the file"),
    "longer texts": ({"array": [0, "<U999999999", [10**9], "C"]}, "which is not one of plain"),
    "a shape before 0": ({"array": [0, "<f8", [-1], "C"]}, "a shape that is none"),
    "a shape of truth": ({"array": [0, "<f8", [True], "C"]}, "a shape that is none"),
    "a shape of a fraction": ({"array": [0, "<f8", [1.0], "C"]}, "a shape that is none"),
    "a shape that overflows": ({"array": [0, "<f8", [2**62], "C"]}, "a shape that is none"),
    "shapes that overflow": ({"array": [0, "<f8", [2**61, 2**61], "C"]}, "larger than the bytes"),
    "too many dimensions": ({"array": [0, "<f8", [1] * 65, "C"]}, "a shape that is none"),
    "a shape of a number": ({"array": [0, "<f8", 1, "C"]}, "not made as"),
    "an array of many empty texts": ({"array": [0, "<U0", [10**9], "C"]}, "empty texts"),
    "nothing, a thousand times": ({"array": [0, "<f8", [0, 2**61, 2**61], "C"]}, "too big"),
    "an offset before 0": ({"array": [-8, "<f8", [1], "C"]}, "an array that is nowhere"),
    "an offset behind the end": ({"array": [10**12, "<f8", [1], "C"]}, "larger than the bytes"),
    "an offset of a fraction": ({"array": [0.0, "<f8", [1], "C"]}, "an array that is nowhere"),
    "an order that is none": ({"array": [0, "<f8", [1], "K"]}, "an array that is nowhere"),
    "bytes of no text": ({"bytes": [1]}, "not written as text"),
    "bytes in no alphabet": ({"bytes": "§§§"}, "not written as text"),
    "half of some bytes": ({"bytes": "AAA"}, "not written as text"),
    "half a number": ({"scalar": ["<f8", "AAAA"]}, "a number of another size"),
    "a number of objects": ({"scalar": ["|O", "AAAAAAAAAAA="]}, "which is not one of plain"),
    "a truth of two": ({"scalar": ["|b1", "Ag=="]}, "neither true nor false"),
    "text beyond all characters": ({"scalar": ["<U1", "AAARAA=="]}, "unknown characters"),
    "objects of another size": ({"objects": [[3], [1]]}, "another size than its values"),
    "a slice of text": ({"slice": ["a", None, None]}, "not one of whole numbers"),
    "a slice of two": ({"slice": [1, 2]}, "not made as"),
    "a long range": ({"range": [0, MAX_IN_RANGES + 1, 1]}, "ranges of more than"),
    "an endless range": ({"range": [0, 10**40, 1]}, "ranges of more than"),
    "many ranges": ({"tuple": [{"range": [0, MAX_IN_RANGES // 2, 1]}] * 3}, "ranges of more than"),
    "a range backwards": ({"range": [10**40, 0, -1]}, "ranges of more than"),
    "a range of no steps": ({"range": [0, 9, 0]}, "not one of three whole numbers"),
    "a range of text": ({"range": ["0", "9", "1"]}, "not one of three whole numbers"),
    "a generator of another kind": ({"generator": ["SystemRandom", {"dict": []}]}, "of an unknown kind"),
    "a generator of a list": ({"generator": ["Generator", []]}, "of an unknown kind"),
    "a generator without bits": ({"generator": ["Generator", {"dict": []}]}, "of an unknown kind"),
    "a bit generator of others": (generator(bit_generator="seed"), "of an unknown kind"),
    "a generator far outside": (at_position(10**9), "at a position outside of its state"),
    "a generator just outside": (at_position(625), "at a position outside of its state"),
    "a generator before its state": (at_position(-1), "at a position outside of its state"),
    "a generator at a fraction": (at_position(1.5), "at a position outside of its state"),
    "a generator of a short state": (generator(key={"array": [0, "<u4", [3], "C"]}), "without a state"),
    "a generator of fractions": (generator(key={"array": [0, "<f8", [312], "C"]}), "whose state is not whole"),
    "a generator of objects": (generator(gauss={"tuple": []}), "not made of numbers"),
    "a selector of objects": (
        {"column_selector": [None, {"object": "bandits.RoundRobin", "state": {}}, None]},
        "not text",
    ),
    "a selector of two": ({"column_selector": [None, None]}, "not made as"),
    "a sparse matrix of lists": ({"sparse": ["csr_matrix", [1, 1], [1.0], [0], [0, 1]]}, "not made of arrays"),
    "a sparse matrix of another kind": (
        {"sparse": ["lil_matrix", [1, 1], *[{"array": [0, "<i4", [2], "C"]}] * 3]},
        "of an unknown kind",
    ),
}


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Return a small model as a file."""
    path = tmp_path_factory.mktemp("own") / "model.fuse"
    model = ShareBoostClassifier("tree", views=VIEWS, n_estimators=3, random_state=0).fit(X, TWO)
    model.space_ = np.zeros(2000)
    save(model, path)
    return path.read_bytes()


def with_node(content, node):
    """Return a file with one more attribute of the model; its tree may hold what JSON calls NaN."""
    file = SavedFile(content)
    file.tree["state"]["zzz_"] = node
    file.arrays.extend(bytes(8192))
    return file.content


@pytest.mark.parametrize("case", NODES)
def test_a_node_that_save_never_writes_is_refused(case, content, path):
    node, words = NODES[case]
    path.write_bytes(with_node(content, node))
    with pytest.raises(ValueError, match=rf"(?s)model\.fuse was not loaded: .*({words})") as refused:
        load(path)
    assert len(str(refused.value)) < 600


def test_these_places_take_what_save_writes(content, path):
    nodes = [{"tuple": []}, {"array": [0, "<f8", [2, 1], "F"]}, at_position(624), {"range": [0, 9, 1]}, nested(100)]
    for node in nodes:
        path.write_bytes(with_node(content, node))
        assert hasattr(load(path), "zzz_")


def test_bytes_are_read_once(content, path):
    """A small file with the same bytes in many arrays would fill the memory."""
    whole = len(SavedFile(content).arrays)
    path.write_bytes(with_node(content, {"tuple": [{"array": [0, "|u1", [whole], "C"]}] * 2000}))
    with pytest.raises(ValueError, match="larger than the bytes of the file"):
        load(path)


@pytest.mark.parametrize("root", [[], 1, "text", None, True])
def test_a_tree_of_something_else_is_refused(root, content, path):
    header, members = unpack(content)
    path.write_bytes(pack(header, members | {MODEL: json.dumps(root).encode()}))
    with pytest.raises(ValueError, match="its tree must be a JSON object"):
        load(path)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b'{"a":' * 10**5, b"[" * 10**6, b'{"a":[' + b"[]," * 10**6])
def test_a_tree_that_is_no_json_is_refused(text, content, path):
    header, members = unpack(content)
    path.write_bytes(pack(header, members | {MODEL: text}))
    with pytest.raises(ValueError, match=r"its tree (is not JSON|is nested too deeply|has far more parts)"):
        load(path)


def test_the_root_is_the_model_that_the_header_names(content, path):
    for root in ({"tuple": []}, {"dict": []}, {"object": "bandits.RoundRobin", "state": {}}):
        file = SavedFile(content)
        file.tree = root
        path.write_bytes(file.content)
        with pytest.raises(ValueError, match="its tree is not that of a ShareBoostClassifier"):
            load(path)


def test_a_key_twice_in_the_json_is_what_the_last_one_says(content, path):
    """JSON's parser takes the last: nobody else looks at the text, so that nothing can see the first."""
    header, members = unpack(content)
    text = members[MODEL].replace(
        b'"object":"ShareBoostClassifier"', b'"object":"os","object":"ShareBoostClassifier"', 1
    )
    path.write_bytes(pack(header, members | {MODEL: text}))
    assert type(load(path)) is ShareBoostClassifier
    text = members[MODEL].replace(
        b'"object":"ShareBoostClassifier"', b'"object":"ShareBoostClassifier","object":"os"', 1
    )
    path.write_bytes(pack(header, members | {MODEL: text}))
    with pytest.raises(ValueError, match="names the type 'os'"):
        load(path)


# Attributes


@pytest.mark.parametrize(
    "name",
    [
        "predict",
        "fit",
        "validate",
        "get_params",
        "_ensemble",
        "view_order_",
        "__class__",
        "__dict__",
        "__x__",
        "a b",
        "",
    ],
)
def test_an_attribute_that_hides_a_method_is_refused(name, content, path):
    file = SavedFile(content)
    file.tree["state"][name] = None
    path.write_bytes(file.content)
    with pytest.raises(ValueError, match=r"with the attribute '.*', which no fit sets"):
        load(path)


def test_a_setting_that_a_file_of_an_earlier_version_lacks_has_its_default(content, path):
    """Nothing that the file says of any other attribute changes, and what was built is checked as ever."""
    file = SavedFile(content)
    path.write_bytes(content)
    whole = load(path)
    for name, default in ShareBoostClassifier().get_params(deep=False).items():
        value = file.tree["state"].pop(name)
        path.write_bytes(file.content)
        loaded = load(path)
        assert repr(getattr(loaded, name)) == repr(default)
        assert np.array_equal(loaded.decision_function(X), whole.decision_function(X))
        file.tree["state"][name] = value


def test_a_setting_without_a_default_is_not_made_up(path):
    voting = ViewVotingClassifier(ShareBoostClassifier(n_estimators=2))
    save(voting.fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 3.0]], [0, 0, 1, 1]), path)
    forge(path, lambda file: file.tree["state"].pop("estimator"))
    with pytest.raises(ValueError, match="without its setting estimator"):
        load(path)


def test_what_a_fit_leaves_is_not_made_up(content, path):
    for name in ("classes_", "n_features_in_", "view_columns_"):
        path.write_bytes(content)
        forge(path, lambda file, name=name: file.tree["state"].pop(name))
        with pytest.raises(ValueError, match="was not loaded"):
            load(path)


def test_a_field_that_a_file_of_an_earlier_version_lacks_has_its_default(content, path):
    """The weights of nodes came later: trees without them predict the same, and their columns are not explained."""
    path.write_bytes(content)
    whole = load(path)
    forge(path, lambda file: [state.pop("weight") for state in states(file.tree, "learners.TreeHypothesis")])
    loaded = load(path)
    assert np.array_equal(loaded.decision_function(X), whole.decision_function(X))
    assert whole.explain(X).column_values is not None
    assert loaded.explain(X).column_values is None
    assert "earlier version" in " ".join(loaded.explain(X).notes)


def test_defaults_are_those_of_the_class_and_each_object_has_its_own():
    class Pair(NamedTuple):
        left: int
        right: int = 3

    @dataclass
    class Record:
        names: list = field(default_factory=list)

    assert later_fields(Pair, {"left"}) == {"right": 3}
    with pytest.raises(ValueError, match="a Pair with other fields"):
        later_fields(Pair, {"right"})
    with pytest.raises(ValueError, match="a Pair with other fields"):
        later_fields(Pair, {"left", "middle"})
    first, second = later_fields(Record, set()), later_fields(Record, set())
    assert first == second == {"names": []}
    assert first["names"] is not second["names"]


def test_a_record_has_the_fields_that_it_declares(content, path):
    def one_less(state):
        state.pop("threshold")

    def one_more(state):
        state["predict_read"] = None

    for edit in (one_less, one_more):
        path.write_bytes(content)
        forge(path, lambda file, edit=edit: edit(next(states(file.tree, "learners.TreeHypothesis"))))
        with pytest.raises(ValueError, match="a TreeHypothesis with other fields than"):
            load(path)


@pytest.mark.parametrize("value", [None, 1, "text", [], {"tuple": []}, {"object": "bandits.RoundRobin", "state": {}}])
@pytest.mark.parametrize("name", ["plan", "feature", "threshold"])
def test_a_record_has_fields_of_the_types_that_it_declares(name, value, content, path):
    path.write_bytes(content)
    forge(path, lambda file: next(states(file.tree, "learners.TreeHypothesis")).update({name: value}))
    with pytest.raises(ValueError, match=f"a TreeHypothesis whose {name} is"):
        load(path)


@pytest.mark.parametrize("number", [0, 7])
def test_an_array_of_another_type_is_refused_where_compiled_code_reads_it(number, content, path):
    """Half the precision, or whole numbers for thresholds: the same bytes, read in another way."""
    names = ("<f4", "<i8", "<u8", "<c8", "|S8", "<M8[s]", "<f2", "|b1")

    def cast(file):
        next(states(file.tree, "learners.TreeHypothesis"))["threshold"]["array"][1] = names[number]

    path.write_bytes(content)
    forge(path, cast)
    with pytest.raises(ValueError, match="was not loaded"):
        load(path)


# Sparse matrices


def sparse_node(file, data, indices, indptr, shape, kind="csr_matrix"):
    parts = []
    for array in (data, indices, indptr):
        node = {}
        file.put(node, array)
        parts.append(node)
    return {"sparse": [kind, list(shape), *parts]}


ONES, INDICES, INDPTR = np.ones(3), np.array([0, 1, 2], np.int32), np.array([0, 1, 2, 3], np.int32)
WILD = {
    "a column beyond it": (ONES, np.array([0, 1, 3], np.int32), INDPTR),
    "a column before it": (ONES, np.array([0, 1, -1], np.int32), INDPTR),
    "a huge column": (ONES, np.array([0, 1, 2**31 - 1], np.int32), INDPTR),
    "rows that go back": (ONES, INDICES, np.array([0, 2, 1, 3], np.int32)),
    "rows that overflow": (ONES, INDICES, np.array([0, 2**31 - 1, -5, 3], np.int32)),
    "rows that end late": (ONES, INDICES, np.array([0, 1, 2, 10**6], np.int32)),
    "rows that begin late": (ONES, INDICES, np.array([1, 1, 2, 3], np.int32)),
    "too few rows": (ONES, INDICES, np.array([0, 1, 3], np.int32)),
    "no rows": (ONES, INDICES, np.zeros(0, np.int32)),
    "too few values": (ONES[:2], INDICES, INDPTR),
    "fractions for columns": (ONES, INDICES.astype(float), INDPTR),
    "columns without a sign": (ONES, INDICES.astype(np.uint32), INDPTR),
    "texts for values": (np.array(["a", "b", "c"]), INDICES, INDPTR),
    "a matrix of values": (ONES[:, None], INDICES, INDPTR),
}


@pytest.mark.parametrize("case", WILD)
@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array"])
def test_a_sparse_matrix_with_wild_indices_is_refused(case, kind, content, path):
    file = SavedFile(content)
    file.tree["state"]["zzz_"] = sparse_node(file, *WILD[case], (3, 3), kind)
    path.write_bytes(file.content)
    with pytest.raises(ValueError, match="sparse matrix"):
        load(path)


def test_a_sparse_matrix_that_is_right_is_loaded(content, path):
    file = SavedFile(content)
    file.tree["state"]["zzz_"] = sparse_node(file, ONES, INDICES, INDPTR, (3, 3))
    path.write_bytes(file.content)
    assert (load(path).zzz_ != sparse.csr_matrix(np.eye(3))).nnz == 0


def rebuilt(*values):
    """Write and read values, and return them with the number of bytes of their arrays."""
    writer = Writer()
    tree = writer.write(list(values))
    return Reader(writer.arrays, []).read(tree), len(writer.arrays)


def test_equal_large_arrays_are_written_once():
    first = np.arange(1024.0).reshape(32, 32)
    (one, two), size = rebuilt(first, first.copy())
    assert one is two
    assert size == first.nbytes
    np.testing.assert_array_equal(one, first)
    (one, two), _ = rebuilt(first[:1, :8], first[:1, :8].copy())
    assert one is not two


@pytest.mark.parametrize("kind", ["precision", "order", "sign of zero"])
def test_large_arrays_that_differ_are_written_each(kind):
    first = np.arange(2048.0).reshape(32, 64)
    others = {"precision": first.astype(np.float32), "order": first.copy("F"), "sign of zero": -first * -1.0}
    others["sign of zero"][0, 0] = -0.0
    (one, two), _ = rebuilt(first, others[kind])
    assert one is not two
    assert two.dtype == others[kind].dtype
    assert two.flags.f_contiguous == others[kind].flags.f_contiguous
    assert two.tobytes() == others[kind].tobytes()
