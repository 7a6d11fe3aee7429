"""Regressors of single views, combined: what FusionRegressor is compared with."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.linear_model import RidgeCV
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fuselearn import progress
from fuselearn.arguments import check_count, check_random_state
from fuselearn.classifiers.adapter import array_for, check_takes_weights, takes_nan
from fuselearn.classifiers.cross_fitting import stratified_folds
from fuselearn.classifiers.regressors import check_regressor, fit_regressor
from fuselearn.data import ViewBlocks, note_features, read_new_rows
from fuselearn.data.training_data import RegressionData, read_regression_data
from fuselearn.ensembles.concatenated import column_means, filled, side_by_side
from fuselearn.numeric.exact_sums import exact_mean
from fuselearn.persistence.validation import check_number, check_views
from fuselearn.typing import ArrayLike, FloatArray, IntArray, RandomState, TableLike, Views


class BaseViewRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Template of a regressor that combines models of several views."""

    estimator: Any
    views: Views
    random_state: RandomState

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Fit the models.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
            Number to predict of each row.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, in any unit. Rows of weight 0 take no part.

        Returns
        -------
        self
            The fitted regressor.
        """
        return self._fit_from(X, y, sample_weight, None)

    def predict(self, X: TableLike) -> FloatArray:
        """Predict the number of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted numbers. A row without any view gets the mean of the training rows.
        """
        check_is_fitted(self)
        blocks = ViewBlocks.of(read_new_rows(self, X), self.view_names_, self.view_columns_)
        predicted = np.full(len(blocks), self.target_mean_)
        if blocks.has_view.any():
            predicted[blocks.has_view] = self._predict(blocks)[blocks.has_view]
        return predicted

    def validate(self) -> None:
        """Refuse an ensemble, read from a file, whose views and models do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The ensemble has other views or regressors than those it was fitted with.
        """
        check_views(self)
        if "target_mean_" not in vars(self):
            return
        check_number(self, "target_mean_")
        estimators = vars(self).get("estimators_")
        if estimators is not None and (type(estimators) is not list or len(estimators) != len(self.view_names_)):
            raise ValueError("it has other regressors than views")

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        given = list(self.estimator.values()) if isinstance(self.estimator, dict) else self.estimator
        regressors = given if isinstance(given, list | tuple) else [given]
        tags.input_tags.allow_nan = self.views is not None or all(map(takes_nan, regressors))
        return tags

    def _fit_from(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike, groups: ArrayLike) -> Self:
        """Read the training data, learn, and set the fitted attributes."""
        data = read_regression_data(self, X, y, sample_weight, groups, drop_unused=True)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fitted = self._fit(data, seed)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        note_features(self, data.features)
        self.view_names_, self.view_columns_ = data.names, data.columns
        self.target_mean_ = float(np.average(data.target, weights=data.weights))
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def _report(self, before: int, total: int, place: int, name: str) -> None:
        """Report a fit of a view's regressor, with `before` fits of all views before it."""
        done, printed = before + place + 1, bool(getattr(self, "verbose", 0))
        progress.report(self, done, total, f"{done} of {total} fits, the view {name!r}", printed=printed)

    @abstractmethod
    def _fit(self, data: RegressionData, seed: int) -> dict[str, Any]:
        """Return the fitted attributes to set."""

    @abstractmethod
    def _predict(self, blocks: ViewBlocks) -> FloatArray:
        """Return what is predicted of rows; those without any view do not matter."""

    def _of_views(self, data: RegressionData) -> list[Any]:
        """Return the regressor of each view, checked."""
        given = self.estimator
        if isinstance(given, dict):
            if set(given) != set(data.names):
                raise ValueError(f"estimator has regressors for {sorted(given)}, but the views are {data.names}.")
            regressors = [given[name] for name in data.names]
        elif isinstance(given, list | tuple):
            if len(given) != len(data.names):
                raise ValueError(f"estimator has {len(given)} regressors for {len(data.names)} views.")
            regressors = list(given)
        else:
            regressors = [given] * len(data.names)
        for name, regressor in zip(data.names, regressors):
            what = f"estimator for the view {name!r}"
            check_regressor(regressor, what)
            if data.weighted:
                check_takes_weights(regressor, what)
        return regressors

    def _view_predictions(self, estimators: list[Any], blocks: ViewBlocks) -> FloatArray:
        """Return what the regressor of each view predicts, of shape (n_rows, n_views); NaN where it is absent."""
        predicted = np.full((len(blocks), len(estimators)), np.nan)
        for number, (view, estimator) in enumerate(zip(blocks, estimators)):
            present = blocks.present[:, number]
            if present.any():
                predicted[present, number] = np.ravel(estimator.predict(array_for(view, estimator)))
        return predicted


