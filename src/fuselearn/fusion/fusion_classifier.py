"""The fusion to start with."""

import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from fuselearn.consensus.label_consensus import suspect_labels
from fuselearn.data import ViewBlocks, check_on_host, note_features
from fuselearn.data.table import data_frame
from fuselearn.estimators import check_count, check_flag, check_jobs, check_positive
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.fusion.base_models.catalogue import check_learners_take_weights, make_arms, resolve_learners
from fuselearn.fusion.calibration import by_class
from fuselearn.fusion.importance import worth_of
from fuselearn.fusion.passes import ArmRuns, Budget, fuse, targets_of
from fuselearn.fusion.training_data import read_rows
from fuselearn.fusion.weights import weighted_sum
from fuselearn.numeric.execution import Threads
from fuselearn.numeric.votes import codes_of

BELIEF = 0.5
"""Share of the agreed labels in what the second pass learns; the rest is the labels as given. Agreed labels echo what
the first pass believed: where the views know little, half of the echo is enough to go wrong by."""


class FusionClassifier(ClassifierMixin, BaseEstimator):
    """Fuse all views with several learners each, weighted by what they know of rows they have not seen.

    Every view, and all views side by side, are tried with every learner: these pairs are the arms. The values of an arm
    are out of sample for every training row. Arms whose repetition pays are fitted again. Weights of
    the arms are non-negative and drawn to the plain average, so that they differ only where the data says so. What the
    ensemble says of rows it has not seen is then held against their labels: this gives calibrated probabilities, the
    share of wrong labels in every label column, and labels to learn from once more that are less wrong.

    Nothing has to be chosen. Views may be missing in any row, labels may be wrong, views or annotators may each have
    labels of their own, classes may be many and of different size. Rows are taken to be independent: where several are
    of one person or place and the model is to work for others, give `groups` to `fit`. Else values of rows left out are
    too good to be true, and so are the weights and scores that follow from them.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A selector is what
        :class:`~sklearn.compose.ColumnTransformer` takes. None is one view of all columns.
    learners : "default", str, classifier, list or dict, default="default"
        What is tried on every view: names of built-in learners (``"svm"`` for two classes, ``"rbf"``, ``"linear"``,
        ``"trees"``) and scikit-learn classifiers, which are fitted on all but one of five parts of the rows in turn. A
        dict of name to classifier names them. The default is a kernel machine (``"svm"`` for two classes and up to
        1,000 rows, else ``"rbf"``), ``"linear"`` and ``"trees"``.
    consensus : bool, default=True
        Whether labels may be wrong. If False they are taken as they are, which is quicker; use it when they are known
        to be right.
    time_limit : float or None, default=None
        Seconds after which no further fits are begun, looked at every few fits. A second pass is begun only if it can
        be expected to end in time. The model then depends on the speed of the machine.
    max_fits : int or None, default=None
        Most fits of arms, those of the second pass included. At least one is made; where it is less than twice the
        number of arms there is no second pass.
    n_jobs : int, default=None
        Threads, over arms. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Seeds the trees, the landmarks of large kernels and the parts for classifiers given in `learners`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    arms_ : list of (view name, learner)
        The view is "all views" for all of them side by side.
    arm_weights_ : ndarray of shape (n_arms,)
    estimators_ : list of list
        Fitted models of each arm; its value is their mean.
    leaderboard_ : data frame
        A row per arm, the best first: its view, learner, out-of-sample balanced accuracy, weight and number of fits.
    view_importances_ : ndarray of shape (n_views,)
        Share of each view in the spread of the out-of-sample values. An arm of all views is shared out by how much of
        what its learner says of each view alone makes up what it says.
    noise_rates_ : ndarray of shape (n_label_columns,)
        Estimated share of wrong labels in each label column. With one column, classes that overlap and labels that are
        wrong can hardly be told apart: read it as the share of labels that the views contradict.
    label_columns_ : list of str
        ``["y"]``, or the names of the views whose labels they are.
    posterior_ : ndarray of shape (n_samples, n_classes)
        Probability of the true class of each training row, by values and labels. NaN for a row of weight 0 or without
        any label.
    out_of_sample_decision_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        `decision_function` of the training rows, by models that were not fitted on them, nor on others of their group.
        With consensus, the labels
        agreed on for other rows depend a little on a row's own label.
    out_of_sample_score_ : float
        Balanced accuracy on training rows, by models of the first pass that were not fitted on them, nor on others of
        their group, against the labels given (where columns differ, the most frequent one).
    class_prior_ : ndarray of shape (n_classes,)
        Estimated shares of the true classes. A row without any view gets it.
    n_fits_ : int
        Fits of arms, in both passes.
    view_names_ : list of str
    view_columns_ : list of ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where `X` is a data frame.

    See Also
    --------
    LabelConsensus : Wrong labels only, with a classifier of your choice.
    ShareBoostClassifier : Boosting with weak learners, which tells what each round added.

    Notes
    -----
    All classes count alike. ``"svm"`` is the mean of support vector machines with C = 0.1, 1 and 10 on at most 1,000
    rows, weighted by what they say of rows left out (in ten parts, above 500 rows in five). The others minimise
    squares: a label that is wrong at random shrinks what they learn, but does not turn it. ``"rbf"`` and ``"linear"``
    are kernel machines on at most 4,000 rows (``"rbf"`` above 600 with 400 landmarks, ``"linear"`` on 1,000 where a
    view has more columns than that) whose leave-one-out values are exact; ``"trees"`` are randomised trees on as many
    rows drawn with replacement, above 4,096 on a quarter of them, judged by the rows that each has not drawn. A view
    that fewer than ten rows have is left out.

    Values of an arm count by the share of the labels' variance that they explain, shrunk to that of all arms as far as
    it may differ by chance. Weights differ from their plain average only where they are better by a standard error;
    where labels of two classes are wrong at the rate ρ, by 1 / (1 − 2ρ)² of them.

    `predict` takes the class with the largest value, shifted to where classes balance in rows left out, and so treats
    classes as equally important, however rare. Where classes are of different size this is not always the most probable
    class: `predict_proba` says how probable each is.

    Values of rows whose views are partly missing are those of the arms that see something, as if the others had said
    the same.

    Examples
    --------
    >>> from fuselearn import FusionClassifier
    >>> from fuselearn.datasets import load_digit_views
    >>> from sklearn.model_selection import train_test_split
    >>> digits = load_digit_views()
    >>> X, X_test, y, y_test = train_test_split(digits.X, digits.y, train_size=300, random_state=0)
    >>> model = FusionClassifier(views=digits.views, random_state=0).fit(X, y)
    >>> model.score(X_test, y_test) > 0.95
    True
    >>> model.predict_proba(X_test).shape
    (1497, 10)
    """

    def __init__(
        self,
        *,
        views=None,
        learners="default",
        consensus=True,
        time_limit=None,
        max_fits=None,
        n_jobs=None,
        random_state=None,
    ):
        self.views = views
        self.learners = learners
        self.consensus = consensus
        self.time_limit = time_limit
        self.max_fits = max_fits
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None, view_labels=None, groups=None):
        """Fit the arms, combine them, and judge the labels.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there. The built-in learners fill single gaps by the
            column's mean; a classifier in `learners` gets them as they are, and must take NaN.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            What a row counts in fitting and calibrating; whether its label is wrong does not depend on it. Rows of
            weight 0, or less than 1e-9 of the largest, take no part, but for their classes, which are in `classes_`.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row; NaN or None where it gave none. With it, `y` supplies `classes_` only.
            For several annotators of one table, give each a view of all columns.
        groups : array of shape (n_samples,), default=None
            Rows that belong together, such as all pictures of a person, have the same entry: a number, a name. They
            are left out together wherever arms are judged, weighted or calibrated, as is right for a model that is to
            predict new persons. None takes all rows for independent.

        Returns
        -------
        self
        """
        budget = Budget(self.max_fits, self.time_limit)
        self._check_settings()
        rows = read_rows(self, X, y, sample_weight, view_labels, groups)
        learners = resolve_learners(self.learners, len(rows.classes), len(rows))
        if sample_weight is not None:
            check_learners_take_weights(learners)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        votes = rows.votes()
        row_weights = rows.weights * _balance(votes, rows.weights)
        arms = make_arms(rows.blocks, learners, row_weights, rows.groups, rows.classes, seed)
        # One thread for each matrix product: the bits of a sum depend on how many share it.
        with threadpool_limits(1, user_api="blas"), Threads(effective_n_jobs(self.n_jobs)) as threads:
            runs = ArmRuns(arms, row_weights, rows.groups, threads, seed, budget, self.consensus)
            first, fused = self._run(runs, rows, votes, row_weights, seed)
            worth = worth_of(arms, first, fused, rows)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        self._publish(rows, arms, fused, worth)
        self.n_fits_ = runs.n_fits
        return self

    def decision_function(self, X):
        """How much speaks for each class, all classes being equally important.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Positive means ``classes_[1]``. With more classes of shape (n_samples, n_classes). A row without any view
            gets the prior.
        """
        values, heard, present = self._values(X)
        return self._decide(values, heard, present)

    def predict(self, X):
        """Predict classes, all of them being equally important.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            A row without any view gets the most frequent class.
        """
        codes = codes_of(self.decision_function(X))
        return self.classes_[codes]

    def predict_proba(self, X):
        """Calibrated class probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A row without any view gets the prior.
        """
        values, heard, present = self._values(X)
        probabilities = np.exp(self._links.log_probabilities(by_class(values), present))
        probabilities[~heard] = self.class_prior_
        return probabilities

    def suspects(self, n=None):
        """Training labels that are probably wrong, the most suspect first.

        Parameters
        ----------
        n : int or None, default=None
            How many. None gives all labels that are more probably wrong than right.

        Returns
        -------
        list of dict
            One record per label, which ``pandas.DataFrame`` and ``polars.DataFrame`` take as they are:
            ``"row"``, the row number in `X`; ``"column"``, the label column, ``"y"`` or the name of the view;
            ``"given"``, the label; ``"proposed"``, the most probable other class; ``"probability"``, that the label is
            wrong.
        """
        check_is_fitted(self)
        return suspect_labels(self.posterior_, self._given_codes, self.classes_, self.label_columns_, n)

    @property
    def leaderboard_(self):
        """The arms as a data frame (pandas; without it polars, else an Arrow table), the best first."""
        check_is_fitted(self)
        order = np.lexsort((-self.arm_weights_, -self._arm_scores))
        return data_frame(
            {
                "view": [self.arms_[arm][0] for arm in order],
                "learner": [self.arms_[arm][1] for arm in order],
                "score": self._arm_scores[order].tolist(),
                "weight": self.arm_weights_[order].tolist(),
                "fits": [len(self.estimators_[arm]) for arm in order],
            }
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_settings(self):
        check_jobs(self.n_jobs)
        check_flag("consensus", self.consensus)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if self.max_fits is not None:
            check_count("max_fits", self.max_fits)

    def _run(self, runs, rows, votes, row_weights, seed):
        """A pass on the labels as given and, with consensus, one on what was agreed on."""
        given = targets_of(votes)
        made = runs.first_pass(given)
        first = fused = fuse(runs, made, given, rows, row_weights, self.consensus, seed)
        if self.consensus and not runs.interrupted:
            targets = targets_of(BELIEF * fused.posterior + (1 - BELIEF) * votes)
            made = runs.second_pass(targets)
            if made is not None:
                noise_rate = float(first.noise_rates.mean())
                fused = fuse(runs, made, targets, rows, row_weights, self.consensus, seed, noise_rate)
        if runs.interrupted:
            warnings.warn(
                f"Interrupted: the model has the {sum(map(len, fused.models))} fits that were done.",
                InterruptedFitWarning,
                stacklevel=3,
            )
        return first, fused

    def _values(self, X):
        """Combined values of rows, a mask of those that have a view of some arm, and which views they have."""
        check_is_fitted(self)
        check_on_host(X, "X", type(self).__name__)
        table = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        blocks = ViewBlocks.of(table, self.view_names_, self.view_columns_)
        used = np.flatnonzero(self.arm_weights_ > 0)
        said = (self._arm_values(blocks, table, arm) for arm in used)
        return *weighted_sum(said, self.arm_weights_[used]), blocks.present

    def _arm_values(self, blocks, table, arm):
        view, columns = self._arm_columns[arm]
        here = np.flatnonzero(blocks.present.all(axis=1) if view is None else blocks.present[:, view])
        values = np.full((len(table), len(self._target_means)), np.nan)
        if len(here):
            rows = np.ascontiguousarray(table[np.ix_(here, columns)], dtype=np.float64)
            values[here] = np.mean([model.predict(rows) for model in self.estimators_[arm]], axis=0)
            values[here] -= self._target_means
        return values

    def _decide(self, values, heard, present):
        decision = self._links.evidence(by_class(values), present)
        with np.errstate(divide="ignore"):
            decision[~heard] = np.maximum(np.log(self.class_prior_), -1e3)
        return decision[:, 1] - decision[:, 0] if decision.shape[1] == 2 else decision

    def _publish(self, rows, arms, fused, worth):
        note_features(self, rows.features)
        self.classes_, self.view_names_, self.view_columns_ = rows.classes, rows.names, rows.columns
        self.label_columns_ = rows.label_columns
        self.arms_ = [(arm.view_name, arm.learner) for arm in arms]
        self.arm_weights_ = fused.weights
        self.estimators_ = fused.models
        self.noise_rates_ = fused.noise_rates
        self.posterior_ = rows.everywhere(fused.posterior)
        shares = rows.weights @ fused.posterior
        self.class_prior_ = shares / shares.sum()
        self._arm_columns = [(arm.view, arm.columns) for arm in arms]
        self._target_means, self._links = fused.means, worth.links
        decision = self._decide(fused.values, fused.heard, rows.blocks.present)
        self.out_of_sample_decision_ = rows.everywhere(decision)
        self.out_of_sample_score_, self._arm_scores = worth.score, worth.arm_scores
        self.view_importances_ = worth.view_importances
        # What `suspects` has to know of the labels.
        self._given_codes = np.full((rows.n_given, rows.codes.shape[1]), -1, dtype=np.int32)
        self._given_codes[rows.kept] = rows.codes


def _balance(votes, weights):
    """Factor of each row's weight that gives every class the same total."""
    totals = weights @ votes
    factors = votes @ np.divide(1.0, totals, out=np.zeros(len(totals)), where=totals > 0)
    return factors * weights.sum() / np.count_nonzero(totals)
