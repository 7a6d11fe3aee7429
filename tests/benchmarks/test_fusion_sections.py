"""Every section of `benchmarks.fusion` works, on tiny data."""

import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from benchmarks import (
    fusion,
    fusion_comparison,
    fusion_few,
    fusion_growth,
    fusion_large,
    fusion_methods,
    fusion_missing,
    fusion_partitions,
    fusion_protocols,
    out_of_core,
)
from benchmarks.command_line import Options
from benchmarks.data import interacting_views, real_views
from benchmarks.fusion_methods import OURS, Fitted
from benchmarks.fusion_sets import Objects, Split
from benchmarks.fusion_store import open_store
from fuselearn import FusionClassifier

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
QUICK = Options(quick=True)


@pytest.fixture(autouse=True)
def small_models(monkeypatch):
    """Let fusions have few base models, and forests few trees."""
    for module in (fusion_large, fusion_methods, fusion_missing, fusion_partitions, fusion_protocols):
        monkeypatch.setattr(module, "FusionClassifier", partial(FusionClassifier, max_fits=3))
    for module in (fusion_methods, fusion_protocols):
        monkeypatch.setattr(module, "RandomForestClassifier", partial(RandomForestClassifier, n_estimators=10))


@pytest.fixture
def tiny_sets(tmp_path, monkeypatch):
    """Write small files in the layout of the public sets, and let FUSELEARN_DATA name their folder."""
    rng = np.random.default_rng(0)

    def classes(n_rows, names):
        return np.array(names)[np.arange(n_rows) % len(names)]

    def view(y, n_columns):
        codes = np.unique(y, return_inverse=True)[1]
        return rng.normal(size=(len(y), n_columns)) + 2 * codes[:, None]

    def write(name, **arrays):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / f"{name}.npz", **arrays)

    y, y_test = classes(45, ["Basal", "Her2", "LumA"]), classes(12, ["Basal", "Her2", "LumA"])
    views = {f"view_{name}": view(y, width) for name, width in (("mrna", 5), ("mirna", 4), ("protein", 3))}
    tests = {"test_mrna": view(y_test, 5), "test_mirna": view(y_test, 4), "test_labels": y_test}
    write("breast_tcga", y=y, **views, **tests)
    y = classes(60, ["PS", "WS"])
    split = np.array(["Train", "Test"])[np.arange(60) // 30]
    write("cells", y=y, view_ch1=view(y, 3), view_ch2=view(y, 1)[:, 0], split=split)
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))


@pytest.fixture
def few_trees(monkeypatch):
    """Let LightGBM have few trees."""
    pytest.importorskip("lightgbm")
    trees = {name: setting | {"n_estimators": 3} for name, setting in fusion_large.TREES.items()}
    monkeypatch.setattr(fusion_large, "TREES", trees)


def test_classes_of_interacting_views_follow_their_chances():
    X, y, views, chances = interacting_views(4_000, seed=0)
    assert X.shape == (4_000, 40)
    assert [view.stop for view in views.values()] == [12, 32, 40]
    assert abs(np.mean(y[chances > 0.7]) - chances[chances > 0.7].mean()) < 0.03
    absent = np.column_stack([np.isnan(X[:, view]).all(axis=1) for view in views.values()])
    assert np.allclose(absent.mean(axis=0), [0.05, 0.15, 0.3], atol=0.03)
    assert not absent.all(axis=1).any()
    assert np.array_equal(interacting_views(4_000, seed=0)[0], X, equal_nan=True)


def test_real_views_have_a_slice_each(tiny_sets):
    X, y, views, extra = real_views("cells")
    assert X.shape == (60, 4)
    assert views == {"ch1": slice(0, 3), "ch2": slice(3, 4)}
    assert set(y) == {0, 1}
    assert list(extra) == ["split"]
    with pytest.raises(FileNotFoundError, match="no_such_set"):
        real_views("no_such_set")


@pytest.mark.parametrize("method", fusion_large.METHODS)
def test_large_measures_a_fit(method, few_trees, monkeypatch):
    monkeypatch.setattr(fusion_large, "N_PREDICTED", 500)
    measured = fusion_large.measure("interacting", 300, "wrong", 0, method)
    beside = fusion_large.SINGLE if method == OURS else ()
    assert set(measured) == {*fusion_large.MEASURES, *beside, "source"}
    assert 0.3 < measured["auc"] <= 1
    assert measured["fit"] > 0 < measured["predict"]


def _figures(auc, log_loss, fit=1.0, predict=1.0):
    alike = dict.fromkeys((*fusion_large.MEASURES, *fusion_large.SINGLE), 1.0)
    return alike | {"auc": auc, "log_loss": log_loss, "fit": fit, "predict": predict, "source": "now"}


