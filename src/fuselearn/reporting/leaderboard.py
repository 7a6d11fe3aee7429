"""The leaderboard of a report, from a comparison or from the arms that the model itself tried."""

import math

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
