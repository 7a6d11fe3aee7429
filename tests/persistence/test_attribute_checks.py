"""The checks with which `validate` methods are written: what is allowed to the last value, and what is not."""

from types import SimpleNamespace

import numpy as np
import pytest

from fuselearn.persistence.validation import (
    check_array,
    check_children,
    check_classes,
    check_contents,
    check_equal,
    check_index,
    check_indices,
    check_integer,
    check_number,
    check_part,
    check_parts,
    check_texts,
    check_views,
    is_fitted,
)


def owner(value):
    return SimpleNamespace(part=value)


# Arrays


@pytest.mark.parametrize(
    ("array", "kind", "shape", "options"),
    [
        (np.ones(2), np.float64, (2,), {}),
        (np.ones(2), np.floating, (None,), {}),
        (np.zeros((0, 3)), np.float64, (None, 3), {"at_least": 1, "below": 2}),  # no number is out of range
        (np.array([1.0, 3.0]), np.float64, (2,), {"at_least": 1}),
        (np.array([-9.0, 1.5]), np.float64, (2,), {"below": 2}),
        (np.array([1, 2]), np.integer, (2,), {"at_least": 1, "below": 3}),
        (np.array([np.nan, np.inf]), np.float64, (2,), {"finite": False}),
        (np.array(["a"]), np.generic, (1,), {}),
    ],
)
def test_arrays_that_fit_are_returned(array, kind, shape, options):
    assert check_array(owner(array), "part", kind, shape, **options) is array


@pytest.mark.parametrize(
    ("array", "kind", "shape", "options", "words"),
    [
        (None, np.float64, (2,), {}, "part of a SimpleNamespace is not an array but missing"),
        ([1.0, 2.0], np.float64, (2,), {}, "part of a SimpleNamespace is not an array but a list"),
        (np.ma.ones(2), np.float64, (2,), {}, "is not an array but a MaskedArray"),
        (np.ones(2, np.float32), np.float64, (2,), {}, "has numbers of type float32, not float64"),
        (np.ones(2, ">f8"), np.float64, (2,), {}, "has numbers of type >f8, not float64"),
        (np.ones(2), np.float64, (3,), {}, r"has the shape \(2,\), not \(3,\)"),
        (np.ones(2), np.float64, (None, 2), {}, r"has the shape \(2,\), not \(any, 2\)"),
        (np.ones((2, 2)), np.float64, (None,), {}, r"has the shape \(2, 2\), not \(any,\)"),
        (np.ones((2, 2)), np.float64, (3, None), {}, r"has the shape \(2, 2\), not \(3, any\)"),
        (np.array([1, np.nan]), np.float64, (2,), {}, "has NaN or infinity"),
        (np.array([np.inf, 1]), np.float64, (2,), {}, "has NaN or infinity"),
        (np.array([0.5, 3.0]), np.float64, (2,), {"at_least": 1}, "has numbers out of range"),
        (np.array([-9.0, 2.0]), np.float64, (2,), {"below": 2}, "has numbers out of range"),
        (np.array([0, 2]), np.integer, (2,), {"at_least": 1, "below": 3}, "has numbers out of range"),
        (np.array([1, 3]), np.integer, (2,), {"at_least": 1, "below": 3}, "has numbers out of range"),
        (np.array([2, np.nan]), np.float64, (2,), {"at_least": 1, "finite": False}, "has numbers out of range"),
        (np.array([2, np.nan]), np.float64, (2,), {"below": 3, "finite": False}, "has numbers out of range"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(array, kind, shape, options, words):
    with pytest.raises(ValueError, match=words):
        check_array(owner(array), "part", kind, shape, **options)


@pytest.mark.parametrize(("numbers", "right"), [([0, 2], True), ([], True), ([-1, 2], False), ([0, 3], False)])
def test_indices_are_from_0_to_the_last(numbers, right):
    array = np.array(numbers, dtype=np.int64)
    if right:
        check_indices(object(), "rows", array, 3)
    else:
        with pytest.raises(ValueError, match="rows of a object has numbers that are not from 0 to 2"):
            check_indices(object(), "rows", array, 3)


# Numbers


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (3.0, {}),
        (-3.0, {}),
        (np.float64(0.5), {}),
        (1.0, {"least": 1.0}),
        (1.0, {"largest": 1.0}),
        (1.0, {"least": 1.0, "largest": 1.0}),
    ],
)
def test_floats_that_fit_are_returned(number, options):
    returned = check_number(owner(number), "part", **options)
    assert returned == number
    assert type(returned) is float


@pytest.mark.parametrize(
    ("number", "options", "words"),
    [
        (None, {}, "part of a SimpleNamespace is not a float but missing"),
        (1, {}, "is not a float but a int"),
        (True, {}, "is not a float but a bool"),
        (np.float32(1), {}, "is not a float but a float32"),
        (np.nan, {}, "is nan, which is not finite and from -inf to inf"),
        (np.inf, {}, "is inf, which is not finite"),
        (-np.inf, {}, "is -inf, which is not finite"),
        (0.9, {"least": 1.0}, "is 0.9, which is not finite and from 1.0 to inf"),
        (1.1, {"largest": 1.0}, "is 1.1, which is not finite and from -inf to 1.0"),
    ],
)
def test_floats_that_do_not_fit_are_refused(number, options, words):
    with pytest.raises(ValueError, match=words):
        check_number(owner(number), "part", **options)


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (0, {}),
        (10**9, {}),
        (np.int64(3), {}),
        (-2, {"least": -2}),
        (2, {"below": 3}),
        (2, {"least": 2, "below": 3}),
    ],
)
def test_whole_numbers_that_fit_are_returned(number, options):
    returned = check_integer(owner(number), "part", **options)
    assert returned == number
    assert type(returned) is int


