"""``fuselearn predict`` and ``report``: any size, any chunk, the model's own numbers."""

import csv as text_csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, ipc, parquet

import fuselearn
from fuselearn import ShareBoostClassifier
from fuselearn.cli.model_columns import ModelColumns
from tests.cli.command_line import run

N_ROWS = 120
CLASSES = ['ill, "very"', "well", "so\nso"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    y = np.arange(N_ROWS) % 3
    columns = {"patient": [f"{number:04d}" for number in range(N_ROWS)]}
    columns |= {f"rna_{number}": rng.normal(size=N_ROWS) + y for number in range(4)}
    columns |= {f"image_{number}": rng.normal(size=N_ROWS) - y for number in range(3)}
    columns["flag_a"] = rng.uniform(size=N_ROWS) < 0.5
    columns["flag_site"] = np.array(["north", "south", "east"])[rng.integers(0, 3, N_ROWS)]
    columns["outcome"] = np.array(CLASSES)[y]
    return pa.table(columns)


@pytest.fixture(scope="module")
def fitted(table, tmp_path_factory):
    """A model file, and the model in it."""
    folder = tmp_path_factory.mktemp("model")
    csv.write_csv(table, folder / "data.csv")
    path = folder / "model.fuse"
    usual = ["--method", "shareboost", "--set", "n_estimators=8", "--target", "outcome", "--id", "patient"]
    result = run("fit", folder / "data.csv", *usual, "--output", path)
    assert result.exit_code == 0, result.output
    return path, fuselearn.load(path)


@pytest.fixture
def predict(fitted, tmp_path):
    """Predict to a file; the table that it holds, and what was told."""

    def call(data, *arguments, output="predictions.parquet", model=fitted[0], **settings):
        path = tmp_path / output
        result = run("predict", model, data, *arguments, "--output", path, "--force", "--json", **settings)
        assert result.exit_code == 0, result.output
        return read(path), json.loads(result.stdout)

    return call


def read(path):
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    if path.suffix == ".feather":
        return feather.read_table(path)
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(text_csv.reader(file, delimiter=delimiter))
    return pa.table(dict(zip(rows[0], map(list, zip(*rows[1:])))))


def write(table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=50)
    elif path.suffix == ".feather":
        with ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=33)
    else:
        csv.write_csv(table, path, csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ","))
    return path


def check(predicted, model, table):
    names = ["patient", "prediction", *(f"probability_{label}" for label in model.classes_)]
    assert predicted.column_names == names
    assert predicted.column("patient").to_pylist() == table.column("patient").to_pylist()
    assert predicted.column("prediction").to_pylist() == model.predict(table).tolist()
    probabilities = np.column_stack([np.array(column.to_pylist(), dtype=float) for column in predicted.columns[2:]])
    np.testing.assert_array_equal(probabilities, model.predict_proba(table))


QUICK_CHUNKS = [("csv", 1), ("csv", 7), ("tsv", 50_000), ("parquet", 7), ("feather", 7), ("feather", 50_000)]
LONG_CHUNKS = {(suffix, rows) for suffix in ("csv", "tsv", "parquet", "feather") for rows in (1, 7, 50_000)}


@pytest.mark.parametrize(
    ("suffix", "rows"),
    [*QUICK_CHUNKS, *(pytest.param(*c, marks=pytest.mark.long) for c in sorted(LONG_CHUNKS - set(QUICK_CHUNKS)))],
)
def test_chunks_do_not_matter(suffix, rows, table, fitted, tmp_path, predict):
    data = write(table, tmp_path / f"data.{suffix}")
    predicted, told = predict(data, "--chunk-rows", rows)
    check(predicted, fitted[1], table)
    assert told["rows"] == N_ROWS
    assert sum(told["predictions"].values()) == N_ROWS
    assert told["notes"] == []


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "feather"])
def test_outputs(suffix, table, fitted, tmp_path, predict):
    """Classes with commas, quotes and line breaks come back as they are."""
    data = write(table, tmp_path / "data.csv")
    check(predict(data, output=f"predictions.{suffix}")[0], fitted[1], table)
    unnamed, _ = predict(
        data,
        "--output-format",
        suffix,
        output="predictions.out.parquet" if suffix == "parquet" else f"predictions.x.{suffix}",
    )
    check(unnamed, fitted[1], table)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_no_more_than_a_chunk_is_worked_on(suffix, table, tmp_path, predict, monkeypatch):
    seen, own = [], ModelColumns.matrix

    def matrix(self, part, first_row):
        seen.append(part.num_rows)
        return own(self, part, first_row)

    monkeypatch.setattr(ModelColumns, "matrix", matrix)
    predict(write(table, tmp_path / f"data.{suffix}"), "--chunk-rows", 25)
    assert max(seen) <= 25
    assert sum(seen) == N_ROWS


