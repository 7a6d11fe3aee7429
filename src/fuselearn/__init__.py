"""Fuse several sources of evidence about the same objects into one classifier.

Public names are imported on first use, so that `import fuselearn` costs nothing and the command line starts at once.
"""

from importlib import import_module

from fuselearn._version import __version__

_HOMES = {
    "AugmentedKernelClassifier": "fuselearn.kernels",
    "ConcatenatedClassifier": "fuselearn.ensembles",
    "FitReport": "fuselearn.reporting",
    "FusionClassifier": "fuselearn.fusion",
    "IndependentBoostClassifier": "fuselearn.boosting",
    "LabelConsensus": "fuselearn.consensus",
    "MKLClassifier": "fuselearn.kernels",
    "MSSBoostClassifier": "fuselearn.multilabel",
    "NSBoostClassifier": "fuselearn.multilabel",
    "RSBagClassifier": "fuselearn.multilabel",
    "ShareBoostClassifier": "fuselearn.boosting",
    "SuperKernelClassifier": "fuselearn.ensembles",
    "TableClassifier": "fuselearn.tables",
    "TomographicClassifier": "fuselearn.kernels",
    "ViewStackingClassifier": "fuselearn.ensembles",
    "ViewVotingClassifier": "fuselearn.ensembles",
    "add_feature_noise": "fuselearn.evaluation",
    "add_label_noise": "fuselearn.evaluation",
    "compare": "fuselearn.evaluation.comparison",
    "load": "fuselearn.persistence",
    "save": "fuselearn.persistence",
    "stack_unpaired": "fuselearn.data",
    "stack_views": "fuselearn.data",
}
_ROOMS = (
    "backends",
    "bandits",
    "boosting",
    "classifiers",
    "consensus",
    "data",
    "datasets",
    "ensembles",
    "evaluation",
    "exceptions",
    "fusion",
    "inspection",
    "kernels",
    "learners",
    "multilabel",
    "papers",
    "persistence",
    "registry",
    "reporting",
    "tables",
)

__all__ = ["__version__", *_HOMES, *_ROOMS]


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"fuselearn.{name}")
    raise AttributeError(f"module 'fuselearn' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
