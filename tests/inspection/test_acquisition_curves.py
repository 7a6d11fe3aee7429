"""Accuracy against the views that are measured."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn import FusionClassifier, ShareBoostClassifier
from fuselearn.inspection import AcquisitionDisplay, acquisition_curve
from tests.fusion.fusion_data import VIEWS, table


@pytest.fixture(scope="module")
def model():
    X, y = table(120, 3, distance=1.5)
    return FusionClassifier(views=VIEWS, max_fits=12, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def rows():
    return table(60, 3, seed=1, distance=1.5)


@pytest.fixture(scope="module")
def curve(model, rows):
    return acquisition_curve(model, *rows, min_gains=(0.0, 0.01, 1.0), costs={"a": 3.0}, random_state=0)


def naive(model, X, min_gain, costs, start=()):
    """Measure one row after the other, one view after the other."""
    right, n_views, spent = 0, 0, 0.0
    X, y = X
    for row, label in zip(X, y):
        measured = set(start)
        while True:
            seen = np.full((1, len(row)), np.nan)
            for name in measured:
                seen[0, VIEWS[name]] = row[VIEWS[name]]
            chosen = model.next_view(seen, costs=costs, min_gain=min_gain)[0]
            if chosen is None:
                break
            measured.add(chosen)
        n_views += len(measured - set(start))
        spent += sum(costs.get(name, 1.0) for name in measured - set(start))
        right += model.predict(seen)[0] == label
    return n_views / len(X), spent / len(X), right / len(X)


def test_points_are_those_of_row_after_row(model, rows, curve):
    assert curve.min_gains.tolist() == [1.0, 0.01, 0.0]
    few = rows[0][:15], rows[1][:15]
    found = acquisition_curve(model, *few, min_gains=[0.01], costs={"a": 3.0}, start=["noise"], random_state=0)
    wanted = naive(model, few, 0.01, {"a": 3.0}, start=["noise"])
    assert_allclose([found.n_views[0], found.costs[0], found.accuracies[0]], wanted)


def test_ends_of_the_curves(model, rows, curve):
    X, y = rows
    assert curve.n_views[0] == curve.costs[0] == 0
    assert curve.accuracies[0] == curve.by_importance[0] == curve.at_random[0]
    assert curve.by_importance[-1] == curve.at_random[-1] == model.score(X, y)
    assert curve.importance_costs[-1] == curve.random_costs[-1] == 5.0
    assert (np.diff(curve.n_views) >= 0).all()
    records = curve.records()
    assert len(records) == 3 + 4 + 4
    assert records[0] == {"order": "next_view", "min_gain": 1.0, "n_views": 0.0, "cost": 0.0, "accuracy": y_share(y)}


def y_share(y):
    return float(np.mean(y == 0))


def test_views_that_cannot_be_measured(model, rows):
    X = rows[0].copy()
    X[:, :5] = np.nan
    found = acquisition_curve(model, X, rows[1], min_gains=[0.0])
    assert found.n_views[0] <= 1


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"start": ["c"]}, ValueError, "start names the view 'c'; the model has"),
        ({"start": "noise"}, TypeError, r"start must be a list of views, such as \['a'\]; got 'noise'"),
        ({"start": 0}, TypeError, "start must be a list of views"),
        ({"costs": {"c": 2.0}}, ValueError, "costs names the view 'c'; the model has"),
        ({"costs": {"a": 0.0}}, ValueError, "costs must be numbers above 0; got 0.0 for the view 'a'"),
        ({"costs": [1.0]}, TypeError, "costs must be a dict of view to cost, or None; got list"),
        ({"min_gains": 0.01}, TypeError, r"min_gains must be a list of probabilities.*got 0\.01"),
        ({"min_gains": [0.01, 1.5]}, ValueError, r"each of min_gains must be a probability from 0 to 1.*got 1\.5"),
        ({"min_gains": [np.nan]}, ValueError, "each of min_gains must be a probability"),
    ],
)
def test_wrong_arguments_are_named_before_any_work(model, arguments, error, words):
    with pytest.raises(error, match=words):
        acquisition_curve(model, None, None, **arguments)  # the rows are not looked at


def test_models_without_next_view_are_refused(model, rows):
    X, y = rows
    boosted = ShareBoostClassifier(views=VIEWS, n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="ShareBoostClassifier has no next_view"):
        acquisition_curve(boosted, X, y)


def test_display(model, rows, curve):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    display = AcquisitionDisplay(curve=curve, by_cost=True).plot()
    assert set(display.lines_) == {"next_view", "by importance", "at random"}
    assert_allclose(display.lines_["next_view"].get_xdata(), curve.costs)
    assert display.ax_.get_xlabel() == "mean cost of the views measured"
    other = AcquisitionDisplay.from_estimator(model, rows[0][:9], rows[1][:9], min_gains=[0.1])
    assert other.ax_.get_xlabel() == "mean number of views measured"
    pyplot.close("all")
