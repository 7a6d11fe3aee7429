"""Prediction sets, a row and a class at a time, from the values of each arm."""

import math


def probabilities(arm_values, arm_views, arm_weights, views, calibration, log_weights):
    """Return class probabilities of a row that has just some views, by a fusion of few rows.

    Parameters
    ----------
    arm_values : list of list of float
        Values of each arm for the row, as many as there are targets; those of arms that abstain are not read.
    arm_views : list of int or None
        View of each arm; None for all views, which needs them all.
    arm_weights : list of float
    views : list of bool
    calibration : callable
        Makes logits of the combined values (one for each class) and the views.
    log_weights : list of float
        Logarithms of the class weights.
    """
    speaking = [a for a, view in enumerate(arm_views) if (all(views) if view is None else views[view])]
    total = sum(arm_weights[a] for a in speaking)
    n_targets = len(arm_values[0])
    if total > 0:
        scale = sum(arm_weights) / total
        values = [scale * sum(arm_weights[a] * arm_values[a][k] for a in speaking) for k in range(n_targets)]
    else:
        values = None
    z = [logit + log_weight for logit, log_weight in zip(calibration(values, views), log_weights)]
    top = max(z)
    shares = [math.exp(value - top) for value in z]
    return [share / sum(shares) for share in shares]


def scores(p):
    """Return 1 − p of each class, and 0 for the most probable one."""
    best = max(range(len(p)), key=lambda k: (p[k], -k))
    return [0.0 if k == best else 1 - p[k] for k in range(len(p))]


def quantile(pairs, coverage, n_independent):
    """Return the least score whose weight, with that of all smaller ones, reaches the share of (score, weight)."""
    wanted = coverage * (1 + 1 / n_independent) * sum(weight for _, weight in pairs)
    for score, _ in sorted(pairs):
        if sum(weight for other, weight in pairs if other <= score) >= wanted - 1e-9:
            return score
    return math.inf


def threshold(rows, views, coverage, enough):
    """Return the threshold of rows with just some views.

    Parameters
    ----------
    rows : list of (present, scores, targets, weight)
        Views that a training row has, and its scores as if it had just `views`; None where it lacks some of them.
    views : list of bool
    coverage : float
    enough : int
        Weight of own rows from which nothing is borrowed.
    """
    own = [row for row in rows if list(row[0]) == list(views)]
    more = [row for row in rows if row[1] is not None and list(row[0]) != list(views)]
    lacking = enough - sum(row[3] for row in own)
    borrowed = sum(row[3] for row in more)
    share = 0.0 if lacking <= 0 or not more else min(1.0, lacking / borrowed)
    weighted = [(row, row[3]) for row in own] + [(row, share * row[3]) for row in more if share > 0]
    total, squares = sum(w for _, w in weighted), sum(w * w for _, w in weighted)
    pairs = [(s, w * t) for row, w in weighted for s, t in zip(row[1], row[2]) if t > 0]
    return quantile(pairs, coverage, total**2 / squares)
