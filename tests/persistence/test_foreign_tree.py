"""Types of other packages in a saved model: who loads it has to trust them, and is told which."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from fuselearn import ShareBoostClassifier, ViewVotingClassifier, load, save
from fuselearn.exceptions import UntrustedTypeError
from fuselearn.persistence import describe
from fuselearn.persistence.model_types import public_name
from tests.persistence.forged_models import collected, value
from tests.persistence.saved_models import (
    CLASSIFIERS,
    TWO,
    VIEWS,
    SavedFile,
    X,
    dicts_in,
    fitted,
    foreign_states,
    forge,
    load_trusted,
    states,
)


@pytest.fixture
def voting(path):
    """Save votes of support vector machines at `path`, and return the model."""
    model = ViewVotingClassifier(SVC(), views=VIEWS).fit(X, TWO)
    save(model, path)
    return model


def test_a_refusal_names_the_types_and_says_how_to_trust_them_and_what_that_means(path):
    save(fitted("learner per view")[0], path)
    names = [
        "sklearn.decomposition.PCA",
        "sklearn.linear_model.LogisticRegression",
        "sklearn.preprocessing.StandardScaler",
        "sklearn.tree.DecisionTreeClassifier",
    ]
    assert describe(path)["foreign"] == names
    for trusted in ((), [], False, names[:2], ["sklearn.svm.SVC"], "sklearn.decomposition.PCA"):
        with pytest.raises(UntrustedTypeError) as refused:
            load(path, trusted=trusted)
        assert refused.value.names == names
        words = str(refused.value)
        assert words.startswith(f"{path} was not loaded: it holds ")
        assert f"load(path, trusted={names!r})" in words
        assert "some of them can run code" in words
        assert "If you trust whoever made the file" in words
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize(
    "trusted",
    [
        ["sklearn.svm.SVC"],
        ("sklearn.svm.SVC",),
        "sklearn.svm.SVC",
        ["sklearn.svm._classes.SVC"],
        [SVC],
        SVC,
        {SVC, StandardScaler},
        True,
    ],
    # Not `str`: the order of a set differs between the processes of a run, and so would the name of the test.
    ids=["list", "tuple", "text", "full name", "list of types", "type", "set of types", "everything"],
)
def test_a_type_is_trusted_by_its_public_name_its_full_name_or_itself(trusted, voting, path):
    np.testing.assert_array_equal(load(path, trusted=trusted).decision_function(X), voting.decision_function(X))


@pytest.mark.parametrize("trusted", [["SVC"], ["sklearn.svm"], ["sklearn"], ["svm.SVC"], [""], ["sklearn.svm.SVC "]])
def test_part_of_a_name_trusts_nothing(trusted, voting, path):
    with pytest.raises(UntrustedTypeError):
        load(path, trusted=trusted)


def test_a_file_of_our_types_alone_needs_no_trust(saved, path):
    assert describe(path)["foreign"] == []
    np.testing.assert_array_equal(load(path).predict(X), saved.predict(X))
    assert "foreign/" not in SavedFile(path.read_bytes()).members


@pytest.mark.parametrize("number", range(len(CLASSIFIERS)), ids=lambda number: type(CLASSIFIERS[number]).__name__)
@pytest.mark.long
def test_private_parts_come_along_with_public_types(number, path):
    """Who trusts gradient boosting has not to name the tree inside, the loss and its link."""
    save(ViewVotingClassifier(CLASSIFIERS[number], views=VIEWS).fit(X, TWO), path)
    assert not [name for name in describe(path)["foreign"] if "._" in name]
    load(path, trusted=describe(path)["foreign"])
    with pytest.raises(UntrustedTypeError):
        load(path, trusted=["sklearn.decomposition.PCA"])


def test_private_parts_come_along_with_trees(path):
    save(fitted("bag")[0], path)
    assert describe(path)["foreign"] == ["sklearn.tree.DecisionTreeClassifier"]
    schema = SavedFile(path.read_bytes()).schema
    assert "Tree" in {node.get("__class__") for node in dicts_in(schema)}
    load(path, trusted=["sklearn.tree.DecisionTreeClassifier"])


def test_names_of_scikit_learn_are_public_ones_where_there_is_one():
    assert public_name("sklearn.svm._classes.SVC") == "sklearn.svm.SVC"
    assert public_name("sklearn.ensemble._hist_gradient_boosting.binning._BinMapper").endswith("binning._BinMapper")
    assert public_name("someones._models.Louder") == "someones._models.Louder"
    # A name of a file that nobody trusts imports nothing but scikit-learn's own packages.
    before = set(sys.modules)
    assert public_name("sklearn.tests.test_common._x.Thing") == "sklearn.tests.test_common._x.Thing"
    assert public_name("sklearn.no_such._x.Thing") == "sklearn.no_such._x.Thing"
    assert not {name for name in set(sys.modules) - before if "test" in name}


# The header says which


@pytest.mark.parametrize("names", [[], ["sklearn.linear_model.LogisticRegression"], ["sklearn.svm.SVC", "os.system"]])
def test_a_header_that_names_other_types_than_there_are_is_refused(names, voting, path):
    forge(path, lambda file: file.header.update({"foreign": names}))
    for trusted in (["sklearn.svm.SVC"], True):
        with pytest.raises(ValueError, match="header names other foreign types than it holds"):
            load(path, trusted=trusted)


def test_a_type_that_the_header_hides_is_refused(voting, path):
    def hide(file):
        next(foreign_states(file.schema, "SVC"))["verbose"] = {
            "__loader__": "ObjectNode",
            "__module__": "sklearn.pipeline",
            "__class__": "Pipeline",
        }

    forge(path, hide)
    with pytest.raises(ValueError, match="header names other foreign types than it holds"):
        load(path, trusted=["sklearn.svm.SVC"])


def test_a_header_that_names_foreign_types_of_a_file_without_is_refused(saved, path):
    forge(path, lambda file: file.header.update({"foreign": ["sklearn.svm.SVC"]}))
    with pytest.raises(ValueError, match="header names other foreign types than it holds"):
        load(path, trusted=["sklearn.svm.SVC"])


# Our types inside foreign ones are checked as anywhere


def pipeline_state(file):
    return next(foreign_states(file.schema, "ShareBoostClassifier"))


@pytest.mark.parametrize("name", ["predict", "_ensemble", "__class__"])
def test_an_attribute_that_hides_a_method_is_refused_inside_a_pipeline(name, path):
    save(fitted("pipeline")[0], path)

    def hide(file):
        for node in dicts_in(file.schema):
            if node.get("__class__") == "ShareBoostClassifier":
                node["content"]["content"][name] = value("null")
                node["content"]["key_types"]["content"].append(node["content"]["key_types"]["content"][0])

    forge(path, hide)
    with pytest.raises(ValueError, match=f"with the attribute '{name}', which no fit sets"):
        load(path, trusted=True)


def test_our_objects_inside_a_pipeline_are_checked(path):
    save(make_pipeline(StandardScaler(), ShareBoostClassifier("tree", views=VIEWS, n_estimators=2)).fit(X, TWO), path)

    def other_columns(file):
        pipeline_state(file)["n_features_in_"]["content"] = "5"

    load_trusted(path)
    forge(path, other_columns)
    with pytest.raises(ValueError, match="columns beyond the 5"):
        load(path, trusted=True)


# Types of others

FOREIGN = """
from sklearn.naive_bayes import GaussianNB
made = []
class Louder(GaussianNB):
    def __setstate__(self, state):
        made.append(1)
        super().__setstate__(state)
