"""Labels that a model does not believe."""

import numpy as np

from fuselearn.data import ViewBlocks, encode_known
from fuselearn.estimators import check_count
from fuselearn.inspection.fitted_model import check_has, forgetful, read_labels, read_rows, views_of


def suspects(model, X, y, *, n=None, ids=None):
    """Labels of given rows that the model holds for wrong, the most suspect first.

    Give it rows that the model was not fitted on: a model has learnt the wrong labels of its own. For those see
    :class:`~fuselearn.LabelConsensus`, which holds rows out in turn.

    Parameters
    ----------
    model : fitted classifier of fuselearn with `predict_proba`
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_labels)
    n : int or None, default=None
        How many; labels that the model would predict come last. None gives all labels that are more probably wrong
        than right, and that the model would not predict.
    ids : sequence of length n_samples, default=None
        Names of the rows.

    Returns
    -------
    list of dict
        ``"row"``, the row number in `X`; ``"id"``, where `ids` are given; ``"column"``, ``"y"`` or the name of the
        label; ``"given"``, the label; ``"proposed"``, the most probable other class; ``"probability"``, that the label
        is wrong. Rows in which every view is absent are never suspect: nothing speaks against their labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> from fuselearn.inspection import suspects
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ShareBoostClassifier(views=[[0, 1], [2, 3]], n_estimators=30).fit(X[::2], y[::2])
    >>> X_new, y_new = X[1::2], y[1::2].copy()
    >>> y_new[3] = 2  # a setosa that somebody took for a virginica
    >>> worst = suspects(model, X_new, y_new, n=1)[0]
    >>> worst["row"], worst["given"], worst["proposed"]
    (3, 2, 0)
    """
    if n is not None:
        check_count("n", n, least=0)
    names, columns = views_of(model)
    check_has(model, "predict_proba", "without probabilities no label is suspect.")
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    ids = None if ids is None else np.asarray(ids)
    if ids is not None and ids.shape != (len(table),):
        raise ValueError(f"ids must name each of the {len(table)} rows of X; got shape {ids.shape}.")
    chances = forgetful(model).predict_proba(table)
    contradicted = np.ones((len(table), 1), dtype=bool)
    if y.ndim == 1:
        # With unequal classes the predicted class need not be the most probable one.
        contradicted[:, 0] = forgetful(model).predict(table) != y
        given, label_columns, classes = encode_known(y, model.classes_, "y")[:, None], ["y"], model.classes_
        chances = chances[:, None, :]
    else:
        given, label_columns, classes = y.astype(np.intp), list(model.label_names_), np.array([0, 1])
        chances = np.stack([1 - chances, chances], axis=2)
    own = np.take_along_axis(chances, given[:, :, None], axis=2)[:, :, 0]
    others = chances.copy()
    np.put_along_axis(others, given[:, :, None], -1.0, axis=2)
    proposed = others.argmax(axis=2)
    heard = ViewBlocks.of(table, names, columns).present.any(axis=1)
    doubt = np.where(heard[:, None], 1 - own, -1.0)
    contradicted = contradicted & (doubt > 0.5)
    rows, numbers = np.nonzero(contradicted if n is None else doubt > -1.0)
    order = np.lexsort((-doubt[rows, numbers], ~contradicted[rows, numbers]))[:n]
    found = []
    for row, number in zip(rows[order].tolist(), numbers[order].tolist()):
        record = {"row": row} if ids is None else {"row": row, "id": ids[row : row + 1].tolist()[0]}
        found.append(
            record
            | {
                "column": label_columns[number],
                "given": classes.tolist()[given[row, number]],
                "proposed": classes.tolist()[proposed[row, number]],
                "probability": float(doubt[row, number]),
            }
        )
    return found
