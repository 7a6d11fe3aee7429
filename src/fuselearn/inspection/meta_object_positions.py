"""Positions of unmatched objects and of the meta-objects that a tomographic classifier built from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from fuselearn.data import View, ViewBlocks
from fuselearn.inspection.fitted_model import FittedModel, check_has, fitted_views, read_rows, without_feature_names
from fuselearn.inspection.label_agreement import lead
from fuselearn.kernels import GramLookup
from fuselearn.numeric.pairs import SortedPairs, squared_distances
from fuselearn.typing import AnyArray, FloatArray, IntArray, TableLike

GRID = 121
"""Points along each side of the plane at which the decision is computed."""


@dataclass(frozen=True)
class Correspondence:
    """Objects of two views on a line each, and their meta-objects in the plane of both.

    Its parameters are its attributes.

    Parameters
    ----------
    view_names : list of str
        Names of the two views.
    objects : list of ndarray
        Positions of the objects of each view: their value in a view of one column, otherwise the first principal
        component of the view's kernel.
    object_rows : list of intp ndarray
        Rows of `X` that the objects of each view are.
    meta_objects : ndarray of shape (n_meta, 2)
        Positions of the meta-objects in both views.
    meta_labels : ndarray of shape (n_meta,)
        Classes of the meta-objects.
    meta_weights : ndarray of shape (n_meta,)
        Weights of the meta-objects.
    boundary : (ndarray, ndarray, ndarray) or None
        Both sides of a grid in the plane, of lengths n1 and n2, and how far each class leads at its points, of shape
        (n_classes, n2, n1). None if a view has more than one column.
    label : object
        The class that `distances` belong to.
    distances : list of ndarray
        Squared kernel distances of all pairs of the class's objects in each view, scaled, ascending.
    bands : ndarray
        Distances at which the bands of the first view end; empty if objects are paired at random.
    """

    view_names: list[str]
    objects: list[FloatArray]
    object_rows: list[IntArray]
    meta_objects: FloatArray
    meta_labels: AnyArray
    meta_weights: FloatArray
    boundary: tuple[FloatArray, FloatArray, FloatArray] | None
    label: Any
    distances: list[FloatArray]
    bands: FloatArray


def correspondence(
    model: FittedModel, X: TableLike, *, views: Sequence[str] | None = None, label: Any = None
) -> Correspondence:
    """Return the meta-objects of a fitted :class:`~fuselearn.TomographicClassifier`, for two of its views.

    Parameters
    ----------
    model : fitted TomographicClassifier
        The model that built the meta-objects.
    X : array or data frame of shape (n_samples, n_features)
        The training rows, which a model does not keep.
    views : pair of str, default=None
        Names of the two views; None takes the first two.
    label : object, default=None
        The class whose distances are returned; None is the class with most meta-objects.

    Returns
    -------
    Correspondence
        Positions of objects and meta-objects, and the distances that were matched.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import TomographicClassifier, stack_unpaired
    >>> from fuselearn.inspection import correspondence
    >>> X, y = load_iris(return_X_y=True)
    >>> X, views, y = stack_unpaired({"sepal": (X[::2, :2], y[::2]), "petal": (X[1::2, 2:], y[1::2])})
    >>> model = TomographicClassifier(views=views, max_meta_objects=300, random_state=0).fit(X, y)
    >>> pairing = correspondence(model, X)
    >>> pairing.meta_objects.shape, [len(distances) for distances in pairing.distances]
    ((300, 2), [300, 300])
    """
    check_has(model, "meta_objects_", "pass a fitted TomographicClassifier.")
    names, columns = fitted_views(model)
    chosen = _view_numbers(views, names)
    table = read_rows(model, X)
    blocks = ViewBlocks.of(table, names, columns)
    for number in chosen:
        _check_training_rows(model.meta_objects_[:, number], blocks.present[:, number], names[number])
    classes, counts = np.unique(model.meta_labels_, return_counts=True)
    label = classes[counts.argmax()] if label is None else label
    if label not in classes.tolist():
        raise ValueError(f"label must be one of the classes {classes.tolist()}; got {label!r}.")
    objects, object_rows, distances, meta_positions = [], [], [], []
    bands: FloatArray = np.empty(0)
    for place, number in enumerate(chosen):
        view = blocks.views[number]
        rows = np.arange(len(table)) if view.rows is None else view.rows
        gram = model.kernels_[number].gram(view.array()) / model.kernel_scales_[number]
        is_line = _is_line(model, view, number)
        positions = view.array()[:, 0].astype(np.float64) if is_line else _first_component(gram)
        position_of_row = np.full(len(table), np.nan)
        position_of_row[rows] = positions
        objects.append(positions)
        object_rows.append(rows)
        meta_positions.append(position_of_row[model.meta_objects_[:, number]])
        rows_of_class = np.unique(model.meta_objects_[model.meta_labels_ == label, number])
        members = np.searchsorted(rows, rows_of_class)
        pairs = SortedPairs.of(squared_distances(gram[np.ix_(members, members)]))
        distances.append(pairs.distances)
        if place == 0 and model.correspondence == "tomographic":
            bands = pairs.distances[np.array(list(pairs.bands(model.band)), dtype=np.intp) - 1]
    has_plane = len(names) == 2 and all(_is_line(model, blocks.views[number], number) for number in chosen)
    return Correspondence(
        [names[number] for number in chosen],
        objects,
        object_rows,
        np.column_stack(meta_positions),
        np.asarray(model.meta_labels_),
        np.asarray(model.meta_weights_),
        _boundary(model, table.shape[1], chosen, columns, objects) if has_plane else None,
        label,
        distances,
        bands,
    )


def _view_numbers(views: Sequence[str] | None, names: list[str]) -> list[int]:
    """Return the numbers of the two views."""
    if len(names) < 2:
        raise ValueError(f"model has only one view, {names[0]!r}; a correspondence needs two.")
    views = names[:2] if views is None else list(views)
    if len(views) != 2 or views[0] == views[1] or any(name not in names for name in views):
        raise ValueError(f"views must be two of {names}; got {views!r}.")
    return [names.index(name) for name in views]


def _check_training_rows(meta_rows: IntArray, present: AnyArray, name: str) -> None:
    """Raise an error if a meta-object refers to a row that `X` lacks, or that lacks the view."""
    beyond = meta_rows.max() >= len(present)
    if beyond or not present[meta_rows].all():
        row = meta_rows.max() if beyond else meta_rows[~present[meta_rows]][0]
        raise ValueError(f"X must be the rows that the model was fitted on: the view {name!r} is absent in row {row}.")


def _is_line(model: FittedModel, view: View, number: int) -> bool:
    """Return True if a view has one column, which is a measurement and not the number of an object."""
    return view.n_columns == 1 and not isinstance(model.kernels_[number].kernel, GramLookup)


def _first_component(gram: FloatArray) -> FloatArray:
    """Return the position of each object along the direction in which the objects of a kernel differ most."""
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    last = len(gram) - 1
    [value], vectors = eigh(centred, subset_by_index=[last, last])
    vector = vectors[:, 0]
    # The sign of an eigenvector is arbitrary: its largest entry is made positive.
    return np.sqrt(max(value, 0.0)) * vector * (np.sign(vector[np.abs(vector).argmax()]) or 1.0)


def _boundary(
    model: FittedModel, n_features: int, chosen: list[int], columns: list[IntArray], objects: list[FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return how far each class leads the others over the plane of two views with one column each."""
    sides = []
    for values in objects:
        padding = 0.08 * (np.ptp(values) or 1.0)
        sides.append(np.linspace(values.min() - padding, values.max() + padding, GRID))
    first, second = np.meshgrid(*sides)
    rows = np.zeros((first.size, n_features))
    rows[:, columns[chosen[0]][0]], rows[:, columns[chosen[1]][0]] = first.ravel(), second.ravel()
    decision = without_feature_names(model).decision_function(rows)
    values = np.column_stack([-decision, decision]) if decision.ndim == 1 else decision
    leads = [lead(values, np.full(len(values), code)) for code in range(values.shape[1])]
    return sides[0], sides[1], np.reshape(leads, (-1, *first.shape))
