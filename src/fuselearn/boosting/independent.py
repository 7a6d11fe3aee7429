"""iBoost and BISD: each view keeps weights of its own."""

from typing import Any

from fuselearn.boosting.base import BaseBoost
from fuselearn.boosting.rounds import IndependentRound
from fuselearn.typing import RandomState, Views


class IndependentBoostClassifier(BaseBoost):
    """Boosting in which every view keeps weights of its own.

    In each round every arm fits a hypothesis under its own weights and moves them with its own vote; the hypothesis
    with the largest vote joins the ensemble. This is iBoost [1]_, and with ``resample=True`` BISD [2]_: what ShareBoost
    is compared with, to see what sharing the weights gains.

    Parameters
    ----------
    estimator : None, str, learner, classifier, list or dict, default=None
        Weak learner, as in :class:`ShareBoostClassifier`.
    views : dict, list or None, default=None
        Views of the columns of `X`, as in :class:`ShareBoostClassifier`.
    n_estimators : int, default=150
        Largest number of rounds. As in :class:`ShareBoostClassifier`, an arm that won without an error is set aside,
        and the run ends when no arm that is left beats chance.
    resample : bool, default=False
        Fit each hypothesis on rows drawn by the weights, instead of under the weights.
    error : {"training", "out_of_bag"}, default="training"
        Rows that judge a hypothesis: all, or those it was not fitted on, which needs ``resample=True``.
    learning_rate : float, default=1.0
        Factor on every vote.
    preprocess : transformer, dict or None, default=None
        Fitted once per view before the first round. A dict gives views their own.
    warm_start : bool, default=False
        Go on with the rounds of the last fit, with its seed and its preprocessing.
    n_jobs : int, default=None
        Number of threads; None for one, -1 for all cores. The model is the same, bit for bit, for any number.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    verbose : int, default=0
        1 reports ten times during a fit, 2 after every round.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    n_iter_ : int
        Number of rounds.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view.
    estimators_ : list of hypothesis
        The winner of each round.
    estimator_weights_, estimator_errors_ : ndarray of shape (n_iter_,)
        Vote and weighted error of each winner.
    arms_ : list of (view name, learner)
        All arms, view by view.
    winning_arms_, winning_views_ : int ndarray of shape (n_iter_,)
        Number of the arm, and of its view, that won each round.
    arm_errors_ : ndarray of shape (n_iter_, n_arms)
        Weighted error of each arm.
    arm_probabilities_ : None
        No policy draws arms.
    view_importances_ : ndarray of shape (n_views,)
        Share of Σ|α| that each view has.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the weights of the training rows.
    preprocessors_ : list of fitted transformer or None
        Transformer of each view.
    trace_ : Trace
        Everything the run recorded, with the hypotheses of all arms, not of the winners alone: the weights of each arm
        follow from its own.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns of `X`, where they are all strings.
    n_samples_fit_ : int
        Number of rows with weight.

    References
    ----------
    .. [1] Peng et al. ShareBoost: Boosting for Multi-view Learning with Performance Guarantees. ECML PKDD 2011.
    .. [2] Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import IndependentBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = IndependentBoostClassifier("stump", views={"sepal": [0, 1], "petal": [2, 3]}).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _round_rule = IndependentRound

    def __init__(
        self,
        estimator: Any = None,
        *,
        views: Views = None,
        n_estimators: int = 150,
        resample: bool = False,
        error: str = "training",
        learning_rate: float = 1.0,
        preprocess: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.n_estimators = n_estimators
        self.resample = resample
        self.error = error
        self.learning_rate = learning_rate
        self.preprocess = preprocess
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
