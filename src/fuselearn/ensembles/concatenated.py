"""One classifier on the columns of all views."""

import numpy as np

from fuselearn.classifiers.checks import (
    check_classifier,
    check_one_column_per_class,
    check_weights_taken,
    is_frozen,
    seeded_clone,
)
from fuselearn.classifiers.view_model import fit_view_model
from fuselearn.ensembles.base import BaseLastWord
from fuselearn.learners.sklearn_learner import takes_nan


class ConcatenatedClassifier(BaseLastWord):
    """One classifier on the columns of all views, side by side.

    With AdaBoost this is the AdaBoost-Ca of S0 [1]_ and S1.

    Parameters
    ----------
    estimator : classifier
        A clone is fitted.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    n_jobs : int, default=None
        For the interface: there is one classifier, which has its own.
    random_state : int, RandomState or None, default=None
        Seeds the classifier where its own `random_state` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_prior_ : ndarray of shape (n_classes,)
        What a row without any view gets.
    estimator_ : classifier
        The fitted classifier.
    column_means_ : ndarray of shape (n_columns,) or None
        What stands for NaN in each column; None where the classifier takes NaN itself.
    view_names_ : list of str
    view_columns_ : list of ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where `X` is a data frame.

    Notes
    -----
    NaN, where a view is absent or has a gap, is replaced by the mean of the column over the training rows, unless the
    classifier takes NaN itself. A column that is in two views is there twice. Columns of no view are not used.

    References
    ----------
    .. [1] Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from fuselearn import ConcatenatedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> views = {"sepal": [0, 1], "petal": [2, 3]}
    >>> model = ConcatenatedClassifier(AdaBoostClassifier(), views=views, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def __init__(self, estimator, *, views=None, n_jobs=None, random_state=None):
        self.estimator = estimator
        self.views = views
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_settings(self):
        check_classifier(self.estimator, "estimator")
        if is_frozen(self.estimator):
            raise ValueError("estimator is frozen, so there is nothing to fit; use the fitted classifier as it is.")

    def _fit(self, rows, seed):
        check_one_column_per_class(self.estimator, "estimator", len(rows.classes))
        if rows.weights is not None:
            check_weights_taken(self.estimator, "estimator")
        table = _side_by_side(rows.blocks)
        means = None if takes_nan(self.estimator) else _column_means(table, rows.weights)
        model = fit_view_model(
            "all views",
            seeded_clone(self.estimator, seed),
            _filled(table, means),
            rows.agreed,
            rows.classes,
            rows.weights,
        )
        return {"estimator_": model.estimator, "column_means_": means}

    def _last_word(self):
        return self.estimator_

    def _table(self, blocks):
        return _filled(_side_by_side(blocks), self.column_means_), blocks.present.any(axis=1)


def _side_by_side(blocks):
    """Columns of all views, NaN where they are."""
    columns = np.concatenate([view.columns for view in blocks])
    return blocks.views[0].table[:, columns]


def _column_means(table, weights):
    """Mean of what was observed of each column; 0 where nothing was."""
    observed = ~np.isnan(table)
    weights = np.ones(len(table)) if weights is None else weights
    totals = weights @ observed
    return weights @ np.where(observed, table, 0.0) / np.where(totals > 0, totals, 1.0)


def _filled(table, means):
    return table if means is None else np.where(np.isnan(table), means, table)
