"""The limits of what is read, to the last one that is allowed."""

import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from fuselearn.persistence import container, object_tree, validation
from fuselearn.persistence.container import ARRAYS, HEADER, MODEL, header_of, unpack


def test_an_archive_may_unpack_to_64_megabytes_and_a_hundred_times_its_size(saved, path):
    header, members = unpack(path.read_bytes())
    for megabytes, refused in ((60, False), (75, True)):
        large = {MODEL: members[MODEL], ARRAYS: bytes(megabytes * 2**20)}
        header["checksum"] = container.checksum(header, large)
        packed = container._packed({HEADER: container._as_text(header), **large}, zipfile.ZIP_DEFLATED)
        assert len(packed) < 100_000
        assert header_of(packed)
        if refused:
            with pytest.raises(ValueError, match="far more than a model of its size"):
                unpack(packed)
        else:
            assert unpack(packed)[1] == large


def test_words_of_an_error_are_cut_off_after_200_characters():
    assert container._shortened(ValueError("a" * 200)) == "a" * 200
    assert container._shortened(ValueError("a" * 201)) == "a" * 200 + "…"


@pytest.mark.parametrize("n_jobs", [None, 1, -1, 1000, -1000])
def test_jobs_that_a_model_may_ask_for(n_jobs):
    validation.check_views(SimpleNamespace(n_jobs=n_jobs))


@pytest.mark.parametrize("n_jobs", [1001, -1001, 1.0, "2"])
def test_jobs_that_a_model_may_not_ask_for(n_jobs):
    with pytest.raises(ValueError, match=r"it has the n_jobs .*; None or a whole number would be right"):
        validation.check_views(SimpleNamespace(n_jobs=n_jobs))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"feature": [4, 2, 9]}, "reads columns beyond the 4"),
        ({"feature": [3, -1, 9]}, "reads columns beyond the 4"),
        ({"left": [3, 3, -1, -1, -1]}, "a node of two parents"),
        ({"left": [0, 3, -1, -1, -1]}, "lead out of it, or in a circle"),
        ({"right": [2, 5, -1, -1, -1]}, "lead out of it, or in a circle"),
    ],
)
def test_children_of_a_tree(changes, message):
    tree = {"left": [1, 3, -1, -1, -1], "right": [2, 4, -1, -1, -1], "feature": [3, 0, 9]} | changes
    tree["feature"] = [*tree["feature"], 9, 9]
    inner = np.array([True, True, False, False, False])
    arrays = (np.array(tree[name]) for name in ("left", "right", "feature"))
    if message is None:
        validation.check_children(inner, *arrays, 4)
    else:
        with pytest.raises(ValueError, match=message):
            validation.check_children(inner, *arrays, 4)


def test_tuples_as_keys_are_counted():
    reader = object_tree.Reader(b"", [])
    reader._n_compound = object_tree.MAX_COMPOUND_KEYS - 1
    reader._key((1, "a"))
    with pytest.raises(ValueError, match="a tuple for a key, or too many of them"):
        reader._key((2, "a"))


def test_values_are_counted_as_if_nothing_were_shared():
    reader = object_tree.Reader(b"", [])
    reader._n_nodes = 3
    reader._n_written_out = object_tree.FEW_NODES + object_tree.MAX_REPETITION * 3 - 1
    reader._count(object_tree.MAX_DEPTH, 1)
    with pytest.raises(ValueError, match="refer to each other far too often"):
        reader._count(0, 1)
    with pytest.raises(ValueError, match="levels deep"):
        object_tree.Reader(b"", [])._count(object_tree.MAX_DEPTH + 1, 0)
