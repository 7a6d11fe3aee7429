"""S2's Theorems 2 and 3, and the costs of its section 4.4, as numbers.

S2: Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007. Its losses are in
logarithms of base 2, so that the loss of F = 0 is N·L; those of `loss_curve_` are natural. All losses here are natural.
"""

from math import log
from typing import NamedTuple

import numpy as np

from fuselearn.arguments import check_count, check_positive
from fuselearn.typing import FloatArray, IntArray


class Speedup(NamedTuple):
    """How many times faster than one model per label on all rows and columns (S2 section 4.4).

    Attributes
    ----------
    learning, prediction : float
    """

    learning: float
    prediction: float


def most_errors(joint_loss: float) -> float:
    """Return the bound of Theorem 2 on the number of training errors, over rows and labels: loss / ln 2.

    Examples
    --------
    >>> import numpy as np
    >>> round(most_errors(3 * np.log(2)))  # of three rows with F = 0
    3
    """
    return joint_loss / log(2.0)


def edges(outputs: FloatArray, signs: IntArray, margins: FloatArray) -> FloatArray:
    """Return λ of Theorem 3 for a model and each label: Σ w·y·h / Σ w with w = 1/(1 + e^m).

    Parameters
    ----------
    outputs : ndarray of shape (n_rows,)
        h of each row, in [-1, 1].
    signs, margins : ndarray of shape (n_labels, n_rows)
        y, and m = y·F.

    Returns
    -------
    ndarray of shape (n_labels,)
        Weighted margins.
    """
    weights = np.exp(-np.logaddexp(0.0, margins))
    return (weights * signs) @ outputs / weights.sum(axis=1)


def least_decrease(n_rows: int, n_labels: int, edge: float, loss: float) -> float:
    """Return by how much a round lowers the joint loss at least: λ²·S₀² / (2·N³·L³·ln² 2), of Theorem 3's proof.

    That is S2's number with natural logarithms, and with the factor 1 - 2^(-N·L) that S2 rounds to 1.

    Parameters
    ----------
    n_rows, n_labels : int
        N and L.
    edge : float
        λ: least weighted margin of the candidates on their own labels.
    loss : float
        S₀: the loss of the worst label.

    Returns
    -------
    float
        Of the joint loss.
    """
    check_count("n_rows", n_rows)
    check_count("n_labels", n_labels)
    check_positive("edge", edge)
    check_positive("loss", loss)
    size = n_rows * n_labels
    slope = edge * loss * (1.0 - 2.0**-size) / (size * log(2.0))  # S2 (4) and (5)
    return slope**2 / (2.0 * size)


def most_rounds(n_rows: int, n_labels: int, edge: float, loss: float) -> float:
    """Return after how many rounds the joint loss is at most S₀·L: 2·N⁴·L⁴·ln³ 2 / (λ²·S₀²), of Theorem 3.

    The number is of no practical use: 500 rows of three labels, λ = 0.1 and a loss of 10 for each label take 3·10¹²
    rounds. S2 uses it to show that boosting gets there at all.

    Parameters
    ----------
    n_rows, n_labels, edge, loss
        As of :func:`least_decrease`.

    Returns
    -------
    float
        Rounds.

    Examples
    --------
    >>> f"{most_rounds(500, 3, edge=0.1, loss=10.0):.0e}"
    '3e+12'
    """
    return n_rows * n_labels * log(2.0) / least_decrease(n_rows, n_labels, edge, loss)


def speedup(
    n_labels: int, n_models: int, data_ratio: float, feature_ratio: float, *, kernel_machines: bool = True
) -> Speedup:
    """Return the factors of S2 section 4.4, which count L + T base models learned and T used.

    Learning time is m·n² for kernel machines and m·n·log n, taken as m·n, for trees; prediction time is m·n for either.

    Parameters
    ----------
    n_labels, n_models : int
        L and T.
    data_ratio, feature_ratio : float
        r_d and r_f.
    kernel_machines : bool, default=True
        False for trees.

    Returns
    -------
    Speedup
        Factors of learning and of prediction.

    Examples
    --------
    >>> learning, prediction = speedup(n_labels=100, n_models=300, data_ratio=0.1, feature_ratio=0.1)
    >>> round(learning), round(prediction)  # "around 250 times and 33 times"
    (250, 33)
    """
    check_count("n_labels", n_labels)
    check_count("n_models", n_models)
    check_positive("data_ratio", data_ratio)
    check_positive("feature_ratio", feature_ratio)
    learned = data_ratio ** (2 if kernel_machines else 1) * feature_ratio
    return Speedup(n_labels / ((n_models + n_labels) * learned), n_labels / (n_models * data_ratio * feature_ratio))
