"""Boosting over several arms: with one shared weight vector (S0 Alg. 1, S1 section 3 and 4.3, S3 Alg. 1), and
with one weight vector per arm (S0's BISD, S1's iBoost).

K classes, absent views, resampling and stopping are as ``docs/shared_boosting.md`` settles them. For two classes and no
absence all of it is the papers' rule: alpha = 1/2 ln((1 - eps) / eps), w <- w exp(-alpha y h) / Z, where eps is kept
within [1/(2n), 1 - 1/(2n)], with n the rows of weight.

An arm whose hypothesis wins and is never wrong is set aside, and the others go on: without absent rows it would win
every later round. Not so where arms are drawn, nor where rows are: the next hypothesis is then another.
"""

import math

import numpy as np

TIE = 1e-12  # values closer than this are equal, and the lowest index wins
EDGE = 1e-12  # an arm has an edge when (K - 1) W+ - W- is above this


def share_boost(
    views,
    labels,
    fit,
    n_classes,
    n_rounds,
    *,
    weights=None,
    present=None,
    choose=None,
    reward_to=None,
    learning_rate=1.0,
    draws=None,
    out_of_bag=False,
):
    """Boosting with a shared distribution: S0 Alg. 1, S1's ShareBoost, and with ``choose`` S1's rShareBoost.

    Parameters
    ----------
    views : list of (n, d_j) arrays, one per arm
    labels : (n, n_arms) class codes, each arm's own labels
    fit : list of functions (X, y, w) -> hypothesis, one per arm, given the rows where the arm is present
    weights : (n,) starting weights, normalised here; None is 1/n
    present : (n, n_arms) booleans; None is all present
    choose : None for the greedy policy, or a function round -> arm; that arm alone is tried, and it joins
        whatever the sign of its alpha
    reward_to : a function (arm, 1 - Z), called after each round
    draws : None, or a function (round, arm, w) -> n drawn row numbers (S0 step 3a)
    out_of_bag : with ``draws``, epsilon and update use only the rows not drawn; those drawn count as absent

    Rounds count from 0. Returns a dict of lists with one entry a round: ``winners``, ``hypotheses`` (None: an
    arm with nothing to fit on was drawn), ``alphas`` (scaled by ``learning_rate``), ``errors`` (a list over
    the arms, not clipped, NaN where not tried), ``Zs``, and ``weights``, which starts with those
    before the first round.
    """
    views, labels, present = _as_arrays(views, labels, present)
    n, n_arms = labels.shape
    w = starting_weights(weights, n)
    n_weighted = np.count_nonzero(w)
    left = list(range(n_arms))
    result = {"winners": [], "hypotheses": [], "alphas": [], "errors": [], "weights": [w.copy()], "Zs": []}
    for t in range(n_rounds):
        arms = left if choose is None else [choose(t)]
        trials = {}
        for j in arms:
            trials[j] = try_arm(views[j], labels[:, j], present[:, j], fit[j], w, t, j, draws, out_of_bag)
        winner = best_arm(trials, n_classes, n_weighted, out_of_bag) if choose is None else arms[0]
        if winner is None:
            break
        trial = trials[winner]
        right, wrong, absent = trial["tally"]
        alpha = learning_rate * alpha_of(right, wrong, n_classes, n_weighted)
        Z = Z_of(right, wrong, absent, n_classes, n_weighted)
        w = reweight(w, trial["codes"], labels[:, winner], trial["scored"], alpha, n_classes)
        result["winners"].append(winner)
        result["hypotheses"].append(trial["hypothesis"])
        result["alphas"].append(alpha)
        errors = {j: error_of(trials[j]["tally"]) for j in trials}
        result["errors"].append([errors.get(j, math.nan) for j in range(n_arms)])
        result["weights"].append(w.copy())
        result["Zs"].append(Z)
        if reward_to is not None:
            reward_to(winner, 1 - Z)
        if choose is None and draws is None and wrong <= TIE * (right + wrong):
            left.remove(winner)
    return result