def fit_of_views(
    regressors: list[Any],
    data: RegressionData,
    rows: IntArray,
    seed: int,
    number: int,
    report: Callable[[int, str], None],
) -> list[Any]:
    """Return the regressor of each view, fitted on those of some rows that have it; None where none has."""
    models = []
    weights = data.weights / exact_mean(data.weights) if data.weighted else None
    for place, (view, regressor) in enumerate(zip(data.blocks, regressors)):
        present = data.blocks.present[:, place]
        position, used = np.cumsum(present) - 1, rows[present[rows]]
        table = array_for(view, regressor)
        own = None if weights is None else weights[present]
        fitted = None
        if len(used):
            fitted = fit_regressor(regressor, table, data.target[present], own, position[used], (seed, place, number))
        models.append(fitted)
        report(place, data.names[place])
    return models


class ViewVotingRegressor(BaseViewRegressor):
    """One regressor per view, and the mean of what those predict whose view a row has.

    Parameters
    ----------
    estimator : regressor, list or dict
        One regressor for all views, a list with one per view, or a dict of view name to regressor. Clones are fitted,
        each on the rows that have its view.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    random_state : int, RandomState or None, default=None
        Seeds the regressors whose own `random_state` is None.
    verbose : int, default=0
        1 prints a line for each fit, with its view.

    Attributes
    ----------
    estimators_ : list of regressor
        The fitted regressor of each view.
    target_mean_ : float
        What is predicted of a row without any view.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray
        Names of the columns, where `X` is a data frame.

    See Also
    --------
    FusionRegressor : Several learners per view, weighted by their out-of-fold values.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from fuselearn import ViewVotingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ViewVotingRegressor(Ridge(0.1), views={"person": slice(0, 4), "blood": slice(4, 10)}).fit(X, y)
    >>> round(model.score(X, y), 1)
    0.5
    """

    def __init__(
        self, estimator: Any, *, views: Views = None, random_state: RandomState = None, verbose: int = 0
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, data: RegressionData, seed: int) -> dict[str, Any]:
        check_count("verbose", self.verbose, least=0)
        rows, report = np.arange(len(data)), partial(self._report, 0, len(data.names))
        return {"estimators_": fit_of_views(self._of_views(data), data, rows, seed, 0, report)}

    def _predict(self, blocks: ViewBlocks) -> FloatArray:
        predicted = self._view_predictions(self.estimators_, blocks)
        known = ~np.isnan(predicted)
        means: FloatArray = np.nansum(predicted, axis=1) / np.maximum(known.sum(axis=1), 1)
        return means


