"""What drawing one view a round saves: S1's "at a fraction 1/M of the time"."""

import time
import warnings

import numpy as np

from fuselearn.boosting import ShareBoostClassifier
from fuselearn.datasets import make_views
from fuselearn.evaluation.noise import add_label_noise
from fuselearn.evaluation.result_table import Table
from fuselearn.exceptions import NoEdgeWarning
from fuselearn.papers.paired_runs import noise_sets, view_set
from fuselearn.papers.verdicts import Outcome, judge_number

ROUNDS = 150
ALLOWED = 1.25
"""How much more than 1/M of the time still counts as 1/M."""
CLAIMS = {
    "fits": "S1 §6: rShareBoost fits 1/M of ShareBoost's base classifiers in a round",
    "large": "S1 §7: rShareBoost takes 1/M of ShareBoost's processor time, up to a quarter more, where there are many "
    "objects",
    "small": "The same on sets of some hundred objects, as S1's are",
}


def run(effort):
    """Count fits and processor time of both, with 30 % wrong labels in each view.

    Parameters
    ----------
    effort : Effort

    Returns
    -------
    Outcome
    """
    runs = effort.count(full=10, quick=3)
    sets, missing = noise_sets(most_rows=600)
    made = make_views(
        5_000 if effort.quick else 20_000, n_views=3, n_features=100, strength=1.0, random_state=effort.seed
    )
    large = view_set("made up", made, made.y)
    _costs(large, effort.seed)  # what is compiled on first use is not to be timed
    rows, times = [], []
    for data in (*sets, large):
        fits, seconds, rounds = np.array([_costs(data, effort.seed + number) for number in range(runs)]).sum(axis=0).T
        n_views = len(data.views)
        fit_ratio = (fits[1] / rounds[1]) / (fits[0] / rounds[0])
        time_ratio = (seconds[1] / rounds[1]) / (seconds[0] / rounds[0])
        times.append((n_views * fit_ratio, n_views * time_ratio))
        per_round = 1000 * seconds / rounds
        rows.append((data.name, len(data.y), n_views, 1 / n_views, fit_ratio, time_ratio, *per_round, *rounds / runs))
    columns = ("set", "objects", "views M", "1/M", "fits", "time", "ShareBoost ms", "rShareBoost ms")
    table = Table(
        "Cost of a round, rShareBoost by ShareBoost",
        (*columns, "ShareBoost rounds", "rShareBoost rounds"),
        rows,
        f"{runs} fits of at most {ROUNDS} rounds on all rows, one thread, 30 % wrong labels in each view. Fits and "
        "time are ratios of what a round takes; ms are of the processor. Time is not fits: widths of views differ, and "
        "what a round does besides fitting (weights, the draw) weighs in small sets.",
        {"ShareBoost ms": 2, "rShareBoost ms": 2, "ShareBoost rounds": 0, "rShareBoost rounds": 0},
    )
    fit_factors, time_factors = np.array(times).T
    shown = [f"{row[0]} {row[5]:.2f} (1/M {row[3]:.2f})" for row in rows]
    findings = [
        judge_number(
            CLAIMS["fits"],
            np.allclose(fit_factors, 1),
            f"Fits of a round, times M: {', '.join(f'{factor:.2f}' for factor in fit_factors)}.",
        ),
        judge_number(CLAIMS["large"], time_factors[-1] <= ALLOWED, f"Ratio of times: {shown[-1]}."),
        judge_number(
            CLAIMS["small"], np.median(time_factors[:-1]) <= ALLOWED, f"Ratio of times: {', '.join(shown[:-1])}."
        ),
    ]
    return Outcome([table], findings, missing=missing)


def _costs(data, seed):
    """Base classifiers fitted, processor seconds and rounds, of shape (2 methods, 3)."""
    view_labels, _ = add_label_noise(data.y, len(data.views), 0.3, random_state=seed)
    costs = []
    for policy in ("best", "exp3p"):
        model = ShareBoostClassifier(
            views=data.views, n_estimators=ROUNDS, view_policy=policy, n_jobs=1, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoEdgeWarning)
            # What is prepared once is not part of a round: a fit of one round is taken off, and that round with it.
            short = _seconds(ShareBoostClassifier(**{**model.get_params(), "n_estimators": 1}), data, view_labels)
            seconds = _seconds(model, data, view_labels) - short
        fits = np.count_nonzero(~np.isnan(model.arm_errors_[1:]))
        costs.append((fits, max(seconds, 0.0), len(model.arm_errors_) - 1))
    return costs


def _seconds(model, data, view_labels):
    start = time.process_time()
    model.fit(data.X, data.y, view_labels=view_labels)
    return time.process_time() - start
