"""The fusion to start with."""

from fuselearn.fusion.fusion_classifier import FusionClassifier

__all__ = ["FusionClassifier"]
