"""Verdicts follow from the scores."""

import numpy as np
import pytest

from fuselearn.evaluation.leaderboard import half_interval, interval, paired_tests
from fuselearn.papers.verdicts import (
    HOLDS,
    NOT_SHOWN,
    REFUTED,
    UNTESTED,
    Effort,
    Finding,
    Pair,
    interval_text,
    judge,
    judge_number,
    judge_signs,
    mean_interval,
)


def pair(first, second, where="set", seed=0):
    """Return made-up scores of two methods, of exactly these means."""
    drawn = np.random.default_rng(seed).normal(0, 0.005, (2, 20))
    drawn -= drawn.mean(axis=1, keepdims=True)
    return Pair(where, first + drawn[0], second + drawn[1], 2 / 3)


@pytest.mark.parametrize(
    ("first", "second", "margin", "verdict"),
    [
        (0.90, 0.80, 0.0, HOLDS),
        (0.80, 0.90, 0.0, REFUTED),
        (0.85, 0.85, 0.0, NOT_SHOWN),
        (0.85, 0.85, 0.02, HOLDS),
        (0.90, 0.80, 0.02, HOLDS),
        (0.80, 0.90, 0.02, REFUTED),
        (0.83, 0.85, 0.02, NOT_SHOWN),
    ],
)
def test_verdict_follows_the_scores(first, second, margin, verdict):
    finding = judge("claim", [pair(first, second)], margin=margin)
    assert finding.verdict == verdict
    assert f"set {first - second:+z.3f}" in finding.evidence


def test_few_and_noisy_runs_decide_nothing():
    noisy = [Pair("set", np.array([0.9, 0.6, 0.8]), np.array([0.7, 0.75, 0.7]), 2 / 3)]
    assert judge("claim", noisy).verdict == NOT_SHOWN
    assert judge("claim", noisy, margin=0.02).verdict == NOT_SHOWN
    assert judge("claim", [Pair("set", [0.9], [0.8])]).verdict == UNTESTED
    assert judge("claim", []).verdict == UNTESTED


def test_one_set_that_is_behind_spoils_a_claim():
    ahead = [pair(0.9, 0.8, name, seed) for seed, name in enumerate("abc")]
    behind = pair(0.8, 0.85, "d", seed=3)
    undecided = pair(0.8, 0.8, "e", seed=4)
    assert judge("claim", ahead).verdict == HOLDS
    assert judge("claim", [*ahead, behind]).verdict == NOT_SHOWN  # the sets contradict each other
    assert judge("claim", [*ahead, behind], every=True).verdict == REFUTED
    assert judge("claim", [behind, behind, ahead[0]]).verdict == NOT_SHOWN
    assert judge("claim", [behind, undecided]).verdict == REFUTED
    assert judge("claim", [*ahead, undecided]).verdict == HOLDS
    assert judge("claim", [*ahead, undecided], every=True).verdict == NOT_SHOWN
    assert "a +0.100*" in judge("claim", ahead).evidence


def test_interval_of_one_set_is_that_of_the_corrected_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.85, 0.02, 12), rng.normal(0.82, 0.02, 12)
    _, low, high = mean_interval([Pair("set", first, second, 0.5)])
    assert (low, high) == pytest.approx(interval(first - second, 0.5))
    assert (low > 0) == (paired_tests(first, second, 0.5).corrected < 0.05)
    # Four independent sets with the same scores halve the interval, and have more degrees of freedom besides.
    _, low_of_four, high_of_four = mean_interval([Pair("set", first, second, 0.5)] * 4)
    assert high_of_four - low_of_four < (high - low) / 2


@pytest.mark.parametrize(
    ("mean", "low", "high", "line", "text"),
    [
        (-0.0189, -0.0378, -0.0004, 0.0, "-0.019 (-0.038 to -0.0004)"),
        (0.0189, 0.00004, 0.0378, 0.0, "+0.019 (+0.00004 to +0.038)"),
        (0.0, 0.0, 0.0, 0.0, "+0.000 (+0.000 to +0.000)"),
        (0.01, 0.001, 0.02, 0.0, "+0.010 (+0.001 to +0.020)"),
        (0.0, -0.0203, 0.0001, -0.02, "+0.000 (-0.0203 to +0.000)"),  # the line of a margin
    ],
)
def test_no_end_of_an_interval_is_rounded_to_the_line_that_decides(mean, low, high, line, text):
    assert interval_text(mean, low, high, line) == text


def test_the_evidence_of_a_refuted_claim_is_below_0():
    """Where the interval ends just below 0."""
    scores = np.random.default_rng(0).normal(0, 0.02, 20)
    scores -= scores.mean() + half_interval(scores) + 0.0001
    refuted = judge("claim", [Pair("set", scores, np.zeros(20))])
    assert refuted.verdict == REFUTED
    assert refuted.evidence.endswith(" to -0.0001): set -0.008*")


def test_sign_tests_of_several_sets():
    """Each set is tested alone: a large one does not outvote another."""
    finding = judge_signs("claim", {"large": (60, 18, 78), "small": (0, 10, 10)})
    assert finding.verdict == NOT_SHOWN
    assert finding.evidence == "large 60 of 78 (p = 2e-06*), small 0 of 10 (p = 0.002*)"
    assert judge_signs("claim", {"large": (60, 18, 78), "small": (3, 3, 6)}).verdict == HOLDS
    assert judge_signs("claim", {"large": (18, 60, 78), "small": (3, 3, 6)}).verdict == REFUTED
    assert judge_signs("claim", {"a": (9, 5, 14), "b": (6, 0, 6)}).verdict == NOT_SHOWN
    assert judge_signs("claim", {"ties": (0, 0, 5)}).verdict == NOT_SHOWN
    assert judge_signs("claim", {}).verdict == UNTESTED


def test_a_number_decides():
    assert judge_number("claim", True, "why").verdict == HOLDS
    assert judge_number("claim", False, "why").verdict == REFUTED


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"runs": 1}, "runs"), ({"quick": 1}, "quick"), ({"seed": -1}, "seed"), ({"n_jobs": 0}, "n_jobs")],
)
def test_effort_refuses(settings, named):
    with pytest.raises((ValueError, TypeError), match=named):
        Effort(**settings)


def test_finding_refuses_other_verdicts():
    with pytest.raises(ValueError, match="verdict must be"):
        Finding("claim", "perhaps", "")
