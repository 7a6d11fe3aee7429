"""Redundancy of views and missing views, against slow versions and known answers."""

import numpy as np
import pytest

from fuselearn.inspection import missingness, redundancy
from tests.inspection.example_models import COLUMNS, VIEWS


def naive_alignment(A, B):
    """Debiased CKA from whole kernel matrices, term by term (Song et al. equation 5)."""

    def hsic(K, L):
        n = len(K)
        K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
        ones = np.ones(n)
        first = np.trace(K @ L)
        second = (ones @ K @ ones) * (ones @ L @ ones) / ((n - 1) * (n - 2))
        third = 2 / (n - 2) * (ones @ K @ L @ ones)
        return (first + second - third) / (n * (n - 3))

    A, B = ((table - table.mean(axis=0)) / table.std(axis=0) for table in (A, B))
    K, L = A @ A.T, B @ B.T
    return max(hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L)), 0.0)


@pytest.mark.parametrize("widths", [(3, 4), (60, 5), (60, 90)])
def test_redundancy_is_the_slow_one(widths):
    rng = np.random.default_rng(sum(widths))
    A = rng.normal(size=(40, widths[0]))
    B = 0.4 * A[:, :1] + rng.normal(size=(40, widths[1])) * 3 + 100
    found = redundancy([slice(0, widths[0]), slice(widths[0], None)], np.hstack([A, B]))
    assert found.matrix[0, 1] == pytest.approx(naive_alignment(A, B), abs=1e-10)
    np.testing.assert_array_equal(found.matrix, found.matrix.T)
    np.testing.assert_array_equal(np.diag(found.matrix), 1)


def test_a_copy_is_redundant_and_noise_is_not():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 4))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    whitened = (A - A.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(A.T, ddof=0)).T)
    X = np.hstack([A, A, 1e6 - 5 * A, rng.normal(size=(80, 500)), np.ones((80, 2)), whitened, whitened @ turn])
    views = [slice(0, 4), slice(4, 8), slice(8, 12), slice(12, 512), slice(512, 514), slice(514, 518), slice(518, None)]
    matrix = redundancy(views, X).matrix
    assert matrix[0, 1] == matrix[0, 2] == 1.0
    assert matrix[0, 3] < 0.15
    np.testing.assert_array_equal(matrix[4], [0, 0, 0, 0, 1, 0, 0])
    assert matrix[5, 6] == pytest.approx(1.0, abs=1e-9)
    assert ((matrix >= 0) & (matrix <= 1)).all()


def test_redundancy_is_of_rows_that_have_both():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 3))
    B = A + rng.normal(size=(50, 3))
    X = np.hstack([A, B, A])
    X[:20, 3:6] = np.nan
    X[3:, 6:] = np.nan
    found = redundancy({"a": slice(0, 3), "b": slice(3, 6), "c": slice(6, 9)}, X)
    assert found.matrix[0, 1] == pytest.approx(naive_alignment(A[20:], B[20:]))
    assert np.isnan(found.matrix[0, 2])
    assert np.isnan(found.matrix[1, 2])
    np.testing.assert_array_equal(found.n_rows, [[50, 30, 3], [30, 30, 0], [3, 0, 3]])
    records = found.records()
    assert records[0]["first"] == "a"
    assert records[0]["second"] == "b"
    assert records[1] == {"first": "a", "second": "c", "redundancy": None, "rows": 3}


def test_many_rows_are_sampled_alike(monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6000, 3))
    X = np.hstack([A, A + rng.normal(size=(6000, 3))])
    views = [slice(0, 3), slice(3, 6)]
    all_rows = redundancy(views, X)
    monkeypatch.setattr("fuselearn.inspection.view_statistics.MAX_ROWS", 3000)
    sample = redundancy(views, X)
    assert sample.matrix[0, 1] != all_rows.matrix[0, 1]
    assert sample.matrix[0, 1] == pytest.approx(all_rows.matrix[0, 1], abs=0.03)
    assert redundancy(views, X).matrix[0, 1] == sample.matrix[0, 1]
    assert sample.n_rows[0, 1] == 6000


def test_gaps_count_as_the_mean_of_their_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X[:, 3:] += X[:, :3]
    with_gap = X.copy()
    with_gap[4, 1] = np.nan
    filled = X.copy()
    filled[4, 1] = np.delete(X[:, 1], 4).mean()
    views = [slice(0, 3), slice(3, 6)]
    assert redundancy(views, with_gap).matrix[0, 1] == pytest.approx(redundancy(views, filled).matrix[0, 1])


def test_missingness_is_counted(fitted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10))
    for view in COLUMNS.values():
        X[np.ix_(rng.random(60) < 0.3, view)] = np.nan
    X[rng.random(X.shape) < 0.05] = np.nan
    found = missingness(fitted["share"], X)
    patterns = {}
    for row in X:
        here = tuple(name for name, columns in COLUMNS.items() if not np.isnan(row[list(columns)]).all())
        patterns[here] = patterns.get(here, 0) + 1
    assert {tuple(pattern["views"]): pattern["rows"] for pattern in found.patterns} == patterns
    assert [pattern["rows"] for pattern in found.patterns] == sorted(patterns.values(), reverse=True)
    assert sum(pattern["share"] for pattern in found.patterns) == pytest.approx(1)
    for record, (name, columns) in zip(found.records(), COLUMNS.items()):
        block = X[:, columns]
        there = ~np.isnan(block).all(axis=1)
        assert record["view"] == name
        assert record["columns"] == len(columns)
        assert record["present"] == pytest.approx(there.mean())
        assert record["gaps"] == pytest.approx(np.isnan(block[there]).mean())
    assert found.n_rows == 60
    assert missingness(VIEWS, X).records() == found.records()


def test_missingness_of_views_that_nobody_has():
    found = missingness(None, np.full((3, 2), np.nan))
    assert found.records() == [{"view": "view0", "columns": 2, "present": 0.0, "gaps": 0.0}]
    assert found.patterns == [{"views": [], "rows": 3, "share": 1.0}]
