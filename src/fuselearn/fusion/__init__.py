"""The fusion to start with, and fusion by voting, stacking and concatenation: what every method has to beat."""

from fuselearn.fusion.concatenated import ConcatenatedClassifier
from fuselearn.fusion.fusion_classifier import FusionClassifier
from fuselearn.fusion.stacking import ViewStackingClassifier
from fuselearn.fusion.super_kernel import SuperKernelClassifier
from fuselearn.fusion.svm_grid import tuned_svm
from fuselearn.fusion.voting import ViewVotingClassifier

__all__ = [
    "ConcatenatedClassifier",
    "FusionClassifier",
    "SuperKernelClassifier",
    "ViewStackingClassifier",
    "ViewVotingClassifier",
    "tuned_svm",
]
