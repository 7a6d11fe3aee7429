"""Everything an estimator reads: columns of views, rows that have them, labels, weights and groups."""

from fuselearn.arguments import resolve_columns, resolve_views
from fuselearn.data.categories import Categories, categorical_columns, distinct_values
from fuselearn.data.class_weights import ClassWeights, class_weighted
from fuselearn.data.held_out import held_out_part, held_out_rows
from fuselearn.data.indicator_data import read_indicator_data
from fuselearn.data.labels import (
    check_sample_weight,
    check_view_labels,
    encode_known,
    encode_labels,
    encode_view_labels,
)
from fuselearn.data.stacking import stack_unpaired, stack_views
from fuselearn.data.training_data import (
    RegressionData,
    TrainingData,
    note_features,
    read_regression_data,
    read_training_data,
)
from fuselearn.data.view_table import (
    View,
    ViewBlocks,
    check_in_memory,
    check_on_host,
    check_one_table,
    check_presence,
    fit_transformer,
    is_gpu_array,
    per_view,
    read_new_rows,
    read_table,
    transformed,
)

__all__ = [
    "Categories",
    "ClassWeights",
    "RegressionData",
    "TrainingData",
    "View",
    "ViewBlocks",
    "categorical_columns",
    "check_in_memory",
    "check_on_host",
    "check_one_table",
    "check_presence",
    "check_sample_weight",
    "check_view_labels",
    "class_weighted",
    "distinct_values",
    "encode_known",
    "encode_labels",
    "encode_view_labels",
    "fit_transformer",
    "held_out_part",
    "held_out_rows",
    "is_gpu_array",
    "note_features",
    "per_view",
    "read_indicator_data",
    "read_new_rows",
    "read_regression_data",
    "read_table",
    "read_training_data",
    "resolve_columns",
    "resolve_views",
    "stack_unpaired",
    "stack_views",
    "transformed",
]
