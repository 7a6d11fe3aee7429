"""The fitted side of a fusion: what it holds, how it predicts, and what it says of its labels and arms.

The decision on a row is made in three steps, each linear in the one before:

- the values of the arms that have their view are added up with the arms' weights: after a fit on few rows as if the
  others agreed with them (`weighted_sum`), on many rows as they are (`plain_sum`);
- the calibration for the views that the row has makes logits z of the sum, and probabilities softmax(z);
- decision values are z_k + ln w_k, with w the class weights. `predict` takes the largest: argmax of w_k · p_k.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fuselearn.arguments import check_count
from fuselearn.consensus.label_consensus import suspect_labels
from fuselearn.data import TrainingData, note_features, read_new_rows
from fuselearn.data.class_weights import ClassWeight
from fuselearn.data.view_table import Features, row_location, to_host
from fuselearn.fusion.arm_weights import OutOfFoldValues, by_class
from fuselearn.fusion.base_models import Arm
from fuselearn.fusion.base_models.absent_views import ViewImputer
from fuselearn.fusion.base_models.catalogue import check_arms
from fuselearn.fusion.calibration_and_scores import (
    ACCURACY,
    BALANCED_ACCURACY,
    Assessment,
    decision_weights,
    values_to_calibrate,
)
from fuselearn.fusion.fused_arms import FusedArms, NewRows
from fuselearn.fusion.fusion_run import FusionResult
from fuselearn.fusion.listed_suspects import ListedSuspects
from fuselearn.fusion.passes import PassResult
from fuselearn.fusion.pattern_calibration import PatternCalibration
from fuselearn.fusion.pattern_values import values_of_filled_rows
from fuselearn.numeric.votes import codes_of, ties_for_largest
from fuselearn.persistence.validation import check_array, check_classes, check_index, check_part, check_views
from fuselearn.records import Records
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray, TableLike

if TYPE_CHECKING:
    from fuselearn.backends.partitioned.dask_collections import PredictMethod


AS_LONG_AS_THE_DATA = ("posterior_", "out_of_sample_decision_")
"""Attributes that a model of rows in partitions does not have."""


class FusionPrediction(ClassifierMixin, FusedArms):
    """Base of a fusion: predicts from `estimators_`, `arm_weights_`, the calibration and `class_weights_`."""

    class_weight: ClassWeight
    classes_: AnyArray
    class_prior_: FloatArray
    class_weights_: FloatArray
    label_columns_: list[str]
    noise_rates_: FloatArray
    posterior_: FloatArray
    _index: AnyArray | None = None  # models in files of earlier versions have none
    out_of_sample_decision_: FloatArray
    out_of_sample_score_: float
    out_of_sample_scores_: dict[str, float]
    _out_of_fold: OutOfFoldValues | None = None  # models in files of earlier versions have none

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return decision values of the classes: logits of `predict_proba`, plus the logarithms of the class weights.

        Parameters
        ----------
        X : array, data frame, CUDA array, Dask collection or paths of Parquet files
            The rows. Those of files are read some at a time; their columns are found by name.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            The difference of the two: positive means ``classes_[1]``. With more classes of shape (n_samples,
            n_classes). For a row without any view the logits are those of the prior. Of a Dask collection it is a
            collection like it, computed when it is asked for.
        """
        return self._predicted(X, "decision_function", self._decide)

    def predict(self, X: TableLike) -> AnyArray:
        """Predict the most probable class or, with `class_weight`, that of the largest weight times probability.

        Parameters
        ----------
        X : array, data frame, CUDA array, Dask collection or paths of Parquet files
            The rows. Those of files are read some at a time; their columns are found by name.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels. For a row without any view the probabilities are the prior. Of a Dask collection it is a
            collection like it, computed when it is asked for.
        """
        return self._predicted(X, "predict", lambda logits: self.classes_[codes_of(self._decide(logits))])

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return calibrated class probabilities, for classes as frequent as they are; `class_weight` has no part in it.

        Parameters
        ----------
        X : array, data frame, CUDA array, Dask collection or paths of Parquet files
            The rows. Those of files are read some at a time; their columns are found by name.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`. A row without any view gets the prior. Of a Dask collection it is
            a collection like it, computed when it is asked for.
        """
        return self._predicted(X, "predict_proba", partial(softmax, axis=1))

    def suspects(self, n: int | None = None) -> Records:
        """Return training labels that are probably wrong, the most suspect first.

        Parameters
        ----------
        n : int or None, default=None
            Number of labels. None gives all labels that are more probably wrong than right. Of many rows in Dask
            collections or files, the 10,000 most suspect labels are listed.

        Returns
        -------
        Records
            A table with one row per label; iterating gives records, `to_pandas()` a data frame. Columns are ``"row"``,
            the row number in `X`; ``"index"``, where `X` was a pandas data frame with an index other than 0, 1, 2 …;
            ``"column"``, the label column, ``"y"`` or the name of the view; ``"given"``, the label; ``"proposed"``, the
            most probable other class; ``"probability"``, that the label is wrong.
        """
        check_is_fitted(self)
        if n is not None:
            check_count("n", n, least=0)
        if self._listed_suspects is not None:
            return self._listed_suspects.records(self.classes_, self.label_columns_, n)
        return suspect_labels(self.posterior_, self._given_codes, self.classes_, self.label_columns_, n, self._index)

    def validate(self) -> None:
        """Refuse a fusion, read from a file, whose base models, views and classes do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The fusion would read columns, or give values, that it was not fitted on.
        """
        check_views(self)
        if "estimators_" not in vars(self):
            return
        n_classes = check_classes(self)
        n_arms = check_arms(self, 1 if n_classes == 2 else n_classes)
        if self.arm_matrices_ is not None:
            check_array(self, "arm_matrices_", np.float64, (n_arms, n_classes, n_classes))
            if n_classes == 2 or not self._by_sums:
                raise ValueError("it has matrices between classes that only a fusion of many rows and classes has")
        if not (check_array(self, "class_weights_", np.float64, (n_classes,)) > 0).all():
            raise ValueError("it has class weights that are not above 0")
        if vars(self).get("out_of_sample_metric_") not in (ACCURACY, BALANCED_ACCURACY):
            raise ValueError(f"it has a score that is neither {ACCURACY!r} nor {BALANCED_ACCURACY!r}")
        if vars(self).get("_listed_suspects") is not None:
            check_part(self, "_listed_suspects", ListedSuspects).check(n_classes, len(self.label_columns_))
        else:
            n_rows = len(check_array(self, "posterior_", np.float64, (None, n_classes), finite=False))
            check_array(
                self, "_given_codes", np.integer, (n_rows, len(self.label_columns_)), at_least=-1, below=n_classes
            )
            check_index(self, n_rows)
        calibration = check_part(self, "_calibration", PatternCalibration)
        if calibration.patterns.shape[1] != len(self.view_names_) or len(calibration.log_prior) != n_classes:
            raise ValueError("it has a calibration of other views or classes")
        if self._out_of_fold is not None:
            values = check_part(self, "_out_of_fold", OutOfFoldValues)
            if (values.present.shape[1], values.targets.shape[1]) != (len(self.view_names_), n_classes):
                raise ValueError("it has out-of-fold values of other views or classes")

    def _predicted(self, X: TableLike, method: "PredictMethod", of_logits: Callable[[FloatArray], AnyArray]) -> Any:
        """Return what follows from the logits of rows, wherever these are; a method does it for some of the rows."""
        return self._of_rows(X, method, lambda rows: of_logits(self._logits_of(rows)))

    def _of_rows(
        self, X: TableLike, method: "PredictMethod", work: Callable[[NewRows], AnyArray], **options: Any
    ) -> Any:
        """Return what follows from rows, wherever these are; a method with options does it for some of the rows."""
        check_is_fitted(self)
        location = row_location(X)
        if location == "dask":
            from fuselearn.backends.partitioned.dask_collections import predict_lazily

            return predict_lazily(self, method, X, **options)
        if location == "files":
            from fuselearn.backends.partitioned.parquet import map_files

            return map_files(X, self, lambda table: self._in_parts(table, work))
        if location == "gpu" and self._by_sums:
            from fuselearn.fusion.gpu_fusion import GpuNewRows

            return work(GpuNewRows.read(self, X))
        return self._in_parts(read_new_rows(self, to_host(X)), work)

    def _logits(self, table: FloatArray) -> FloatArray:
        """Return z of rows in memory, of shape (n_rows, n_classes); softmax(z) are the probabilities."""
        return self._in_parts(table, self._logits_of)

    def _logits_of(self, rows: NewRows) -> FloatArray:
        """Return z of rows, wherever they are."""
        values, covered = self._combined(rows)
        return self._calibration.logits(by_class(values), covered, rows.present)

    def _decision_of_sum(self, values: FloatArray, covered: BoolArray, present: BoolArray) -> FloatArray:
        """Return decision values from sums of the arms' values."""
        return self._decide(self._calibration.logits(by_class(values), covered, present))

    def _decide(self, logits: FloatArray) -> FloatArray:
        """Return decision values from logits: one column for two classes."""
        decision = logits + np.log(self.class_weights_)
        # With balanced weights, all classes are equal for a row without any view; rounding must not decide.
        decision = np.where(ties_for_largest(decision), decision.max(axis=1, keepdims=True), decision)
        return decision[:, 1] - decision[:, 0] if decision.shape[1] == 2 else decision

    def _publish(
        self,
        data: TrainingData,
        arms: list[Arm],
        result: PassResult,
        calibration: PatternCalibration,
        assessment: Assessment,
        imputer: ViewImputer | None,
    ) -> None:
        """Set the fitted attributes."""
        self._by_sums, self._imputer = False, imputer
        self._publish_data(data)
        self.arms_ = [(arm.view_name, arm.learner) for arm in arms]
        self.arm_weights_, self.arm_matrices_ = result.weights, None
        self.estimators_ = result.models
        self.noise_rates_ = result.noise_rates
        self._arm_columns = [(arm.view, arm.columns) for arm in arms]
        self._arm_rows = np.array([arm.n_learnt for arm in arms])
        self._arm_fits = np.array([len(models) for models in result.models])
        self._complete_only = np.full(len(arms), imputer is None)
        self._arm_offsets = np.repeat(result.target_means[None], len(arms), axis=0)
        self._publish_scores(calibration, assessment)
        values, covered = values_to_calibrate(result, arms, calibration, data.blocks.present)
        self._publish_rows(data, calibration.logits(values, covered, data.blocks.present), result.posterior)
        # What training rows would be predicted with fewer views.
        view_of, n_views = np.array([-1 if arm.view is None else arm.view for arm in arms]), len(data.names)
        weighted = result.weights[:, None, None] * np.nan_to_num(result.scored_values)
        sums = np.array([weighted[view_of == view].sum(axis=0) for view in (*range(n_views), -1)], dtype=np.float32)
        self._out_of_fold = OutOfFoldValues(
            data.blocks.present,
            result.class_targets.astype(np.float32),
            data.weights,
            np.arange(len(data)) if data.groups is None else data.groups,
            sums[:-1],
            np.array([result.weights[view_of == view].sum() for view in (*range(n_views), -1)]),
            np.ones((1, n_views), dtype=bool),
            sums[-1:],
            joint_everywhere=False,
            scaled=True,
            own=None,
        )
        if result.filled is not None and self._out_of_fold.view_weights[-1] > 0:
            self._out_of_fold = values_of_filled_rows(self._out_of_fold, result.filled, result, calibration)
        note_features(self, data.features)

    def _publish_sums(self, data: "FusionFacts", result: FusionResult) -> None:
        """Set the fitted attributes after a fit on many rows, other than those that are as long as the data."""
        self._by_sums, self._imputer = True, None
        self._publish_data(data)
        arms = result.arms
        self.arms_ = [(arm.view_name, arm.learner) for arm in arms]
        # Of two classes, each has minus or plus half of the log-odds.
        self.arm_weights_ = result.weights / 2 if len(data.classes) == 2 else result.weights
        self.arm_matrices_ = result.matrices
        self.estimators_ = [arm.models for arm in arms]
        self.noise_rates_ = result.noise_rates
        self._arm_columns = [(arm.view, arm.columns) for arm in arms]
        self._arm_rows, self._arm_fits = np.array([arm.n_learnt for arm in arms]), result.arm_fits
        self._complete_only = np.array([arm.complete_only for arm in arms])
        self._arm_offsets = np.array([arm.offset for arm in arms])
        self._publish_scores(result.calibration, result.assessment)
        self._out_of_fold = result.out_of_fold
        note_features(self, data.features)

    def _publish_rows(self, data: TrainingData, logits: FloatArray, posterior: FloatArray) -> None:
        """Set the attributes that are as long as the data."""
        self.out_of_sample_decision_ = data.over_all_rows(self._decide(logits))
        self.posterior_ = data.over_all_rows(posterior)
        # For `suspects`.
        self._given_codes, self._index = data.over_all_rows(data.codes, fill=-1), data.index
        self._listed_suspects: ListedSuspects | None = None

    def _publish_suspects(self, suspects: ListedSuspects) -> None:
        """Set the labels that are probably wrong in place of what is as long as the data."""
        self._listed_suspects = suspects
        for name in (*AS_LONG_AS_THE_DATA, "_given_codes", "_index"):
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Say why a model of rows in partitions lacks what would be as long as these."""
        if name in AS_LONG_AS_THE_DATA and vars(self).get("_listed_suspects") is not None:
            raise AttributeError(
                f"This {type(self).__name__} has no {name}: it was fitted on rows in partitions, and {name} would be "
                "as long as these. suspects() lists the most suspect labels; to get it, fit on rows in memory."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _publish_data(self, data: "FusionFacts") -> None:
        """Set the attributes of views and classes."""
        self.classes_, self.label_columns_ = data.classes, data.label_columns
        self.view_names_, self.view_columns_ = data.names, data.columns
        assert data.ranges is not None  # the table is not on a GPU
        self._ranges = data.ranges

    def _publish_scores(self, calibration: PatternCalibration, assessment: Assessment) -> None:
        """Set the calibration, and what out-of-fold values say of the model."""
        self._calibration, self.class_prior_ = calibration, np.exp(calibration.log_prior)
        self.class_weights_ = decision_weights(self.class_weight, self.classes_, self.class_prior_)
        self.out_of_sample_metric_, self.out_of_sample_scores_ = assessment.metric, assessment.scores
        self.out_of_sample_score_ = assessment.scores[assessment.metric]
        self._arm_scores, self.view_importances_ = assessment.arm_scores, assessment.view_importances

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of the estimator for scikit-learn; NaN is allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class FusionFacts(Protocol):
    """What a model keeps of its training data, wherever they are."""

    @property
    def names(self) -> list[str]:
        """Names of the views."""

    @property
    def columns(self) -> list[IntArray]:
        """Columns of each view."""

    @property
    def classes(self) -> AnyArray:
        """The classes."""

    @property
    def label_columns(self) -> list[str]:
        """Names of the label columns."""

    @property
    def features(self) -> Features:
        """Columns of X."""

    @property
    def ranges(self) -> FloatArray | None:
        """Ordinary ranges of the columns."""