@pytest.mark.parametrize(
    ("number", "options", "words"),
    [
        (None, {}, "part of a SimpleNamespace is not a whole number but missing"),
        (1.0, {}, "is not a whole number but a float"),
        (True, {}, "is not a whole number but a bool"),
        (-1, {}, "is -1, which is out of range"),
        (1, {"least": 2}, "is 1, which is out of range"),
        (1, {"least": 2, "below": 9}, "is 1, which is out of range"),
        (3, {"below": 3}, "is 3, which is out of range"),
    ],
)
def test_whole_numbers_that_do_not_fit_are_refused(number, options, words):
    with pytest.raises(ValueError, match=words):
        check_integer(owner(number), "part", **options)


# Parts


@pytest.mark.parametrize(
    ("index", "right"),
    [
        (None, True),
        (np.array([3, 4]), True),
        (np.array([0.5, 1.5]), True),
        (np.array(["a", "b"]), True),
        ([3, 4], False),
        (np.array([3, 4, 5]), False),
        (np.array([[3, 4]]), False),
        (np.array([True, False]), False),
        (np.array(["a", "b"], dtype=object), False),
    ],
)
def test_names_of_rows_are_numbers_or_texts_one_for_each(index, right):
    model = SimpleNamespace(_index=index)
    if right:
        check_index(model, 2)
        check_index(SimpleNamespace(), 2)
    else:
        with pytest.raises(ValueError, match="names of rows that do not fit the rows"):
            check_index(model, 2)


def test_a_part_is_of_exactly_one_type():
    assert check_part(owner((1,)), "part", tuple) == (1,)
    for value, words in ((None, "missing"), ([1], "a list"), (True, "a bool")):
        with pytest.raises(ValueError, match=f"part of a SimpleNamespace is not a int but {words}"):
            check_part(owner(value), "part", int)


def test_parts_are_a_list_of_some_types():
    assert check_parts(owner([1, "a"]), "part", (int, str)) == [1, "a"]
    assert check_parts(owner([1]), "part", (int,)) == [1]
    assert check_parts(owner([]), "part", (int,), least=0) == []
    assert check_parts(owner([1, 2]), "part", (int,), least=2) == [1, 2]
    with pytest.raises(ValueError, match="part of a SimpleNamespace has 0 items, but must have at least 1"):
        check_parts(owner([]), "part", (int,))
    with pytest.raises(ValueError, match="has 2 items, but must have at least 3"):
        check_parts(owner([1, 2]), "part", (int,), least=3)
    with pytest.raises(ValueError, match="has a float, not a int or str"):
        check_parts(owner([1, 2.0]), "part", (int, str))
    with pytest.raises(ValueError, match="is not a list but a tuple"):
        check_parts(owner((1,)), "part", (int,))


def test_numbers_of_all_parts_are_equal():
    for numbers in ([], [2], [2, 2, 2]):
        check_equal(object(), "columns", numbers)
    with pytest.raises(ValueError, match=r"the parts of a object differ in the number of columns: \[2, 3\]"):
        check_equal(object(), "columns", [3, 2, 3])


KINDS = {"count": int, "names": list}


def test_contents_are_returned_in_the_order_asked_for():
    assert check_contents(SimpleNamespace(names=["a"], count=3, more=None), KINDS) == [3, ["a"]]


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ({"count": 3}, "SimpleNamespace lacks names"),
        ({"count": 3.0, "names": []}, "SimpleNamespace has a float as count"),
        ({"count": True, "names": []}, "SimpleNamespace has a bool as count"),
        ({"count": 3, "names": None}, "SimpleNamespace has a NoneType as names"),
    ],
)
def test_contents_that_are_missing_or_of_another_type_are_refused(contents, words):
    with pytest.raises(ValueError, match=words):
        check_contents(SimpleNamespace(**contents), KINDS)


def test_texts_are_a_list_of_texts():
    for texts in ([], ["a", "b"], ("a",)):
        check_texts("names", texts)
    for texts in (None, "ab", {"a"}, [1], ["a", 1], [np.str_("a")]):
        with pytest.raises(ValueError, match="names are not a list of texts"):
            check_texts("names", texts)


