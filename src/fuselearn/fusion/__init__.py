"""The fusion to start with."""

from fuselearn.fusion.fusion_classifier import FusionClassifier
from fuselearn.fusion.fusion_regressor import FusionRegressor

__all__ = ["FusionClassifier", "FusionRegressor"]
