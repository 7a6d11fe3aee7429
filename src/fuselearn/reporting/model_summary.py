"""Which view won when, and how the score grew from round to round.

The leaderboard of a report, from a comparison or from the arms that the model itself tried.
"""

import math
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


METRICS = {"score": "balanced accuracy"}
"""What a model's own leaderboard means by its columns."""
NOT_COUNTED = ("low", "high")


def leaderboard_of(model, comparison):
    """Columns and rows of the leaderboard.

    Parameters
    ----------
    model : fitted classifier
    comparison : Comparison, Table, list of dict or None

    Returns
    -------
    dict or None
        ``columns``, ``rows`` (lists of plain values), ``score`` (name of the column that ranks), ``title``, ``note``,
        and ``of``: "methods" or "arms".
    """
    if comparison is not None:
        table = getattr(comparison, "summary", comparison)
        records = _records(table, "comparison")
        found = _board(records, _score_column(records), "methods")
        found["title"] = str(getattr(table, "title", "") or "")
        found["note"] = str(getattr(table, "note", "") or "")
        return found
    own = getattr(model, "leaderboard_", None)
    if own is None:
        return None
    records = _records(own, "leaderboard_")
    records = [{METRICS.get(name, name): value for name, value in record.items()} for record in records]
    found = _board(records, METRICS["score"] if METRICS["score"] in records[0] else None, "arms")
    return found | {
        "title": "",
        "note": "Balanced accuracy of each arm, a view together with a learner, on training rows that it has not seen.",
    }


def _records(table, name):
    """Records of a Table, a data frame, an Arrow table or a list of dicts."""
    if isinstance(table, list | tuple):
        records = list(table)
    elif hasattr(table, "records"):
        records = table.records()
    elif hasattr(table, "to_dicts"):  # polars
        records = table.to_dicts()
    elif hasattr(table, "to_pylist"):  # Arrow
        records = table.to_pylist()
    elif hasattr(table, "to_dict"):  # pandas
        records = table.to_dict("records")
    else:
        records = None
    if not records or not all(isinstance(record, dict) for record in records):
        raise TypeError(
            f"{name} must be a result of fuselearn.compare, its table, or a list of records with one dict per method; "
            f"got {type(table).__name__}."
        )
    return records


def _score_column(records):
    """The first column of numbers, which ranks the methods."""
    for name, value in records[0].items():
        if isinstance(value, int | float) and name not in NOT_COUNTED:
            return name
    return None


def _board(records, score, of):
    columns = list(records[0])
    rows = [[_plain(record.get(column)) for column in columns] for record in records]
    if score is not None:
        place = columns.index(score)
        rows.sort(key=lambda row: -math.inf if row[place] is None else row[place], reverse=True)
    return {"columns": [str(column) for column in columns], "rows": rows, "score": score, "of": of}


def _plain(value):
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
