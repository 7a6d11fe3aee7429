"""Tables as people have them, with text, gaps and names, and the models that read them."""

from fuselearn.tables.table_classifier import TableClassifier
from fuselearn.tables.view_columns import ViewColumns

__all__ = ["TableClassifier", "ViewColumns"]
