"""MSSBoost, NSBoost and RSBag (S2 Alg. 1 and 2), and the numbers of S2's Theorem 1.

S2 is the paper on model-shared subspace boosting for multi-label classification. Labels are columns of 0 and 1 (a value
above 0 is a 1), and y' = 2y - 1 is S2's y. A candidate is its outputs h in [-1, 1], one for each training row. A pool
has slots; slot k holds one candidate, learned on the label ``source_labels[k]``. What S2 leaves open is settled thus:

- a Newton step can raise the loss, so :func:`safe_weight` shortens it, and the joint loss never rises;
- with ``intercept``, which S2 does not have, decision functions begin at the log-odds of their labels;
- the chi-squared test takes h > 0 against y over all rows, with one degree of freedom and no correction;
- losses are in natural logarithms, so S2's Theorem 2 reads: training errors <= joint loss / ln 2;
- a candidate that can serve no label is not let into the pool: its slot draws the next generation, up to ten times in
  a row, after which the last one stays;
- a round in which no candidate lowers the loss is a round like any other, and nothing ends a run early: the slot with
  the fewest generations so far joins with weights 0 and is renewed.
"""

import math

import numpy as np
from scipy import stats
from sklearn.metrics import average_precision_score

SMALLEST_W = 1e-6  # S2 footnote 4: w is kept at or above this
TIE = 1e-12  # losses closer than this, relative to 1 + |loss|, are equal, and the lowest slot wins
HALVINGS = 5  # how often a weight that raises the loss is halved before it becomes 0
REDRAWS = 10  # how often in a row a slot draws anew because its candidate can serve no label


def newton_weight(h, y, F):
    """S2 eq. 2 for one candidate and one label: (H' W H)^-1 H' Z, and 0 for a candidate that is 0 on all rows."""
    numerator, denominator = [], []
    for i in range(len(h)):
        p = probability(F[i])
        w = max(p * (1 - p), SMALLEST_W)
        z = (1 if y[i] > 0 else 0) - p
        numerator.append(h[i] * z)
        denominator.append(h[i] * w * h[i])
    if math.fsum(denominator) == 0:
        return 0.0
    return math.fsum(numerator) / math.fsum(denominator)


def label_loss(h, y, F, a):
    """One label's part of S2 eq. 1: the sum over the rows of log(1 + exp(-y' (F + a h)))."""
    return math.fsum(logistic_loss((1 if y[i] > 0 else -1) * (F[i] + a * h[i])) for i in range(len(h)))


def joint_loss(Y, F):
    """S2 eq. 1 for the decision functions F as they are: the sum over rows and labels."""
    nothing = np.zeros(len(Y))
    return math.fsum(label_loss(nothing, Y[:, label], F[:, label], 0.0) for label in range(Y.shape[1]))


def is_related(h, y, significance):
    """Whether h > 0 depends on y by the chi-squared test (S2 section 6.2): p-value < ``significance``.

    A table with an empty row or column shows no relation. ``significance`` None, or 1 and above, is no filter: True for
    every h and y.
    """
    if significance is None or significance >= 1:
        return True
    table = np.zeros((2, 2))
    for i in range(len(h)):
        table[1 if h[i] > 0 else 0, 1 if y[i] > 0 else 0] += 1
    rows, columns, n = table.sum(axis=1), table.sum(axis=0), table.sum()
    if 0 in rows or 0 in columns:
        return False
    statistic = 0.0
    for r in range(2):
        for c in range(2):
            expected = rows[r] * columns[c] / n
            statistic += (table[r, c] - expected) ** 2 / expected
    return bool(stats.chi2.sf(statistic, df=1) < significance)


def safe_weight(h, y, F):
    """The Newton weight, halved up to five times while its loss is above the loss of weight 0; after that, 0."""
    a = newton_weight(h, y, F)
    loss_of_zero = label_loss(h, y, F, 0.0)
    for _ in range(HALVINGS + 1):  # the weight as it is, and each of its halves
        if label_loss(h, y, F, a) <= loss_of_zero:
            return a
        a = a / 2
    return 0.0


