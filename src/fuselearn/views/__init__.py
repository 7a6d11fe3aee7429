"""Which columns are a view, which rows have it, and how separate arrays become one table."""

from fuselearn.views.blocks import View, ViewBlocks
from fuselearn.views.preprocessing import fit_transformer, transformed
from fuselearn.views.selectors import per_view, resolve_views
from fuselearn.views.stacking import stack_unpaired, stack_views

__all__ = [
    "View",
    "ViewBlocks",
    "fit_transformer",
    "per_view",
    "resolve_views",
    "stack_unpaired",
    "stack_views",
    "transformed",
]
