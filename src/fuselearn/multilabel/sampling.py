"""What a base model is learned on: a balanced bootstrap sample and a random subspace (S2 Alg. 1 steps 1b to 1d)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Rows and columns of a base model.

    Attributes
    ----------
    positives, negatives : intp ndarray
        Row numbers, drawn with replacement; as many of either.
    columns : intp ndarray
        Column numbers, drawn without replacement, in ascending order.
    """

    positives: np.ndarray
    negatives: np.ndarray
    columns: np.ndarray


def draw_sample(generator, has_label, data_ratio, columns, feature_ratio):
    """Draw N·r_d/2 rows with the label, as many without it, and M·r_f columns.

    Parameters
    ----------
    generator : numpy.random.Generator
    has_label : bool ndarray of shape (n_rows,)
    data_ratio, feature_ratio : float
        r_d and r_f. Numbers of rows and columns are rounded, and at least 1.
    columns : intp ndarray
        Columns to choose from.

    Returns
    -------
    Sample

    Examples
    --------
    >>> import numpy as np
    >>> has_label = np.arange(20) < 4
    >>> sample = draw_sample(np.random.default_rng(0), has_label, 0.5, np.arange(10), 0.2)
    >>> sample.positives, sample.negatives
    (array([3, 2, 2, 1, 1]), array([ 4,  5,  4,  6, 17]))
    >>> len(sample.columns)
    2
    """
    n_drawn = max(1, round(len(has_label) * data_ratio / 2))
    n_columns = max(1, round(len(columns) * feature_ratio))
    positives, negatives = np.flatnonzero(has_label), np.flatnonzero(~has_label)
    return Sample(
        positives[generator.integers(len(positives), size=n_drawn)],
        negatives[generator.integers(len(negatives), size=n_drawn)],
        np.sort(generator.choice(columns, n_columns, replace=False)),
    )
