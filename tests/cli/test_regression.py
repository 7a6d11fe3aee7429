"""Numbers on the command line: guessed, said aloud, fitted, predicted, compared and reported."""

import csv
import json

import numpy as np
import pytest

import fuselearn
from fuselearn import FusionRegressor
from fuselearn.tables import TableRegressor
from tests.cli.command_line import run

DRAWS = np.random.default_rng(0)
X = DRAWS.standard_normal((80, 4))
Y = 3 * X[:, 0] - 2 * X[:, 2] + 0.1 * DRAWS.standard_normal(80) + 20


@pytest.fixture
def data(tmp_path):
    """Return a file with measured numbers, whole numbers and words to predict."""
    path = tmp_path / "houses.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["house", "size_1", "size_2", "place_1", "place_2", "price", "rooms", "kind"])
        for number, (row, target) in enumerate(zip(X.tolist(), Y.tolist())):
            writer.writerow([f"h{number}", *row, target, round(target), "big" if target > 20 else "small"])
    return path


def fit(data, *options, target="price"):
    """Fit a model, and return its path and the output."""
    path = data.with_name("model.fuse")
    drop = [word for name in {"price", "rooms", "kind"} - {target} for word in ("--drop", name)]
    done = run("fit", data, "--target", target, "--id", "house", *drop, "--output", path, "--force", *options)
    return path, done


def test_numbers_are_guessed_and_said_aloud(data):
    path, done = fit(data)
    assert done.exit_code == 0, done.output
    assert "measured numbers" in done.stderr
    assert "--task classification" in done.stderr
    assert "out-of-fold R² 0." in done.stdout
    assert "numbers of price from" in done.stdout
    model = fuselearn.load(path)
    assert isinstance(model, TableRegressor)
    views = {"size": [0, 1], "place": [2, 3]}
    expected = FusionRegressor(views=views, random_state=0).fit(X, Y)
    rows = {f"{name}_{number}": X[:, column] for column, (name, number) in enumerate(_names())}
    import pyarrow

    np.testing.assert_allclose(model.predict(pyarrow.table(rows)), expected.predict(X))
    np.testing.assert_allclose(model.predict_interval(pyarrow.table(rows)), expected.predict_interval(X))


def test_the_score_without_outliers_stands_beside_that_of_all_rows(data, tmp_path):
    _, clean = fit(data)
    assert "all rows" not in clean.stdout
    rows = np.random.default_rng(1).standard_normal((160, 4))
    price = 3 * rows[:, 0] - 2 * rows[:, 2] + 20
    price[3::20] *= 10
    spoilt = tmp_path / "spoilt.csv"
    lines = [",".join(map(str, [*row, target])) for row, target in zip(rows.tolist(), price.tolist())]
    spoilt.write_text("\n".join(["size_1,size_2,place_1,place_2,price", *lines]) + "\n")
    path = tmp_path / "spoilt.fuse"
    done = run("fit", spoilt, "--target", "price", "--output", path)
    model = fuselearn.load(path).model_
    scores = model.out_of_sample_scores_
    assert scores["r2"] - scores["r2_all_rows"] > 0.5  # what this test is about
    assert (
        f"out-of-fold R² {scores['r2']:.3f} (mean absolute error {scores['mean_absolute_error']:.4g}) without the "
        f"{model.outlier_share_:.1%} of the rows that are gross outliers, which count next to nothing; R² of all rows "
        f"{scores['r2_all_rows']:.3f}"
    ) in done.stdout


def _names():
    return [("size", 1), ("size", 2), ("place", 1), ("place", 2)]


def test_whole_numbers_are_classes_unless_the_task_says_otherwise(data):
    _, done = fit(data, "--task", "regression", "--json", target="rooms")
    told = json.loads(done.stdout)
    assert told["task"] == "regression"
    assert told["classes"] is None
    assert told["target_range"] == [float(np.round(Y).min()), float(np.round(Y).max())]
    assert told["out_of_sample_metric"] == "r2"


@pytest.mark.parametrize(
    ("options", "target", "words"),
    [
        (["--task", "regression"], "kind", "text in the target 'kind'"),
        (["--method", "shareboost"], "price", "'shareboost' does not predict numbers"),
        (["--class-weight", "balanced"], "price", "--class-weight is for classes"),
        (["--categorical", "target"], "price", "for numbers use onehot"),
        (["--task", "classification"], "price", "add --task regression"),
        (["--task", "ranking"], "price", "--task"),
    ],
)
def test_what_does_not_fit_numbers_is_refused(data, options, target, words):
    _, done = fit(data, *options, target=target)
    assert done.exit_code in (1, 2)
    assert words in done.stderr