def boost(draw, source_labels, Y, n_estimators, *, significance=0.025, shared=True, intercept=False, newton_steps=1):
    """MSSBoost, S2 Alg. 2; with ``shared=False`` NSBoost (S2 section 4.1, Remark).

    Parameters
    ----------
    draw : function (slot, generation) -> (n_rows,) outputs in [-1, 1] of that slot's candidate; generation 0 is the
        first, and each time the slot wins, or its candidate can serve no label, the next one takes its place (none is
        drawn after the last round)
    source_labels : the label, by number, that the candidates of each slot are learned on
    Y : (n_rows, n_labels) of 0 and 1
    n_estimators : T, the number of rounds
    significance : of the chi-squared test; see :func:`is_related`
    shared : False lets a candidate serve the label it was learned on and no other
    intercept : True lets F begin at ln(positives / negatives) of each label; the first loss is still that of F = 0
    newton_steps : steps for the weights of the winner, which the first step decides

    Returns a dict: ``weights`` (T, n_labels), ``slots`` (T winners), ``losses`` (T + 1 joint losses: before the first
    round and after each) and ``F`` (n_rows, n_labels).
    """
    Y = np.asarray(Y)
    n_rows, n_labels = Y.shape
    n_slots = len(source_labels)
    F = np.zeros((n_rows, n_labels))  # step 1
    generations = [0] * n_slots
    pool = [None] * n_slots

    def serves(slot):
        """For each label, whether the candidate of a slot may have a weight."""
        return [
            (shared or label == source_labels[slot]) and is_related(pool[slot], Y[:, label], significance)
            for label in range(n_labels)
        ]

    def fill(slot):
        pool[slot] = np.array(draw(slot, generations[slot]), dtype=float)
        for _ in range(REDRAWS):
            if any(serves(slot)) and any(pool[slot] != 0):
                break
            generations[slot] += 1
            pool[slot] = np.array(draw(slot, generations[slot]), dtype=float)

    for slot in range(n_slots):
        fill(slot)
    weights, slots, losses = [], [], [joint_loss(Y, F)]
    current = losses[0]
    if intercept:
        for label in range(n_labels):
            positives = sum(1 for i in range(n_rows) if Y[i, label] > 0)
            F[:, label] = math.log(positives / (n_rows - positives))
        current = joint_loss(Y, F)
    for t in range(n_estimators):
        # Step 2(a): the candidate and weights of the smallest joint loss.
        weights_of, loss_of = [], []
        for slot in range(n_slots):
            h = pool[slot]
            a = [
                safe_weight(h, Y[:, label], F[:, label]) if may_serve else 0.0
                for label, may_serve in enumerate(serves(slot))
            ]
            weights_of.append(a)
            loss_of.append(math.fsum(label_loss(h, Y[:, label], F[:, label], a[label]) for label in range(n_labels)))
        best = min(loss_of)
        if best < current - TIE * (1 + current):
            winner = next(slot for slot in range(n_slots) if loss_of[slot] <= best + TIE * (1 + abs(best)))
        else:
            winner = generations.index(min(generations))
            weights_of[winner] = [0.0] * n_labels
        for label in np.flatnonzero(weights_of[winner]):
            for _ in range(newton_steps - 1):  # S2 section 4.2: the same step again, from where the last one led
                moved = F[:, label] + weights_of[winner][label] * pool[winner]
                weights_of[winner][label] += safe_weight(pool[winner], Y[:, label], moved)
        add_candidate(F, pool[winner], weights_of[winner])  # step 2(b)
        weights.append(weights_of[winner])
        slots.append(winner)
        losses.append(joint_loss(Y, F))
        current = losses[-1]
        if t + 1 < n_estimators:  # step 2(c)
            generations[winner] += 1
            fill(winner)
    return as_arrays(weights, slots, losses, F)


def bag(draw, source_labels, Y, n_estimators):
    """RSBag, S2 Alg. 1: the slots take turns, each time with a new candidate, weight 1 on its own label, else 0.

    Parameters and result are those of :func:`boost`. Nothing here looks at the loss, so it may rise.
    """
    Y = np.asarray(Y)
    n_rows, n_labels = Y.shape
    n_slots = len(source_labels)
    F = np.zeros((n_rows, n_labels))
    weights, slots, losses = [], [], [joint_loss(Y, F)]
    for t in range(n_estimators):
        slot, generation = t % n_slots, t // n_slots  # step 1(a)
        a = [1.0 if label == source_labels[slot] else 0.0 for label in range(n_labels)]
        add_candidate(F, np.array(draw(slot, generation), dtype=float), a)  # step 1(f)
        weights.append(a)
        slots.append(slot)
        losses.append(joint_loss(Y, F))
    return as_arrays(weights, slots, losses, F)


def least_squares_machine(X, y, C, gamma, vectors):
    """Suykens' machine of fixed size: (coefficients of the rows `vectors`, intercept), from the normal equations.

    The minimum of 1/2 c'Gc + C/2 sum_i (y'_i - sum_j c_j k(x_i, z_j) - b)^2 over c and b, with the kernel matrix G of
    the vectors z. With all rows as vectors it is the machine of Suykens and Vandewalle (1999).
    """
    n_rows, n_vectors = len(X), len(vectors)
    A, target = np.ones((n_rows, n_vectors + 1)), np.zeros(n_rows)
    G = np.zeros((n_vectors + 1, n_vectors + 1))
    for i in range(n_rows):
        target[i] = 1 if y[i] > 0 else -1
        for j, vector in enumerate(vectors):
            A[i, j] = math.exp(-gamma * np.sum((X[i] - X[vector]) ** 2))
    for j, vector in enumerate(vectors):
        G[j, :n_vectors] = A[vector, :n_vectors]
    solution = np.linalg.lstsq(G + C * A.T @ A, C * A.T @ target, rcond=None)[0]
    return solution[:n_vectors], solution[n_vectors]


