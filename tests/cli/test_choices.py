"""Views, learners, methods and settings as the user chooses them."""

import json
import re

import numpy as np
import pytest

import fuselearn
from fuselearn import ShareBoostClassifier
from fuselearn.cli.choices import LEARNERS, choose_views, find_method, make_estimator, typed_settings
from tests.cli.command_line import run
from tests.cli.patients import N_ROWS, VIEWS, numbers


def test_views_are_guessed_and_the_guess_is_shown(data, tmp_path):
    few = ["--set", "max_fits=6"]
    result = run("fit", data, "--target", "outcome", "--id", "patient", *few, "--output", tmp_path / "model.fuse")
    assert result.exit_code == 0, result.output
    assert "Views, guessed from the columns' prefixes: rna (4), image (3), other (1)" in result.stderr
    assert re.search(r"out-of-fold accuracy 0\.\d+ \(balanced accuracy 0\.\d+, AUC [01]\.\d+\)", result.stdout)
    assert "Saved" in result.stdout
    assert "90 rows, classes of outcome: ill (30), well (60)" in result.stdout


def test_views_file_with_learners_and_preprocessing(table, tmp_path, fit):
    path = tmp_path / "views.toml"
    path.write_text(
        "[views]\n"
        'rna = "rna_*"\n'
        '[views.image]\ncolumns = ["image_0:image_1"]\nlearner = "stump"\npreprocess = "pca:1"\n'
        '[views.place]\ncolumns = ["site", "image_2"]\nlearner = "tree"\npreprocess = ["standard"]\n'
        'categorical = "target"\n'
    )
    model, told = fit("--views", path)
    assert told["views"] == {
        "rna": [f"rna_{number}" for number in range(4)],
        "image": ["image_0", "image_1"],
        "place": ["site", "image_2"],
    }
    assert [type(learner).__name__ for _, learner in model.model_.arms_] == ["GaussianNB", "Stump", "Tree"]
    assert [len(columns) for columns in model.columns_.views_.values()] == [4, 1, 2]
    matrix = model.matrix(table)
    np.testing.assert_allclose(matrix[:, 5:].mean(axis=0), 0, atol=0.05)
    np.testing.assert_array_equal(matrix[:, :4], numbers(table)[:, :4])
    assert list(model.columns_.get_feature_names_out())[4:] == ["image: component_0", "place: site", "place: image_2"]
    voting, _ = fit("--views", path, "--method", "svm_sum")
    names = [type(one).__name__ for one in voting.model_.estimators_]
    assert names == ["Pipeline", "DecisionTreeClassifier", "DecisionTreeClassifier"]


def test_ranges_lists_and_globs():
    columns = ["a", "b", "c", "x_1", "x_2", "y"]
    choices, _ = choose_views(["one=a:c", "two=x_*,y", "three=*"], None, columns, {"target": "the target"})
    assert choices["one"].columns == ["a", "b", "c"]
    assert choices["two"].columns == ["x_1", "x_2", "y"]
    assert choices["three"].columns == columns
    guessed, how = choose_views([], None, ["", "a_1", "a_2", "other_1", "other_2", "z"])
    assert {name: one.columns for name, one in guessed.items()} == {
        "a": ["a_1", "a_2"],
        "other": ["other_1", "other_2", "z"],
    }
    assert "without a name" in how


def test_views_are_guessed_only_where_few_prefixes_cover_the_columns():
    """Names of genes have as many prefixes as families: one view, and how to name others."""
    genes = [f"{family}{number}" for family in ("CCDC", "FAM", "ZNF") for number in range(3)]
    others = [f"{letter}{other}Q" for letter in "ABDEGHI" for other in "KLMN"]
    guessed, how = choose_views([], None, [*genes, *others])
    assert {name: one.columns for name, one in guessed.items()} == {"all": [*genes, *others]}
    assert (
        "prefixes make 3 groups and leave 28 columns alone; name views with --view, such as --view CCDC='CCDC*'" in how
    )
    many = [f"p{number:02d}x_{part}" for number in range(13) for part in "ab"]
    guessed, how = choose_views([], None, many)
    assert list(guessed) == ["all"]
    assert "make 13 groups and leave 0 columns alone" in how
    guessed, how = choose_views([], None, [name for name in many if name < "p12"])
    assert len(guessed) == 12
    assert "guessed" in how


