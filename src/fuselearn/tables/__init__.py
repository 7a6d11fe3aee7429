"""Tables as people have them, with text, gaps and names, in front of any estimator."""

from fuselearn.tables.column_values import BOOLEAN, DATE, NUMBER, TEXT
from fuselearn.tables.table_classifier import TableClassifier
from fuselearn.tables.table_regressor import TableRegressor
from fuselearn.tables.view_columns import ViewColumns, absent_views, lost_columns
from fuselearn.tables.view_preparation import PREPROCESSING_STEPS, is_preprocessing_step

__all__ = [
    "BOOLEAN",
    "DATE",
    "NUMBER",
    "PREPROCESSING_STEPS",
    "TEXT",
    "TableClassifier",
    "TableRegressor",
    "ViewColumns",
    "absent_views",
    "is_preprocessing_step",
    "lost_columns",
]
