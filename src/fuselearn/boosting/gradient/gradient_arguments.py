"""The arguments of `fit` of the gradient boosting estimators, read where the rows are."""

from dataclasses import replace
from numbers import Real
from typing import Any, Protocol

import numpy as np

from fuselearn.backends.partitioned.partitioned_data import open_source
from fuselearn.backends.protocol import PARTITIONED, RowLocation, row_location, to_host
from fuselearn.boosting.gradient.gradient_data import GradientData, LocalGradientData
from fuselearn.boosting.gradient.partitioned_gradient_data import (
    GradientEstimator,
    read_partitioned_gradient_data,
)
from fuselearn.data.categories import Categories
from fuselearn.data.class_weights import ClassWeight, ClassWeights
from fuselearn.data.training_data import (
    IN_MEMORY,
    TableReader,
    TrainingData,
    read_regression_data,
    read_training_data,
)
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
    location = row_location(X)
    if location in PARTITIONED:
        source = open_source(location, X, y, sample_weight, view_labels, groups)
        weight = _common_weight(sample_weight)
        return read_partitioned_gradient_data(
            model, source, reset=reset, has_classes=True, class_weight=model.class_weight, common_weight=weight
        )
    categories, X = _encoded(model, X, reset)
    y, sample_weight, view_labels, groups = _labels_on_host(
        X, {"y": y, "sample_weight": sample_weight, "view_labels": view_labels, "groups": groups}
    )
    reader = _reader(location)
    data = read_training_data(
        model, X, y, sample_weight, view_labels, groups, reset=reset, reader=reader, largest_weight_is_one=True
    )
    data, factor = _class_weighted(data, model.class_weight)
    return _data_type(location)(data, factor * _largest(sample_weight), categories)


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
    location = row_location(X)
    if location in PARTITIONED:
        source = open_source(location, X, y, sample_weight, groups=groups)
        weight = _common_weight(sample_weight)
        return read_partitioned_gradient_data(model, source, reset=reset, has_classes=False, common_weight=weight)
    categories, X = _encoded(model, X, reset)
    y, sample_weight, groups = _labels_on_host(X, {"y": y, "sample_weight": sample_weight, "groups": groups})
    data = read_regression_data(model, X, y, sample_weight, groups, reset=reset, reader=_reader(location))
    return _data_type(location)(data, _largest(sample_weight), categories)


def _reader(location: RowLocation) -> TableReader:
    """Return what reads a table in memory or on a GPU."""
    if location != "gpu":
        return IN_MEMORY
    from fuselearn.backends.gpu.gpu_table import gpu_view_blocks, labels_to_host, read_gpu_table

    return TableReader(read_gpu_table, labels_to_host, gpu_view_blocks)


def _data_type(location: RowLocation) -> type[LocalGradientData]:
    """Return the class of rows that are all in one place."""
    if location != "gpu":
        return LocalGradientData
    from fuselearn.boosting.gradient.gpu_gradient_data import GpuGradientData

    return GpuGradientData


def _labels_on_host(X: TableLike, arguments: dict[str, ArrayLike]) -> list[ArrayLike]:
    """Return labels, weights and groups in memory; those of rows on a GPU may not be on another one."""
    if row_location(X) != "gpu":
        return [to_host(values) for values in arguments.values()]
    from fuselearn.backends.gpu.gpu_table import GpuTable, labels_to_host

    table = GpuTable(X)
    return [labels_to_host(values, table, name) for name, values in arguments.items()]


def _common_weight(sample_weight: ArrayLike) -> float:
    """Return the weight that is given for all rows of a Dask collection; 1 where each has one of its own."""
    is_number = isinstance(sample_weight, Real) or (isinstance(sample_weight, np.ndarray) and not sample_weight.ndim)
    return float(sample_weight) if is_number else 1.0


def _encoded(model: Any, X: TableLike, reset: bool) -> tuple[Categories | None, TableLike]:
    """Return the categories of a table, those of the last fit where the model is continued, and the table in codes."""
    if row_location(X) == "gpu":
        from fuselearn.boosting.gradient.gpu_gradient_data import encoded_on_gpu

        categories = None if reset else model.categories_
        return encoded_on_gpu(X, categories, model.categorical_features if reset else None, int(model.max_bins))
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
