"""``fuselearn fit`` and ``inspect``: what is saved is what the library would fit on the same numbers."""

import gzip
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sklearn.utils.class_weight import compute_sample_weight
from typer.testing import CliRunner

import fuselearn
from fuselearn import FusionClassifier, ShareBoostClassifier
from fuselearn.cli import progress
from fuselearn.cli.app import app
from fuselearn.cli.methods import typed_settings
from fuselearn.cli.views import choose_views
from fuselearn.persistence import describe
from fuselearn.tables.table_classifier import TableClassifier
from fuselearn.tables.view_columns import ViewColumns
from fuselearn.tables.view_preparation import make_steps

N_ROWS = 90


def run(*arguments, **settings):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "80"}, **settings)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = (np.arange(N_ROWS) % 3 == 0).astype(int)
    columns = {"patient": [f"p{number:03d}" for number in range(N_ROWS)]}
    columns |= {f"rna_{number}": rng.normal(size=N_ROWS) + y for number in range(4)}
    columns |= {f"image_{number}": rng.normal(size=N_ROWS) - y for number in range(3)}
    columns["site"] = np.where(rng.uniform(size=N_ROWS) < 0.8, np.array(["north", "south"])[y], "east")
    columns["outcome"] = np.array(["well", "ill"])[y]
    return pa.table(columns)


@pytest.fixture
def data(table, tmp_path):
    csv.write_csv(table, tmp_path / "data.csv")
    return tmp_path / "data.csv"


@pytest.fixture
def fit(data, tmp_path):
    """Fit with some options; the model, and what was told as JSON."""

    def call(*arguments, data=data, output="model.fuse", **settings):
        path = tmp_path / output
        usual = [] if "--method" in arguments else ["--method", "shareboost", "--set", "n_estimators=5"]
        usual += ["--target", "outcome", "--id", "patient", "--output", path, "--force", "--json"]
        result = run("fit", data, *usual, *arguments, **settings)
        assert result.exit_code == 0, result.output
        return fuselearn.load(path), json.loads(result.stdout)

    return call


NUMBERS = ["--view", "rna=rna_*", "--view", "image=image_*"]
VIEWS = {"rna": [0, 1, 2, 3], "image": [4, 5, 6]}


def numbers(table):
    names = [name for name in table.column_names if name.startswith(("rna", "image"))]
    return np.column_stack([table.column(name).to_numpy() for name in names])


def test_model_is_that_of_the_library(table, fit):
    model, told = fit(*NUMBERS, "--seed", "3")
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    expected = ShareBoostClassifier(views=VIEWS, n_estimators=5, random_state=3)
    expected.fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    assert isinstance(model, TableClassifier)
    np.testing.assert_array_equal(model.matrix(table), X)  # numbers stay as they are
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict(table), expected.predict(X))
    np.testing.assert_array_equal(model.decision_function(table), expected.decision_function(X))
    assert told["view_importances"] == pytest.approx(dict(zip(VIEWS, expected.view_importances_)), abs=1e-4)
    assert told["classes"] == {"ill": 30, "well": 60}
    assert told["rows"] == N_ROWS
    assert told["class_weight"] == "balanced"
    assert told["interrupted"] is False


def test_any_data_frame_and_any_order_of_columns(table, fit):
    model, _ = fit()
    expected = model.predict_proba(table)
    shuffled = table.select(sorted(table.column_names))
    for other in (shuffled, table.to_pandas(), pl.from_arrow(table), table.to_pandas().convert_dtypes()):
        np.testing.assert_array_equal(model.predict_proba(other), expected)
    with pytest.raises(TypeError, match="data frame"):
        model.predict(np.zeros((2, 8)))


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "pq", "feather", "arrow", "csv.gz"])
def test_formats_give_the_same_model(table, tmp_path, fit, suffix):
    path = tmp_path / f"other.{suffix}"
    if suffix == "tsv":
        csv.write_csv(table, path, csv.WriteOptions(delimiter="\t"))
    elif suffix == "csv.gz":
        path.write_bytes(gzip.compress((tmp_path / "data.csv").read_bytes()))
    else:
        (feather.write_feather if suffix in ("feather", "arrow") else parquet.write_table)(table, path)
    expected = fit()[0].predict_proba(table)
    np.testing.assert_array_equal(fit(data=path)[0].predict_proba(table), expected)


