"""Checks of the settings that estimators share. An error names the setting, what was given and what would be right.

Classes and probabilities from decision values, for every classifier that has these.
"""

from numbers import Integral, Real

import numpy as np

from fuselearn.numeric.votes import codes_of, probabilities


def check_count(name, value, least=1):
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")


def check_positive(name, value):
    """Refuse what is not a finite number above 0."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < value < np.inf):
        raise ValueError(f"{name} must be a number above 0; got {value!r}.")


def check_flag(name, value):
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_choice(name, value, choices):
    """Refuse what is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}; got {value!r}.")


def check_jobs(value):
    """Refuse what does not say a number of threads."""
    if value is not None and (not isinstance(value, Integral) or value == 0):
        raise ValueError(f"n_jobs must be None, a number of threads, or -1 for all cores; got {value!r}.")


class PredictsByDecision:
    """Mixin that predicts from `decision_function` and `classes_`."""

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        codes = codes_of(self.decision_function(X))
        return self.classes_[codes]

    def predict_proba(self, X):
        """Class probabilities by a logistic link, softmax(2·decision), which is not calibrated.

        Wrap the classifier in :class:`sklearn.calibration.CalibratedClassifierCV` where probabilities matter.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return probabilities(self.decision_function(X))