def test_csv_is_read_in_blocks(table, fitted, tmp_path, predict, monkeypatch):
    """Types are those of the fit in every block, whatever the first one suggests."""
    from fuselearn.cli import csv_files

    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 4096)
    frame = table.to_pandas()
    frame["rna_0"] = [1] * 60 + [1.5] * 60
    frame["flag_site"] = ["1"] * 60 + ["north"] * 60
    frame.to_csv(tmp_path / "data.csv", index=False)
    predicted, told = predict(tmp_path / "data.csv")
    np.testing.assert_array_equal(predicted.column("prediction").to_pylist(), fitted[1].predict(frame))
    assert told["notes"] == [
        "The column 'flag_site' has values that the model was not fitted on, in 60 of the first 120 rows, such as '1': "
        "they count as none of the known ones."
    ]


def test_standard_input_and_output(table, fitted, tmp_path):
    data = write(table, tmp_path / "data.csv").read_bytes()
    piped = run("predict", fitted[0], "-", input=data)
    assert piped.exit_code == 0, piped.output
    rows = list(text_csv.reader(io.StringIO(piped.stdout, newline="")))
    assert [row[1] for row in rows[1:]] == fitted[1].predict(table).tolist()
    parquet.write_table(table, tmp_path / "data.parquet")
    binary = run(
        "predict",
        fitted[0],
        "-",
        "--format",
        "parquet",
        "--output-format",
        "feather",
        input=(tmp_path / "data.parquet").read_bytes(),
    )
    assert binary.exit_code == 0
    check(feather.read_table(pa.BufferReader(binary.stdout_bytes)), fitted[1], table)


def test_view_that_the_file_lacks_is_missing(table, fitted, tmp_path, predict):
    part = table.drop_columns(["image_0", "image_1", "image_2", "outcome"])
    for suffix in ("csv", "parquet"):
        predicted, told = predict(write(part, tmp_path / f"data.{suffix}"), "--chunk-rows", 10)
        check(predicted, fitted[1], part)
        (note,) = told["notes"]
        assert "no column of the view 'image'" in note
    assert np.isnan(fitted[1].matrix(part)[:, 4:7]).all()
    shown = run("predict", fitted[0], tmp_path / "data.csv", "--chunk-rows", "10", "--output", tmp_path / "p.csv")
    assert shown.stderr.count("'image'") == 1
    assert f"{N_ROWS} predictions" in shown.stdout


def test_single_columns_may_be_allowed_to_miss(table, fitted, tmp_path, predict):
    data = write(table.drop_columns(["rna_1"]), tmp_path / "data.csv")
    predicted, told = predict(data, "--allow-missing-columns")
    missing = table.set_column(2, "rna_1", pa.nulls(N_ROWS, pa.float64()))
    check(predicted, fitted[1], missing)
    assert "lacks 1 column of the view 'rna': it is taken as missing" in told["notes"][0]
    with pytest.raises(ValueError, match="The view 'rna' lacks the column 'rna_1'"):
        fitted[1].predict(table.drop_columns(["rna_1"]))


def test_order_and_further_columns_do_not_matter(table, fitted, tmp_path, predict):
    other = table.select(sorted(table.column_names)).append_column("a date", pa.array(["2020-01-01"] * N_ROWS))
    check(predict(write(other, tmp_path / "data.csv"))[0], fitted[1], table)


def test_gaps(table, fitted, tmp_path, predict):
    frame = table.to_pandas()
    frame.loc[:20, "rna_0"] = None
    frame.loc[10:30, "flag_site"] = None
    frame.loc[15:50, ["image_0", "image_1", "image_2"]] = None
    frame["flag_a"] = frame["flag_a"].astype("boolean")
    frame.loc[60, frame.columns[1:-1]] = None
    frame.to_csv(tmp_path / "data.csv", index=False)
    predicted, _ = predict(tmp_path / "data.csv")
    np.testing.assert_array_equal(predicted.column("prediction").to_pylist(), fitted[1].predict(frame))