def test_named_pipes(table, data, tmp_path, fit):
    """Of which nothing is known beforehand, as of `<(command)` of a shell."""
    expected = fit()[0].predict_proba(table)
    parquet.write_table(table, tmp_path / "data.parquet")
    for number, (source, arguments) in enumerate([(data, []), (tmp_path / "data.parquet", ["--format", "parquet"])]):
        pipe = tmp_path / f"pipe{number}"
        os.mkfifo(pipe)
        content = source.read_bytes()
        writer = threading.Thread(target=pipe.write_bytes, args=[content], daemon=True)
        writer.start()
        np.testing.assert_array_equal(fit(*arguments, data=pipe)[0].predict_proba(table), expected)
        writer.join()


def test_standard_input(table, data, tmp_path, fit):
    expected = fit()[0].predict_proba(table)
    np.testing.assert_array_equal(fit(data="-", input=data.read_bytes())[0].predict_proba(table), expected)
    parquet.write_table(table, tmp_path / "data.parquet")
    piped = fit("--format", "parquet", data="-", input=(tmp_path / "data.parquet").read_bytes())[0]
    np.testing.assert_array_equal(piped.predict_proba(table), expected)


def test_other_delimiters_and_encodings(table, data, tmp_path, fit):
    expected = fit()[0].predict_proba(table)
    text = data.read_text().replace("north", "nörd")
    path = tmp_path / "other.csv"
    for encoding in ("latin-1", "utf-16", "utf-8-sig"):
        path.write_bytes(text.replace(",", ";").encode(encoding))
        model, _ = fit("--delimiter", ";", "--encoding", encoding, data=path)
        assert "nörd" in model.columns_.preparations_["other"].encoders_["site"].categories_[0]
        renamed = table.to_pandas().replace("north", "nörd")
        np.testing.assert_allclose(model.predict_proba(renamed), expected)


def test_views_are_guessed_and_the_guess_is_shown(data, tmp_path):
    result = run("fit", data, "--target", "outcome", "--id", "patient", "--output", tmp_path / "model.fuse")
    assert result.exit_code == 0, result.output
    assert "Views, guessed from the columns' prefixes: rna (4), image (3), other (1)" in result.stderr
    assert "balanced accuracy on rows left out" in result.stdout
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


def test_onehot_of_text(table, fit):
    model, _ = fit("--view", "place=site", *NUMBERS)
    sites = np.array(table.column("site").to_pylist())
    np.testing.assert_array_equal(model.matrix(table)[:, :3], sites[:, None] == np.array(["east", "north", "south"]))
    assert list(model.columns_.get_feature_names_out()[:3]) == [
        "place: site=east",
        "place: site=north",
        "place: site=south",
    ]
    other = table.to_pandas().head(3).assign(site=["north", "west", None])
    expected = [[0, 1, 0], [0, 0, 0], [np.nan] * 3]  # one that is not known is none of them; a missing one is missing
    np.testing.assert_array_equal(model.matrix(other)[:, :3], expected)
    assert model.columns_.unknown_categories(other) == {"site": ["west"]}


def test_target_means_are_cross_fitted(table):
    y = np.array(table.column("outcome").to_pylist())
    columns = ViewColumns({"place": ["site"]}, categorical="target", random_state=0)
    training = columns.fit_transform(table, y)
    again = columns.transform(table)
    # A row of the file gets the mean over all rows of its category; one of the training rows, of other rows only.
    assert len(np.unique(again)) == 3
    assert len(np.unique(training)) > 3
    rare = pd.DataFrame({"site": [f"s{number}" for number in range(N_ROWS)]})
    blind = ViewColumns({"place": ["site"]}, categorical="target", random_state=0)
    leaked = blind.fit_transform(rare, y)[:, 0]
    # Categories of one row say nothing: none may have learnt its own label.
    assert np.ptp(leaked) < 0.05
    unknown = blind.transform(pd.DataFrame({"site": ["new"]}))[0, 0]
    assert unknown == pytest.approx(np.mean(y == blind.preparations_["place"].encoders_["site"].classes_[1]))


