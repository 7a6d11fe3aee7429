"""Pictures of fitted models: one Display per file, all drawn with matplotlib in the style of `style.py`."""

from fuselearn.inspection.displays.acquisition_display import AcquisitionDisplay
from fuselearn.inspection.displays.correspondence_display import CorrespondenceDisplay
from fuselearn.inspection.displays.explanation_display import ExplanationDisplay
from fuselearn.inspection.displays.importance_display import ViewImportanceDisplay
from fuselearn.inspection.displays.label_sharing_display import LabelSharingDisplay
from fuselearn.inspection.displays.leaderboard_display import LeaderboardDisplay
from fuselearn.inspection.displays.margin_display import MarginDisplay
from fuselearn.inspection.displays.sample_weight_display import SampleWeightDisplay
from fuselearn.inspection.displays.selection_display import ViewSelectionDisplay
from fuselearn.inspection.displays.staged_score_display import StagedScoreDisplay

__all__ = [
    "AcquisitionDisplay",
    "CorrespondenceDisplay",
    "ExplanationDisplay",
    "LabelSharingDisplay",
    "LeaderboardDisplay",
    "MarginDisplay",
    "SampleWeightDisplay",
    "StagedScoreDisplay",
    "ViewImportanceDisplay",
    "ViewSelectionDisplay",
]