def test_other_types_of_the_same_values(table, fitted, tmp_path, predict):
    other = table.set_column(1, "rna_0", table.column("rna_0").cast(pa.float32()))
    place = other.column_names.index("flag_site")
    other = other.set_column(place, "flag_site", other.column("flag_site").dictionary_encode())
    place = other.column_names.index("flag_a")
    other = other.set_column(place, "flag_a", other.column("flag_a").cast(pa.int8()))
    predicted, _ = predict(write(other, tmp_path / "data.parquet"))
    assert predicted.column("prediction").to_pylist() == fitted[1].predict(other).tolist()


def test_ids(table, tmp_path, predict):
    data = write(table.append_column("number", pa.array(range(N_ROWS))), tmp_path / "data.parquet")
    assert predict(data)[0].column_names[0] == "patient"
    predicted, _ = predict(data, "--id", "number")
    assert predicted.column("number").to_pylist() == list(range(N_ROWS))
    assert predict(write(table, tmp_path / "data.csv"))[0].column("patient")[7].as_py() == "0007"
    predicted, told = predict(write(table.drop_columns(["patient"]), tmp_path / "data.csv"))
    assert predicted.column_names[0] == "prediction"
    assert "no column 'patient'" in told["notes"][0]


def test_id_may_be_a_column_of_the_model(table, fitted, tmp_path, predict):
    predicted, _ = predict(write(table, tmp_path / "data.parquet"), "--id", "rna_0")
    assert predicted.column("rna_0").to_pylist() == table.column("rna_0").to_pylist()
    assert predicted.column("prediction").to_pylist() == fitted[1].predict(table).tolist()


