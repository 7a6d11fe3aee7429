"""From a model and rows to a dict of plain numbers and words, which a page, a program or a test can read."""

import math
from datetime import UTC, datetime
from numbers import Real

import numpy as np

from fuselearn import inspection
from fuselearn._version import __version__
from fuselearn.reporting import provenance, quality
from fuselearn.reporting.model_summary import leaderboard_of, rounds_of
from fuselearn.reporting.phrases import counted
from fuselearn.reporting.provenance import file_facts
from fuselearn.reporting.report_rows import MOST_ROWS, likeness_to_training, n_training_rows, read_rows
from fuselearn.reporting.sentences import words_of
from fuselearn.reporting.view_summary import redundancy_of, views_of

ROWS_FOR_SHUFFLING = (300, 2_000)
"""Fewest and most rows that are predicted anew for every view and shuffle: the fewer, the more views and classes."""
ROWS_FOR_PAIRS = (500, 2_000)
"""Fewest and most rows that views are compared on, pair by pair."""
WORK = 1_000_000
"""Rows times views times classes, or times pairs of views, that are gone through without waiting long."""
MOST_SUSPECTS = 200
MOST_PATTERNS = 12
MARGIN_BINS = 40
CONFIDENT = 0.95
"""Probability from which on the model is said to be sure that a label is wrong."""


def summarize(model, X, y=None, *, ids=None, comparison=None, title=None, note=None, random_state=None):
    """Put together what a report says.

    Parameters
    ----------
    model : fitted classifier with views, or a pipeline or search around one
    X : array or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted on.
    y : array of shape (n_samples,), default=None
        Their classes; for many labels the indicator matrix. Without it nothing is said about quality.
    ids : sequence of length n_samples, default=None
        What the rows are called.
    comparison : Comparison, Table or list of dict, default=None
        A result of :func:`fuselearn.compare`, shown as the leaderboard.
    title : str, default=None
        None makes one from the model.
    note : dict, default=None
        Anything to be shown beside the settings, such as how a file was read. ``note["file"]`` tells of the file that
        the rows are from, whose columns may be others than the model's: ``"columns_per_view"`` and ``"gaps_per_view"``
        (share of empty cells), dicts by view, and ``"rows_left_out"``, the number of those without a label.
    random_state : int or None, default=None
        Seed of the rows that charts are drawn from where there are many, and of shuffles. None is 0: a report of the
        same rows says the same.

    Returns
    -------
    dict
        Of strings, numbers, None, lists and dicts only. A section that does not apply is None, and ``"left_out"`` says
        why.
    """
    rows = read_rows(model, X, y, ids)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string or None; got {title!r}.")
    if note is not None and not isinstance(note, dict):
        raise TypeError(f"note must be a dict or None; got {note!r}.")
    seed = 0 if random_state is None else random_state
    board = leaderboard_of(rows.model, comparison)
    known = rows.with_known_classes()
    n_views = len(rows.model.view_names_)
    few = known.sample(_rows_for(ROWS_FOR_SHUFFLING, n_views * len(rows.model.classes_)), seed)
    name = type(rows.model).__name__
    file = file_facts(note, rows.model)
    missing = _missingness(rows, file)
    summary = {
        "title": title or f"{name} on {counted(len(rows.model.view_names_), 'view')}",
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "fuselearn_version": __version__,
        "model": {"name": name, "wrapped_in": rows.wrapped_in},
        "data": _data(rows, file),
        "leaderboard": board,
        "views": views_of(rows, few, missing["records"], seed, file["columns"]),
        "redundancy": redundancy_of(rows.sample(_rows_for(ROWS_FOR_PAIRS, n_views**2), seed), rows.n_rows),
        "rounds": rounds_of(known, seed, MOST_ROWS),
        "missingness": missing,
        "settings": provenance.settings_of(rows.model),
        "note": _noted(note),
        "versions": provenance.versions(),
        "reproduce": {
            "code": provenance.code_to_reproduce(rows.model, labelled=rows.labelled, with_ids=rows.ids is not None),
            "command": provenance.command_to_reproduce(note),
        },
        **dict.fromkeys(("quality", "per_class", "confusion", "calibration", "margins", "suspects", "labels")),
        "training": _training(rows),
    }
    if rows.labelled:
        summary |= _judged_labels(rows, seed) if rows.many_labels else _judged(rows, known, seed)
    summary["left_out"] = _left_out(rows, summary)
    summary = json_able(summary)
    summary["words"] = words_of(summary)
    return summary


