"""What a caller tells of the file that rows come from.

A model may see other columns than the file has: text is put into numbers, which have no gaps any more. What is said of
columns and gaps is then to be that of the file.
"""

from numbers import Integral, Real


def file_facts(note, model):
    """Columns, gaps and rows left out, as ``note["file"]`` tells.

    Parameters
    ----------
    note : dict or None
    model : fitted classifier with views

    Returns
    -------
    dict
        ``columns`` and ``gaps``: lists in the order of the model's views, None where they are not told of every view;
        ``rows_left_out``: int.
    """
    told = (note or {}).get("file")
    told = told if isinstance(told, dict) else {}
    n = told.get("rows_left_out")
    columns = _by_view(told.get("columns_per_view"), model, Integral)
    return {
        "columns": columns,
        "gaps": _by_view(told.get("gaps_per_view"), model, Real),
        "rows_left_out": int(n) if isinstance(n, Integral) and n > 0 else 0,
    }


def _by_view(told, model, kind):
    if not isinstance(told, dict):
        return None
    values = [told.get(name) for name in model.view_names_]
    return values if all(isinstance(value, kind) for value in values) else None
