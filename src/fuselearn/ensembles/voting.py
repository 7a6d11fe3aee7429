"""A vote among the views."""

from typing import Any

import numpy as np

from fuselearn.arguments import check_choice, check_count, check_jobs
from fuselearn.classifiers.adapter import check_values, view_estimators
from fuselearn.classifiers.view_model import ViewModel, view_outputs
from fuselearn.data import TrainingData, ViewBlocks
from fuselearn.ensembles.base import BaseViewEnsemble, fit_views
from fuselearn.typing import BoolArray, FloatArray, IntArray, RandomState, Views

VOTINGS = ("majority", "sum")


class ViewVotingClassifier(BaseViewEnsemble):
    """One classifier per view, and a vote among the views that a row has.

    With support vector machines and ``voting="majority"`` this is the majority vote (MV, SVM-MV) of S0 [1]_, S1 and S3;
    with AdaBoost it is their AdaBoost-MV.

    Parameters
    ----------
    estimator : classifier, list or dict
        One classifier for all views, a list with one per view, or a dict of view name to classifier. Clones are fitted,
        each on the rows that have its view. A model that was fitted before is taken as it is when it comes in a
        :class:`sklearn.frozen.FrozenEstimator`.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    voting : {"majority", "sum"}, default="majority"
        "majority" counts the classes that the views name. A tie goes to the tied class with the larger sum of decision
        values, or to the lowest where classifiers give none. "sum" adds up the decision values, or 2p - 1 of
        classifiers that have probabilities only.
    n_jobs : int or None, default=None
        Number of threads, over the views. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Seeds the classifiers whose own `random_state` is None.
    verbose : int, default=0
        1 prints a line for each fit, with its view.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    class_prior_ : ndarray of shape (n_classes,)
        Class probabilities of a row without any view.
    estimators_ : list of classifier
        The fitted classifier of each view. They know the classes by their own labels, and columns by their number.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray
        Names of the columns, where `X` is a data frame.

    Notes
    -----
    The decision value of "majority" is the number of votes, for two classes the difference, and less than ⅔ more or
    less for the sum that breaks ties. The sums of "sum" are raw: views are comparable where their classifiers are of
    one kind, as the margins of support vector machines are.

    A view that never saw some class at fit time is neither for nor against it: in the sum the class gets the mean of
    the others. A view that saw one class only cannot distinguish classes, and abstains.

    References
    ----------
    .. [1] Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from fuselearn import ViewVotingClassifier
    >>> from fuselearn.datasets import load_digit_views
    >>> X, views, y = load_digit_views(return_tuple=True)
    >>> model = ViewVotingClassifier(SVC(), views=views, voting="sum").fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    0.97
    """

    def __init__(
        self,
        estimator: Any,
        *,
        views: Views = None,
        voting: str = "majority",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        check_jobs(self.n_jobs)
        check_count("verbose", self.verbose or 0, least=0)
        check_choice("voting", self.voting, VOTINGS)

    def _fit(self, data: TrainingData, majority: IntArray, seed: int) -> dict[str, Any]:
        estimators = view_estimators(self.estimator, data)
        if self.voting == "sum":
            for name, estimator in zip(data.names, estimators):
                check_values(estimator, f"estimator for the view {name!r}", "voting='sum'")
        fitted, _ = fit_views(data, estimators, [], ViewModel.values, 1, seed, self.n_jobs, self._report)
        return {"estimators_": fitted}

    def _decide(self, blocks: ViewBlocks) -> tuple[FloatArray, BoolArray]:
        n_classes, by_majority = len(self.classes_), self.voting == "majority"
        if by_majority:
            outputs = view_outputs(self._view_models(), blocks, _votes_and_values, 2 * n_classes, self.n_jobs)
        else:
            outputs = view_outputs(self._view_models(), blocks, ViewModel.values, n_classes, self.n_jobs)
        decided = ~np.logical_and.reduce([np.isnan(view_output[:, 0]) for view_output in outputs])
        values = np.nansum(outputs, axis=0)  # an absent or abstaining view adds nothing
        if by_majority:
            votes, sums = np.split(values, 2, axis=1)
            # Below ⅓ in size, so that it decides between equal numbers of votes and nothing else.
            values = votes + sums / (3 * (np.abs(sums) + 1))
        else:
            values = values / 2 if n_classes == 2 else values  # -d and d, of which d is wanted
        return (values[:, 1] - values[:, 0] if n_classes == 2 else values), decided


def _votes_and_values(model: ViewModel, rows: FloatArray) -> FloatArray:
    """Return the vote for each class, and beside them the decision values, 0 where there are none."""
    votes = model.predicted_indicators(rows)
    values = model.values(rows) if model.gives_values else np.zeros_like(votes)
    return np.hstack([votes, values])
