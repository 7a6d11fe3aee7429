"""``fuselearn fit``: what is saved is what the library would fit on the same numbers."""

import gzip
import json
import os
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sklearn.utils.class_weight import compute_sample_weight

import fuselearn
from fuselearn import FusionClassifier, ShareBoostClassifier
from fuselearn.cli.choices import choose_views
from fuselearn.persistence import describe
from fuselearn.tables import TableClassifier
from tests.cli.command_line import run
from tests.cli.patients import N_ROWS, NUMBERS, VIEWS, numbers


def test_model_is_that_of_the_library(table, fit):
    model, told = fit(*NUMBERS, "--seed", "3")
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    expected = ShareBoostClassifier(views=VIEWS, n_estimators=5, random_state=3).fit(X, y)
    assert isinstance(model, TableClassifier)
    np.testing.assert_array_equal(model.matrix(table), X)  # numbers stay as they are
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict(table), expected.predict(X))
    np.testing.assert_array_equal(model.decision_function(table), expected.decision_function(X))
    assert told["view_importances"] == pytest.approx(dict(zip(VIEWS, expected.view_importances_)), abs=1e-4)
    assert told["classes"] == {"ill": 30, "well": 60}
    assert told["rows"] == N_ROWS
    assert told["class_weight"] == "none"
    assert told["interrupted"] is False


@pytest.fixture(scope="module")
def expected(table, tmp_path_factory):
    """Return the probabilities of the model that `fit` makes of the table as CSV."""
    folder = tmp_path_factory.mktemp("expected")
    csv.write_csv(table, folder / "data.csv")
    usual = ["--method", "shareboost", "--set", "n_estimators=5", "--target", "outcome", "--id", "patient"]
    assert run("fit", folder / "data.csv", *usual, "--output", folder / "model.fuse").exit_code == 0
    return fuselearn.load(folder / "model.fuse").predict_proba(table)


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "pq", "feather", "arrow", "csv.gz"])
def test_formats_give_the_same_model(table, tmp_path, fit, expected, suffix):
    path = tmp_path / f"other.{suffix}"
    if suffix == "tsv":
        csv.write_csv(table, path, csv.WriteOptions(delimiter="\t"))
    elif suffix == "csv.gz":
        path.write_bytes(gzip.compress((tmp_path / "data.csv").read_bytes()))
    else:
        (feather.write_feather if suffix in ("feather", "arrow") else parquet.write_table)(table, path)
    model, told = fit(data=path)
    assert told["rows"] == N_ROWS, told["notes"]
    np.testing.assert_array_equal(model.predict_proba(table), expected)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes among its files")
def test_named_pipes(table, data, tmp_path, fit, expected):
    """Of which nothing is known beforehand, as of `<(command)` of a shell."""
    parquet.write_table(table, tmp_path / "data.parquet")
    for number, (source, arguments) in enumerate([(data, []), (tmp_path / "data.parquet", ["--format", "parquet"])]):
        pipe = tmp_path / f"pipe{number}"
        os.mkfifo(pipe)
        content = source.read_bytes()
        writer = threading.Thread(target=pipe.write_bytes, args=[content], daemon=True)
        writer.start()
        np.testing.assert_array_equal(fit(*arguments, data=pipe)[0].predict_proba(table), expected)
        writer.join()


def test_standard_input(table, data, tmp_path, fit, expected):
    np.testing.assert_array_equal(fit(data="-", input=data.read_bytes())[0].predict_proba(table), expected)
    parquet.write_table(table, tmp_path / "data.parquet")
    piped = fit("--format", "parquet", data="-", input=(tmp_path / "data.parquet").read_bytes())[0]
    np.testing.assert_array_equal(piped.predict_proba(table), expected)