def json_able(value):
    """The same of plain types: NumPy's numbers become Python's, and what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): json_able(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_able(one) for one in value]
    if isinstance(value, np.ndarray):
        return json_able(value.tolist())
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | bool | int | float | None) else str(value)


def _data(rows, file):
    model = rows.model
    classes, counts, unknown = None, None, []
    if not rows.many_labels:
        classes = [str(label) for label in model.classes_]
        if rows.labelled:
            counts = [int(np.sum(rows.y == label)) for label in model.classes_]
            given, times = np.unique(rows.y, return_counts=True)
            unknown = [
                {"class": str(label), "rows": int(n)}
                for label, n in zip(given.tolist(), times)
                if label not in set(model.classes_.tolist())
            ]
    used = np.unique(np.concatenate([np.asarray(columns) for columns in model.view_columns_]))
    return {
        "rows": rows.n_rows,
        "columns": sum(file["columns"]) if file["columns"] else int(getattr(model, "n_features_in_", len(used))),
        "rows_left_out": file["rows_left_out"],
        "unused_columns": int(getattr(model, "n_features_in_", len(used))) - len(used),
        "views": len(model.view_names_),
        "labelled": rows.labelled,
        "with_ids": rows.ids is not None,
        "many_labels": rows.many_labels,
        "n_labels": int(model.label_weights_.shape[1]) if rows.many_labels else None,
        "classes": classes,
        "class_counts": counts,
        "unknown_classes": unknown,
    }


def _training(rows):
    """What is known of the training rows."""
    model = rows.model
    prior = getattr(model, "class_prior_", None)
    rates = getattr(model, "noise_rates_", None)
    columns = getattr(model, "label_columns_", None)
    promised = getattr(model, "out_of_sample_score_", None)
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
        "out_of_sample_score": promised if isinstance(promised, Real) else None,
    }


def _judged(rows, known, seed):
    model, y = rows.model, rows.y
    predicted = model.predict(rows.X)
    only_given = [label for label in np.unique(y).tolist() if label not in set(model.classes_.tolist())]
    classes = [*model.classes_.tolist(), *only_given]
    usual_class = max(classes, key=lambda label: int(np.sum(y == label)))
    found = {
        "quality": quality.score_of(y, predicted, usual_class),
        "per_class": quality.per_class(y, predicted, classes),
        "confusion": quality.confusion(y, predicted, classes) if len(classes) > 1 else None,
    }
    if hasattr(model, "predict_proba"):
        found["calibration"] = quality.calibration(y, predicted, model.predict_proba(rows.X), model.classes_)
    if known.n_rows:
        found["margins"] = _margins(known.sample(20 * MOST_ROWS, seed), rows.n_rows)
        found["suspects"] = _suspects(rows, known)
    return found


def _judged_labels(rows, seed):
    names = [str(name) for name in rows.model.label_names_]
    found = quality.score_of_labels(rows.y, rows.model.decision_function(rows.X), names)
    return {
        "quality": found,
        "labels": found.pop("labels"),
        "margins": _margins(rows.sample(20 * MOST_ROWS, seed), rows.n_rows),
        "suspects": _suspects(rows, rows),
    }


def _margins(some, of):
    margins = np.asarray(inspection.margin_distribution(some.model, some.X, some.y), dtype=float)
    counts, edges = np.histogram(np.clip(margins, -1, 1), bins=MARGIN_BINS, range=(-1, 1))
    return {
        "counts": counts.tolist(),
        "edges": edges.tolist(),
        "negative": float(np.mean(margins < 0)),
        "small": float(np.mean(np.abs(margins) < 0.1)),
        "median": float(np.median(margins)),
        "rows": some.n_rows,
        "of": of,
    }


def _suspects(rows, known):
    """Labels that the model does not believe; of one class a row with the margin, which goes on telling rows apart
    where votes make for probabilities of nearly 1 throughout."""
    if not hasattr(rows.model, "predict_proba"):
        return None
    found = inspection.suspects(known.model, known.X, known.y, ids=known.ids)
    margins, order = None, range(len(found))
    if found and not rows.many_labels:
        doubted = known.take(np.array([record["row"] for record in found]))
        margins = inspection.margin_distribution(doubted.model, doubted.X, doubted.y)
        order = np.argsort(margins, kind="stable")
    records = []
    for number in order[:MOST_SUSPECTS]:
        record = found[number]
        place = record["row"] if known.places is None else known.places[record["row"]]
        words = {key: str(record[key]) for key in ("id", "column", "given", "proposed") if key in record}
        margin = None if margins is None else margins[number]
        records.append({"row": place, **words, "probability": record["probability"], "margin": margin})
    return {
        "records": records,
        "total": len(found),
        "confident": sum(record["probability"] >= CONFIDENT for record in found),
        "labels": known.y.size,
    }


def _missingness(rows, file):
    found = inspection.missingness(rows.model, rows.X)
    patterns = found.patterns
    records = found.records()
    for record, columns in zip(records, file["columns"] or ()):
        record["columns"] = columns
    for record, gaps in zip(records, file["gaps"] or ()):
        # Of all cells, those in rows without the view included; here it is said of the rows that have it.
        present = record["present"]
        record["gaps"] = max(0.0, (gaps - (1 - present)) / present) if present > 0 else 0.0
    return {
        "records": records,
        "patterns": [{**one, "without": _others(found.view_names, one["views"])} for one in patterns[:MOST_PATTERNS]],
        "n_patterns": len(patterns),
        "complete": sum(one["share"] for one in patterns if len(one["views"]) == len(found.view_names)),
        "empty_rows": sum(one["rows"] for one in patterns if not one["views"]),
    }


def _others(names, some):
    return [name for name in names if name not in some]


def _rows_for(bounds, work):
    """Rows to look at where each is looked at `work` times."""
    return int(np.clip(WORK // work, *bounds))


def _left_out(rows, summary):
    """Why sections are not there."""
    reasons = []
    if not rows.labelled:
        reasons.append(
            "No labels were given, so score, classes, confusions, calibration, margins, suspect labels and what is "
            "lost without a view are left out."
        )
    elif rows.many_labels:
        reasons.append(
            "The model gives a row several labels, so confusions and calibration, which are of one class a row, are "
            "left out."
        )
    elif summary["calibration"] is None:
        reasons.append(f"{summary['model']['name']} gives no probabilities, so calibration is left out.")
    if summary["leaderboard"] is None:
        reasons.append("No comparison was given, so there is no leaderboard: fuselearn.compare makes one.")
    if summary["rounds"] is None:
        reasons.append(f"{summary['model']['name']} does not learn in rounds, so these are left out.")
    if summary["redundancy"] is None:
        reasons.append("There is one view, or hardly a row, so no views are compared.")
    return reasons


def _noted(note):
    """What the model came with, but for what stands elsewhere: the command, and the facts of the file."""
    elsewhere = ("command", "file")
    return [[str(key), _shown(value)] for key, value in (note or {}).items() if value and key not in elsewhere]


def _shown(value):
    shown = value if isinstance(value, str) else repr(value)
    return shown if len(shown) <= 500 else f"{shown[:499]}…"
