"""The fusion of views into a number: the same base models as for classes, with squares for the loss."""

import os
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fuselearn import progress
from fuselearn.arguments import check_count, check_jobs, check_positive, check_random_state
from fuselearn.boosting.checkpoint import check_checkpoint
from fuselearn.data import note_features, read_new_rows
from fuselearn.data.training_data import RegressionData, read_regression_data
from fuselearn.data.view_table import check_in_memory, to_host
from fuselearn.fusion.base_models.catalogue import (
    Learners,
    are_many,
    check_arms,
    check_learners_take_weights,
    check_view_names,
    resolve_learners,
)
from fuselearn.fusion.budget import Budget
from fuselearn.fusion.fused_arms import FusedArms, NewRows
from fuselearn.fusion.fusion_log import FusionLog, open_log
from fuselearn.fusion.fusion_options import FusionOptions
from fuselearn.fusion.pattern_fits import NearestCalibration
from fuselearn.fusion.prediction_intervals import PredictionIntervals, SpreadRows
from fuselearn.fusion.regression_passes import SIZE_LEARNERS, RegressionResult, fit_few_rows
from fuselearn.fusion.regression_residuals import disagreement_of, explained_share, sizes_of
from fuselearn.fusion.regression_sums import fit_many_rows
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.numeric.threads import Threads
from fuselearn.persistence.validation import check_number, check_part, check_views
from fuselearn.typing import ArrayLike, BoolArray, FloatArray, RandomState, TableLike, Views

NEGLIGIBLE_WEIGHT = 1e-9
"""A row that counts no more than this share of the heaviest one counts nothing: rounding would be as large."""
R2 = "r2"
LEAST_ROWS = 2


