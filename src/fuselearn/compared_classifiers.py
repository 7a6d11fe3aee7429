"""Classifiers that methods of a comparison are made of: support vector machines, and adapters of S2's and S4's."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import label_binarize

from fuselearn.arguments import check_count, check_flag, check_jobs
from fuselearn.typing import AnyArray, ArrayLike, Estimator, FloatArray, IntArray, Views


class ClassLabels(ClassifierMixin, BaseEstimator):
    """A classifier of many labels, S2's, as one of classes: each class is a label, and the likeliest is predicted.

    Parameters
    ----------
    estimator : MSSBoostClassifier, NSBoostClassifier or RSBagClassifier
        It is cloned. NaN becomes the mean of the training rows.
    views : dict, list or None, default=None
        Views of the columns, for the estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    estimator_ : estimator
        The fitted estimator.
    """

    def __init__(self, estimator: Estimator, *, views: Views = None) -> None:
        self.estimator = estimator
        self.views = views

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the estimator on a label for each class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self
            The fitted classifier.
        """
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        self.classes_ = np.unique(y)
        counts = (~np.isnan(X)).sum(axis=0)
        self._means: FloatArray = np.nansum(X, axis=0) / np.maximum(counts, 1)
        # Two classes are one label, of which the estimator makes classes itself.
        target = y if len(self.classes_) == 2 else label_binarize(y, classes=self.classes_)
        self.estimator_ = clone(self.estimator).set_params(views=self.views).fit(self._filled(X), target)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values of the classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of shape (n_samples,) for two classes.
        """
        return self.estimator_.decision_function(self._filled(np.asarray(X, dtype=float)))

    def predict(self, X: ArrayLike) -> AnyArray:
        """Predict the class of the largest decision value.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class of each row.
        """
        values = self.decision_function(X)
        numbers: IntArray = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[numbers]

    def _filled(self, X: FloatArray) -> FloatArray:
        """Return rows without gaps."""
        return np.where(np.isnan(X), self._means, X)


class UnmatchedRows(ClassifierMixin, BaseEstimator):
    """A classifier of views whose objects are not matched, trained on rows that are torn into their views.

    So S4 tests its method: the training objects of each view are known, and which of them belong together is not. Rows
    to predict are whole.

    Parameters
    ----------
    estimator : TomographicClassifier or AugmentedKernelClassifier
        It is cloned.
    views : dict, default=None
        View name to column numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    estimator_ : estimator
        The fitted estimator.
    """

    def __init__(self, estimator: Estimator, *, views: Any = None) -> None:
        self.estimator = estimator
        self.views = views

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the estimator on rows of one view each.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Training rows; NaN where a view is absent.
        y : array of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self
            The fitted classifier.
        """
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        blocks, labels = [], []
        for columns in self.views.values():
            present = ~np.isnan(X[:, columns]).all(axis=1)
            block = np.full((int(present.sum()), X.shape[1]), np.nan)
            block[:, columns] = X[np.ix_(present, columns)]
            blocks.append(block)
            labels.append(y[present])
        model = clone(self.estimator).set_params(views=self.views)
        self.estimator_ = model.fit(np.vstack(blocks), np.concatenate(labels))
        self.classes_ = self.estimator_.classes_
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the estimator's decision values.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray
            As of the estimator.
        """
        return self.estimator_.decision_function(X)

    def predict(self, X: ArrayLike) -> AnyArray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class of each row.
        """
        return self.estimator_.predict(X)


def svm() -> Any:
    """Return the plain support vector machine of a view: means in gaps, standardised columns, RBF kernel, C = 1.

    Returns
    -------
    :class:`sklearn.pipeline.Pipeline`
        Not fitted.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), SVC())


def tuned_svm(*, standardise: bool = True, points: int = 5, cv: Any = 10, n_jobs: int | None = None) -> Any:
    """Return a support vector machine whose kernel width and C are chosen by cross-validation.

    S0 §5 and S3 §4: a Gaussian kernel exp(-‖x - x′‖² / σ²), σ and C in [10⁻², 10²], ten-fold cross-validation within
    the rows it is fitted on. They name the ranges and not the points; these are powers of ten.

    Parameters
    ----------
    standardise : bool, default=True
        Whether columns are brought to mean 0 and variance 1 first. The papers do not say; σ is in absolute numbers, so
        that without it the grid may lie far from the data.
    points : int, default=5
        Number of values of σ, and of C, evenly spaced in their logarithm.
    cv : int or splitter, default=10
        Folds, as in scikit-learn.
    n_jobs : int, default=None
        Processes, over the grid and folds.

    Returns
    -------
    :class:`sklearn.model_selection.GridSearchCV`
        Not fitted. σ is ``gamma ** -0.5`` of its ``best_estimator_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ViewVotingClassifier
    >>> from fuselearn.registry import tuned_svm
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ViewVotingClassifier(tuned_svm(points=3, cv=3), views={"sepal": [0, 1], "petal": [2, 3]}).fit(X, y)
    >>> [search.best_params_["svc__C"] for search in model.estimators_]
    [1.0, 100.0]
    """
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    check_flag("standardise", standardise)
    check_count("points", points)
    check_jobs(n_jobs)
    values = np.logspace(-2, 2, points) if points > 1 else np.ones(1)
    machine = make_pipeline(StandardScaler() if standardise else "passthrough", SVC())
    grid = {"svc__C": values.tolist(), "svc__gamma": (values**-2.0).tolist()}
    return GridSearchCV(machine, grid, cv=cv, n_jobs=n_jobs)
