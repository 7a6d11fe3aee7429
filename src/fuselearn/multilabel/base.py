"""The part that the three ensembles share: training rounds, and predictions by weighted outputs of base models."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from numbers import Real
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn import progress
from fuselearn.arguments import check_count, check_flag, check_jobs, check_random_state
from fuselearn.backends.gpu.arrays import arrays_of
from fuselearn.backends.gpu.gpu_pool import GpuJointLoss
from fuselearn.backends.gpu.gpu_table import table_and_labels_to_host
from fuselearn.classifiers.adapter import keep_sklearn_config, takes_nan
from fuselearn.data import is_gpu_array, note_features, read_indicator_data
from fuselearn.data.view_table import check_in_memory, to_host
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.multilabel.pool import JointLoss, log_odds
from fuselearn.multilabel.ratios import check_ratio, choose_ratios
from fuselearn.multilabel.rbf_svc import RbfSVC
from fuselearn.multilabel.subspace_models import (
    Candidate,
    SubspaceTable,
    Trainer,
    base_estimator,
    fill_outputs,
    model_size,
    outputs,
)
from fuselearn.numeric.execution import Scratch, single_threaded_blas
from fuselearn.numeric.threads import Threads
from fuselearn.persistence.validation import check_array, check_integer, check_views
from fuselearn.typing import (
    AnyArray,
    ArrayLike,
    Classifier,
    FloatArray,
    IntArray,
    RandomState,
    TableLike,
    Views,
)

AnyJointLoss: TypeAlias = JointLoss | GpuJointLoss


class Member(NamedTuple):
    """A base model of the ensemble.

    Attributes
    ----------
    model : fitted classifier
    columns : intp ndarray
        Columns that it reads.
    source_label : int
        Label that it was learned on.
    weights : ndarray of shape (n_labels,)
        Weight of its output for each label.
    """

    model: Classifier
    columns: IntArray
    source_label: int
    weights: FloatArray


class BaseSubspaceEnsemble(ClassifierMixin, BaseEstimator):
    """Template of a multi-label classifier made of base models on random subspaces.

    A subclass owns its rounds (`_rounds`) and nothing else.
    """

    def __init__(
        self,
        estimator: Classifier | None = None,
        *,
        views: Views = None,
        n_estimators: int = 100,
        data_ratio: float | str = 0.2,
        feature_ratio: float | str = 0.1,
        pool_size: int | None = None,
        significance: float = 0.025,
        fit_intercept: bool | None = None,
        newton_steps: int = 1,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.n_estimators = n_estimators
        self.data_ratio = data_ratio
        self.feature_ratio = feature_ratio
        self.pool_size = pool_size
        self.significance = significance
        self.fit_intercept = fit_intercept
        self.newton_steps = newton_steps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Training rows. Of an array of CuPy, or one of torch on a GPU, candidates are evaluated there; base models
            are still learned on the host.
        y : array, data frame or sparse matrix of shape (n_samples, n_labels)
            Indicator matrix: 1 where a row has a label, 0 where not. Each label needs a row with it and one without. A
            1-D array of two classes is one label.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_settings()
        estimator = base_estimator(self.estimator)
        gpu = arrays_of(X) if is_gpu_array(X) else None
        X, y = table_and_labels_to_host(X, y, "y")
        data = read_indicator_data(self, X, y, ensure_all_finite=_finiteness(estimator))
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        table, signs = SubspaceTable(data.table), data.labels.signs
        with single_threaded_blas(), Threads(effective_n_jobs(self.n_jobs)) as threads:
            ratios = choose_ratios(
                self.data_ratio, self.feature_ratio, estimator, table, signs, data.columns, seed, threads
            )
            trainer = Trainer(estimator, table, signs, data.columns, ratios.data, ratios.feature, seed, Scratch())
            joint = JointLoss(signs) if gpu is None else GpuJointLoss(signs, gpu)
            intercepts = log_odds(signs) if self._has_intercept() else np.zeros(len(signs))
            members, losses = self._run(trainer, joint, intercepts, threads)
        # The model is not changed before this: a fit that fails leaves it as it was.
        note_features(self, data.features)
        self.classes_, self.label_names_ = data.labels.classes, data.labels.names
        self._one_column = data.labels.one_column
        self.view_names_, self.view_columns_ = data.names, data.columns
        self.data_ratio_, self.feature_ratio_, self.ratio_scores_ = ratios.data, ratios.feature, ratios.scores
        self.intercepts_ = intercepts
        self._publish_models(
            [member.model for member in members],
            [member.columns for member in members],
            np.array([member.weights for member in members]),
            np.array([member.source_label for member in members], dtype=np.intp),
            np.array(losses),
        )
        return self

    def validate(self) -> None:
        """Refuse a model, read from a file, whose base models, columns and labels do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The model would read columns that it was not fitted on.
        """
        check_views(self)
        if "estimators_" not in vars(self):
            return
        n_columns, n_models = check_integer(self, "n_features_in_"), len(self.estimators_)
        n_labels = check_array(self, "label_weights_", np.float64, (n_models, None)).shape[1]
        check_array(self, "intercepts_", np.float64, (n_labels,))
        if not n_models or len(self.estimators_features_) != n_models or type(self._one_column) is not bool:
            raise ValueError("it has other base models than columns for them")
        for model, columns in zip(self.estimators_, self.estimators_features_):
            if type(columns) is not np.ndarray or columns.ndim != 1 or columns.dtype.kind != "i" or not len(columns):
                raise ValueError("it has a base model whose columns are no list of whole numbers")
            if columns.min() < 0 or columns.max() >= n_columns:
                raise ValueError(f"it has a base model that reads columns beyond the {n_columns} it was fitted on")
            if type(model) is RbfSVC and model.n_features_in_ != len(columns):
                raise ValueError(f"it has a base model of {model.n_features_in_} columns that is given {len(columns)}")

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return F of each row and label: the label's intercept, and Σ over the models of weight × output.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Positive where a row has the label. Of shape (n_samples,) for a model that was fitted on a 1-D target.
        """
        table = self._table(X)
        used = np.flatnonzero(self.label_weights_.any(axis=1))  # models that some label uses
        decision = np.zeros((len(table), self.label_weights_.shape[1]))
        scratch = Scratch()
        chunk = table.chunk_tables()

        @keep_sklearn_config
        def work(first: int, last: int) -> None:
            for number in range(first, last):
                rows, part = chunk(number)
                model_outputs = scratch.array("outputs", (len(used), len(part)))
                for position, model in enumerate(used):
                    values = part.columns(self.estimators_features_[model])
                    model_outputs[position] = outputs(self.estimators_[model], values, scratch=scratch)
                np.matmul(model_outputs.T, self.label_weights_[used], out=decision[rows])
                decision[rows] += self.intercepts_

        with single_threaded_blas(), Threads(effective_n_jobs(self.n_jobs)) as threads:
            threads.share(table.n_chunks, work)
        return self._in_target_shape(decision)

    def predict(self, X: TableLike) -> AnyArray:
        """Predict the labels of each row: those whose decision value is above 0.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        int ndarray of shape (n_samples, n_labels)
            0 or 1. For a 1-D target the class of each row, of shape (n_samples,).
        """
        return self._labels(self.decision_function(X))

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Predict the probability of each label, 1/(1 + e^-F), the model of the logistic loss.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probability of each label. For a 1-D target of shape (n_samples, 2), a column for each class.
        """
        probability = expit(self.decision_function(X))
        return np.column_stack([1.0 - probability, probability]) if probability.ndim == 1 else probability

    def staged_decision_function(self, X: TableLike) -> Iterator[FloatArray]:
        """Yield `decision_function` of the first model, of the first two, and so on.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to decide on.

        Yields
        ------
        ndarray of shape (n_samples, n_labels)
            Decision values, as of `decision_function`.
        """
        table = self._table(X)
        decision = np.tile(self.intercepts_, (len(table), 1))
        model_outputs, scratch = np.empty(len(table)), Scratch()
        for model, columns, weights in zip(self.estimators_, self.estimators_features_, self.label_weights_):
            if weights.any():
                fill_outputs(model, table, columns, model_outputs, scratch=scratch)
                decision += np.outer(model_outputs, weights)
            yield self._in_target_shape(decision.copy())

    def staged_predict(self, X: TableLike) -> Iterator[AnyArray]:
        """Yield `predict` of the first model, of the first two, and so on.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples, n_labels)
            Labels, as of `predict`.
        """
        for decision in self.staged_decision_function(X):
            yield self._labels(decision)

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of the rows whose labels are all predicted.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Test rows. As for `fit`, all arguments may be CUDA arrays.
        y : array, data frame or sparse matrix of shape (n_samples, n_labels)
            Their labels.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Weighted share of the rows.
        """
        return super().score(X, to_host(y), to_host(sample_weight))

    def prune(self, n_models: int) -> Self:
        """Return the same model with its first base models only, for a chosen speed.

        Parameters
        ----------
        n_models : int
            Number of base models to keep, at most that of `estimators_`.

        Returns
        -------
        fitted estimator
            A copy whose `n_estimators` is `n_models`. This one is not changed.
        """
        check_is_fitted(self)
        check_count("n_models", n_models)
        if n_models > len(self.estimators_):
            raise ValueError(
                f"n_models must be at most {len(self.estimators_)}, the number of base models; got {n_models!r}."
            )
        pruned = copy(self)
        pruned.n_estimators = int(n_models)
        pruned._publish_models(
            self.estimators_[:n_models],
            self.estimators_features_[:n_models],
            self.label_weights_[:n_models].copy(),
            self.source_labels_[:n_models].copy(),
            self.loss_curve_[: n_models + 1].copy(),
        )
        return pruned

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.estimator is not None and takes_nan(self.estimator)
        return tags

    @abstractmethod
    def _rounds(
        self, trainer: Trainer, joint: AnyJointLoss, threads: Threads
    ) -> Iterator[tuple[Candidate, FloatArray]]:
        """Yield a candidate and its weights for the labels in each round; `joint` is updated between rounds."""

    def _check_settings(self) -> None:
        """Check the settings that do not depend on the data."""
        check_count("n_estimators", self.n_estimators)
        check_ratio("data_ratio", self.data_ratio)
        check_ratio("feature_ratio", self.feature_ratio)
        if self.pool_size is not None:
            check_count("pool_size", self.pool_size)
        level = self.significance
        if isinstance(level, bool) or not (isinstance(level, Real) and 0 < float(level) <= 1):
            raise ValueError(f"significance must be in (0, 1], where 1 is no test; got {level!r}.")
        if self.fit_intercept is not None:
            check_flag("fit_intercept", self.fit_intercept)
        check_count("newton_steps", self.newton_steps)
        check_jobs(self.n_jobs)
        check_count("verbose", self.verbose, least=0)

    def _has_intercept(self) -> bool:
        """Return whether decision functions begin at the log-odds of their labels."""
        return self.estimator is None if self.fit_intercept is None else self.fit_intercept

    def _run(
        self, trainer: Trainer, joint: AnyJointLoss, intercepts: FloatArray, threads: Threads
    ) -> tuple[list[Member], list[float]]:
        """Run the rounds, and return members and losses; an interrupt ends the rounds and keeps those done."""
        members: list[Member] = []
        losses = [joint.total]
        joint.add(intercepts, np.ones(joint.signs.shape[1]), threads)
        try:
            for candidate, weights in self._rounds(trainer, joint, threads):
                joint.add(weights, candidate.outputs, threads)
                # Outputs are as long as the rows, and not kept.
                members.append(Member(candidate.model, candidate.columns, candidate.source_label, weights))
                losses.append(joint.total)
                self._report(losses)
                if len(members) == self.n_estimators:
                    break
        except KeyboardInterrupt:
            if not members:
                raise
            # The last round may have stopped between its lines.
            n_done = min(len(members), len(losses) - 1)
            members, losses = members[:n_done], losses[: n_done + 1]
            warnings.warn(
                f"Interrupted: the model has the {n_done} of {self.n_estimators} base models that were done.",
                InterruptedFitWarning,
                stacklevel=3,
            )
        return members, losses

    def _report(self, losses: list[float]) -> None:
        """Report the last round to a listener, and print it where `verbose` asks for it."""
        n_done = len(losses) - 1
        every = max(1, self.n_estimators // 10) if self.verbose == 1 else 1
        printed = bool(self.verbose) and (n_done % every == 0 or n_done == self.n_estimators)
        text = f"model {n_done} of {self.n_estimators}: joint loss {losses[-1]:.2f}"
        progress.report(self, n_done, self.n_estimators, text, printed=printed)

    def _publish_models(
        self,
        models: list[Classifier],
        features: list[IntArray],
        weights: FloatArray,
        source_labels: IntArray,
        loss_curve: FloatArray,
    ) -> None:
        """Set the fitted attributes of the base models."""
        self.estimators_, self.estimators_features_ = models, features
        self.label_weights_, self.source_labels_, self.loss_curve_ = weights, source_labels, loss_curve
        # A model that no label uses need not be kept to predict.
        used = np.flatnonzero(weights.any(axis=1))
        sizes = [model_size(models[number], len(features[number])) for number in used]
        known_sizes = [size for size in sizes if size is not None]
        self.model_size_ = sum(known_sizes) if len(known_sizes) == len(sizes) else None

    def _table(self, X: TableLike) -> SubspaceTable:
        """Check rows to predict, and return their table."""
        check_is_fitted(self)
        checks = {
            "accept_sparse": ["csr", "csc"],
            "dtype": [np.float64, np.float32],
            "ensure_all_finite": _finiteness(self.estimators_[0]),
        }
        X = to_host(X)
        check_in_memory(X, type(self).__name__)
        return SubspaceTable(validate_data(self, X, reset=False, **checks))

    def _in_target_shape(self, decision: FloatArray) -> FloatArray:
        """Return decision values as a column for a 1-D target, else as they are."""
        return decision[:, 0] if self._one_column else decision

    def _labels(self, decision: FloatArray) -> AnyArray:
        """Return classes or indicators by the sign of decision values."""
        positive = decision > 0
        if self._one_column:
            return np.asarray(self.classes_)[positive.astype(np.intp)]
        return positive.astype(np.int64)


def _finiteness(estimator: Classifier) -> bool | str:
    """Return scikit-learn's `ensure_all_finite` of X: NaN passes where the base model takes it."""
    return "allow-nan" if takes_nan(estimator) else True
