"""Every claim of the papers that the data can test is judged, by the kernels and labels that the papers have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn.papers import label_sharing, noise_study
from fuselearn.papers.experiments import EXPERIMENTS
from tests.papers.full_runs import full_outcome

CLAIMS = {
    "bssd-noise": [
        "S0 §5.4: AdaBoost-Ca is the worst of three: AdaBoost-MV is above it on clean labels",
        "S0 §5.4: AdaBoost-Ca is the worst of three: AdaBoost-MV is above it with 10 to 30 % (their mean) wrong labels",
        "S0 §5.4: BSSD stays on top: it is above AdaBoost-MV on clean labels",
        "S0 §5.4: BSSD stays on top: it is above AdaBoost-Ca on clean labels",
    ],
    "shareboost-noise": [
        f"S1 table 1: on clean labels, {boosted} is above {rival}"
        for boosted in ("ShareBoost", "rShareBoost")
        for rival in ("iBoost", "AdaBoost-MV", "AdaBoost-Ca", "SDP", "SVM-MV", "SVM-MV, raw", "Stacking")
    ],
    "shared-models": [
        f"S2 table 2: MSSBoost is above {rival}"
        for rival in ("one SVM per label on all rows", "ten bagged SVMs per label", "one base model per label")
    ],
    "unmatched-halves": [
        *(f"S4 table 2: fusion S4's way is better than feature set {number} alone" for number in (1, 2)),
        *(
            f"S4 table 1: on its own training items, S4's way is better than {rival}"
            for rival in (
                "feature set 1 alone on its own",
                "feature set 2 alone on its own",
                "true matches on theirs",
            )
        ),
    ],
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_of_the_papers_are_judged(name, monkeypatch):
    judged = [finding.claim for finding in full_outcome(name, monkeypatch).findings]
    assert set(CLAIMS[name]) <= set(judged)
    assert len(set(judged)) == len(judged)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_claims(name, monkeypatch):
    outcome = full_outcome(name, monkeypatch)
    assert outcome.findings
    assert not outcome.missing


def test_the_labels_of_each_set_are_tested_by_themselves(monkeypatch):
    """S2 figure 7: a set with many labels does not outvote the others."""
    counts = {"cal500": (60, 18, 78), "made up": (0, 10, 10)}
    monkeypatch.setattr(label_sharing, "labels_ahead", lambda data, rival: counts.get(data.name, (3, 3, 6)))
    findings = {finding.claim: finding for finding in full_outcome("shared-models", monkeypatch).findings}
    for rival in ("NSBoost", "RSBag"):
        finding = findings[label_sharing.REAL_CLAIMS[f"labels {rival}"]]
        assert finding.verdict == "not shown"
        assert "made up 0 of 10 (p = 0.002*)" in finding.evidence


def test_kernels_of_sdp_are_as_printed():
    """S0: (x·y + 1)² and x·y, about the origin."""
    rng = np.random.default_rng(0)
    X, Y = 5 + rng.normal(size=(4, 3)), rng.normal(size=(6, 3))
    make = noise_study._sdp_with(noise_study.SDP_KERNELS["SDP, Poly Linear Gauss"])
    kernels = make({name: [column] for column, name in enumerate("abcd")}, 150).kernel
    assert_allclose(kernels["a"](X, Y), (X @ Y.T + 1) ** 2)
    assert_allclose(kernels["b"](X, Y), X @ Y.T)
    assert (kernels["c"], kernels["d"]) == ("rbf", "rbf")