def test_methods_that_only_numbers_have_are_known(data):
    _, done = fit(data, "--method", "ridge_concatenated")
    assert done.exit_code == 0, done.stderr


def test_predictions_have_intervals(data, tmp_path):
    path, _ = fit(data)
    output = tmp_path / "predicted.csv"
    done = run("predict", path, data, "--output", output)
    assert done.exit_code == 0, done.stderr
    assert "80 predictions: least" in done.stdout
    with output.open() as file:
        records = list(csv.DictReader(file))
    assert list(records[0]) == ["house", "prediction", "lower", "upper"]
    lower, predicted, upper = (np.array([float(r[name]) for r in records]) for name in ("lower", "prediction", "upper"))
    assert ((lower < predicted) & (predicted < upper)).all()
    summary = run("predict", path, data, "--output", output, "--force", "--chunk-rows", "30", "--json")
    assert json.loads(summary.stdout)["predictions"]["mean"] == pytest.approx(predicted.mean())


@pytest.fixture
def european(tmp_path):
    """Return a file with decimal commas, in whose target two cells are odd and one is empty."""
    path = tmp_path / "europe.csv"
    cells = [f"{value:.3f}".replace(".", ",") for value in Y]
    cells[5], cells[9], cells[70] = "not recorded", " not recorded", ""
    rows = [f"{row[0]:.4f};{row[2]:.4f};{row[1]:.4f};{cell}".replace(".", ",") for row, cell in zip(X.tolist(), cells)]
    path.write_text("\n".join(["a_1;a_2;b_1;price", *rows]) + "\n", encoding="utf-8")
    return path


COMMAS = ("--delimiter", ";", "--decimal", ",")