def test_large_says_which_targets_are_met():
    cells = [("movies", 20_000, "clean"), ("movies", 20_000, "wrong")]
    means = {}
    for cell, lead in zip(cells, (0.02, -0.004)):
        means[cell, OURS] = _figures(0.8 + lead, 0.3, fit=20.0, predict=5.0)
        means[cell, fusion_large.FIRST] = _figures(0.8, 0.4, fit=2.0)
        means[cell, fusion_large.SECOND] = _figures(0.7, 0.2)
        means[cell, fusion_large.STACKED] = _figures(0.8, 0.3, fit=80.0)
    text = "\n".join(fusion_large.verdicts(cells, means))
    assert "mean of the real sets: target ≥ 0.5, measured 0.8: met" in text
    assert "Worst cell: target ≥ -0.3, measured -0.4: **missed**" in text
    assert "target ≤ 0, measured 1: **missed** (movies, 20,000, clean)" in text
    assert "in fits of LightGBM: target ≤ 25, measured 20: met" in text
    assert "in times of the stack: target ≤ 1, measured 0.5: met" in text
    assert "in times LightGBM's: target ≤ 10, measured 5: met" in text


def test_large_keeps_peers_and_fits_a_changed_fusion_again(few_trees, monkeypatch, tmp_path):
    source, fitted = ["now"], []

    def fit(*arguments):
        fitted.append(arguments[-1])
        return _figures(0.8, 0.3) | {"source": source[0]}

    monkeypatch.setattr(fusion_large, "in_new_process", fit)
    monkeypatch.setattr(fusion_large, "source_of_ours", lambda: source[0])
    keep = tmp_path / "kept.jsonl"
    fusion_large.report(QUICK, keep, only_peers=True)
    assert len(fitted) == 6
    assert OURS not in fitted
    fitted.clear()
    assert "FusionClassifier" in fusion_large.report(QUICK, keep)
    assert fitted == [OURS, OURS]
    fitted.clear()
    fusion_large.report(QUICK, keep)
    assert fitted == []
    source[0] = "later"
    fusion_large.report(QUICK, keep, cell=("interacting", "2000", "clean"))
    assert fitted == [OURS]


@pytest.mark.long
def test_comparison_reports_accuracy_and_calibration():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3 == 0
    objects = Objects({name: rng.normal(size=(90, 4)) + y[:, None] for name in ("one", "two")}, y.astype(int))
    fitters = {name: fusion_methods.methods()[name] for name in (OURS, "SVM late fusion", "random forest")}
    results = fusion_comparison.measure(
        {"drawn": {"drawn": objects}}, 2, open_store(None, "test"), regimes=("clean", "common"), fitters=fitters
    )
    assert results.scores.shape == results.accuracies.shape == (3, 1, 2, 2)
    assert results.accuracies[:, 0, 0].min() > 60
    assert np.isnan(results.errors[1]).all()
    assert np.all((results.errors[[0, 2]] > 0) & (results.errors[[0, 2]] < 0.5))
    assert np.all(results.errors_by_chance[0] < 0.2)
    table = fusion_comparison.accuracy_part(results)[1]
    assert table.count("\n") == 4
    assert "| SVM late fusion |" in table


def test_calibration_of_a_set_pools_its_runs():
    cell = {"n_test": 10, "gaps": [1.0, -2.0], "variances": [np.pi / 2, 0.0], "gaps_as_given": [3.0, 0.0]}
    error, by_chance, as_given = fusion_comparison._calibration([[cell], [cell | {"gaps": [-1.0, -2.0]}]])
    assert error == pytest.approx(4 / 20)
    assert by_chance == pytest.approx(np.sqrt(2) / 20)
    assert as_given == pytest.approx(6 / 20)


def test_calibration_by_labels_as_given_is_that_of_labels_as_wrong_as_those_of_training():
    y = np.arange(60) % 2
    X = y[:, None].astype(float)
    rows = Split(X[:40], y[:40], X[40:], y[40:], {"one": slice(0, 1)})

    def sure_of_seven_tenths(X, labels, views, seed):
        return Fitted(*2 * [lambda rows: rows[:, 0].astype(int)], lambda rows: 0.3 + 0.4 * np.hstack([1 - rows, rows]))

    results = fusion_comparison.measure(
        {"drawn": {"drawn": Objects({"one": X}, y)}},
        1,
        open_store(None, "test"),
        regimes=("common",),
        prepare=lambda objects, run: rows,
        fitters={"sure": sure_of_seven_tenths},
    )
    assert results.errors == pytest.approx(0.3)
    assert results.errors_as_given == pytest.approx(0.0, abs=1e-12)


