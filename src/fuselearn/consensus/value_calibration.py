"""How decision values speak of the class: one logistic model on the values of all views together.

Values of different views are not independent given the class, so a product of per-view likelihoods counts the same
evidence several times. One model on all of them does not: a view gets the weight that it adds to the others.
"""

import numpy as np
from scipy.special import log_softmax

WEIGHT_PENALTY = 1.0
"""Ridge on the views' weights, whose values have mean square 1: a Gaussian prior of variance 1."""
BIAS_PENALTY = 1.0
"""Ridge on the classes' biases. Without it, weak views and one label column can end with a single class for all objects
and every other label wrong, which the likelihood alone does not rule out."""
MOST_STEPS = 50
SMALLEST_STEP = 2.0**-20
NEARLY_THERE = 1e-8
"""Gain of a step below which it is the last one: Newton's next would gain less than rounding shows."""


class ValueLink:
    """p(class k | values) = softmax_k(Σ_v w_v · value_vk + b_k).

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_views, n_classes)
        A view that says nothing of a row has zeros there.
    """

    def __init__(self, values):
        self._n_views, n_classes = values.shape[1:]
        self._values = values
        self._penalties = np.repeat([WEIGHT_PENALTY, BIAS_PENALTY], [self._n_views, n_classes])

    @property
    def start(self):
        """Coefficients that say nothing."""
        return np.zeros(len(self._penalties))

    def log_probabilities(self, coefficients):
        """ln p(class | values), of shape (n_rows, n_classes)."""
        weights, biases = coefficients[: self._n_views], coefficients[self._n_views :]
        return log_softmax(np.einsum("ivk,v->ik", self._values, weights) + biases, axis=1)

    def log_prior(self, coefficients):
        """ln of the Gaussian prior of the coefficients, up to a constant."""
        return float(-0.5 * (self._penalties * coefficients**2).sum())

    def refit(self, posterior, coefficients):
        """Maximise Σ posterior · ln p + ln prior by Newton steps, from the given coefficients.

        Steps that do not help are halved, so the result is never worse than the start.
        """
        logs = self.log_probabilities(coefficients)
        best = float((posterior * logs).sum()) + self.log_prior(coefficients)
        for _ in range(MOST_STEPS):
            p = np.exp(logs)
            missed = posterior - p
            gradient = np.concatenate([np.einsum("ivk,ik->v", self._values, missed), missed.sum(axis=0)])
            gradient -= self._penalties * coefficients
            hessian = self._curvature(p)
            step = np.linalg.solve(hessian, gradient)
            if gradient @ step < NEARLY_THERE:
                return coefficients + step
            length = 1.0
            while length >= SMALLEST_STEP:
                tried = coefficients + length * step
                tried_logs = self.log_probabilities(tried)
                value = float((posterior * tried_logs).sum()) + self.log_prior(tried)
                if value > best:
                    break
                length /= 2
            else:
                break  # rounding: nothing better can be found
            coefficients, logs, best = tried, tried_logs, value
        return coefficients

    def _curvature(self, p):
        """Minus the second derivatives, block by block: weights of views, biases of classes, and both."""
        n_views = self._n_views
        weighted = self._values * p[:, None, :]
        means = weighted.sum(axis=2)
        hessian = np.diag(self._penalties)
        hessian[:n_views, :n_views] += np.einsum("ivk,iuk->vu", weighted, self._values) - means.T @ means
        both = weighted.sum(axis=0) - means.T @ p
        hessian[:n_views, n_views:] += both
        hessian[n_views:, :n_views] += both.T
        hessian[n_views:, n_views:] += np.diag(p.sum(axis=0)) - p.T @ p
        return hessian
