"""Fields of records against the types that their classes declare, and fields that an earlier version lacked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, Union

import numpy as np
import pytest
from numpy.typing import NDArray

from fuselearn.persistence.validation import _is_of, check_fields, check_names, described, later_fields, validate_object

Item = TypeVar("Item")


class Named(Protocol):
    name: str


FLOATS, TRUTH = np.ones(2), np.array([True])
TYPES = {
    "anything": (Any, [None, 1, "a", [1]], []),
    "a type variable": (Item, [None, 1, "a"], []),
    "an object": (object, [None, 1, "a"], []),
    "None": (None, [None], [0, "", False]),
    "the type of None": (type(None), [None], [0, ""]),
    "a float": (float, [1.5, 2, np.float32(1), np.int64(1)], [True, "1", None, [1.0]]),
    "a whole number": (int, [1, np.int8(1)], [True, 1.0, "1", None]),
    "a truth value": (bool, [True, np.bool_(False)], [1, 0.0, None]),
    "a text": (str, ["a", np.str_("a")], [1, None, b"a"]),
    "a class": (SimpleNamespace, [SimpleNamespace()], [1, None, SimpleNamespace]),
    "an optional": (int | None, [1, None], [1.5, "a"]),
    "a union": (Union[int, str], [1, "a"], [1.5, None]),  # noqa: UP007
    "a choice": (Literal["a", 3], ["a", 3], ["b", 4, None]),
    "an array of float64": (NDArray[np.float64], [FLOATS], [FLOATS.astype("f4"), np.ones(2, int), [1.0], 1.0]),
    "an array of int64": (NDArray[np.int64], [np.ones(2, np.int64)], [FLOATS, np.ones(2, np.int32), TRUTH]),
    "an array of floats": (NDArray[np.floating[Any]], [FLOATS, FLOATS.astype("f4")], [np.ones(2, int), TRUTH]),
    "an array": (NDArray[Any], [FLOATS, TRUTH, np.array("a")], [[1.0], None, np.ma.ones(2)]),
    "one type, any number": (tuple[int, ...], [(), (1,), (1, 2, 3)], [[1], (1, "a"), ("a", 1), None]),
    "a tuple of one": (tuple[int], [(1,)], [(), (1, 2), ("a",), [1]]),
    "a tuple of two": (tuple[int, str], [(1, "a")], [(1,), (1, 2), ("a", "a"), (1, "a", 2), [1, "a"]]),
    "a tuple of three": (tuple[int, str, int], [(1, "a", 2)], [(1, "a"), (1, "a", "b")]),
    "a list": (list[int], [[], [1, 2], (1, 2)], [["a"], [1, "a"], ["a", 1], {1}, 1]),
    "a sequence": (Sequence[str], [["a"], ("a", "b")], [["a", 1], "ab", None]),
    "a dict": (dict[str, int], [{}, {"a": 1}], [{"a": "b"}, {1: 1}, {"a": 1, "b": "c"}, {1: "a"}, [("a", 1)]]),
    "a mapping": (Mapping[str, int], [{"a": 1}], [{"a": 1.5}, None]),
    "a function": (Callable[[int], int], [abs, int], [1, "abs"]),
    "any function": (Callable, [abs, int], [1, "abs"]),
    "a protocol": (Named, [1, "what the caller trusts by name"], []),
}


@pytest.mark.parametrize("case", TYPES)
def test_values_are_of_their_declared_types(case):
    hint, right, wrong = TYPES[case]
    assert [value for value in right if not _is_of(value, hint)] == []
    assert [value for value in wrong if _is_of(value, hint)] == []


@dataclass(frozen=True)
class Record:
    count: int
    names: list[str] = field(default_factory=list)
    share: float = 0.5


class Pair(NamedTuple):
    left: int
    right: str = "b"


@dataclass(frozen=True)
class Share:
    value: float

    def validate(self):
        if not 0 <= self.value <= 1:
            raise ValueError("no share")
        if self.value == 0.25:
            raise IndexError("somewhere")


def test_fields_are_looked_at_in_records_of_both_kinds():
    for value in (Record(1, ["a"]), Pair(1), object()):
        check_fields(value)
        validate_object(value)
    with pytest.raises(ValueError, match="it has a Record whose names is a tuple"):
        check_fields(Record(1, (1,)))
    with pytest.raises(ValueError, match=r"it has a Pair whose right is 2\.5"):
        check_fields(Pair(1, 2.5))


def test_the_method_of_a_class_has_the_last_word():
    validate_object(Share(0.5))
    with pytest.raises(ValueError, match="no share"):
        validate_object(Share(2.0))
    with pytest.raises(ValueError, match=r"it has a Share that is not whole \(IndexError: somewhere\)"):
        validate_object(Share(0.25))
    incomplete = object.__new__(Share)
    with pytest.raises(ValueError, match=r"it has a Share that is not whole \(KeyError: 'value'\)"):
        validate_object(incomplete)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None"),
        ("a" * 100, "'" + "a" * 59),
        (1.5, "1.5"),
        (True, "True"),
        (np.ones(2, np.float32), "an array of float32"),
        ([1], "a list"),
        (Share(0.5), "a Share"),
    ],
)
def test_values_are_described_without_being_asked(value, words):
    assert described(value) == words


# Fields that a file lacks


class Estimator:
    def __init__(self, size=3, *, names=()):
        self.size, self.names = size, names

    def get_params(self, deep=True):
        return vars(self)


class Plain:
    limit = 3

    def fit(self):
        pass


@pytest.mark.parametrize(
    ("kind", "names", "later"),
    [
        (Record, {"count"}, {"names": [], "share": 0.5}),
        (Record, {"count", "names"}, {"share": 0.5}),
        (Record, {"count", "names", "share"}, {}),
        (Pair, {"left"}, {"right": "b"}),
        (Pair, {"left", "right"}, {}),
        (Estimator, set(), {"size": 3, "names": ()}),
        (Estimator, {"names", "classes_"}, {"size": 3}),
        (Plain, {"a", "b_"}, {}),
    ],
)
def test_what_a_file_lacks_has_the_default_of_the_class(kind, names, later):
    assert later_fields(kind, names) == later


@pytest.mark.parametrize(
    ("kind", "names", "words"),
    [
        (Record, {"names"}, r"it has a Record with other fields than \['count', 'names', 'share'\]"),
        (Record, {"count", "more"}, "it has a Record with other fields"),
        (Pair, set(), "it has a Pair with other fields"),
        (Estimator, {"get_params"}, "it has a Estimator with the attribute 'get_params', which no fit sets"),
        (Estimator, {"__dict__"}, "with the attribute '__dict__'"),
        (Estimator, {"__other"}, "with the attribute '__other'"),
        (Estimator, {"a b"}, "with the attribute 'a b'"),
        (Plain, {"fit"}, "with the attribute 'fit'"),
        (Plain, {"limit"}, "with the attribute 'limit'"),
    ],
)
def test_other_names_than_those_of_a_class_are_refused(kind, names, words):
    with pytest.raises(ValueError, match=words):
        later_fields(kind, names)


@pytest.mark.parametrize("missing", ["size", "names"])
def test_an_estimator_has_all_its_settings(missing):
    check_names(Estimator, {"size", "names"})
    check_names(Estimator, {"size", "names", "classes_"})
    with pytest.raises(ValueError, match=f"it has a Estimator without its setting {missing}"):
        check_names(Estimator, {"size", "names"} - {missing})
