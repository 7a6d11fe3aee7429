"""From a model and rows to a dict of plain numbers and sentences, which a page, a program or a test can read."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from numbers import Real
from typing import Any

import numpy as np

from fuselearn import inspection
from fuselearn._version import __version__
from fuselearn.data.class_weights import BALANCED
from fuselearn.fusion.calibration_and_scores import ACCURACY
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.reporting import provenance, quality
from fuselearn.reporting.cautions import warn
from fuselearn.reporting.feature_contributions import explain_features
from fuselearn.reporting.model_summary import (
    is_calibrated,
    summarize_columns,
    summarize_leaderboard,
    summarize_redundancy,
    summarize_rounds,
    summarize_views,
)
from fuselearn.reporting.report_rows import (
    MAX_ROWS,
    Record,
    ReportRows,
    likeness_to_training,
    n_training_rows,
    read_report_rows,
)
from fuselearn.reporting.sentences import counted, describe
from fuselearn.typing import ArrayLike, IntArray, TableLike

ROWS_FOR_SHUFFLING = (300, 2_000)
"""Fewest and most rows that are predicted for every view and shuffle: the more views and classes, the fewer rows."""
ROWS_FOR_PAIRS = (500, 2_000)
"""Fewest and most rows on which views are compared, pair by pair."""
WORK = 1_000_000
"""Rows times views times classes, or times pairs of views, that are processed without a long wait."""
MAX_SUSPECTS = 200
MAX_PATTERNS = 12
MARGIN_BINS = 40
ROUNDING = 1e-9
"""Share of the cells that counts as none: it is a difference of two shares."""
CONFIDENT = 0.95
"""Probability from which on the model counts as certain that a label is wrong."""


def summarize(
    model: FittedModel,
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    ids: Iterable[object] | None = None,
    comparison: Any = None,
    title: str | None = None,
    note: dict[str, Any] | None = None,
    random_state: int | None = None,
) -> dict[str, Any]:
    """Compute all numbers and sentences of a report.

    Parameters
    ----------
    model : fitted classifier with views, or a pipeline or search around one
        The model to report on.
    X : array or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted on.
    y : array of shape (n_samples,) or (n_samples, n_labels), default=None
        Their classes; for a multi-label model the indicator matrix. Without labels nothing is said about quality.
    ids : sequence of length n_samples, default=None
        Names of the rows.
    comparison : Comparison, Table or list of dict, default=None
        A result of :func:`fuselearn.compare`, shown as the leaderboard.
    title : str, default=None
        Title of the report; None makes one from the model.
    note : dict, default=None
        Anything to be shown beside the settings, such as how a file was read. ``note["file"]`` describes the file that
        the rows come from, whose columns may differ from the model's: ``"columns_per_view"`` and ``"gaps_per_view"``
        (share of empty cells), dicts by view, ``"sources"``, the column of the file that each column of the model comes
        from, ``"rows_left_out"``, the number of rows without a label, ``"name"``, its name, and ``"training_rows"``, an
        array of the numbers of the training rows in their own file.
    random_state : int or None, default=None
        Seed of the shuffles, and of the sample of rows that charts use if there are many. None is 0: a report of the
        same rows says the same.

    Returns
    -------
    dict
        Strings, numbers, None, lists and dicts only. A section that does not apply is None, and ``"left_out"`` says
        why.
    """
    rows = read_report_rows(model, X, y, ids)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string or None; got {title!r}.")
    if note is not None and not isinstance(note, dict):
        raise TypeError(f"note must be a dict or None; got {note!r}.")
    seed = 0 if random_state is None else random_state
    given, model, n_views = model, rows.model, len(rows.model.view_names_)
    leaderboard = summarize_leaderboard(model, comparison)
    known = rows.with_known_classes()
    sample = known.sample(_affordable_rows(ROWS_FOR_SHUFFLING, n_views * len(model.classes_)), seed)
    pair_sample = rows.sample(_affordable_rows(ROWS_FOR_PAIRS, n_views**2), seed)
    name = type(model).__name__
    file = provenance.file_facts(note, rows.model, rows.table)
    missingness = _missingness(rows, file)
    features, no_features = explain_features(model, rows.X, rows.n_rows, file["sources"], seed)
    summary: Record = {
        "title": title or f"{name} on {counted(n_views, 'view')}",
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "fuselearn_version": __version__,
        "model": {"name": name, "wrapped_in": rows.wrapped_in, "calibrated": is_calibrated(model)},
        "data": _data(rows, file),
        "leaderboard": leaderboard,
        "views": summarize_views(known, sample, missingness["records"], seed, file["columns"]),
        "columns": summarize_columns(model, file["sources"]),
        "features": features,
        "redundancy": summarize_redundancy(pair_sample, rows.n_rows),
        "rounds": summarize_rounds(known, seed, MAX_ROWS),
        "missingness": missingness,
        "settings": provenance.settings_of(model),
        "note": provenance.shown_notes(note),
        "versions": provenance.versions(),
        "reproduce": {
            "code": provenance.code_to_reproduce(
                given, model, note, labelled=rows.labelled, with_ids=rows.ids is not None
            ),
            "command": provenance.command_to_reproduce(note),
        },
        **dict.fromkeys(("quality", "per_class", "confusion", "calibration", "margins", "suspects", "labels")),
        "training": _training(rows),
        "training_suspects": _training_suspects(rows, file["training_rows"]),
    }
    if rows.labelled:
        balanced = BALANCED in (getattr(model, "class_weight", None), (note or {}).get("class_weight"))
        summary |= _multilabel_quality(rows, seed) if rows.many_labels else _class_quality(rows, known, balanced, seed)
    summary["left_out"] = [*_reasons_left_out(rows, summary), *([no_features] if no_features else [])]
    summary = _json_able(summary)
    summary["words"] = {**describe(summary), "careful": warn(summary)}
    return summary


def _affordable_rows(bounds: tuple[int, int], work_per_row: int) -> int:
    """Return the number of rows that can be processed `work_per_row` times without a long wait."""
    return int(np.clip(WORK // work_per_row, *bounds))


def _missingness(rows: ReportRows, file: Record) -> Record:
    """Return which rows have which views, with the columns and gaps of the file if these are known."""
    result = inspection.missingness(rows.model, rows.X)
    records = result.records()
    for record, columns in zip(records, file["columns"] or ()):
        record["columns"] = columns
    for record, gaps in zip(records, file["gaps"] or ()):
        # The file counts empty cells in all rows, the report in the rows that have the view.
        present = record["present"]
        empty = gaps - (1 - present)
        record["gaps"] = empty / present if empty > ROUNDING else 0.0
    patterns = [
        {**pattern, "without": [name for name in result.view_names if name not in pattern["views"]]}
        for pattern in result.patterns
    ]
    return {
        "records": records,
        "patterns": patterns[:MAX_PATTERNS],
        "n_patterns": len(patterns),
        "complete": sum(pattern["share"] for pattern in patterns if not pattern["without"]),
        "empty_rows": sum(pattern["rows"] for pattern in patterns if not pattern["views"]),
    }


def _data(rows: ReportRows, file: Record) -> Record:
    """Return the size of the data and its classes."""
    model = rows.model
    classes, counts, unknown = None, None, []
    if not rows.many_labels:
        classes = [str(label) for label in model.classes_]
        if rows.y is not None:
            counts = [int(np.sum(rows.y == label)) for label in model.classes_]
            unknown = [{"class": str(label), "rows": int(np.sum(rows.y == label))} for label in _unknown_classes(rows)]
    used = np.unique(np.concatenate([np.asarray(columns) for columns in model.view_columns_]))
    n_features = int(getattr(model, "n_features_in_", len(used)))
    return {
        "rows": rows.n_rows,
        "columns": n_features if file["n_columns"] is None else file["n_columns"],
        "rows_left_out": file["rows_left_out"],
        "unused_columns": n_features - len(used),
        "views": len(model.view_names_),
        "labelled": rows.labelled,
        "with_ids": rows.ids is not None,
        "from_file": file["given"],
        "many_labels": rows.many_labels,
        "n_labels": int(model.label_weights_.shape[1]) if rows.many_labels else None,
        "classes": classes,
        "class_counts": counts,
        "unknown_classes": unknown,
    }


def _unknown_classes(rows: ReportRows) -> list[Any]:
    """Return the classes of the rows that the model does not know."""
    known = set(rows.model.classes_.tolist())
    return [label for label in np.unique(rows.labels).tolist() if label not in known]


def _training(rows: ReportRows) -> Record:
    """Return what is known about the training rows."""
    model = rows.model
    prior = getattr(model, "class_prior_", None)
    rates = getattr(model, "noise_rates_", None)
    columns = getattr(model, "label_columns_", ())
    out_of_sample_score = getattr(model, "out_of_sample_score_", None)
    bound = None
    if hasattr(model, "bounds"):
        try:
            bound = model.bounds()["training_error"]
        except ValueError:
            bound = None  # not defined for this model
    return {
        "rows": n_training_rows(model),
        "class_shares": None if prior is None else np.asarray(prior).tolist(),
        "likeness": likeness_to_training(rows) if rows.labelled else None,
        "error_bound": None if bound is None else float(bound),
        "noise_rates": None if rates is None else dict(zip(columns, np.asarray(rates).tolist())),
        "out_of_sample_score": out_of_sample_score if isinstance(out_of_sample_score, Real) else None,
        "out_of_sample_metric": str(getattr(model, "out_of_sample_metric_", ACCURACY)),
    }


def _class_quality(rows: ReportRows, known: ReportRows, balanced: bool, seed: int) -> Record:
    """Return the sections that need the classes of the rows; `balanced` if these are equally important to the model."""
    model, y = rows.model, rows.labels
    predicted = model.predict(rows.X)
    classes = [*model.classes_.tolist(), *_unknown_classes(rows)]
    usual_class = max(classes, key=lambda label: int(np.sum(y == label)))
    sections: Record = {
        "quality": quality.class_score(y, predicted, usual_class, balanced=balanced),
        "per_class": quality.per_class(y, predicted, classes),
        "confusion": quality.confusion(y, predicted, classes) if len(classes) > 1 else None,
    }
    scores = None
    if hasattr(model, "predict_proba"):
        scores = model.predict_proba(rows.X)
        sections["calibration"] = quality.calibration(y, predicted, scores, model.classes_)
    if hasattr(model, "decision_function") and (scores is None or len(model.classes_) == 2):
        scores = model.decision_function(rows.X)  # probabilities of 1 and nearly 1 would be ties
    area = None if scores is None else quality.area_under_curve(y, scores, model.classes_)
    sections["quality"]["area_under_curve"] = area
    sections["quality"] |= quality.precision_and_recall(sections["per_class"])
    if known.n_rows:
        sections["margins"] = _margins(known.sample(20 * MAX_ROWS, seed), known.n_rows)
        sections["suspects"] = _suspects(known)
    return sections


def _multilabel_quality(rows: ReportRows, seed: int) -> Record:
    """Return the sections that need the labels of the rows."""
    names = [str(name) for name in rows.model.label_names_]
    score = quality.multilabel_score(rows.labels, rows.model.decision_function(rows.X), names)
    return {
        "quality": score,
        "labels": score.pop("labels"),
        "margins": _margins(rows.sample(20 * MAX_ROWS, seed), rows.n_rows),
        "suspects": _suspects(rows),
    }


def _margins(rows: ReportRows, n_known_rows: int) -> Record:
    """Return a histogram of the margins of a sample of the rows whose classes the model knows."""
    margins = np.asarray(inspection.margin_distribution(rows.model, rows.X, rows.y), dtype=float)
    counts, edges = np.histogram(np.clip(margins, -1, 1), bins=MARGIN_BINS, range=(-1, 1))
    return {
        "counts": counts.tolist(),
        "edges": edges.tolist(),
        "negative": float(np.mean(margins < 0)),
        "small": float(np.mean(np.abs(margins) < 0.1)),
        "median": float(np.median(margins)),
        "rows": rows.n_rows,
        "of": n_known_rows,
    }


def _training_suspects(rows: ReportRows, training_rows: IntArray | None) -> Record | None:
    """Return the training labels that look wrong to a model that judges them out of fold.

    `training_rows` are the numbers of the training rows in their file, if these are known.
    """
    if not hasattr(rows.model, "suspects"):
        return None
    suspects = rows.model.suspects()
    records: list[Record] = [
        {key: value if key in ("row", "probability") else str(value) for key, value in suspect.items()}
        for suspect in suspects[:MAX_SUSPECTS]
    ]
    from_file = training_rows is not None and len(training_rows) == n_training_rows(rows.model)
    if training_rows is not None and from_file:
        for record in records:
            record["row"] = int(training_rows[record["row"]])
    return {
        "records": records,
        "total": len(suspects),
        "from_file": from_file,
        "with_index": "index" in suspects.columns,
        "columns": len(rows.model.label_columns_),
    }


def _suspects(rows: ReportRows) -> Record | None:
    """Return the labels of these rows that the model contradicts, by the probability that they are wrong.

    For one class per row they have the margin too, which still ranks rows where votes make all probabilities nearly 1.
    """
    if not hasattr(rows.model, "predict_proba"):
        return None
    suspects = inspection.suspects(rows.model, rows.X, rows.y, ids=rows.ids)
    order, margins = list(range(len(suspects))), None
    if suspects and not rows.many_labels:
        doubted = rows.take(np.array([record["row"] for record in suspects]))
        margins = inspection.margin_distribution(doubted.model, doubted.X, doubted.y)
        order = np.lexsort((margins, -suspects["probability"])).tolist()
    records: list[Record] = []
    for number in order[:MAX_SUSPECTS]:
        suspect = suspects[number]
        place = suspect["row"] if rows.places is None else rows.places[suspect["row"]]
        names: Record = {key: str(suspect[key]) for key in ("id", "column", "given", "proposed") if key in suspect}
        margin = None if margins is None else margins[number]
        records.append({"row": place, **names, "probability": suspect["probability"], "margin": margin})
    return {
        "records": records,
        "total": len(suspects),
        "confident": sum(suspect["probability"] >= CONFIDENT for suspect in suspects),
        "labels": rows.labels.size,
    }


def _reasons_left_out(rows: ReportRows, summary: Record) -> list[str]:
    """Return why sections are not shown."""
    reasons = []
    name = summary["model"]["name"]
    if not rows.labelled:
        reasons.append(
            "No labels were given, so score, classes, confusions, calibration, margins, suspect labels and the score "
            "lost without each view are not shown."
        )
    elif rows.many_labels:
        reasons.append(
            "The model gives a row several labels, so confusions and calibration, which need one class per row, are "
            "not shown."
        )
    elif summary["calibration"] is None:
        reasons.append(f"{name} gives no probabilities, so calibration is not shown.")
    if summary["leaderboard"] is None:
        reasons.append("No comparison was given, so there is no leaderboard; fuselearn.compare makes one.")
    if summary["rounds"] is None:
        learns_in_rounds = hasattr(rows.model, "winning_views_")
        why = "learnt nothing in its first round" if learns_in_rounds else "does not learn in rounds"
        reasons.append(f"{name} {why}, so there are none to show.")
    if summary["redundancy"] is None:
        reasons.append("There is only one view, or hardly any row, so views are not compared.")
    return reasons


def _json_able(value: Any) -> Any:
    """Return the same in plain types: NumPy's numbers become Python's, and numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): _json_able(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_able(item) for item in value]
    if isinstance(value, np.ndarray):
        return _json_able(value.tolist())
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | bool | int | float | None) else str(value)
