"""How large, deep and shared the tree of a model may be, to the last value that is allowed."""

import numpy as np
import pytest

from fuselearn import ShareBoostClassifier
from fuselearn.persistence.object_tree import Reader, Writer


def read(node, arrays=b"", foreign=()):
    return Reader(arrays, list(foreign)).read(node)


def lists(levels, inner=1):
    for _ in range(levels):
        inner = [inner]
    return inner


def tuples(levels, inner=1):
    for _ in range(levels):
        inner = {"tuple": [inner]}
    return inner


def objects(levels, inner=None, first=None):
    """Return objects within objects, with numbers from `first` on."""
    for level in range(levels):
        inner = {"object": "bandits.RoundRobin", "state": {"inner": inner}}
        if first is not None:
            inner["number"] = first + level
    return inner


# Depth


@pytest.mark.parametrize(
    "nested",
    [lists, tuples, objects, lambda levels: objects(levels, first=1), lambda levels: lists(50, tuples(levels - 50))],
    ids=["lists", "tuples", "objects", "numbered", "both"],
)
def test_values_are_200_levels_deep_at_most(nested):
    read(nested(200))
    with pytest.raises(ValueError, match="its tree is more than 200 levels deep"):
        read(nested(201))


def test_an_estimator_counts_40_levels():
    """Its attributes are at the level below it, and 40 further down."""
    node = Writer().write(ShareBoostClassifier())
    node["state"]["remark_"] = tuples(159)
    read(node)
    node["state"]["remark_"] = tuples(160)
    with pytest.raises(ValueError, match="more than 200 levels deep"):
        read(node)


@pytest.mark.parametrize(
    "shared",
    [
        objects(100, first=1),
        {"object": "bandits.RoundRobin", "state": {"a": tuples(99), "b": objects(1, first=1)}, "number": 100},
        {"object": "bandits.RoundRobin", "state": {"a": objects(1, first=1), "b": tuples(99)}, "number": 100},
        {"object": "bandits.RoundRobin", "state": {"a": objects(50, objects(49), first=1)}, "number": 100},
    ],
    ids=["all numbered", "deep before shared", "shared before deep", "half of them numbered"],
)
def test_what_is_referred_to_is_as_deep_as_it_was(shared):
    """The object is 100 levels high: nothing that refers to it may stand below level 100."""
    read([shared, lists(99, {"ref": 100})])
    with pytest.raises(ValueError, match="more than 200 levels deep"):
        read([shared, lists(100, {"ref": 100})])


def test_a_height_is_counted_from_the_object_on():
    """How deep it stands itself, or what came before, does not matter."""
    read([lists(150), lists(90, objects(100, first=1)), lists(99, {"ref": 100})])
    with pytest.raises(ValueError, match="more than 200 levels deep"):
        read([lists(90, objects(100, first=1)), lists(100, {"ref": 100})])


# Repetition


def many_references(n_values, n_references):
    shared = {"object": "bandits.RoundRobin", "state": {"inner": list(range(n_values))}, "number": 1}
    return [shared, *[{"ref": 1}] * n_references]


def test_references_are_counted_as_if_all_were_written_out():
    """Of a list with an object of 1,000 values, n references are 1,003 + n nodes, which stand for 1,003 + 1,002 n.

    100,000 are allowed, and a hundred for each node: that is 220 references.
    """
    read(many_references(1000, 220))
    with pytest.raises(ValueError, match="its tree has parts that refer to each other far too often"):
        read(many_references(1000, 221))


@pytest.mark.parametrize("n_nodes", [0, 3])
def test_the_values_that_a_tree_may_stand_for(n_nodes):
    reader = Reader(b"", [])
    reader._n_nodes = n_nodes
    reader._count(0, 100_000 + 100 * n_nodes)
    with pytest.raises(ValueError, match="far too often"):
        reader._count(0, 1)


# Arrays

BYTES = np.arange(4.0).tobytes()


