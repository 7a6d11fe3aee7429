"""The agreement of labels and decision values, by expectation maximisation. Arrays in, arrays out.

The model: an object has a true class z, on which the decision values of the views depend
(`fuselearn.classifiers.calibration`). A source that all label columns copy has the class s, which differs from z at the
*common rate* ε_0z. Label column j copies s, wrongly at its own rate ε_js. Some classes are missed more often than
others, so rates depend on the class; a wrong class is any of the others with equal probability. So errors that the
columns share are distinguished from errors that each column makes by itself.

Without the common rates this is Dawid and Skene's model, with a rate per class in the place of a confusion matrix, and
with the values in the place of the class prior as in Raykar et al. With one label column there are no common rates,
since they could not be distinguished from those of the column.
"""

from dataclasses import dataclass

import numpy as np

from fuselearn.classifiers.calibration import ValueCalibration
from fuselearn.typing import FloatArray, IntArray

PSEUDO_WRONG = 2.0
PSEUDO_RIGHT = 4.0
"""Numbers of wrong and right labels that are assumed beforehand, divided among the classes: of every column, and of the
source that all columns copy. They make a Beta prior of every rate.

Where the values separate the classes badly the likelihood hardly depends on the rate, from 0 to the share of labels
that the values contradict. The prior then decides for about a third: enough to doubt a label that all views contradict,
too little to give up labels that no view can judge."""
START_RATE = 0.3
START_COMMON_RATE = 0.1


@dataclass(frozen=True)
class Agreement:
    """The classes that labels and values agree on, and the estimated rates of wrong labels.

    Attributes
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
        Probabilities p(true class | values, labels).
    noise_rates : ndarray of shape (n_columns,)
        Estimated share of the labels of each column that are wrong; NaN for a column without labels.
    column_rates : ndarray of shape (n_columns, n_classes)
        ε_js: how often a column differs from the source that all columns copy, where that has class s.
    common_rates : ndarray of shape (n_classes,)
        ε_0z: how often the source that all columns copy differs from the truth, where that is class z; 0 for one
        column.
    common_rate : float
        The same over all classes: the expected share of labelled rows. NaN where there are several columns and no
        labels.
    view_weights : ndarray of shape (n_views,)
        Weight of the values of each view beside those of the others.
    class_biases : ndarray of shape (n_classes,)
        Bias of each class: p(class | values) = softmax(Σ view weight · value + bias).
    objective : ndarray of shape (n_iter + 1,)
        Log-likelihood and log-prior, at the start and after each iteration. It never falls.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the run ended because an iteration gained less than `tol`.
    """

    posterior: FloatArray
    noise_rates: FloatArray
    column_rates: FloatArray
    common_rates: FloatArray
    common_rate: float
    view_weights: FloatArray
    class_biases: FloatArray
    objective: FloatArray
    n_iter: int
    converged: bool


