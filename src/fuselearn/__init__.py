"""Fuse several sources of evidence about the same objects into one classifier.

Public names are imported on first use, so that `import fuselearn` costs nothing and the command line starts at once.
"""

from importlib import import_module
from typing import Any

from fuselearn._version import __version__

_PACKAGE_OF = {
    "AugmentedKernelClassifier": "fuselearn.kernels",
    "ConcatenatedClassifier": "fuselearn.ensembles",
    "ConcatenatedRegressor": "fuselearn.ensembles",
    "FitReport": "fuselearn.reporting",
    "FusionClassifier": "fuselearn.fusion",
    "FusionRegressor": "fuselearn.fusion",
    "IndependentBoostClassifier": "fuselearn.boosting",
    "LabelConsensus": "fuselearn.consensus",
    "MKLClassifier": "fuselearn.kernels",
    "MSSBoostClassifier": "fuselearn.multilabel",
    "NSBoostClassifier": "fuselearn.multilabel",
    "RSBagClassifier": "fuselearn.multilabel",
    "ShareBoostClassifier": "fuselearn.boosting",
    "ShareGradientBoostingClassifier": "fuselearn.boosting",
    "ShareGradientBoostingRegressor": "fuselearn.boosting",
    "SuperKernelClassifier": "fuselearn.ensembles",
    "TableClassifier": "fuselearn.tables",
    "TableRegressor": "fuselearn.tables",
    "TomographicClassifier": "fuselearn.kernels",
    "ViewStackingClassifier": "fuselearn.ensembles",
    "ViewStackingRegressor": "fuselearn.ensembles",
    "ViewVotingClassifier": "fuselearn.ensembles",
    "ViewVotingRegressor": "fuselearn.ensembles",
    "add_feature_noise": "fuselearn.evaluation",
    "add_label_noise": "fuselearn.evaluation",
    "all_estimators": "fuselearn.registry",
    "compare": "fuselearn.evaluation.comparison",
    "load": "fuselearn.persistence",
    "save": "fuselearn.persistence",
    "stack_unpaired": "fuselearn.data",
    "stack_views": "fuselearn.data",
}
_PACKAGES = (
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
    "explanation",
    "fusion",
    "inspection",
    "kernels",
    "learners",
    "multilabel",
    "papers",
    "persistence",
    "progress",
    "registry",
    "reporting",
    "tables",
)

__all__ = ["__version__", *_PACKAGE_OF, *_PACKAGES]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in _PACKAGE_OF:
        globals()[name] = getattr(import_module(_PACKAGE_OF[name]), name)
        return globals()[name]
    if name in _PACKAGES:
        return import_module(f"fuselearn.{name}")
    raise AttributeError(f"module 'fuselearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