def test_numbers_and_truth_values_as_classes(table, tmp_path, predict):
    for values, names in (([3, 1], ["1", "3"]), ([True, False], ["false", "true"])):
        other = table.drop_columns(["outcome"]).append_column("outcome", pa.array(values * (N_ROWS // 2)))
        data = write(other, tmp_path / "data.csv")
        usual = ["--method", "shareboost", "--set", "n_estimators=2", "--target", "outcome", "--id", "patient"]
        fit = run("fit", data, *usual, "--output", tmp_path / "other.fuse", "--force", "--json")
        assert list(json.loads(fit.stdout)["classes"]) == names
        predicted, told = predict(data, model=tmp_path / "other.fuse", output="predictions.csv")
        assert predicted.column_names[2:] == [f"probability_{name}" for name in names]
        assert set(predicted.column("prediction").to_pylist()) <= set(names)
        assert set(told["predictions"]) <= set(names)


@pytest.mark.parametrize("named", [True, False])
def test_models_that_a_program_saved(named, table, tmp_path, predict):
    numbers = table.select([name for name in table.column_names if name.startswith(("rna", "image"))])
    X, y = numbers.to_pandas(), np.array(table.column("outcome").to_pylist())
    model = ShareBoostClassifier(views=[[0, 1, 2, 3], [4, 5, 6]], n_estimators=4)
    model.fit(X if named else X.to_numpy(), y)
    fuselearn.save(model, tmp_path / "own.fuse")
    data = write((table if named else numbers), tmp_path / "data.csv")
    predicted, _ = predict(data, model=tmp_path / "own.fuse")
    assert predicted.column("prediction").to_pylist() == model.predict(X if named else X.to_numpy()).tolist()
    if named:
        data = write(table.drop_columns(["image_0", "image_1", "image_2"]), tmp_path / "data.csv")
        _, told = predict(data, model=tmp_path / "own.fuse")
        assert "no column of the view 'view1'" in told["notes"][0]
    else:
        refused = run("predict", tmp_path / "own.fuse", write(table, tmp_path / "data.csv"))
        assert refused.exit_code == 1
        assert "the model takes 7" in refused.stderr


def test_model_without_probabilities(table, tmp_path, predict):
    from sklearn.linear_model import RidgeClassifier

    numbers = table.select(["rna_0", "rna_1"]).to_pandas()
    model = RidgeClassifier().fit(numbers, table.column("outcome").to_pylist())
    fuselearn.save(model, tmp_path / "ridge.fuse")
    trust = ["--trust", "sklearn.linear_model.RidgeClassifier", "--trust", "sklearn.preprocessing.LabelBinarizer"]
    predicted, _ = predict(write(table, tmp_path / "data.csv"), *trust, model=tmp_path / "ridge.fuse")
    assert predicted.column_names == ["prediction"]
    assert predicted.column("prediction").to_pylist() == model.predict(numbers).tolist()


def test_interrupt_writes_nothing(table, fitted, tmp_path, monkeypatch):
    data, calls = write(table, tmp_path / "data.csv"), []
    own = ModelColumns.matrix

    def matrix(self, part, first_row):
        calls.append(part.num_rows)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return own(self, part, first_row)

    monkeypatch.setattr(ModelColumns, "matrix", matrix)
    result = run("predict", fitted[0], data, "--chunk-rows", "10", "--output", tmp_path / "predictions.csv")
    assert result.exit_code == 130
    assert "nothing was written" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_existing_files_are_kept_without_force(table, fitted, tmp_path):
    data, output = write(table, tmp_path / "data.csv"), tmp_path / "predictions.csv"
    assert run("predict", fitted[0], data, "--output", output).exit_code == 0
    before = output.read_bytes()
    assert run("predict", fitted[0], data, "--output", output).exit_code == 1
    assert output.read_bytes() == before
    assert run("predict", fitted[0], data, "--output", output, "--force").exit_code == 0


def test_report(table, fitted, tmp_path):
    data, output = write(table, tmp_path / "data.csv"), tmp_path / "report.html"
    result = run("report", fitted[0], "--data", data, "--output", output, "--title", "Patients & outcomes")
    assert result.exit_code == 0, result.output
    page = output.read_text(encoding="utf-8")
    assert "Patients &amp; outcomes" in page
    assert f"{N_ROWS} rows" in result.stdout
    again = run("report", fitted[0], "--data", data, "--output", output)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    told = json.loads(run("report", fitted[0], "--data", data, "--output", output, "--force", "--json").stdout)
    assert told["summary"]["data"]["rows"] == N_ROWS
    assert told["summary"]["quality"] is not None


def test_report_without_classes(table, fitted, tmp_path):
    data, output = write(table.drop_columns(["outcome"]), tmp_path / "data.csv"), tmp_path / "report.html"
    result = run("report", fitted[0], "--data", data, "--output", output)
    assert result.exit_code == 0, result.output
    assert "nothing about quality" in result.stderr
    assert output.exists()


def test_report_without_a_view(table, fitted, tmp_path):
    part = table.drop_columns(["image_0", "image_1", "image_2"])
    data, output = write(part, tmp_path / "data.csv"), tmp_path / "report.html"
    result = run("report", fitted[0], "--data", data, "--output", output)
    assert result.exit_code == 0, result.output
    assert "no column of the view 'image'" in result.stderr
    assert output.exists()


@pytest.fixture
def report(fitted, tmp_path):
    """Report on a file; what was told as JSON."""

    def call(data, *arguments, model=fitted[0], refused=None):
        output = tmp_path / "report.html"
        result = run("report", model, "--data", data, *arguments, "--output", output, "--force", "--json")
        if refused is not None:
            assert result.exit_code == 1, result.output
            assert refused in result.stderr
            return None
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return call


@pytest.fixture
def given(monkeypatch):
    """What the command gives to `FitReport`."""
    calls, own = [], fuselearn.FitReport

    def noting(model, X, y, **settings):
        calls.append({"X": X, "y": y, **settings})
        return own(model, X, y, **settings)

    monkeypatch.setattr(fuselearn, "FitReport", noting)
    return calls


def fit_outcome(table, values, path):
    """Fit a model of a file with another target."""
    frame = table.to_pandas()
    frame["outcome"] = values
    frame.to_csv(path.with_suffix(".csv"), index=False)
    usual = ["--method", "shareboost", "--set", "n_estimators=2", "--target", "outcome", "--id", "patient", "--force"]
    result = run("fit", path.with_suffix(".csv"), *usual, "--output", path)
    assert result.exit_code == 0, result.output
    return path


TRAINED = {"truth": ["true", "false"], "numbers": ["0", "1"], "text": ["True", "unknown"], "zeros": ["01", "02"]}
LABELS = [
    ("truth", ["yes", "no"], "the class 'yes'"),
    ("truth", ["True", "yes"], "the class 'True'"),
    ("truth", ["2", "1"], "the class 2"),
    ("truth", ["True", "FALSE"], [True, False]),
    ("truth", ["1", "0"], [True, False]),
    ("numbers", ["0.2", "1"], "the class 0.2"),
    ("numbers", ["1.0", "0"], [1, 0]),
    ("numbers", ["a", "0"], "the class 'a'"),
    ("text", ["True", "True"], ["True", "True"]),
    ("text", ["true", "true"], "the class 'true'"),
    ("zeros", ["01", "02"], ["01", "02"]),
    ("zeros", ["1", "2"], "the class '1'"),
]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("kind", "labels", "expected"), LABELS)
def test_no_label_of_a_report_becomes_another(kind, labels, expected, table, tmp_path, report, given):
    model = fit_outcome(table, TRAINED[kind] * (N_ROWS // 2), tmp_path / "labels.fuse")
    frame = table.to_pandas()
    frame["outcome"] = labels * (N_ROWS // 2)
    frame.to_csv(tmp_path / "data.csv", index=False)
    if isinstance(expected, str):
        report(tmp_path / "data.csv", model=model, refused=expected)
    else:
        report(tmp_path / "data.csv", model=model)
        assert given[0]["y"].tolist() == expected * (N_ROWS // 2)


def test_report_reads_as_predict_does(table, fitted, tmp_path, predict, report, given):
    """Ids as text, columns in the types of the model, and the same notes."""
    frame = table.to_pandas()
    frame["patient"] = [str(2**63 + number) if number % 2 else f"{number:04d}" for number in range(N_ROWS)]
    frame.loc[3, "patient"] = "NA"
    frame["flag_site"] = np.where(np.arange(N_ROWS) % 2, "True", "False")
    frame["rna_0"] = "7"
    frame = frame.drop(columns=["rna_1", "image_0", "image_1", "image_2"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    told = report(tmp_path / "data.csv", "--allow-missing-columns")
    predicted, expected = predict(tmp_path / "data.csv", "--allow-missing-columns")
    assert given[0]["ids"] == frame["patient"].tolist() == predicted.column("patient").to_pylist()
    assert told["notes"] == expected["notes"]
    assert len(told["notes"]) == 3  # a view, single columns, unknown categories
    assert any("such as 'False'" in note for note in told["notes"])


def test_ids_may_be_called_na_but_not_be_empty(table, tmp_path, predict, report):
    frame = table.to_pandas()
    frame["patient"] = ["NA", "null", "nan", *map(str, range(3, N_ROWS))]
    frame.to_csv(tmp_path / "data.csv", index=False)
    assert predict(tmp_path / "data.csv")[0].column("patient").to_pylist() == frame["patient"].tolist()
    frame.loc[0, "patient"] = ""
    frame.to_csv(tmp_path / "data.csv", index=False)
    report(tmp_path / "data.csv", refused="rows without a value in the id 'patient'")


def test_report_tells_of_the_file(table, tmp_path, report, given):
    frame = table.to_pandas().drop(columns=["patient"])
    frame.loc[[1, 4], "outcome"] = None
    frame.loc[0, "rna_0"] = None
    frame.loc[0, "flag_site"] = None
    frame.drop(columns=["image_0", "image_1", "image_2"]).to_csv(tmp_path / "data.csv", index=False)
    report(tmp_path / "data.csv")
    rows = N_ROWS - 2
    told = given[0]["note"]["file"]
    assert told.pop("name") == "data.csv"
    assert told.pop("training_rows").tolist() == list(range(1, N_ROWS + 1))
    assert told == {
        "columns_per_view": {"rna": 4, "image": 3, "flag": 2},  # though text became more
        "gaps_per_view": {"rna": 1 / (4 * rows), "image": 1.0, "flag": 1 / (2 * rows)},
        "sources": [*(f"rna_{n}" for n in range(4)), *(f"image_{n}" for n in range(3)), "flag_a", *3 * ["flag_site"]],
        "rows_left_out": 2,
        "target": "outcome",
        "id": None,
        "title": None,
        "options": [],
        "reading": {"function": "read_csv"},
    }
    assert given[0]["ids"][:4] == [1, 3, 4, 6]  # as rows of the file, though others are left out
    assert given[0]["ids"][-1] == N_ROWS


def test_values_that_a_report_cannot_use(table, tmp_path, report):
    frame = table.to_pandas().astype({"rna_0": object})
    frame.loc[5, "rna_0"] = "many"
    frame.to_csv(tmp_path / "data.csv", index=False)
    report(tmp_path / "data.csv", "--strict", refused="'many' in row 6 of the column 'rna_0', which must hold numbers")


def test_classes_are_spelled_as_in_the_file(table, tmp_path, predict):
    model = fit_outcome(table, ["01", "02"] * (N_ROWS // 2), tmp_path / "zeros.fuse")
    predicted, _ = predict(write(table, tmp_path / "data.csv"), model=model, output="p.csv")
    assert predicted.column_names[2:] == ["probability_01", "probability_02"]
    assert set(predicted.column("prediction").to_pylist()) <= {"01", "02"}