def double(values):
    return 2 * values
"""


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "someones_models.py").write_text(FOREIGN)
    monkeypatch.syspath_prepend(folder)
    import someones_models

    yield someones_models
    del sys.modules["someones_models"]


def test_a_foreign_type_has_to_be_trusted_by_name(foreign, path):
    model = ViewVotingClassifier(foreign.Louder(), views=VIEWS).fit(X, TWO)
    for trusted in ([], ["sklearn.svm.SVC"]):
        with pytest.raises(
            UntrustedTypeError, match=r"someones_models\.Louder, which trusted does not name"
        ) as refused:
            save(model, path, trusted=trusted)
        assert refused.value.names == ["someones_models.Louder"]
        assert not path.exists()
    save(model, path, trusted=["someones_models.Louder"])
    foreign.made.clear()
    with pytest.raises(UntrustedTypeError, match=r"model\.fuse .*someones_models\.Louder.*trusted="):
        load(path)
    assert not foreign.made
    np.testing.assert_array_equal(load(path, trusted=[foreign.Louder]).predict(X), model.predict(X))
    assert foreign.made


def test_nothing_is_imported_for_a_file_that_is_not_trusted(foreign, path):
    save(ViewVotingClassifier(foreign.Louder(), views=VIEWS).fit(X, TWO), path)
    del sys.modules["someones_models"]
    with pytest.raises(UntrustedTypeError):
        load(path)
    assert "someones_models" not in sys.modules
    sys.modules["someones_models"] = foreign


def test_a_type_that_is_not_installed_is_refused_in_words(foreign, path, monkeypatch):
    save(ViewVotingClassifier(foreign.Louder(), views=VIEWS).fit(X, TWO), path)
    monkeypatch.setitem(sys.modules, "someones_models", None)
    with pytest.raises(ValueError, match=r"needs someones_models\.Louder, which cannot be imported here"):
        load(path, trusted=True)


def test_a_trusted_function_is_kept_but_never_called_as_a_type(foreign, path):
    model = make_pipeline(FunctionTransformer(foreign.double), ShareBoostClassifier(n_estimators=2)).fit(X, TWO)
    save(model, path)
    names = describe(path)["foreign"]
    assert "someones_models.double" in names
    assert load(path, trusted=names).predict(X).tolist() == model.predict(X).tolist()

    def call_it(file):
        next(foreign_states(file.schema, "Pipeline"))["memory"] = {
            "__loader__": "ConstructorFromReduceNode",
            "__module__": "someones_models",
            "__class__": "double",
            "content": collected("TupleNode", "tuple", [value("3")]),
        }

    forge(path, call_it)
    with pytest.raises(ValueError, match=r"uses someones_models\.double as a type"):
        load(path, trusted=names)


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_a_search_tree_of_neighbours_is_named_with_its_neighbours(algorithm, path):
    model = ViewVotingClassifier(KNeighborsClassifier(algorithm=algorithm), views=VIEWS).fit(X, TWO)
    save(model, path)
    assert "sklearn.neighbors.KNeighborsClassifier" in describe(path)["foreign"]
    np.testing.assert_array_equal(load_trusted(path).predict(X), model.predict(X))


def test_objects_of_a_file_are_known_by_numbers(voting, path):
    def other_number(file):
        for node in dicts_in(file.tree):
            if "foreign" in node:
                node["foreign"] = 99

    forge(path, other_number)
    with pytest.raises(ValueError, match="a foreign object that is not in the file"):
        load_trusted(path)


def test_a_foreign_object_where_one_of_ours_belongs_is_refused(path):
    save(ShareBoostClassifier(LogisticRegression(), views=VIEWS, n_estimators=2).fit(X, TWO), path)

    def put_elsewhere(file):
        next(states(file.tree, "learners.EstimatorHypothesis"))["plan"] = {"foreign": 0}

    forge(path, put_elsewhere)
    with pytest.raises(ValueError, match="EstimatorHypothesis whose plan is a LogisticRegression"):
        load_trusted(path)
