"""The base of the boosting classifiers: `fit`, which reads the data and runs the rounds, and the weights of a run."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fuselearn import progress
from fuselearn.arguments import check_choice, check_count, check_flag, check_jobs, check_positive, check_random_state
from fuselearn.backends.protocol import Rows
from fuselearn.bandits.protocol import Policy
from fuselearn.boosting.boosting_data import RunData, read_boosting_data
from fuselearn.boosting.checkpoint import CannotBeKeptError, EnsembleLog, check_checkpoint, identity_of
from fuselearn.boosting.rounds import OUT_OF_BAG, IndependentRound, RunSettings, SharedRound, Trace, boost, replay
from fuselearn.boosting.trace_format import check_can_be_written, check_trace, check_widths, trust_in
from fuselearn.boosting.vote_prediction import VotePrediction
from fuselearn.data import View, note_features, per_view
from fuselearn.data.view_table import PARTITIONED, row_location, to_host
from fuselearn.exceptions import InterruptedFitWarning, NoEdgeWarning
from fuselearn.learners.protocol import Learner
from fuselearn.learners.sklearn_learner import as_learners
from fuselearn.numeric.threads import Threads
from fuselearn.persistence.validation import check_array, check_classes, check_views
from fuselearn.typing import ArrayLike, FloatArray, IntArray, RandomState, TableLike, Transformer, Views

ERRORS = ("training", OUT_OF_BAG)


class BaseBoost(VotePrediction, ClassifierMixin, BaseEstimator):
    """Template of a boosting classifier over views.

    A subclass names the rule of its rounds (`_round_rule`).
    """

    _round_rule: ClassVar[type[SharedRound] | type[IndependentRound]]

    estimator: Any
    views: Views
    n_estimators: int
    resample: bool
    error: str
    learning_rate: float
    preprocess: Any
    warm_start: bool
    random_state: RandomState
    verbose: int
    arms_: list[tuple[str, Learner]]
    trace_: Trace

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        view_labels: ArrayLike = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there. A Dask collection is trained on by the cluster
            of the current client; paths of Parquet files are read partition by partition (see the guide on distributed
            fits). An array of CuPy, or one of torch on a GPU, is trained on there (see the guide on GPUs); the fitted
            attributes are NumPy arrays all the same.
        y : array of shape (n_samples,)
            Class of each row. Of Dask collections, cut at the same rows as X; of files the name of a column, as are the
            next two. All three may be on the GPU of `X`, or on the host.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; None for equal weights. Rows of weight 0 are ignored, but for their classes, which are
            among `classes_`.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row, where the views do not agree on what a row is. With it, `y`
            supplies `classes_` only.
        checkpoint : str or path-like, default=None
            File for the log of the run. The same call after a kill goes on from it and gives the same model, bit for
            bit; only `n_estimators` may have grown. A log of other data or settings is refused. It stays when the fit
            is done.
        checkpoint_every : int, default=10
            Number of rounds after which the log is written. The first is written at once.

        Returns
        -------
        self
            The fitted classifier.
        """
        named_learners = self._check_parameters(checkpoint, checkpoint_every)
        continued = self.warm_start and hasattr(self, "trace_")
        if continued and checkpoint is not None:
            raise ValueError(
                "checkpoint cannot be used with warm_start=True on a model that is fitted: both name the run to "
                "continue. To make the run of a log longer, set warm_start=False and a larger n_estimators."
            )
        data = read_boosting_data(self, X, y, sample_weight, view_labels, reset=not continued)
        learners = [
            # Clones: what the user does to a learner after the fit must not change the model.
            [clone(learner) for learner in view_learners]
            for view_learners in per_view("estimator", named_learners, data.names, complete=True)
        ]
        transformers = per_view("preprocess", self.preprocess, data.names)
        data.check_learners(learners)
        arms_of_views, policy = tuple(map(len, learners)), self._policy()
        if policy is not None and policy.costs is not None:
            policy = policy.with_costs(data.names, arms_of_views)
        settings = RunSettings(arms_of_views, policy, float(self.learning_rate), bool(self.resample), self.error)
        log = resumed = None
        exhausted = False
        if continued:
            self._check_same_data(data)
            self._check_same_run(settings)
            trace, preprocessors = self.trace_.copy(), self.preprocessors_
        else:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            if checkpoint is not None:
                identity = identity_of(self, data, settings, learners, transformers, seed)
                log = EnsembleLog(checkpoint, checkpoint_every, identity, trust_in([*chain(*learners), *transformers]))
                resumed = log.resume(settings, data.columns, len(data.classes))
            if resumed is None:
                preprocessors = data.fit_transformers(transformers)
                trace = Trace(settings, seed, horizon=int(self.n_estimators))
            else:
                trace, preprocessors, exhausted = resumed
                self._check_enough_rounds(trace, f"the log {checkpoint} has")
        trace.one_label_column &= data.one_label_column
        trace.equal_weights &= data.equal_weights
        if log is not None and resumed is None:
            log.begin(trace, preprocessors)
        views = data.views(preprocessors)
        if trace.rounds:
            # What was read from a file may not fit what its preprocessing makes of the rows.
            check_widths(trace, [len(view.columns) for view in views])
        # A log that is complete needs no rows any more.
        if log is None or not (exhausted or trace.ended or len(trace) == self.n_estimators):
            self._run(data, views, learners, trace, log)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        self._publish(data, views, learners, preprocessors, trace)
        return self

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None) -> float:
        """Return the share of the rows whose class is predicted.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict. As for `fit`, all arguments may be CUDA arrays.
        y : array of shape (n_samples,)
            Their classes.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; None for equal weights.

        Returns
        -------
        float
            The accuracy.
        """
        return super().score(X, to_host(y), to_host(sample_weight))

    def staged_sample_weights(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None, view_labels: ArrayLike = None
    ) -> Iterator[FloatArray]:
        """Yield the weights of the training rows before the first round and after each.

        A model does not keep its training data. Given it again, the weights follow from the ensemble.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            As it was given to `fit`, but in memory or on a GPU.
        y : array of shape (n_samples,)
            As it was given to `fit`.
        sample_weight : array of shape (n_samples,), default=None
            As it was given to `fit`.
        view_labels : array of shape (n_samples, n_views), default=None
            As it was given to `fit`.

        Yields
        ------
        ndarray of shape (n_samples,)
            With sum 1. Of shape (n_samples, n_arms) where each arm has weights of its own.
        """
        check_is_fitted(self)
        if row_location(X) in PARTITIONED:
            raise TypeError("staged_sample_weights takes rows in memory; pass X.compute(), or some of the rows.")
        shared = self._round_rule.shares_weights
        for rows in self._replayed(read_boosting_data(self, X, y, sample_weight, view_labels, reset=False)):
            if shared:
                yield rows.weights(0).copy()
            else:
                yield np.column_stack([rows.weights(arm) for arm in range(self.trace_.n_arms)])

    def validate(self) -> None:
        """Refuse a model, read from a file, whose rounds, views and classes do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The model would read or vote outside of what it was fitted on.
        """
        check_views(self)
        if "trace_" not in vars(self):
            return
        n_classes, trace = check_classes(self), self.trace_
        if type(trace) is not Trace or len(self.preprocessors_) != len(self.view_columns_):
            raise ValueError("it has no record of its rounds, or other preprocessors than views")
        widths = [
            None if transformer is not None else len(columns)
            for transformer, columns in zip(self.preprocessors_, self.view_columns_)
        ]
        check_trace(trace, widths, n_classes)
        n_rounds = len(trace.rounds)
        winners = [round_.winner for round_ in trace.rounds]
        same = len(self.estimators_) == n_rounds and all(
            estimator is winner.hypothesis for estimator, winner in zip(self.estimators_, winners)
        )
        if not same:
            raise ValueError("it has other hypotheses than its rounds recorded")
        check_array(self, "estimator_weights_", np.float64, (n_rounds,))
        views = check_array(self, "winning_views_", np.integer, (n_rounds,), at_least=0, below=len(widths))
        view_of_arm = np.repeat(np.arange(len(widths)), trace.settings.arms_of_views)
        if not np.array_equal(views, view_of_arm[[winner.arm for winner in winners]]):
            raise ValueError("it has other winning views than its rounds recorded")
        if len(self.arms_) != len(view_of_arm):
            raise ValueError(f"it has {len(self.arms_)} arms, where its rounds know {len(view_of_arm)}")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _replayed(self, data: RunData) -> Iterator[Rows]:
        """Yield the rows that the model was fitted on as they were before the first round and after each."""
        self._check_same_data(data)
        views = data.views(self.preprocessors_)
        remaining = iter([learner for _, learner in self.arms_])
        learners = [[next(remaining) for _ in range(count)] for count in self.trace_.settings.arms_of_views]
        trace = self.trace_.copy()  # plans may be added to it
        rule = self._round_rule(trace, len(self.classes_), data.n_counted)
        with (
            Threads(effective_n_jobs(self.n_jobs)) as threads,
            data.rows(views, learners, trace, threads=threads, shared=rule.shares_weights) as rows,
        ):
            for _ in replay(rows, rule, trace):
                yield rows

    def _policy(self) -> Policy | None:
        """Return the policy that chooses arms, checked; None where every arm is tried."""
        return None

    def _check_parameters(self, checkpoint: Any, checkpoint_every: Any) -> list[Learner] | dict[str, list[Learner]]:
        """Refuse what can be known to be wrong without the rows, which may take hours to read; return the learners."""
        check_count("n_estimators", self.n_estimators)
        check_positive("learning_rate", self.learning_rate)
        check_flag("resample", self.resample)
        check_flag("warm_start", self.warm_start)
        check_jobs(self.n_jobs)
        check_count("verbose", self.verbose, least=0)
        check_choice("error", self.error, ERRORS)
        if self.error == OUT_OF_BAG and not self.resample:
            raise ValueError("error='out_of_bag' needs resample=True: without it every row is used in a fit.")
        check_count("checkpoint_every", checkpoint_every)
        self._policy()
        learners = as_learners(self.estimator)
        if checkpoint is not None:
            check_checkpoint(checkpoint)
            check_can_be_written(learners if isinstance(learners, list) else [*chain(*learners.values())])
        return learners

    def _check_same_data(self, data: RunData) -> None:
        """Refuse data of other classes or views than the model was fitted on."""
        if not np.array_equal(data.classes, self.classes_):
            raise ValueError(
                f"y must have the classes that the model was fitted on, {self.classes_.tolist()}; got "
                f"{data.classes.tolist()}."
            )
        same_columns = len(data.columns) == len(self.view_columns_) and all(
            map(np.array_equal, data.columns, self.view_columns_)
        )
        if data.names != self.view_names_ or not same_columns:
            raise ValueError(
                "views must be those that the model was fitted on, "
                f"{_described(self.view_names_, self.view_columns_)}; got {_described(data.names, data.columns)}."
            )

    def _check_same_run(self, settings: RunSettings) -> None:
        """Refuse a warm start that changes the run, or asks for fewer rounds than there are."""
        for name in (field.name for field in fields(RunSettings)):
            before, now = getattr(self.trace_.settings, name), getattr(settings, name)
            if now != before:
                raise ValueError(
                    f"warm_start=True goes on with the run of the last fit, whose {name} was {before!r}; it is now "
                    f"{now!r}. Set it back, or warm_start=False."
                )
        self._check_enough_rounds(self.trace_, "the model already has, since warm_start=True")

    def _check_enough_rounds(self, trace: Trace, owner: str) -> None:
        """Refuse fewer rounds than were already run; `owner` completes the message."""
        if self.n_estimators < len(trace):
            raise ValueError(f"n_estimators={self.n_estimators} must be at least the {len(trace)} rounds that {owner}.")

    def _run(
        self, data: RunData, views: list[View], learners: list[list[Learner]], trace: Trace, log: EnsembleLog | None
    ) -> None:
        """Add rounds to the trace. An interrupt ends it with the rounds that were done."""
        rule = self._round_rule(trace, len(data.classes), data.n_counted)
        arms = [
            f"{name!r}" if len(own) == 1 else f"{name!r} by {learner}"
            for name, own in zip(data.names, learners)
            for learner in own
        ]
        with (
            Threads(effective_n_jobs(self.n_jobs)) as threads,
            data.rows(views, learners, trace, threads=threads, shared=rule.shares_weights) as rows,
        ):
            # To the end, also when it is clear that the rows are others: the weights follow from all rounds.
            *_, same_rows = replay(rows, rule, trace)
            trace.one_data_set &= same_rows

            def after_round() -> None:
                self._report(trace, arms)
                if log is not None:
                    log.note(trace)

            try:
                boost(rows, rule, trace, self.n_estimators, after_round)
                if log is not None:
                    log.write(trace, exhausted=len(trace) < self.n_estimators)
            except BaseException as error:
                if log is not None and not isinstance(error, CannotBeKeptError):
                    log.write(trace)
                if not isinstance(error, KeyboardInterrupt) or not trace.rounds:
                    raise
                warnings.warn(
                    f"Interrupted: the model has the {len(trace)} of {self.n_estimators} rounds that were done.",
                    InterruptedFitWarning,
                    stacklevel=3,
                )

    def _report(self, trace: Trace, arms: list[str]) -> None:
        """Report the last round to whoever listens, and print it where `verbose` asks for it."""
        every = max(1, self.n_estimators // 10) if self.verbose == 1 else 1
        printed = bool(self.verbose) and (len(trace) % every == 0 or len(trace) == self.n_estimators)
        last = trace.rounds[-1]
        text = (
            f"round {len(trace)} of {self.n_estimators}: {arms[last.winner.arm]}, error {last.error:.4f}, "
            f"vote {last.winner.alpha:.4f}"
        )
        progress.report(self, len(trace), self.n_estimators, text, printed=printed)

    def _publish(
        self,
        data: RunData,
        views: list[View],
        learners: list[list[Learner]],
        preprocessors: list[Transformer | None],
        trace: Trace,
    ) -> None:
        """Set the fitted attributes."""
        if not trace.rounds:
            warnings.warn(
                "No view beats chance in the first round, so the model predicts the prior. Do X and y hold the same "
                "rows in the same order?",
                NoEdgeWarning,
                stacklevel=3,
            )
        note_features(self, data.features)
        self.classes_, self.view_names_, self.view_columns_ = data.classes, data.names, data.columns
        self.class_prior_ = data.class_prior()
        self.n_samples_fit_ = data.n_counted
        self.preprocessors_ = preprocessors
        self.trace_ = trace
        self.n_iter_ = len(trace)
        self.arms_ = [(name, learner) for name, view_learners in zip(data.names, learners) for learner in view_learners]
        self.estimators_ = [round_.winner.hypothesis for round_ in trace.rounds]
        self.estimator_weights_ = trace.alphas
        self.estimator_errors_ = trace.errors
        self.winning_arms_ = trace.winning_arms
        view_of_arm = np.repeat(np.arange(len(learners)), trace.settings.arms_of_views)
        self.winning_views_ = view_of_arm[trace.winning_arms]
        self.arm_errors_ = trace.arm_errors
        self.arm_probabilities_ = trace.arm_probabilities
        votes = np.bincount(self.winning_views_, np.abs(self.estimator_weights_), minlength=len(data.names))
        self.view_importances_ = votes / votes.sum() if votes.sum() > 0 else votes
        # `bounds` needs the number of columns after preprocessing.
        self._view_widths = [len(view.columns) for view in views]


def _described(names: list[str], columns: list[IntArray]) -> str:
    """Return the views and their columns, short enough for a message."""
    return ", ".join(
        f"{name!r} of {len(view_columns)} columns from {view_columns[0]}"
        for name, view_columns in zip(names[:5], columns)
    )