def test_one_attribute_of_a_fit_makes_a_fitted_object():
    assert is_fitted(SimpleNamespace(setting=1, classes_=[0, 1]))
    assert not is_fitted(SimpleNamespace(setting=1, _classes=[0, 1]))


# Estimators


def viewed(**changes):
    views = {"n_features_in_": 3, "view_names_": ["a", "b"], "view_columns_": [np.array([0, 2]), np.array([1])]}
    return SimpleNamespace(**(views | changes))


@pytest.mark.parametrize(
    "model",
    [
        SimpleNamespace(),
        SimpleNamespace(view_names_=["a"]),
        viewed(),
        viewed(view_columns_=[np.array([2], np.int32), np.array([0])]),
    ],
)
def test_views_that_fit_pass(model):
    check_views(model)


NUMBER, KIND, BEYOND = "another number of views", "not names and lists of columns", "columns beyond the 3"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_features_in_": None}, "n_features_in_ of a SimpleNamespace is not a whole number"),
        ({"view_names_": ["a"]}, NUMBER),
        ({"view_names_": ("a", "b")}, NUMBER),
        ({"view_columns_": (np.array([0, 2]), np.array([1]))}, NUMBER),
        ({"view_names_": ["a", 1]}, KIND),
        ({"view_columns_": [[0, 2], np.array([1])]}, KIND),
        ({"view_columns_": [np.array([[0, 2]]), np.array([1])]}, KIND),
        ({"view_columns_": [np.array(0), np.array([1])]}, KIND),
        ({"view_columns_": [np.array([0.0, 2.0]), np.array([1])]}, BEYOND),
        ({"view_columns_": [np.array([0, 2], np.uint8), np.array([1])]}, BEYOND),
        ({"view_columns_": [np.array([], np.int64), np.array([1])]}, BEYOND),
        ({"view_columns_": [np.array([-1, 2]), np.array([1])]}, BEYOND),
        ({"view_columns_": [np.array([0, 3]), np.array([1])]}, BEYOND),
        ({"view_columns_": [np.array([0, 2]), np.array([3])]}, BEYOND),
    ],
)
def test_views_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        check_views(viewed(**changes))


def test_classes_are_counted():
    assert check_classes(SimpleNamespace(classes_=np.array(["a", "b"]))) == 2
    assert check_classes(SimpleNamespace(classes_=np.array([1, 2, 5]), class_prior_=np.array([0, 0.5, 0.5]))) == 3
    assert check_classes(SimpleNamespace(classes_=np.arange(100_000))) == 100_000
    with pytest.raises(ValueError, match="it has 100,001 classes; 100,000 are the most"):
        check_classes(SimpleNamespace(classes_=np.arange(100_001)))
    with pytest.raises(ValueError, match="it has 3 classes, some of them twice"):
        check_classes(SimpleNamespace(classes_=np.array([1, 2, 1])))


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (np.array([1.0]), r"class_prior_ of a SimpleNamespace has the shape \(1,\), not \(2,\)"),
        (np.array([1.5, -0.5]), "class_prior_ of a SimpleNamespace has numbers out of range"),
        (np.array([np.nan, 1]), "class_prior_ of a SimpleNamespace has NaN"),
        (None, "class_prior_ of a SimpleNamespace is not an array but missing"),
    ],
)
def test_a_prior_is_one_share_for_each_class(prior, words):
    with pytest.raises(ValueError, match=words):
        check_classes(SimpleNamespace(classes_=np.array([0, 1]), class_prior_=prior))


# Trees


def chain(n_splits):
    """Return the links of a tree with one way down, from which a leaf goes off at every split."""
    n_nodes = 2 * n_splits + 1
    inner = np.arange(n_nodes) < n_splits
    left, right = np.arange(n_nodes) + 1, np.arange(n_nodes) + n_splits + 1
    left[n_splits - 1], right[n_splits - 1] = n_nodes - 2, n_nodes - 1
    right[: n_splits - 1] = n_splits + np.arange(n_splits - 1)
    return inner, left, right, np.zeros(n_nodes, dtype=np.int32), 1


def test_a_tree_has_10_000_levels_at_most():
    check_children(*chain(9_999))
    with pytest.raises(ValueError, match="it has a tree of more than 10,000 levels"):
        check_children(*chain(10_000))


def test_a_tree_of_one_leaf_is_whole():
    none = np.array([-1])
    check_children(np.array([False]), none, none, none, 1)


@pytest.mark.parametrize("inner", [np.zeros(0, dtype=bool), np.zeros((2, 2), dtype=bool)])
def test_a_tree_has_nodes(inner):
    none = np.full(inner.shape, -1)
    with pytest.raises(ValueError, match="it has a tree without nodes"):
        check_children(inner, none, none, none, 1)
