"""What a fitted model has learnt: numbers about its views, rows and labels, and pictures of them.

Pictures need matplotlib, which is imported when the first is drawn; numbers do without.
"""

from fuselearn.inspection._plot.correspondence import CorrespondenceDisplay
from fuselearn.inspection._plot.importance import ViewImportanceDisplay
from fuselearn.inspection._plot.label_sharing import LabelSharingDisplay
from fuselearn.inspection._plot.leaderboard import LeaderboardDisplay
from fuselearn.inspection._plot.margin import MarginDisplay
from fuselearn.inspection._plot.sample_weight import SampleWeightDisplay
from fuselearn.inspection._plot.selection import ViewSelectionDisplay
from fuselearn.inspection._plot.staged_score import StagedScoreDisplay
from fuselearn.inspection.alignment import Redundancy, redundancy
from fuselearn.inspection.doubtful_labels import suspects
from fuselearn.inspection.importance import ViewImportance, view_importance
from fuselearn.inspection.margins import margin_distribution
from fuselearn.inspection.presence import Missingness, missingness
from fuselearn.inspection.unmatched import Correspondence, correspondence

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
