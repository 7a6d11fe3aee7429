"""What a leaf is worth, and the units of what is summed in it."""

import math

import numpy as np
import pytest

from fuselearn.boosting.gradient.losses import regression_loss
from fuselearn.boosting.gradient.splitting import GrowthSettings

FREE = (-math.inf, math.inf)


def growth(**changes):
    settings = {
        "max_leaf_nodes": 31,
        "min_samples_leaf": 20,
        "l2_regularization": 0.0,
        "learning_rate": 0.1,
        "units": (0.5, 0.25, 0.125),
        "leaf_quantile": None,
        "edges": np.zeros((2, 6)),
        "n_values": np.array([7, 7]),
        "categorical": np.zeros(2, dtype=bool),
        "monotonic": np.zeros(2, dtype=np.int8),
    }
    return GrowthSettings(**{**settings, **changes})


@pytest.mark.parametrize(
    ("sums", "bounds", "l2", "value"),
    [
        ((-6, 8, 40), FREE, 0.0, 1.5),  # g = -3, h = 2
        ((-6, 8, 40), FREE, 4.0, 0.5),
        ((6, 8, 40), FREE, 0.0, -1.5),
        ((-6, 8, 40), (-1.0, 1.0), 0.0, 1.0),
        ((6, 8, 40), (-1.0, 1.0), 0.0, -1.0),
        ((-6, 0, 40), FREE, 0.0, 0.0),  # nothing to divide by
        ((-6, 0, 40), FREE, 2.0, 1.5),
    ],
)
def test_value_of_a_leaf_and_what_it_lowers_the_loss_by(sums, bounds, l2, value):
    """The loss of a value v is g·v + (h + λ)·v² / 2, whose least value within the bounds is the leaf's."""
    settings = growth(l2_regularization=l2)
    g, h = 0.5 * sums[0], 0.25 * sums[1] + l2
    assert settings.value(sums, bounds) == value
    assert settings.score(sums, bounds) == pytest.approx(-2 * (g * value + h * value**2 / 2))


def test_limits_in_whole_numbers():
    settings = growth()
    assert settings.least_weight == 160  # 20 rows in units of an eighth
    assert settings.least_hessian >= 1
    assert settings.missing_bin == 7
    assert growth(max_leaf_nodes=1000).max_depth == 20
    assert growth(max_leaf_nodes=1025).max_depth == 22


@pytest.mark.parametrize(("largest", "scale"), [(1.0, 8.0), (1.9, 8.0), (2.1, 16.0), (0.3, 2.0), (0.0, 1.0)])
@pytest.mark.parametrize("quantile", [None, 0.5])
def test_residuals_may_grow_fourfold_before_they_count_as_less(largest, scale, quantile):
    """Their unit is a power of two, at least that of four times the largest residual at the start."""
    loss = regression_loss(largest, 100, quantile)
    assert loss.scale == scale >= 4 * largest
