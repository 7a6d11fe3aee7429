"""The kernel machine behind the default base model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from fuselearn import MSSBoostClassifier
from fuselearn.multilabel import RbfSVC, rbf_svc
from fuselearn.numeric import fixed_size_svm
from fuselearn.numeric.rbf import ALL_CANCELLED, CANCELLED, NEAR, NEGLIGIBLE, rbf_decision_values, rbf_gram
from tests.naive import mssboost as naive

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 20))
Y = (X @ rng.normal(size=(20, 2)) + rng.normal(size=(300, 2)) > 0).astype(int)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_rbf_machine_is_scikit_learns(gamma, C):
    ours = RbfSVC(C=C, gamma=gamma, tol=1e-6).fit(X, Y[:, 0])
    theirs = SVC(C=C, gamma=gamma, tol=1e-6).fit(X, Y[:, 0])
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert ours.support_vectors_.shape == theirs.support_vectors_.shape


def test_large_samples_go_to_libsvm(monkeypatch):
    small = RbfSVC(tol=1e-8).fit(X, Y[:, 0])
    monkeypatch.setattr("fuselearn.multilabel.rbf_svc.GRAM_ROWS", 100)
    large = RbfSVC(tol=1e-8).fit(X, Y[:, 0])
    assert_allclose(small.decision_function(X), large.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(("max_vectors", "n_vectors"), [(1, 1), (7, 7), (40, 40), ("auto", 24), (1000, 60)])
def test_machine_of_fixed_size(max_vectors, n_vectors):
    """√40·ln 40 is 23.3."""
    rows, y = X[:60, :4], Y[:60, 0]
    if max_vectors == "auto":
        rows, y = rows[:40], y[:40]
    machine = RbfSVC(C=0.7, gamma=0.3, max_vectors=max_vectors).fit(rows, y)
    assert machine.support_vectors_.shape == (n_vectors, 4)
    vectors = [int(np.flatnonzero((rows == vector).all(axis=1))[0]) for vector in machine.support_vectors_]
    assert len(set(vectors)) == n_vectors
    coefficients, intercept = naive.least_squares_machine(rows, y, 0.7, 0.3, vectors)
    expected = rbf_kernel(X[:, :4], rows[vectors], gamma=0.3) @ coefficients + intercept
    assert_allclose(machine.decision_function(X[:, :4]), expected, atol=1e-4)


def test_machine_of_fixed_size_with_all_rows_is_suykens():
    """The dual system of the least squares machine: 1'a = 0, K a + a / C + b = y."""
    rows, y = X[:50, :5], 2 * Y[:50, 0] - 1
    weights = rng.uniform(0.5, 2, 50)
    machine = RbfSVC(C=2.0, gamma=0.2, max_vectors=50).fit(rows, y, sample_weight=weights)
    K = rbf_kernel(rows, gamma=0.2)
    system = np.block([[np.zeros((1, 1)), np.ones((1, 50))], [np.ones((50, 1)), K + np.diag(1 / (2.0 * weights))]])
    solution = np.linalg.solve(system, np.r_[0, y])
    expected = K @ solution[1:] + solution[0]
    assert_allclose(machine.decision_function(rows), expected, atol=1e-5)


def test_machine_of_fixed_size_in_blocks(monkeypatch):
    whole = RbfSVC(max_vectors=20).fit(X, Y[:, 0])
    monkeypatch.setattr(fixed_size_svm, "ROWS_AT_A_TIME", 77)
    assert_allclose(RbfSVC(max_vectors=20).fit(X, Y[:, 0]).dual_coef_, whole.dual_coef_, rtol=1e-6)


def test_machine_of_fixed_size_of_equal_rows():
    rows = np.repeat(X[:6], 10, axis=0)
    machine = RbfSVC(max_vectors=30, C=1e6).fit(rows, np.repeat(Y[:6, 0], 10))
    assert np.isfinite(machine.decision_function(X)).all()


def test_machine_of_fixed_size_with_nothing_to_say():
    """As many rows of either sign at each of two points: the least squares solution is 0."""
    rows, y = np.tile([[0.0], [0.0], [1.0], [1.0]], (20, 1)), np.tile([0, 1], 40)
    machine = RbfSVC(max_vectors="auto").fit(rows, y)
    assert_array_equal(machine.decision_function(rows), 0.0)


