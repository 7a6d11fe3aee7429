"""Kernels of views whose objects are matched, partly matched or not matched at all."""

from fuselearn.kernels.augmented import AugmentedKernelClassifier
from fuselearn.kernels.composition import augmented_kernel, composite_kernel, composite_test_kernel
from fuselearn.kernels.correspondence import cartesian_correspondence, tomographic_correspondence
from fuselearn.kernels.mkl import MKLClassifier
from fuselearn.kernels.tomographic import TomographicClassifier
from fuselearn.kernels.view_kernels import GramLookup

__all__ = [
    "AugmentedKernelClassifier",
    "GramLookup",
    "MKLClassifier",
    "TomographicClassifier",
    "augmented_kernel",
    "cartesian_correspondence",
    "composite_kernel",
    "composite_test_kernel",
    "tomographic_correspondence",
]
