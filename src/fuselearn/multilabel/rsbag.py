"""RSBag: bagging on balanced samples and random subspaces, label after label."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from fuselearn.data import encode_known
from fuselearn.data.indicator_data import encode_indicator
from fuselearn.multilabel.base import AnyJointLoss, BaseSubspaceEnsemble
from fuselearn.multilabel.subspace_models import Candidate, Trainer, fill_outputs, train_all
from fuselearn.numeric.threads import Threads
from fuselearn.typing import ArrayLike, FloatArray, IntArray, TableLike


class RSBagClassifier(BaseSubspaceEnsemble):
    """Round-robin random subspace bagging: the labels take turns to get a base model, and all models have weight 1.

    A label's decision value is the sum of the outputs of its base models [1]_. It is MSSBoost with candidates used in
    turn, weight 1 for their own label and 0 for the others.

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
        Number of base models in the ensemble. With fewer models than labels, the last labels get none.
    data_ratio : float in (0, 1] or "auto", default=0.2
        Rows of a base model's sample as a part of all: half of them with its label, half without.
    feature_ratio : float in (0, 1] or "auto", default=0.1
        Columns of a base model as a part of those of its view. ``"auto"`` chooses the smallest ratios that keep 80 % of
        the mean average precision of models on all rows and columns, in two-fold cross-validation. A sparse `X` stays
        sparse there, unless `estimator` does not take sparse rows: then half of it is made dense for each label.
    pool_size : int or None, default=None
        Not used: there is no pool to choose from. It is here so that the three classifiers take the same settings.
    significance : float in (0, 1], default=0.025
        Not used, like `pool_size`.
    fit_intercept : bool or None, default=None
        Not used, like `pool_size`.
    newton_steps : int, default=1
        Not used, like `pool_size`.
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
        Weight of each base model's output for each label: 1 for the label it was learned on, 0 for the others.
    intercepts_ : ndarray of shape (n_labels,)
        0 for every label.
    source_labels_ : int ndarray of shape (n_models,)
        Label that each base model was learned on.
    loss_curve_ : ndarray of shape (n_models + 1,)
        Joint logistic loss, of scores of 0, which is rows · labels · ln 2, and then after each model. Nothing here
        minimises it, so it may rise.
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
    MSSBoostClassifier : Chooses models, and shares them.

    References
    ----------
    .. [1] Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn import RSBagClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = RSBagClassifier(n_estimators=10, feature_ratio=0.5, random_state=0).fit(X, Y)
    >>> model.source_labels_
    array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1])
    """

    def strength_and_correlation(self, X: TableLike, y: ArrayLike) -> dict[str, FloatArray]:
        """Return strength and correlation of each label's base models, and the bound of S2's Theorem 1 on their error.

        The theorem is Breiman's for random forests, so base models vote with the sign of their output here. With its
        probabilities over the models and the rows at hand, the bound is an inequality of means and variances that
        always holds; on rows that the model has not seen it estimates the theorem's.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to measure on.
        y : array of shape (n_samples, n_labels)
            Their labels.

        Returns
        -------
        dict of str to ndarray of shape (n_labels,)
            ``"strength"``: s = 2·P(h = y) - 1. ``"correlation"``: ρ̄ of two base models. ``"bound"``: ρ̄·(1 - s²)/s²,
            NaN where s ≤ 0. ``"error"``: share of the rows on which more models are wrong than right. All are NaN for a
            label without base models.

        Examples
        --------
        >>> from sklearn.datasets import make_multilabel_classification
        >>> from fuselearn import RSBagClassifier
        >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
        >>> model = RSBagClassifier(n_estimators=40, feature_ratio=0.5, random_state=0).fit(X, Y)
        >>> measures = model.strength_and_correlation(X, Y)
        >>> bool((measures["error"] <= measures["bound"]).all())
        True
        """
        check_is_fitted(self)
        table = self._table(X)
        signs = self._signs(y, len(table))
        outputs = np.empty((len(self.estimators_), len(table)))
        for model_outputs, model, columns in zip(outputs, self.estimators_, self.estimators_features_):
            fill_outputs(model, table, columns, model_outputs)
        strengths = [
            strength_and_correlation(outputs[self.source_labels_ == label], label_signs)
            for label, label_signs in enumerate(signs)
        ]
        return {name: np.array([getattr(strength, name) for strength in strengths]) for name in Strength._fields}

    def _has_intercept(self) -> bool:
        """Return False: all weights are 1, so that there is nothing for an intercept to correct."""
        return False

    def _signs(self, y: ArrayLike, n_rows: int) -> IntArray:
        """Check the labels of rows, and return +1 or -1 for each label and row."""
        expected = (n_rows,) if self._one_column else (n_rows, self.label_weights_.shape[1])
        if np.shape(y) != expected:
            raise ValueError(f"y must have shape {expected}; got {np.shape(y)}.")
        if self._one_column:
            codes = encode_known(np.asarray(y), np.asarray(self.classes_), "y")
            return np.where(codes == 1, 1, -1)[None, :]
        return encode_indicator(y if issparse(y) else np.asarray(y), complete=False).signs

    def _rounds(
        self, trainer: Trainer, joint: AnyJointLoss, threads: Threads
    ) -> Iterator[tuple[Candidate, FloatArray]]:
        n_labels = len(joint.signs)
        at_a_time = 4 * threads.count
        for start in range(0, self.n_estimators, at_a_time):
            turns = range(start, min(start + at_a_time, self.n_estimators))
            # S2 Alg. 1 step 1a: the remainder over the number of labels.
            requests = [(turn % n_labels, turn // n_labels, turn % n_labels) for turn in turns]
            for candidate in train_all(trainer, requests, threads):
                weights = np.zeros(n_labels)
                weights[candidate.source_label] = 1.0
                yield candidate, weights


class Strength(NamedTuple):
    """Quantities of S2's Theorem 1, which is Breiman's for random forests, for the base models of a label.

    Attributes
    ----------
    strength : float
        s = E[2·P(h = y) - 1]: how much more often than not a model is right.
    correlation : float
        ρ̄ of the models' being right, over pairs of models.
    bound : float
        ρ̄·(1 - s²)/s², NaN where s ≤ 0.
    error : float
        Share of the rows on which more models are wrong than right, which the bound is above.
    """

    strength: float
    correlation: float
    bound: float
    error: float


def strength_and_correlation(outputs: FloatArray, signs: IntArray) -> Strength:
    """Return strength, correlation, bound and error of the models of one label, by the signs of their outputs.

    With rmg = ±1 where a model is right or wrong and mr its mean over the models, Breiman ("Random forests", 2001,
    equations 6 to 8) has s = E[mr], ρ̄ = Var(mr) / (E[sd(rmg)])², and Var(mr)/s² ≤ ρ̄·(1 - s²)/s² above P(mr < 0). All
    are NaN for no models; ρ̄ is 0 where no model is ever wrong.
    """
    if not len(outputs):
        return Strength(np.nan, np.nan, np.nan, np.nan)
    right = np.where((outputs > 0) == (signs > 0), 1.0, -1.0)
    margin = right.mean(axis=0)
    strength, spread = margin.mean(), right.std(axis=1).mean()
    correlation = margin.var() / spread**2 if spread > 0 else 0.0
    bound = correlation * (1 - strength**2) / strength**2 if strength > 0 else np.nan
    # A mean of an even number of ±1 may miss 0 by rounding.
    error = np.mean(np.rint(margin * len(right)) < 0)
    return Strength(float(strength), float(correlation), float(bound), float(error))
