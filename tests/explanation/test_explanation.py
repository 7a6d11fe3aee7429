"""The result of explain: tables, pictures and HTML."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn import ShareGradientBoostingClassifier
from fuselearn.explanation import Explanation
from tests.fusion.fusion_data import VIEWS, table


@pytest.fixture(scope="module")
def explanations():
    found = {}
    for n_classes in (2, 3):
        X, y = table(120, n_classes)
        model = ShareGradientBoostingClassifier(views=VIEWS, n_estimators=5, min_samples_leaf=5, random_state=0)
        found[n_classes] = model.fit(X, np.array(["ill", "well", "<b>"])[y]).explain(X[:7])
    return found


def test_frames_have_a_line_for_each_contribution(explanations):
    frame = explanations[2].to_frame()
    assert list(frame.columns) == ["row", "view", "column", "contribution"]
    assert len(frame) == 7 * 7
    assert_allclose(frame.groupby("row")["contribution"].sum(), explanations[2].decision, atol=1e-9)
    assert frame.loc[frame["column"] == "x4", "view"].unique().tolist() == ["b"]
    frame = explanations[3].to_frame("views")
    assert list(frame.columns) == ["row", "view", "class", "contribution"]
    sums = frame.groupby(["row", "class"])["contribution"].sum().unstack()[explanations[3].classes.tolist()]
    assert_allclose(sums, explanations[3].decision, atol=1e-9)


def test_html_has_the_largest_contributions_and_no_markup_of_the_user(explanations):
    html = explanations[3]._repr_html_()
    assert "<b>" not in html
    assert html.count("<caption>") == 5
    assert "decision" in explanations[2]._repr_html_()
    assert repr(explanations[2]) == "Explanation of 7 rows by 3 views and 6 columns"


def test_pictures_end_at_the_decision(explanations):
    display = explanations[2].plot(3, n_largest=2)
    widths = [bar.get_width() for bar in display.bars_]
    assert len(widths) == 3
    assert_allclose(display.base + sum(widths), explanations[2].decision[3], atol=1e-9)
    display = explanations[3].plot(2, of="views", class_="ill")
    assert len(display.bars_) == 3
    assert "ill" in display.ax_.get_title()
    plt.close("all")


def test_importances_are_mean_absolute_values(explanations):
    assert_allclose(explanations[2].importances(), np.abs(explanations[2].column_values).mean(axis=0))
    assert explanations[3].importances("views").shape == (3,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: found.plot(9), "row must be below 7"),
        (lambda found: found.plot(0, class_="no"), r"class_ must be one of \['<b>', 'ill', 'well'\]; got 'no'"),
        (lambda found: found.to_frame("rows"), "of must be one of"),
        (lambda found: found.plot(0, n_largest=0), "n_largest must be an integer of at least 1"),
    ],
)
def test_bad_arguments(explanations, call, message):
    with pytest.raises(ValueError, match=message):
        call(explanations[3])


def test_one_decision_is_for_the_second_class_only(explanations):
    with pytest.raises(ValueError, match="class_ is for more than two classes; got 'x'"):
        explanations[2].plot(0, class_="x")
    assert explanations[2].of_row(0, class_=explanations[2].classes[1])[0] == explanations[2].of_row(0)[0]


def test_a_model_without_columns_says_so():
    found = Explanation(np.zeros((1, 2)), 0.0, None, None, np.zeros(1), ["a", "b"], ["x0"], [np.arange(1)] * 2)
    assert found.to_frame().shape[0] == 3
    with pytest.raises(ValueError, match="explained by views only"):
        found.to_frame("columns")