def test_target_encoding_of_three_classes(table, fit, tmp_path):
    other = table.drop_columns(["outcome"]).append_column("outcome", pa.array(["a", "b", "c"] * (N_ROWS // 3)))
    csv.write_csv(other, tmp_path / "three.csv")
    model, _ = fit("--view", "place=site", *NUMBERS, "--categorical", "target", data=tmp_path / "three.csv")
    assert list(model.columns_.get_feature_names_out()[:3]) == ["place: site~a", "place: site~b", "place: site~c"]
    np.testing.assert_allclose(model.matrix(other)[:, :3].sum(axis=1), 1, atol=0.01)


def test_steps():
    assert [type(step).__name__ for step in make_steps(["none", "robust", "standard"], 0)] == [
        "RobustScaler",
        "StandardScaler",
    ]
    assert make_steps(["pca:3"], 0)[-1].n_components == 3
    assert make_steps(["pca:0.5"], 0)[-1].n_components == 0.5


def test_gaps_and_absent_views(table, tmp_path, fit):
    frame = table.to_pandas()
    frame.loc[:9, ["image_0", "image_1", "image_2"]] = None
    frame.loc[20:25, "rna_1"] = None
    frame.loc[30:32, [*frame.filter(regex="rna|image"), "site"]] = None
    frame.loc[40:44, "outcome"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    model, told = fit(data=tmp_path / "gaps.csv")
    assert told["rows"] == N_ROWS - 8
    assert told["rows_left_out"] == 8
    assert "5 of 90 rows have no 'outcome' and are left out." in told["notes"]
    assert "3 of 85 rows have no value in any view and are left out." in told["notes"]
    matrix = model.matrix(frame)
    assert np.isnan(matrix[:10, 4:7]).all()
    assert np.isnan(matrix[20:26, 1]).all()
    filled, _ = fit("--method", "mkl_uniform", data=tmp_path / "gaps.csv")
    matrix = filled.matrix(frame)
    assert np.isnan(matrix[:10, 4:7]).all()  # a view that is not there is not made up
    used = ~frame.index.isin(range(30, 33)) & frame["outcome"].notna()
    np.testing.assert_allclose(matrix[20:26, 1], frame.loc[used, "rna_1"].mean())


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
    model, told = fit("--method", method)
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


def test_learners_by_name(table, fit):
    model, _ = fit("--method", "svm_sum", "--set", "estimator=extra_trees")
    assert {type(one).__name__ for one in model.model_.estimators_} == {"ExtraTreesClassifier"}
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


def test_class_weights(table, fit):
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    plain, told = fit(*NUMBERS, "--class-weight", "none")
    expected = ShareBoostClassifier(views=VIEWS, n_estimators=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(table), expected.predict_proba(X))
    assert told["class_weight"] == "none"
    _, told = fit(*NUMBERS, "--method", "augmented")
    assert told["class_weight"] == "none"
    assert any("takes no weights" in note for note in told["notes"])
    voting, _ = fit(*NUMBERS, "--method", "svm_sum", "--class-weight", "balanced")
    assert np.mean(voting.predict(table)[y == "ill"] == "ill") > 0.7


def test_labels_that_views_have_of_their_own(table, tmp_path, fit):
    y = np.array(table.column("outcome").to_pylist())
    wrong = y.copy()
    wrong[:10] = np.where(wrong[:10] == "ill", "well", "ill")
    labelled = table.append_column("by_rna", pa.array(y)).append_column("by_image", pa.array(wrong))
    csv.write_csv(labelled, tmp_path / "labels.csv")
    expected = ShareBoostClassifier(views=VIEWS, n_estimators=5, random_state=0)
    expected.fit(numbers(table), y, view_labels=np.column_stack([y, wrong]))
    for option in ("rna=by_rna,image=by_image", "by_rna, by_image", "image=by_image,rna=by_rna"):
        model, told = fit(*NUMBERS, "--label-columns", option, data=tmp_path / "labels.csv")
        np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(numbers(table)))
        assert told["class_weight"] == "none"
    guessed, _ = choose_views([], None, [name for name in labelled.column_names if name not in ("outcome", "patient")])
    assert "by" in guessed  # which a guess would take for a view, did it not know better
    _, told = fit("--label-columns", "by_rna,by_image,by_rna", data=tmp_path / "labels.csv")
    assert list(told["views"]) == ["rna", "image", "other"]


@pytest.mark.parametrize("kind", ["text", "numbers", "categories"])
def test_rows_that_belong_together(table, tmp_path, fit, kind):
    person = np.arange(N_ROWS) // 5
    names = np.array([f"person {number}" for number in person])
    column = {"text": names, "numbers": person, "categories": pa.array(names).dictionary_encode()}[kind]
    grouped = table.append_column("person", pa.array(column) if kind != "categories" else column)
    parquet.write_table(grouped, tmp_path / "grouped.parquet")
    arguments = [*NUMBERS, "--method", "fusion", "--group", "person"]
    model, told = fit(*arguments, data=tmp_path / "grouped.parquet")
    assert told["group"] == "person"
    assert told["views"].keys() == VIEWS.keys()
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    expected = FusionClassifier(views=VIEWS, random_state=0)
    untold = expected.fit(X, y).out_of_sample_score_
    expected.fit(X, y, groups=person)
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(X))
    assert told["out_of_sample_score"] == expected.out_of_sample_score_ != untold


def test_a_group_may_be_the_id(table, tmp_path, fit):
    repeated = table.set_column(0, "patient", pa.array([f"p{number // 4}" for number in range(N_ROWS)]))
    csv.write_csv(repeated, tmp_path / "repeated.csv")
    _, told = fit(*NUMBERS, "--method", "fusion", "--group", "patient", data=tmp_path / "repeated.csv")
    assert (told["id"], told["group"]) == ("patient", "patient")


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["1", "2"], [1, 2]),
        (["01", "02"], ["01", "02"]),
        (["1.0", "2.0"], [1.0, 2.0]),
        (["1.00", "2"], ["1.00", "2"]),
        ([" 1", " 2"], [1, 2]),
        (["True", "False"], [False, True]),
        (["9223372036854775808", "1"], ["1", "9223372036854775808"]),
        (["2020-01-01", "1"], ["1", "2020-01-01"]),
    ],
)
def test_classes_of_csv_stay_as_they_are_spelled(table, tmp_path, fit, values, classes):
    frame = table.to_pandas().astype({"outcome": object})
    frame["outcome"] = [values[number % 2] for number in range(N_ROWS)]
    frame.loc[3, "outcome"] = "NA"
    frame.to_csv(tmp_path / "spelled.csv", index=False)
    model, told = fit(data=tmp_path / "spelled.csv")
    assert model.classes_.tolist() == classes
    assert [type(label) for label in model.classes_.tolist()] == [type(label) for label in classes]
    assert told["rows_left_out"] == 1


