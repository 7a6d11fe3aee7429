"""Trees, forests and votes of a file whose numbers lead out of them."""

import io

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    FusionClassifier,
    ShareBoostClassifier,
    ViewVotingClassifier,
    load,
    save,
)
from fuselearn.persistence import describe
from tests.persistence.saved_models import TWO, VIEWS, X, foreign_states, forge, load_trusted, states

# Trees whose numbers lead astray


def edit_array(members, node, edit):
    array = np.load(io.BytesIO(members[node["file"]])).copy()
    edit(array)
    buffer = io.BytesIO()
    np.save(buffer, array)
    members[node["file"]] = buffer.getvalue()


def put(field, value):
    def edit(array):
        if field is None:
            array[0] = value
        else:
            array[field][0] = value

    return edit


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("classifier", "name", "part", "field", "value"),
    [
        (DecisionTreeClassifier(), "Tree", "nodes", "left_child", 10**6),
        (DecisionTreeClassifier(), "Tree", "nodes", "right_child", 0),
        (RandomForestClassifier(2), "Tree", "nodes", "feature", 3),
        (GradientBoostingClassifier(n_estimators=1), "Tree", "nodes", "feature", -1),
        (HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5), "TreePredictor", "nodes", "left", 10**6),
        (HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5), "TreePredictor", "nodes", "feature_idx", 3),
        ("tree", "learners.TreeHypothesis", "left", None, 0),
        ("tree", "learners.TreeHypothesis", "right", None, 10**6),
        ("tree", "learners.TreeHypothesis", "feature", None, 3),
    ],
)
def test_a_tree_that_leads_out_of_itself_is_refused(classifier, name, part, field, value, path):
    if classifier == "tree":
        model = ShareBoostClassifier("tree", views=VIEWS, n_estimators=1)
    else:
        model = ViewVotingClassifier(classifier, views=VIEWS)
    save(model.fit(X, TWO), path)

    def lead_astray(file):
        if classifier == "tree":
            node = next(states(file.tree, name))[part]
            array = file.array(node)
            put(field, value)(array)
            file.put(node, array)
        else:
            edit_array(file.members, next(foreign_states(file.schema, name))[part], put(field, value))

    forge(path, lambda file: None)
    load_trusted(path)
    forge(path, lead_astray)
    for trusted in (describe(path)["foreign"], True):
        with pytest.raises(ValueError, match="has a tree"):
            load(path, trusted=trusted)


