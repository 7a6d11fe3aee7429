"""Fusion by voting, stacking, concatenation and super-kernels: the methods that all others are compared with."""

from fuselearn.ensembles.concatenated import ConcatenatedClassifier
from fuselearn.ensembles.super_kernel import SuperKernelClassifier
from fuselearn.ensembles.view_regressors import ConcatenatedRegressor, ViewStackingRegressor, ViewVotingRegressor
from fuselearn.ensembles.view_stacking import ViewStackingClassifier
from fuselearn.ensembles.voting import ViewVotingClassifier

__all__ = [
    "ConcatenatedClassifier",
    "ConcatenatedRegressor",
    "SuperKernelClassifier",
    "ViewStackingClassifier",
    "ViewStackingRegressor",
    "ViewVotingClassifier",
    "ViewVotingRegressor",
]