def independent_boost(
    views,
    labels,
    fit,
    n_classes,
    n_rounds,
    *,
    weights=None,
    present=None,
    learning_rate=1.0,
    draws=None,
    out_of_bag=False,
):
    """S0's BISD and S1's iBoost: each arm boosts on its own weights; each round the largest alpha joins.

    Parameters and result are those of :func:`share_boost`, but each entry of ``weights`` is (n, n_arms), and
    ``draws`` is given the arm's own w.
    """
    views, labels, present = _as_arrays(views, labels, present)
    n, n_arms = labels.shape
    w = [starting_weights(weights, n) for _ in range(n_arms)]
    n_weighted = np.count_nonzero(w[0])
    left = list(range(n_arms))
    result = {"winners": [], "hypotheses": [], "alphas": [], "errors": [], "Zs": []}
    result["weights"] = [np.column_stack(w)]
    for t in range(n_rounds):
        trials = {}
        for j in left:
            trials[j] = try_arm(views[j], labels[:, j], present[:, j], fit[j], w[j], t, j, draws, out_of_bag)
        alphas = {j: alpha_of(*trials[j]["tally"][:2], n_classes, n_weighted) for j in left}
        able = [j for j in left if has_edge(trials[j]["tally"], n_classes)]
        if not able:
            break
        largest = max(alphas[j] for j in able)
        winner = next(j for j in able if alphas[j] >= largest - TIE)
        for j, trial in trials.items():  # each with its own alpha, whatever its sign
            scaled = learning_rate * alphas[j]
            w[j] = reweight(w[j], trial["codes"], labels[:, j], trial["scored"], scaled, n_classes)
        right, wrong, absent = trials[winner]["tally"]
        result["winners"].append(winner)
        result["hypotheses"].append(trials[winner]["hypothesis"])
        result["alphas"].append(learning_rate * alphas[winner])
        result["errors"].append([error_of(trials[j]["tally"]) if j in left else math.nan for j in range(n_arms)])
        result["weights"].append(np.column_stack(w))
        result["Zs"].append(Z_of(right, wrong, absent, n_classes, n_weighted))
        if draws is None and wrong <= TIE * (right + wrong):
            left.remove(winner)
    return result


def votes(views, present, result, n_classes):
    """(n, K): votes_k = sum of alpha [h = k] (S0 step 4, S1 step 3); an absent row gets no vote."""
    n = len(views[0])
    total = np.zeros((n, n_classes))
    for j, h, alpha in zip(result["winners"], result["hypotheses"], result["alphas"], strict=True):
        here = np.ones(n, dtype=bool) if present is None else np.asarray(present, dtype=bool)[:, j]
        codes = predict_present(h, np.asarray(views[j], dtype=float), here)
        for i in range(n):
            if codes[i] >= 0:
                total[i, codes[i]] += alpha
    return total


def starting_weights(weights, n):
    """S0 step 2: 1/n, or the given weights divided by their sum."""
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    return w / math.fsum(w)


def try_arm(X, y, present, fit, w, t, arm, draws, out_of_bag):
    """Steps 3(a) to 3(c) of S0 Alg. 1 for one arm: draw if asked to, fit, and weigh its rows."""
    n = len(y)
    fit_weights, scored = w, present
    if draws is not None:
        counts = np.bincount(draws(t, arm, w), minlength=n)
        fit_weights = counts / n
        if out_of_bag:
            scored = present & (counts == 0)
    hypothesis = None  # nothing to fit on: it abstains everywhere
    if fit_weights[present].sum() > 0:
        hypothesis = fit(X[present], y[present], fit_weights[present])
    codes = predict_present(hypothesis, X, present)
    scored = scored & (codes >= 0)
    return {"hypothesis": hypothesis, "codes": codes, "scored": scored, "tally": tally(codes, y, w, scored)}


