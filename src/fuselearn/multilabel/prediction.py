"""What an ensemble says of rows: the outputs of its base models, weighted for each label."""

from copy import copy

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit
from sklearn import config_context, get_config
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn.backends.gpu.arrays import on_host
from fuselearn.classifiers.blas_threads import single_threaded_products
from fuselearn.estimators import check_count
from fuselearn.multilabel import base_models
from fuselearn.multilabel.base_models import SubspaceTable
from fuselearn.multilabel.training_data import finite_rule
from fuselearn.numeric.execution import Scratch, Threads


class WeightedOutputs:
    """Mixin that predicts from `estimators_`, `estimators_features_` and `label_weights_`."""

    def decision_function(self, X):
        """F of each row and label: Σ over the models of weight × output.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Positive where a row has the label. Of shape (n_samples,) for a model that was fitted on a 1-D target.
        """
        table = self._table(X)
        # A model that no label uses is not asked.
        used = np.flatnonzero(self.label_weights_.any(axis=1))
        decision = np.zeros((len(table), self.label_weights_.shape[1]))
        config = get_config()  # scikit-learn keeps it per thread
        scratch = Scratch()

        chunk = table.chunk_tables()

        def work(first, last):
            with config_context(**config):
                for number in range(first, last):
                    rows, part = chunk(number)
                    said = scratch.array("outputs", (len(used), len(part)))
                    for place, model in enumerate(used):
                        values = part.columns(self.estimators_features_[model])
                        said[place] = base_models.outputs(self.estimators_[model], values, scratch=scratch)
                    np.matmul(said.T, self.label_weights_[used], out=decision[rows])

        with single_threaded_products(), Threads(effective_n_jobs(self.n_jobs)) as threads:
            threads.share(table.n_chunks, work)
        return self._shaped(decision)

    def predict(self, X):
        """Labels of each row: those whose decision value is above 0.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        int ndarray of shape (n_samples, n_labels)
            0 or 1. For a 1-D target the class of each row, of shape (n_samples,).
        """
        return self._predicted(self.decision_function(X))

    def predict_proba(self, X):
        """Probability of each label, 1/(1 + e^-F), as the logistic loss says.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            For a 1-D target of shape (n_samples, 2), a column for each class.
        """
        probability = expit(self.decision_function(X))
        return np.column_stack([1.0 - probability, probability]) if probability.ndim == 1 else probability

    def staged_decision_function(self, X):
        """Yield `decision_function` of the first model, of the first two, and so on.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_labels)
        """
        table = self._table(X)
        decision = np.zeros((len(table), self.label_weights_.shape[1]))
        said, scratch = np.empty(len(table)), Scratch()
        for model, columns, weights in zip(self.estimators_, self.estimators_features_, self.label_weights_):
            if weights.any():
                base_models.outputs_of_table(model, table, columns, said, scratch=scratch)
                decision += np.outer(said, weights)
            yield self._shaped(decision.copy())

    def staged_predict(self, X):
        """Yield `predict` of the first model, of the first two, and so on."""
        for decision in self.staged_decision_function(X):
            yield self._predicted(decision)

    def prune(self, n_models):
        """The same model with its first models only, for a chosen speed.

        Parameters
        ----------
        n_models : int
            At most the number of `estimators_`.

        Returns
        -------
        fitted estimator
            Its `n_estimators` is `n_models`. This one is not changed.
        """
        check_is_fitted(self)
        check_count("n_models", n_models)
        if n_models > len(self.estimators_):
            raise ValueError(
                f"n_models must be at most the {len(self.estimators_)} models there are; got {n_models!r}."
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

    def _publish_models(self, models, features, weights, source_labels, loss_curve):
        self.estimators_, self.estimators_features_ = models, features
        self.label_weights_, self.source_labels_, self.loss_curve_ = weights, source_labels, loss_curve
        # A model that no label uses is never asked, so it need not be kept to predict.
        used = np.flatnonzero(weights.any(axis=1))
        sizes = [base_models.size(models[place], len(features[place])) for place in used]
        self.model_size_ = None if None in sizes else sum(sizes)

    def _table(self, X):
        check_is_fitted(self)
        checks = {
            "accept_sparse": ["csr", "csc"],
            "dtype": [np.float64, np.float32],
            "ensure_all_finite": finite_rule(self.estimators_[0]),
        }
        return SubspaceTable(validate_data(self, on_host(X), reset=False, **checks))

    def _shaped(self, decision):
        return decision[:, 0] if self._one_column else decision

    def _predicted(self, decision):
        positive = decision > 0
        return self.classes_[positive.astype(np.intp)] if self._one_column else positive.astype(np.int64)
