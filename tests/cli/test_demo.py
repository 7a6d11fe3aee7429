"""``fuselearn demo``: a table, JSON, and sentences about who is ahead."""

import json

import numpy as np
import pytest

from fuselearn.cli import demo
from fuselearn.cli.demo import Row, compare_methods, summarise
from fuselearn.datasets import load_digit_views
from tests.cli.command_line import run

METHODS = ["Fusion", "ShareBoost", "rShareBoost", "iBoost"]
VIEWS = ["pixels", "fourier", "profiles", "edges"]


@pytest.fixture(scope="module")
def few_digits():
    X, views, y = load_digit_views(return_tuple=True)
    rows = np.flatnonzero(y < 2)[:80]
    return X[rows], views, y[rows]


@pytest.fixture
def small_demo(monkeypatch, few_digits):
    """Let the demo have 80 rows of two digits."""
    monkeypatch.setattr(demo, "_digits", lambda: few_digits)


def row(method, accuracy, labels="clean", standard_error=0.01):
    return Row(labels, method, accuracy, standard_error, 1.0, 10, {"one": 0.25, "two": 0.75})


def test_demo_prints_a_table_of_80_columns(small_demo):
    result = run("demo", "--rounds", "3")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""  # no progress bar where nobody watches it
    for word in [*METHODS, *VIEWS, "clean", "30% wrong", "accuracy", "fit s"]:
        assert word in result.stdout
    assert "…" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("environment", [{"COLUMNS": "30"}, pytest.param({"COLUMNS": "200"}, marks=pytest.mark.long)])
def test_demo_in_other_widths(environment, small_demo):
    assert run("demo", "--rounds", "1", "--noise", "0", env=environment).exit_code == 0


@pytest.mark.long
def test_demo_prints_nothing_but_json(small_demo):
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


@pytest.mark.long
def test_demo_of_all_digits():
    result = run("demo", "--rounds", "3", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert [row["method"] for row in rows] == METHODS * 2
    assert rows[0]["accuracy"] > 0.9
    assert rows[0]["standard_error"] < 0.015  # of 719 rows


@pytest.mark.long
def test_rows_depend_on_the_seed_only(small_demo):
    def told(**settings):
        rows = compare_methods(rounds=2, noise=0.3, **settings)
        return [(row.labels, row.method, row.accuracy, row.view_shares) for row in rows]

    first = told(seed=1)
    assert told(seed=1, jobs=2) == first
    assert told(seed=2) != first


def test_steps_are_announced_in_order(small_demo):
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


def test_interrupting_a_fit_ends_the_demo(monkeypatch, small_demo):
    """The classifier keeps the rounds it has and warns, which here is not the point."""
    from fuselearn.boosting import base

    def interrupt(rows, one_round, trace, n_rounds, report):
        trace.rounds.append(one_round(rows, 0))
        raise KeyboardInterrupt

    monkeypatch.setattr(base, "boost", interrupt)
    result = run("demo", "--rounds", "3")
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == "fuselearn: interrupted; the comparison is not finished."


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
