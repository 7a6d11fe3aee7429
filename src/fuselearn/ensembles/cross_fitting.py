"""What the views' models say of rows: of new ones, and of training rows that they were not fitted on."""

from numbers import Integral

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed

from fuselearn.classifiers.checks import seeded_clone
from fuselearn.classifiers.view_model import fit_view_model, rows_of


def check_cv(cv):
    """Refuse what is neither a number of folds nor a splitter."""
    if isinstance(cv, bool) or not (
        (hasattr(cv, "split") and hasattr(cv, "get_n_splits")) or (isinstance(cv, Integral) and cv >= 2)
    ):
        raise ValueError(f"cv must be an integer of at least 2, or a splitter such as StratifiedKFold(5); got {cv!r}.")


def make_folds(cv, codes, classes, seed):
    """Pairs (training rows, held-out rows) in which every row is held out once.

    Parameters
    ----------
    cv : int or splitter
        A number of folds is shuffled by `seed`, and keeps the classes' shares.
    codes : int ndarray of shape (n_rows,)
    classes : ndarray of shape (n_classes,)
    seed : int
    """
    if isinstance(cv, Integral):
        counts = np.bincount(codes, minlength=len(classes))
        rare = np.flatnonzero((counts > 0) & (counts < cv))
        if len(rare):
            raise ValueError(
                f"cv={cv} needs at least {cv} rows of each class, but the class {classes.tolist()[rare[0]]!r} has "
                f"{counts[rare[0]]}; lower cv, or leave the class out."
            )
        cv = StratifiedKFold(cv, shuffle=True, random_state=seed)
    folds = list(cv.split(np.zeros((len(codes), 1)), classes[codes]))
    held_out = np.concatenate([test for _, test in folds]) if folds else np.array([], dtype=np.intp)
    if not np.array_equal(np.sort(held_out), np.arange(len(codes))):
        raise ValueError(f"cv must hold out every row once; {cv!r} does not.")
    return folds


def fit_and_cross_fit(rows, estimators, folds, seed, output, width, n_jobs):
    """Fit a model per view on all its rows, and one more per fold.

    Parameters
    ----------
    rows : TrainingRows
    estimators : list of classifier
        One per view; clones are fitted.
    folds : list of (training rows, held-out rows)
        None are needed where the outputs are not.
    seed : int
    output : callable
        Takes a :class:`ViewModel` and rows, and returns an array of shape (n_rows, width).
    width : int
    n_jobs : int or None

    Returns
    -------
    models : list of ViewModel
    outputs : list of ndarray of shape (n_rows, width)
        What a model of each view that was not fitted on a row says of it; NaN where the view is absent or the model
        abstains.
    """
    everyone = np.arange(len(rows))
    values = [rows_of(view, estimator) for view, estimator in zip(rows.blocks, estimators)]  # refuses gaps
    # All parts in one go, so that threads are busy to the end.
    results = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_fit_part)(
            rows, number, values[number], seeded_clone(estimator, seed, number, part), train, test, output
        )
        for number, estimator in enumerate(estimators)
        for part, (train, test) in enumerate([(everyone, everyone[:0]), *folds])
    )
    n_parts = len(folds) + 1
    outputs = [np.full((len(rows), width), np.nan) for _ in estimators]
    for place, (_, here, said) in enumerate(results):
        outputs[place // n_parts][here] = said
    return [model for model, _, _ in results[::n_parts]], outputs


def outputs_of(models, blocks, output, width, n_jobs):
    """What each view's model says of rows; NaN where the view is absent or its model abstains.

    Parameters
    ----------
    models : list of ViewModel
    blocks : ViewBlocks
    output : callable
        As for :func:`fit_and_cross_fit`.
    width : int
    n_jobs : int or None

    Returns
    -------
    list of ndarray of shape (n_rows, width)
    """
    values = [rows_of(view, model.estimator) for view, model in zip(blocks, models)]
    said = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_said)(model, view_values, output) for model, view_values in zip(models, values)
    )
    outputs = []
    for view, view_said in zip(blocks, said):
        outputs.append(np.full((len(blocks), width), np.nan))
        outputs[-1][slice(None) if view.rows is None else view.rows] = view_said
    return outputs


def _fit_part(rows, number, values, estimator, train, test, output):
    """A view's model of some rows, and what it says of others: (model, rows that have the view, output)."""
    present = rows.blocks.present[:, number]
    place = np.cumsum(present) - 1
    train, test = train[present[train]], test[present[test]]
    if len(train) == 0:
        return None, test, np.nan
    model = fit_view_model(
        f"the view {rows.names[number]!r}",
        estimator,
        values[place[train]],
        rows.codes[number][train],
        rows.classes,
        None if rows.weights is None else rows.weights[train],
    )
    return model, test, _said(model, values[place[test]], output)


def _said(model, values, output):
    return np.nan if model.abstains or len(values) == 0 else output(model, values)
