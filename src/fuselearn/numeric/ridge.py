"""Least squares with a ridge, for a whole ladder of ridges at once, with exact leave-one-out values.

For weights w (sum W), targets t with weighted mean t̄ and features centred at their weighted mean, let U diag(s) Uᵀ be
the spectrum of √w K √w. Then with the ridge λ, which leaves the intercept alone,

    fitted  f = t̄ + (1/√w) U diag(s / (s + λ)) Uᵀ √w (t − t̄)
    leverage h_i = Σ_j U_ij² s_j / (s_j + λ) + w_i / W
    leave-one-out value  t_i − (t_i − f_i) / (1 − h_i)

so one spectrum serves all ridges and all targets. Rows that are left out together, a group G, have the same with a
matrix for the leverage: √w (t − value) = (I − H_GG)⁻¹ √w (t − f), where H = U diag(s / (s + λ)) Uᵀ + √w √wᵀ / W.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

RIDGES = 2.0 ** np.arange(-8, 9)
"""In units of the mean eigenvalue."""
SMALLEST_ROOM = 1e-6
"""Least 1 − h that is divided by."""
NEGLIGIBLE = 1e-10
"""Eigenvalues below this share of what there was before centring are rounding."""


class RidgeFits(NamedTuple):
    """Least squares fits with every ridge.

    Attributes
    ----------
    errors : ndarray of shape (n_rows, n_targets, n_ridges)
        Of the values of rows left out: targets − values.
    losses : ndarray of shape (n_ridges,)
        Weighted sums of their squares.
    seen : ndarray of shape (n_eigenvalues, n_targets)
        The targets by eigenvector.
    mean : ndarray of shape (n_targets,)
        Of the targets, weighted.
    """

    errors: np.ndarray
    losses: np.ndarray
    seen: np.ndarray
    mean: np.ndarray


class SpectralRidge:
    """A spectrum, and the least squares fits that follow from it.

    Make one with :meth:`of_kernel` or :meth:`of_features`.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> ridge = SpectralRidge.of_features(rows, np.ones(4))
    >>> fits = ridge.fit(2 * rows)
    >>> coefficients, offsets = ridge.feature_coefficients(ridge.dual(fits, likelihoods(fits.losses, 4)), fits.mean)
    >>> (np.array([[4.0]]) @ coefficients + offsets).round(1)
    array([[8.]])
    """

    def __init__(self, eigenvalues, vectors, weights):
        self._eigenvalues, self._vectors, self._weights = eigenvalues, vectors, weights
        self._roots = np.sqrt(weights)[:, None]
        self._ridges = RIDGES * max(eigenvalues.sum() / len(weights), np.finfo(float).tiny)
        self._shrinking = eigenvalues[:, None] / (eigenvalues[:, None] + self._ridges)
        leverage = vectors**2 @ self._shrinking + (weights / weights.sum())[:, None]
        self._room = np.maximum(1 - leverage, SMALLEST_ROOM)

    @classmethod
    def of_kernel(cls, kernel, weights):
        """From a kernel matrix of shape (n_rows, n_rows), which is overwritten."""
        share = weights / weights.sum()
        rounding = NEGLIGIBLE * (weights @ np.abs(np.diagonal(kernel)))
        means = kernel @ share
        kernel -= means[:, None]
        kernel -= means - share @ means
        roots = np.sqrt(weights)
        kernel *= roots[:, None]
        kernel *= roots
        eigenvalues, vectors = eigh(kernel, overwrite_a=True, check_finite=False, driver="evd")
        kept = eigenvalues > rounding
        made = cls(eigenvalues[kept], vectors[:, kept], weights)
        made._means, made._share = means, share
        return made

    @classmethod
    def of_features(cls, features, weights):
        """From features of shape (n_rows, n_features), fewer than rows."""
        share = weights / weights.sum()
        centre = share @ features
        scaled = (features - centre) * np.sqrt(weights)[:, None]
        eigenvalues, axes = eigh(scaled.T @ scaled, overwrite_a=True, check_finite=False, driver="evd")
        # Features may be far from 0: what is left about their mean can be all rounding.
        kept = eigenvalues > NEGLIGIBLE * (weights @ (features**2).sum(axis=1))
        eigenvalues, axes = eigenvalues[kept], axes[:, kept]
        made = cls(eigenvalues, scaled @ (axes / np.sqrt(eigenvalues)), weights)
        made._axes, made._centre = axes, centre
        return made

    def fit(self, targets, groups=None):
        """Fit all ridges.

        Parameters
        ----------
        targets : ndarray of shape (n_rows, n_targets)
        groups : intp ndarray of shape (n_rows,) or None
            Rows of the same number are left out together; None leaves each out alone.

        Returns
        -------
        RidgeFits
        """
        n_rows, n_targets = targets.shape
        mean = self._weights @ targets / self._weights.sum()
        away = targets - mean
        seen = self._vectors.T @ (self._roots * away)
        shrunk = (self._shrinking[:, None, :] * seen[:, :, None]).reshape(len(seen), n_targets * len(RIDGES))
        fitted = (self._vectors @ shrunk).reshape(n_rows, n_targets, len(RIDGES)) / self._roots[:, :, None]
        errors = away[:, :, None] - fitted
        if groups is None:
            errors /= self._room[:, None, :]
        else:
            for rows in members(groups):
                errors[rows] = self._without(rows, errors[rows])
        losses = np.einsum("i,ikr,ikr->r", self._weights, errors, errors)
        return RidgeFits(errors, losses, seen, mean)

    def _without(self, rows, residuals):
        """Errors of some rows by the fits without them all, from their residuals (n_rows, n_targets, n_ridges)."""
        if len(rows) == 1:
            return residuals / self._room[rows][:, None, :]
        # H_GG = B diag(c) Bᵀ for each ridge, the intercept being one more direction.
        roots = self._roots[rows]
        basis = np.hstack([self._vectors[rows], roots / np.sqrt(self._weights.sum())])
        shrinking = np.vstack([self._shrinking, np.ones(len(self._ridges))]).T[:, :, None]
        scaled = np.moveaxis(residuals * roots[:, :, None], 2, 0)
        if len(rows) <= basis.shape[1]:
            errors = _divided_by_room(basis @ (shrinking * basis.T), scaled)
        else:  # (I − AAᵀ)⁻¹ = I + A (I − AᵀA)⁻¹ Aᵀ, whichever is smaller
            half = np.sqrt(shrinking)
            inner = half * (basis.T @ basis) * half.transpose(0, 2, 1)
            errors = scaled + basis @ (half * _divided_by_room(inner, half * (basis.T @ scaled)))
        return np.moveaxis(errors, 0, 2) / roots[:, :, None]

    def dual(self, fits, shares):
        """The average of the fits with these shares, as what the next two methods make a predictor of."""
        return ((1 / (self._eigenvalues[:, None] + self._ridges)) @ shares)[:, None] * fits.seen

    def kernel_coefficients(self, dual, mean):
        """(coefficients, offsets) such that kernel(rows, training rows) @ coefficients + offsets predicts."""
        own = self._roots * (self._vectors @ dual)
        totals = own.sum(axis=0)
        grand = self._share @ self._means
        return own - np.outer(self._share, totals), mean - self._means @ own + grand * totals

    def feature_coefficients(self, dual, mean):
        """(coefficients, offsets) such that features(rows) @ coefficients + offsets predicts."""
        coefficients = self._axes @ (np.sqrt(self._eigenvalues)[:, None] * dual)
        return coefficients, mean - self._centre @ coefficients


def members(groups):
    """Rows of each group, as a list of intp ndarray.

    Examples
    --------
    >>> members(np.array([0, 1, 0]))
    [array([0, 2]), array([1])]
    """
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _divided_by_room(leverages, values):
    """(I − H)⁻¹ values, for a stack of symmetric H whose eigenvalues are at most 1."""
    room = np.eye(leverages.shape[1]) - leverages
    try:
        np.linalg.cholesky(room - SMALLEST_ROOM * np.eye(len(room[0])))
        return np.linalg.solve(room, values)
    except np.linalg.LinAlgError:  # less room than the least: the slow way, which can tell where
        pass
    eigenvalues, axes = np.linalg.eigh(leverages)
    room = np.maximum(1 - eigenvalues, SMALLEST_ROOM)
    return axes @ ((axes.transpose(0, 2, 1) @ values) / room[:, :, None])


def likelihoods(losses, n_rows):
    """Share of each fit by its loss on rows left out: exp(−n/2 · loss / least loss).

    It is the Gaussian likelihood at the noise that the best fit leaves.

    Examples
    --------
    >>> likelihoods(np.array([10.0, 10.0, 20.0]), 100).round(3)
    array([0.5, 0.5, 0. ])
    """
    least = losses.min()
    if not least > 0:
        shares = (losses <= 0).astype(float)
    else:
        shares = np.exp(-0.5 * n_rows * (losses / least - 1))
    return shares / shares.sum()
