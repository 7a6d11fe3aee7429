"""The nodes that a writer makes of values, as they stand in a file."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_selector
from sklearn.linear_model import LogisticRegression

from fuselearn.persistence.object_tree import Reader, Writer

C_ORDER = np.arange(6.0).reshape(2, 3)
VALUES = {
    "None": (None, None),
    "a truth value": (True, True),
    "a float": (0.5, 0.5),
    "no number": (float("nan"), {"float": "nan"}),
    "infinity": (float("inf"), {"float": "inf"}),
    "less than all": (float("-inf"), {"float": "-inf"}),
    "a list": ([1, ["a"]], [1, ["a"]]),
    "a tuple": ((1, (2,)), {"tuple": [1, {"tuple": [2]}]}),
    "a dict": ({"a": 1, 2: ()}, {"dict": [["a", 1], [2, {"tuple": []}]]}),
    "a set": ({"b", "a", 3}, {"set": ["a", "b", 3]}),
    "a frozenset": (frozenset({2, 10}), {"frozenset": [10, 2]}),
    "a slice": (slice(None, 3), {"slice": [None, 3, None]}),
    "a range": (range(1, 9, 2), {"range": [1, 9, 2]}),
    "bytes": (b"abc", {"bytes": "YWJj"}),
    "a scalar": (np.float64(1), {"scalar": ["<f8", "AAAAAAAA8D8="]}),
    "a text": (np.str_("a"), {"scalar": ["<U1", "YQAAAA=="]}),
    "no text": (np.str_(""), {"scalar": ["<U0", ""]}),
    "a scalar of many bytes": (np.array(258, ">i2")[()], {"scalar": ["<i2", "AgE="]}),
    "a row": (np.arange(3), {"array": [0, "<i8", [3], "C"]}),
    "rows": (C_ORDER, {"array": [0, "<f8", [2, 3], "C"]}),
    "columns": (np.asfortranarray(C_ORDER), {"array": [0, "<f8", [2, 3], "F"]}),
    "neither": (np.zeros((4, 6))[::2, ::2], {"array": [0, "<f8", [2, 3], "C"]}),
    "objects": (np.array([["a", 1]], dtype=object), {"objects": [[1, 2], ["a", 1]]}),
    "a selector": (make_column_selector("^a"), {"column_selector": ["^a", None, None]}),
    "a selector of kinds": (
        make_column_selector(dtype_include=["float"]),
        {"column_selector": [None, ["float"], None]},
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_as_it_is_written(case):
    value, node = VALUES[case]
    writer = Writer()
    assert writer.write(value) == node
    assert writer.foreign == []


class csr_matrix:
    """Of another package, with the name of one of SciPy's."""


FOREIGN = {
    "an estimator": LogisticRegression(),
    "a matrix by coordinates": sparse.coo_matrix(np.eye(2)),
    "what only has the name of a matrix": csr_matrix(),
    "a selector of types": make_column_selector("a", dtype_include=np.number),
    "a slice of NumPy's numbers": slice(0, np.int64(2)),
    "records": np.zeros(2, dtype="i4,i4"),
    "one record": np.zeros(2, dtype="i4,i4")[0],
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_is_kept_apart(case):
    writer = Writer()
    assert writer.write(["first", FOREIGN[case], {"a": LogisticRegression}], ("model",)) == [
        "first",
        {"foreign": 0},
        {"dict": [["a", {"foreign": 1}]]},
    ]
    assert writer.foreign == [FOREIGN[case], LogisticRegression]
    assert writer.places == [("model", "1"), ("model", "2", "a")]


def test_arrays_begin_at_multiples_of_64_bytes():
    writer = Writer()
    nodes = writer.write([np.arange(3, dtype="i1"), np.arange(64, dtype="i1"), np.arange(65, dtype="i1"), np.zeros(1)])
    assert [node["array"][0] for node in nodes] == [0, 64, 128, 256]
    assert len(writer.arrays) == 264
    assert writer.arrays[:64] == bytes([0, 1, 2]) + bytes(61)


def test_what_is_in_two_places_has_a_number_from_1_on():
    first, second, once = np.zeros(1), np.ones(1), np.ones(2)
    nodes = Writer().write([first, once, second, second, first, first])
    assert [node.get("number") for node in nodes] == [2, None, 1, None, None, None]
    assert nodes[3:] == [{"ref": 1}, {"ref": 2}, {"ref": 2}]


@pytest.mark.parametrize("value", [(1, 2), {"a": 1}, frozenset("a"), b"abc", np.float64(2), slice(3)])
def test_plain_values_in_two_places_are_written_twice(value):
    """A number is only for what others may refer to."""
    first, second = Writer().write([value, value])
    assert first == second
    assert Reader(b"", []).read([first, second]) == [value, value]


def test_what_comes_again_beside_itself_is_no_circle():
    row = [1]
    assert Writer().write([row, row, (row, row)]) == [[1], [1], {"tuple": [[1], [1]]}]
    row.append({"a": (row,)})
    with pytest.raises(ValueError, match=r"model\.0\.1\.a\.0 refers to itself"):
        Writer().write([row], ("model",))


def test_types_of_fuselearn_without_a_public_id_are_refused():
    with pytest.raises(
        ValueError, match=r"model\.0 is a fuselearn\.persistence\.object_tree\.Writer, which has no public"
    ):
        Writer().write([Writer()], ("model",))
    with pytest.raises(ValueError, match=r"it is a fuselearn\.persistence\.object_tree\.Writer"):
        Writer().write(Writer())


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_a_sparse_matrix_is_its_three_arrays(kind):
    matrix = kind(np.array([[0.0, 2, 0], [3, 0, 0]]))
    writer = Writer()
    node = writer.write(matrix)
    name, shape, *parts = node["sparse"]
    assert (name, shape) == (kind.__name__, [2, 3])
    assert [list(part) for part in parts] == [["array"]] * 3
    again = Reader(writer.arrays, []).read(node)
    assert type(again) is kind
    np.testing.assert_array_equal(again.toarray(), matrix.toarray())