def agree(
    values: FloatArray, codes: IntArray, *, weights: FloatArray | None = None, max_iter: int = 500, tol: float = 1e-6
) -> Agreement:
    """Estimate the true classes, and how often each label column is wrong.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_views, n_classes)
        Out-of-fold decision values of each view for each class; 0 where a view is absent. Values of a view should have
        a mean square of 1.
    codes : int ndarray of shape (n_rows, n_columns)
        Class by each label column; -1 where a column has no label.
    weights : ndarray of shape (n_rows,), default=None
        How many rows each row stands for; None is one each. Their sum says how much evidence there is against the prior
        of the rates.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-6
        The run ends when an iteration raises the objective by less than this for each row, or unit of the weights.

    Returns
    -------
    Agreement
        Posterior of the classes, and estimated rates.

    References
    ----------
    Dawid, Skene. Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm. Applied Statistics 1979.
    Raykar et al. Learning From Crowds. JMLR 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.consensus import agree
    >>> truth = np.arange(40) % 2
    >>> values = np.where(np.arange(2) == truth[:, None], 1.0, -1.0)[:, None, :]
    >>> codes = truth.copy()
    >>> codes[0] = 1  # one wrong label
    >>> agreement = agree(values, codes[:, None])
    >>> int(agreement.posterior[0].argmax()), bool((agreement.posterior.argmax(axis=1) == truth).all())
    (0, True)
    """
    n_rows, n_views, n_classes = values.shape
    weights = np.ones(n_rows) if weights is None else weights
    labels = _Labels(codes, n_classes, weights)
    calibration = ValueCalibration(values, weights)
    least_gain = tol * weights.sum()
    rates = np.full((codes.shape[1], n_classes), START_RATE)
    common = np.full(n_classes, START_COMMON_RATE if codes.shape[1] > 1 else 0.0)
    coefficients = calibration.start
    objective: list[float] = []
    while True:
        prior, log_prior = np.exp(calibration.log_probabilities(coefficients)), calibration.log_prior(coefficients)
        posterior, columns, copied, log_likelihood = labels.expectation(prior, rates, common)
        objective.append(log_likelihood + log_prior + _log_prior(rates, common))
        converged = len(objective) > 1 and objective[-1] - objective[-2] < least_gain
        if converged or len(objective) > max_iter:
            break
        rates = _rate(*columns)
        if codes.shape[1] > 1:
            common = _rate(*copied)
        coefficients = calibration.refit(posterior, coefficients)
    return Agreement(
        posterior=posterior,
        noise_rates=labels.shares_wrong(posterior),
        column_rates=rates,
        common_rates=common,
        common_rate=_common_share(*copied) if codes.shape[1] > 1 else 0.0,
        view_weights=coefficients[:n_views],
        class_biases=coefficients[n_views:],
        objective=np.array(objective),
        n_iter=len(objective) - 1,
        converged=converged,
    )


def judge(
    values: FloatArray, codes: IntArray, agreement: Agreement, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Apply an agreement to rows that it was not estimated on.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_views, n_classes)
        Decision values, as for :func:`agree`.
    codes : int ndarray of shape (n_rows, n_columns)
        Class by each label column, as for :func:`agree`.
    agreement : Agreement
        Estimated on other rows.
    weights : ndarray of shape (n_rows,), default=None
        Weights of the rows in the shares of wrong labels.

    Returns
    -------
    posterior : ndarray of shape (n_rows, n_classes)
        Probabilities p(true class | values, labels).
    noise_rates : ndarray of shape (n_columns,)
        Expected share of the labels of each column that are wrong.
    """
    weights = np.ones(len(codes)) if weights is None else weights
    labels = _Labels(codes, values.shape[2], weights)
    coefficients = np.concatenate([agreement.view_weights, agreement.class_biases])
    prior = np.exp(ValueCalibration(values).log_probabilities(coefficients))
    posterior = labels.expectation(prior, agreement.column_rates, agreement.common_rates)[0]
    return posterior, labels.shares_wrong(posterior)


def agree_on_subsample(
    values: FloatArray, codes: IntArray, most_rows: int, seed: int, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Estimate an agreement on a subsample of the rows, where there are many, and apply it to all of them.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
        Combined values of all views, of any scale.
    codes : int ndarray of shape (n_rows, n_columns)
        As for :func:`agree`.
    most_rows : int
        Size of the subsample.
    seed : int
        Draws it.
    weights : ndarray of shape (n_rows,), default=None
        How many rows each row stands for, as for :func:`agree`.

    Returns
    -------
    posterior : ndarray of shape (n_rows, n_classes)
        Probabilities p(true class | values, labels).
    noise_rates : ndarray of shape (n_columns,)
        Estimated share of wrong labels of each column.
    class_rates : ndarray of shape (n_classes,) or None
        The same of each class, where there is one column.
    """
    weights = np.ones(len(values)) if weights is None else weights
    scale = np.sqrt(np.average((values**2).mean(axis=1), weights=weights)) or 1.0
    view_values = (values / scale)[:, None, :]
    if len(values) <= most_rows:
        agreement = agree(view_values, codes, weights=weights)
        posterior, noise_rates = agreement.posterior, agreement.noise_rates
    else:
        subsample = np.random.default_rng(seed).permutation(len(values))[:most_rows]
        agreement = agree(view_values[subsample], codes[subsample], weights=weights[subsample])
        posterior, noise_rates = judge(view_values, codes, agreement, weights)
    return posterior, noise_rates, agreement.column_rates[0] if codes.shape[1] == 1 else None