class FusionRegressor(RegressorMixin, FusedArms):
    """Fuse all views with several learners each into a number, weighted by their out-of-fold values.

    Every view, and all views side by side, are tried with every learner: these pairs are the arms. An arm has
    out-of-fold values of every training row. Weights of the arms are non-negative and minimise the squared errors of
    their sum. Out-of-fold residuals then tell how wide intervals have to be, for each pattern of missing views, and
    whether the target has gross outliers: these are what wrong labels are to :class:`FusionClassifier`, and count next
    to nothing in a second pass.

    Nothing has to be chosen. Views may be missing in any row. Rows are taken to be independent: where several are of
    one person or place and the model is to work for others, give `groups` to `fit`.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A selector is what
        :class:`~sklearn.compose.ColumnTransformer` takes. None is one view of all columns.
    learners : "default", str, regressor, list or dict, default="default"
        Learners that are tried on every view: names of built-in learners (``"rbf"``, ``"linear"``, ``"trees"``,
        ``"boosting"``) and scikit-learn regressors, which are cross-fitted in five folds. A dict of name to regressor
        names them. The default is ``"rbf"``, ``"linear"`` and ``"trees"``, from 500 rows on with ``"boosting"``; from
        3,000 rows on ``"boosting"``, ``"linear"`` and ``"rbf"``.
    time_limit : float or None, default=None
        Seconds that the fit may take. Within them base models are cut short or left out, and one warning names those
        left out. The first one is fitted in any case, with less time in two folds; another regressor of yours ends
        after one fold if there is no time for the others. A second pass is begun only if it can be expected to end in
        time. The model then depends on the speed of the machine.
    max_fits : int or None, default=None
        Most fits of arms, those of a second pass included. At least one is made.
    n_jobs : int, default=None
        Number of threads, over arms, and over rows that are predicted. The results are the same for any number.
    random_state : int, RandomState or None, default=None
        Seeds the trees, the subsamples and landmarks of large kernels and the folds of regressors given in `learners`.
    verbose : int, default=0
        If above 0, each fit of an arm is printed.

    Attributes
    ----------
    arms_ : list of (view name, learner)
        The arms. The view is "all views" for all of them side by side.
    arm_weights_ : ndarray of shape (n_arms,)
        Weight of each arm; 0 for one that does not count.
    estimators_ : list of list
        Fitted models of each arm; its value is their mean, in units of the target's spread and about its mean.
    leaderboard_ : data frame
        A row per arm, the best first: its view, learner, out-of-fold R² (``"r2"``), weight, number of fits, and number
        of rows that it learnt from.
    view_importances_ : ndarray of shape (n_views,)
        Share of each view in the spread of the out-of-fold values.
    outlier_share_ : float
        Estimated share of gross outliers in the target; 0 where residuals do not tell of any, or where counting them
        less made predictions clearly worse.
    outlier_probabilities_ : ndarray of shape (n_samples,)
        Probability of each training row's target to be one. NaN for rows of weight 0.
    out_of_sample_prediction_ : ndarray of shape (n_samples,)
        What models predict of each training row that were fitted neither on it nor on others of its group. NaN for rows
        of weight 0.
    out_of_sample_score_ : float
        R² of these, with outliers counting as little as they are believed.
    out_of_sample_metric_ : str
        ``"r2"``.
    out_of_sample_scores_ : dict of str to float
        ``"r2"``, ``"r2_all_rows"`` with all rows counting as given, and ``"mean_absolute_error"``.
    n_fits_ : int
        Number of fits of arms, in both passes, and of those that learn the size of residuals.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of `X` that each view has.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray
        Names of the columns, where `X` is a data frame.

    See Also
    --------
    FusionClassifier : The same for classes.
    ShareGradientBoostingRegressor : Boosted trees alone; also on Dask collections, files and GPUs.

    Notes
    -----
    ``"rbf"`` and ``"linear"`` are kernel ridges with exact leave-one-out values, ``"trees"`` are randomised trees with
    values by the trees that have not drawn a row. From 3,000 rows on, boosted trees, cross-fitted in five folds (from
    100,000 rows on three) and stopped early, join a linear ridge and one on 400 landmarks, both of all rows.

    A small fusion of ``"linear"`` and ``"trees"`` (from 3,000 rows on ``"boosting"``) learns the logarithm of the size
    of out-of-fold residuals. Over the spread that follows from it, residuals are taken for a mixture of a skewed,
    heavy-tailed core and a wide normal distribution. Where the latter is clearly there, a second pass weighs each row
    by its probability of being no outlier, and is kept unless the squared errors of all rows become clearly larger.
    Intervals are conformal in the same residuals.

    Examples
    --------
    >>> from fuselearn import FusionRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> X, X_test, y, y_test = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    >>> model = FusionRegressor(views={"person": slice(0, 4), "blood": slice(4, 10)}, random_state=0).fit(X, y)
    >>> model.score(X_test, y_test) > 0.3
    True
    >>> lower, upper = model.predict_interval(X_test, coverage=0.9).T
    >>> bool(((lower <= y_test) & (y_test <= upper)).mean() > 0.8)
    True
    """

    _calibration: NearestCalibration
    _intervals: PredictionIntervals
    _sizes: "FusionRegressor | None"

    def __init__(
        self,
        *,
        views: Views = None,
        learners: Any = "default",
        time_limit: float | None = None,
        max_fits: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.views = views
        self.learners = learners
        self.time_limit = time_limit
        self.max_fits = max_fits
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        groups: ArrayLike = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the arms, combine them, and judge the targets.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there. The built-in learners fill single gaps by the
            column's mean; a regressor in `learners` gets them as they are, and must take NaN. A gross outlier (1,000
            interquartile ranges away, and 100 times as far as any other) counts as the nearest other value; a warning
            names it. Rows have to be in memory: a Dask collection, paths of files and an array on a GPU are refused.
        y : array of shape (n_samples,)
            Number to predict of each row.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, in units of their mean. Rows of weight 0, or less than 1e-9 of the largest, take no
            part.
        groups : array of shape (n_samples,), default=None
            Rows that belong together, such as all pictures of a person, have the same entry: a number, a name. They
            are held out together, and count as one where intervals are calibrated and, as far as they go together,
            where outliers are looked for. None takes all rows for independent.
        checkpoint : path, default=None
            File that keeps the base models as they are fitted. If the process is killed, the same call goes on with
            them, to the same model. A file of other data or settings is refused; limits of time and fits may be
            changed.

        Returns
        -------
        self : FusionRegressor
            The fitted model.
        """
        budget = Budget(self.max_fits, self.time_limit)
        if checkpoint is not None:
            check_checkpoint(checkpoint)
        data = self._read(X, y, sample_weight, groups)
        by_sums = are_many(len(data))
        check_view_names(data.names)
        learners = resolve_learners(self.learners, 0, len(data), by_sums=by_sums)
        if sample_weight is not None:
            check_learners_take_weights(learners)
        seed, log = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)), None
        if checkpoint is not None:
            seed, log = open_log(checkpoint, self, learners, data, seed)
        # One thread for each matrix product: the bits of a sum depend on how many share it.
        with single_threaded_blas(), Threads(effective_n_jobs(self.n_jobs)) as threads:
            result = self._fitted(data, learners, seed, budget, threads, by_sums, log)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        self._publish(data, result, by_sums)
        if log is not None:
            log.finish()
        budget.warn()
        return self

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
        return self._in_parts(self._new_table(X), self._predicted)

    def predict_interval(self, X: TableLike, coverage: float = 0.9) -> FloatArray:
        """Return an interval for the number of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The rows.
        coverage : float, default=0.9
            Share of rows whose number is to be in its interval, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends. For rows like the training rows, with the same views missing, the number is in the
            interval in about as many cases as asked for, and as often below it as above; after a fit with `groups`, for
            a row of a new group. Where the target has gross outliers (`outlier_share_`), that is the coverage of
            numbers that are none. Fewer than 2 / (1 − coverage) − 1 training rows with the views of a row are too few
            for that, and a warning says so.
        """
        if isinstance(coverage, bool) or not isinstance(coverage, int | float | np.number) or not 0 < coverage < 1:
            raise ValueError(f"coverage must be a number between 0 and 1, such as 0.9; got {coverage!r}.")
        coverage, patterns = float(coverage), set[int]()
        work = partial(self._predicted_interval, coverage=coverage, patterns=patterns)
        intervals = self._in_parts(self._new_table(X), work)
        self._intervals.warn_of_few_rows(patterns, coverage)
        return intervals

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None) -> float:
        """Return R², the share of the variance of the target that is explained.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : array of shape (n_samples,)
            Their targets.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; None for equal weights.

        Returns
        -------
        float
            R².
        """
        return super().score(X, to_host(y), to_host(sample_weight))

    def validate(self) -> None:
        """Refuse a fusion, read from a file, whose base models, views and intervals do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The fusion would read columns, or give values, that it was not fitted on.
        """
        check_views(self)
        if "estimators_" not in vars(self):
            return
        check_arms(self, 1)
        if vars(self).get("out_of_sample_metric_") != R2:
            raise ValueError(f"it has a score that is not {R2!r}")
        check_number(self, "outlier_share_", least=0.0)
        calibration = check_part(self, "_calibration", NearestCalibration)
        if calibration.patterns.shape[1] != len(self.view_names_) or len(calibration.log_prior) != 1:
            raise ValueError("it has lines of other views")
        intervals = check_part(self, "_intervals", PredictionIntervals)
        if len(intervals.residuals) != len(calibration.patterns) + 1:
            raise ValueError("it has intervals of other patterns of views than lines")
        self._check_sizes(intervals.spread.reads_sizes)

    def _check_sizes(self, wanted: bool) -> None:
        """Refuse a fusion of sizes of residuals that is of other views, or missing where intervals follow from it."""
        sizes = vars(self).get("_sizes")
        if not wanted and sizes is None:
            return
        if not wanted or type(sizes) is not FusionRegressor or vars(sizes).get("_sizes") is not None:
            raise ValueError("it has intervals by sizes of residuals, but not what predicts these")
        same = len(sizes.view_columns_) == len(self.view_columns_) and sizes.n_features_in_ == self.n_features_in_
        if not same or not all(map(np.array_equal, sizes.view_columns_, self.view_columns_)):
            raise ValueError("it has sizes of residuals of other views")

    def _read(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike, groups: ArrayLike) -> RegressionData:
        """Check the settings, and return the rows that count."""
        check_jobs(self.n_jobs)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if self.max_fits is not None:
            check_count("max_fits", self.max_fits)
        check_count("verbose", self.verbose, least=0)
        check_in_memory(X, "FusionRegressor", "ShareGradientBoostingRegressor")
        data = read_regression_data(
            self,
            *map(to_host, (X, y, sample_weight, groups)),
            negligible_weight=NEGLIGIBLE_WEIGHT,
            drop_unused=True,
            clip_outliers=True,
        )
        if len(data) < LEAST_ROWS:
            raise ValueError(
                f"FusionRegressor needs at least {LEAST_ROWS} rows with a positive weight; got n_samples={len(data)}."
            )
        # Groups of one row each are what None means, which is faster.
        grouped = data.groups is not None and data.groups.max() + 1 < len(data)
        return replace(data, groups=data.groups if grouped else None)

    def _fitted(
        self,
        data: RegressionData,
        learners: Learners,
        seed: int,
        budget: Budget,
        threads: Threads,
        by_sums: bool,
        log: FusionLog | None,
    ) -> RegressionResult:
        """Return what is fitted to the rows, by sums where they are many."""
        report = partial(progress.report, self, printed=self.verbose > 0)
        if not by_sums:
            return fit_few_rows(data, learners, seed, budget, threads, report, log)
        options = FusionOptions(learners, np.zeros(1), None, False, seed, budget, report)
        return fit_many_rows(data, options, threads, log)

    def _publish(self, data: RegressionData, result: RegressionResult, by_sums: bool) -> None:
        """Set the fitted attributes."""
        n_arms = len(result.arms)
        self._by_sums = by_sums
        self.view_names_, self.view_columns_ = data.names, data.columns
        assert data.ranges is not None  # the table is in memory
        self._ranges = data.ranges
        self.arms_ = [(view_name, learner) for _, view_name, learner, _ in result.arms]
        self._arm_columns = [(view, columns) for view, _, _, columns in result.arms]
        self.arm_weights_, self.estimators_ = result.weights, result.models
        self._arm_rows, self._arm_fits, self._complete_only = result.learnt, result.arm_fits, result.complete_only
        self._arm_offsets = np.zeros((n_arms, 1))
        self._arm_scores, self.view_importances_ = result.arm_scores, result.importances
        self._calibration, self._intervals = result.calibration, result.intervals
        self.outlier_share_ = result.outliers.share
        self.outlier_probabilities_ = data.over_all_rows(result.outliers.probabilities)
        self.out_of_sample_prediction_ = data.over_all_rows(result.rows.predicted)
        self.out_of_sample_metric_ = R2
        believed = data.weights * (1 - result.outliers.probabilities)
        targets, predicted = data.target[:, None], result.rows.predicted[:, None]
        unit = np.abs(targets).max() or 1.0  # squares of very large or small numbers are none
        self.out_of_sample_scores_ = {
            R2: explained_share(targets / unit, predicted / unit, believed),
            "r2_all_rows": explained_share(targets / unit, predicted / unit, data.weights),
            "mean_absolute_error": float(believed @ np.abs(targets - predicted)[:, 0] / believed.sum()),
        }
        self.out_of_sample_score_ = self.out_of_sample_scores_[R2]
        self.n_fits_ = result.n_fits
        self._sizes = None
        if result.sizes is not None:
            views = dict(zip(data.names, data.columns))
            self._sizes = FusionRegressor(views=views, learners=list(SIZE_LEARNERS), n_jobs=self.n_jobs)
            sizes = sizes_of(result.rows, data.target, believed)
            self._sizes._publish(replace(data, target=sizes), result.sizes, by_sums)
        note_features(self, data.features)

    def _new_table(self, X: TableLike) -> FloatArray:
        """Return new rows, checked."""
        check_is_fitted(self)
        check_in_memory(X, "FusionRegressor", "ShareGradientBoostingRegressor")
        return read_new_rows(self, to_host(X))

    def _predicted(self, rows: NewRows) -> FloatArray:
        """Return what is predicted of some rows."""
        return self._decision_of_sum(*self._combined(rows), rows.present)

    def _decision_of_sum(self, values: FloatArray, covered: BoolArray, present: BoolArray) -> FloatArray:
        """Return predicted numbers from sums of the arms' values."""
        return self._calibration.logits(values, covered, present)[:, 0]

    def _predicted_interval(self, rows: NewRows, coverage: float, patterns: set[int]) -> FloatArray:
        """Return intervals of some rows, and note their patterns of views."""
        predicted = self._predicted(rows)
        used = np.flatnonzero(self.arm_weights_ > 0).tolist()
        values = np.array([self._arm_values(rows, arm)[:, 0] for arm in used]).reshape(len(used), len(predicted))
        covered = ~np.isnan(values).all(axis=0) & rows.present.any(axis=1)
        disagreement = self._intervals.spread.unit * disagreement_of(values, self.arm_weights_[used])
        pattern_of = np.where(covered, self._calibration.contained_pattern_of(rows.present), -1)
        patterns.update(np.unique(pattern_of).tolist())
        missing = ~rows.present @ self.view_importances_
        sizes = np.zeros(len(predicted)) if self._sizes is None else self._sizes._predicted(rows)
        return self._intervals(SpreadRows(predicted, disagreement, missing, sizes), pattern_of, coverage)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of the estimator for scikit-learn; NaN is allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
