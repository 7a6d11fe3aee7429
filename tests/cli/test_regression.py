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