class _Labels:
    """The label columns, and the E step on them; a row counts as many times as its weight says."""

    def __init__(self, codes: IntArray, n_classes: int, weights: FloatArray) -> None:
        self._n_classes = n_classes
        self._weights = weights
        self._shape = (len(codes), n_classes)
        self._given = [(rows, codes[rows, j]) for j, rows in enumerate(map(np.flatnonzero, codes.T >= 0))]
        self._any_given = (codes >= 0).any(axis=1)

    def expectation(
        self, prior: FloatArray, rates: FloatArray, common: FloatArray
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray], float]:
        """Return p(z | values, labels), expected numbers of labels, of rows, and the log-likelihood.

        The numbers of labels are those of each column that differ from s, and that do not, for each s. The numbers of
        labelled rows are those in which s differs from z, and in which it does not, for each z.
        """
        log_copies = np.zeros(self._shape)  # ln p(labels | s)
        for (rows, codes), column_rates in zip(self._given, rates):
            slips = np.log(column_rates / (self._n_classes - 1))
            log_copies[rows] += slips
            log_copies[rows, codes] += (np.log1p(-column_rates) - slips)[codes]
        largest = log_copies.max(axis=1, keepdims=True)
        copies = np.exp(log_copies - largest)
        slip = common / (self._n_classes - 1)
        # Σ_s p(s | z) p(labels | s) for each z, and Σ_z p(z) p(s | z) for each s, without the matrix p(s | z).
        of_truth = (1 - common - slip) * copies + slip * copies.sum(axis=1, keepdims=True)
        of_written = (1 - common - slip) * prior + (prior @ slip)[:, None]
        joint = prior * of_truth
        evidence = joint.sum(axis=1, keepdims=True)
        counts = self._weights[:, None]
        written = counts * copies * of_written / evidence
        right = np.array(
            [np.bincount(codes, written[rows, codes], minlength=self._n_classes) for rows, codes in self._given]
        )
        wrong = np.array([written[rows].sum(axis=0) for rows, _ in self._given]) - right
        posterior = joint / evidence
        kept = (counts * prior * (1 - common) * copies / evidence)[self._any_given].sum(axis=0)
        lost = (counts * posterior)[self._any_given].sum(axis=0) - kept
        log_likelihood = float((counts * (np.log(evidence) + largest)).sum())
        return posterior, (wrong, right), (np.maximum(lost, 0), kept), log_likelihood

    def shares_wrong(self, posterior: FloatArray) -> FloatArray:
        """Return the mean probability that a label of each column is not the true class."""
        shares = []
        for rows, codes in self._given:
            weights = self._weights[rows]
            right = weights @ posterior[rows, codes]
            shares.append(1 - right / weights.sum() if weights.any() else np.nan)
        return np.array(shares)


def _rate(wrong: FloatArray, right: FloatArray) -> FloatArray:
    """Return the rates of the classes with the highest posterior density."""
    share = 1 / wrong.shape[-1]
    wrong, right = wrong + share * PSEUDO_WRONG, right + share * PSEUDO_RIGHT
    return wrong / (wrong + right)


def _common_share(lost: FloatArray, kept: FloatArray) -> float:
    """Return the share of labelled rows in which the source that all columns copy differs from the truth."""
    total = lost.sum() + kept.sum()
    return float(lost.sum() / total) if total > 0 else np.nan


def _log_prior(rates: FloatArray, common: FloatArray) -> float:
    """Return ln of the rates' Beta priors, up to a constant."""
    every_rate = np.vstack([rates, common]) if common.any() else rates
    density = PSEUDO_WRONG * np.log(every_rate) + PSEUDO_RIGHT * np.log1p(-every_rate)
    return float(density.sum() / rates.shape[1])
