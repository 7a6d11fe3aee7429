"""Any scikit-learn regressor as a base model: checks, seeding, and weights."""

import inspect
from collections.abc import Iterable
from typing import Any

from sklearn.base import is_regressor

from fuselearn.classifiers.adapter import seeded_clone, weight_parameter
from fuselearn.typing import FloatArray


def check_regressor(estimator: Any, what: str) -> None:
    """Refuse what cannot be fitted as a regressor, before any work is done; `what` names the argument."""
    if inspect.isclass(estimator):
        raise TypeError(f"The {what} must be an instance, not a class; pass {estimator.__name__}().")
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")) or not is_regressor(estimator):
        raise TypeError(f"The {what} must be a scikit-learn regressor; got {estimator!r:.80}.")


def fit_regressor(
    estimator: Any, rows: FloatArray, target: FloatArray, weights: FloatArray | None, used: Any, seed: Iterable[Any]
) -> Any:
    """Return a clone of a regressor, fitted on some of the rows, with weights where there are some that it takes."""
    model = seeded_clone(estimator, tuple(seed))
    parameter = weight_parameter(estimator)
    options = {} if parameter is None or weights is None else {parameter: weights[used]}
    return model.fit(rows[used], target[used], **options)
