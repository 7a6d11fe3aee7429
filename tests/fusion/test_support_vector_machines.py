"""Support vector machines of a fusion against libsvm."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from fuselearn.fusion.base_models.kernel_machines import possible_scales
from fuselearn.fusion.base_models.support_vector_machines import SupportVectorRows, _solve
from fuselearn.numeric.rbf import rbf_kernel


def problem(n_positive, n_negative, seed=0):
    """Rows of two classes, and their signs."""
    signs = np.repeat([1.0, -1.0], [n_positive, n_negative])
    X = np.random.default_rng(seed).normal(size=(len(signs), 4)) + 0.5 * signs[:, None]
    return X, signs


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_machines_have_balanced_classes(penalty):
    X, signs = problem(30, 12)
    gram = rbf_kernel(X, X, 0.2)
    coefficients, intercept = _solve(gram, signs, np.full(len(signs), penalty), 1e-8)
    svc = SVC(C=penalty, kernel="precomputed", class_weight="balanced", tol=1e-8).fit(gram, signs)
    assert_allclose(gram @ coefficients, svc.decision_function(gram) - svc.intercept_, rtol=1e-5, atol=1e-6)
    if penalty > 1:  # else all rows may be at their bounds, and an interval of intercepts is as good
        assert_allclose(intercept, svc.intercept_[0], rtol=1e-4)


def test_out_of_fold_values_do_not_lean_against_the_labels():
    """With a low C, a row more of one class must not decide on which side all rows of a fold are."""
    correlations = []
    for seed in range(10):
        X, signs = problem(31, 30, seed)
        X -= 0.5 * signs[:, None]  # nothing to be learnt
        rows = SupportVectorRows(possible_scales(X), X, np.ones(len(X)), None, np.random.SeedSequence(seed))
        fit = rows.fit(signs[:, None], 0, np.random.SeedSequence(seed))
        correlations.append(np.corrcoef(fit.out_of_fold[:, 0], signs)[0, 1])
    assert np.mean(correlations) > -0.15
