"""Where the objects of unmatched views lie, and what was put together."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from fuselearn.data import ViewBlocks
from fuselearn.inspection.fitted_model import check_has, forgetful, read_rows, views_of
from fuselearn.inspection.margins import lead
from fuselearn.kernels import GramLookup
from fuselearn.numeric.pairs import SortedPairs, squared_distances

GRID = 121
"""Points of the plane along each side, at which the decision is asked for."""


@dataclass(frozen=True)
class Correspondence:
    """Objects of two views on a line each, and their meta-objects in the plane of both.

    Attributes
    ----------
    view_names : list of str
        Two of them.
    objects : list of ndarray
        Where the objects of each view lie: their value in a view of one column, else the first principal component of
        the view's kernel.
    object_rows : list of intp ndarray
        Their rows of `X`.
    meta_objects : ndarray of shape (n_meta, 2)
    meta_labels : ndarray of shape (n_meta,)
    meta_weights : ndarray of shape (n_meta,)
    boundary : (ndarray, ndarray, ndarray) or None
        Both sides of a grid in the plane, of lengths n1 and n2, and by how much each class leads at its points, of
        shape (n_classes, n2, n1). None where views have more than one column.
    label : object
        The class that `distances` are of.
    distances : list of ndarray
        Squared kernel distances of all pairs of the class's objects in each view, scaled, ascending.
    bands : ndarray
        Distances at which the bands of the first view end; empty where pairing is at random.
    """

    view_names: list
    objects: list
    object_rows: list
    meta_objects: np.ndarray
    meta_labels: np.ndarray
    meta_weights: np.ndarray
    boundary: tuple | None
    label: object
    distances: list
    bands: np.ndarray


def correspondence(model, X, *, views=None, label=None):
    """What a fitted :class:`~fuselearn.TomographicClassifier` has put together, for two of its views.

    Parameters
    ----------
    model : fitted TomographicClassifier
    X : array or data frame of shape (n_samples, n_features)
        The rows that it was fitted on.
    views : pair of str, default=None
        None is the first two.
    label : default=None
        The class whose distances are wanted; None is the one with most meta-objects.

    Returns
    -------
    Correspondence

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import TomographicClassifier, stack_unpaired
    >>> from fuselearn.inspection import correspondence
    >>> X, y = load_iris(return_X_y=True)
    >>> X, views, y = stack_unpaired({"sepal": (X[::2, :2], y[::2]), "petal": (X[1::2, 2:], y[1::2])})
    >>> model = TomographicClassifier(views=views, random_state=0).fit(X, y)
    >>> found = correspondence(model, X)
    >>> found.meta_objects.shape, [len(distances) for distances in found.distances]
    ((300, 2), [300, 300])
    """
    check_has(model, "meta_objects_", "meta-objects are of TomographicClassifier.")
    names, columns = views_of(model)
    chosen = _chosen(views, names)
    table = read_rows(model, X)
    blocks = ViewBlocks.of(table, names, columns)
    for number in chosen:
        rows = model.meta_objects_[:, number]
        if rows.max() >= len(table) or not blocks.present[rows, number].all():
            raise ValueError(
                f"X must be the rows that the model was fitted on: the view {names[number]!r} is absent in row "
                f"{rows.max() if rows.max() >= len(table) else rows[~blocks.present[rows, number]][0]}."
            )
    classes, counts = np.unique(model.meta_labels_, return_counts=True)
    label = classes[counts.argmax()] if label is None else label
    if label not in classes.tolist():
        raise ValueError(f"label must be one of the classes {classes.tolist()}; got {label!r}.")
    objects, object_rows, distances, meta = [], [], [], []
    bands = np.empty(0)
    for place, number in enumerate(chosen):
        view = blocks.views[number]
        rows = np.arange(len(table)) if view.rows is None else view.rows
        raw = _is_a_line(model, view, number)
        gram = model.kernels_[number].gram(view.array()) / model.kernel_scales_[number]
        where = view.array()[:, 0].astype(np.float64) if raw else _first_component(gram)
        at = np.full(len(table), np.nan)
        at[rows] = where
        objects.append(where)
        object_rows.append(rows)
        meta.append(at[model.meta_objects_[:, number]])
        members = np.unique(model.meta_objects_[model.meta_labels_ == label, number])
        own = np.searchsorted(rows, members)
        pairs = SortedPairs.of(squared_distances(gram[np.ix_(own, own)]))
        distances.append(pairs.distances)
        if place == 0 and model.correspondence == "tomographic":
            bands = pairs.distances[np.array(list(pairs.bands(model.band)), dtype=np.intp) - 1]
    plane = len(names) == 2 and all(_is_a_line(model, blocks.views[number], number) for number in chosen)
    return Correspondence(
        [names[number] for number in chosen],
        objects,
        object_rows,
        np.column_stack(meta),
        np.asarray(model.meta_labels_),
        np.asarray(model.meta_weights_),
        _boundary(model, table.shape[1], chosen, columns, objects) if plane else None,
        label,
        distances,
        bands,
    )


def _chosen(views, names):
    """Numbers of the two views."""
    if len(names) < 2:
        raise ValueError(f"model has one view only, {names[0]!r}; a correspondence is of two.")
    views = names[:2] if views is None else list(views)
    if len(views) != 2 or views[0] == views[1] or any(name not in names for name in views):
        raise ValueError(f"views must be two of {names}; got {views!r}.")
    return [names.index(name) for name in views]


def _is_a_line(model, view, number):
    """Whether a view has one column, which is a measurement and not the number of an object."""
    return view.n_columns == 1 and not isinstance(model.kernels_[number].kernel, GramLookup)


def _first_component(gram):
    """Place of each object along the direction in which a kernel's objects differ most."""
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    last = len(gram) - 1
    [value], vector = eigh(centred, subset_by_index=[last, last])
    vector = vector[:, 0]
    # A direction has no sign of its own.
    return np.sqrt(max(value, 0.0)) * vector * (np.sign(vector[np.abs(vector).argmax()]) or 1.0)


def _boundary(model, n_features, chosen, columns, objects):
    """By how much each class leads the others over the plane of two views with one column each."""
    sides = []
    for values in objects:
        room = 0.08 * (np.ptp(values) or 1.0)
        sides.append(np.linspace(values.min() - room, values.max() + room, GRID))
    first, second = np.meshgrid(*sides)
    rows = np.zeros((first.size, n_features))
    rows[:, columns[chosen[0]][0]], rows[:, columns[chosen[1]][0]] = first.ravel(), second.ravel()
    decision = forgetful(model).decision_function(rows)
    values = np.column_stack([-decision, decision]) if decision.ndim == 1 else decision
    leads = [lead(values, np.full(len(values), code)) for code in range(values.shape[1])]
    return (*sides, np.reshape(leads, (-1, *first.shape)))
