"""The noise studies: sets that stand in for the papers', methods on the same splits, and data that is missing."""

from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config
from matplotlib.figure import Figure
from sklearn.metrics.pairwise import linear_kernel

from fuselearn.evaluation.cells import Protocol
from fuselearn.papers import noise_study, paired_runs
from fuselearn.papers.noise_study import S0_CLEAN_METHODS, S0_METHODS, S1_METHODS, methods_for, quadratic_kernel
from fuselearn.papers.paired_runs import ViewSet, score_methods
from fuselearn.papers.verdicts import UNTESTED, Effort


@pytest.mark.long
def test_noise_study_names_what_was_left_out(monkeypatch):
    def absent():
        raise FileNotFoundError("not here")

    def two_views():
        digits = paired_runs._digits()
        return replace(digits, views=dict(list(digits.views.items())[:2]))

    monkeypatch.setattr(paired_runs, "LOADERS", {"mfeat": absent, "digits": two_views})
    outcome = noise_study.run_shareboost(Effort(quick=True, runs=2))
    assert outcome.missing == {"mfeat": "not here"}
    assert set(outcome.tables[0].column("method")) == {*S1_METHODS, "SVM-MV, raw", "Stacking, raw"}
    assert "AdaBoost-Ca, one view's labels" in outcome.tables[1].column("method")
    on_its_own_data = [finding for finding in outcome.findings if "its own data" in finding.claim]
    assert [finding.verdict for finding in on_its_own_data] == [UNTESTED]
    for draw in outcome.figures.values():
        draw(Figure())


def test_groups_stay_on_one_side():
    groups = np.repeat(np.arange(10), 6)
    y = (groups % 3 == 0).astype(int)
    protocol = Protocol(3, 0.6)
    splits = [protocol.splits(y, number, 0, groups)[0] for number in range(3)]
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert set(y[train]) == set(y[test]) == {0, 1}
    assert not np.array_equal(splits[0][0], splits[1][0])


def test_machines_are_standardised_but_for_components():
    X = np.random.default_rng(0).normal(size=(60, 4))
    views = {"a": np.array([0, 1]), "b": np.array([2, 3])}
    y = (X[:, 0] + X[:, 2] > 0).astype(int)
    plain, components = (ViewSet("made up", X, y, views, components=flag) for flag in (False, True))
    assert hasattr(plain.svm(), "steps")
    assert not hasattr(components.svm(), "steps")
    assert [method.name for method in methods_for(plain, S0_METHODS)] == list(S0_METHODS)
    assert [method.name for method in methods_for(plain, S0_CLEAN_METHODS)] == list(S0_CLEAN_METHODS)
    chosen = methods_for(plain, ["BSSD", "MV", "AdaBoost-Ca"])
    clean = score_methods(plain, chosen, runs=2, effort=Effort(), rounds=5)
    noisy = score_methods(plain, chosen, runs=2, effort=Effort(), rounds=5, noise=0.3)
    assert list(clean.by_method) == ["BSSD", "MV", "AdaBoost-Ca"]
    assert list(noisy.by_method) == [*clean.by_method, "AdaBoost-Ca, one view's labels"]
    with parallel_config(backend="threading"):  # processes take seconds to start
        same = score_methods(plain, chosen, runs=2, effort=Effort(n_jobs=2), rounds=5)
    for name, values in clean.by_method.items():
        np.testing.assert_array_equal(values, same.by_method[name])


def test_sdp_has_the_kernels_that_s0_names():
    """(x·y + 1)² for Poly, x·y for Linear, the Gaussian for the others."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(quadratic_kernel(X, Y), [[(x @ y + 1) ** 2 for y in Y] for x in X])
    y = np.arange(60) % 2
    table = rng.normal(size=(60, 8)) + y[:, None]
    data = ViewSet("made up", table, y, {"a": [0, 1], "b": [2, 3], "c": [4, 5], "d": [6, 7]})
    [method] = methods_for(data, ["SDP, Poly Linear Gauss"])
    model = method.make(data.views, 1)
    assert model.kernel == {"a": quadratic_kernel, "b": linear_kernel, "c": "rbf", "d": "rbf"}
    assert model.fit(table, y).score(table, y) > 0.8
