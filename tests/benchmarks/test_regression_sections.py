"""The sections of `benchmarks.regression` work, on tiny data."""

import sys
from functools import partial

import numpy as np
import pytest

from benchmarks import regression, regression_coverage, regression_methods, regression_sets
from benchmarks.command_line import Options
from benchmarks.regression import Figures
from benchmarks.regression_methods import FOREST, OURS
from fuselearn import FusionRegressor

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
QUICK = Options(quick=True)


def mean(X, y, views, seed):
    """Predict the mean."""
    return lambda rows: np.full(len(rows), y.mean())


@pytest.fixture
def small(monkeypatch):
    """Let there be a small set and a large one, and methods that take no time; none is compiled."""
    sets = {"few": partial(regression_sets.synthetic, 40), "many": partial(regression_sets.synthetic, 120)}
    for module in (regression, regression_coverage, regression_sets):
        monkeypatch.setattr(module, "SETS", sets)
        monkeypatch.setattr(module, "QUICK", ("few",), raising=False)
    monkeypatch.setattr(regression, "METHODS", {OURS: regression_methods.fit_ridge, FOREST: mean, "mean": mean})
    monkeypatch.setattr(regression, "ROWS_OF_FIRST_FITS", ())
    monkeypatch.setattr(regression, "MANY_ROWS", 100)


@pytest.mark.parametrize("method", regression_methods.METHODS)
def test_every_method_predicts(method, monkeypatch):
    monkeypatch.setattr(regression_methods, "FusionRegressor", partial(FusionRegressor, max_fits=3))
    data = regression_sets.synthetic(80)
    figures = regression.measure(data, [method], 0.0, 1)[method]
    assert figures.r2 > -0.1
    assert figures.error > 0 <= figures.seconds


def test_a_share_of_the_targets_is_spoilt():
    y = np.random.default_rng(0).normal(size=1_000)
    moved = np.abs(regression.spoilt(y, 0.1, 0) - y) / y.std()
    assert 70 < np.sum(moved > 0) < 130
    assert moved[moved > 0].min() >= 5
    assert np.array_equal(regression.spoilt(y, 0.0, 0), y)


def test_slow_methods_are_left_out_on_large_sets(small):
    text = regression.report(Options())
    assert text.startswith("### FusionRegressor\n")
    assert f"| few | {FOREST} |" in text
    assert "| many | mean |" in text
    assert f"| many | {FOREST} |" not in text
    assert "measured (1):" in text
    text = regression.report(Options(), 1, ["many"], [OURS, FOREST])
    assert f"| many | {FOREST} |" in text
    assert "measured (1):" in text
    assert "Quick run" not in text


def test_a_quick_run_is_of_few_sets(small):
    text = regression.report(QUICK)
    assert "Splits of a set: 1." in text
    assert "| many |" not in text
    assert "Quick run" in text


def test_ranks_say_which_methods_are_ahead():
    def figures(*scores):
        return dict(zip((OURS, "a", "b"), (Figures(score, 1.0, 1.0) for score in scores)))

    results = {
        "one": [figures(0.8, 0.9, 0.7), figures(0.8, 0.1, 0.2)],
        "another": [figures(0.8, 0.9, 0.7), figures(0.8, 0.1, 0.9)],
        "incomplete": [figures(0.1, 0.9), figures(0.1, 0.9)],
    }
    _, table, verdict = regression.rank_part(results, [OURS, "a", "b"])
    assert f"| {OURS} | 2.00 | 1.50 |" in table
    assert "| b | 3.00 | 1.50 |" in table
    assert "clean: target ≤ 0, measured 1: **missed**; with outliers: target ≤ 0, measured 0: met." in verdict
    assert regression.rank_part(results, [OURS]) == []
    assert regression.rank_part({"incomplete": results["incomplete"]}, [OURS, "a", "b"]) == []


def test_sets_without_data_are_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    sets, missing = regression_sets.available(["diabetes", "diamonds, 1,000 rows"])
    assert list(sets) == ["diabetes"]
    assert missing == ["diamonds, 1,000 rows"]


def test_views_are_dropped_and_no_row_loses_all():
    X, y, views = np.ones((500, 6)), np.arange(500.0), {"a": np.arange(2), "b": np.arange(2, 6)}
    holed, targets, kept = regression_coverage.drop_views(X, y, views, np.random.default_rng(0))
    assert len(holed) == len(targets) == len(kept) < 450
    assert kept.any(axis=1).all()
    for number, columns in enumerate(views.values()):
        assert np.array_equal(np.isnan(holed[:, columns]).all(axis=1), ~kept[:, number])


@pytest.mark.filterwarnings("ignore:Intervals of coverage:fuselearn.exceptions.UnattainableCoverageWarning")
def test_coverage_of_missing_views_and_of_hard_rows(small, monkeypatch):
    monkeypatch.setattr(regression_coverage, "FusionRegressor", partial(FusionRegressor, max_fits=2))
    wanted = (("noise in a step", 300), ("a view that 2 % lack", 4_000), ("groups of 10", 400))
    hard = {(name, 200): regression_coverage.HARD_SETS[name, n_rows] for name, n_rows in wanted}
    monkeypatch.setattr(regression_coverage, "HARD_SETS", hard)
    text = regression_coverage.report(QUICK)
    assert text.startswith("### Intervals of FusionRegressor\n")
    rows = [line.split(" | ") for line in text.splitlines() if ", 200 rows |" in line or line.startswith("| few |")]
    assert len(rows) == 4
    assert all(0.5 < float(row[1]) <= 1 for row in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--coverage", "--methods", "ridge"], "not allowed with"),
        (["--runs", "0"], "--runs must be at least 1; got 0"),
    ],
)
def test_options_that_are_refused(options, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["regression", *options])
    with pytest.raises(SystemExit, match="2"):
        regression.main()
    assert message in capsys.readouterr().err
