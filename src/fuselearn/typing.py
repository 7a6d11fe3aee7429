"""Types that the signatures of several packages name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
"""An array of labels or of mixed values, whose type only the user knows."""

TableLike: TypeAlias = Any
"""The `X` of a user: an array, a data frame, a Dask collection, paths of files or a CUDA array."""
ArrayLike: TypeAlias = Any
"""The `y`, weights, labels or groups of a user: a list, an array, a series or a CUDA array."""

Selector: TypeAlias = (
    "int | str | slice | Sequence[int] | Sequence[str] | Sequence[bool] | AnyArray | Callable[..., Any]"
)
Views: TypeAlias = "Mapping[str, Selector] | Sequence[Selector] | None"
"""The `views` argument of every estimator."""

RandomState: TypeAlias = "int | np.random.RandomState | None"


class Estimator(Protocol):
    """The methods of every scikit-learn estimator."""

    def fit(self, X: Any, y: Any = ...) -> Any: ...

    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Any: ...


class Classifier(Estimator, Protocol):
    """A scikit-learn classifier, fitted or not."""

    def predict(self, X: Any) -> AnyArray: ...


class Transformer(Estimator, Protocol):
    """A scikit-learn transformer, fitted or not."""

    def transform(self, X: Any) -> Any: ...
