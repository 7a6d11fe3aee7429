"""The arguments of `fit` of the gradient boosting estimators, read where the rows are."""

from dataclasses import replace
from numbers import Real
from typing import Any, Protocol

import numpy as np

from fuselearn.backends.partitioned.partitioned_data import open_source
from fuselearn.backends.protocol import RowLocation, row_location, to_host
from fuselearn.boosting.gradient.gradient_data import GradientData, LocalGradientData
from fuselearn.boosting.gradient.partitioned_gradient_data import (
    GradientEstimator,
    read_partitioned_gradient_data,
)
from fuselearn.data.categories import Categories
from fuselearn.data.class_weights import ClassWeight, ClassWeights
from fuselearn.data.training_data import TrainingData, read_regression_data, read_training_data
from fuselearn.numeric.exact_sums import limb_sums, sums_of_limbs
from fuselearn.typing import ArrayLike, TableLike


class GradientClassifier(GradientEstimator, Protocol):
    """A gradient boosting classifier."""

    class_weight: ClassWeight


def read_classes(
    model: GradientClassifier,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    view_labels: ArrayLike,
    groups: ArrayLike,
    *,
    reset: bool,
) -> GradientData:
    """Check the arguments of a classifier's `fit`, and return the rows; the model is not changed.

    With `reset`, the columns of `X` may differ from those that the model was fitted on.
    """
    source = open_source(_location(X), X, y, sample_weight, view_labels, groups)
    if source is not None:
        weight = _common_weight(sample_weight)
        return read_partitioned_gradient_data(
            model, source, reset=reset, has_classes=True, class_weight=model.class_weight, common_weight=weight
        )
    categories, X = _encoded(model, X, reset)
    y, sample_weight, view_labels, groups = map(to_host, (y, sample_weight, view_labels, groups))
    data = read_training_data(model, X, y, sample_weight, view_labels, groups, reset=reset, largest_weight_is_one=True)
    data, factor = _class_weighted(data, model.class_weight)
    return LocalGradientData(data, factor * _largest(sample_weight), categories)


def read_targets(
    model: GradientEstimator,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    groups: ArrayLike,
    *,
    reset: bool,
) -> GradientData:
    """Check the arguments of a regressor's `fit`, and return the rows; the model is not changed.

    With `reset`, the columns of `X` may differ from those that the model was fitted on.
    """
    source = open_source(_location(X), X, y, sample_weight, groups=groups)
    if source is not None:
        weight = _common_weight(sample_weight)
        return read_partitioned_gradient_data(model, source, reset=reset, has_classes=False, common_weight=weight)
    categories, X = _encoded(model, X, reset)
    y, sample_weight, groups = map(to_host, (y, sample_weight, groups))
    data = read_regression_data(model, X, y, sample_weight, groups, reset=reset)
    return LocalGradientData(data, _largest(sample_weight), categories)


def _location(X: TableLike) -> RowLocation:
    """Return where the rows are; those on a GPU are refused."""
    location = row_location(X)
    if location == "gpu":
        raise TypeError(f"X must hold rows in memory; got {type(X).__name__}.")
    return location


def _common_weight(sample_weight: ArrayLike) -> float:
    """Return the weight that is given for all rows of a Dask collection; 1 where each has one of its own."""
    is_number = isinstance(sample_weight, Real) or (isinstance(sample_weight, np.ndarray) and not sample_weight.ndim)
    return float(sample_weight) if is_number else 1.0


def _encoded(model: Any, X: TableLike, reset: bool) -> tuple[Categories | None, TableLike]:
    """Return the categories of a table, those of the last fit where the model is continued, and the table in codes."""
    if not reset:
        categories = model.categories_
        return categories, X if categories is None else categories.encode(X)
    categories = Categories.of(X, model.categorical_features, int(model.max_bins))
    return (categories, categories.encode(X)) if len(categories.columns) else (None, X)


def _class_weighted(data: TrainingData, class_weight: ClassWeight) -> tuple[TrainingData, float]:
    """Return data whose weights are multiplied by those of the classes, and the largest of these products."""
    if class_weight is None:
        return data, 1.0
    codes = data.majority() if data.has_view_labels else data.codes[:, 0]
    used = data.weights > 0
    totals = np.array(sums_of_limbs(limb_sums(data.weights[used], codes[used], len(data.classes))))
    largest = np.zeros(len(data.classes))
    np.maximum.at(largest, codes[used], data.weights[used])
    weights = ClassWeights.of(class_weight, data.classes, totals, largest)
    return replace(data, weights=weights.of_rows(codes, data.weights)), weights.largest


def _largest(sample_weight: ArrayLike) -> float:
    """Return the largest weight of a row; 1 where none are given."""
    return 1.0 if sample_weight is None else float(np.max(np.asarray(sample_weight, dtype=np.float64)))
