"""Many labels served by few base models."""

from fuselearn.multilabel.mssboost import MSSBoostClassifier
from fuselearn.multilabel.nsboost import NSBoostClassifier
from fuselearn.multilabel.rbf_svc import RbfSVC
from fuselearn.multilabel.rsbag import RSBagClassifier

__all__ = ["MSSBoostClassifier", "NSBoostClassifier", "RSBagClassifier", "RbfSVC"]