def test_other_delimiters_and_encodings(table, data, tmp_path, fit, expected):
    text = data.read_text().replace("north", "nörd")
    path = tmp_path / "other.csv"
    for encoding in ("latin-1", "utf-16", "utf-8-sig"):
        path.write_bytes(text.replace(",", ";").encode(encoding))
        model, _ = fit("--delimiter", ";", "--encoding", encoding, data=path)
        assert "nörd" in model.columns_.preparations_["other"].encoders_["site"].categories
        renamed = table.to_pandas().replace("north", "nörd")
        np.testing.assert_allclose(model.predict_proba(renamed), expected)


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


def test_class_weights(table, fit):
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    expected = ShareBoostClassifier(views=VIEWS, n_estimators=5, random_state=0)
    for options in ([], ["--class-weight", "none"]):
        plain, told = fit(*NUMBERS, *options)
        np.testing.assert_array_equal(plain.predict_proba(table), expected.fit(X, y).predict_proba(X))
        assert told["class_weight"] == "none"
    weighted, told = fit(*NUMBERS, "--class-weight", "balanced")
    expected.fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    np.testing.assert_array_equal(weighted.predict_proba(table), expected.predict_proba(X))
    assert told["class_weight"] == "balanced"
    assert any("probabilities are those of equal classes" in note for note in told["notes"])
    voting, _ = fit(*NUMBERS, "--method", "svm_sum", "--class-weight", "balanced")
    assert np.mean(voting.predict(table)[y == "ill"] == "ill") > 0.7


@pytest.mark.parametrize("class_weight", ["none", "balanced"])
def test_class_weights_of_fusion_move_the_decision_only(table, tmp_path, fit, class_weight):
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    few = ["--method", "fusion", "--set", "learners=linear"]
    _, told = fit(*NUMBERS, *few, "--class-weight", class_weight)
    expected = FusionClassifier(views=VIEWS, learners="linear", random_state=0)
    expected.set_params(class_weight=None if class_weight == "none" else class_weight).fit(X, y)
    assert told["class_weight"] == class_weight
    assert told["out_of_sample_metric"] == expected.out_of_sample_metric_
    assert told["out_of_sample_scores"] == expected.out_of_sample_scores_
    assert told["out_of_sample_score"] == expected.out_of_sample_score_
    csv.write_csv(table, tmp_path / "data.csv")
    result = run("predict", tmp_path / "model.fuse", tmp_path / "data.csv", "--output", tmp_path / "predictions.csv")
    assert result.exit_code == 0, result.output
    predicted = csv.read_csv(tmp_path / "predictions.csv")
    probabilities = np.column_stack([predicted.column(f"probability_{label}") for label in ("ill", "well")])
    weights = np.ones(2) if class_weight == "none" else 1 / expected.class_prior_
    most_probable = np.array(["ill", "well"])[(weights * probabilities).argmax(axis=1)]
    np.testing.assert_array_equal(predicted.column("prediction"), most_probable)
    np.testing.assert_allclose(probabilities, expected.predict_proba(X), rtol=1e-6)


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


def test_rows_that_belong_together(table, tmp_path, fit):
    """A model of groups is the library's, whether they are text, numbers or categories."""
    person = np.arange(N_ROWS) // 5
    names = pa.array([f"person {number}" for number in person])
    X, y = numbers(table), np.array(table.column("outcome").to_pylist())
    expected = FusionClassifier(views=VIEWS, max_fits=6, random_state=0)
    without_groups = expected.fit(X, y).out_of_sample_decision_
    expected.fit(X, y, groups=person)
    for column in (names, pa.array(person), names.dictionary_encode()):
        parquet.write_table(table.append_column("person", column), tmp_path / "grouped.parquet")
        arguments = [*NUMBERS, "--method", "fusion", "--set", "max_fits=6", "--group", "person"]
        model, told = fit(*arguments, data=tmp_path / "grouped.parquet")
        assert told["group"] == "person"
        assert told["views"].keys() == VIEWS.keys()
        np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(X))
        assert told["out_of_sample_score"] == expected.out_of_sample_score_
    assert not np.array_equal(expected.out_of_sample_decision_, without_groups)


