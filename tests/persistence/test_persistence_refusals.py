"""Files that are not loaded: of newer versions, changed, or no models at all."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn import ShareBoostClassifier, ViewVotingClassifier, load, save
from fuselearn.exceptions import SavedByOtherVersionWarning
from fuselearn.persistence import describe
from fuselearn.persistence.container import checksum, pack, unpack

VIEWS = {"a": [0, 1, 2], "b": slice(3, 6), "c": [6, 7, 8]}
X = np.random.default_rng(0).normal(size=(90, 9))
TWO = (X[:, 0] + X[:, 4] + X[:, 8] > 0).astype(int)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fuse"


@pytest.fixture
def saved(path):
    """A small model, and its file."""
    model = ShareBoostClassifier(views=VIEWS, n_estimators=3).fit(X, TWO)
    save(model, path)
    return model


def forge(path, edit):
    """Change a file by a function of its header, tree and members, and make its checksum right again."""
    header, members = unpack(path.read_bytes())
    schema = json.loads(members.pop("schema.json"))
    edit(header, schema, members)
    path.write_bytes(pack(header, {"schema.json": json.dumps(schema).encode(), **members}))


# Trees whose numbers lead astray


def edit_array(members, node, edit):
    array = np.load(io.BytesIO(members[node["file"]])).copy()
    edit(array)
    buffer = io.BytesIO()
    np.save(buffer, array)
    members[node["file"]] = buffer.getvalue()


def trees_in(value, name):
    if isinstance(value, dict):
        if value.get("__class__") == name:
            yield value["content"]["content"]
        for item in value.values():
            yield from trees_in(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from trees_in(item, name)


def put(field, value):
    def edit(array):
        if field is None:
            array[0] = value
        else:
            array[field][0] = value

    return edit


@pytest.mark.parametrize(
    ("classifier", "name", "part", "field", "value"),
    [
        (DecisionTreeClassifier(), "Tree", "nodes", "left_child", 10**6),
        (DecisionTreeClassifier(), "Tree", "nodes", "right_child", 0),
        (RandomForestClassifier(2), "Tree", "nodes", "feature", 3),
        (GradientBoostingClassifier(n_estimators=1), "Tree", "nodes", "feature", -1),
        (HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5), "TreePredictor", "nodes", "left", 10**6),
        (HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5), "TreePredictor", "nodes", "feature_idx", 3),
        ("tree", "TreeHypothesis", "left", None, 0),
        ("tree", "TreeHypothesis", "right", None, 10**6),
        ("tree", "TreeHypothesis", "feature", None, 3),
    ],
)
def test_a_tree_that_leads_out_of_itself_is_refused(classifier, name, part, field, value, path):
    if classifier == "tree":
        model = ShareBoostClassifier("tree", views=VIEWS, n_estimators=1)
    else:
        model = ViewVotingClassifier(classifier, views=VIEWS)
    save(model.fit(X, TWO), path)

    def lead_astray(header, schema, members):
        edit_array(members, next(trees_in(schema, name))[part], put(field, value))

    forge(path, lambda header, schema, members: None)
    load(path)
    forge(path, lead_astray)
    with pytest.raises(ValueError, match="has a tree"):
        load(path)


def test_a_forest_that_hides_how_many_columns_its_trees_read_is_refused(path):
    save(RandomForestClassifier(2).fit(X, TWO), path)

    def fewer_columns(header, schema, members):
        schema["content"]["content"]["n_features_in_"]["content"] = "2"

    forge(path, fewer_columns)
    with pytest.raises(ValueError, match="other columns than the ensemble"):
        load(path)


# Votes for classes, and of columns, that are not there


def scores(part, shape):
    def edit(hypothesis):
        object.__setattr__(hypothesis, part, np.zeros(shape))

    return edit


def codes(value):
    def edit(hypothesis):
        name = "codes" if hasattr(hypothesis, "codes") else "code"
        object.__setattr__(hypothesis, name, np.full_like(getattr(hypothesis, name), value))

    return edit


def wider(hypothesis):
    object.__setattr__(hypothesis.plan, "n_edges", np.zeros(1000, dtype=np.intp))
    object.__setattr__(hypothesis.plan, "edges", np.zeros((1000, 1)))
    object.__setattr__(hypothesis, "feature", np.where(hypothesis.feature >= 0, 999, -1).astype(np.int32))


@pytest.mark.parametrize(
    ("learner", "edit", "words"),
    [
        ("stump", codes(37), "votes for other classes than the 2"),
        ("tree", codes(-1), "votes for other classes than the 2"),
        ("tree", codes(2), "votes for other classes than the 2"),
        (DecisionTreeClassifier(max_depth=1), codes(2), "votes for other classes than the 2"),
        ("stump", wider, "of 1000 columns on a view of 3"),
        ("gaussian_nb", scores("slopes", (3, 3)), r"scores of shape \(3, 3\) for 2 classes and 3 columns"),
        ("gaussian_nb", scores("squares", (1, 2)), "scores of shape"),
        ("linear", scores("constants", (9,)), "scores that are not of 2 classes"),
    ],
)
@pytest.mark.parametrize("preprocess", [None, StandardScaler()])
def test_a_vote_that_would_be_counted_outside_of_the_votes_is_refused(learner, edit, words, preprocess, path):
    model = ShareBoostClassifier(learner, views=VIEWS, preprocess=preprocess, n_estimators=2).fit(X, TWO)
    save(model, path)
    for hypothesis in model.estimators_:
        edit(hypothesis)
    # It is saved only if it can be loaded.
    with pytest.raises(ValueError, match=words):
        save(model, path)
    with pytest.raises(ValueError, match=words):
        save(make_pipeline(model), path)


def test_classes_and_columns_of_an_ensemble_are_those_it_was_fitted_on(saved, path):
    saved.class_prior_ = np.full(5, 0.2)
    with pytest.raises(ValueError, match="another number of classes"):
        save(saved, path)
    saved.class_prior_ = np.full(2, 0.5)
    save(saved, path)
    saved.view_columns_ = [*saved.view_columns_[:2], np.array([6, 7, 9])]
    with pytest.raises(ValueError, match="columns beyond the 9"):
        save(saved, path)


def test_preprocessing_that_takes_no_row_of_ones_still_tells_its_columns(path):
    rows = np.column_stack([np.tile([3.0, 5.0], 45), X[:, 0]])
    encoder = OneHotEncoder(sparse_output=False)
    model = ShareBoostClassifier("stump", views=[[0], [1]], preprocess={"view0": encoder}, n_estimators=3)
    save(model.fit(rows, TWO), path)
    np.testing.assert_array_equal(load(path).predict(rows), model.predict(rows))


def test_ranges_and_frozensets_of_a_model_come_back(path):
    model = ShareBoostClassifier(views=[range(3), range(3, 9)], n_estimators=2).fit(X, TWO)
    model.seen_ = frozenset({"a", "b"})
    save(model, path)
    assert load(path).views == [range(3), range(3, 9)]
    assert load(path).seen_ == {"a", "b"}


def test_names_full_of_commas_are_no_bomb(path):
    names = [f"chr1:{number},[{number}],{{{number}}}" for number in range(20_000)]
    frame = pd.DataFrame(np.tile(X[:30], (1, 2223))[:, :20_000], columns=names)
    model = ShareBoostClassifier(views=[slice(0, 10_000), slice(10_000, None)], n_estimators=1)
    save(model.fit(frame, TWO[:30]), path)
    assert describe(path)["feature_names"] == names


# Versions


def test_a_newer_format_or_version_is_refused_with_what_to_install(saved, path):
    for key, value in (("format", 2), ("fuselearn_version", "99.1.0")):
        save(saved, path)
        forge(path, lambda header, schema, members, key=key, value=value: header.update({key: value}))
        for read in (load, describe):
            with pytest.raises(ValueError, match=r"newer than this one.*install fuselearn>="):
                read(path)


def test_another_version_of_scikit_learn_is_a_warning(saved, path):
    forge(path, lambda header, schema, members: header["versions"].update({"scikit-learn": "1.2.3"}))
    with pytest.warns(SavedByOtherVersionWarning, match=r"saved with scikit-learn 1\.2\.3"):
        loaded = load(path)
    np.testing.assert_array_equal(saved.decision_function(X), loaded.decision_function(X))


def test_the_versions_of_the_parts_are_not_told_one_by_one(path):
    save(LogisticRegression().fit(X, TWO), path)

    def older(header, schema, members):
        schema["content"]["content"]["_sklearn_version"]["content"] = '"1.2.3"'

    forge(path, older)
    load(path)  # scikit-learn's own warning, an error in these tests, would come once per estimator


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
    assert checksum(header, members | {"0.npy": members["1.npy"]}) != before
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fuselearn.json", json.dumps(header | {"classes": [0, 2]}))
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"checksum is wrong.*Nothing of it was run"):
        load(path)
