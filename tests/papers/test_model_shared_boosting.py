"""S2's experiments run, and their tables follow from the runs."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_multilabel_classification

from fuselearn.papers import label_sharing_tables as tables
from fuselearn.papers import model_shared_boosting as s2

METHODS = list(s2.METHODS)
LOW = {"Baseline": np.full(4, 0.01)}


@pytest.fixture(scope="module")
def comparison():
    X, Y = make_multilabel_classification(n_samples=160, n_features=20, n_classes=4, random_state=0)
    return s2.compare_methods(
        X,
        Y,
        name="toy",
        label_names=["sky", "sea", "sand", "car"],
        runs=3,
        n_models=8,
        data_ratio=0.4,
        feature_ratio=0.3,
    )


@pytest.mark.long
def test_every_method_is_judged_on_every_split(comparison):
    assert len(comparison.runs) == 3
    for run in comparison.runs:
        assert list(run.precisions) == METHODS
        assert all(values.shape == (4,) for values in run.precisions.values())
        assert run.n_models == {
            "Baseline": 4,
            "Bagging": 40,
            "Subspace": 4,
            "RSBag": 8,
            "NSBoost": 8,
            "MSSBoost": 8,
        }
        assert run.sizes["Bagging"] > run.sizes["Baseline"] > run.sizes["Subspace"] > 0
        for name in s2.ENSEMBLES:
            assert_allclose(run.curves[name][-1], run.precisions[name])
        assert run.ratios == (0.4, 0.3)
    assert comparison.curves("MSSBoost").shape == (3, 8)


@pytest.mark.long
def test_table_2(comparison):
    table = tables.method_table(comparison)
    assert list(table.column("method")) == METHODS
    assert_allclose(table.column("mean AP")[0], comparison.mean_precisions("Baseline").mean())
    assert all(seconds > 0 for seconds in table.column("fit, CPU s"))


def test_figure_5(comparison):
    table = tables.sharing_table(comparison, n_models=5)
    assert "after 5 models" in table.title
    assert_allclose(table.column("mean AP")[2], comparison.curves("MSSBoost")[:, 4].mean())
    assert table.column("p, paired t")[2] is None
    assert 0 <= table.column("p, paired t")[0] <= table.column("p, corrected")[0] <= 1


def test_figure_6(comparison):
    baseline, full, most = tables.speed_table(comparison).records()
    assert baseline["times faster"] == 1.0
    curve = comparison.curves("MSSBoost").mean(axis=0)
    for share, row in ((1.0, full), (0.9, most)):
        reached = curve >= share * baseline["mean AP"]
        if reached.any():
            assert row["models"] == np.argmax(reached) + 1
            assert_allclose(row["mean AP"], curve[reached][0])
        else:
            assert row["models"] is None
    easy = replace(comparison, runs=[replace(run, precisions=run.precisions | LOW) for run in comparison.runs])
    assert [row["models"] for row in tables.speed_table(easy).records()] == [None, 1, 1]


def test_figure_7(comparison):
    table = tables.label_table(comparison)
    assert sorted(table.column("label")) == ["car", "sand", "sea", "sky"]
    ahead = np.count_nonzero(np.array(table.column("MSSBoost")) > table.column("NSBoost"))
    assert f"MSSBoost is above NSBoost on {ahead} of 4 labels" in table.note


def test_figure_8(comparison):
    weights, sources = tables.sharing_matrix(comparison, n_models=5)
    assert weights.shape == (4, 5)
    assert set(sources) <= {"sky", "sea", "sand", "car"}
    assert_allclose(weights, comparison.runs[0].weights[:5].T)


def test_ratios_are_chosen_once_for_all_methods():
    X, Y = make_multilabel_classification(n_samples=80, n_features=8, n_classes=2, random_state=1)
    result = s2.compare_methods(X, Y, methods=("Subspace", "MSSBoost"), runs=1, n_models=3, random_state=3)
    assert list(result.runs[0].precisions) == ["Subspace", "MSSBoost"]
    assert all(0 < ratio <= 1 for ratio in result.runs[0].ratios)
    assert tables.method_table(result).column("± (95 %)") == (None, None)


@pytest.mark.long
def test_synthetic_curves():
    """S2 figure 4: about five shared stumps do what twelve do that are not shared."""
    curves = s2.synthetic_curves(runs=6, n_models=12)
    assert all(errors.shape == (6, 12) for errors in curves.values())
    table = s2.synthetic_table(curves)
    needed = dict(zip(table.column("method"), table.column("stumps to NSBoost's error of 12")))
    assert needed["NSBoost"] <= 12
    assert needed["MSSBoost"] <= 8
    means = {name: errors.mean(axis=0)[-1] for name, errors in curves.items()}
    assert means["MSSBoost"] < means["NSBoost"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": 0}, "runs must be an integer of at least 1; got 0"),
        ({"n_models": 0}, "n_models must be an integer of at least 1; got 0"),
        ({"methods": ("SVM",)}, "methods must be some of .*; got 'SVM'"),
    ],
)
def test_arguments_that_mean_nothing(arguments, message):
    with pytest.raises(ValueError, match=message):
        s2.compare_methods(np.zeros((4, 2)), np.eye(4, 2), **arguments)
