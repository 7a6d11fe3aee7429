"""Explanations of the kernel classifiers: they add up, and are the Shapley values of their games."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn import AugmentedKernelClassifier, MKLClassifier, TomographicClassifier
from fuselearn.kernels import GramLookup
from tests.fusion.fusion_data import VIEWS, table
from tests.fusion.test_fusion_explanation import views_by_subsets, with_missing_views
from tests.naive.shapley import kernel_value, shapley_by_subsets

ROWS = with_missing_views(table(12, seed=1)[0])[:9]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly"])
@pytest.mark.parametrize("kind", [TomographicClassifier, AugmentedKernelClassifier, MKLClassifier])
def test_two_classes(kind, kernel):
    model = kind(views=VIEWS, kernel=kernel).fit(*table(60))
    explanation, decision = model.explain(ROWS), model.decision_function(ROWS)
    assert_allclose(explanation.base + explanation.view_values.sum(axis=1), decision, rtol=0, atol=1e-9)
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), decision, rtol=0, atol=1e-9)
    assert_allclose(explanation.view_values, views_by_subsets(model, ROWS), atol=1e-9)


def test_a_linear_kernel_about_the_origin():
    """As a file has it whose kernels have no centre."""
    model = MKLClassifier(views=VIEWS, kernel="linear").fit(*table(60))
    model.kernels_ = [replace(kernel, centre=None) for kernel in model.kernels_]
    explanation, decision = model.explain(ROWS), model.decision_function(ROWS)
    assert_allclose(explanation.column_base + explanation.column_values.sum(axis=1), decision, rtol=0, atol=1e-9)


def test_columns_by_their_definition():
    model = MKLClassifier(views=VIEWS, absent_views="neutral").fit(*table(60))
    rows = table(3, seed=1)[0]
    values = model.explain(rows).column_values
    for view, columns in enumerate(model.view_columns_):
        factor = model.kernel_weights_[view] / model.kernel_scales_[view]
        arguments = model.support_rows_[view], model.kernels_[view].gamma, factor * model.dual_coef_[view][0]
        for row in range(3):
            expected = shapley_by_subsets(
                lambda known, x=rows[row, columns], arguments=arguments: kernel_value(x, *arguments, known),
                len(columns),
            )
            assert_allclose(values[row, columns], expected, atol=1e-10)


def test_many_classes_by_views_only():
    model = MKLClassifier(views=VIEWS).fit(*table(60, 3))
    rows = with_missing_views(table(12, 3, seed=1)[0])[:9]
    explanation = model.explain(rows)
    assert explanation.column_values is None
    assert "pairs of classes" in explanation.notes[0]
    assert_allclose(explanation.base + explanation.view_values.sum(axis=1), model.decision_function(rows), atol=1e-9)


def test_matrices_and_overlapping_views():
    X, y = table(60)
    numbers = np.column_stack([np.arange(60.0), X[:, 3:5]])
    model = MKLClassifier(views={"a": [0], "b": [1, 2]}, kernel={"a": GramLookup(X[:, :3] @ X[:, :3].T), "b": "rbf"})
    explanation = model.fit(numbers, y).explain(numbers[:5])
    assert_allclose(
        explanation.column_base + explanation.column_values.sum(axis=1), model.decision_function(numbers[:5]), atol=1e-9
    )
    with pytest.raises(ValueError, match="views of MKLClassifier overlap"):
        MKLClassifier(views={"a": [0, 1], "b": [1, 2]}).fit(X, y).explain(X[:5])
