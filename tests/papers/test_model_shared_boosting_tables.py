"""S2's tables: what is timed, and what is counted."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.datasets import make_multilabel_classification

from fuselearn.papers import label_sharing_tables as tables
from fuselearn.papers import model_shared_boosting as s2


@pytest.fixture(scope="module")
def comparison():
    X, Y = make_multilabel_classification(n_samples=160, n_features=20, n_classes=4, random_state=0)
    settings = {"data_ratio": 0.4, "feature_ratio": 0.3}
    return s2.compare_methods(X, Y, methods=list(s2.ENSEMBLES), runs=3, n_models=8, **settings)


def with_label_precisions(comparison, label, value):
    """The comparison with another precision of one label, in all runs and methods."""

    def changed(run):
        precisions = {name: np.where(np.arange(4) == label, value, kept) for name, kept in run.precisions.items()}
        return replace(run, precisions=precisions)

    return replace(comparison, runs=[changed(run) for run in comparison.runs])


@pytest.mark.long
def test_every_number_of_models_is_timed(comparison):
    for run in comparison.runs:
        assert run.stage_seconds.shape == (8,)
        assert (run.stage_seconds > 0).all()


@pytest.mark.parametrize("value", [np.nan, 0.5])
def test_a_label_without_a_difference_is_no_loss(comparison, value):
    """Neither one that no test row has, nor a tie: the sign test is over the other three."""
    changed = with_label_precisions(comparison, 1, value)
    ours, theirs = (changed.label_precisions(name) for name in ("MSSBoost", "NSBoost"))
    ahead = np.count_nonzero(np.delete(ours > theirs, 1))
    n_labels = 3 if np.isnan(value) else 4
    p_value = stats.binomtest(ahead, 3).pvalue
    note = tables.label_table(changed).note
    assert f"MSSBoost is above NSBoost on {ahead} of {n_labels} labels (sign test, p = {p_value:.4f})" in note


def test_labels_that_some_runs_lack(comparison):
    first, *others = comparison.runs
    gone = {name: np.where(np.arange(4) == 2, np.nan, kept) for name, kept in first.precisions.items()}
    changed = replace(comparison, runs=[replace(first, precisions=gone), *others])
    expected = np.mean([run.precisions["MSSBoost"][2] for run in others])
    assert_allclose(changed.label_precisions("MSSBoost")[2], expected)


def test_runs_with_the_models_of_others_are_counted(comparison):
    first, *others = comparison.runs
    own = np.zeros_like(first.weights)
    own[np.arange(len(own)), first.sources] = 1.0
    table = tables.label_table(replace(comparison, runs=[replace(first, weights=own), *others]))
    counted = dict(zip(table.column("label"), table.column("runs with others' models")))
    for label in range(4):
        borrowed = [np.any((run.weights[:, label] != 0) & (run.sources != label)) for run in others]
        assert counted[f"label{label}"] == sum(borrowed)
