"""Newton steps of the softmax models: where they lead, where they are halved, and where they end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuselearn.classifiers.calibration import (
    MOST_CONJUGATE,
    MOST_HALVINGS,
    _ascend,
    _conjugate_step,
    _end_by_gain,
    _end_by_size,
    _newton_step,
)


def no_end(point, step, gain):
    return step, False


def on_a_line(heights):
    """A height on a line and what is asked of it, with a gradient and a curvature that lead from 0 to 1."""
    asked = []

    def height(point):
        asked.append(float(point[0]))
        return heights(float(point[0])), point

    return height, lambda point, logs: (np.ones(1), np.eye(1)), asked


def test_a_step_that_does_not_lead_up_is_halved():
    height, derivatives, asked = on_a_line(lambda x: -abs(x - 0.13))

    def one_step(point, step, gain):
        return (0 * step, True) if point[0] else (step, False)

    assert _ascend(np.zeros(1), height, derivatives, one_step) == 0.25
    assert asked == [0.0, 1.0, 0.5, 0.25]


def test_where_no_step_leads_up_the_point_stays():
    """Equal heights are no way up: rounding would lead anywhere."""
    height, derivatives, asked = on_a_line(lambda x: 7.0)
    assert _ascend(np.zeros(1), height, derivatives, no_end) == 0
    assert_allclose(asked[1:], 0.5 ** np.arange(MOST_HALVINGS + 1))
    assert asked[-1] < 1e-6


def test_the_last_step_is_made_and_not_judged():
    height, derivatives, asked = on_a_line(lambda x: -x)
    gains = []

    def last(point, step, gain):
        gains.append(gain)
        return step / 4, True

    assert _ascend(np.zeros(1), height, derivatives, last) == 0.25
    assert asked == [0.0]
    assert gains == [1.0]  # the step times the gradient


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_newtons_step_leads_to_the_top_of_a_parabola(size):
    curvature = size * np.array([[2.0, 0.5], [0.5, 1.0]])
    assert_allclose(curvature @ _newton_step(np.array([3.0, -1.0]), curvature), [3.0, -1.0], rtol=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("bent_up", [-0.05, -0.005])
def test_a_ridge_makes_steps_lead_uphill(size, bent_up):
    """It is at most some ten times what is needed: more would make the step shorter for nothing."""
    curvature, gradient = size * np.diag([1.0, bent_up]), np.array([1.0, 1.0])
    step = _newton_step(gradient, curvature)
    assert gradient @ step > 0
    assert (step > 0).all()
    ridges = gradient / step - np.diag(curvature)
    assert ridges[0] == pytest.approx(ridges[1])
    assert 1 < ridges[0] / (-size * bent_up) < 12


def test_conjugate_steps_are_newtons():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    curvature, gradient = root @ root.T + np.eye(4), 50 * rng.normal(size=4)
    step = _newton_step(gradient, lambda direction: curvature @ direction)
    assert_allclose(step, np.linalg.solve(curvature, gradient), rtol=1e-2, atol=1e-2)
    assert np.linalg.norm(gradient - curvature @ step) <= 1e-3 * np.linalg.norm(gradient)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("rest", "n_products"), [(2e-4, 1), (5e-3, 2)])
def test_what_is_left_of_the_gradient_is_a_share_of_it(size, rest, n_products):
    asked = []

    def curvature(direction):
        asked.append(direction)
        return np.array([1.0, 2.0]) * direction

    _conjugate_step(size * np.array([1.0, rest]), curvature)
    assert len(asked) == n_products


def test_a_flat_density_is_left_along_the_gradient():
    gradient = np.array([0.3, 0.1])
    assert_array_equal(_conjugate_step(gradient, lambda direction: 0 * direction), gradient)
    # Curved down a little: the top is far, and not at the end of the gradient.
    assert_allclose(_conjugate_step(gradient, lambda direction: 0.5 * direction), 2 * gradient)


def test_a_step_along_some_coordinates_is_one():
    """The first direction is not of the third coordinate; the second one is curved up."""
    gradient, curved = np.array([2.0, 1.0, 0.0]), np.array([2.0, -1.0, 5.0])
    step = _conjugate_step(gradient, lambda direction: curved * direction)
    assert_allclose(step, (gradient @ gradient) / (gradient @ (curved * gradient)) * gradient)


def test_hard_curvatures_do_not_take_forever():
    scales, asked = np.logspace(0, 12, 300), []

    def curvature(direction):
        asked.append(direction)
        return scales * direction

    step = _conjugate_step(np.ones(300), curvature)
    assert step.sum() > 0
    assert len(asked) == MOST_CONJUGATE


def test_a_step_of_hardly_any_gain_is_the_last():
    point, step = np.zeros(2), np.ones(2)
    for gain, is_last in ((1e-7, False), (1e-9, True), (0.0, True)):
        assert _end_by_gain(point, step, gain)[1] == is_last
        assert_array_equal(_end_by_gain(point, step, gain)[0], step)


def test_no_coefficient_may_move():
    """A step is small where that of each coefficient is, for the size of the slope."""
    point = np.array([4.0, 1.0, -1.0])
    assert not _end_by_size(point, np.array([0.0, 0.0, 5.5e-6]), 0.0)[1]
    step, is_last = _end_by_size(point, np.array([4e-6, -3e-6, 4.5e-6]), 0.0)
    assert is_last
    assert_array_equal(step, np.zeros(3))


def test_a_slope_stays_positive():
    point = np.array([4.0, -1.0, 1.0])
    step, is_last = _end_by_size(point, np.array([-8.0, 2.0, 5.0]), 0.0)
    assert not is_last
    assert point[0] + step[0] > 0
    assert_allclose(step, 0.45 * np.array([-8.0, 2.0, 5.0]))  # nine tenths of the slope
    shorter = np.array([-3.5, 2.0, 5.0])
    assert_array_equal(_end_by_size(point, shorter, 0.0)[0], shorter)
