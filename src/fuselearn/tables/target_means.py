"""Mean targets of categories: what a training row gets is learnt of other rows only, and of other groups of rows."""

from typing import Any

import numpy as np

from fuselearn.classifiers.cross_fitting import Fold, as_folds, stratified_folds
from fuselearn.data.folds import numbered_groups
from fuselearn.typing import AnyArray, FloatArray

MOST_FOLDS = 5
REMEDY = "encode it onehot, or leave it out"


def cross_fitted_means(
    column: str, texts: AnyArray, y: AnyArray, groups: AnyArray | None, seed: int | None
) -> tuple[Any, FloatArray]:
    """Return a `TargetEncoder` fitted on all rows, and the columns of these rows, each by rows of other folds.

    Parameters
    ----------
    column : str
        Name of the column of the table, for messages.
    texts : object ndarray of shape (n_rows,)
        Categories, none of which is missing.
    y : ndarray of shape (n_rows,)
        Classes.
    groups : ndarray of shape (n_rows,) or None
        Groups of the rows; none is in two folds.
    seed : int or None
        Seed of the folds.

    Returns
    -------
    encoder : sklearn.preprocessing.TargetEncoder
        Of all rows.
    columns : ndarray of shape (n_rows, n_columns)
        A column for each class, or one, of the second class, where there are two.
    """
    # What only a fit needs takes a tenth of the time in which a few rows are predicted.
    from sklearn.preprocessing import TargetEncoder

    folds = _folds(column, y, groups, seed)
    encoder = TargetEncoder().fit(texts[:, None], y)
    rows = numbered_groups(texts)[1][:, None]  # sorted faster than texts
    classes = encoder.classes_[1:] if len(encoder.classes_) == 2 else encoder.classes_
    columns = np.empty((len(y), len(classes)))
    for number, label in enumerate(classes):
        targets = (y == label).astype(np.intp)
        for others, held_out in folds:
            means = TargetEncoder(target_type="continuous").fit(rows[others], targets[others])
            columns[held_out, number] = means.transform(rows[held_out])[:, 0]
    return encoder, columns


def _folds(column: str, y: AnyArray, groups: AnyArray | None, seed: int | None) -> list[Fold]:
    """Return the folds of rows, or of whole groups, in which classes have their shares as far as that allows."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.utils.multiclass import type_of_target

    if type_of_target(y) == "continuous":
        raise ValueError(
            f"the column {column!r} can have mean targets of classes only, and numbers are predicted; {REMEDY}"
        )
    codes, counts = np.unique(y, return_inverse=True, return_counts=True)[1:]
    most = counts.max(initial=0)
    if most < 2 or len(counts) < 2:
        raise ValueError(
            f"the column {column!r} has {len(y)} values, too few of different classes for their mean target; {REMEDY}"
        )
    if groups is None:
        splitter = StratifiedKFold(min(MOST_FOLDS, most), shuffle=True, random_state=seed)
        return list(splitter.split(y[:, None], y))
    names, numbers = numbered_groups(groups)
    if len(names) < 2:
        raise ValueError(
            f"the column {column!r} has values in the group {names[0]!r} only, and mean targets are learnt of other "
            f"groups; {REMEDY}"
        )
    n_folds = min(MOST_FOLDS, len(names))
    return as_folds(stratified_folds(codes, n_folds, np.random.default_rng(seed), numbers), n_folds)
