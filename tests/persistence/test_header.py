"""The header of a file: what it says of a model, and which headers are refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from fuselearn import load
from fuselearn._version import __version__
from fuselearn.exceptions import SavedByOtherVersionWarning
from fuselearn.persistence import container
from fuselearn.persistence.container import check_header, header_for, warn_of_other_versions
from tests.persistence.saved_models import forge

WHOLE = {"format": 2, "fuselearn_version": __version__, "model": "ShareBoostClassifier", "foreign": ["a.B"]}


def test_a_whole_header_passes():
    check_header(WHOLE)
    check_header(dict.fromkeys(container.HEADER_KEYS) | WHOLE | {"foreign": []})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": None}, "its header has the format None; 2 would be right"),
        ({"format": True}, "its header has the format True; 2 would be right"),
        ({"format": "2"}, "its header has the format '2'; 2 would be right"),
        ({"format": 0}, "its header has the format 0; 2 would be right"),
        ({"format": 1}, "it is of format 1, which could make the reader run code"),
        ({"format": 3}, r"\(format 3\), which is newer than this one"),
        ({"fuselearn_version": None}, "does not say which model it is, and which version wrote it"),
        ({"model": None}, "does not say which model it is, and which version wrote it"),
        ({"model": ["ShareBoostClassifier"]}, "does not say which model it is"),
        ({"fuselearn_version": "99.0"}, r"fuselearn 99\.0 \(format 2\), which is newer"),
        ({"foreign": None}, "does not say which foreign types it holds"),
        ({"foreign": "sklearn.svm.SVC"}, "does not say which foreign types it holds"),
        ({"foreign": [3]}, "does not say which foreign types it holds"),
        ({"foreign": ["sklearn.svm.SVC", 3]}, "does not say which foreign types it holds"),
        ({"aside": 1}, "its header has the key 'aside', which fuselearn.save never writes"),
    ],
)
def test_a_header_is_refused_with_what_is_wrong(changes, words):
    with pytest.raises(ValueError, match=words):
        check_header(WHOLE | changes)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1.2.3", (1, 2, 3)),
        ("1.2.3.4", (1, 2, 3)),
        ("1.2", (1, 2, 0)),
        ("7", (7, 0, 0)),
        ("1.2.dev3+gabc.456", (1, 2, 3)),
        ("1+4.5", (1, 0, 0)),
        ("unknown", (0, 0, 0)),
        (None, (0, 0, 0)),
        # More than 40 characters are no version: Python takes a time that grows with the square to read such a number.
        ("3" * 40 + "4", (int("3" * 40), 0, 0)),
        ("9" * 10_000, (int("9" * 40), 0, 0)),
    ],
)
def test_numbers_of_a_version(text, numbers):
    assert container._version_numbers(text) == numbers


# Versions of other packages

HERE = container._installed("scikit-learn")
MAJOR, MINOR, *_ = HERE.split(".")


def test_another_patch_of_scikit_learn_is_no_warning():
    for version in (HERE, f"{MAJOR}.{MINOR}", f"{MAJOR}.{MINOR}.99"):
        warn_of_other_versions("x.fuse", {"versions": {"scikit-learn": version}}, stacklevel=1)


@pytest.mark.parametrize(
    "versions", [None, [HERE], {}, {"scikit-learn": None}, {"scikit-learn": [HERE]}, {"scikit-learn": f"{MAJOR}.99"}]
)
def test_a_version_of_scikit_learn_that_is_another_or_unknown_is_a_warning(versions):
    with pytest.warns(SavedByOtherVersionWarning, match=r"x\.fuse was saved with scikit-learn"):
        warn_of_other_versions("x.fuse", {"versions": versions}, stacklevel=1)


def test_the_warning_points_to_the_line_that_loads(saved, path):
    forge(path, lambda file: file.header["versions"].update({"scikit-learn": "1.2.3"}))
    with pytest.warns(SavedByOtherVersionWarning) as caught:
        load(path)
    assert [warning.filename for warning in caught] == [__file__]


# What it says of a model

FUSING = SimpleNamespace(
    view_names_=["left", "right"],
    view_columns_=[np.array([0, 2]), np.array([1])],
    classes_=np.array(["no", "yes"]),
    n_features_in_=np.int64(3),
)
NAMED = SimpleNamespace(**vars(FUSING), feature_names_in_=np.array(["a", "b", "c"], dtype=object))


def pipeline(*estimators):
    return SimpleNamespace(steps=[(f"step{number}", estimator) for number, estimator in enumerate(estimators)])


@pytest.mark.parametrize(
    "model",
    [
        FUSING,
        pipeline(FUSING),
        pipeline(SimpleNamespace(), SimpleNamespace(), FUSING),  # the last of several
        SimpleNamespace(best_estimator_=FUSING),
        SimpleNamespace(best_estimator_=pipeline(SimpleNamespace(), FUSING)),
    ],
)
def test_views_are_told_of_the_estimator_inside(model):
    header = header_for(model, None)
    assert header["views"] == {"left": [0, 2], "right": [1]}
    assert header["n_features"] == 3
    assert type(header["n_features"]) is int
    assert header["feature_names"] is None
    assert header["note"] is None
    assert header["format"] == 2


def test_columns_with_names_are_told_by_name():
    header = header_for(NAMED, {"id": 7})
    assert header["views"] == {"left": ["a", "c"], "right": ["b"]}
    assert header["feature_names"] == ["a", "b", "c"]
    assert header["note"] == {"id": 7}


@pytest.mark.parametrize(
    "model", [SimpleNamespace(), pipeline(), pipeline(SimpleNamespace()), SimpleNamespace(steps=None)]
)
def test_what_a_model_does_not_have_is_none(model):
    header = header_for(model, None)
    assert [header[key] for key in ("views", "classes", "n_features", "feature_names")] == [None] * 4


@pytest.mark.parametrize("missing", ["view_names_", "view_columns_"])
def test_half_of_the_views_are_none(missing):
    half = SimpleNamespace(**{name: value for name, value in vars(FUSING).items() if name != missing})
    assert header_for(half, None)["views"] is None


@pytest.mark.parametrize(
    ("classes", "told"),
    [
        (np.array([0, 1]), [0, 1]),
        (np.array([False, True]), [False, True]),
        (np.array([0.5, 1.5]), [0.5, 1.5]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([None, "a"], dtype=object), [None, "a"]),
        (np.array([1, 2], dtype="M8[D]"), ["1970-01-02", "1970-01-03"]),
        ([np.array([0, 1]), np.array(["a", "b"])], [[0, 1], ["a", "b"]]),  # of several labels
        ([["x", 1], (0, 2)], [["x", 1], [0, 2]]),
    ],
)
def test_classes_are_told_in_plain_types(classes, told):
    header = header_for(SimpleNamespace(classes_=classes), None)
    assert header["classes"] == told
    assert repr(header["classes"]) == repr(told)


@pytest.mark.parametrize(
    ("note", "error", "words"),
    [
        ([1], TypeError, r"note must be a dict or None; got \[1\]"),
        ("text", TypeError, "note must be a dict or None; got 'text'"),
        ({"a": float("nan")}, ValueError, "note must hold only what JSON can"),
        ({"a": {1}}, ValueError, "note must hold only what JSON can"),
    ],
)
def test_a_note_is_a_dict_that_json_can_hold(note, error, words):
    with pytest.raises(error, match=words):
        header_for(FUSING, note)
