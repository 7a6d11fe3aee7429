"""What the three ensembles share: reading the data, training base models, keeping the ones that are used."""

import warnings
from abc import abstractmethod
from dataclasses import replace

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from fuselearn.backends.gpu.arrays import arrays_of, is_device_array, on_host
from fuselearn.backends.gpu.multilabel import DeviceJointLoss
from fuselearn.backends.gpu.table import both_on_host
from fuselearn.classifiers.blas_threads import single_threaded_products
from fuselearn.data import note_features
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.multilabel.base_models import SubspaceTable, Trainer, base_estimator
from fuselearn.multilabel.pool import JointLoss
from fuselearn.multilabel.prediction import WeightedOutputs
from fuselearn.multilabel.ratios import check_settings, choose_ratios
from fuselearn.multilabel.training_data import finite_rule, read_training_data
from fuselearn.numeric.execution import Scratch, Threads


class BaseSubspaceEnsemble(WeightedOutputs, ClassifierMixin, BaseEstimator):
    """Template of a multi-label classifier made of base models on random subspaces.

    A subclass owns its rounds (`_rounds`) and nothing else.
    """

    def __init__(
        self,
        estimator=None,
        *,
        views=None,
        n_estimators=100,
        data_ratio=0.2,
        feature_ratio=0.1,
        pool_size=None,
        significance=0.025,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.views = views
        self.n_estimators = n_estimators
        self.data_ratio = data_ratio
        self.feature_ratio = feature_ratio
        self.pool_size = pool_size
        self.significance = significance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, Y):
        """Fit the ensemble.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            An array of CuPy, or one of torch on a GPU, has candidates evaluated there; base models are still learned on
            the host.
        Y : array, data frame or sparse matrix of shape (n_samples, n_labels)
            Indicator matrix: 1 where a row has a label, 0 where not. Each label needs a row with it and one without. A
            1-D array of two classes is one label.

        Returns
        -------
        self
        """
        check_settings(self)
        estimator = base_estimator(self.estimator)
        device = arrays_of(X) if is_device_array(X) else None
        X, Y = both_on_host(X, Y, "Y")
        data = read_training_data(self, X, Y, estimator)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        table, signs = SubspaceTable(data.X), data.labels.signs
        with single_threaded_products(), Threads(effective_n_jobs(self.n_jobs)) as threads:
            ratios = choose_ratios(
                self.data_ratio, self.feature_ratio, estimator, table, signs, data.view_columns, seed, threads
            )
            trainer = Trainer(estimator, table, signs, data.view_columns, ratios.data, ratios.feature, seed, Scratch())
            joint = JointLoss(signs) if device is None else DeviceJointLoss(signs, device)
            used = self._run(trainer, joint, threads)
        # Nothing of the model is touched before this: a fit that fails leaves the last one as it was.
        note_features(self, data.features)
        self.classes_, self.label_names_ = data.labels.classes, data.labels.names
        self._one_column = data.labels.one_column
        self.view_names_, self.view_columns_ = data.view_names, data.view_columns
        self.data_ratio_, self.feature_ratio_, self.ratio_scores_ = ratios.data, ratios.feature, ratios.scores
        candidates, weights, losses = used
        self._publish_models(
            [candidate.model for candidate in candidates],
            [candidate.columns for candidate in candidates],
            np.array(weights),
            np.array([candidate.source_label for candidate in candidates], dtype=np.intp),
            np.array(losses),
        )
        return self

    def score(self, X, y, sample_weight=None):
        """Share of the rows whose labels are all predicted.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            As for `fit`, all arguments may be CUDA arrays.
        y : array, data frame or sparse matrix of shape (n_samples, n_labels)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        return super().score(X, on_host(y), on_host(sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.estimator is not None and finite_rule(self.estimator) == "allow-nan"
        return tags

    @abstractmethod
    def _rounds(self, trainer, joint, threads):
        """Yield (candidate, weights of the labels) for each round; `joint` is brought up to date between rounds."""

    def _run(self, trainer, joint, threads):
        """Candidates, weights and losses of the rounds. An interrupt ends them with those there are."""
        candidates, weights, losses = [], [], [joint.total]
        try:
            for candidate, given in self._rounds(trainer, joint, threads):
                joint.add(given, candidate.outputs, threads)
                # Without its outputs: they are as long as the rows.
                candidates.append(replace(candidate, outputs=None))
                weights.append(given)
                losses.append(joint.total)
                self._report(losses)
                if len(candidates) == self.n_estimators:
                    break
        except KeyboardInterrupt:
            if not candidates:
                raise
            # The last round may have stopped between its lines.
            done = min(len(candidates), len(weights), len(losses) - 1)
            candidates, weights, losses = candidates[:done], weights[:done], losses[: done + 1]
            warnings.warn(
                f"Interrupted: the model has the {done} of {self.n_estimators} base models that were done.",
                InterruptedFitWarning,
                stacklevel=3,
            )
        return candidates, weights, losses

    def _report(self, losses):
        done = len(losses) - 1
        every = max(1, self.n_estimators // 10) if self.verbose == 1 else 1
        if self.verbose and (done % every == 0 or done == self.n_estimators):
            print(f"[{type(self).__name__}] model {done} of {self.n_estimators}: joint loss {losses[-1]:.2f}")


def train_all(trainer, places, threads):
    """Candidates of (slot, generation, label) triples, trained side by side; a single one shares out its rows."""
    if len(places) == 1:
        return [trainer.train(*places[0], threads)]
    config = get_config()  # scikit-learn keeps it per thread

    def train(place):
        with config_context(**config):
            return trainer.train(*place)

    return threads.map(train, places)
