"""What the boosting classifiers share: reading the data, running the rounds, telling what happened."""

import warnings
from abc import abstractmethod

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from fuselearn.backends import LocalRows
from fuselearn.boosting.arms import learners_of_views, make_arms
from fuselearn.boosting.loop import boost, replay
from fuselearn.boosting.prediction import VotePrediction
from fuselearn.boosting.reading import FEATURE_ATTRIBUTES, read_training_rows
from fuselearn.boosting.trace import Trace
from fuselearn.boosting.validation import check_settings
from fuselearn.exceptions import InterruptedFitWarning, NoEdgeWarning
from fuselearn.numeric.threads import Threads
from fuselearn.views import fit_transformer, per_view, transformed


class BaseBoost(VotePrediction, ClassifierMixin, BaseEstimator):
    """Template of a boosting classifier over views.

    A subclass owns one round (`_one_round`) and says whether its arms share their weights (`_shared`).
    """

    _shared: bool

    def fit(self, X, y, sample_weight=None, view_labels=None):
        """Fit the ensemble.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            Rows of weight 0 are as if not there.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row, where the views do not agree on what a row is. With it, `y`
            supplies `classes_` only.

        Returns
        -------
        self
        """
        check_settings(self)
        self._check_settings()
        goes_on = self.warm_start and hasattr(self, "trace_")
        data = read_training_rows(self, X, y, sample_weight, view_labels, reset=not goes_on)
        learners = learners_of_views(self.estimator, data.names)
        transformers = per_view("preprocess", self.preprocess, data.names)
        if goes_on:
            self._check_same_task(data, learners)
            trace, preprocessors = self.trace_.copy(), self.preprocessors_
        else:
            preprocessors = [
                fit_transformer(view, transformer, data.labels_of(number))
                for number, (view, transformer) in enumerate(zip(data.blocks, transformers))
            ]
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            trace = Trace(sum(map(len, learners)), seed, horizon=self.n_estimators)
        views = [transformed(view, fitted) for view, fitted in zip(data.blocks, preprocessors)]
        self._run(data, views, learners, trace)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        self._publish(data, views, learners, preprocessors, trace)
        return self

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
        data = read_training_rows(self, X, y, sample_weight, view_labels, reset=False)
        learners = learners_of_views(self.estimator, data.names)
        with Threads(effective_n_jobs(self.n_jobs)) as threads, threadpool_limits(1, user_api="blas"):
            views = [transformed(view, fitted) for view, fitted in zip(data.blocks, self.preprocessors_)]
            rows = self._rows(data, views, learners, self.trace_, threads)
            for _ in replay(rows, self._one_round(self.trace_, len(self.classes_)), self.trace_):
                weights = np.zeros((data.n_given, self.trace_.n_arms))
                for arm in range(self.trace_.n_arms):
                    weights[data.numbers, arm] = rows.weights(arm)
                yield weights[:, 0] if self._shared else weights

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _one_round(self, trace, n_classes):
        """The round of this kind of boosting, as it stands before the first of the trace's rounds."""

    def _check_settings(self):
        """Check the settings that only the subclass has."""

    def _check_same_task(self, data, learners):
        """Refuse a warm start on other classes, views or learners, or with fewer rounds than there are."""
        if not np.array_equal(data.classes, self.classes_) or data.names != self.view_names_:
            raise ValueError(
                f"warm_start=True goes on with a model of the classes {self.classes_.tolist()} and the views "
                f"{self.view_names_}; got {data.classes.tolist()} and {data.names}."
            )
        if sum(map(len, learners)) != self.trace_.n_arms:
            raise ValueError(
                f"warm_start=True goes on with a model of {self.trace_.n_arms} arms; estimator now gives "
                f"{sum(map(len, learners))}."
            )
        if self.n_estimators < len(self.trace_):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(self.trace_)} rounds that the model "
                "already has, since warm_start=True."
            )

    def _rows(self, data, views, learners, trace, threads):
        return LocalRows(
            make_arms(views, learners, data.codes),
            data.weights,
            len(data.classes),
            threads=threads,
            seed=trace.seed,
            plans=trace.plans,
            shared=self._shared,
            resample=self.resample,
            out_of_bag=self.error == "out_of_bag",
        )

    def _run(self, data, views, learners, trace):
        """Add rounds to the trace. An interrupt ends it with the rounds there are."""
        # One BLAS thread: with more, the order of its sums, and so the model, would depend on the machine.
        with Threads(effective_n_jobs(self.n_jobs)) as threads, threadpool_limits(1, user_api="blas"):
            rows = self._rows(data, views, learners, trace, threads)
            one_round = self._one_round(trace, len(data.classes))
            for _ in replay(rows, one_round, trace):
                pass
            try:
                boost(rows, one_round, trace, self.n_estimators, lambda: self._report(trace))
            except KeyboardInterrupt:
                if not trace.rounds:
                    raise
                warnings.warn(
                    f"Interrupted: the model has the {len(trace)} of {self.n_estimators} rounds that were done.",
                    InterruptedFitWarning,
                    stacklevel=3,
                )

    def _report(self, trace):
        every = max(1, self.n_estimators // 10) if self.verbose == 1 else 1
        if self.verbose and (len(trace) % every == 0 or len(trace) == self.n_estimators):
            last = trace.rounds[-1]
            print(
                f"[{type(self).__name__}] round {len(trace)} of {self.n_estimators}: arm {last.winner.arm}, "
                f"error {last.error:.4f}, vote {last.winner.alpha:.4f}"
            )

    def _publish(self, data, views, learners, preprocessors, trace):
        if not trace.rounds:
            warnings.warn(
                "No view beats chance in the first round, so the model predicts the prior. Are y and X of the same "
                "rows?",
                NoEdgeWarning,
                stacklevel=3,
            )
        for name in FEATURE_ATTRIBUTES:
            if name in data.features:
                setattr(self, name, data.features[name])
            elif hasattr(self, name):
                delattr(self, name)
        self.classes_, self.view_names_, self.view_columns_ = data.classes, data.names, data.columns
        self.class_prior_ = data.class_prior()
        self.n_samples_fit_ = len(data.blocks)
        self.preprocessors_ = preprocessors
        self.trace_ = trace
        self.n_iter_ = len(trace)
        self.arms_ = [(name, learner) for name, several in zip(data.names, learners) for learner in several]
        self.estimators_ = [round_.winner.hypothesis for round_ in trace.rounds]
        self.estimator_weights_ = trace.alphas
        self.estimator_errors_ = trace.errors
        self.winning_arms_ = trace.winning_arms
        view_of_arm = np.repeat(np.arange(len(learners)), [len(several) for several in learners])
        self.winning_views_ = view_of_arm[trace.winning_arms]
        self.arm_errors_ = trace.arm_errors
        self.arm_probabilities_ = trace.arm_probabilities
        votes = np.bincount(self.winning_views_, np.abs(self.estimator_weights_), minlength=len(data.names))
        self.view_importances_ = votes / votes.sum() if votes.sum() > 0 else votes
        # What `bounds` has to know of the training rows.
        self._view_widths = [view.n_columns for view in views]
        self._uniform_weights = bool(np.ptp(data.weights) == 0)
        self._one_label_column = data.one_label_column
