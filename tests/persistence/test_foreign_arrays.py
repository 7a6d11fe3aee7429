"""Bytes of foreign objects that are to be arrays, sparse matrices, or the arguments of a tree."""

import io
import json
import pickle
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from fuselearn.persistence.foreign_checks import _check_search_tree, check_array, check_sparse, check_tree_arguments


def npy(array, version=(1, 0), **options):
    """Return an array as bytes in NumPy's format."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=version, **options)
    return buffer.getvalue()


def declared(shape, descr="<f8", n_bytes=0):
    """Return the header of an array, and so many bytes."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(n_bytes)


# Arrays


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (npy(np.ones(3)), "ndarray"),
        (npy(np.ones((2, 3), np.int8)), "ndarray"),
        (npy(np.ones(3), (2, 0)), "ndarray"),
        (npy(np.zeros((0, 3))), "ndarray"),
        (npy(np.zeros(2, "i4,f8")), "ndarray"),
        (npy(1.5), "ndarray"),
        (npy(1.5), "float64"),
        (npy(np.int32(3)), "int32"),
        (declared((3,), "|V0"), "ndarray"),
        (declared((10_000_000,), "|V0"), "ndarray"),
        (declared((20_000_000,), "|b1", 20_000_000), "ndarray"),
    ],
)
def test_whole_arrays_pass(content, kind):
    check_array(content, kind)


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"", "ndarray", "is not an array"),
        (pickle.dumps(np.ones(3)), "ndarray", "is not an array"),
        (npy(np.ones(3), (3, 0)), "ndarray", "is of a version of NumPy's format that"),
        (b"\x93NUMPY\x01\x00\x20\x00__import__('os').system('true')\n", "ndarray", "has a header that cannot be read"),
        (declared((3,), "|O", 24), "ndarray", "holds Python objects, which only a pickle can hold"),
        (declared((-1,), "<f8"), "ndarray", r"has the shape \(-1,\)"),
        (declared((2, -1), "<f8"), "ndarray", r"has the shape \(2, -1\)"),
        (declared((True,), "<f8", 8), "ndarray", r"has the shape \(True,\)"),
        (declared((3,), "<f8", 23), "ndarray", "declares 24 bytes and has 23"),
        (declared((3,), "<f8", 25), "ndarray", "declares 24 bytes and has 25"),
        (declared((0,), "<f8", 1), "ndarray", "declares 0 bytes and has 1"),
        (declared((3,), "|V0", 1), "ndarray", "declares 0 bytes and has 1"),
        (declared((10_000_001,), "|V0"), "ndarray", "declares 0 bytes and has 0"),
        (npy(np.ones(1)), "float64", r"holds float64 of shape \(1,\), and not one float64"),
        (npy(1.5), "float32", r"holds float64 of shape \(\), and not one float32"),
        (npy(1.5), "matrix", r"holds float64 of shape \(\), and not one matrix"),
    ],
)
def test_what_is_no_whole_array_is_refused(content, kind, words):
    with pytest.raises(ValueError, match=words):
        check_array(content, kind)


# Sparse matrices


def npz(matrix, **changes):
    """Return a sparse matrix as SciPy saves it, with some of its arrays changed, and how many bytes it unpacks to."""
    buffer = io.BytesIO()
    sparse.save_npz(buffer, matrix)
    with zipfile.ZipFile(buffer) as archive:
        arrays = {name: archive.read(name) for name in archive.namelist()}
    for name, array in changes.items():
        if array is None:
            del arrays[f"{name}.npy"]
        else:
            arrays[f"{name}.npy"] = array if isinstance(array, bytes) else npy(array)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in arrays.items():
            archive.writestr(name, content)
    return buffer.getvalue(), sum(map(len, arrays.values()))


WIDE = np.array([[0.0, 0, 0, 2], [3, 0, 0, 0]])


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_matrices_pass_up_to_their_allowance(kind):
    content, size = npz(kind(WIDE))
    check_sparse(content, size)
    with pytest.raises(ValueError, match="unpacks to far more than a model of its size"):
        check_sparse(content, size - 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK", "is not a sparse matrix"),
        (npz(sparse.csr_matrix(WIDE), shape=None)[0], "is not a sparse matrix"),
        (npz(sparse.csr_matrix(WIDE), format=np.array("csr"))[0], "is not a sparse matrix"),
        (npz(sparse.csr_matrix(WIDE), data=b"numbers")[0], "is not an array"),
        (npz(sparse.bsr_matrix(WIDE))[0], "is a sparse matrix of the format 'bsr'; csr and csc can be loaded"),
        (npz(sparse.csr_matrix(WIDE), indices=np.array([4, 0], np.int32))[0], "values outside of it"),
        (npz(sparse.csc_matrix(WIDE), indices=np.array([2, 0], np.int32))[0], "values outside of it"),
        (npz(sparse.csr_matrix(WIDE), shape=np.array([4, 2]))[0], "rows do not follow each other"),
    ],
)
def test_what_is_no_sparse_matrix_is_refused(content, words):
    with pytest.raises(ValueError, match=words):
        check_sparse(content, 10_000)


# Arguments of a tree


def tree_node(n_columns, n_outputs):
    content = [{"content": json.dumps(n_columns)}, {"file": "counts.npy"}, {"content": json.dumps(n_outputs)}]
    return {"__reduce__": {"args": {"content": content}}}


