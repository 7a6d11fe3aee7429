"""The `estimator` argument of the boosting classifiers, spelled out as learners."""

from collections.abc import Mapping
from typing import Any

from fuselearn.classifiers.adapter import check_classifier, is_frozen
from fuselearn.learners.gaussian_nb import GaussianNB
from fuselearn.learners.linear import LeastSquares
from fuselearn.learners.protocol import Learner
from fuselearn.learners.sklearn_learner import SklearnLearner
from fuselearn.learners.tree import Stump, Tree

LEARNERS_BY_NAME: dict[str, type[Learner]] = {
    "gaussian_nb": GaussianNB,
    "stump": Stump,
    "tree": Tree,
    "linear": LeastSquares,
}


def as_learner(estimator: Any) -> Learner:
    """Return the learner that an `estimator` argument means.

    Parameters
    ----------
    estimator : None, str, Learner or scikit-learn classifier
        None is ``GaussianNB()``; a string is one of ``"gaussian_nb"``, ``"stump"``, ``"tree"``, ``"linear"``; a
        scikit-learn classifier becomes a `SklearnLearner`.

    Returns
    -------
    Learner
        The learner.

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
    check_classifier(estimator, expected="a scikit-learn classifier or a learner")
    if is_frozen(estimator):
        raise ValueError(
            "estimator is frozen, but a weak learner is fitted anew in each round; pass it without FrozenEstimator."
        )
    return SklearnLearner(estimator)


def as_learners(estimator: Any) -> list[Learner] | dict[str, list[Learner]]:
    """Return the learners that an `estimator` argument names, checked: a list for all views, or one per view.

    Examples
    --------
    >>> as_learners({"rna": "stump", "image": ["stump", "tree"]})
    {'rna': [Stump()], 'image': [Stump(), Tree()]}
    >>> as_learners(None)
    [GaussianNB()]
    """
    if isinstance(estimator, Mapping):
        return {name: _as_list(choice, f" for the view {name!r}") for name, choice in estimator.items()}
    return _as_list(estimator)


def _as_list(choice: Any, of_view: str = "") -> list[Learner]:
    """Return the learners that one choice names, a single one or a list of them."""
    choices = list(choice) if isinstance(choice, list | tuple) else [choice]
    if not choices:
        raise ValueError(f"estimator is an empty list{of_view}; name at least one learner.")
    learners = [as_learner(estimator) for estimator in choices]
    for learner in learners:
        learner.check()
    return learners
