"""NSBoost: MSSBoost without sharing."""

from collections.abc import Iterator

from fuselearn.multilabel.base import AnyJointLoss, BaseSubspaceEnsemble
from fuselearn.multilabel.mssboost import boosted_rounds
from fuselearn.multilabel.pool import number_of_candidates
from fuselearn.multilabel.subspace_models import Candidate, Trainer
from fuselearn.numeric.threads import Threads
from fuselearn.typing import FloatArray


class NSBoostClassifier(BaseSubspaceEnsemble):
    """Boosting on random subspaces in which a base model serves its own label only.

    It is :class:`MSSBoostClassifier` with every weight 0 but that of the label a base model was learned on [1]_: the
    comparison that shows how much sharing gains.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier that base models are clones of: anything with `predict_proba` (outputs 2p - 1) or `decision_function`
        (clipped to [-1, 1]). None is ``RbfSVC(max_vectors="auto")`` of :mod:`fuselearn.multilabel`, an RBF
        support vector machine of least squares that few rows span.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A base model draws its columns
        inside one view, and the views take turns. None is one view of all columns.
    n_estimators : int, default=100
        Number of base models in the ensemble.
    data_ratio : float in (0, 1] or "auto", default=0.2
        Rows of a base model's sample as a part of all: half of them with its label, half without.
    feature_ratio : float in (0, 1] or "auto", default=0.1
        Columns of a base model as a part of those of its view. ``"auto"`` chooses the smallest ratios that keep 80 % of
        the mean average precision of models on all rows and columns, in two-fold cross-validation. A sparse `X` stays
        sparse there, unless `estimator` does not take sparse rows: then half of it is made dense for each label.
    pool_size : int or None, default=None
        Number of candidates to choose from in each round; None is one for each label, and with the default base model
        at least 39. With fewer than labels, the labels take turns to bring in new candidates. Memory grows with rows ×
        (labels + pool).
    significance : float in (0, 1], default=0.025
        A base model gets no weight for a label that its sign is not related to by a χ² test at this level. 1 is no
        test.
    fit_intercept : bool or None, default=None
        Whether the decision function of a label begins at its log-odds rather than at 0, so that no base model has to
        show how rare it is. None is True with the default base model and False, as in the paper, with another one.
    newton_steps : int, default=1
        Newton steps for the weights of the base model that joins; which one joins is decided by the first. More lower
        the training loss faster, and gained nothing on new rows where it was measured.
    n_jobs : int, default=None
        Number of threads. The model is the same, bit for bit, for any number.
    random_state : int, RandomState or None, default=None
        Seed of the samples, the subspaces and the draws of random base models.
    verbose : int, default=0
        How often to print: 1 prints ten times during a fit, 2 after every model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,), or list of ndarray
        Numbers of the labels; for a matrix of one or two labels a list of ``array([0, 1])``, since scikit-learn's
        scorers would take the numbers for two classes. For a 1-D target its two classes.
    label_names_ : list of str
        Columns of `y` if it was a data frame, else ``"label0"``, ``"label1"``, …
    estimators_ : list of classifier
        The base models, in the order in which they joined. Their classes are 0 and 1.
    estimators_features_ : list of ndarray
        Columns of `X` that each base model reads.
    label_weights_ : ndarray of shape (n_models, n_labels)
        α: weight of each base model's output for each label; a row has one weight at most.
    intercepts_ : ndarray of shape (n_labels,)
        Log-odds ln(n₊ / n₋) of each label, or 0.
    source_labels_ : int ndarray of shape (n_models,)
        Label that each base model was learned on.
    loss_curve_ : ndarray of shape (n_models + 1,)
        Joint logistic loss, summed over rows and labels, in natural logarithms: of scores of 0, without the intercepts,
        which is rows · labels · ln 2, and then after each model, with them. It never rises, and the number of training
        errors is at most the loss divided by ln 2.
    model_size_ : int or None
        Support vectors × features, summed over the base models that some label uses; nodes for trees, coefficients for
        linear models, None for base models that have none of these.
    data_ratio_ : float
        Ratio of the rows that was used.
    feature_ratio_ : float
        Ratio of the columns that was used.
    ratio_scores_ : dict or None
        Scores that ``"auto"`` chose by: mean average precision of (data ratio, feature ratio) pairs, and of ``"full"``.
        None where both ratios were given.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of `X` that each view has.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns, if `X` was a data frame.

    See Also
    --------
    MSSBoostClassifier : With sharing.

    References
    ----------
    .. [1] Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn import NSBoostClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = NSBoostClassifier(n_estimators=10, feature_ratio=0.5, random_state=0).fit(X, Y)
    >>> int((model.label_weights_ != 0).sum(axis=1).max())
    1
    """

    def _rounds(
        self, trainer: Trainer, joint: AnyJointLoss, threads: Threads
    ) -> Iterator[tuple[Candidate, FloatArray]]:
        return boosted_rounds(
            trainer,
            joint,
            threads,
            pool_size=number_of_candidates(self.pool_size, len(joint.signs), default_model=self.estimator is None),
            significance=self.significance,
            shared=False,
            newton_steps=self.newton_steps,
        )