def test_vectors_of_a_rare_class_are_all_kept():
    signs = np.r_[np.ones(3), -np.ones(97)]
    chosen = fixed_size_svm.choose_vectors(signs, 20)
    assert_array_equal(chosen[:3], [0, 1, 2])
    assert len(np.unique(chosen)) == 20


def test_vectors_are_of_all_kinds_of_rows_that_take_turns():
    kinds = np.arange(1200) % 6
    chosen = fixed_size_svm.choose_vectors(np.where(kinds < 2, 1.0, -1.0), 240)
    assert np.bincount(kinds[chosen]) == pytest.approx([60, 60, 30, 30, 30, 30], abs=15)
    assert len(np.unique(chosen)) == 240


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C must be a number above 0; got 0"),
        ({"gamma": "wide"}, "gamma must be 'scale', 'auto' or a number above 0; got 'wide'"),
        ({"gamma": -1.0}, "gamma must be 'scale', 'auto' or a number above 0; got -1.0"),
        ({"tol": 0}, "tol must be a number above 0; got 0"),
        ({"max_vectors": 0}, "max_vectors must be an integer of at least 1; got 0"),
        ({"max_vectors": "few"}, "max_vectors must be"),
    ],
)
def test_settings_of_the_rbf_machine(settings, message):
    with pytest.raises(ValueError, match=message):
        RbfSVC(**settings).fit(X, Y[:, 0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"sample_weight must hold a weight for each of the 300 rows of X; got shape \(3,\)"),
        (-np.ones(300), "sample_weight holds negative weights, the least -1.0; weights must be at least 0"),
        (Y[:, 0], "sample_weight is zero for all rows of a class"),
    ],
)
def test_weights_of_the_rbf_machine(weights, message):
    with pytest.raises(ValueError, match=message):
        RbfSVC().fit(X, Y[:, 0], sample_weight=weights)


