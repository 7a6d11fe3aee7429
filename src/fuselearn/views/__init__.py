"""Which columns are a view, which rows have it, and how separate arrays become one table."""

from fuselearn.views.blocks import View, ViewBlocks, check_presence
from fuselearn.views.device import check_on_host, is_device_array
from fuselearn.views.labels import check_view_labels, encode_known, encode_labels, encode_view_labels
from fuselearn.views.preprocessing import fit_transformer, transformed
from fuselearn.views.selectors import per_view, resolve_views
from fuselearn.views.stacking import stack_unpaired, stack_views
from fuselearn.views.tables import note_features, read_table
from fuselearn.views.weights import check_sample_weight

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