def test_base_models_that_there_is_no_time_for_are_named(fit):
    _, told = fit(*NUMBERS, "--method", "fusion", "--set", "learners=linear", "--set", "time_limit=1e-9")
    assert any("time_limit=1e-09: there was no time for linear on " in note for note in told["notes"])
    assert told["interrupted"] is True


def test_target_means_are_learnt_of_other_groups(table, tmp_path, fit):
    """Labels that persons have by chance, and a street each: its mean target tells nothing of new persons."""
    person = np.arange(N_ROWS) // 5
    by_chance = np.array(["ill", "well"])[np.random.default_rng(0).integers(0, 2, N_ROWS // 5)][person]
    chance = table.select(["patient", "rna_0"]).append_column("person", pa.array(person))
    chance = chance.append_column("street", pa.array([f"street {number}" for number in person]))
    csv.write_csv(chance.append_column("outcome", pa.array(by_chance)), tmp_path / "chance.csv")
    chosen = ["--view", "place=street", "--view", "rna=rna_0", "--categorical", "target", "--group", "person"]
    _, told = fit(*chosen, "--method", "fusion", "--set", "max_fits=6", data=tmp_path / "chance.csv")
    assert told["out_of_sample_score"] < 0.7
    # Methods that hold no rows out have groups for target means only.
    boosted = [*chosen, "--method", "shareboost", "--set", "n_estimators=3"]
    fit(*boosted, data=tmp_path / "chance.csv")
    with pytest.raises(AssertionError, match="--group: shareboost does not judge by out-of-fold rows"):
        fit(*boosted, "--categorical", "onehot", data=tmp_path / "chance.csv")


def test_groups_that_become_one_are_named(table, tmp_path, fit):
    names = [f"person {number // 5}" for number in range(N_ROWS)]
    arguments = [*NUMBERS, "--method", "fusion", "--set", "max_fits=2", "--group", "person"]
    for name, noted in (("person 0 ", True), ("person", False)):
        grouped = table.append_column("person", pa.array([name, *names[1:]]))
        csv.write_csv(grouped, tmp_path / "grouped.csv")
        _, told = fit(*arguments, data=tmp_path / "grouped.csv")
        note = "has 'person 0 ' beside 'person 0' in the column 'person': they count as one group"
        assert any(note in line for line in told["notes"]) == noted


def test_a_group_may_be_the_id(table, tmp_path, fit):
    repeated = table.set_column(0, "patient", pa.array([f"p{number // 4}" for number in range(N_ROWS)]))
    csv.write_csv(repeated, tmp_path / "repeated.csv")
    _, told = fit(
        *NUMBERS, "--method", "fusion", "--set", "max_fits=6", "--group", "patient", data=tmp_path / "repeated.csv"
    )
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
    model, _ = fit(*options, "--class-weight", "balanced", "--seed", "3", data=path)
    command = describe(tmp_path / "model.fuse")["note"]["command"]
    again = tmp_path / "again.fuse"
    result = run(*command[1:2], path, *command[3:-1], again)
    assert result.exit_code == 0, result.output
    renamed = table.to_pandas().replace("north", "nörd")
    np.testing.assert_array_equal(fuselearn.load(again).predict_proba(renamed), model.predict_proba(renamed))


def test_rows_without_a_class_are_counted_before_one_class_is_refused(tmp_path):
    """NA may be meant as a class, which it is not."""
    (tmp_path / "data.csv").write_text("a,region\n" + "1,NA\n2,EU\n" * 5)
    result = run("fit", tmp_path / "data.csv", "--target", "region", "--output", tmp_path / "model.fuse")
    assert "5 of 10 rows have no 'region' and are left out." in result.stderr
    assert "has one class only in the target 'region', 'EU'" in result.stderr
