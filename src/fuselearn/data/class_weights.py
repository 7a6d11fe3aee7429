"""Weights of classes: the `class_weight` of an estimator as factors by which the weights of rows are multiplied.

What a class weighs is known from the sums of weights of all classes. These are exact (`numeric.exact_sums`), so that
rows in partitions, whose sums are added up, get the same weights as rows in one place, to the last bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np

from fuselearn.numeric.exact_sums import limb_sums, sums_of_limbs
from fuselearn.typing import AnyArray, FloatArray, IntArray

BALANCED = "balanced"
ClassWeight: TypeAlias = str | Mapping[Any, float] | None
"""The `class_weight` argument of an estimator."""


@dataclass(frozen=True)
class ClassWeights:
    """Factors by which the weights of rows are multiplied, so that the largest of all is 1.

    Parameters
    ----------
    factors : ndarray of shape (n_classes,)
        What a row of each class weighs, as :func:`sklearn.utils.class_weight.compute_class_weight` has it.
    largest : float
        The largest weight of a row after it was multiplied by the factor of its class: the new unit.

    Examples
    --------
    >>> classes = np.array(["common", "rare"])
    >>> balanced = ClassWeights.of("balanced", classes, totals=np.array([9.0, 1.0]), largest=np.ones(2))
    >>> balanced.of_rows(np.array([0, 0, 1]), np.ones(3)).round(3)
    array([0.111, 0.111, 1.   ])
    """

    factors: FloatArray
    largest: float

    @classmethod
    def of(cls, class_weight: ClassWeight, classes: AnyArray, totals: FloatArray, largest: FloatArray) -> Self:
        """Return the factors of the classes.

        Parameters
        ----------
        class_weight : None, "balanced" or dict of class to weight
            None: 1 for each. "balanced": such that all classes have the same weight together, and the weight of all
            rows stays what it is. Classes that a dict leaves out have 1.
        classes : ndarray of shape (n_classes,)
            The classes.
        totals : ndarray of shape (n_classes,)
            Sum of the weights of the rows of each class, in all partitions.
        largest : ndarray of shape (n_classes,)
            Largest weight of a row of each class, in all partitions.

        Returns
        -------
        ClassWeights
            The factors.

        Raises
        ------
        ValueError
            If `class_weight` is something else, names a class that is not there, or has a weight that is not above 0.
        """
        factors = given_class_weights(class_weight, classes)
        if factors is None:
            factors, weighted = np.ones(len(classes)), totals > 0
            factors[weighted] = totals.sum() / (np.count_nonzero(weighted) * totals[weighted])
        return cls(factors, float((factors * largest).max()))

    def of_rows(self, codes: IntArray, weights: FloatArray) -> FloatArray:
        """Return the weights of rows of these class codes, in units of the largest; a code of -1 is of no class.

        Parameters
        ----------
        codes : integer ndarray of shape (n_rows,)
            Class codes of rows, of all of them or of those of a partition.
        weights : ndarray of shape (n_rows,)
            Their weights by `sample_weight`.

        Returns
        -------
        ndarray of shape (n_rows,)
            New weights.
        """
        return weights * np.append(self.factors, 1.0)[codes] / self.largest


def given_class_weights(class_weight: ClassWeight, classes: AnyArray) -> FloatArray | None:
    """Return the weight of each class; None for "balanced", which depends on how large the classes are.

    Parameters
    ----------
    class_weight : None, "balanced" or dict of class to weight
        None: 1 for each. Classes that a dict leaves out have 1.
    classes : ndarray of shape (n_classes,)
        The classes.

    Returns
    -------
    ndarray of shape (n_classes,) or None
        The weights.

    Raises
    ------
    ValueError
        If `class_weight` is something else, names a class that is not there, or has a weight that is not above 0.

    Examples
    --------
    >>> given_class_weights({"b": 4}, np.array(["a", "b"]))
    array([1., 4.])
    """
    if isinstance(class_weight, str) and class_weight == BALANCED:
        return None
    weights = np.ones(len(classes))
    if isinstance(class_weight, Mapping):
        for label, weight in _checked_weights(class_weight, classes).items():
            weights[classes.tolist().index(label)] = weight
    elif class_weight is not None:
        raise ValueError(
            f"class_weight must be None, {BALANCED!r} or a dict of class to weight; got {class_weight!r:.60}."
        )
    return weights


def class_weighted(
    codes: IntArray, classes: AnyArray, weights: FloatArray, class_weight: ClassWeight
) -> tuple[FloatArray, float]:
    """Return the weights of all rows with those of their classes, and what 1 of them is; see `ClassWeights.of`.

    Parameters
    ----------
    codes : integer ndarray of shape (n_rows,)
        Class codes; -1 for a row of no class.
    classes : ndarray of shape (n_classes,)
        The classes.
    weights : ndarray of shape (n_rows,)
        Weights by `sample_weight`, of which the largest is 1.
    class_weight : None, "balanced" or dict of class to weight
        What the user gave.

    Returns
    -------
    weights : ndarray of shape (n_rows,)
        New weights, of which the largest is 1; the same array for None.
    largest : float
        The largest product of a row's weight and that of its class, which is 1 of the new weights.

    Examples
    --------
    >>> class_weighted(np.array([0, 1, 1]), np.array(["a", "b"]), np.ones(3), {"b": 4})
    (array([0.25, 1.  , 1.  ]), 4.0)
    """
    if class_weight is None:
        return weights, 1.0
    counted = (codes >= 0) & (weights > 0)
    totals = np.array(sums_of_limbs(limb_sums(weights[counted], codes[counted], len(classes))))
    largest = np.zeros(len(classes))
    np.maximum.at(largest, codes[counted], weights[counted])
    of_classes = ClassWeights.of(class_weight, classes, totals, largest)
    return of_classes.of_rows(codes, weights), of_classes.largest


def _checked_weights(class_weight: Mapping[Any, float], classes: AnyArray) -> dict[Any, float]:
    """Return the weights of a dict, whose keys must be classes and whose values numbers above 0."""
    known = classes.tolist()
    if unknown := [label for label in class_weight if label not in known]:
        raise ValueError(
            f"class_weight names classes that y does not have: {', '.join(map(repr, unknown[:5]))}; the classes are "
            f"{known[:20]}."
        )
    for label, weight in class_weight.items():
        if isinstance(weight, bool) or not (isinstance(weight, Real) and 0 < float(weight) < np.inf):
            raise ValueError(
                f"class_weight gives the class {label!r} the weight {weight!r}; a number above 0 is needed. Leave the "
                "rows of a class that is not to count out of fit."
            )
    return {label: float(weight) for label, weight in class_weight.items()}