def test_a_forest_that_hides_how_many_columns_its_trees_read_is_refused(path):
    save(RandomForestClassifier(2).fit(X, TWO), path)

    def fewer_columns(file):
        next(foreign_states(file.schema, "RandomForestClassifier"))["n_features_in_"]["content"] = "2"

    forge(path, fewer_columns)
    with pytest.raises(ValueError, match="other columns than the ensemble"):
        load_trusted(path)


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
    # The rows of a view are as wide as its columns; compiled code would read on.
    object.__setattr__(hypothesis.plan, "n_edges", np.zeros(1000, dtype=np.intp))
    object.__setattr__(hypothesis.plan, "edges", np.zeros((1000, 1)))
    object.__setattr__(hypothesis, "feature", np.where(hypothesis.feature >= 0, 999, -1).astype(np.int32))


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("learner", "edit", "words"),
    [
        ("stump", codes(37), "code of a TreeHypothesis has numbers out of range"),
        ("tree", codes(-1), "code of a TreeHypothesis has numbers out of range"),
        ("tree", codes(2), "code of a TreeHypothesis has numbers out of range"),
        (DecisionTreeClassifier(max_depth=1), codes(2), "codes of a EstimatorHypothesis has numbers out of range"),
        ("gaussian_nb", scores("slopes", (3, 3)), r"slopes of a ScoreHypothesis has the shape \(3, 3\), not \(1, 3\)"),
        ("gaussian_nb", scores("squares", (1, 2)), r"squares of a ScoreHypothesis has the shape \(1, 2\)"),
        ("linear", scores("constants", (9,)), r"has the shape \(1, 3\), not \(9, 3\)"),
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


def test_a_vote_of_columns_that_are_not_there_is_refused(path):
    model = ShareBoostClassifier("stump", views=VIEWS, n_estimators=2).fit(X, TWO)
    for hypothesis in model.estimators_:
        wider(hypothesis)
    with pytest.raises(ValueError, match="Binning of 1000 columns for a view of 3"):
        save(model, path)
    # What a foreign transformer makes of a view is known when there are rows, and looked at then.
    model = ShareBoostClassifier("stump", views=VIEWS, preprocess=StandardScaler(), n_estimators=2).fit(X, TWO)
    for hypothesis in model.estimators_:
        wider(hypothesis)
    save(model, path)
    loaded = load_trusted(path)
    for method in (loaded.predict, loaded.decision_function):
        with pytest.raises(ValueError, match="columns"):
            method(X)


def test_classes_and_columns_of_an_ensemble_are_those_it_was_fitted_on(saved, path):
    saved.class_prior_ = np.full(5, 0.2)
    with pytest.raises(ValueError, match=r"class_prior_ of a ShareBoostClassifier has the shape \(5,\)"):
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
    np.testing.assert_array_equal(load_trusted(path).predict(rows), model.predict(rows))


# Forests whose numbers lead astray


def put_at(place, value):
    def edit(array):
        array[place] = value

    return edit


FORGED_FORESTS = {
    "a circle": ("left", put_at(0, 0)),
    "left child out of it": ("left", put_at(0, 10**6)),
    "right child out of it": ("left", lambda left: put_at(0, len(left) - 1)(left)),
    "before it": ("left", put_at(0, -5)),
    "a column too many": ("feature", put_at(0, 3)),
    "a number that overflows": ("left", lambda left: np.where(np.arange(len(left)) == 0, np.int64(2**63 - 1), left)),
    "root out of it": ("roots", put_at(-1, 10**6)),
    "root before it": ("roots", put_at(0, -1)),
    "roots of another shape": ("roots", lambda roots: roots[:, None]),
    "a last node that is no leaf": ("feature", put_at(-1, 0)),
    "fewer values": ("values", lambda values: values[:-1]),
    "fewer thresholds": ("threshold", lambda threshold: threshold[:-1]),
    "fewer links": ("left", lambda left: left[:-1]),
    "flat values": ("values", lambda values: values[:, 0]),
    "fractions": ("left", lambda left: left.astype(np.float64)),
    "numbers without a sign": ("feature", lambda feature: feature.astype(np.uint32)),
    "no nodes": ("feature", lambda feature: feature[:0]),
}


@pytest.fixture(scope="module")
def forest_file(tmp_path_factory):
    """A model of trees, as a file."""
    path = tmp_path_factory.mktemp("forest") / "model.fuse"
    model = FusionClassifier(views=VIEWS, learners="trees", consensus=False, max_fits=1, random_state=0).fit(X, TWO)
    save(model, path)
    return path.read_bytes()


@pytest.mark.parametrize("case", FORGED_FORESTS)
def test_a_forest_that_leads_out_of_itself_is_refused(case, forest_file, path):
    part, edit = FORGED_FORESTS[case]

    def lead_astray(file):
        node = next(states(file.tree, "numeric.Forest"))[part]
        array = file.array(node)
        made = edit(array)
        file.put(node, array if made is None else made)

    path.write_bytes(forest_file)
    load(path)
    forge(path, lead_astray)
    with pytest.raises(ValueError, match=r"Forest|forest|tree"):
        load(path)


@pytest.mark.parametrize("told", [2, 4, True, 3.0, None, "3"])
def test_a_forest_of_other_columns_than_its_view_is_refused(told, forest_file, path):
    def other_columns(file):
        for forest in states(file.tree, "numeric.Forest"):
            forest["n_columns"] = told

    path.write_bytes(forest_file)
    forge(path, other_columns)
    with pytest.raises(ValueError, match=r"Forest|columns"):
        load(path)