def predict_present(hypothesis, X, present):
    """The hypothesis' code of each row, and -1 where its view is absent."""
    codes = np.full(len(X), -1)
    if hypothesis is not None and present.any():
        codes[present] = hypothesis(X[present])
    return codes


def tally(h_codes, labels, w, present):
    """(W+, W-, W0): the weights of the rows that h gets right, gets wrong, and abstains on."""
    rows = range(len(labels))
    right = math.fsum(w[i] for i in rows if present[i] and h_codes[i] == labels[i])
    wrong = math.fsum(w[i] for i in rows if present[i] and h_codes[i] != labels[i])
    absent = math.fsum(w[i] for i in rows if not present[i])
    return right, wrong, absent


def error_of(tally_of_arm):
    """epsilon = W- / (W+ + W-), as it is (not clipped); NaN where no row was scored."""
    right, wrong, _ = tally_of_arm
    return wrong / (right + wrong) if right + wrong > 0 else math.nan


def has_edge(tally_of_arm, n_classes):
    """Whether the arm is better than chance on the rows it sees: (K - 1) W+ > W-, beyond rounding."""
    right, wrong, _ = tally_of_arm
    return (n_classes - 1) * right - wrong > EDGE


def alpha_of(right, wrong, n_classes, n):
    """1/2 (ln((1 - eps) / eps) + ln(K - 1)): S0 step 3(e) for two classes; 0 where no row was scored."""
    if right + wrong == 0:
        return 0.0
    epsilon = wrong / (right + wrong)
    if epsilon < 1 / (2 * n):
        epsilon = 1 / (2 * n)
    if epsilon > 1 - 1 / (2 * n):
        epsilon = 1 - 1 / (2 * n)
    return 0.5 * (math.log((1 - epsilon) / epsilon) + math.log(n_classes - 1))


def Z_of(right, wrong, absent, n_classes, n):
    """The factor by which the vote changes the exponential loss: Z(alpha) = W+ e^(-2 alpha (K - 1)/K) + W-
    e^(2 alpha/K) + W0. Where epsilon is not clipped, this is W0 + K W+^(1/K) (W- / (K - 1))^((K - 1)/K); for K = 2
    S0's 2 sqrt(eps (1 - eps)).
    """
    K, alpha = n_classes, alpha_of(right, wrong, n_classes, n)
    return right * math.exp(-2 * alpha * (K - 1) / K) + wrong * math.exp(2 * alpha / K) + absent


def reweight(w, codes, labels, scored, alpha, n_classes):
    """S0 step 3(f): right rows keep their weight, wrong ones are multiplied by exp(2 alpha), absent ones by
    exp(2 alpha (K - 1) / K); then all are divided by their sum.
    """
    new = []
    for i in range(len(w)):
        if not scored[i]:
            factor = math.exp(2 * alpha * (n_classes - 1) / n_classes)
        elif codes[i] != labels[i]:
            factor = math.exp(2 * alpha)
        else:
            factor = 1.0
        new.append(w[i] * factor)
    total = math.fsum(new)
    return np.array([v / total for v in new])


def best_arm(trials, n_classes, n, out_of_bag):
    """S0 step 3(d): of the arms with an edge the one of the smallest epsilon, or with absent rows of the
    smallest Z; None if no arm has an edge.
    """
    tallies = {j: trial["tally"] for j, trial in trials.items()}
    by_epsilon = out_of_bag or all(absent <= TIE for _, _, absent in tallies.values())
    values = {}
    for j, (right, wrong, absent) in tallies.items():
        if has_edge((right, wrong, absent), n_classes):
            values[j] = error_of((right, wrong, absent)) if by_epsilon else Z_of(right, wrong, absent, n_classes, n)
    if not values:
        return None
    return next(j for j in sorted(values) if values[j] <= min(values.values()) + TIE)


def _as_arrays(views, labels, present):
    labels = np.asarray(labels)
    present = np.ones(labels.shape, dtype=bool) if present is None else np.asarray(present, dtype=bool)
    return [np.asarray(X, dtype=float) for X in views], labels, present
