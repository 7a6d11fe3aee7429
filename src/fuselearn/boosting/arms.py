"""Every view with every learner it was given: the arms of a run."""

from collections.abc import Mapping

from sklearn.base import clone

from fuselearn.backends import Arm
from fuselearn.learners import as_learner
from fuselearn.views import per_view


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


def make_arms(views, learners, codes):
    """Arms in the order of the views, and within a view in that of its learners; each has been checked.

    Parameters
    ----------
    views : sequence of View
    learners : list of list of learner
    codes : list of int32 ndarray of shape (n_rows,)
        Each view's own labels.
    """
    arms = []
    for number, view in enumerate(views):
        for learner in learners[number]:
            learner.check(view)
            arms.append(Arm(view, number, learner, codes[number]))
    return arms
