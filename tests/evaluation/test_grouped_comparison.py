"""Comparisons of rows that come in groups: no group is on both sides of a split."""

import functools
import importlib

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.svm import SVC

from fuselearn import FusionClassifier, ViewStackingClassifier, compare
from fuselearn.evaluation import cells
from fuselearn.evaluation.cells import PROTOCOLS, Protocol

VIEWS = {"left": slice(0, 6), "right": slice(6, 13)}
GROUPS = np.repeat(np.arange(20), 9)[:178]
"""Nine wines in a row to a group; the wines are sorted by class, so that most groups have one class."""


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def run(wine, **settings):
    X, y = wine
    defaults = {"views": VIEWS, "methods": ["mkl_uniform"], "runs": 2, "random_state": 0, "groups": GROUPS}
    return compare(X, y, **{**defaults, **settings})


@pytest.mark.parametrize(
    "protocol", [*PROTOCOLS.values(), Protocol(runs=1, train_size=0.3), Protocol(runs=1, folds=5)], ids=repr
)
def test_no_group_is_on_both_sides(wine, protocol):
    _, y = wine
    for number in range(5):
        splits = protocol.splits(y, number, 3, GROUPS)
        assert len(splits) == (protocol.folds or 1)
        for train, test in splits:
            assert not set(GROUPS[train]) & set(GROUPS[test])
            assert len(train) + len(test) == len(y)
            assert set(y[train]) == set(y[test]) == {0, 1, 2}
        again = protocol.splits(y, number, 3, GROUPS)
        for split, repeated in zip(splits, again, strict=True):
            np.testing.assert_array_equal(split[0], repeated[0])
    other = protocol.splits(y, 7, 3, GROUPS)
    assert any(not np.array_equal(split[1], moved[1]) for split, moved in zip(splits, other))


@pytest.mark.parametrize("protocol", [Protocol(runs=1, train_size=0.6), Protocol(runs=1, folds=2)], ids=repr)
def test_classes_of_few_groups_are_on_both_sides(protocol):
    """Of ten classes each is in two groups only: a draw that keeps all of them on both sides is rare, but there."""
    groups = np.arange(40) // 2
    y = (np.arange(40) // 4) % 6
    for number in range(3):
        for train, test in protocol.splits(y, number, 0, groups):
            assert set(y[train]) == set(y[test]) == set(y)


def test_splits_of_a_comparison_are_grouped(wine):
    X, _ = wine
    rows_of = {tuple(row): number for number, row in enumerate(X)}
    seen = []

    class Spy(SVC):
        def fit(self, X, y):
            seen.append({GROUPS[rows_of[tuple(row)]] for row in X})
            return super().fit(X, y)

        def score(self, X, y):
            assert not seen[-1] & {GROUPS[rows_of[tuple(row)]] for row in X}
            return super().score(X, y)

    result = run(wine, methods={"svm": Spy()}, scoring=lambda model, X, y: model.score(X, y))
    assert len(seen) == 2
    assert all(len(groups) == 12 for groups in seen)
    assert "with 20 groups kept together" in result.summary.note


def test_methods_that_take_groups_get_them(wine):
    given = {}

    class Spy(FusionClassifier):
        def fit(self, X, y, sample_weight=None, view_labels=None, groups=None):
            given["groups"], given["rows"] = groups, len(X)
            return super().fit(X, y, sample_weight, view_labels, groups)

    methods = {"fusion": Spy(learners=["linear"], consensus=False)}
    run(wine, methods=methods, runs=1)
    assert len(given["groups"]) == given["rows"]
    assert 1 < len(set(given["groups"])) == 12
    run(wine, methods=methods, runs=1, groups=None)
    assert given["groups"] is None


@pytest.mark.parametrize(
    ("method", "module", "name"),
    [
        ("stacking", "fuselearn.ensembles", "ViewStackingClassifier"),
        ("super_kernel", "fuselearn.ensembles", "SuperKernelClassifier"),
        ("svm_sum", "fuselearn.consensus", "LabelConsensus"),
    ],
)
def test_named_methods_and_consensus_get_groups(wine, monkeypatch, method, module, name):
    estimator = getattr(importlib.import_module(module), name)
    fit, given = estimator.fit, []

    @functools.wraps(fit)
    def spy(self, *arguments, **settings):
        given.append(settings.get("groups"))
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(estimator, "fit", spy)
    result = run(wine, methods=[method], runs=1, consensus=name == "LabelConsensus")
    assert result.scores.min() > 0.5
    assert [len(set(groups)) for groups in given] == [12]


def test_a_view_alone_has_the_groups_of_the_rows_that_have_it(wine):
    X, y = wine
    X = X.copy()
    X[::3, :6] = np.nan
    result = compare(
        X, y, views=VIEWS, methods=["view:left"], consensus=True, runs=1, random_state=0, groups=GROUPS, noise=0.1
    )
    assert result.scores.min() > 0.4


def test_names_of_groups_do_not_matter(wine):
    numbers, names = run(wine), run(wine, groups=[f"batch {number}" for number in GROUPS])
    np.testing.assert_array_equal(numbers.scores, names.scores)
    assert not np.array_equal(numbers.scores, run(wine, groups=None).scores)


def test_without_groups_nothing_changes(wine):
    _, y = wine
    splits = Protocol(runs=1, train_size=0.6).splits(y, 0, 5)
    np.testing.assert_array_equal(splits[0][0], Protocol(runs=1, train_size=0.6).splits(y, 0, 5, None)[0][0])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:5], r"groups must have one entry for each of the 178 rows of X; got shape \(5,\)"),
        (GROUPS[:, None], r"groups must have one entry for each of the 178 rows of X; got shape \(178, 1\)"),
        ([None, *GROUPS[1:]], "groups has no value for row 0"),
        (np.where(GROUPS == 3, np.nan, GROUPS), "groups has no value for row 27"),
        ([{}, *GROUPS[1:]], "groups must hold numbers or names"),
        (np.zeros(178), "groups puts all rows of X that count into one group"),
        (load_wine().target, "groups has the class 0 in 1 group only; a comparison needs each class in at least 2"),
    ],
)
def test_bad_groups(wine, groups, message):
    with pytest.raises(ValueError, match=message):
        run(wine, groups=groups)


