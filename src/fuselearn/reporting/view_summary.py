"""What each view is, what it is worth, and which views say the same."""

from time import perf_counter

import numpy as np

from fuselearn import inspection
from fuselearn.reporting.report_rows import rows_of

SHUFFLES = 3
PATIENCE = 20.0
"""Seconds that all predictions without a view, or with a shuffled one, may take together, roughly."""
FEWEST_ROWS = 100
MOST_COLUMN_NAMES = 3


def views_of(rows, some, presence, seed, n_columns=None):
    """Columns, share of the vote and worth of each view.

    Parameters
    ----------
    rows : ReportRows
    some : ReportRows
        Rows of known classes, few enough to predict them once per view and shuffle.
    presence : list of dict
        Of each view, with the share of rows that have it. What no row has is not missed.
    seed : int
    n_columns : list of int, default=None
        Columns of each view in the file, where these are others than the model's.

    Returns
    -------
    dict
        ``records``, one per view in the model's order; a value that the model or the data cannot tell is None.
        ``hurried``: whether there would have been more rows if predictions did not take long; ``shuffles``: how often
        each view was shuffled.
    """
    model = rows.model
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    records = []
    for number, (name, columns) in enumerate(zip(model.view_names_, model.view_columns_)):
        listed = [names[column] for column in columns[:MOST_COLUMN_NAMES]] if names else []
        records.append(
            {
                "name": str(name),
                "columns": n_columns[number] if n_columns else len(columns),
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
    baseline, hurried, shuffles = None, False, SHUFFLES
    if some.labelled and some.n_rows > 1 and len(records) > 1:
        wanted = some.n_rows
        some, shuffles = within_patience(some, len(records), seed)
        hurried = some.n_rows < wanted
        lost = inspection.view_importance(model, some.X, some.y, method="drop")
        shuffled = None
        if shuffles:
            shuffled = inspection.view_importance(
                model, some.X, some.y, method="permutation", n_repeats=shuffles, random_state=seed
            )
        baseline = float(lost.baseline)
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
        "score_name": "mean accuracy over the labels" if rows.many_labels else "accuracy",
        "rows": some.n_rows,
        "of": rows.n_rows,
        "named": bool(names),
        "hurried": hurried,
        "shuffles": shuffles,
    }


def within_patience(some, n_views, seed):
    """Rows and shuffles whose predictions, one for each view and shuffle, are made in about `PATIENCE` seconds.

    Rows are halved, so that a report says the same on machines that are about as fast.

    Returns
    -------
    some : ReportRows
    n_shuffles : int
        0 where even few rows take long.
    """
    n_predictions = 2 + n_views * (1 + SHUFFLES)
    some.model.predict(rows_of(some.X, np.arange(1)))  # what is compiled or read once does not count
    while True:
        started = perf_counter()
        some.model.predict(some.X)
        needed = n_predictions * (perf_counter() - started)
        if needed <= PATIENCE:
            return some, SHUFFLES
        if some.n_rows <= FEWEST_ROWS:
            return some, SHUFFLES if needed <= 2 * PATIENCE else 0
        some = some.sample(max(FEWEST_ROWS, some.n_rows // 2), seed)


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
