"""Inspection of fitted models: numbers about their views, rows and labels, and pictures of them.

Pictures need matplotlib, which is imported when the first one is drawn; the numbers do not need it.
"""

from fuselearn.inspection.acquisition_curves import AcquisitionCurve, acquisition_curve
from fuselearn.inspection.displays import (
    AcquisitionDisplay,
    CorrespondenceDisplay,
    ExplanationDisplay,
    LabelSharingDisplay,
    LeaderboardDisplay,
    MarginDisplay,
    SampleWeightDisplay,
    StagedScoreDisplay,
    ViewImportanceDisplay,
    ViewSelectionDisplay,
)
from fuselearn.inspection.feature_stability import FeatureStability, feature_stability
from fuselearn.inspection.label_agreement import margin_distribution, suspects
from fuselearn.inspection.meta_object_positions import Correspondence, correspondence
from fuselearn.inspection.view_importances import ViewImportance, view_importance
from fuselearn.inspection.view_statistics import Missingness, Redundancy, missingness, redundancy

__all__ = [
    "AcquisitionCurve",
    "AcquisitionDisplay",
    "Correspondence",
    "CorrespondenceDisplay",
    "ExplanationDisplay",
    "FeatureStability",
    "LabelSharingDisplay",
    "LeaderboardDisplay",
    "MarginDisplay",
    "Missingness",
    "Redundancy",
    "SampleWeightDisplay",
    "StagedScoreDisplay",
    "ViewImportance",
    "ViewImportanceDisplay",
    "ViewSelectionDisplay",
    "acquisition_curve",
    "correspondence",
    "feature_stability",
    "margin_distribution",
    "missingness",
    "redundancy",
    "suspects",
    "view_importance",
]
