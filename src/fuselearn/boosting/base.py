"""What the boosting classifiers share: reading the data, running the rounds, telling what happened.

Check what the user gave, before any work is done. Errors name the argument and what would be right.
"""

import warnings
from abc import abstractmethod
from dataclasses import fields

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fuselearn import progress
from fuselearn.backends.gpu.arrays import on_host
from fuselearn.backends.protocol import kind_of
from fuselearn.boosting.checkpoint import CannotBeKeptError, RunLog, check_checkpoint, identity_of
from fuselearn.boosting.prediction import VotePrediction
from fuselearn.boosting.rounds import boost, replay
from fuselearn.boosting.trace import RunSettings, Trace
from fuselearn.boosting.trace_format import check_can_be_written
from fuselearn.boosting.training_data import read_training_rows
from fuselearn.data import note_features, per_view
from fuselearn.estimators import check_choice, check_count, check_flag, check_jobs, check_positive
from fuselearn.exceptions import InterruptedFitWarning, NoEdgeWarning
from fuselearn.learners.per_view import all_learners, learners_of_views
from fuselearn.numeric.execution import Threads


class BaseBoost(VotePrediction, ClassifierMixin, BaseEstimator):
    """Template of a boosting classifier over views.

    A subclass owns one round (`_one_round`) and says whether its arms share their weights (`_shared`).
    """

    _shared: bool

    def fit(self, X, y, sample_weight=None, view_labels=None, *, checkpoint=None, checkpoint_every=10):
        """Fit the ensemble.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there. A Dask collection is trained on by the cluster
            of the current client; paths of Parquet files are read part by part (see the guide on distributed fits). An
            array of CuPy, or one of torch on a GPU, is trained on there (see the guide on GPUs); the fitted attributes
            are NumPy arrays all the same.
        y : array of shape (n_samples,)
            Of Dask collections, cut at the same rows as X; of files the name of a column, as are the next two. All
            three may be on the device of `X`, or on the host.
        sample_weight : array of shape (n_samples,), default=None
            Rows of weight 0 take no part, but for their classes, which are among `classes_`.
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
        """
        self._check_before_reading(checkpoint, checkpoint_every)
        goes_on = self.warm_start and hasattr(self, "trace_")
        if goes_on and checkpoint is not None:
            raise ValueError(
                "checkpoint cannot be used with warm_start=True on a model that is fitted: both say where to go on. "
                "To make the run of a log longer, set warm_start=False and a larger n_estimators."
            )
        data = read_training_rows(self, X, y, sample_weight, view_labels, reset=not goes_on)
        learners = learners_of_views(self.estimator, data.names)
        transformers = per_view("preprocess", self.preprocess, data.names)
        settings = self._run_settings(learners)
        data.check_learners(learners, settings)
        log = found = None
        seed = None if goes_on else int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if checkpoint is not None:
            log = RunLog(
                checkpoint,
                checkpoint_every,
                identity_of(self, data, settings, learners, transformers, seed),
            )
            found = log.resume(settings, data.columns, len(data.classes))
        exhausted = False
        if found is not None:
            trace, preprocessors, exhausted = found
            self._check_enough_rounds(trace, f"the log {checkpoint} has")
        elif goes_on:
            self._check_same_data(data)
            self._check_same_run(settings)
            trace, preprocessors = self.trace_.copy(), self.preprocessors_
        else:
            preprocessors = data.fit_transformers(transformers)
            trace = Trace(settings, seed, horizon=int(self.n_estimators))
        trace.one_label_column &= data.one_label_column
        trace.equal_weights &= data.equal_weights
        if log is not None and found is None:
            log.begin(trace, preprocessors)
        views = data.views(preprocessors)
        # A log that is complete needs no rows any more.
        if not (found and (exhausted or trace.ended or len(trace) == self.n_estimators)):
            self._run(data, views, learners, trace, log)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        self._publish(data, views, learners, preprocessors, trace)
        return self

    def score(self, X, y, sample_weight=None):
        """Share of the rows whose class is predicted.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            As for `fit`, all arguments may be CUDA arrays.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        return super().score(X, on_host(y), on_host(sample_weight))

    def _check_before_reading(self, checkpoint, checkpoint_every):
        """Refuse what can be known to be wrong without the rows, which may take hours to read."""
        check_settings(self)
        check_checkpoint(checkpoint, checkpoint_every)
        self._policy()
        named = all_learners(self.estimator)
        if checkpoint is not None:
            check_can_be_written(named)

    def staged_sample_weights(self, X, y, sample_weight=None, view_labels=None):
        """Yield the weights of the training rows before the first round and after each.

        A model does not keep its training data. Given it again, the weights follow from the ensemble.

        Parameters
        ----------
        X, y, sample_weight, view_labels
            As they were given to `fit`.

        Yields
        ------
        ndarray of shape (n_samples,)
            With sum 1. Of shape (n_samples, n_arms) where each arm has weights of its own.
        """
        check_is_fitted(self)
        if kind_of(X) in ("dask", "files"):
            raise TypeError("staged_sample_weights takes rows in memory; pass X.compute(), or some of the rows.")
        data = read_training_rows(self, X, y, sample_weight, view_labels, reset=False)
        self._check_same_data(data)
        views = data.views(self.preprocessors_)
        learners = iter([learner for _, learner in self.arms_])
        learners = [[next(learners) for _ in range(count)] for count in self.trace_.settings.arms_of_views]
        with (
            Threads(effective_n_jobs(self.n_jobs)) as threads,
            data.rows(views, learners, self.trace_, threads=threads, shared=self._shared) as rows,
        ):
            for _ in replay(rows, self._one_round(self.trace_, len(self.classes_)), self.trace_):
                if self._shared:
                    yield rows.weights(0).copy()
                else:
                    yield np.column_stack([rows.weights(arm) for arm in range(self.trace_.n_arms)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _one_round(self, trace, n_classes):
        """The round of this kind of boosting, as it stands before the first of the trace's rounds."""

    def _run_settings(self, learners):
        """What a run that is taken up again must not change."""
        return RunSettings(
            tuple(len(several) for several in learners),
            self._policy(),
            float(self.learning_rate),
            bool(self.resample),
            self.error,
        )

    def _policy(self):
        """The policy that chooses arms, checked; None where every arm is tried."""
        return

    def _check_same_data(self, data):
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

    def _check_same_run(self, settings):
        """Refuse a warm start that changes the run, or asks for fewer rounds than there are."""
        for name in (field.name for field in fields(RunSettings)):
            before, now = getattr(self.trace_.settings, name), getattr(settings, name)
            if now != before:
                raise ValueError(
                    f"warm_start=True goes on with the run of the last fit, whose {name} was {before!r}; it is now "
                    f"{now!r}. Set it back, or warm_start=False."
                )
        self._check_enough_rounds(self.trace_, "the model already has, since warm_start=True")

    def _check_enough_rounds(self, trace, who_has_them):
        if self.n_estimators < len(trace):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(trace)} rounds that {who_has_them}."
            )

    def _run(self, data, views, learners, trace, log):
        """Add rounds to the trace. An interrupt ends it with the rounds there are."""
        with (
            Threads(effective_n_jobs(self.n_jobs)) as threads,
            data.rows(views, learners, trace, threads=threads, shared=self._shared) as rows,
        ):
            one_round = self._one_round(trace, len(data.classes))
            # To the end, also when it is clear that the rows are others: the weights follow from all rounds.
            *_, same_rows = replay(rows, one_round, trace)
            trace.one_data_set &= same_rows

            def after_a_round():
                self._report(trace)
                if log is not None:
                    log.note(trace)

            try:
                boost(rows, one_round, trace, self.n_estimators, after_a_round)
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

    def _report(self, trace):
        """Report the last round to whoever listens, and print it where `verbose` asks for it."""
        every = max(1, self.n_estimators // 10) if self.verbose == 1 else 1
        printed = bool(self.verbose) and (len(trace) % every == 0 or len(trace) == self.n_estimators)
        last = trace.rounds[-1]
        text = (
            f"round {len(trace)} of {self.n_estimators}: arm {last.winner.arm}, error {last.error:.4f}, "
            f"vote {last.winner.alpha:.4f}"
        )
        progress.report(self, len(trace), self.n_estimators, text, printed=printed)

    def _publish(self, data, views, learners, preprocessors, trace):
        if not trace.rounds:
            warnings.warn(
                "No view beats chance in the first round, so the model predicts the prior. Are y and X of the same "
                "rows?",
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
        self.arms_ = [(name, learner) for name, several in zip(data.names, learners) for learner in several]
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
        # What `bounds` has to know of the views.
        self._view_widths = [view.n_columns for view in views]


def _described(names, columns):
    """Views and their columns, short enough for a message."""
    return ", ".join(f"{name!r} of {len(some)} columns from {some[0]}" for name, some in zip(names[:5], columns))


ERRORS = ("training", "out_of_bag")


def check_settings(model):
    """Refuse settings of a boosting classifier that mean nothing."""
    check_count("n_estimators", model.n_estimators)
    check_positive("learning_rate", model.learning_rate)
    check_flag("resample", model.resample)
    check_flag("warm_start", model.warm_start)
    check_jobs(model.n_jobs)
    check_count("verbose", model.verbose, least=0)
    check_choice("error", model.error, ERRORS)
    if model.error == "out_of_bag" and not model.resample:
        raise ValueError("error='out_of_bag' needs resample=True: without it no row is left out of a fit.")
