"""Agreement of labels and decision values: expectation maximisation with every sum written out.

Object i has the true class z, with p(z | values) = softmax_z(sum_v w_v value_vz + b_z). A written class s is z with
1 - e_0z, or one of the K - 1 others. Every label column j has s with 1 - e_js, or one of the others. All of z and s are
summed over, as pairs. The M step of the softmax is left to scipy.
"""

import math

import numpy as np
from scipy.optimize import minimize

PSEUDO_WRONG, PSEUDO_RIGHT = 2.0, 4.0  # of the Beta priors of the rates
PENALTY = 1.0  # of the Gaussian prior of w and b
START_RATE, START_COMMON_RATE = 0.3, 0.1


def agree(values, codes, n_iter):
    """A fixed number of iterations.

    Parameters
    ----------
    values : (n, n_views, K) decision values
    codes : (n, n_columns) class codes, -1 where there is no label

    Returns a dict: ``posterior`` (n, K), ``rates``, ``common``, ``weights``, and the list ``objective``, with an entry
    for the start and for every iteration.
    """
    n, n_views, K = values.shape
    n_columns = codes.shape[1]
    rates = [[START_RATE] * K for _ in range(n_columns)]
    common = [START_COMMON_RATE if n_columns > 1 else 0.0] * K
    coefficients = np.zeros(n_views + K)
    objective = []
    for iteration in range(n_iter + 1):
        prior = [class_probabilities(values[i], coefficients) for i in range(n)]
        pairs = [pair_posterior(prior[i], codes[i], rates, common) for i in range(n)]
        log_likelihood = sum(math.log(total) for _, total in pairs)
        objective.append(log_likelihood + log_prior(coefficients, rates, common))
        posterior = np.array([[sum(pair[z]) for z in range(K)] for pair, _ in pairs])
        if iteration == n_iter:
            break
        new_rates = []
        for j in range(n_columns):
            rows = [i for i in range(n) if codes[i, j] >= 0]
            new_rates.append([])
            for s in range(K):
                wrong = sum(pairs[i][0][z][s] for i in rows for z in range(K) if s != codes[i, j])
                count = sum(pairs[i][0][z][s] for i in rows for z in range(K))
                # The pseudo-labels of a column are shared out over the classes.
                new_rates[j].append((wrong + PSEUDO_WRONG / K) / (count + PSEUDO_WRONG / K + PSEUDO_RIGHT / K))
        if n_columns > 1:
            rows = [i for i in range(n) if (codes[i] >= 0).any()]
            for z in range(K):
                wrong = sum(pairs[i][0][z][s] for i in rows for s in range(K) if s != z)
                count = sum(pairs[i][0][z][s] for i in rows for s in range(K))
                common[z] = (wrong + PSEUDO_WRONG / K) / (count + PSEUDO_WRONG / K + PSEUDO_RIGHT / K)
        rates = new_rates
        coefficients = fit_coefficients(values, posterior, coefficients)
    return {
        "posterior": posterior,
        "rates": rates,
        "common": common,
        "weights": coefficients[:n_views],
        "objective": objective,
    }


def class_probabilities(row, coefficients):
    """p(z | values) of one object; ``row`` is (n_views, K)."""
    n_views, K = row.shape
    scores = [sum(coefficients[v] * row[v, k] for v in range(n_views)) + coefficients[n_views + k] for k in range(K)]
    top = max(scores)
    exponentials = [math.exp(score - top) for score in scores]
    return [exponential / sum(exponentials) for exponential in exponentials]


def pair_posterior(prior, labels, rates, common):
    """p(z, s | values, labels) of one object as a list of lists, and p(labels | values)."""
    K = len(prior)
    joint = []
    for z in range(K):
        joint.append([])
        for s in range(K):
            p = prior[z] * (1 - common[z] if s == z else common[z] / (K - 1))
            for label, column_rates in zip(labels, rates):
                if label >= 0:
                    p *= 1 - column_rates[s] if label == s else column_rates[s] / (K - 1)
            joint[z].append(p)
    total = sum(map(sum, joint))
    return [[p / total for p in row] for row in joint], total


def log_prior(coefficients, rates, common):
    of_coefficients = -0.5 * PENALTY * sum(c * c for c in coefficients)
    every_rate = [*rates, common] if common[0] > 0 else rates
    return of_coefficients + sum(log_beta(e) / len(column) for column in every_rate for e in column)


def log_beta(rate):
    return PSEUDO_WRONG * math.log(rate) + PSEUDO_RIGHT * math.log(1 - rate)


def fit_coefficients(values, posterior, start):
    n, n_views = values.shape[:2]

    def loss_and_slope(coefficients):
        loss, slope = 0.5 * PENALTY * (coefficients**2).sum(), PENALTY * coefficients
        for i in range(n):
            p = np.array(class_probabilities(values[i], coefficients))
            loss -= posterior[i] @ np.log(p)
            slope[:n_views] += values[i] @ (p - posterior[i])
            slope[n_views:] += p - posterior[i]
        return loss, slope

    return minimize(loss_and_slope, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
