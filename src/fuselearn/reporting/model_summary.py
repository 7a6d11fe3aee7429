"""The parts of a report about the model itself: its views and columns, its rounds, and the leaderboard."""

import math
from itertools import pairwise
from time import perf_counter
from typing import Any, Literal

import numpy as np

from fuselearn import inspection
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.inspection.displays.leaderboard_display import as_records
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.reporting.quality import sign_test
from fuselearn.reporting.report_rows import Record, ReportRows, take_rows
from fuselearn.typing import FloatArray, IntArray

N_SHUFFLES = 3
TIME_LIMIT = 20.0
"""Seconds that all predictions without a view, or with a shuffled one, may take together, roughly."""
MIN_ROWS = 100
"""Rows that are used at least to measure the importance of views, however long predictions take."""
MAX_COLUMN_NAMES = 3
MAX_COLUMNS = 15
"""Columns whose importance is shown."""
LEAST_IMPROVEMENT = 1e-7
"""Decrease of the loss on held-out rows that counts as one, as in gradient boosting."""
MAX_PAIRS = 20
MAX_BINS = 150
"""Rounds beyond this number are drawn together."""
INTERVAL_COLUMNS = ("low", "high")


def summarize_views(
    known_rows: ReportRows,
    sample: ReportRows,
    presence: list[Record],
    seed: int,
    n_columns: list[int] | None = None,
) -> Record:
    """Return columns, share in the model and importance of each view.

    `known_rows` are the rows of known classes, and `sample` are some of them, few enough to predict them once per view
    and shuffle. `presence` holds the share of rows that have each view: a view that no row has cannot be missed.
    `n_columns` are the columns of each view in the file, if these differ from the model's. A value that the model or
    the data do not give is None.
    """
    model = known_rows.model
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    records: list[Record] = []
    for number, (name, columns) in enumerate(zip(model.view_names_, model.view_columns_)):
        records.append(
            {
                "name": str(name),
                "columns": n_columns[number] if n_columns else len(columns),
                "first_columns": [names[column] for column in columns[:MAX_COLUMN_NAMES]] if names else [],
                "share": None,
                "lost": None,
                "shuffled": None,
                "shuffled_std": None,
            }
        )
    shares = _vote_shares(model)
    for record, share in zip(records, [] if shares is None else shares):
        record["share"] = float(share)
    baseline, hurried, n_shuffles = None, False, N_SHUFFLES
    if sample.labelled and sample.n_rows > 1 and len(records) > 1:
        wanted = sample.n_rows
        sample, n_shuffles = _within_time_limit(sample, len(records), seed)
        hurried = sample.n_rows < wanted
        X, y = sample.X, sample.y
        lost = inspection.view_importance(model, X, y, method="drop")
        baseline = lost.baseline
        shuffled = None
        if n_shuffles:
            settings: Record = {"method": "permutation", "n_repeats": n_shuffles, "random_state": seed}
            shuffled = inspection.view_importance(model, X, y, **settings)
        for number, record in enumerate(records):
            if presence[number]["present"] == 0:
                continue
            record["lost"] = float(lost.mean[number])
            if shuffled is not None:
                record["shuffled"] = float(shuffled.mean[number])
                record["shuffled_std"] = float(shuffled.std[number])
    return {
        "records": records,
        "baseline": baseline,
        "score_name": "mean accuracy over the labels" if known_rows.many_labels else "accuracy",
        "rows": sample.n_rows,
        "of": known_rows.n_rows,
        "named": bool(names),
        "hurried": hurried,
        "shuffles": n_shuffles,
        "share_of": share_of(model),
    }


def is_calibrated(model: FittedModel) -> bool:
    """Return True if the probabilities of a model were calibrated on out-of-fold training rows."""
    return isinstance(getattr(model, "_calibration", None), PatternCalibration)


def share_of(model: FittedModel) -> str:
    """Return what the shares of the views are shares of, as the caption has it."""
    if _is_gradient(model):
        return "the gain of all splits of the trees"
    if hasattr(model, "arm_weights_"):
        return (
            "the spread of the out-of-fold values of the training rows; what base models of all views add is divided "
            "among these"
        )
    if hasattr(model, "kernel_weights_"):
        return "the weights of the kernels"
    if hasattr(model, "label_weights_"):
        return "the weights of the base models, on average over the labels"
    return "the votes of all rounds"


def summarize_columns(model: FittedModel, sources: list[str] | None = None) -> Record | None:
    """Return the columns with the largest shares of the gain; None for a model that knows no such shares.

    `sources` names the column of the file that each column of the model comes from: the shares of columns that come
    from the same one are added.
    """
    if not _is_gradient(model) or not np.any(model.feature_importances_ > 0):
        return None
    names = sources or [str(name) for name in getattr(model, "feature_names_in_", ())]
    shares: dict[str, float] = {}
    views: dict[str, list[str]] = {}
    for column, share in enumerate(model.feature_importances_.tolist()):
        name = names[column] if names else f"column {column}"
        shares[name] = shares.get(name, 0.0) + share
        views.setdefault(name, []).extend(
            str(view)
            for view, columns in zip(model.view_names_, model.view_columns_)
            if column in columns and str(view) not in views[name]
        )
    used = sorted((name for name, share in shares.items() if share > 0), key=lambda name: -shares[name])
    return {
        "records": [{"name": name, "views": views[name], "share": shares[name]} for name in used[:MAX_COLUMNS]],
        "used": len(used),
        "of": len(shares),
    }


