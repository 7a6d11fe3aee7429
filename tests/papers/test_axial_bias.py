"""S4's axial bias: CLEAN keeps the marginals and removes the ridges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn.papers.axial_bias import axial_bias, clean, pseudo_density
from tests.papers.results import same


@pytest.mark.parametrize("seed", range(5))
def test_components_of_clean_add_up_to_the_marginals(seed):
    generator = np.random.default_rng(seed)
    first, second = generator.random(30), generator.random(20)
    first, second = first / first.sum(), second / second.sum()
    components = clean(first, second, tolerance=1e-4)
    assert (components >= 0).all()
    # The sum less the components' artefacts, rows and columns through them, is the residual that CLEAN leaves.
    artefacts = components.sum(axis=1)[:, None] + components.sum(axis=0)
    residual = first[:, None] + second - artefacts
    assert residual.min() > -1e-12
    assert_allclose(components.sum(axis=1), first, atol=2e-3 * first.max())
    assert_allclose(components.sum(axis=0), second, atol=2e-3 * second.max())


def test_clean_finds_two_peaks_that_are_of_different_height():
    """Densest with densest: marginals 0.7 and 0.3 at two places each are two points, not four."""
    components = clean(np.array([0.7, 0.0, 0.3]), np.array([0.3, 0.7]), gain=0.01)
    assert components[0, 1] > 0.5
    assert components[1].sum() == 0
    # What four equally likely combinations would give.
    assert components[0, 0] < 0.7 * 0.3
    assert components[2, 1] < 0.7 * 0.3


def test_the_sum_has_ridges_and_the_deconvolved_sum_has_none():
    result = axial_bias(trials=3, grid=81)
    added, deconvolved, _ = result.outside.T
    assert (added > 0.6).all()
    assert (deconvolved < 0.2).all()
    assert (result.drift[:, 0] > 0.2).all()
    assert (result.drift[:, 1] < 0.01).all()
    assert_allclose(result.marginals.sum(axis=1), 1)
    assert_allclose(result.added.sum(), 1)
    # One hump each, at the centre of the class.
    assert_allclose(result.axis[result.marginals.argmax(axis=1)], -1.5, atol=0.5)
    assert same(result, axial_bias(trials=3, grid=81))
    assert result.table().column("pseudo-density") == ("added", "deconvolved", "multiplied")


def test_a_pseudo_density_falls_off_on_both_sides():
    generator = np.random.default_rng(0)
    ordinates = np.concatenate([generator.normal(-2, 0.5, 100), generator.normal(2, 0.5, 100)])
    axis = np.linspace(-6, 6, 61)
    density = pseudo_density(ordinates, ordinates < 0, axis)
    assert abs(axis[density.argmax()] + 2) < 0.5
    assert density[0] < 1e-6
    assert density[-1] < 1e-6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trials": 0}, "trials must be an integer of at least 1; got 0"),
        ({"vectors": 2}, "vectors must be an integer of at least 3"),
        ({"grid": 5}, "grid must be an integer of at least 11"),
        ({"gain": 0}, "gain must be a number above 0; got 0"),
        ({"gain": 0.7}, r"gain must be below 0\.5; got 0\.7"),
    ],
)
def test_bad_settings_of_axial_bias(settings, message):
    with pytest.raises(ValueError, match=message):
        axial_bias(**settings)
