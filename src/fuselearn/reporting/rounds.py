"""Which view won when, and how the score grew from round to round."""

from itertools import pairwise

import numpy as np

from fuselearn.reporting.quality import sign_test

MOST_BINS = 150
"""Rounds beyond this number are drawn together."""


def rounds_of(rows, seed, most_rows):
    """The rounds of a boosted model.

    Parameters
    ----------
    rows : ReportRows
    seed : int
        Of the rows that the staged score is computed on.
    most_rows : int
        How many these are at most.

    Returns
    -------
    dict, or None for a model without rounds
    """
    model = rows.model
    if hasattr(model, "winning_views_") and len(model.winning_views_):
        return _boosted(rows, seed, most_rows)
    if hasattr(model, "loss_curve_") and len(model.loss_curve_) > 1:
        loss = np.asarray(model.loss_curve_, dtype=float)
        points = _places(len(loss))
        return {
            "n": len(loss) - 1,
            "planned": int(model.n_estimators),
            "loss": {"rounds": points.tolist(), "values": loss[points].tolist()},
        }
    return None


def _boosted(rows, seed, most_rows):
    model = rows.model
    n_rounds = len(model.winning_views_)
    votes = np.abs(model.estimator_weights_)
    edges = np.linspace(0, n_rounds, min(n_rounds, MOST_BINS) + 1).astype(int)
    views = []
    for number, name in enumerate(model.view_names_):
        own = np.where(model.winning_views_ == number, votes, 0.0)
        strip = [_share(own[start:stop], votes[start:stop]) for start, stop in pairwise(edges)]
        wins = np.flatnonzero(model.winning_views_ == number)
        views.append(
            {
                "name": name,
                "wins": len(wins),
                "share": _share(own, votes),
                "first": int(wins[0]) + 1 if len(wins) else None,
                "strip": strip,
            }
        )
    points = _places(n_rounds)
    return {
        "n": n_rounds,
        "planned": int(model.n_estimators),
        "ended_early": n_rounds < model.n_estimators,
        "views": views,
        "edges": edges.tolist(),
        "drawn": model.arm_probabilities_ is not None,
        "errors": {"rounds": (points + 1).tolist(), "values": np.asarray(model.estimator_errors_)[points].tolist()},
        "staged": _staged(rows, seed, most_rows) if rows.labelled and rows.n_rows > 1 else None,
    }


def _staged(rows, seed, most_rows):
    """Accuracy after each round, on some of the rows."""
    some = rows.sample(most_rows, seed)
    right = [predicted == some.y for predicted in some.model.staged_predict(some.X)]
    scores = np.array([stage.mean() for stage in right])
    best = int(scores.argmax())
    points = np.union1d(_places(len(scores)), [best])
    return {
        "rounds": (points + 1).tolist(),
        "scores": scores[points].tolist(),
        "best_round": best + 1,
        "best": float(scores[best]),
        "last": float(scores[-1]),
        "p_value": sign_test(right[best], right[-1]),
        "rows": some.n_rows,
        "of": rows.n_rows,
    }


def _places(n):
    """Numbers of the stages that are drawn, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, 2 * MOST_BINS)).astype(int))


def _share(own, all_votes):
    total = float(all_votes.sum())
    return float(own.sum()) / total if total > 0 else 0.0