def summarize_redundancy(rows: ReportRows, n_all_rows: int) -> Record | None:
    """Return how alike the views are, pair by pair; None for one view, or fewer than three rows."""
    if len(rows.model.view_names_) < 2 or rows.n_rows < 3:
        return None
    result = inspection.redundancy(rows.model, rows.X)
    matrix = np.asarray(result.matrix, dtype=float)
    pairs: list[Record] = [
        {
            "first": str(result.view_names[first]),
            "second": str(result.view_names[second]),
            "alike": float(matrix[first, second]),
        }
        for first in range(len(matrix))
        for second in range(first + 1, len(matrix))
        if np.isfinite(matrix[first, second])
    ]
    pairs.sort(key=lambda pair: -pair["alike"])
    return {
        "views": [str(name) for name in result.view_names],
        "matrix": matrix.tolist(),
        "most": pairs[:MAX_PAIRS],
        "rows": rows.n_rows,
        "of": n_all_rows,
    }


def summarize_rounds(rows: ReportRows, seed: int, max_rows: int) -> Record | None:
    """Return the rounds of a boosted model, with the score after each on at most so many rows; None without rounds."""
    model = rows.model
    if _is_gradient(model):
        return _gradient_rounds(rows, seed, max_rows) if model.n_iter_ else None
    if hasattr(model, "winning_views_") and len(model.winning_views_):
        return _boosted_rounds(rows, seed, max_rows)
    if hasattr(model, "loss_curve_") and len(model.loss_curve_) > 1:
        loss = np.asarray(model.loss_curve_, dtype=float)
        points = _drawn_stages(len(loss))
        return {
            "n": len(loss) - 1,
            "planned": int(model.n_estimators),
            "loss": {"rounds": points.tolist(), "values": loss[points].tolist()},
        }
    return None


def summarize_leaderboard(model: FittedModel, comparison: Any) -> Record | None:
    """Return columns and rows of the leaderboard of `comparison`, else of the arms of the model, if it has one."""
    if comparison is not None:
        table = getattr(comparison, "summary", comparison)
        records = _checked_records(table, "comparison")
        return _board(records, _first_number(records), "methods") | {
            "title": str(getattr(table, "title", "") or ""),
            "note": str(getattr(table, "note", "") or ""),
        }
    arms = getattr(model, "leaderboard_", None)
    if arms is None:
        return None
    records = _checked_records(arms, "leaderboard_")
    metric = getattr(model, "out_of_sample_metric_", "score")
    name = metric.replace("_", " ")
    records = [{name if key == metric else key: value for key, value in record.items()} for record in records]
    return _board(records, name if name in records[0] else None, "arms") | {
        "title": "",
        "note": f"{name.capitalize()} of each arm, a view together with a learner, on out-of-fold training rows.",
    }


def _vote_shares(model: FittedModel) -> FloatArray | None:
    """Return the share of each view in the vote; None if the model has no votes."""
    try:
        return inspection.view_importance(model, method="share").mean
    except ValueError:
        return None


