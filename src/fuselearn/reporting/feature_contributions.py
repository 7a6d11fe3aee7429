"""The features that matter in a report: columns, or views, by what they contribute to decisions."""

from time import perf_counter
from typing import Any, Literal

import numpy as np

from fuselearn.explanation import Explanation
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.reporting.charts import MAX_FEATURE_GROUPS
from fuselearn.reporting.report_rows import Record, take_rows
from fuselearn.typing import FloatArray, TableLike

CHUNKS = (20, 280)
"""Rows that are explained together: a few first, to know the time that more would take."""
TIME_LIMIT = 10.0
"""Seconds that the explanation of all these rows may take, roughly."""
MAX_FEATURES = 30
LEAST_PER_GROUP = 3


def explain_features(
    model: FittedModel, X: TableLike, n_rows: int, sources: list[str] | None, seed: int
) -> tuple[Record | None, str | None]:
    """Return the features with the largest mean absolute contributions, or why there are none.

    `sources` names the column of the user's table that each column of the model comes from: their contributions to a
    row are added. Both results are None for a model that does not explain its decisions.
    """
    if not hasattr(model, "explain"):
        return None, None
    order = np.random.default_rng(seed).permutation(n_rows)[: sum(CHUNKS)]
    try:
        model.explain(take_rows(X, order[:1]))  # what is compiled or read once does not count
        parts, hurried = [_explained(model, X, np.sort(order[: CHUNKS[0]]), sources)], False
        rest = np.sort(order[CHUNKS[0] :])
        if len(rest):
            hurried = parts[0][1] * len(rest) / CHUNKS[0] > TIME_LIMIT
            if not hurried:
                parts.append(_explained(model, X, rest, sources))
    except (TypeError, ValueError) as error:  # such as a model of a file that lacks what explanations need
        return None, f"The features that matter are not shown: {error}"
    explanations = [explanation for explanation, _ in parts]
    last = explanations[-1]
    of: Literal["columns", "views"] = "views" if last.column_values is None else "columns"
    means = _mean_importances(explanations, of)
    total = float(means.sum())
    if not total > 0:
        return None, "No feature contributes to the decisions on these rows, so those that matter are not shown."
    names = [str(name) for name in (last.column_names if of == "columns" else last.view_names)]
    errors = last.column_errors if of == "columns" else last.view_errors
    return {
        "kind": of,
        "explained": "predictions" if last.classes is None else "decisions",
        "groups": _groups(last, of, names, means, total),
        "largest": [
            {"name": names[place], "share": float(means[place]) / total}
            for place in np.argsort(-means, kind="stable")[:3].tolist()
            if means[place] > 0
        ],
        "used": int(np.count_nonzero(means)),
        "total": len(names),
        "rows": sum(map(len, explanations)),
        "of": n_rows,
        "hurried": hurried,
        "sampled": errors is not None,
        "notes": list(last.notes) if of == "views" and errors is None else [],
    }, None


def _explained(model: FittedModel, X: TableLike, rows: Any, sources: list[str] | None) -> tuple[Explanation, float]:
    """Return the explanation of some rows in the user's columns, and the seconds that it took."""
    started = perf_counter()
    explanation: Explanation = model.explain(take_rows(X, rows))
    names = sources
    if names is None and not hasattr(model, "feature_names_in_"):
        names = [f"column {number}" for number in range(len(explanation.column_names))]
    return explanation if names is None else explanation.by_names(names), perf_counter() - started


def _mean_importances(explanations: list[Explanation], of: Literal["columns", "views"]) -> FloatArray:
    """Return mean absolute contributions over the rows of several explanations."""
    sums = sum(len(explanation) * explanation.importances(of) for explanation in explanations)
    return np.asarray(sums, dtype=np.float64) / sum(map(len, explanations))


def _groups(
    explanation: Explanation, of: Literal["columns", "views"], names: list[str], means: FloatArray, total: float
) -> list[Record]:
    """Return the features by view, the view of the largest sum first; views themselves are one group without name.

    A column of several views is in a group that has the names of all of them.
    """
    members: dict[str | None, list[int]] = {}
    if of == "views":
        members[None] = list(range(len(names)))
    else:
        views: list[list[str]] = [[] for _ in names]
        for view, columns in zip(explanation.view_names, explanation.view_columns):
            for column in columns.tolist():
                views[column].append(str(view))
        for place, of_column in enumerate(views):
            if of_column:
                members.setdefault(" + ".join(of_column), []).append(place)
    most = (
        MAX_FEATURES
        if len(members) == 1
        else max(LEAST_PER_GROUP, MAX_FEATURES // min(len(members), MAX_FEATURE_GROUPS))
    )
    groups: list[Record] = []
    for name, places in members.items():
        largest = sorted(places, key=lambda place: -means[place])[:most]
        groups.append(
            {
                "view": name,
                "columns": len(places),
                "share": float(means[places].sum()) / total,
                "records": [
                    {"name": names[place], "mean": float(means[place]), "share": float(means[place]) / total}
                    for place in largest
                    if means[place] > 0
                ],
            }
        )
    return sorted(groups, key=lambda group: -group["share"])
