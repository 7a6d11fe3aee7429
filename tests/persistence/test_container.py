"""Files that are not loaded: of newer versions, changed, or no models at all."""

import json
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import ShareBoostClassifier, load, save
from fuselearn.exceptions import SavedByOtherVersionWarning
from fuselearn.persistence import container, describe
from fuselearn.persistence.container import ARRAYS, FEW_MARKS, MODEL, checksum, pack, unpack
from tests.persistence.saved_models import TWO, X, foreign_states, forge, load_trusted


def test_ranges_and_frozensets_of_a_model_come_back(path):
    model = ShareBoostClassifier(views=[range(3), range(3, 9)], n_estimators=2).fit(X, TWO)
    model.seen_ = frozenset({"a", "b"})
    save(model, path)
    assert load(path).views == [range(3), range(3, 9)]
    assert load(path).seen_ == {"a", "b"}


def test_names_full_of_commas_are_no_bomb(path):
    names = [f"chr1:{number},[{number}],{{{number}}}" for number in range(10_000)]
    frame = pd.DataFrame(np.tile(X[:30], (1, 1112))[:, :10_000], columns=names)
    model = ShareBoostClassifier(views=[slice(0, 5000), slice(5000, None)], n_estimators=1)
    save(model.fit(frame, TWO[:30]), path)
    assert describe(path)["feature_names"] == names
    header = zipfile.ZipFile(path).read("fuselearn.json")
    assert sum(map(header.count, (b"[", b"{", b":", b","))) > FEW_MARKS  # so many are looked at closely


# Versions


def test_a_newer_format_or_version_is_refused_with_what_to_install(saved, path):
    for key, value in (("format", 3), ("fuselearn_version", "99.1.0")):
        save(saved, path)
        forge(path, lambda file, key=key, value=value: file.header.update({key: value}))
        for read in (load, describe):
            with pytest.raises(ValueError, match=r"newer than this one.*install fuselearn>="):
                read(path)


def test_a_file_of_the_first_format_is_refused_with_why(saved, path):
    """It could make the reader call methods of what it described."""
    forge(path, lambda file: file.header.update({"format": 1}))
    for read in (load, describe):
        with pytest.raises(ValueError, match=r"of format 1, which could make the reader run code.*save the model anew"):
            read(path)


ODD_HEADERS = {
    "format": ["1", True, 10**30, None, 0, -1, 2.0],
    "fuselearn_version": [None, 3, "9" * 5000, ["0.1"]],
    "model": [["x"], None, "LogisticRegression", "ViewVotingClassifier"],
    "foreign": [None, "sklearn.svm.SVC", ["sklearn.svm.SVC"], [3], {}],
    "aside": [[[]]],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in ODD_HEADERS.items() for value in values])
def test_a_header_that_does_not_fit_is_refused(key, value, saved, path):
    forge(path, lambda file: file.header.update({key: value}))
    with pytest.raises(ValueError, match="was not loaded") as refused:
        load(path)
    assert len(str(refused.value)) < 600


def test_members_that_save_never_writes_are_refused(saved, path):
    header, members = unpack(path.read_bytes())
    for name in ("0.npy", "schema.json", "../up", "/etc/passwd", "foreign", "MODEL.JSON"):
        path.write_bytes(pack(header, members | {name: b"{}"}))
        with pytest.raises(ValueError, match=r"which fuselearn\.save never writes"):
            load(path)
    for name in (MODEL, ARRAYS):
        path.write_bytes(pack(header, {MODEL: b"{}"} | {key: members[key] for key in members if key != name}))
        with pytest.raises(ValueError, match="was not loaded"):
            load(path)


def test_another_version_of_scikit_learn_is_a_warning(saved, path):
    forge(path, lambda file: file.header["versions"].update({"scikit-learn": "1.2.3"}))
    with pytest.warns(SavedByOtherVersionWarning, match=r"saved with scikit-learn 1\.2\.3"):
        loaded = load(path)
    np.testing.assert_array_equal(saved.decision_function(X), loaded.decision_function(X))


def test_the_versions_of_the_parts_are_not_told_one_by_one(path):
    save(LogisticRegression().fit(X, TWO), path)

    def older(file):
        next(foreign_states(file.schema, "LogisticRegression"))["_sklearn_version"]["content"] = '"1.2.3"'

    forge(path, older)
    load_trusted(path)  # scikit-learn's own warning, an error in these tests, would come once per estimator


# Files that are no models

BAD_FILES = {
    "empty": (b"", "it is empty"),
    "text": (b"id,prediction\n1,2\n", "not a saved model"),
    "pickle": (pickle.dumps([1, 2]), "looks like a pickle"),
    "half a zip": (b"PK\x03\x04" + bytes(40), "cut off or damaged"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_is_no_model_is_refused_in_words(case, path):
    content, words = BAD_FILES[case]
    path.write_bytes(content)
    for read in (load, describe):
        with pytest.raises(ValueError, match=rf"model\.fuse was not .*{words}"):
            read(path)


def test_an_archive_of_something_else_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    with pytest.raises(ValueError, match=r"it has no fuselearn\.json"):
        load(path)


def test_what_cannot_be_opened_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.fuse does not exist"):
        load(tmp_path / "nothing.fuse")
    for read in (load, describe):
        with pytest.raises(IsADirectoryError, match="is a folder"):
            read(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="not a regular file"):
            load(tmp_path / "pipe")


def test_a_changed_file_has_a_wrong_checksum(saved, path):
    header, members = unpack(path.read_bytes())
    before = checksum(header, members)
    assert checksum(header | {"classes": [0, 2]}, members) != before
    assert checksum(header, members | {ARRAYS: members[ARRAYS] + b"0"}) != before
    assert checksum(header, {MODEL: members[ARRAYS], ARRAYS: members[MODEL]}) != before
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fuselearn.json", json.dumps(header | {"classes": [0, 2]}))
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"checksum is wrong.*Nothing of it was run"):
        load(path)


def test_text_may_unpack_to_a_multiple_of_the_file_within_limits():
    assert container._text_allowance(0) == 4 * 2**20
    assert container._text_allowance(2**20) == (4 + 50) * 2**20
    assert container._text_allowance(2**40) == 512 * 2**20
