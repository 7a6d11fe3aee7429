"""What a fitted model has learnt: numbers about its views, rows and labels, and pictures of them.

Pictures need matplotlib, which is imported when the first is drawn; numbers do without.
"""

from fuselearn.inspection.displays.correspondence_display import CorrespondenceDisplay
from fuselearn.inspection.displays.importance_display import ViewImportanceDisplay
from fuselearn.inspection.displays.label_sharing_display import LabelSharingDisplay
from fuselearn.inspection.displays.leaderboard_display import LeaderboardDisplay
from fuselearn.inspection.displays.margin_display import MarginDisplay
from fuselearn.inspection.displays.sample_weight_display import SampleWeightDisplay
from fuselearn.inspection.displays.selection_display import ViewSelectionDisplay
from fuselearn.inspection.displays.staged_score_display import StagedScoreDisplay
from fuselearn.inspection.label_suspects import suspects
from fuselearn.inspection.margins import margin_distribution
from fuselearn.inspection.meta_object_positions import Correspondence, correspondence
from fuselearn.inspection.missingness import Missingness, missingness
from fuselearn.inspection.redundancy import Redundancy, redundancy
from fuselearn.inspection.view_importance import ViewImportance, view_importance

__all__ = [
    "Correspondence",
    "CorrespondenceDisplay",
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
    "correspondence",
    "margin_distribution",
    "missingness",
    "redundancy",
    "suspects",
    "view_importance",
]
