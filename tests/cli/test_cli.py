import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from fuselearn import __version__
from fuselearn.cli.app import app
from fuselearn.cli.demo import Row, compare_methods, summarise

METHODS = ["Fusion", "ShareBoost", "rShareBoost", "iBoost"]
VIEWS = ["pixels", "fourier", "profiles", "edges"]


def run(*arguments, **environment):
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "80", **environment})


def run_main(before, *arguments):
    """Run `main` in a process of its own, after some statements."""
    script = f"import sys; sys.argv[1:] = {list(arguments)}; {before}; from fuselearn.cli import main; main()"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def row(method, accuracy, labels="clean", standard_error=0.01):
    return Row(labels, method, accuracy, standard_error, 1.0, 10, {"one": 0.25, "two": 0.75})


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"fuselearn {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_imports_nothing_slow(arguments):
    tell = "import atexit; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))"
    result = run_main(tell, *arguments)
    assert result.returncode == 0
    assert "demo" in result.stdout
    imported = set(result.stderr.split())
    assert "fuselearn.cli" in imported
    assert imported.isdisjoint({"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib"})


def test_starting_does_not_import_rich():
    script = "import sys, fuselearn.cli.app; print('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize(("package", "arguments"), [("typer", ["--help"]), ("rich", ["demo", "--rounds", "1"])])
def test_missing_extra_is_named_in_one_line(package, arguments):
    result = run_main(f"sys.modules[{package!r}] = None", *arguments)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "pip install 'fuselearn[app]'" in result.stderr
    assert package in result.stderr


def test_other_missing_packages_are_not_blamed_on_the_extra():
    result = run_main("sys.modules['fuselearn.cli.demo'] = None", "--help")
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_demo_prints_a_table_of_80_columns():
    result = run("demo", "--rounds", "3")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""  # no progress bar where nobody watches it
    for word in [*METHODS, *VIEWS, "clean", "30% wrong", "accuracy", "fit s"]:
        assert word in result.stdout
    assert "…" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("environment", [{"COLUMNS": "30"}, {"COLUMNS": "200"}])
def test_demo_in_other_widths(environment):
    assert run("demo", "--rounds", "1", "--noise", "0", **environment).exit_code == 0


def test_demo_prints_nothing_but_json():
    result = run("demo", "--rounds", "3", "--noise", "0.2", "--seed", "4", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["rounds"], told["noise"], told["seed"]) == (3, 0.2, 4)
    assert [(row["labels"], row["method"]) for row in told["rows"]] == [
        (labels, method) for labels in ["clean", "20% wrong"] for method in METHODS
    ]
    for row in told["rows"]:
        assert 0.3 < row["accuracy"] <= 1
        assert row["rounds"] is None if row["method"] == "Fusion" else 1 <= row["rounds"] <= 3
        assert row["fit_seconds"] > 0
        assert list(row["view_shares"]) == VIEWS
        assert sum(row["view_shares"].values()) == pytest.approx(1)
    assert told["summary"]


def test_rows_depend_on_the_seed_only():
    def told(**settings):
        rows = compare_methods(rounds=2, noise=0.3, **settings)
        return [(row.labels, row.method, row.accuracy, row.view_shares) for row in rows]

    assert told(seed=1) == told(seed=1, jobs=2)
    assert told(seed=1) != told(seed=2)


def test_steps_are_announced_in_order():
    steps = []
    compare_methods(rounds=1, noise=0, seed=0, on_step=lambda *step: steps.append(step))
    assert [(number, total) for number, total, _ in steps] == [(number, 5) for number in range(6)]
    assert "compiling, first run only" in steps[0][2]
    assert [METHODS[number] in steps[1 + number][2] for number in range(4)] == [True] * 4


@pytest.mark.parametrize(
    ("option", "value", "right"),
    [
        ("--rounds", "0", "at least 1"),
        ("--noise", "2", "between 0 and 1"),
        ("--noise", "-0.1", "between 0 and 1"),
        ("--noise", "nan", "between 0 and 1"),
        ("--seed", "-1", "between 0 and"),
        ("--jobs", "0", "-1 for all cores"),
    ],
)
def test_bad_values_are_refused_in_one_line(option, value, right):
    result = run("demo", option, value)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    for words in (option, value, right):
        assert words in result.stderr


@pytest.mark.parametrize("arguments", [["demo", "--rounds", "many"], ["demo", "--speed", "3"], ["dem"]])
def test_unreadable_command_lines_are_usage_errors(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage" in result.stderr
    assert "Traceback" not in result.output


def test_interrupting_a_fit_ends_the_demo(monkeypatch):
    """The classifier keeps the rounds it has and warns, which here is not the point."""
    from fuselearn.boosting import base

    def interrupt(rows, one_round, trace, n_rounds, report):
        trace.rounds.append(one_round(rows, 0))
        raise KeyboardInterrupt

    monkeypatch.setattr(base, "boost", interrupt)
    result = run("demo", "--rounds", "3")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "Abort" in result.stderr


def test_summary_names_the_leader_and_those_too_close_to_it():
    first, second = summarise(
        [
            row("ShareBoost", 0.96),
            row("iBoost", 0.95),
            row("ShareBoost", 0.90, labels="30% wrong"),
            row("iBoost", 0.80, labels="30% wrong"),
        ]
    )
    assert "clean: ShareBoost is ahead at 0.960, with iBoost too close to call" in first
    assert "30% wrong: ShareBoost is ahead at 0.900, beyond chance" in first
    assert "-0.060 (ShareBoost), -0.150 (iBoost)" in second


def test_summary_without_wrong_labels_is_one_sentence():
    (sentence,) = summarise([row("ShareBoost", 0.9), row("iBoost", 0.96)])
    assert "iBoost is ahead at 0.960, beyond chance" in sentence
