"""RSBag: bagging on balanced samples and random subspaces, label after label."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from fuselearn.data import encode_known
from fuselearn.multilabel import base_models
from fuselearn.multilabel.base import BaseSubspaceEnsemble, train_all
from fuselearn.multilabel.strength import strength_and_correlation
from fuselearn.multilabel.training_data import read_indicator


class RSBagClassifier(BaseSubspaceEnsemble):
    """Round-robin random subspace bagging: the labels take turns to get a base model, and all models have weight 1.

    A label's decision value is the sum of the outputs of its base models [1]_. It is MSSBoost with candidates taken in
    turn, weight 1 for their own label and 0 for the others.

    Parameters
    ----------
    estimator, views, n_estimators, data_ratio, feature_ratio
        As in :class:`MSSBoostClassifier`. With fewer models than labels, the last labels get none.
    pool_size, significance
        Not used: there is no pool to choose from. They are here so that the three classifiers take the same settings.
    n_jobs, random_state, verbose
        As in :class:`MSSBoostClassifier`.

    Attributes
    ----------
    classes_, label_names_, estimators_, estimators_features_, label_weights_, source_labels_, model_size_
        As in :class:`MSSBoostClassifier`.
    loss_curve_ : ndarray of shape (n_models + 1,)
        Joint logistic loss. Nothing here minimises it, so it may rise.
    data_ratio_, feature_ratio_, ratio_scores_, view_names_, view_columns_, n_features_in_, feature_names_in_
        As in :class:`MSSBoostClassifier`.

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

    def strength_and_correlation(self, X, Y):
        """Strength and correlation of each label's base models, and the bound of S2's Theorem 1 on their error.

        The theorem is Breiman's for random forests, so base models vote with the sign of their output here. With its
        probabilities taken over the models and the rows at hand, the bound is an inequality of means and variances that
        always holds; on rows that the model has not seen it estimates the theorem's.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Y : array of shape (n_samples, n_labels)

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
        >>> told = model.strength_and_correlation(X, Y)
        >>> bool((told["error"] <= told["bound"]).all())
        True
        """
        check_is_fitted(self)
        table = self._table(X)
        signs = self._read_signs(Y, len(table))
        votes = np.empty((len(self.estimators_), len(table)))
        for said, model, columns in zip(votes, self.estimators_, self.estimators_features_):
            base_models.outputs_of_table(model, table, columns, said)
        told = [strength_and_correlation(votes[self.source_labels_ == label], y) for label, y in enumerate(signs)]
        return {name: np.array([getattr(one, name) for one in told]) for name in told[0]._fields}

    def _read_signs(self, Y, n_rows):
        expected = (n_rows,) if self._one_column else (n_rows, self.label_weights_.shape[1])
        if np.shape(Y) != expected:
            raise ValueError(f"Y must have shape {expected}; got {np.shape(Y)}.")
        if self._one_column:
            return np.where(encode_known(np.asarray(Y), self.classes_, "Y") == 1, 1, -1)[None, :]
        return read_indicator(Y if issparse(Y) else np.asarray(Y), mixed=False).signs

    def _rounds(self, trainer, joint, threads):
        n_labels = len(joint.signs)
        at_a_time = 4 * threads.count
        for start in range(0, self.n_estimators, at_a_time):
            turns = range(start, min(start + at_a_time, self.n_estimators))
            # S2 Alg. 1 step 1a: the remainder over the number of labels.
            places = [(turn % n_labels, turn // n_labels, turn % n_labels) for turn in turns]
            for candidate in train_all(trainer, places, threads):
                weights = np.zeros(n_labels)
                weights[candidate.source_label] = 1.0
                yield candidate, weights
