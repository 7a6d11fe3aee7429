"""NSBoost: MSSBoost without sharing."""

from fuselearn.multilabel.base import BaseSubspaceEnsemble
from fuselearn.multilabel.mssboost import boosted_rounds


class NSBoostClassifier(BaseSubspaceEnsemble):
    """Boosting on random subspaces in which a base model serves its own label only.

    It is :class:`MSSBoostClassifier` with every weight 0 but that of the label a base model was learned on [1]_: the
    comparison that shows what sharing is worth.

    Parameters
    ----------
    estimator, views, n_estimators, data_ratio, feature_ratio, pool_size, significance, n_jobs, random_state, verbose
        As in :class:`MSSBoostClassifier`.

    Attributes
    ----------
    classes_, label_names_, estimators_, estimators_features_, label_weights_, source_labels_, loss_curve_, model_size_
        As in :class:`MSSBoostClassifier`; a row of `label_weights_` has one weight at most.
    data_ratio_, feature_ratio_, ratio_scores_, view_names_, view_columns_, n_features_in_, feature_names_in_
        As in :class:`MSSBoostClassifier`.

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

    def _rounds(self, trainer, joint, threads):
        options = {"pool_size": self.pool_size, "significance": self.significance}
        return boosted_rounds(trainer, joint, threads, shared=False, **options)
