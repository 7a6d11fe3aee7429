"""Which columns are a view, which rows have it, and how separate arrays become one table."""

from fuselearn.data.selectors import per_view, resolve_views
from fuselearn.data.stacking import stack_unpaired, stack_views
from fuselearn.data.table import check_on_host, is_device_array, note_features, read_table
from fuselearn.data.training_data import (
    check_sample_weight,
    check_view_labels,
    encode_known,
    encode_labels,
    encode_view_labels,
)
from fuselearn.data.view_table import View, ViewBlocks, check_presence, fit_transformer, transformed

__all__ = [
    "View",
    "ViewBlocks",
    "check_on_host",
    "check_presence",
    "check_sample_weight",
    "check_view_labels",
    "encode_known",
    "encode_labels",
    "encode_view_labels",
    "fit_transformer",
    "is_device_array",
    "note_features",
    "per_view",
    "read_table",
    "resolve_views",
    "stack_unpaired",
    "stack_views",
    "transformed",
]
