"""ShareBoost, rShareBoost and BSSD, with the `view_policy` argument spelled out."""

from difflib import get_close_matches
from functools import partial
from numbers import Real
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fuselearn.bandits.best import Best
from fuselearn.bandits.exp3p import Exp3P, regret_bound
from fuselearn.bandits.protocol import Policy
from fuselearn.bandits.round_robin import RoundRobin
from fuselearn.bandits.ucb import UCB
from fuselearn.bandits.uniform import UniformRandom
from fuselearn.boosting import bounds as theory
from fuselearn.boosting.base import BaseBoost
from fuselearn.boosting.boosting_data import read_boosting_data
from fuselearn.boosting.rounds import SharedRound, normaliser
from fuselearn.data.view_table import to_host
from fuselearn.typing import ArrayLike, FloatArray, RandomState, TableLike, Views

POLICIES_BY_NAME: dict[str, type[Policy]] = {
    "best": Best,
    "exp3p": Exp3P,
    "ucb": UCB,
    "uniform": UniformRandom,
    "round_robin": RoundRobin,
}
DELTA = 0.05
"""Probability with which a bound may fail, where neither the user nor the policy has another."""


class ShareBoostClassifier(BaseBoost):
    """Boosting over views that share one distribution of weights.

    In each round every view fits a weak hypothesis under the same weights; the one that errs least joins the ensemble
    and moves the weights of all. So what is noise to one view only is soon not difficult any more: the next view that
    wins brings its weight down again. This is ShareBoost [1]_, with ``resample=True`` BSSD [2]_, and with
    ``view_policy="exp3p"`` rShareBoost, where a bandit chooses the one view that is fitted in a round.

    Parameters
    ----------
    estimator : None, str, learner, classifier, list or dict, default=None
        Weak learner. None is :class:`fuselearn.learners.GaussianNB`; a string is one of ``"gaussian_nb"``,
        ``"stump"``, ``"tree"``, ``"linear"``; any scikit-learn classifier is used with `sample_weight`, or on rows
        drawn by the weights where it takes none. A list gives every view each of these; a dict gives each view its
        own. Every pair of view and learner is an *arm*.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A selector is what
        :class:`~sklearn.compose.ColumnTransformer` takes. None is one view of all columns. Views may overlap.
    n_estimators : int, default=150
        Largest number of rounds. The run ends earlier when no arm that is left beats chance; see Notes.
    view_policy : {"best", "exp3p", "ucb", "uniform", "round_robin"} or policy, default="best"
        Policy that chooses the arms of a round, see :mod:`fuselearn.bandits`: all of them under ``"best"``, one
        otherwise. Policies that learn take costs of the views, and then go by reward per cost.
    resample : bool, default=False
        Fit each hypothesis on as many rows as there are, drawn by the weights, instead of under the weights.
    error : {"training", "out_of_bag"}, default="training"
        Rows that judge a hypothesis: all, or with ``resample=True`` those it was not fitted on, so that strong
        learners can be boosted without believing their training error.
    learning_rate : float, default=1.0
        Factor on every vote.
    preprocess : transformer, dict or None, default=None
        Fitted once per view, on the rows that have it, before the first round. A dict gives views their own.
    warm_start : bool, default=False
        Go on with the rounds of the last fit, with its seed and its preprocessing.
    n_jobs : int, default=None
        Number of threads; None for one, -1 for all cores. The model is the same, bit for bit, for any number.
    random_state : int, RandomState or None, default=None
        Seed of all draws: of rows (`resample`, classifiers without `sample_weight`), of arms, and of random
        classifiers.
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
        The winner of each round; its `predict` takes the columns of its view, preprocessed where the view is, and
        returns class codes. None where a drawn arm had no row to be fitted on.
    estimator_weights_ : ndarray of shape (n_iter_,)
        Votes α, with `learning_rate`.
    estimator_errors_ : ndarray of shape (n_iter_,)
        Weighted error ε of each winner.
    arms_ : list of (view name, learner)
        All arms, view by view.
    winning_arms_, winning_views_ : int ndarray of shape (n_iter_,)
        Number of the arm, and of its view, that won each round.
    arm_errors_ : ndarray of shape (n_iter_, n_arms)
        Weighted error of each arm; NaN where an arm was not tried.
    arm_probabilities_ : ndarray of shape (n_iter_, n_arms) or None
        Probabilities with which the policy drew; None for policies that do not draw.
    view_importances_ : ndarray of shape (n_views,)
        Share of Σ|α| that each view has.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the weights of the training rows.
    preprocessors_ : list of fitted transformer or None
        Transformer of each view.
    trace_ : Trace
        Everything the run recorded.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns of `X`, where they are all strings.
    n_samples_fit_ : int
        Number of rows with weight.

    See Also
    --------
    IndependentBoostClassifier : Each view keeps weights of its own.

    Notes
    -----
    A view that is absent in a row (all its columns NaN) abstains there, at fit and at predict; a row without any view
    that votes gets the class prior. With more than two classes votes follow SAMME, which for two is AdaBoost.

    A vote is that of an error of at least 1/(2n), with n the rows of weight, so that a hypothesis without errors does
    not silence all others. Under ``"best"`` it joins once, and its arm is set aside: where all rows have its view, it
    moves no weights, and its arm would win every later round. Where rows lack the view, these gain weight against the
    others, and the arm is set aside all the same. With ``resample=True``, and where a policy draws the arms, its arm
    goes on like the others. As n counts rows, a row of weight 2 is not the same as that row twice where an error is
    that small.

    `predict` reads views in the order `view_order_`, largest Σ|α| first, and stops at a row once the rest cannot change
    its class; `views_used` returns the views that each row needed.

    References
    ----------
    .. [1] Peng, Barbu, Seetharaman, Fan, Wu, Palaniappan. ShareBoost: Boosting for Multi-view Learning with
       Performance Guarantees. ECML PKDD 2011.
    .. [2] Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ShareBoostClassifier(views={"sepal": [0, 1], "petal": [2, 3]}).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.view_importances_.round(2)
    array([0.49, 0.51])
    """

    _round_rule = SharedRound

    def __init__(
        self,
        estimator: Any = None,
        *,
        views: Views = None,
        n_estimators: int = 150,
        view_policy: str | Policy = "best",
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
        self.view_policy = view_policy
        self.resample = resample
        self.error = error
        self.learning_rate = learning_rate
        self.preprocess = preprocess
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def bounds(
        self,
        X: TableLike = None,
        y: ArrayLike = None,
        *,
        theta: float = 0.0,
        rho: float | None = None,
        delta: float | None = None,
    ) -> dict[str, Any]:
        """Return the bounds that the papers' theorems give for this model.

        Defined for two classes, one label column, no `sample_weight`, ``error="training"`` and ``learning_rate=1``.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), default=None
            The training rows, which a model does not keep. With them come the terms that need margins, and the regret
            of a bandit's run, for which all arms are fitted in every round.
        y : array of shape (n_samples,), default=None
            Their classes.
        theta : float in [0, 1], default=0.0
            Margin θ of S0's Theorem 4. The generalisation terms need θ > 0.
        rho : float in (0, 1], default=None
            Edge that some view always has, for the convergence time.
        delta : float in (0, 1), default=None
            Probability with which a bound may fail. None is that of the policy, 0.05 where it has none. The regret
            bound holds for no other: Theorem 1's α was chosen with the policy's.

        Returns
        -------
        dict
            ``"training_error"``: Π Z_t, above the share of training rows that are wrong (S0 Lemma 2, first term).
            ``"tightening"``: Lemma 2's second term, and ``"training_error_tightened"``: the first less the second.
            ``"margin_share"``: Theorem 4's bound on the share of rows with a margin of at most θ, and
            ``"margin_share_observed"``: that share itself.
            ``"theorem_3"``, ``"sharper"``: terms of S0's bounds on the generalisation error at θ, see Notes, and
            ``"theorem_3_infimum"``, ``"sharper_infimum"``: the ``"theta"`` at which each bound is least, and the
            ``"bound"`` there, with constants of 1.
            ``"sdp"``: terms of S0's equation 2, the bound for SDP, at the margin θ.
            ``"regret"``: S1's Theorem 1, for ``Exp3P(gamma="theory", alpha="theory")`` and no more rounds than its T,
            and ``"regret_observed"``: what a policy that pulls single arms did lose to the best of them.
            ``"convergence_time"``: rounds until the training error is 0, when `rho` is given.
            A value that is not defined is None.

        Notes
        -----
        The generalisation bounds hold up to constants that are not published. Their d is a bound on the VC dimension of
        the union of the arms' hypotheses; they are None for trees and foreign classifiers, whose dimension is not
        known, and Theorem 3 also where d is so near n that its printed term falls again.

        S1's regret bound is loose: 444 for three views and 150 rounds, where no more than 150 can be lost. It is in
        units of the policy's reward, per cost where it has costs. Its γ and α are chosen for T rounds: for a run that
        ``warm_start`` took beyond T, it is None.

        The convergence time of ``"best"`` is ln n / -ln √(1 - ρ²), as long as the view of edge ρ is not set aside. S1's
        Theorem 2 for rShareBoost does not hold as printed; that of `Exp3P` is what does follow from its ingredients,
        for the theory's parameters. Other policies, and costs, have none.
        """
        check_is_fitted(self)
        y = to_host(y)
        delta = self._check_bounds(X, y, theta, rho, delta)
        alphas, normalisers = self.trace_.alphas.tolist(), self.trace_.normalisers.tolist()
        policy, n_arms = cast(Policy, self.trace_.settings.view_policy), self.trace_.n_arms
        product = theory.training_error(normalisers)
        regret = None
        if isinstance(policy, Exp3P) and policy.follows_theory:
            horizon = self.trace_.horizon if policy.horizon is None else policy.horizon
            regret = regret_bound(n_arms, horizon, delta) if len(self.trace_) <= horizon else None
        result: dict[str, Any] = {
            "training_error": product,
            "tightening": None,
            "training_error_tightened": None,
            "margin_share": theory.margin_share(alphas, normalisers, theta),
            "margin_share_observed": None,
            "theorem_3": None,
            "theorem_3_infimum": None,
            "sharper": None,
            "sharper_infimum": None,
            "sdp": None if theta == 0 else theory.terms_of_sdp(self.n_samples_fit_, theta, delta),
            "regret": regret,
            "regret_observed": None,
            "convergence_time": None if rho is None else self._convergence_time(float(rho), delta),
        }
        margins = None
        if X is not None:
            margins = self.margins(X, y)
            right = self.predict(X) == np.asarray(y)
            result["tightening"] = theory.tightening(margins * np.abs(alphas).sum(), right)
            result["training_error_tightened"] = product - result["tightening"]
            result["margin_share_observed"] = float(np.mean(margins <= theta))
            if not policy.competes:
                result["regret_observed"] = theory.observed_regret(self._all_rewards(X, y), self.trace_.winning_arms)
        vc_dimension = self._vc_dimension()
        if vc_dimension is not None:
            for name, bound in theory.GENERALISATION_BOUNDS.items():
                terms = partial(bound, vc_dimension, self.n_samples_fit_, delta)
                if theta > 0:
                    result[name] = terms(theta)
                if margins is not None:
                    result[f"{name}_infimum"] = theory.infimum(margins, terms)
        return result

    def _convergence_time(self, rho: float, delta: float) -> float | None:
        """Return the rounds until the training error is 0, if some view always has an edge of ρ; None if not known."""
        policy, n_rows = self.trace_.settings.view_policy, self.n_samples_fit_
        if isinstance(policy, Best) and policy.costs is None:
            return theory.rounds_of_greedy_boosting(rho, n_rows)
        if isinstance(policy, Exp3P) and policy.costs is None:
            logarithmic = policy.reward == "logarithmic"
            return theory.convergence_time(rho, n_rows, self.trace_.n_arms, delta, logarithmic=logarithmic)
        return None

    def _all_rewards(self, X: TableLike, y: ArrayLike) -> FloatArray:
        """Return what each arm would have been worth to the policy in each round, of shape (n_rounds, n_arms)."""
        data = read_boosting_data(self, X, y, None, None, reset=False)
        policy, arms = cast(Policy, self.trace_.settings.view_policy), list(range(self.trace_.n_arms))
        rewards = np.empty((len(self.trace_), len(arms)))
        for number, rows in zip(range(len(rewards)), self._replayed(data)):
            for arm, trial in zip(arms, rows.try_arms(arms, number)):
                Z = normaliser(trial.tally, len(self.classes_), data.n_counted)
                rewards[number, arm] = policy.value(arm, 1 - Z)
        return rewards

    def _policy(self) -> Policy:
        """Return the policy that chooses arms, checked."""
        policy = as_policy(self.view_policy)
        policy.check()
        return policy

    def _vc_dimension(self) -> int | None:
        """Return a bound on the VC dimension of the arms' hypotheses; None where that of one is not known."""
        width_of = dict(zip(self.view_names_, self._view_widths))
        dimensions = [learner.vc_dimension(width_of[name]) for name, learner in self.arms_]
        known = [dimension for dimension in dimensions if dimension is not None]
        return theory.vc_dimension_of_union(known) if len(known) == len(dimensions) else None

    def _check_bounds(self, X: TableLike, y: ArrayLike, theta: Any, rho: Any, delta: Any) -> float:
        """Refuse a model for which the bounds are not defined, and arguments out of range; return δ."""
        settings = self.trace_.settings
        conditions = {
            "two classes": len(self.classes_) == 2,
            "one label column (no view_labels)": self.trace_.one_label_column,
            "rows of equal weight (no sample_weight)": self.trace_.equal_weights,
            "one data set (no warm start on another)": self.trace_.one_data_set,
            "error='training'": settings.error == "training",
            "learning_rate=1": settings.learning_rate == 1,
        }
        unmet = [condition for condition, met in conditions.items() if not met]
        if unmet:
            raise ValueError(f"bounds is defined for {', '.join(conditions)} only; this model lacks: {unmet}.")
        if (X is None) != (y is None):
            raise ValueError("bounds takes X and y together, the rows that the model was fitted on.")
        if X is not None and len(np.asarray(y)) != self.n_samples_fit_:
            raise ValueError(
                f"bounds takes the rows that the model was fitted on, {self.n_samples_fit_} of them; got "
                f"{len(np.asarray(y))}."
            )
        if not (isinstance(theta, Real) and 0 <= float(theta) <= 1):
            raise ValueError(f"theta must be in [0, 1]; got {theta!r}.")
        if rho is not None and not (isinstance(rho, Real) and 0 < float(rho) <= 1):
            raise ValueError(f"rho must be in (0, 1]; got {rho!r}.")
        policy = settings.view_policy
        policy_delta = policy.delta if isinstance(policy, Exp3P) else DELTA
        if delta is None:
            return policy_delta
        if not (isinstance(delta, Real) and 0 < float(delta) < 1):
            raise ValueError(f"delta must be between 0 and 1; got {delta!r}.")
        if isinstance(policy, Exp3P) and policy.follows_theory and delta != policy_delta:
            raise ValueError(
                f"delta must be None or the {policy_delta!r} of the policy, with which its alpha was chosen; got "
                f"{delta!r}. For another, fit with Exp3P('theory', 'theory', delta={delta!r})."
            )
        return float(delta)


def as_policy(view_policy: Any) -> Policy:
    """Return the policy that a `view_policy` argument means.

    Examples
    --------
    >>> as_policy("exp3p")
    Exp3P(gamma=0.3, alpha=0.15, delta=0.05, horizon=None)
    """
    if isinstance(view_policy, Policy):
        return view_policy
    if isinstance(view_policy, str) and view_policy in POLICIES_BY_NAME:
        return POLICIES_BY_NAME[view_policy]()
    near = get_close_matches(str(view_policy), POLICIES_BY_NAME, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"view_policy must be one of {list(POLICIES_BY_NAME)} or a policy of fuselearn.bandits; "
        f"got {view_policy!r}.{hint}"
    )