def test_a_class_of_fewer_groups_than_folds(wine):
    _, y = wine
    groups = np.where(y == 1, np.arange(178) % 2, 2 + np.arange(178) % 30)
    with pytest.raises(ValueError, match=r"groups has the class 1 in 2 groups only; .* in at least 3 groups"):
        run(wine, groups=groups, protocol="tomographic")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"methods": ["mkl_uniform", "stacking"]}, "about 4 are trained on; stacking makes 5 folds of them"),
        ({"methods": ["tuned_stacking"]}, "about 4 are trained on; tuned_stacking makes 5 folds of them"),
        ({"consensus": True}, "about 4 are trained on; consensus makes 5 folds of them"),
        ({"methods": {"stack": ViewStackingClassifier(SVC(), cv=7)}, "train_size": 0.75}, "about 6 .*; stack makes 7"),
    ],
)
def test_fewer_groups_than_a_method_makes_folds_of(wine, settings, words):
    with pytest.raises(ValueError, match=f"groups has 8 groups, of which {words}"):
        run(wine, groups=np.arange(178) % 8, **settings)


def test_as_many_groups_as_a_method_makes_folds_of(wine):
    result = run(wine, groups=np.arange(178) % 9, methods=["stacking", "svm_sum"], runs=1)
    assert result.scores.min() > 0.5


def test_groups_that_no_split_can_divide(monkeypatch):
    """Three groups of two classes each: whichever way they are dealt, a class is on one side only."""
    monkeypatch.setattr(cells, "GROUP_DRAWS", 20)
    y = np.array([0, 1, 1, 2, 2, 0] * 10)
    groups = np.array([0, 0, 1, 1, 2, 2] * 10)
    for protocol in (Protocol(runs=1, train_size=0.6), Protocol(runs=1, folds=2)):
        with pytest.raises(ValueError, match="groups allows no split with every class on both sides, in 20 draws"):
            protocol.splits(y, 0, 0, groups)


def test_resume_with_other_groups_is_another_comparison(wine, tmp_path):
    path = tmp_path / "cells.jsonl"
    first = run(wine, runs=1, resume=path)
    np.testing.assert_array_equal(run(wine, runs=1, resume=path).scores, first.scores)
    for groups in (None, GROUPS[::-1] % 7):
        with pytest.raises(ValueError, match="a comparison with groups = "):
            run(wine, runs=1, resume=path, groups=groups)
    plain = tmp_path / "plain.jsonl"
    run(wine, runs=1, resume=plain, groups=None)
    with pytest.raises(ValueError, match="a comparison with groups = None"):
        run(wine, runs=1, resume=plain)
