"""The fusion to start with: several learners on every view, weighted by their out-of-fold values."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from fuselearn import progress
from fuselearn.arguments import check_count, check_flag, check_jobs, check_positive, check_random_state
from fuselearn.backends.partitioned.partitioned_data import open_source
from fuselearn.boosting.checkpoint import check_checkpoint
from fuselearn.data import TrainingData, read_training_data
from fuselearn.data.class_weights import ClassWeight, given_class_weights
from fuselearn.data.labels import check_two_classes
from fuselearn.data.training_data import targets_of
from fuselearn.data.view_table import row_location, to_host
from fuselearn.fusion.base_models.absent_views import fit_view_imputer
from fuselearn.fusion.base_models.catalogue import (
    Learners,
    are_many,
    check_learners_take_weights,
    check_view_names,
    make_arms,
    resolve_learners,
)
from fuselearn.fusion.budget import Budget, FewRowsPlan
from fuselearn.fusion.calibration_and_scores import MOST_PATTERNS, Assessment, assess, fit_pattern_calibration
from fuselearn.fusion.filled_views import FilledRows, predict_filled_rows
from fuselearn.fusion.fusion_log import FusionLog, open_log
from fuselearn.fusion.fusion_options import FusionOptions
from fuselearn.fusion.local_fusion import fit_in_memory
from fuselearn.fusion.partitioned_fusion import fit_in_partitions
from fuselearn.fusion.partitioned_fusion_data import PartitionedFusionData, read_partitioned_fusion
from fuselearn.fusion.passes import ArmRuns, PassResult, run_passes
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.fusion.pattern_values import listed_patterns
from fuselearn.fusion.view_acquisition import AcquiringViews
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.numeric.threads import Threads
from fuselearn.typing import ArrayLike, RandomState, TableLike, Views

FEWEST_PATTERNS, FILLING_SHARE, FINISHING_SHARE = 2, 0.3, 0.8
"""Within a time limit: patterns of views that rows are calibrated by in any case, and the shares of the time left that
predicting rows with fewer views, and calibrating and assessing by more patterns, may take."""
NEGLIGIBLE_WEIGHT = 1e-9
"""A row that counts no more than this share of the heaviest one counts nothing: rounding would be as large."""


def _fill(
    result: PassResult,
    fill: Callable[..., FilledRows | None],
    data: TrainingData,
    plan: FewRowsPlan,
) -> PassResult:
    """Return a result with predictions of rows that have fewer views, for as many patterns as there is time for."""
    patterns = listed_patterns(data.blocks.present)
    # All views first, then fewer and fewer.
    order = np.arange(len(patterns)) if not plan.is_limited else np.argsort(-patterns.sum(axis=1), kind="stable")
    filled = plan.as_many(
        lambda n: fill(result, patterns=patterns[np.sort(order[:n])]), 1, len(patterns), FILLING_SHARE
    )
    return replace(result, filled=filled)


class FusionClassifier(AcquiringViews):
    """Fuse all views with several learners each, weighted by their out-of-fold values.

    Every view, and all views side by side, are tried with every learner: these pairs are the arms. An arm has
    out-of-fold values of every training row. Arms whose repetition pays are fitted again. Weights of the arms are
    non-negative and shrunk to the plain average, so that they differ only where the data says so. The out-of-fold
    values of the ensemble are then compared with the labels: this gives calibrated probabilities, the share of wrong
    labels in every label column, and labels to learn from once more that are less wrong.

    Nothing has to be chosen. Views may be missing in any row, labels may be wrong, views or annotators may each have
    labels of their own, classes may be many and of different size. Rows are taken to be independent: where several are
    of one person or place and the model is to work for others, give `groups` to `fit`. Otherwise out-of-fold values are
    too good to be true, and so are the weights and scores that follow from them.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A selector is what
        :class:`~sklearn.compose.ColumnTransformer` takes. None is one view of all columns.
    learners : "default", str, classifier, list or dict, default="default"
        Learners that are tried on every view: names of built-in learners (``"svm"`` for two classes, ``"rbf"``,
        ``"linear"``, ``"trees"``, ``"boosting"``) and scikit-learn classifiers, which are cross-fitted in five folds. A
        dict of name to classifier names them. One whose ``fit`` takes no ``sample_weight`` counts all rows alike, also
        those whose labels contradict each other. The default is a kernel machine (``"svm"`` for two classes and up to
        1,000 rows, else ``"rbf"``), ``"linear"`` and ``"trees"``; from 3,000 rows on ``"boosting"``, ``"linear"`` and
        ``"rbf"``.
    class_weight : None, "balanced" or dict of class to weight, default=None
        Weights of the classes in decisions: `predict` takes the class with the largest weight times probability. None
        is the most probable class. With "balanced", the weights are 1 / `class_prior_`, so that rare and frequent
        classes are equally important, which makes the balanced accuracy high. Classes that a dict leaves out weigh 1.
        Fitting and `predict_proba` do not depend on it.
    consensus : bool, default=True
        Whether labels may be wrong. If False they are taken as they are, which is quicker; use it when they are known
        to be right.
    time_limit : float or None, default=None
        Seconds that the fit may take. Within them base models are cut short or left out, and one warning names those
        left out. The first one is fitted in any case, with less time in two folds; another classifier of yours ends
        after one fold if there is no time for the others. A second pass is begun only if it can be expected to end in
        time. The model then depends on the speed of the machine.
    max_fits : int or None, default=None
        Most fits of arms, those of the second pass included. At least one is made; where it is less than twice the
        number of arms there is no second pass.
    n_jobs : int, default=None
        Number of threads, over arms, and over rows that are predicted. The results are the same for any number.
    random_state : int, RandomState or None, default=None
        Seeds the trees, the subsamples and landmarks of large kernels and the folds for classifiers given in
        `learners`.
    verbose : int, default=0
        If above 0, each fit of an arm is printed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, in sorted order.
    arms_ : list of (view name, learner)
        The arms. The view is "all views" for all of them side by side.
    arm_weights_ : ndarray of shape (n_arms,)
        Weight of each arm; 0 for one that does not count.
    arm_matrices_ : ndarray of shape (n_arms, n_classes, n_classes) or None
        On many rows of more than two classes, where it pays: what multiplies the values of each arm in place of its
        weight. An entry (k, l) is what the arm's value for class k adds to the score of class l.
    estimators_ : list of list
        Fitted models of each arm; its value is their mean. On many rows, an arm of weight 0 has none.
    leaderboard_ : data frame or Records
        A row per arm, the best first: its view, learner, out-of-fold score of its own decisions (in the column
        ``"accuracy"`` or ``"balanced_accuracy"``, see `out_of_sample_metric_`), weight, number of fits, and number of
        rows that it learnt from.
    view_importances_ : ndarray of shape (n_views,)
        Share of each view in the spread of the out-of-fold values. An arm of all views is shared out among them, by the
        combination of the same learner's values of single views that comes nearest to its own.
    noise_rates_ : ndarray of shape (n_label_columns,)
        Estimated share of wrong labels in each label column. With one column, classes that overlap and labels that are
        wrong are hard to distinguish: read it as the share of labels that the views contradict.
    label_columns_ : list of str
        ``["y"]``, or the names of the views whose labels they are.
    posterior_ : ndarray of shape (n_samples, n_classes)
        Probability of the true class of each training row, by values and labels. NaN for a row of weight 0 or without
        any label. Many rows in Dask collections or files have neither this nor `out_of_sample_decision_`, which would
        be as long as the data; `suspects` lists their most suspect labels.
    out_of_sample_decision_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        `decision_function` of the training rows, by models that were fitted neither on them nor on others of their
        group. With consensus, the labels that other rows were fitted with depend a little on a row's own label; so do
        the weights of the arms, the calibration and, on many rows, the number of rounds of boosted trees.
    out_of_sample_score_ : float
        Accuracy on training rows (with ``class_weight="balanced"``, balanced accuracy), by models of the first pass
        that were fitted neither on them nor on others of their group, against the labels given (where columns differ,
        the most frequent one).
    out_of_sample_metric_ : str
        Which of the two it is: ``"accuracy"`` or ``"balanced_accuracy"``.
    out_of_sample_scores_ : dict of str to float
        Both of them, and ``"roc_auc"``, the area under the ROC curve of the probabilities (mean over the classes, each
        against all others).
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that probabilities are calibrated for: of the labels or, where wrong labels explain them
        clearly better, of the true classes by estimate (on many rows, only where there are several label columns). A
        row without any view gets it.
    class_weights_ : ndarray of shape (n_classes,)
        Weights of the classes in decisions, by `class_weight`.
    n_fits_ : int
        Number of fits of arms; with a second pass, in both.
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
    LabelConsensus : Wrong labels only, with a classifier of your choice.
    ShareBoostClassifier : Boosting with weak learners, which records what each round added.

    Notes
    -----
    All classes count alike in the fits of arms and in their weights, however rare they are; the calibration then takes
    them as frequent as they are. ``"svm"`` is the mean of support vector machines with C = 0.1, 1 and 10 on at most
    1,000 rows, weighted by their likelihood of out-of-fold labels (in ten folds, above 500 rows in five). The others
    minimise squares: a label that is wrong at random shrinks what they learn, but does not turn it. ``"rbf"`` and
    ``"linear"`` are kernel machines (``"rbf"`` above 600 rows with 400 landmarks, ``"linear"`` on 1,000 rows where a
    view has more columns than that) whose leave-one-out values are exact; ``"trees"`` are randomised trees on as many
    rows drawn with replacement, with values by the trees that have not drawn a row. A view that fewer than ten rows
    have is left out.

    Values of an arm count by the share of the labels' variance that they explain, shrunk to that of all arms as far as
    it may differ by chance. Weights differ from their plain average only where they are better by a standard error;
    where labels of two classes are wrong at the rate ρ, by 1 / (1 − 2ρ)² of them. Where 5 % or more of the labels look
    wrong there is a second pass; of several columns, 5 % of the votes, in all rows or in those of some view.

    `predict_proba` is softmax(z), with z linear in the values of the arms, and `decision_function` is z_k + ln w_k with
    w the class weights; for two classes, the difference. In :class:`ShareGradientBoostingClassifier` and in most of
    scikit-learn `class_weight` weighs the training rows instead, which changes the probabilities, too.

    Values of rows whose views are partly missing are those of the arms that have a value, as if the others agreed.
    Where training rows lack views, arms of all views have absent ones filled in, and count by the share of the views
    that a row has, times the multiple by which training rows with as many views are predicted best.

    From 3,000 rows on, all of this is done by sums over blocks of rows. Gradient boosted trees, cross-fitted in folds
    that all arms share and stopped early by the fold that is held out, join a linear ridge and one on 400 landmarks,
    both of all rows; the models of the folds are averaged. Classes count as they are. Weights are non-negative and make
    the log loss of the labels on out-of-fold values least; arms that hardly lower it have weight 0. With more than two
    classes, matrices take the place of weights where these pay (`arm_matrices_`). There is no second pass. Other
    learners are fitted on a subsample of 32,768 rows, ``"svm"`` of 1,000.

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
        views: Views = None,
        learners: Any = "default",
        class_weight: ClassWeight = None,
        consensus: bool = True,
        time_limit: float | None = None,
        max_fits: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.views = views
        self.learners = learners
        self.class_weight = class_weight
        self.consensus = consensus
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
        view_labels: ArrayLike = None,
        groups: ArrayLike = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the arms, combine them, and judge the labels.

        Where the rows are decides where the fit runs: those of a Dask collection stay on the workers of the current
        client, Parquet files may be larger than memory, and many rows on a GPU stay there. The model is the same.

        Parameters
        ----------
        X : array, data frame, CUDA array, Dask collection or paths of Parquet files, of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there. The built-in learners fill single gaps by the
            column's mean; a classifier in `learners` gets them as they are, and must take NaN. A gross outlier (1,000
            interquartile ranges away, and 100 times as far as any other) counts as the nearest other value, as it does
            in new rows; a warning names it.
        y : array of shape (n_samples,)
            The labels. With files, the name of their column; so are `sample_weight` and `groups`, and `view_labels` is
            a list of names. With a Dask collection, a collection or an array.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, in units of their mean, wherever rows are counted: in fitting, calibrating and judging
            labels. Rows of weight 0, or less than 1e-9 of the largest, take no part, but for their classes, which are
            in `classes_`.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row; NaN or None where it gave none. With it, `y` supplies `classes_` only.
            For several annotators of one table, give each a view of all columns.
        groups : array of shape (n_samples,), default=None
            Rows that belong together, such as all pictures of a person, have the same entry: a number, a name. They
            are held out together wherever arms are scored, weighted or calibrated, as is right for a model that is to
            predict new persons. None takes all rows for independent.
        checkpoint : path, default=None
            File that keeps the base models as they are fitted. If the process is killed, the same call goes on with
            them, to the same model. A file of other data or settings is refused; limits of time and fits, and
            `class_weight`, may be changed.

        Returns
        -------
        self : FusionClassifier
            The fitted model.
        """
        budget = Budget(self.max_fits, self.time_limit)
        if checkpoint is not None:
            check_checkpoint(checkpoint)
        data = self._read(X, y, sample_weight, view_labels, groups)
        n_rows = len(data)
        by_sums = are_many(n_rows)
        check_view_names(data.names)
        learners = resolve_learners(self.learners, len(data.classes), n_rows, by_sums=by_sums)
        if sample_weight is not None:
            check_learners_take_weights(learners)
        seed, log = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)), None
        if checkpoint is not None:
            seed, log = open_log(checkpoint, self, learners, data, seed)
        if isinstance(data, PartitionedFusionData) or by_sums:
            self._fit_by_sums(data, learners, seed, budget, log)
        else:
            votes = data.votes()
            targets = targets_of(votes)
            # Every class has the same total weight.
            totals = data.weights @ votes
            factors = votes @ np.divide(1.0, totals, out=np.zeros(len(totals)), where=totals > 0)
            row_weights = data.weights * (factors * data.weights.sum() / np.count_nonzero(totals))
            report = partial(progress.report, self, printed=self.verbose > 0)
            # One thread for each matrix product: the bits of a sum depend on how many share it.
            with single_threaded_blas(), Threads(effective_n_jobs(self.n_jobs)) as threads:
                plan, imputer = FewRowsPlan(budget), None
                if not data.blocks.present.all():
                    imputer = fit_view_imputer(data.blocks, data.groups, plan.may_fill)
                arms = make_arms(data.blocks, learners, row_weights, data.groups, data.classes, seed, imputer, plan)
                runs = ArmRuns(arms, row_weights, data.groups, threads, seed, plan, self.consensus, report, log)
                first, last = run_passes(runs, data, targets, row_weights, self.consensus, seed)
                if imputer is not None:
                    fill = partial(predict_filled_rows, arms=arms, data=data, imputer=imputer, threads=threads)
                    is_one, last = first is last, _fill(last, fill, data, plan)
                    first = last if is_one else _fill(first, fill, data, plan)

                def finish(most: int) -> tuple[PatternCalibration, Assessment]:
                    """Calibrate and assess, with patterns of views as frequent as these most."""
                    calibration = fit_pattern_calibration(last, arms, data, most)
                    return calibration, assess(first, last, arms, data, self.class_weight, most)

                calibration, assessment = plan.as_many(finish, FEWEST_PATTERNS, MOST_PATTERNS, FINISHING_SHARE)
            # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
            self._publish(data, arms, last, calibration, assessment, imputer)
            self.n_fits_ = runs.n_fits
        if log is not None:
            log.finish()
        budget.warn()
        return self

    def _fit_by_sums(
        self,
        data: TrainingData | PartitionedFusionData,
        learners: Learners,
        seed: int,
        budget: Budget,
        log: FusionLog | None,
    ) -> None:
        """Fit many rows, wherever they are."""
        report = partial(progress.report, self, printed=self.verbose > 0)
        options = FusionOptions(learners, data.classes, self.class_weight, self.consensus, seed, budget, report)
        with single_threaded_blas(), Threads(effective_n_jobs(self.n_jobs)) as threads:
            if isinstance(data, PartitionedFusionData):
                result, suspects = fit_in_partitions(data, options, threads, log)
                self._publish_sums(data, result)
                self._publish_suspects(suspects)
                self.n_fits_ = result.n_fits
                return
            fusion = fit_in_memory(data, options, threads, log)
        self._publish_sums(data, fusion.result)
        present = data.blocks.present
        logits = self._calibration.logits(fusion.scores, np.asarray(present.any(axis=1)), present)
        self._publish_rows(data, logits, fusion.posterior)
        self.n_fits_ = fusion.result.n_fits

    def _read(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        view_labels: ArrayLike = None,
        groups: ArrayLike = None,
    ) -> TrainingData | PartitionedFusionData:
        """Check the settings, and return the rows that count and have a label, with weights of mean 1.

        Many rows in partitions stay there.
        """
        self._check_settings()
        location, labels = row_location(X), (y, sample_weight, view_labels, groups)
        read = partial(
            read_training_data,
            self,
            optional_labels=True,
            negligible_weight=NEGLIGIBLE_WEIGHT,
            drop_unused=True,
            clip_outliers=True,
            class_weight=self.class_weight,
        )
        if location in ("dask", "files"):
            there = read_partitioned_fusion(
                self, open_source(location, X, *labels), negligible_weight=NEGLIGIBLE_WEIGHT
            )
            given_class_weights(self.class_weight, there.classes)
            if are_many(len(there)):
                return there
            data = there.collected()
        elif location == "gpu":
            data = self._read_on_gpu(read, X, *labels)
        else:
            data = read(X, *map(to_host, labels))
        check_two_classes(data.codes[data.codes >= 0], data.classes, "labels of view_labels")
        # Groups of one row each are what None means, which is faster.
        grouped = data.groups is not None and data.groups.max() + 1 < len(data)
        return replace(data, groups=data.groups if grouped else None)

    def _read_on_gpu(self, read: Callable[..., TrainingData], X: TableLike, *labels: ArrayLike) -> TrainingData:
        """Return rows on a GPU: many stay there, few come to the host."""
        from fuselearn.fusion.gpu_fusion import GPU_READER, labels_on_host

        labels = labels_on_host(X, *labels)
        if are_many(int(X.shape[0])):
            data = read(X, *labels, reader=GPU_READER)
            if are_many(len(data)):
                return data
        return read(to_host(X), *labels)

    def _check_settings(self) -> None:
        """Refuse settings that are wrong whatever the data."""
        check_jobs(self.n_jobs)
        check_flag("consensus", self.consensus)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if self.max_fits is not None:
            check_count("max_fits", self.max_fits)
        check_count("verbose", self.verbose, least=0)
