"""Common parts of estimators: checks of their settings, and predictions from decision values.

An error of a check names the setting, what was given and what would be right.
"""

from collections.abc import Callable, Iterable
from numbers import Integral, Real

import numpy as np

from fuselearn.numeric.votes import codes_of, probabilities
from fuselearn.typing import AnyArray, FloatArray, TableLike


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")


def check_positive(name: str, value: object) -> None:
    """Refuse a value that is not a finite number above 0."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ValueError(f"{name} must be a number above 0; got {value!r}.")


def check_flag(name: str, value: object) -> None:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}; got {value!r}.")


def check_jobs(value: object) -> None:
    """Refuse a value that does not give a number of threads."""
    if value is not None and (not isinstance(value, Integral) or value == 0):
        raise ValueError(f"n_jobs must be None, a number of threads, or -1 for all cores; got {value!r}.")


class PredictsByDecision:
    """Mixin that predicts from `decision_function` and `classes_`."""

    classes_: AnyArray
    decision_function: Callable[[TableLike], FloatArray]

    def predict(self, X: TableLike) -> AnyArray:
        """Predict classes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of each row.
        """
        # The decision comes first: it refuses a model that is not fitted.
        codes = codes_of(self.decision_function(X))
        return self.classes_[codes]

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Predict class probabilities by softmax(2·decision), which is not calibrated.

        Wrap the classifier in :class:`sklearn.calibration.CalibratedClassifierCV` where probabilities matter.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probability of each class, in the order of `classes_`.
        """
        return probabilities(self.decision_function(X))
