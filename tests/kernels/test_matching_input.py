"""Labels and known matches of views: what is read from them, and what is refused."""

import numpy as np
import pytest

from fuselearn.kernels import cartesian_correspondence
from fuselearn.kernels.meta_objects import read_matching


def objects_of(matching):
    """The objects of each class in each view."""
    return [[objects.tolist() for objects in of_class.objects] for of_class in matching.objects_of_classes]


def matches_of(labels, known):
    """Rows of each class, by the numbers of the objects in their views."""
    matching = read_matching(labels, [len(column) for column in labels], known, None)
    return [
        sorted(
            tuple(int(objects[x]) if x >= 0 else -1 for x, objects in zip(row, of_class.objects))
            for row in of_class.rows.tolist()
        )
        for of_class in matching.objects_of_classes
    ]


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 0],
        (0, 1, 0),
        np.array([0, 1, 0]),
        np.array([False, True, False]),
        [0.0, 0.5, 0.0],
        ["a", "b", "a"],
        np.array(["a", "b", "a"], dtype=object),
    ],
    ids=repr,
)
def test_one_column_of_labels_is_that_of_all_views(labels):
    matching = read_matching(labels, [3, 3], None, None)
    assert objects_of(matching) == [[[0, 2], [0, 2]], [[1], [1]]]
    assert matching.classes.tolist() == sorted(set(np.asarray(labels).tolist()))


def test_views_of_one_object_each():
    assert objects_of(read_matching([["x"], ["x"]], [1, 1], None, None)) == [[[0], [0]]]
    assert cartesian_correspondence([["x"]], random_state=0)[0].tolist() == [[0]]
    assert cartesian_correspondence((np.zeros(2), np.zeros(1)), random_state=0)[0].tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("labels", "sizes", "message"),
    [
        ([], [2, 2], "labels must hold an array for each of the 2 views; got 0"),
        ([[0, 1]], [2, 2], "labels must hold an array for each of the 2 views; got 1"),
        ([[0, 1], [[0], [1]]], [2, 2], r"labels of the view 'view1' must have shape \(2,\); got shape \(2, 1\)"),
        ([[0], []], [1, 0], "The view 'view1' has no objects"),
        ([["a"], np.array([None], dtype=object)], [1, 1], r"labels of the view 'view1' are of several kinds"),
        ([[0.0, np.inf], [0.0, 1.0]], [2, 2], "labels holds NaN or infinity"),
        ([[0, 1, 1], [0, 1, 2]], [3, 3], "The view 'view0' has no object of the class 2"),
    ],
)
def test_labels_that_are_refused(labels, sizes, message):
    with pytest.raises(ValueError, match=message):
        read_matching(labels, sizes, None, None)


@pytest.mark.parametrize("labels", [3, "ab", [], [1, 2], [[[1]]], np.zeros((2, 3))], ids=repr)
def test_random_pairs_need_the_labels_of_each_view(labels):
    with pytest.raises(ValueError, match="labels must be a list with an array of labels for each view; got"):
        cartesian_correspondence(labels)


@pytest.mark.parametrize(
    ("known", "matches"),
    [
        (None, [[], []]),
        ([], [[], []]),
        ([[-1, -1, -1]], [[], []]),
        ([[0, 0, 0]], [[(0, 0, 0)], []]),  # objects by the least numbers there are
        ([[0, -1, 0]], [[(0, -1, 0)], []]),
        ([[3, 3, 3], [-1, 1, 2]], [[(-1, 1, 2)], [(3, 3, 3)]]),
        ([[3, 2, -1], [1, 0, 2], [-1, 3, 1]], [[(1, 0, 2)], [(-1, 3, 1), (3, 2, -1)]]),
    ],
)
def test_matches_go_to_their_class(known, matches):
    labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]]
    for of_class, matched in enumerate(matches):
        singles = []
        for view, column in enumerate(labels):
            taken = {row[view] for row in matched}
            alone = [number for number in range(4) if column[number] == of_class and number not in taken]
            singles += [tuple(number if v == view else -1 for v in range(3)) for number in alone]
        assert matches_of(labels, known)[of_class] == sorted([*matched, *singles])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ([0, 1], "known must be an integer array"),
        (np.zeros((1, 2, 2), dtype=int), "known must be an integer array"),
        (np.zeros((1, 2)), "known must be an integer array"),
        (np.zeros((2, 3), dtype=int), "known must be an integer array"),
        ([[0, 0], [2, 0], [4, 2]], "known has object 0 of the view 'view1' more than once"),
        ([[0, 0], [0, 2], [4, 4]], "known has object 0 of the view 'view0' more than once"),
        ([[-2, 0]], "known must hold -1 or numbers below 6 for the view 'view0'; got -2"),
        ([[0, 6]], "known must hold -1 or numbers below 6 for the view 'view1'; got 6"),
        ([[0, 1]], r"known puts objects of different classes together: \[0, 1\] are of \[0, 1\]"),
        ([[5, 5], [1, 0]], r"known puts objects of different classes together: \[1, 0\] are of \[0, 1\]"),
    ],
)
def test_matches_that_are_refused(known, message):
    labels = [0, 1] * 3
    with pytest.raises(ValueError, match=message):
        read_matching([labels, labels], [6, 6], known, None)