@pytest.mark.long
def test_few_compares_on_all_columns(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    noisy = fusion_few.with_noise(lambda: Objects({"one": rng.normal(size=(60, 3)) + 2 * y[:, None]}, y))
    assert noisy.tables["one"].shape == (60, 203)
    monkeypatch.setattr(fusion_few, "SETS", {"drawn": lambda: noisy, "absent": lambda: real_views("absent")})
    monkeypatch.setattr(fusion_few, "QUICK", ("drawn", "absent"))
    monkeypatch.setattr(fusion_few, "LEFT_OUT", ("XGBoost", "LightGBM", "LightGBM stacking"))
    text = fusion_few.report(QUICK, tmp_path / "kept.jsonl")
    assert "could not be loaded: absent" in text
    assert "SVM late fusion" in text
    assert "Peers" in fusion_few.report(QUICK, tmp_path / "kept.jsonl", only_peers=True)


def test_dropped_views_are_as_many_as_asked_for():
    rng = np.random.default_rng(0)
    X, views = rng.normal(size=(50, 6)), {"a": slice(0, 1), "b": slice(1, 3), "c": slice(3, 6)}
    holed, kept = fusion_missing.drop_views(X, views, 0.6, rng)
    assert np.sum(~kept) == 90
    assert kept.any(axis=1).all()
    for number, view in enumerate(views.values()):
        assert np.array_equal(np.isnan(holed[:, view]).all(axis=1), ~kept[:, number])


def test_missing_has_no_figure_where_too_few_rows_are_complete(tiny_sets, tmp_path):
    text = fusion_missing.report(QUICK, tmp_path / "kept.jsonl")
    lines = [line for line in text.splitlines() if line.startswith("| breast_tcga")]
    assert [line.split("|")[2].strip() for line in lines[:3]] == ["accuracy", "log loss", "ECE"]
    assert lines[0].startswith("| breast_tcga, FusionClassifier |")
    assert all("–" in line for line in lines[3:6])
    assert not any("–" in line for line in lines[:3])
    assert fusion_missing.report(QUICK, tmp_path / "kept.jsonl") == text


def test_protocols_stand_beside_published_figures(tiny_sets, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    data = tmp_path / "package" / "data"
    data.mkdir(parents=True)
    lines = [f"{name},{value + rng.normal()},{rng.normal()}" for name, value in [("a", 0), ("b", 5)] * 20]
    (data / "htad.csv").write_text("\n".join(["class,v1_x,v2_y", *lines]) + "\n")
    package = SimpleNamespace(origin=str(tmp_path / "package" / "__init__.py"))
    monkeypatch.setattr(fusion_protocols, "find_spec", lambda name: package)
    monkeypatch.setattr(fusion_protocols, "_stacks_of_the_package", lambda views, seed: {})
    text = fusion_protocols.report(QUICK)
    assert "| DIABLO 0.068 | FusionClassifier | 0." in text
    assert "| multiviewstacking 0.935 | FusionClassifier |" in text
    assert "| cells, AUC |" in text


def test_protocols_without_data_say_so(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    monkeypatch.setattr(fusion_protocols, "find_spec", lambda name: None)
    text = fusion_protocols.report(QUICK)
    assert "not found: breast_tcga, cells" in text
    assert "HTAD, which comes with multiviewstacking" in text


@pytest.mark.long
def test_growth_measures_time_and_memory(monkeypatch, few_trees):
    monkeypatch.setattr(fusion_growth, "N_TEST", 200)
    monkeypatch.setattr(fusion_growth, "QUICK_SIZES", (100, 200))
    monkeypatch.setattr(fusion_growth, "in_new_process", fusion_growth.measure)
    text = fusion_growth.report(QUICK)
    assert "| 200 |" in text
    assert "Time of a fit grows as: FusionClassifier n^" in text


def test_rows_in_memory_are_measured_beside_those_of_a_cluster(monkeypatch):
    monkeypatch.setattr(fusion_partitions, "N_TEST", 50)
    here = fusion_partitions.measure_memory(200, 1)
    assert len(here["probabilities"]) == 50
    shifted = here | {"probabilities": [value + 0.25 for value in here["probabilities"]]}
    monkeypatch.setattr(fusion_partitions, "in_new_process", lambda what, *_: here if what == "memory" else shifted)
    assert "measured 0.25: **missed**" in fusion_partitions.cluster_report(QUICK)


def test_files_are_fitted_and_predicted(monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(out_of_core, "ROWS_A_FILE", 200)
    out_of_core.write_rows(tmp_path, 600)
    measured = fusion_partitions.measure_files(tmp_path)
    assert measured["accuracy"] > 0.6
    assert measured["seconds"] > 0 < measured["predict"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--few", "--cell", "movies", "20000", "clean"], "--cell belongs to --large"),
        (["--missing", "--peers"], "--peers belongs to"),
        (["--protocols", "--keep", "kept.jsonl"], "--keep does not belong to protocols"),
        (["--beyond", "dask", "--keep", "kept.jsonl"], "--keep does not belong to dask"),
    ],
)
def test_options_that_a_section_does_not_have(options, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fusion", *options])
    with pytest.raises(SystemExit, match="2"):
        fusion.main()
    assert message in capsys.readouterr().err
