"""Many labels served by few base models."""

from fuselearn.multilabel.model_shared import MSSBoostClassifier
from fuselearn.multilabel.non_shared import NSBoostClassifier
from fuselearn.multilabel.random_subspace_bag import RSBagClassifier
from fuselearn.multilabel.rbf_svc import RbfSVC

__all__ = ["MSSBoostClassifier", "NSBoostClassifier", "RSBagClassifier", "RbfSVC"]