@pytest.mark.parametrize("far", [0.0, 5.0, 1e4])
@pytest.mark.parametrize("single", [False, True])
def test_kernel_values_by_blocks(single, far):
    """In single precision too, and where it would not do: two clusters far from their common centre."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 5)) + far * rng.choice([-1, 1], (700, 1))
    vectors, coefficients = rows[::3], rng.normal(size=234)
    values = np.empty(700)
    rbf_decision_values(rows, vectors, coefficients, 0.5, 0.2, values, single=single)
    expected = rbf_kernel(rows, vectors, gamma=0.2) @ coefficients + 0.5
    assert_allclose(values, expected, atol=1e-4 if single and 0.2 * 5 * far**2 < NEAR else 1e-6)
    near = rows[: 2 * 117] / max(1.0, far)
    assert_allclose(rbf_gram(near, 0.2), rbf_kernel(near, gamma=0.2), atol=1e-12)


def test_far_from_the_origin_nothing_cancels():
    moved = RbfSVC().fit(X + 1e6, Y[:, 0])
    assert_allclose(moved.decision_function(X + 1e6), RbfSVC().fit(X, Y[:, 0]).decision_function(X), atol=1e-3)


def test_single_precision_is_for_values_that_it_can_hold():
    """What is a small part of Σ|c| is the double value, bit for bit; so is all of a machine that says little."""
    vectors, c = X[:200], rng.normal(size=200)
    exact, near = np.empty(300), np.empty(300)
    total = np.abs(c).sum()
    for intercept in (0.0, -rbf_kernel(X[:1], vectors, gamma=0.02)[0] @ c):
        for out, single in ((exact, False), (near, True)):
            rbf_decision_values(X, vectors, c, intercept, 0.02, out, single=single)
        small = np.abs(near) < CANCELLED * total
        assert_array_equal(near[small], exact[small])
        assert_allclose(near, exact, atol=1e-7 * total)
    assert small.any()  # the first row, at the intercept that takes its value away
    assert not np.array_equal(near, exact)
    flat = np.full((200, 20), 0.1)  # equal vectors: every term is the same, and all of them cancel
    little = np.resize([1.0, -1.0 + 1e-7], 200)
    for out, single in ((exact, False), (near, True)):
        rbf_decision_values(X, flat, little, 0.0, 0.02, out, single=single)
    assert 0 < np.abs(exact).max() < ALL_CANCELLED * 200
    assert_array_equal(near, exact)


@pytest.mark.parametrize("single", [False, True])
def test_rounding_of_nothing_is_nothing(single):
    """Terms that cancel leave exact zeros, not rounding with a sign of its own."""
    vectors = np.repeat(X[:50], 2, axis=0)
    c = np.tile([1.0, -1.0], 50) * np.repeat(rng.uniform(1, 100, 50), 2)
    order = rng.permutation(100)
    values = np.empty(300)
    rbf_decision_values(X, vectors[order], c[order], 0.0, 0.02, values, single=single)
    assert_array_equal(values, 0.0)
    rbf_decision_values(X, vectors[order], c[order], 2 * NEGLIGIBLE * np.abs(c).sum(), 0.02, values, single=single)
    assert (values > 0).all()


@pytest.mark.parametrize("estimator", [None, SVC()])
@pytest.mark.parametrize("factor", [1e200, 1e-160])
def test_rows_without_a_kernel_width(factor, estimator):
    with pytest.raises(ValueError, match=r"X must have a variance that gamma='scale' can divide by; .*StandardScaler"):
        MSSBoostClassifier(estimator, random_state=0).fit(X * factor, Y)
    with pytest.raises(ValueError, match="X must have a variance"):
        RbfSVC().fit(X * factor, Y[:, 0])


def test_rows_without_distances():
    with pytest.raises(ValueError, match=r"X must have squared distances that are finite numbers; .* is \d.*e\+200"):
        RbfSVC(gamma=1.0).fit(X * 1e200, Y[:, 0])


@pytest.mark.parametrize("power", [-400, -130, 130, 400])
def test_units_of_the_columns_do_not_matter(power):
    """In single precision 2^130 would be infinite. A power of two changes no bit."""
    factor = 2.0**power
    plain, scaled = (MSSBoostClassifier(n_estimators=5, random_state=0).fit(X * by, Y) for by in (1.0, factor))
    assert_array_equal(scaled.loss_curve_, plain.loss_curve_)
    assert_array_equal(scaled.decision_function(X * factor), plain.decision_function(X))


@pytest.mark.parametrize("far", [1e20, 1e39, 1e150, 1e300])
def test_a_row_far_away(far):
    """It is in the training rows, but in few samples, and its kernel values are 0."""
    model = MSSBoostClassifier(n_estimators=5, random_state=0, feature_ratio=0.5).fit(X, Y)
    away = X.copy()
    away[7] = far
    values = model.decision_function(away)
    assert np.isfinite(values).all()
    assert_array_equal(np.delete(values, 7, axis=0), np.delete(model.decision_function(X), 7, axis=0))
    expected = model.intercepts_ + sum(
        np.clip(machine.intercept_[0], -1, 1) * weights
        for machine, weights in zip(model.estimators_, model.label_weights_)
    )
    assert_allclose(values[7], expected, atol=1e-10)
    if far < 1e150:
        with pytest.warns(UserWarning, match="gross outliers"):
            refitted = MSSBoostClassifier(n_estimators=5, random_state=0).fit(away, Y)
        assert np.isfinite(refitted.decision_function(away)).all()


def test_a_machine_without_support_vectors():
    """A tolerance above the first violation leaves the solver nothing to do."""
    machine = RbfSVC(tol=3).fit(X, Y[:, 0])
    assert len(machine.support_vectors_) == 0
    assert_array_equal(machine.decision_function(X), machine.intercept_[0])
    model = MSSBoostClassifier(RbfSVC(tol=3), n_estimators=3, random_state=0).fit(X, Y)
    assert_array_equal(model.decision_function(X), 0.0)


def test_a_machine_that_was_not_finished(monkeypatch):
    solve = rbf_svc.solve_svm
    monkeypatch.setattr(rbf_svc, "solve_svm", lambda *given, **options: solve(*given, **options, max_iter=3))
    with pytest.warns(ConvergenceWarning, match=r"RbfSVC stopped after 3 steps without reaching tol=0\.001"):
        RbfSVC().fit(X, Y[:, 0])
