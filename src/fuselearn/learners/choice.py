"""The `estimator` argument of the boosting classifiers, spelled out."""

from fuselearn.learners.adapter import SklearnLearner, check_classifier
from fuselearn.learners.gaussian_nb import GaussianNB
from fuselearn.learners.least_squares import LeastSquares
from fuselearn.learners.protocol import Learner
from fuselearn.learners.stump import Stump
from fuselearn.learners.tree import Tree

BY_NAME = {"gaussian_nb": GaussianNB, "stump": Stump, "tree": Tree, "linear": LeastSquares}


def as_learner(estimator):
    """The learner that an `estimator` argument means.

    Parameters
    ----------
    estimator : None, str, Learner or scikit-learn classifier
        None is ``GaussianNB()``; a string is one of ``"gaussian_nb"``, ``"stump"``, ``"tree"``, ``"linear"``.

    Examples
    --------
    >>> as_learner("stump")
    Stump()
    """
    if estimator is None:
        return GaussianNB()
    if isinstance(estimator, str):
        if estimator not in BY_NAME:
            raise ValueError(f"estimator must be one of {list(BY_NAME)}, or an object; got {estimator!r}.")
        return BY_NAME[estimator]()
    if isinstance(estimator, Learner):
        return estimator
    check_classifier(estimator)
    return SklearnLearner(estimator)