def strength_and_correlation(H, y):
    """S2 Theorem 1 for one label, from the votes H (n_models, n_rows) of +1 and -1 of its base models.

    S2 takes its proof from Breiman's "Random Forests" (2001), Theorem 2.3, and so do the definitions here: its
    correlation is the mean over pairs of models of that of their raw margins, weighted by their standard deviations.

    Returns (s, rho, bound): the strength, the mean correlation, and the bound rho (1 - s^2) / s^2 on the
    generalization error, None where s <= 0. Where no model's margin varies over the rows, rho is 0: mr has no variance.
    """
    n_models, n_rows = np.shape(H)
    margins = np.zeros((n_models, n_rows))  # rmg(model, row): 1 where the vote is right, -1 where it is wrong
    for model in range(n_models):
        for i in range(n_rows):
            margins[model, i] = 1 if (H[model][i] > 0) == (y[i] > 0) else -1
    mr = [2 * np.mean(margins[:, i] == 1) - 1 for i in range(n_rows)]  # 2 P(h(x) = y) - 1, P over the models
    s = float(np.mean(mr))
    mean_sd = np.mean([np.std(margins[model]) for model in range(n_models)])
    rho = float(np.var(mr) / mean_sd**2) if mean_sd > 0 else 0.0
    bound = rho * (1 - s**2) / s**2 if s > 0 else None
    return s, rho, bound


def balanced_bootstrap(rng, y, ratio):
    """S2 Alg. 1 steps 1(b) and 1(c): (positives, negatives), row numbers drawn with replacement, N r_d / 2 of each.

    N r_d / 2 is rounded as Python rounds (a half goes to the even number) and is at least 1.
    """
    n_rows = len(y)
    positives = np.array([i for i in range(n_rows) if y[i] > 0])
    negatives = np.array([i for i in range(n_rows) if not y[i] > 0])
    size = max(1, round(n_rows * ratio / 2))
    drawn_positives = positives[rng.integers(len(positives), size=size)]
    drawn_negatives = negatives[rng.integers(len(negatives), size=size)]
    return drawn_positives, drawn_negatives


def smallest_ratios(X, Y, new_estimator, seed, data_ratios, feature_ratios, kept=0.8):
    """S2 section 6.2: the ratios of the smallest base model with 80 % of the full model's mean AP, in two-fold CV.

    One model a label and half is learned on one half of the rows and judged on the other one. "Smallest" is the least
    product of the ratios, then the least data ratio. Where none has 80 %, the largest is taken. Labels must have rows
    with and without them in both halves.

    Returns (data ratio, feature ratio) and a dict of the mean AP of every pair and of "full".
    """
    n_rows, n_columns = X.shape
    order = np.random.default_rng([seed, 2**31]).permutation(n_rows)
    halves = [np.sort(order[::2]), np.sort(order[1::2])]

    def mean_precision(pair):
        precisions = []
        for half in (0, 1):
            learn, judge = halves[half], halves[1 - half]
            for label in range(Y.shape[1]):
                rows, columns = learn, np.arange(n_columns)
                if pair != "full":
                    rng = np.random.default_rng([seed, 2**31, half, label])
                    drawn = balanced_bootstrap(rng, Y[learn, label], pair[0])
                    rows = learn[np.concatenate(drawn)]
                    columns = np.sort(rng.choice(n_columns, max(1, round(n_columns * pair[1])), replace=False))
                model = new_estimator().fit(X[rows][:, columns], Y[rows, label])
                if hasattr(model, "predict_proba"):
                    said = model.predict_proba(X[judge][:, columns])[:, 1]
                else:
                    said = model.decision_function(X[judge][:, columns])
                precisions.append(average_precision_score(Y[judge, label], said))
        return np.mean(precisions)

    pairs = [(data, feature) for data in data_ratios for feature in feature_ratios]
    scores = {pair: mean_precision(pair) for pair in ["full", *pairs]}
    pairs.sort(key=lambda pair: (round(pair[0] * pair[1], 12), pair[0]))
    good = [pair for pair in pairs if scores[pair] >= kept * scores["full"]]
    return (good or pairs[-1:])[0], scores


def probability(f):
    """1 / (1 + e^-f), without overflow."""
    return 1 / (1 + math.exp(-f)) if f >= 0 else math.exp(f) / (1 + math.exp(f))


def logistic_loss(margin):
    """log(1 + e^-margin), without overflow."""
    return math.log1p(math.exp(-margin)) if margin >= 0 else -margin + math.log1p(math.exp(margin))


def add_candidate(F, h, weights):
    """S2 Alg. 2 step 2(b), in place: F_l <- F_l + a_l h for every label l."""
    for i in range(F.shape[0]):
        for label in range(F.shape[1]):
            F[i, label] += weights[label] * h[i]


def as_arrays(weights, slots, losses, F):
    """The result of a run: one row of weights, one slot and one loss for each round, and the loss before them."""
    weights = np.array(weights, dtype=float).reshape(len(slots), F.shape[1])
    return {"weights": weights, "slots": np.array(slots, dtype=int), "losses": np.array(losses), "F": F}
