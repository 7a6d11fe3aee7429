"""The `estimator` argument of the boosting classifiers, spelled out.

Every view with every learner it was given: the arms of a run.
"""

from collections.abc import Mapping

from sklearn.base import clone

from fuselearn.data import per_view
from fuselearn.learners.gaussian_nb import GaussianNB
from fuselearn.learners.least_squares import LeastSquares
from fuselearn.learners.protocol import Learner
from fuselearn.learners.sklearn_learner import SklearnLearner, check_classifier
from fuselearn.learners.stump import Stump
from fuselearn.learners.tree import Tree

LEARNERS_BY_NAME = {"gaussian_nb": GaussianNB, "stump": Stump, "tree": Tree, "linear": LeastSquares}


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
        if estimator not in LEARNERS_BY_NAME:
            raise ValueError(f"estimator must be one of {list(LEARNERS_BY_NAME)}, or an object; got {estimator!r}.")
        return LEARNERS_BY_NAME[estimator]()
    if isinstance(estimator, Learner):
        return estimator
    check_classifier(estimator)
    return SklearnLearner(estimator)


def learners_of_views(estimator, names):
    """List of learners for each view: one for all, a list for all, or a dict of either per view.

    Examples
    --------
    >>> learners_of_views(["stump", "tree"], ["rna", "image"])
    [[Stump(), Tree()], [Stump(), Tree()]]
    """
    choices = per_view("estimator", estimator, names, complete=True)
    learners = []
    for name, choice in zip(names, choices):
        several = list(choice) if isinstance(choice, list | tuple) else [choice]
        if not several:
            raise ValueError(f"estimator has an empty list for the view {name!r}; name at least one learner.")
        # Clones: what the user does to a learner after the fit must not change what the model says of itself.
        learners.append([clone(as_learner(one)) for one in several])
    return learners


def all_learners(estimator):
    """Every learner that an `estimator` argument names, for whichever view; refuses what is none.

    Examples
    --------
    >>> all_learners({"rna": "stump", "image": ["stump", "tree"]})
    [Stump(), Stump(), Tree()]
    """
    choices = estimator.values() if isinstance(estimator, Mapping) else [estimator]
    several = [choice if isinstance(choice, list | tuple) else [choice] for choice in choices]
    return [as_learner(one) for some in several for one in some]
