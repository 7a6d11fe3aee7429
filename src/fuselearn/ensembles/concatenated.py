"""One classifier on the columns of all views."""

from typing import Any

import numpy as np
from sklearn.utils import Tags

from fuselearn.classifiers.adapter import (
    check_classifier,
    check_one_column_per_class,
    check_takes_weights,
    is_frozen,
    seeded_clone,
    takes_nan,
)
from fuselearn.classifiers.view_model import fit_view_model
from fuselearn.data import TrainingData, ViewBlocks
from fuselearn.ensembles.base import BaseFinalClassifier
from fuselearn.typing import BoolArray, Classifier, FloatArray, IntArray, RandomState, Views


class ConcatenatedClassifier(BaseFinalClassifier):
    """One classifier on the columns of all views, side by side.

    With AdaBoost this is the AdaBoost-Ca of S0 [1]_ and S1.

    Parameters
    ----------
    estimator : classifier
        The classifier, of which a clone is fitted.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    random_state : int, RandomState or None, default=None
        Seeds the classifier where its own `random_state` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    class_prior_ : ndarray of shape (n_classes,)
        Class probabilities of a row without any view.
    estimator_ : classifier
        The fitted classifier.
    column_means_ : ndarray of shape (n_columns,) or None
        Values in the place of NaN in each column; None where the classifier takes NaN itself.
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

    def __init__(self, estimator: Any, *, views: Views = None, random_state: RandomState = None) -> None:
        self.estimator = estimator
        self.views = views
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_settings(self) -> None:
        check_classifier(self.estimator, "estimator")
        if is_frozen(self.estimator):
            raise ValueError(
                "estimator is frozen, so that there is nothing to fit; use the fitted classifier as it is."
            )

    def _fit(self, data: TrainingData, majority: IntArray, seed: int) -> dict[str, Any]:
        check_one_column_per_class(self.estimator, "estimator", len(data.classes))
        weights = data.weights if data.weighted else None
        if weights is not None:
            check_takes_weights(self.estimator, "estimator")
        table = side_by_side(data.blocks)
        means = None if takes_nan(self.estimator) else column_means(table, weights)
        estimator = seeded_clone(self.estimator, (seed,))
        model = fit_view_model("all views", estimator, filled(table, means), majority, data.classes, weights)
        return {"estimator_": model.estimator, "column_means_": means}

    def _final_classifier(self) -> Classifier:
        fitted: Classifier = self.estimator_
        return fitted

    def _final_table(self, blocks: ViewBlocks) -> tuple[FloatArray, BoolArray]:
        return filled(side_by_side(blocks), self.column_means_), blocks.has_view


def side_by_side(blocks: ViewBlocks) -> FloatArray:
    """Return the columns of all views, with NaN where they have gaps."""
    columns = np.concatenate([view.columns for view in blocks])
    return blocks.views[0].table[:, columns]


def column_means(table: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the mean of the observed values of each column; 0 where there are none."""
    observed = ~np.isnan(table)
    weights = np.ones(len(table)) if weights is None else weights
    totals = weights @ observed
    means: FloatArray = weights @ np.where(observed, table, 0.0) / np.where(totals > 0, totals, 1.0)
    return means


def filled(table: FloatArray, means: FloatArray | None) -> FloatArray:
    """Return the table with the means in the gaps; unchanged without means."""
    return table if means is None else np.where(np.isnan(table), means, table)
