"""``fuselearn compare``: files in, a leaderboard out, and one line for whatever is wrong."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sklearn.datasets import load_wine

from fuselearn import compare
from fuselearn.cli.choices import choose_views
from fuselearn.evaluation import comparison
from tests.cli import command_line

METHODS = ["--methods", "mkl_uniform,shareboost", "--runs", "2"]


def run(*arguments, **settings):
    return command_line.run("compare", *arguments, **settings)


@pytest.fixture(scope="module")
def table():
    X, y = load_wine(return_X_y=True)
    columns = {f"acid_{number}": X[:, number] for number in range(6)}
    columns |= {f"colour_{number}": X[:, 6 + number] for number in range(7)}
    columns["kind"] = np.array(["red", "white", "rosé"])[y]
    columns["bottle"] = np.arange(len(y))
    return pa.table(columns)


@pytest.fixture
def wines(table, tmp_path):
    path = tmp_path / "wines.csv"
    csv.write_csv(table, path)
    return path


def test_leaderboard(wines, tmp_path):
    output = tmp_path / "leaderboard.md"
    result = run(wines, "--target", "kind", "--id", "bottle", *METHODS, "--output", output)
    assert result.exit_code == 0, result.output
    assert "Views, guessed from the columns' prefixes: acid (6), colour (7)" in result.output
    assert "mkl_uniform" in result.output
    assert "| shareboost |" in output.read_text(encoding="utf-8")
    again = run(wines, "--target", "kind", "--id", "bottle", *METHODS, "--output", output)
    assert again.exit_code == 1
    assert "--force" in again.output
    forced = run(wines, "--target", "kind", "--id", "bottle", *METHODS, "--output", output, "--force")
    assert forced.exit_code == 0


def test_interrupt_keeps_the_runs_that_are_done(wines, monkeypatch):
    run_cell = comparison.run_cell

    def interrupted(task, method, kind, number):
        if number == 2:
            raise KeyboardInterrupt
        return run_cell(task, method, kind, number)

    monkeypatch.setattr(comparison, "run_cell", interrupted)
    result = run(wines, "--target", "kind", "--id", "bottle", "--methods", "mkl_uniform", "--runs", "4")
    assert result.exit_code == 0, result.output
    # In a line of its own, without the place in the code.
    assert "Warning: Interrupted: the comparison has the 2 of 4 runs that were done." in result.stderr.splitlines()
    assert "178 objects, 2 views, 2 runs" in result.stdout


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "feather"])
def test_other_formats_give_the_same(table, wines, tmp_path, suffix):
    path = tmp_path / f"wines.{suffix}"
    if suffix == "tsv":
        csv.write_csv(table, path, csv.WriteOptions(delimiter="\t"))
    else:
        (parquet.write_table if suffix == "parquet" else feather.write_feather)(table, path)
    arguments = ["--target", "kind", "--id", "bottle", "--methods", "mkl_uniform", "--runs", "1", "--json"]
    scores = [json.loads(run(source, *arguments).stdout)["rows"][0][1] for source in (wines, path)]
    assert scores[0] == scores[1]


def test_standard_input(wines):
    arguments = ["--target", "kind", "--id", "bottle", "--methods", "mkl_uniform", "--runs", "1", "--json"]
    piped = run("-", *arguments, input=wines.read_bytes())
    assert piped.exit_code == 0, piped.output
    assert json.loads(piped.stdout)["rows"] is not None


def test_views_by_option_and_file(wines, tmp_path):
    chosen = ["--view", "acid=acid_*", "--view", "two=colour_0,colour_1"]
    result = run(wines, "--target", "kind", *chosen, *METHODS)
    assert "Views, as given: acid (6), two (2)" in result.output
    path = tmp_path / "views.toml"
    path.write_text('[views]\nacid = "acid_*"\n[views.colour]\ncolumns = ["colour_0:colour_3"]\n')
    result = run(wines, "--target", "kind", "--views", path, *METHODS)
    assert "Views, from the file: acid (6), colour (4)" in result.output


def chosen(columns):
    choices, how = choose_views([], None, columns)
    return {name: choice.columns for name, choice in choices.items()}, how


def test_guesses():
    views, how = chosen(["a1", "a2", "b_x", "b_y", "age"])
    assert views == {"a": ["a1", "a2"], "b": ["b_x", "b_y"], "other": ["age"]}
    assert "guessed" in how
    assert chosen(["x", "y"])[0] == {"all": ["x", "y"]}
    marks = ["h3k4_1", "h3k4_2", "h3k27-a", "h3k27-b", "x1", "x2"]
    assert chosen(marks)[0] == {"h3k4": marks[:2], "h3k27": marks[2:4], "x": marks[4:]}
    assert list(chosen(["rna_1", " rna_2", " image_1", " image_2"])[0]) == ["rna", "image"]


def test_text_is_encoded_as_fit_does(table, tmp_path):
    place = np.array(["north", "south"])[np.arange(table.num_rows) % 2]
    csv.write_csv(table.append_column("acid_place", pa.array(place)), tmp_path / "text.csv")
    (tmp_path / "views.toml").write_text('[views.acid]\ncolumns = "acid_*"\ncategorical = "target"\n')
    arguments = ["--target", "kind", "--methods", "shareboost", "--runs", "1"]
    result = run(tmp_path / "text.csv", *arguments, "--id", "bottle")
    assert result.exit_code == 0, result.output
    assert "acid (7)" in result.stderr
    encoded = run(tmp_path / "text.csv", *arguments, "--views", tmp_path / "views.toml")
    assert encoded.exit_code == 0, encoded.output
    assert "text one-hot encoded" in encoded.stderr
    names = pa.array([f"bottle {number}" for number in range(table.num_rows)])
    csv.write_csv(table.append_column("acid_name", names), tmp_path / "names.csv")
    refused = run(tmp_path / "names.csv", *arguments)
    assert refused.exit_code == 1
    assert "too many for a column each" in refused.stderr


def test_target_that_is_no_number(table, tmp_path):
    wrong = pa.array([np.nan, *[float(number % 2) for number in range(1, table.num_rows)]], from_pandas=False)
    parquet.write_table(table.drop_columns(["kind"]).append_column("kind", wrong), tmp_path / "nan.parquet")
    result = run(tmp_path / "nan.parquet", "--target", "kind", "--methods", "svm_vote", "--runs", 2)
    assert result.exit_code == 0, result.output
    assert f"1 of {table.num_rows} rows has no 'kind' and is left out." in result.stderr
    assert f"{table.num_rows - 1} objects" in result.stdout


def test_rows_of_a_group_are_never_parted(table, tmp_path):
    """Rows come in identical pairs, whose class nothing but the twin tells: with groups it cannot be known."""
    rng = np.random.default_rng(0)
    values, twin = rng.normal(size=(60, 4)), np.repeat(np.arange(60), 2)
    columns = {
        f"{name}_{number}": values[twin, 2 * place + number] for place, name in enumerate("ab") for number in (0, 1)
    }
    columns |= {"kind": rng.permutation(np.arange(60) % 2)[twin], "vine": [f"vine {number}" for number in twin]}
    csv.write_csv(pa.table(columns), tmp_path / "twins.csv")
    arguments = [tmp_path / "twins.csv", "--target", "kind", "--methods", "svm_concatenated", "--runs", "3", "--json"]
    together = run(*arguments, "--group", "vine")
    assert together.exit_code == 0, together.output
    views = ["--view", "a=a_*", "--view", "b=b_*"]
    parted = json.loads(run(*arguments, *views).stdout)["rows"][0][1]
    assert parted > json.loads(together.stdout)["rows"][0][1] + 0.05
    expected = compare(
        np.column_stack([columns[name] for name in ("a_0", "a_1", "b_0", "b_1")]),
        columns["kind"],
        views={"a": [0, 1], "b": [2, 3]},
        methods=["svm_concatenated"],
        runs=3,
        groups=twin,
        random_state=0,
    )
    assert json.loads(together.stdout)["rows"][0][1] == pytest.approx(expected.scores.mean())


def test_groups_are_those_of_fit(table, tmp_path):
    """Text as it is spelled, but for white space around it, which is noted where it makes two groups one."""
    names = [f"0{number}" for number in range(1, 6)] + [f"{number}" for number in range(1, 6)]
    group = pa.array([names[row % 10] + " " * (row == 0) for row in range(table.num_rows)])
    csv.write_csv(table.append_column("vine", group), tmp_path / "groups.csv")
    views = {"acid": list(range(6)), "colour": list(range(6, 13))}
    told = run(tmp_path / "groups.csv", "--target", "kind", "--id", "bottle", "--group", "vine", *METHODS, "--json")
    assert "has '01 ' beside '01' in the column 'vine': they count as one group" in told.stderr
    X = np.column_stack([table.column(number).to_numpy() for number in range(13)])
    settings = {"views": views, "methods": METHODS[1].split(","), "runs": 2, "random_state": 0}
    y = np.array(table.column("kind").to_pylist())
    expected = compare(X, y, groups=np.arange(len(y)) % 10, **settings)
    means = {name: score for name, score, *_ in json.loads(told.stdout)["rows"]}
    assert sorted(means.values()) == pytest.approx(sorted(expected.scores.mean(axis=1)))


def test_every_row_needs_its_group(table, tmp_path):
    group = pa.array([None, *range(1, table.num_rows)])
    csv.write_csv(table.append_column("vine", group), tmp_path / "gaps.csv")
    result = run(tmp_path / "gaps.csv", "--target", "kind", "--group", "vine")
    assert result.exit_code == 1
    assert "has rows without a value in the group column 'vine', such as row 1" in result.stderr


def test_resume(wines, tmp_path):
    arguments = [wines, "--target", "kind", "--id", "bottle", *METHODS, "--resume", tmp_path / "cells.jsonl", "--json"]
    first, second = run(*arguments), run(*arguments)
    assert first.stdout == second.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "grape"], "--target names the column 'grape', which"),
        (["--target", "kind", "--id", "number"], "--id names the column 'number'"),
        (["--target", "kind", "--id", "kind"], "--id and --target both name 'kind'"),
        (["--target", "kind", "--group", "vineyard"], "--group names the column 'vineyard', which"),
        (["--target", "kind", "--group", "kind"], "--group and --target both name 'kind'"),
        (["--target", "kind", "--group", "bottle", "--view", "a=bottle"], "has 'bottle', which is the group"),
        (["--target", "kind", "--view", "acid"], "--view takes NAME=GLOB"),
        (["--target", "kind", "--view", "a=sugar_*"], "no column of the data matches 'sugar_*' of the view 'a'"),
        (["--target", "kind", "--view", "a=acid_*", "--view", "a=acid_0"], "--view names 'a' more than once"),
        (["--target", "kind", "--view", "a=acid_*", "--views", "x.toml"], "cannot both be given"),
        (["--target", "kind", "--views", "nowhere.toml"], "nowhere.toml cannot be read"),
        (
            ["--target", "acid_0", "--view", "colour=colour_*", "--task", "classification"],
            "has measured numbers in the target 'acid_0'",
        ),
        (["--target", "kind", "--methods", "sharebost"], "did you mean 'shareboost'"),
        (["--target", "kind", "--methods", "wine"], "fuselearn: --methods names 'wine', which is not known"),
        (["--target", "kind", "--runs", "0"], "fuselearn: --runs must be an integer of at least 1"),
        (["--target", "kind", "--train-size", "2"], "fuselearn: --train-size must be between 0 and 1"),
        (["--target", "kind", "--noise", "2"], "fuselearn: --noise must be at least 0"),
        (["--target", "kind", "--resume", __file__], "fuselearn: --resume names"),
        (["--target", "kind", "--scoring", "beauty"], "--scoring 'beauty' is not a score"),
        (["--target", "kind", "--output", "table.xls"], "--output must end in .md"),
        (["--target", "kind", "--output", "no/where.md"], "does not exist"),
    ],
)
def test_refusals(wines, arguments, message):
    result = run(wines, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.strip().splitlines()[-1].startswith("fuselearn: ")
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,kind\n")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    (tmp_path / "text.docx").write_text("hello")
    (tmp_path / "broken.parquet").write_text("hello")
    (tmp_path / "views.toml").write_text("[views\n")
    (tmp_path / "other.toml").write_text("a = 1\n")
    (tmp_path / "gap.csv").write_text("a_1,a_2,kind\n1,2,x\n3,4,\n")
    for name, message in [
        ("empty.csv", "is empty"),
        ("header.csv", "has no rows"),
        ("twice.csv", "has the column 'a' 2 times"),
        ("text.docx", "has the suffix '.docx'"),
        ("broken.parquet", "cannot be read as parquet"),
        ("nothing.csv", "does not exist"),
        (".", "is a folder"),
    ]:
        result = run(tmp_path / name, "--target", "kind")
        assert result.exit_code == 1
        assert message in result.stderr
    assert "1 of 2 rows has no 'kind' and is left out." in run(tmp_path / "gap.csv", "--target", "kind").stderr
    (tmp_path / "target.csv").write_text("kind\nx\ny\n")
    assert "has no columns beside the target" in run(tmp_path / "target.csv", "--target", "kind").stderr
    (tmp_path / "latin.csv").write_bytes("a_1,a_2,kind\n1,2,rosé\n3,4,y\n".encode("latin-1"))
    assert "is not UTF-8" in run(tmp_path / "latin.csv", "--target", "kind").stderr
    (tmp_path / "fine.csv").write_text("a_1,a_2,kind\n1,2,x\n3,4,y\n")
    assert "is not TOML" in run(tmp_path / "fine.csv", "--target", "kind", "--views", tmp_path / "views.toml").stderr
    assert (
        "needs a table [views]"
        in run(tmp_path / "fine.csv", "--target", "kind", "--views", tmp_path / "other.toml").stderr
    )
    (tmp_path / "wrong.toml").write_text('[views]\na = "b_*"\n')
    wrong = run(tmp_path / "fine.csv", "--target", "kind", "--views", tmp_path / "wrong.toml")
    assert "no column of the data matches 'b_*' of the view 'a'" in wrong.stderr


def test_usage_is_exit_code_2():
    assert run("file.csv").exit_code == 2
