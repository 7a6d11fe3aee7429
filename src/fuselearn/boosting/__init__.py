"""Boosting over views that share one distribution of weights, or keep one each."""

from fuselearn.boosting.independent import IndependentBoostClassifier
from fuselearn.boosting.share import ShareBoostClassifier

__all__ = ["IndependentBoostClassifier", "ShareBoostClassifier"]
