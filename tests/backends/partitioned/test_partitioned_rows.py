"""Fits on a Dask cluster equal those in memory, however the rows are partitioned."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier
from fuselearn.boosting import base
from fuselearn.learners import Stump, Tree

pytest.importorskip("distributed")
from fuselearn.backends.partitioned import cluster_workers, dask_worker
from tests.backends.partitioned.partition_problems import (
    NUMBERED,
    X,
    after_round,
    assert_equal_models,
    assert_nothing_is_held,
    in_chunks,
    make_rows,
    y,
)

CASES = {
    "naive Bayes": (ShareBoostClassifier(), 2, {}),
    "naive Bayes of three classes": (ShareBoostClassifier(), 3, {"sample_weight", "view_labels"}),
    "stumps": (ShareBoostClassifier("stump"), 2, {"sample_weight"}),
    "stumps of three classes": (ShareBoostClassifier(["stump", Stump("gini", max_bins=16)]), 3, {"view_labels"}),
    "trees": (ShareBoostClassifier(Tree(max_depth=3, impurity_tolerance=0)), 3, {}),
    "linear": (ShareBoostClassifier("linear"), 2, {}),
    "bandit": (ShareBoostClassifier(["stump", "gaussian_nb"], view_policy="exp3p"), 2, {}),
    "round robin": (ShareBoostClassifier("tree", view_policy="round_robin", learning_rate=0.5), 2, {"view_labels"}),
    "independent": (IndependentBoostClassifier("stump"), 2, {"sample_weight"}),
    "independent naive Bayes": (IndependentBoostClassifier(), 3, {}),
    "BSSD": (ShareBoostClassifier("stump", resample=True), 2, {"sample_weight"}),
    "BSSD of naive Bayes": (ShareBoostClassifier(resample=True), 3, {}),
    "BSSD of trees out of bag": (
        ShareBoostClassifier(Tree(None, 0.02, pruning_confidence=0.25), resample=True, error="out_of_bag"),
        2,
        {"view_labels"},
    ),
    "BISD": (IndependentBoostClassifier(["stump", "linear"], resample=True, error="out_of_bag"), 2, {}),
}


QUICK = ("naive Bayes of three classes", "trees", "linear", "bandit", "independent", "BSSD", "BISD")


@pytest.mark.thinned(2)
@pytest.mark.parametrize("case", [pytest.param(c, marks=() if c in QUICK else pytest.mark.long) for c in CASES])
def test_a_cluster_gives_the_local_model(case, client):
    model, n_classes, named = CASES[case]
    model = clone(model).set_params(views=NUMBERED, n_estimators=5, random_state=5)
    X, y, weights, rng = make_rows(n_classes=n_classes)
    view_labels = np.column_stack([np.where(rng.random(len(y)) < 0.1, rng.permutation(y), y) for _ in range(3)])
    beside = {"sample_weight": weights, "view_labels": view_labels}
    beside = {name: values for name, values in beside.items() if name in named}
    local = pickle.loads(pickle.dumps(model.fit(X, y, **beside)))
    before = None
    for n_partitions in (1, 5):
        chunks = in_chunks(n_partitions, X, y, *beside.values())
        now = pickle.loads(pickle.dumps(model.fit(*chunks[:2], **dict(zip(beside, chunks[2:])))))
        assert_equal_models(now, local, exact=False)
        assert_allclose(now.decision_function(X), local.decision_function(X), rtol=0, atol=1e-9)
        if before is not None:
            # Sums of weights are exact, so the votes do not depend on the partitions at all.
            assert_array_equal(now.estimator_weights_, before.estimator_weights_)
            trees = not any(name in case for name in ("Bayes", "linear", "bandit", "BISD"))
            assert_equal_models(now, before, exact=trees)
        before = now
    assert_nothing_is_held()


def test_partitions_that_are_lost_draw_the_same_rows_again(client, monkeypatch):
    X, y, _, _ = make_rows(400)
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=5, resample=True, error="out_of_bag")
    model.set_params(random_state=0)
    local = pickle.loads(pickle.dumps(model.fit(X, y)))
    lost = []

    def lose_all():
        lost.extend(dask_worker.RUNS)
        dask_worker.RUNS.clear()

    after_round(3, lose_all, monkeypatch)
    assert_equal_models(model.fit(*in_chunks(3, X, y)), local, exact=False)
    assert lost


@pytest.mark.parametrize("kind", [ShareBoostClassifier, IndependentBoostClassifier])
def test_a_view_without_errors_is_set_aside(kind, client):
    X, y, weights, _ = make_rows(300)
    X[:, 0] = y == "no"
    model = kind("stump", views={"a": [0], "b": [3, 4, 5], "c": [1, 2]}, n_estimators=4, random_state=0)
    local = pickle.loads(pickle.dumps(model.fit(X, y, sample_weight=weights)))
    assert local.winning_arms_[0] == 0
    assert (local.winning_arms_[1:] > 0).all()
    chunks = in_chunks(3, X, y, weights)
    assert_equal_models(model.fit(chunks[0], chunks[1], sample_weight=chunks[2]), local, exact=False)


@pytest.mark.long
@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_partitions_and_workers_do_not_matter(n_workers, client, monkeypatch):
    update = cluster_workers.Workers.update
    monkeypatch.setattr(
        cluster_workers.Workers, "update", lambda self, workers: update(self, dict(sorted(workers.items())[:n_workers]))
    )
    model = ShareBoostClassifier(
        Tree(max_depth=2, impurity_tolerance=0), views=NUMBERED, n_estimators=2, random_state=0
    )
    local = pickle.loads(pickle.dumps(model.fit(X, y)))
    first = pickle.loads(pickle.dumps(model.fit(*in_chunks(1, X, y))))
    assert_equal_models(first, local, exact=False)
    for n_partitions in (2, 7, 16):
        assert_equal_models(model.fit(*in_chunks(n_partitions, X, y)), first, exact=True)


@pytest.mark.long
def test_a_warm_start_and_a_checkpoint(client, tmp_path, monkeypatch):
    model = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=6, random_state=0)
    chunks = in_chunks(3, X, y)
    whole = pickle.loads(pickle.dumps(model.fit(*chunks)))
    warm = ShareBoostClassifier("stump", views=NUMBERED, n_estimators=3, random_state=0, warm_start=True).fit(*chunks)
    assert_equal_models(warm.set_params(n_estimators=6).fit(*chunks), whole, exact=True)
    assert warm.trace_.one_data_set
    original = base.boost

    def stopped(rows, one_round, trace, n_rounds, report):
        original(rows, one_round, trace, 4, report)
        raise MemoryError

    monkeypatch.setattr(base, "boost", stopped)
    with pytest.raises(MemoryError):
        model.fit(*chunks, checkpoint=tmp_path / "log")
    assert_nothing_is_held()
    monkeypatch.setattr(base, "boost", original)
    # Also when the partitions are others by then.
    assert_equal_models(model.fit(*in_chunks(4, X, y), checkpoint=tmp_path / "log"), whole, exact=True)
    with pytest.raises(ValueError, match="is the log of another run: content of X was"):
        model.fit(*in_chunks(3, X[::-1], y), checkpoint=tmp_path / "log")