@pytest.mark.parametrize(
    ("nodes", "values"),
    [
        ([[0, "<f8", [4], "C"]], [[0, 1, 2, 3]]),
        ([[16, "<f8", [2], "C"], [0, "<f8", [2], "C"]], [[2, 3], [0, 1]]),
        ([[0, "<f8", [2, 2], "F"]], [[[0, 2], [1, 3]]]),
        ([[32, "<f8", [0], "C"], [0, "<f8", [0, 5], "C"]], [[], np.zeros((0, 5))]),
    ],
)
def test_arrays_may_take_all_bytes(nodes, values):
    for array, expected in zip(read([{"array": node} for node in nodes], BYTES), values):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    "nodes",
    [
        [[0, "<f8", [5], "C"]],
        [[8, "<f8", [4], "C"]],
        [[1, "<f8", [4], "C"]],
        [[33, "<f8", [0], "C"]],
        [[0, "<f8", [4], "C"], [0, "<f8", [1], "C"]],  # no byte is read twice
        [[0, "<f8", [3], "C"], [0, "<f8", [2], "C"]],
        [[0, "|u1", [32], "C"], [0, "|u1", [1], "C"]],
    ],
)
def test_arrays_may_not_take_more_than_all_bytes(nodes):
    with pytest.raises(ValueError, match="its tree has arrays that are larger than the bytes of the file"):
        read([{"array": node} for node in nodes], BYTES)


def test_empty_texts_are_ten_millions_at_most():
    half = {"array": [0, "<U0", [5_000_000], "C"]}
    assert len(read([half, half])[1]) == 5_000_000
    with pytest.raises(ValueError, match="its tree has arrays of more than 10,000,000 empty texts"):
        read([half, half, {"array": [0, "<U0", [1], "C"]}])


# Ranges and keys


@pytest.mark.parametrize(
    "bounds", [[0, 2_000_000, 1], [5, 2_000_005, 1], [0, 4_000_000, 2], [2_000_000, 0, -1], [-1_000_000, 1_000_000, 1]]
)
def test_ranges_have_two_million_numbers_at_most(bounds):
    assert read({"range": bounds}) == range(*bounds)
    start, stop, step = bounds
    with pytest.raises(ValueError, match="it has ranges of more than 2,000,000 numbers"):
        read({"range": [start, stop + step, step]})
    with pytest.raises(ValueError, match="it has ranges of more than 2,000,000 numbers"):
        read([{"range": bounds}, {"range": [0, 1, 1]}])


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"range": ["0", 9, 1]}, "a range that is not one of three whole numbers"),
        ({"range": [0, 9, 1.0]}, "a range that is not one of three whole numbers"),
        ({"range": [0, True, 1]}, "a range that is not one of three whole numbers"),
        ({"range": [0, 9]}, "not made as"),
        ({"slice": [0, 9, "1"]}, "a slice that is not one of whole numbers"),
        ({"slice": [0, True, None]}, "a slice that is not one of whole numbers"),
        ({"objects": [[2], [1, {"tuple": []}]]}, "an array of something else than numbers and text"),
        ({"bytes": "AA*A=="}, "bytes that are not written as text"),
        ({"scalar": ["<f8", "AAAAAAAAAAA=", 1]}, "not made as"),
        ({"sparse": ["csr_matrix", [1, 1, 1], *[{"array": [0, "<i4", [0], "C"]}] * 3]}, "not made as"),
        ({"ref": True}, "does not come before"),
        ({"foreign": 1}, "a foreign object that is not in the file"),
        ({"foreign": True}, "a foreign object that is not in the file"),
    ],
)
def test_nodes_with_one_wrong_part_are_refused(node, words):
    with pytest.raises(ValueError, match=words):
        read([objects(1, first=1), node], foreign=["the only one"])


def test_whole_numbers_that_are_keys_are_below_2_to_the_60th():
    keys = [2**60 - 1, -(2**60) + 1, 121, True, None, 0.5, "a"]
    assert list(read({"dict": [[key, 0] for key in keys]})) == keys
    for key in (2**60, -(2**60), 2**61):
        with pytest.raises(ValueError, match="a number of 1,152,921,504,606,846,976 or more for a key"):
            read({"dict": [[key, 0]]})
        with pytest.raises(ValueError, match="or more for a key"):
            read({"set": [{"tuple": ["a", key]}]})


def test_scalars_of_numpy_are_keys_but_complex_ones():
    keys = {np.int64(3): 1, np.str_("a"): 2, np.float32(0.5): 3, b"c": 4, (1, (2,)): 5, (): 6}
    assert read(Writer().write(keys)) == keys
    with pytest.raises(ValueError, match="a complex64 for a key"):
        read(Writer().write({np.complex64(1): 1}))


def test_10_000_tuples_may_be_keys():
    nodes = [{"tuple": [number]} for number in range(10_001)]
    assert len(read({"set": nodes[:-1]})) == 10_000
    assert len(read({"set": [*nodes[:-1], {"tuple": []}, "a"]})) == 10_002
    with pytest.raises(ValueError, match="a tuple for a key, or too many of them"):
        read({"set": nodes})