def _within_time_limit(rows: ReportRows, n_views: int, seed: int) -> tuple[ReportRows, int]:
    """Return rows and a number of shuffles for which all predictions take about `TIME_LIMIT` seconds.

    Rows are halved, so that a report says the same on machines of about the same speed. There are no shuffles if even
    few rows take long.
    """
    n_predictions = 2 + n_views * (1 + N_SHUFFLES)
    rows.model.predict(take_rows(rows.X, np.arange(1)))  # what is compiled or read once does not count
    while True:
        started = perf_counter()
        rows.model.predict(rows.X)
        needed = n_predictions * (perf_counter() - started)
        if needed <= TIME_LIMIT:
            return rows, N_SHUFFLES
        if rows.n_rows <= MIN_ROWS:
            return rows, N_SHUFFLES if needed <= 2 * TIME_LIMIT else 0
        rows = rows.sample(max(MIN_ROWS, rows.n_rows // 2), seed)


def _boosted_rounds(rows: ReportRows, seed: int, max_rows: int) -> Record:
    """Return which view won when, the errors of the winners, and the score after each round."""
    model = rows.model
    n_rounds = len(model.winning_views_)
    points = _drawn_stages(n_rounds)
    return {
        "n": n_rounds,
        "planned": int(model.n_estimators),
        "ended_early": n_rounds < model.n_estimators,
        **_winners(model, np.abs(model.estimator_weights_)),
        "drawn": model.arm_probabilities_ is not None,
        "errors": {"rounds": (points + 1).tolist(), "values": np.asarray(model.estimator_errors_)[points].tolist()},
        "staged": _staged_accuracy(rows, seed, max_rows) if rows.labelled and rows.n_rows > 1 else None,
    }


def _gradient_rounds(rows: ReportRows, seed: int, max_rows: int) -> Record:
    """Return the losses of gradient boosting after each round, which view won when, and the accuracy after each."""
    model = rows.model
    n_rounds, joint = int(model.n_iter_), bool(np.all(model.winning_views_ < 0))
    training, held_out = -model.train_score_, -model.validation_score_
    points = _drawn_stages(n_rounds + 1)
    window = int(model.n_iter_no_change)
    stopped = len(held_out) > window and held_out[-window:].min() > held_out[:-window].min() - LEAST_IMPROVEMENT
    return {
        "n": n_rounds,
        "planned": int(model.n_estimators),
        "ended_early": n_rounds < model.n_estimators,
        "stopped": bool(stopped),
        "patience": window,
        "trees": len(model.trees_),
        "joint": joint,
        **({} if joint else _winners(model, np.ones(n_rounds))),
        "drawn": not joint and not getattr(model.view_policy, "competes", model.view_policy == "best"),
        "losses": {
            "rounds": points.tolist(),
            "training": training[points].tolist(),
            "held_out": held_out[points].tolist() if len(held_out) else None,
            "lowest_round": int(held_out.argmin()) if len(held_out) else None,
        },
        "staged": _staged_accuracy(rows, seed, max_rows) if rows.labelled and rows.n_rows > 1 else None,
    }


def _winners(model: FittedModel, votes: FloatArray) -> Record:
    """Return the rounds that each view won, and its share of the votes in stretches of rounds."""
    n_rounds = len(model.winning_views_)
    edges = np.linspace(0, n_rounds, min(n_rounds, MAX_BINS) + 1).astype(int)
    views = []
    for number, name in enumerate(model.view_names_):
        view_votes = np.where(model.winning_views_ == number, votes, 0.0)
        wins = np.flatnonzero(model.winning_views_ == number)
        views.append(
            {
                "name": name,
                "wins": len(wins),
                "share": _share(view_votes, votes),
                "first": int(wins[0]) + 1 if len(wins) else None,
                "strip": [_share(view_votes[start:stop], votes[start:stop]) for start, stop in pairwise(edges)],
            }
        )
    return {"views": views, "edges": edges.tolist()}


def _is_gradient(model: FittedModel) -> bool:
    """Return True for gradient boosting."""
    return hasattr(model, "train_score_") and hasattr(model, "trees_")


def _staged_accuracy(rows: ReportRows, seed: int, max_rows: int) -> Record:
    """Return the accuracy after each round, on a sample of the rows."""
    sample = rows.sample(max_rows, seed)
    right = [predicted == sample.y for predicted in sample.model.staged_predict(sample.X)]
    scores = np.array([stage.mean() for stage in right])
    best = int(scores.argmax())
    points = np.union1d(_drawn_stages(len(scores)), [best])
    return {
        "rounds": (points + 1).tolist(),
        "scores": scores[points].tolist(),
        "best_round": best + 1,
        "best": float(scores[best]),
        "last": float(scores[-1]),
        "p_value": sign_test(right[best], right[-1]),
        "rows": sample.n_rows,
        "of": rows.n_rows,
    }


def _drawn_stages(n_stages: int) -> IntArray:
    """Return the numbers of the stages that are drawn, the first and the last among them."""
    return np.unique(np.linspace(0, n_stages - 1, min(n_stages, 2 * MAX_BINS)).astype(int))


def _share(votes: FloatArray, all_votes: FloatArray) -> float:
    """Return the share of some votes in all of them."""
    total = float(all_votes.sum())
    return float(votes.sum()) / total if total > 0 else 0.0


def _checked_records(table: Any, argument: str) -> list[Record]:
    """Return the records of a result of `compare`, a data frame, an Arrow table or a list of dicts."""
    try:
        records = table.records() if hasattr(table, "records") else as_records(table)
    except TypeError:
        records = []
    if not records or not all(isinstance(record, dict) for record in records):
        raise TypeError(
            f"{argument} must be a result of fuselearn.compare, its table, or a list of records with one dict per "
            f"method; got {type(table).__name__}."
        )
    return records


def _first_number(records: list[Record]) -> str | None:
    """Return the first column of numbers, which ranks the methods."""
    for name, value in records[0].items():
        if isinstance(value, int | float) and name not in INTERVAL_COLUMNS:
            return name
    return None


def _board(records: list[Record], score: str | None, of: Literal["methods", "arms"]) -> Record:
    """Return columns and rows, the best first."""
    columns = list(records[0])
    rows = [[_plain(record.get(column)) for column in columns] for record in records]
    if score is not None:
        place = columns.index(score)
        rows.sort(key=lambda row: -math.inf if row[place] is None else row[place], reverse=True)
    return {"columns": [str(column) for column in columns], "rows": rows, "score": score, "of": of}


def _plain(value: Any) -> Any:
    """Return a value of a table as a plain type, None for NaN."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
