"""Fusion by voting, stacking and concatenation: what every other method is compared with."""

from fuselearn.ensembles.concatenated import ConcatenatedClassifier
from fuselearn.ensembles.stacking import ViewStackingClassifier
from fuselearn.ensembles.super_kernel import SuperKernelClassifier
from fuselearn.ensembles.voting import ViewVotingClassifier

__all__ = ["ConcatenatedClassifier", "SuperKernelClassifier", "ViewStackingClassifier", "ViewVotingClassifier"]
