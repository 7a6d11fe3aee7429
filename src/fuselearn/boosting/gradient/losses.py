"""Losses of gradient boosting: what a row's scores cost, its gradients in whole numbers, and the units of all sums."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil, frexp, ldexp, log

import numpy as np

from fuselearn.numeric.gradients import (
    HESSIAN_UNIT,
    LOSS_LIMIT,
    log_loss_gradients,
    regression_gradients,
    whole_number_bits,
)
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import AnyArray, FloatArray, IntArray

LEAST_SHARE = 1e-12
"""Least share of a class in the scores before the first tree: the logarithm of 0 is no score."""
RESIDUAL_GROWTH = 4.0
"""Factor by which a residual may outgrow the largest one at the start before it is counted as less."""

LARGEST_SQUARED, LARGEST_RESIDUAL = 1e140, 1e280
"""Residuals at the start from which on sums of losses may overflow: of the squared error, and of a quantile."""


class Loss(ABC):
    """A loss, its gradients and their units.

    Attributes
    ----------
    bits : int
        Bits of a whole number, so that the sum over all rows of a run fits into 64.
    n_outputs : int
        Scores of a row, and trees of a round.
    unit_g : float
        Unit of the gradients for rows of weight 1.
    loss_unit : float
        Unit of the sums of losses.
    leaf_quantile : float or None
        Quantile of the residuals of a leaf that is its value; None where the value is a Newton step.
    """

    bits: int
    n_outputs: int
    unit_g: float
    loss_unit: float
    leaf_quantile: float | None = None

    @abstractmethod
    def fill_gradients(
        self,
        scores: FloatArray,
        labels: AnyArray,
        weights: FloatArray,
        roles: IntArray,
        g: IntArray,
        h: IntArray,
        threads: Threads = SERIAL,
    ) -> IntArray:
        """Fill g and h of all rows, and return the sums of losses by role; see `fuselearn.numeric.gradients`."""

    @property
    def unit_h(self) -> float:
        """Unit of the second derivatives for rows of weight 1."""
        return HESSIAN_UNIT


@dataclass(frozen=True)
class LogLoss(Loss):
    """Minus the logarithm of the probability of the given class.

    Parameters
    ----------
    n_classes : int
        Number of classes. Two classes have one score, the log odds.
    bits : int
        Bits of a whole number.
    """

    n_classes: int
    bits: int

    @property
    def n_outputs(self) -> int:  # type: ignore[override]  # the base declares an attribute; here it follows from another
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def unit_g(self) -> float:  # type: ignore[override]  # as above
        return ldexp(1.0, -self.bits)

    @property
    def loss_unit(self) -> float:  # type: ignore[override]  # as above
        return LOSS_LIMIT * ldexp(1.0, -self.bits)

    def baseline(self, class_weights: FloatArray) -> FloatArray:
        """Return the scores before the first tree, from the weight of each class."""
        shares = np.maximum(class_weights / class_weights.sum(), LEAST_SHARE)
        if self.n_classes == 2:
            return np.array([log(shares[1] / shares[0])])
        return np.array([log(share) for share in shares])

    def fill_gradients(
        self,
        scores: FloatArray,
        labels: AnyArray,
        weights: FloatArray,
        roles: IntArray,
        g: IntArray,
        h: IntArray,
        threads: Threads = SERIAL,
    ) -> IntArray:
        """Fill g and h of all rows; see `Loss.fill_gradients`."""
        return log_loss_gradients(scores, labels, weights, roles, self.bits, g, h, threads)


@dataclass(frozen=True)
class RegressionLoss(Loss):
    """The squared error, or the loss of a quantile.

    Parameters
    ----------
    bits : int
        Bits of a whole number.
    scale : float
        Power of two above which no residual is expected.
    leaf_quantile : float or None
        The quantile; 0.5 for the absolute error, None for the squared one.
    """

    bits: int
    scale: float
    leaf_quantile: float | None = None

    n_outputs = 1

    @property
    def unit_g(self) -> float:  # type: ignore[override]  # the base declares an attribute; here it follows from others
        return ldexp(1.0 if self.leaf_quantile is not None else self.scale, -self.bits)

    @property
    def loss_unit(self) -> float:  # type: ignore[override]  # as above
        scale = self.scale if self.leaf_quantile is not None else self.scale**2
        return scale * LOSS_LIMIT * ldexp(1.0, -self.bits)

    def fill_gradients(
        self,
        scores: FloatArray,
        labels: AnyArray,
        weights: FloatArray,
        roles: IntArray,
        g: IntArray,
        h: IntArray,
        threads: Threads = SERIAL,
    ) -> IntArray:
        """Fill g and h of all rows; see `Loss.fill_gradients`."""
        return regression_gradients(
            scores, labels, weights, roles, self.bits, self.scale, self.leaf_quantile, g, h, threads
        )


def log_loss(n_classes: int, n_rows: int) -> LogLoss:
    """Return the log loss for a number of rows."""
    return LogLoss(n_classes, whole_number_bits(n_rows))


def regression_loss(largest_residual: float, n_rows: int, quantile: float | None) -> RegressionLoss:
    """Return the squared error (`quantile` is None), or a quantile's loss, for residuals of some size at the start."""
    largest = LARGEST_SQUARED if quantile is None else LARGEST_RESIDUAL
    if not largest_residual < largest:
        raise ValueError(
            f"y holds numbers that are up to {largest_residual:.3g} away from their "
            f"{'mean' if quantile is None else 'quantile'}; sums of their losses are not finite. Divide y by a number, "
            f"so that this is below {largest:.0e}."
        )
    if 0 < largest_residual < 1 / largest:
        raise ValueError(
            f"y holds numbers that are at most {largest_residual:.3g} away from their "
            f"{'mean' if quantile is None else 'quantile'}, and their losses are 0 to the computer. Multiply y by a "
            f"number, so that this is above {1 / largest:.0e}."
        )
    # A power of two, so that dividing by it rounds nothing.
    exponent = frexp(largest_residual * RESIDUAL_GROWTH)[1] if largest_residual > 0 else 0
    return RegressionLoss(whole_number_bits(n_rows), ldexp(1.0, exponent), quantile)


def quantile_rank(quantile: float, weight: int) -> int:
    """Return the weight, in units, that the values up to a quantile have at least."""
    return max(1, ceil(quantile * weight))
