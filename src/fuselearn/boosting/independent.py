"""iBoost and BISD: each view keeps weights of its own."""

from fuselearn.boosting.base import BaseBoost
from fuselearn.boosting.rounds import IndependentRound


class IndependentBoostClassifier(BaseBoost):
    """Boosting in which every view keeps weights of its own.

    In each round every arm fits a hypothesis under its own weights and moves them with its own vote; the hypothesis
    with the largest vote joins the ensemble. This is iBoost [1]_, and with ``resample=True`` BISD [2]_: what ShareBoost
    is compared with, to see what sharing the weights is worth.

    Parameters
    ----------
    estimator : None, str, learner, classifier, list or dict, default=None
        Weak learner, as in :class:`ShareBoostClassifier`.
    views : dict, list or None, default=None
        Views of the columns of `X`, as in :class:`ShareBoostClassifier`.
    n_estimators : int, default=150
        Most rounds.
    resample : bool, default=False
        Fit each hypothesis on rows drawn by the weights.
    error : {"training", "out_of_bag"}, default="training"
        Which rows judge a hypothesis; ``"out_of_bag"`` needs ``resample=True``.
    learning_rate : float, default=1.0
        Factor on every vote.
    preprocess : transformer, dict or None, default=None
        Fitted once per view before the first round.
    warm_start : bool, default=False
        Go on with the rounds of the last fit, with its seed and its preprocessing.
    n_jobs : int, default=None
        Threads. The model is the same, bit for bit, for any number.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
    view_names_ : list of str
    view_columns_ : list of ndarray
    estimators_ : list of hypothesis
    estimator_weights_, estimator_errors_ : ndarray of shape (n_iter_,)
    arms_ : list of (view name, learner)
    winning_arms_, winning_views_ : int ndarray of shape (n_iter_,)
    arm_errors_ : ndarray of shape (n_iter_, n_arms)
    arm_probabilities_ : None
    view_importances_ : ndarray of shape (n_views,)
    class_prior_ : ndarray of shape (n_classes,)
    preprocessors_ : list of fitted transformer or None
    trace_ : Trace
        Everything the run recorded, with the hypotheses of all arms, not of the winners alone: the weights of each arm
        follow from its own.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    n_samples_fit_ : int

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

    _shared = False

    def __init__(
        self,
        estimator=None,
        *,
        views=None,
        n_estimators=150,
        resample=False,
        error="training",
        learning_rate=1.0,
        preprocess=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
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

    def _one_round(self, trace, n_classes):
        return IndependentRound(trace.n_arms, n_classes, trace.settings.learning_rate, trace.settings.out_of_bag)
