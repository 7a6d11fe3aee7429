"""What each view is, what it is worth, and which views say the same."""

import numpy as np

from fuselearn import inspection

SHUFFLES = 3
MOST_COLUMN_NAMES = 3


def views_of(rows, some, presence, seed):
    """Columns, share of the vote and worth of each view.

    Parameters
    ----------
    rows : ReportRows
    some : ReportRows
        Rows of known classes, few enough to predict them once per view and shuffle.
    presence : list of dict
        Of each view, with the share of rows that have it. What no row has is not missed.
    seed : int

    Returns
    -------
    dict
        ``records``, one per view in the model's order; a value that the model or the data cannot tell is None.
    """
    model = rows.model
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    records = []
    for name, columns in zip(model.view_names_, model.view_columns_):
        listed = [names[column] for column in columns[:MOST_COLUMN_NAMES]] if names else []
        records.append(
            {
                "name": str(name),
                "columns": len(columns),
                "first_columns": listed,
                "share": None,
                "lost": None,
                "shuffled": None,
                "shuffled_std": None,
            }
        )
    shares = _share(model)
    for record, share in zip(records, [] if shares is None else shares):
        record["share"] = float(share)
    baseline = None
    if some.labelled and some.n_rows > 1 and len(records) > 1:
        lost = inspection.view_importance(model, some.X, some.y, method="drop")
        shuffled = inspection.view_importance(
            model, some.X, some.y, method="permutation", n_repeats=SHUFFLES, random_state=seed
        )
        baseline = float(lost.baseline)
        for number, record in enumerate(records):
            if presence[number]["present"] == 0:
                continue
            record["lost"] = float(lost.mean[number])
            record["shuffled"] = float(shuffled.mean[number])
            record["shuffled_std"] = float(shuffled.std[number])
    return {
        "records": records,
        "baseline": baseline,
        "score_name": "mean accuracy over the labels" if rows.many_labels else "accuracy",
        "rows": some.n_rows,
        "of": rows.n_rows,
        "named": bool(names),
    }


def redundancy_of(some, of):
    """How alike the views are, pair by pair; None where there is one view, or fewer than three rows."""
    if len(some.model.view_names_) < 2 or some.n_rows < 3:
        return None
    found = inspection.redundancy(some.model, some.X)
    matrix = np.asarray(found.matrix, dtype=float)
    above = [
        {
            "first": str(found.view_names[one]),
            "second": str(found.view_names[other]),
            "alike": float(matrix[one, other]),
        }
        for one in range(len(matrix))
        for other in range(one + 1, len(matrix))
        if np.isfinite(matrix[one, other])
    ]
    above.sort(key=lambda pair: -pair["alike"])
    return {
        "views": [str(name) for name in found.view_names],
        "matrix": matrix.tolist(),
        "most": above[:20],
        "rows": some.n_rows,
        "of": of,
    }


def _share(model):
    """Share of the vote, where the model has votes."""
    try:
        return inspection.view_importance(model, method="share").mean
    except ValueError:
        return None
