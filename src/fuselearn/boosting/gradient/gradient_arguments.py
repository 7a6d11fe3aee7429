"""The arguments of `fit` of the gradient boosting estimators, read where the rows are."""

from dataclasses import replace
from numbers import Real
from typing import Any, Protocol

import numpy as np

from fuselearn.arguments import resolve_views
from fuselearn.backends.partitioned.partitioned_data import open_source
from fuselearn.boosting.gradient.gradient_data import GradientData, LocalGradientData
from fuselearn.boosting.gradient.partitioned_gradient_data import (
    GradientEstimator,
    read_partitioned_gradient_data,
)
from fuselearn.boosting.gradient.warm_start import check_same_categorical
from fuselearn.data.categories import FROM_DTYPE, Categories, categorical_columns
from fuselearn.data.class_weights import ClassWeight, class_weighted
from fuselearn.data.table_columns import frame_of, n_columns_of
from fuselearn.data.training_data import (
    IN_MEMORY,
    TableReader,
    read_regression_data,
    read_training_data,
)
from fuselearn.data.view_table import PARTITIONED, RowLocation, row_location, to_host
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
    categories, X = _encoded(model, X, sample_weight, reset)
    y, sample_weight, view_labels, groups = _labels_on_host(
        X, {"y": y, "sample_weight": sample_weight, "view_labels": view_labels, "groups": groups}
    )
    reader = _reader(location)
    data = read_training_data(
        model, X, y, sample_weight, view_labels, groups, reset=reset, reader=reader, largest_weight_is_one=True
    )
    codes = data.majority() if data.has_view_labels else data.codes[:, 0]
    weights, factor = class_weighted(codes, data.classes, data.weights, model.class_weight)
    data = replace(data, weights=weights, n_counted=int(np.count_nonzero(weights)))
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
    categories, X = _encoded(model, X, sample_weight, reset)
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


def _encoded(model: Any, X: TableLike, sample_weight: ArrayLike, reset: bool) -> tuple[Categories | None, TableLike]:
    """Return the categories of a table, those of the last fit where the model is continued, and the table in codes."""
    location, n_columns = row_location(X), n_columns_of(X)
    if not n_columns:
        return None, X  # whoever reads X refuses it
    if not reset:
        columns = categorical_columns(model.categorical_features, X, n_columns)
        if location == "gpu" or model.categorical_features != FROM_DTYPE or frame_of(X) is not None:
            check_same_categorical(model, columns)
    if location == "gpu":
        from fuselearn.boosting.gradient.gpu_gradient_data import encoded_on_gpu

        categories = None if reset else model.categories_
        in_views = np.concatenate(resolve_views(model.views, X, n_columns)[1]) if reset else None
        weights = to_host(sample_weight)
        return encoded_on_gpu(
            X, categories, model.categorical_features if reset else None, int(model.max_bins), in_views, weights
        )
    if not reset:
        categories = model.categories_
        return categories, X if categories is None else categories.encode(X)
    if not len(categorical_columns(model.categorical_features, X, n_columns)):
        return None, X  # whoever reads X says first what is wrong with it, then with its views
    in_views = np.concatenate(resolve_views(model.views, X, n_columns)[1])
    categories = Categories.of(
        X, model.categorical_features, int(model.max_bins), in_views=in_views, weights=to_host(sample_weight)
    )
    return categories, categories.encode(X)


def _largest(sample_weight: ArrayLike) -> float:
    """Return the largest weight of a row; 1 where none are given."""
    return 1.0 if sample_weight is None else float(np.max(np.asarray(sample_weight, dtype=np.float64)))
