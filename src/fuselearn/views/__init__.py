"""Which columns are a view, which rows have it, and how separate arrays become one table."""

from fuselearn.views.blocks import View, ViewBlocks, check_presence
from fuselearn.views.labels import encode_known, encode_labels
from fuselearn.views.preprocessing import fit_transformer, transformed
from fuselearn.views.selectors import per_view, resolve_views
from fuselearn.views.stacking import stack_unpaired, stack_views
from fuselearn.views.tables import note_features, read_table

__all__ = [
    "View",
    "ViewBlocks",
    "check_presence",
    "encode_known",
    "encode_labels",
    "fit_transformer",
    "note_features",
    "per_view",
    "read_table",
    "resolve_views",
    "stack_unpaired",
    "stack_views",
    "transformed",
]