@pytest.mark.long
@pytest.mark.parametrize(
    "method",
    [
        "rshareboost",
        "bssd",
        "iboost",
        "adaboost_vote",
        "svm_vote",
        "svm_concatenated",
        "stacking",
        "super_kernel",
        "mkl",
        "tomographic",
        "augmented",
        "view:rna",
    ],
)
def test_methods(method, table, fit):
    rounds = {
        "adaboost_vote": "estimator__n_estimators=20",
        "rshareboost": "n_estimators=20",
        "bssd": "n_estimators=20",
        "iboost": "n_estimators=20",
    }
    few = ["--set", rounds[method]] if method in rounds else []
    model, told = fit("--method", method, *few)
    assert np.mean(model.predict(table) == np.array(table.column("outcome").to_pylist())) > 0.7
    assert model.predict_proba(table).shape == (N_ROWS, 2)
    assert told["method"] == method
    assert list(told["views"]) == (["rna"] if method == "view:rna" else ["rna", "image", "other"])


def test_settings_have_the_type_of_their_default(fit):
    model, told = fit("--set", "resample=true", "--set", "learning_rate=1", "--set", "estimator=stump", "--jobs", "2")
    settings = model.model_.get_params()
    assert settings["n_estimators"] == 5
    assert settings["resample"] is True
    assert isinstance(settings["learning_rate"], float)
    assert settings["estimator"] == "stump"
    assert settings["n_jobs"] == 2
    assert settings["verbose"] == 0
    assert told["settings"] == ["n_estimators=5", "resample=true", "learning_rate=1", "estimator=stump"]
    estimator = fuselearn.ViewStackingClassifier(ShareBoostClassifier())
    given = ["cv=3", "final_estimator=none", "estimator__learning_rate=0.5", "stack_method=predict"]
    assert typed_settings(estimator, given, "stacking") == {
        "cv": 3,
        "final_estimator": None,
        "estimator__learning_rate": 0.5,
        "stack_method": "predict",
    }


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("max_fits=0", "fuselearn: --set max_fits must be an integer of at least 1; got 0."),
        ("time_limit=-1", "fuselearn: --set time_limit must be a number above 0; got -1."),
        ("learners=nothing", "known are ['svm', 'rbf', 'linear', 'trees', 'boosting']."),
    ],
)
@pytest.mark.parametrize("target", ["outcome", "rna_0"])
def test_refused_settings_are_named_as_they_were_typed(data, tmp_path, setting, message, target):
    usual = ["--target", target, "--id", "patient", "--output", tmp_path / "model.fuse"]
    result = run("fit", data, *usual, "--set", setting)
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("fuselearn: --set ")
    assert message.replace("'svm', ", "" if target == "rna_0" else "'svm', ") in last
    assert "scikit-learn" not in last


@pytest.mark.long
def test_learners_by_name(table, fit):
    kinds = {
        "stump": "DecisionTreeClassifier",
        "tree": "DecisionTreeClassifier",
        "forest": "RandomForestClassifier",
        "extra_trees": "ExtraTreesClassifier",
    }
    for name in LEARNERS:
        settings = [f"estimator={name}"]
        voting = make_estimator(find_method("svm_sum", list(VIEWS)), VIEWS, {}, settings, seed=0, jobs=None)
        assert type(voting.estimator).__name__ == kinds.get(name, "Pipeline")
    model, _ = fit("--method", "svm_sum", "--set", "estimator=tree")
    assert {type(classifier).__name__ for classifier in model.model_.estimators_} == {"DecisionTreeClassifier"}
    model, _ = fit("--set", "estimator=logistic")
    assert model.predict(table).shape == (N_ROWS,)


def test_compare_takes_the_same_views_file(data, tmp_path):
    path = tmp_path / "views.toml"
    path.write_text('[views]\nimage = "image_*"\n[views.rna]\ncolumns = "rna_*"\nlearner = "stump"\n')
    usual = ["--target", "outcome", "--views", path, "--methods", "shareboost", "--runs", "1"]
    result = run("compare", data, *usual)
    assert result.exit_code == 0, result.output
    assert "Views, from the file: image (3), rna (4)" in result.stderr
    assert "those of --views are left out" in result.stderr
    told = json.loads(run("compare", data, *usual, "--json").stdout)
    assert told["rows"]