def test_label_columns_are_spelled_as_the_target(table, tmp_path, fit):
    frame = table.to_pandas()
    frame["outcome"] = ["01", "2"] * (N_ROWS // 2)
    frame["by_image"] = frame["outcome"]
    frame["by_rna"] = ["2"] * N_ROWS  # alone, it would be read as numbers
    frame.to_csv(tmp_path / "labels.csv", index=False)
    model, _ = fit(*NUMBERS, "--label-columns", "rna=by_rna,image=by_image", data=tmp_path / "labels.csv")
    assert model.classes_.tolist() == ["01", "2"]


@pytest.mark.parametrize(
    ("values", "classes"),
    [([1, 2], [1, 2]), ([True, False], [False, True]), ([2.0, 1.0], [1, 2]), (["01", 'b,"c'], ["01", 'b,"c'])],
)
def test_kinds_of_classes(table, tmp_path, fit, values, classes):
    column = pa.array([values[number % 2] for number in range(N_ROWS)])
    other = table.drop_columns(["outcome"]).append_column("outcome", column)
    parquet.write_table(other, tmp_path / "other.parquet")
    assert fit(data=tmp_path / "other.parquet")[0].classes_.tolist() == classes


def test_arrow_types(table, tmp_path, fit):
    other = table.append_column("rna_whole", pa.array(range(N_ROWS), pa.uint8()))
    other = other.append_column("rna_exact", other.column("rna_whole").cast(pa.decimal128(10, 2)))
    other = other.append_column("rna_flag", pa.array([True, None, False] * 30))
    other = other.append_column("rna_site", table.column("site").dictionary_encode())
    other = other.append_column("rna_never", pa.nulls(N_ROWS))
    parquet.write_table(other, tmp_path / "other.parquet")
    model, _ = fit(data=tmp_path / "other.parquet")
    kinds = model.columns_.kinds_
    names = ("rna_whole", "rna_exact", "rna_flag", "rna_site", "rna_never")
    assert [kinds[name] for name in names] == ["number", "number", "boolean", "text", "number"]
    np.testing.assert_array_equal(model.matrix(other)[:3, 6], [1, np.nan, 0])


def test_numbers_that_look_like_ids_are_mentioned(table, tmp_path, fit):
    csv.write_csv(table.append_column("number", pa.array(range(N_ROWS))), tmp_path / "numbered.csv")
    _, told = fit(data=tmp_path / "numbered.csv")
    assert any("--id number" in note for note in told["notes"])


def interrupting(after):
    """What takes the place of the loop: it ends after some rounds as Ctrl-C would."""

    def boost(rows, one_round, trace, n_rounds, report):
        for _ in range(after):
            trace.rounds.append(one_round(rows, len(trace)))
            report()
        raise KeyboardInterrupt

    return boost


def test_interrupt_keeps_the_model_so_far(fit, table, monkeypatch):
    from fuselearn.boosting import base

    monkeypatch.setattr(base, "boost", interrupting(after=2))
    model, told = fit(*NUMBERS)
    assert told["interrupted"] is True
    assert told["rounds"] == model.model_.n_iter_ == 2
    assert any("Interrupted: the model has the 2 of 5 rounds" in note for note in told["notes"])
    assert len(model.predict(table)) == N_ROWS


def test_interrupt_before_the_first_round_writes_nothing(data, tmp_path, monkeypatch):
    from fuselearn.boosting import base

    monkeypatch.setattr(base, "boost", interrupting(after=0))
    output = tmp_path / "model.fuse"
    result = run("fit", data, "--target", "outcome", "--id", "patient", "--method", "shareboost", "--output", output)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "fuselearn: interrupted; nothing was written."
    assert not output.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_rounds_are_shown_as_they_are_done(table, monkeypatch):
    seen = []

    class Bar:
        def __init__(self, description, total=None):
            assert (description, total) == ("fitting it", 4)

        def __enter__(self):
            return lambda done=None, total=None: seen.append((done, total))

        def __exit__(self, *error):
            return False

    monkeypatch.setattr(progress, "progress_bar", Bar)
    model = ShareBoostClassifier(views=VIEWS, n_estimators=4)
    with progress.rounds_shown(model, "it"):
        model.fit(numbers(table), table.column("outcome").to_pylist())
    assert seen == [(number, 4) for number in range(1, 5)]
    assert model.verbose == 0


def test_existing_models_are_kept_without_force(data, tmp_path, fit):
    fit()
    before = (tmp_path / "model.fuse").read_bytes()
    result = run("fit", data, "--target", "outcome", "--id", "patient", "--output", tmp_path / "model.fuse")
    assert result.exit_code == 1
    assert (tmp_path / "model.fuse").read_bytes() == before


def test_same_seed_same_model(fit, table):
    options = ["--method", "rshareboost", "--set", "n_estimators=8"]
    first = fit(*options, "--seed", "5")[0].predict_proba(table)
    np.testing.assert_array_equal(fit(*options, "--seed", "5", "--jobs", "2")[0].predict_proba(table), first)
    assert not np.array_equal(fit(*options, "--seed", "6")[0].predict_proba(table), first)


def test_file_tells_what_was_read(fit, tmp_path):
    fit("--set", "learning_rate=0.5")
    told = describe(tmp_path / "model.fuse")
    assert told["model"] == "TableClassifier"
    assert told["views"]["image"] == ["image_0", "image_1", "image_2"]
    assert told["classes"] == ["ill", "well"]
    note = told["note"]
    assert (note["target"], note["id"], note["data"], note["rows"]) == ("outcome", "patient", "data.csv", N_ROWS)
    assert note["command"][:5] == ["fuselearn", "fit", "data.csv", "--target", "outcome"]
    assert str(tmp_path) not in json.dumps(note)


def test_noted_command_makes_the_same_model(table, data, tmp_path, fit):
    path = tmp_path / "other.csv"
    path.write_bytes(data.read_text().replace("north", "nörd").replace(",", ";").encode("latin-1"))
    options = ["--categorical", "target", "--delimiter", ";", "--encoding", "latin-1", "--format", "csv"]
    model, _ = fit(*options, "--class-weight", "none", "--seed", "3", data=path)
    command = describe(tmp_path / "model.fuse")["note"]["command"]
    again = tmp_path / "again.fuse"
    result = run(*command[1:2], path, *command[3:-1], again)
    assert result.exit_code == 0, result.output
    renamed = table.to_pandas().replace("north", "nörd")
    np.testing.assert_array_equal(fuselearn.load(again).predict_proba(renamed), model.predict_proba(renamed))


def test_inspect(fit, tmp_path):
    model, _ = fit()
    shown = run("inspect", tmp_path / "model.fuse")
    assert shown.exit_code == 0, shown.output
    for word in ["ShareBoostClassifier, 5 rounds", "90 rows of data.csv", "target outcome, id patient", "ill, well"]:
        assert word in shown.stdout
    assert shown.stdout.index("rna_0") < shown.stdout.index("image_0") < shown.stdout.index("site")
    told = json.loads(run("inspect", tmp_path / "model.fuse", "--json").stdout)
    assert list(told["views"]) == ["rna", "image", "other"]
    assert told["view_importances"] == pytest.approx(dict(zip(model.view_names_, model.view_importances_)), abs=1e-4)
    assert told["settings"]["n_estimators"] == 5
    assert told["note"]["method"] == "shareboost"


def test_inspect_of_a_model_that_a_program_saved(table, tmp_path):
    model = fuselearn.MKLClassifier(views=VIEWS).fit(numbers(table), table.column("outcome").to_pylist())
    fuselearn.save(model, tmp_path / "model.fuse")
    told = json.loads(run("inspect", tmp_path / "model.fuse", "--json").stdout)
    assert told["model"] == "MKLClassifier"
    assert told["views"] == VIEWS
    assert run("inspect", tmp_path / "model.fuse").exit_code == 0


def test_version():
    told = json.loads(run("version", "--json").stdout)
    assert told["fuselearn"] == fuselearn.__version__
    assert told["scikit-learn"]
    assert f"fuselearn {fuselearn.__version__}" in run("version").stdout


def test_help_imports_nothing_slow():
    script = (
        "import sys; from typer.testing import CliRunner; from fuselearn.cli.app import app\n"
        "for name in ['fit', 'predict', 'report', 'compare', 'inspect', 'version']:\n"
        "    assert CliRunner().invoke(app, [name, '--help']).exit_code == 0\n"
        "print(*{'numpy', 'scipy', 'sklearn', 'numba', 'pyarrow', 'pandas', 'narwhals', 'skops'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""