class ViewStackingRegressor(BaseViewRegressor):
    """One regressor per view, and a final one that learns from what they predict out of fold.

    Parameters
    ----------
    estimator : regressor, list or dict
        One regressor for all views, a list with one per view, or a dict of view name to regressor. Clones are fitted,
        each on the rows that have its view.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    final_estimator : regressor or None, default=None
        None is a ridge whose strength is chosen by leave-one-out, ``RidgeCV()``.
    cv : int, default=5
        Number of folds in which rows are held out; with `groups`, folds of whole groups.
    random_state : int, RandomState or None, default=None
        Shuffles the folds, and seeds the regressors whose own `random_state` is None.
    verbose : int, default=0
        1 prints a line for each fit, with its view.

    Attributes
    ----------
    estimators_ : list of regressor
        The regressor of each view, fitted on all rows that have it.
    final_estimator_ : regressor
        The final regressor.
    target_mean_ : float
        What is predicted of a row without any view.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray
        Names of the columns, where `X` is a data frame.

    See Also
    --------
    FusionRegressor : Several learners per view, weighted by their out-of-fold values.

    Notes
    -----
    Where a view is absent, the final regressor sees the mean of the target, and a 1 in a column that marks it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from fuselearn import ViewStackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> views = {"person": slice(0, 4), "blood": slice(4, 10)}
    >>> model = ViewStackingRegressor(Ridge(0.1), views=views, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 1)
    0.5
    """

    def __init__(
        self,
        estimator: Any,
        *,
        views: Views = None,
        final_estimator: Any = None,
        cv: int = 5,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.final_estimator = final_estimator
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None, groups: ArrayLike = None) -> Self:
        """Fit the models.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
            Number to predict of each row.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, in any unit. Rows of weight 0 take no part.
        groups : array of shape (n_samples,), default=None
            Rows that belong together have the same entry, and are held out together.

        Returns
        -------
        self
            The fitted regressor.
        """
        check_count("cv", self.cv, least=2)
        check_count("verbose", self.verbose, least=0)
        if self.final_estimator is not None:
            check_regressor(self.final_estimator, "final_estimator")
        return self._fit_from(X, y, sample_weight, groups)

    def _fit(self, data: RegressionData, seed: int) -> dict[str, Any]:
        regressors = self._of_views(data)
        if len(data) < 2:
            raise ValueError(f"cv={self.cv} needs at least 2 rows to hold one out; got n_samples={len(data)}.")
        final = RidgeCV() if self.final_estimator is None else self.final_estimator
        if data.weighted:
            check_takes_weights(final, "final_estimator")
        codes = np.zeros(len(data), dtype=np.intp)
        fold_of = stratified_folds(codes, min(self.cv, len(data)), np.random.default_rng(seed), data.groups)
        predicted = np.full((len(data), len(regressors)), np.nan)
        total = (len(np.unique(fold_of)) + 1) * len(regressors)
        for number in np.unique(fold_of).tolist():
            held_out, others = np.flatnonzero(fold_of == number), np.flatnonzero(fold_of != number)
            report = partial(self._report, number * len(regressors), total)
            models = fit_of_views(regressors, data, others if len(others) else held_out, seed, 1 + number, report)
            for place, (view, model) in enumerate(zip(data.blocks, models)):
                present = data.blocks.present[:, place]
                own = held_out[present[held_out]]
                if model is not None and len(own):
                    table = array_for(view, model)[(np.cumsum(present) - 1)[own]]
                    predicted[own, place] = np.ravel(model.predict(table))
        mean = float(np.average(data.target, weights=data.weights))
        weights = data.weights / exact_mean(data.weights) if data.weighted else None
        rows, key = np.arange(len(data)), (seed, len(regressors), 0)
        report = partial(self._report, total - len(regressors), total)
        return {
            "estimators_": fit_of_views(regressors, data, rows, seed, 0, report),
            "final_estimator_": fit_regressor(final, _marked(predicted, mean), data.target, weights, rows, key),
        }

    def _predict(self, blocks: ViewBlocks) -> FloatArray:
        table = _marked(self._view_predictions(self.estimators_, blocks), self.target_mean_)
        return np.ravel(self.final_estimator_.predict(table))


def _marked(predicted: FloatArray, mean: float) -> FloatArray:
    """Return predictions with the mean where there are none, and beside them 1 where there are none."""
    absent = np.isnan(predicted)
    return np.column_stack([np.where(absent, mean, predicted), absent])


class ConcatenatedRegressor(BaseViewRegressor):
    """One regressor on the columns of all views, side by side.

    Parameters
    ----------
    estimator : regressor
        The regressor, of which a clone is fitted.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    random_state : int, RandomState or None, default=None
        Seeds the regressor where its own `random_state` is None.

    Attributes
    ----------
    estimator_ : regressor
        The fitted regressor.
    column_means_ : ndarray of shape (n_columns,) or None
        Values in the place of NaN in each column; None where the regressor takes NaN itself.
    target_mean_ : float
        What is predicted of a row without any view.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray
        Names of the columns, where `X` is a data frame.

    See Also
    --------
    FusionRegressor : Several learners per view, weighted by their out-of-fold values.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from fuselearn import ConcatenatedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ConcatenatedRegressor(Ridge(0.1), views={"person": slice(0, 4), "blood": slice(4, 10)}).fit(X, y)
    >>> round(model.score(X, y), 1)
    0.5
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

    def _fit(self, data: RegressionData, seed: int) -> dict[str, Any]:
        check_regressor(self.estimator, "estimator")
        weights = data.weights / exact_mean(data.weights) if data.weighted else None
        if weights is not None:
            check_takes_weights(self.estimator, "estimator")
        table = side_by_side(data.blocks)
        means = None if takes_nan(self.estimator) else column_means(table, weights)
        rows = np.arange(len(data))
        model = fit_regressor(self.estimator, filled(table, means), data.target, weights, rows, (seed,))
        return {"estimator_": model, "column_means_": means}

    def _predict(self, blocks: ViewBlocks) -> FloatArray:
        return np.ravel(self.estimator_.predict(filled(side_by_side(blocks), self.column_means_)))
