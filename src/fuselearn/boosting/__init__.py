"""Boosting over views that share one distribution of weights, keep one each, or share one gradient."""

from fuselearn.boosting.gradient.classifier import ShareGradientBoostingClassifier
from fuselearn.boosting.gradient.regressor import ShareGradientBoostingRegressor
from fuselearn.boosting.independent import IndependentBoostClassifier
from fuselearn.boosting.share import ShareBoostClassifier

__all__ = [
    "IndependentBoostClassifier",
    "ShareBoostClassifier",
    "ShareGradientBoostingClassifier",
    "ShareGradientBoostingRegressor",
]