def test_a_target_with_decimal_commas_and_odd_cells_is_one_of_numbers(european, tmp_path):
    model = tmp_path / "model.fuse"
    done = run("fit", european, "--target", "price", *COMMAS, "--output", model, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["task"] == "regression"
    assert told["rows"] == 77
    kept = np.delete(Y.round(3), [5, 9, 70])
    assert told["target_range"] == [kept.min(), kept.max()]
    notes = " ".join(told["notes"])
    assert "2 cells are not numbers" in notes
    assert "'not recorded' (2 times) in 'price'" in notes
    assert "3 of 80 rows have no 'price' and are left out" in notes
    done = run("report", model, "--data", european, "--delimiter", ";", "--output", tmp_path / "r.html", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 77
    assert "'not recorded' (2 times) in 'price'" in " ".join(json.loads(done.stdout)["notes"])
    done = run("compare", european, "--target", "price", *COMMAS, "--methods", "ridge_concatenated", "--runs", "2")
    assert done.exit_code == 0, done.stderr
    assert "2 cells are not numbers" in done.stderr


def test_odd_cells_of_a_target_can_be_refused(european, tmp_path):
    done = run("fit", european, "--target", "price", *COMMAS, "--strict", "--output", tmp_path / "model.fuse")
    assert done.exit_code == 1
    assert "'not recorded' in row 6 of the column 'price'" in done.stderr


@pytest.mark.parametrize("comma", [False, True])
def test_a_number_for_nothing_is_none_of_a_target(data, tmp_path, comma):
    path, model = tmp_path / "t.csv", tmp_path / "model.fuse"
    prices = [f"{value:.2f}" for value in Y]
    prices[3], prices[7], options = "-999.0", "-999", ["--na-values", "-999", *(COMMAS if comma else ())]
    content = "\n".join(["a,b,price", *(f"{row[0]:.3f},{row[2]:.3f},{cell}" for row, cell in zip(X, prices))]) + "\n"
    path.write_text(content.replace(",", ";").replace(".", ",") if comma else content)
    done = run("fit", path, "--target", "price", *options, "--output", model, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 78
    assert json.loads(done.stdout)["target_range"][0] > 0
    done = run("compare", path, "--target", "price", *options, "--methods", "ridge_concatenated", "--runs", "2")
    assert done.exit_code == 0, done.stderr
    assert "2 of 80 rows have no 'price'" in done.stderr


def test_a_number_for_nothing_is_no_class_of_a_report(tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "model.fuse"
    labels = ["-999.0", *("1.0" if value > 20 else "2.0" for value in Y[1:])]
    path.write_text("\n".join(["a,kind", *(f"{row[0]:.3f},{label}" for row, label in zip(X, labels))]) + "\n")
    options = ["--method", "shareboost", "--set", "n_estimators=2", "--na-values", "-999"]
    done = run("fit", path, "--target", "kind", *options, "--output", model, "--json")
    assert list(json.loads(done.stdout)["classes"]) == ["1.0", "2.0"]
    done = run("report", model, "--data", path, "--output", tmp_path / "r.html", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 79


def test_a_target_with_commas_that_no_option_names_is_refused(tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "model.fuse"
    path.write_text("a,price\n" + "".join(f'{number},"{number % 7},5"\n' for number in range(40)))
    done = run("fit", path, "--target", "price", "--output", model)
    assert done.exit_code == 1
    assert "numbers with a comma in the target 'price', such as '0,5'; add --decimal ," in done.stderr
    done = run("fit", path, "--target", "price", "--task", "classification", "--output", model, "--json")
    assert list(json.loads(done.stdout)["classes"]) == [f"{number},5" for number in range(7)]


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize("task", ["auto", "regression"])
def test_whole_numbers_beside_some_with_commas_are_refused(tmp_path, command, task):
    path, model = tmp_path / "t.csv", tmp_path / "model.fuse"
    grades = [f"{number % 5},5" if number % 4 == 0 else f"{number % 5}" for number in range(40)]
    path.write_text("a;grade\n" + "".join(f"{n};{grade}\n" for n, grade in enumerate([*grades, "absent"])))
    options = ["--target", "grade", "--delimiter", ";", *(["--output", model] if command == "fit" else ["--runs", "2"])]
    done = run(command, path, *options, "--task", task)
    assert done.exit_code == 1
    assert "numbers with a comma in the target 'grade', such as '0,5'; add --decimal ," in done.stderr
    done = run(command, path, *options, "--task", task, "--decimal", ",")
    assert done.exit_code == 0, done.stderr


def test_whole_numbers_with_commas_are_classes_where_these_are_the_decimal_sign(tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "model.fuse"
    path.write_text("a;grade\n" + "".join(f"{number};{('1', '2,0')[number % 2]}\n" for number in range(40)))
    options = ["--target", "grade", "--delimiter", ";", "--decimal", ",", "--output", model, "--json"]
    done = run("fit", path, *options)
    assert done.exit_code == 0, done.stderr
    assert list(json.loads(done.stdout)["classes"]) == ["1", "2,0"]


def test_text_among_whole_numbers_is_a_class_that_is_told_of(tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "model.fuse"
    path.write_text(
        "a,grade\n" + "".join(f"{number},{number % 3}\n" for number in range(40)) + "5,unknown\n7,unknown\n"
    )
    done = run("fit", path, "--target", "grade", "--output", model, "--method", "shareboost", "--json")
    told = json.loads(done.stdout)
    assert told["classes"]["unknown"] == 2
    assert "'unknown' among numbers, in 2 of 42 rows" in told["notes"][-1]
    assert "--na-values 'unknown'" in told["notes"][-1]
    done = run("fit", path, "--target", "grade", "--task", "regression", "--output", model, "--force", "--json")
    told = json.loads(done.stdout)
    assert told["target_range"] == [0, 2]
    assert "'unknown' (2 times) in 'grade'" in " ".join(told["notes"])


def test_comparison(data):
    done = run(
        "compare", data, "--target", "price", "--id", "house", "--drop", "rooms", "--drop", "kind",
        "--methods", "ridge_concatenated,view:size", "--runs", "2", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    table = json.loads(done.stdout)
    assert table["columns"][:2] == ["method", "r2"]
    assert table["rows"][0][0] == "ridge_concatenated"


def test_report(data, tmp_path):
    path, _ = fit(data)
    done = run("report", path, "--data", data, "--output", tmp_path / "report.html")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Predicted and true numbers" in page
    assert "Coverage of intervals" in page


def test_ids_have_the_names_that_predictions_leave_free(data, tmp_path):
    """Predictions of classes have no interval, and those of numbers no probabilities."""
    text = data.read_text()
    for target, name in [("kind", "lower"), ("price", "probability_big")]:
        data.write_text(text.replace("house", name, 1))
        drop = [word for other in {"price", "rooms", "kind"} - {target} for word in ("--drop", other)]
        options = ["--target", target, *drop, "--id", name, "--output", tmp_path / "model.fuse", "--force"]
        done = run("fit", data, *options, "--method", "gradient")
        assert done.exit_code == 0, done.output
        output = tmp_path / f"{name}.csv"
        assert run("predict", tmp_path / "model.fuse", data, "--output", output).exit_code == 0
        assert output.read_text().startswith(f"{name},prediction")


@pytest.mark.parametrize(
    ("target", "name"), [("kind", "probability_big"), ("kind", "prediction"), ("price", "upper"), ("price", "lower")]
)
def test_id_with_the_name_of_a_column_of_predictions_is_refused(target, name, data, tmp_path):
    data.write_text(data.read_text().replace("house", name, 1))
    done = run("fit", data, "--target", target, "--id", name, "--output", tmp_path / "model.fuse")
    assert done.exit_code == 1
    assert f"--id names {name!r}, which predict writes itself" in done.stderr
