"""Labels that are probably wrong, as records."""

import numpy as np

from fuselearn.settings import check_count


def suspect_labels(posterior, codes, classes, columns, n):
    """Labels that are probably wrong, the most suspect first.

    Parameters
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
        p(true class | everything known).
    codes : int ndarray of shape (n_rows, n_columns)
        Class by each label column; -1 where a column has no label.
    classes : ndarray of shape (n_classes,)
    columns : list of str
        Names of the label columns.
    n : int or None
        How many. None gives all labels that are more probably wrong than right.

    Returns
    -------
    list of dict
        With the keys ``"row"``, ``"column"``, ``"given"``, ``"proposed"`` and ``"probability"``.
    """
    if n is not None:
        check_count("n", n, least=0)
    rows, places = np.nonzero(codes >= 0)
    given = codes[rows, places]
    probability = 1 - posterior[rows, given]
    order = np.argsort(-probability, kind="stable")
    order = order[probability[order] > 0.5] if n is None else order[:n]
    others = posterior[rows[order]].copy()
    others[np.arange(len(order)), given[order]] = -1
    return [
        {"row": row, "column": columns[place], "given": label, "proposed": proposed, "probability": wrong}
        for row, place, label, proposed, wrong in zip(
            rows[order].tolist(),
            places[order].tolist(),
            classes[given[order]].tolist(),
            classes[others.argmax(axis=1)].tolist(),
            probability[order].tolist(),
        )
    ]