@pytest.mark.parametrize(
    ("n_columns", "n_outputs", "counts"), [(3, 1, [2]), (1, 1, [1]), (1, 2, [1, 5]), (5, 3, [1, 1, 1])]
)
def test_a_tree_is_made_with_numbers_that_agree(n_columns, n_outputs, counts):
    check_tree_arguments(tree_node(n_columns, n_outputs), {"counts.npy": npy(counts)})


NONE, OTHER, NOT_WHOLE = "numbers of columns and outputs are none", "another number of outputs", "is not whole"


@pytest.mark.parametrize(
    ("n_columns", "n_outputs", "counts", "words"),
    [
        (0, 1, [2], NONE),
        (3, 0, [], NONE),
        (3, -1, [2], NONE),
        (True, 1, [2], NONE),
        (3, True, [2], NONE),
        (3.0, 1, [2], NONE),
        ("3", 1, [2], NONE),
        (3, None, [2], NONE),
        (3, 1, [2.0], NONE),
        (3, 1, np.array([2], np.uint8), NONE),
        (3, 1, [2, 2], OTHER),
        (2, 1, [2, 2], OTHER),
        (3, 1, 2, OTHER),
        (3, 1, [[2]], OTHER),
        (3, 1, [0], OTHER),
        (3, 2, [2, 0], OTHER),
        (3, 2, [-1, 2], OTHER),
    ],
)
def test_a_tree_of_numbers_that_do_not_agree_is_refused(n_columns, n_outputs, counts, words):
    with pytest.raises(ValueError, match=words):
        check_tree_arguments(tree_node(n_columns, n_outputs), {"counts.npy": npy(counts)})


class Trap:
    """Unpickles into an error of its own."""

    def __reduce__(self):
        return exec, ("raise SystemError('a pickle was read')",)


@pytest.mark.parametrize(
    ("node", "members"),
    [
        ({}, {}),
        (tree_node(3, 1), {}),
        (tree_node(3, 1), {"counts.npy": b"numbers"}),
        ({"__reduce__": {"args": {"content": [{"content": "1"}]}}}, {}),
        (tree_node(3, 1), {"counts.npy": pickle.dumps(Trap())}),
        (tree_node(3, 1), {"counts.npy": npy(np.array([Trap()]), allow_pickle=True)}),
    ],
)
def test_a_tree_that_is_not_whole_is_refused(node, members):
    """A pickle in the place of the array is not read."""
    with pytest.raises(ValueError, match=NOT_WHOLE):
        check_tree_arguments(node, members)


# Search trees of neighbours

NODE = np.dtype([("idx_start", np.intp), ("idx_end", np.intp), ("is_leaf", np.intp), ("radius", np.float64)])


def search_tree(rows=None, order=None, bounds=None, **fields):
    """Return what a search tree tells of its arrays: 5 rows of 2 columns in 7 nodes, the first three not leaves."""
    nodes = np.zeros(7, NODE)
    nodes["idx_end"] = 5
    nodes["idx_start"][3] = 5  # a leaf may be empty
    nodes["is_leaf"][3:] = 1
    for name, value in fields.items():
        place, number = value
        nodes[name][place] = number
    return arrays_of(
        np.zeros((5, 2)) if rows is None else rows,
        np.array([4, 0, 3, 1, 2]) if order is None else order,
        nodes,
        np.zeros((2, 7, 2)) if bounds is None else bounds,
    )


def arrays_of(*arrays):
    return SimpleNamespace(get_arrays=lambda: arrays)


def test_a_whole_search_tree_passes():
    _check_search_tree(search_tree())
    _check_search_tree(search_tree(bounds=np.zeros((1, 7, 2))))  # a ball tree has centres only


ROWS, RANGE, OUT, BOUNDS = "other rows than it holds", "hold rows out of range", "lead out of it", "other bounds than"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"order": np.arange(4)}, ROWS),
        ({"order": np.arange(5)[:, None]}, ROWS),
        ({"order": np.array([0, 1, 2, 3, -1])}, ROWS),
        ({"order": np.array([0, 1, 2, 3, 5])}, ROWS),
        ({"rows": np.zeros((0, 2)), "order": np.arange(0)}, ROWS),
        ({"idx_start": (2, -1)}, RANGE),
        ({"idx_end": (2, 6)}, RANGE),
        ({"idx_start": (2, 6)}, RANGE),
        ({"idx_start": (6, 3), "idx_end": (6, 2)}, RANGE),
        ({"is_leaf": (3, 0)}, OUT),
        ({"is_leaf": (6, 0)}, OUT),
        ({"bounds": np.zeros((2, 6, 2))}, BOUNDS),
        ({"bounds": np.zeros((2, 7, 3))}, BOUNDS),
        ({"bounds": np.zeros((7, 2))}, BOUNDS),
        ({"bounds": np.zeros((2, 7, 2, 1))}, BOUNDS),
        ({"bounds": np.zeros((2, 7, 5))}, BOUNDS),  # as many as rows
    ],
)
def test_a_search_tree_that_leads_out_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        _check_search_tree(search_tree(**changes))


@pytest.mark.parametrize("n_nodes", [0, 8])
def test_a_search_tree_has_nodes_and_both_children_of_each(n_nodes):
    """Of 8 nodes the fourth has its first child only."""
    nodes = np.zeros(n_nodes, NODE)
    nodes["is_leaf"][4:] = 1
    with pytest.raises(ValueError, match=OUT if n_nodes else RANGE):
        _check_search_tree(arrays_of(np.zeros((5, 2)), np.arange(5), nodes, np.zeros((2, n_nodes, 2))))
