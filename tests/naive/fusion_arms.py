"""The parts of a fusion the slow way: normal equations, walks down a tree, least squares with stacked rows."""

import math

import numpy as np
from scipy.optimize import minimize, nnls

# Least squares with a ridge


def ridge_coefficients(features, targets, weights, ridge):
    """Minimise sum_i w_i |t_i - b - x_i B|^2 + ridge |B|^2, with b left alone. Returns (B, b)."""
    n_rows, n_features = features.shape
    design = np.hstack([np.ones((n_rows, 1)), features])
    penalty = ridge * np.eye(1 + n_features)
    penalty[0, 0] = 0.0
    solution = np.linalg.solve(
        design.T @ (weights[:, None] * design) + penalty, design.T @ (weights[:, None] * targets)
    )
    return solution[1:], solution[0]


def left_out_values(features, targets, weights, ridge, groups=None):
    """The value of every row by a fit without it, or without its whole group."""
    values = np.empty(targets.shape)
    groups = np.arange(len(features)) if groups is None else groups
    for i in range(len(features)):
        others = groups != groups[i]
        coefficients, offsets = ridge_coefficients(features[others], targets[others], weights[others], ridge)
        values[i] = features[i] @ coefficients + offsets
    return values


def means_of_others(targets, weights, units=None):
    """The weighted mean of the targets of all rows of other units, for every row."""
    units = np.arange(len(targets)) if units is None else units
    means = np.empty(targets.shape)
    for i in range(len(targets)):
        others = units != units[i]
        means[i] = sum(w * t for w, t in zip(weights[others], targets[others])) / sum(weights[others])
    return means


def mean_eigenvalue(features, weights):
    """Of sqrt(w) K sqrt(w), with K the products of features about their weighted mean: its trace over the rows."""
    mean = sum(w * x for w, x in zip(weights, features)) / sum(weights)
    return sum(w * ((x - mean) @ (x - mean)) for w, x in zip(weights, features)) / len(features)


# Randomised trees


def averaged_by_others(values, losses, part_of):
    """Average the values of several fits, each row with the likelihoods of the rows of other parts.

    Values are by fit, row and target, and losses by fit and row.
    """
    averaged = np.empty(values[0].shape)
    for row, part in enumerate(part_of):
        others = [other for other in range(len(part_of)) if part_of[other] != part]
        totals = np.array([sum(of_fit[other] for other in others) for of_fit in losses])
        shares = np.exp(-0.5 * len(others) * (totals / totals.min() - 1))
        shares /= shares.sum()
        averaged[row] = sum(share * of_fit[row] for share, of_fit in zip(shares, values))
    return averaged


def drawn_counts(seed, tree, n_rows, n_drawn):
    """How often a tree draws each row: the first draw of the tree's own generator."""
    generator = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, tree)))
    counts = np.zeros(n_rows, dtype=int)
    for row in generator.integers(0, n_rows, n_drawn):
        counts[row] += 1
    return counts


def leaf_of(forest, tree, row):
    """Node in which a row (its columns) ends."""
    node = forest.roots[tree]
    while forest.feature[node] != -1:
        right = row[forest.feature[node]] > forest.threshold[node]
        node = forest.left[node] + (1 if right else 0)
    return node


def leaves_of(forest, tree, columns):
    return np.array([leaf_of(forest, tree, row) for row in columns.T])


def out_of_bag(forest, columns, counts_of_trees):
    """Sums over the trees that have not drawn a row, and how many these are."""
    totals = np.zeros((columns.shape[1], forest.values.shape[1]))
    n_trees = np.zeros(columns.shape[1], dtype=int)
    for tree, counts in enumerate(counts_of_trees):
        for i, row in enumerate(columns.T):
            if counts[i] == 0:
                totals[i] += forest.values[leaf_of(forest, tree, row)]
                n_trees[i] += 1
    return totals, n_trees


# Combination


def arm_weights(values, targets, row_weights, strength):
    """Non-negative least squares, with a row for each arm that draws its weight to its share of the plain average."""
    n_arms = len(values)
    roots = np.sqrt(np.repeat(row_weights, targets.shape[1]))
    design = np.column_stack([roots * arm.ravel() for arm in values])
    goal = roots * targets.ravel()
    average = design.mean(axis=1)
    factor = max((average @ goal) / (average @ average), 0.0)
    ridge = strength * np.mean([column @ column for column in design.T])
    design = np.vstack([design, math.sqrt(ridge) * np.eye(n_arms)])
    goal = np.concatenate([goal, np.full(n_arms, math.sqrt(ridge) * factor / n_arms)])
    return nnls(design, goal)[0]


def chosen_strength(values, targets, row_weights, strengths, part_of):
    """The largest strength whose held-out loss is within a standard error of the least. Returns (strength, loss)."""
    n_rows = len(targets)
    losses = []
    for strength in strengths:
        loss = np.empty(n_rows)
        for part in set(part_of):
            held_out = part_of == part
            weights = arm_weights(values[:, ~held_out], targets[~held_out], row_weights[~held_out], strength)
            said = sum(w * v for w, v in zip(weights, values[:, held_out]))
            loss[held_out] = row_weights[held_out] * ((targets[held_out] - said) ** 2).sum(axis=1)
        losses.append(loss)
    best = min(range(len(strengths)), key=lambda s: losses[s].mean())
    chosen = best
    for s in range(best + 1, len(strengths)):
        worse = losses[s] - losses[best]
        if worse.mean() <= worse.std() / math.sqrt(n_rows):
            chosen = s
    nothing = (row_weights * (targets**2).sum(axis=1)).mean()
    return strengths[chosen], losses[chosen].mean() / nothing


def weighted_sum(values, weights):
    """Row by row: the weighted sum of the arms that say something, times all weight over theirs; 0 where none does."""
    sums = np.zeros(values.shape[1:])
    for i in range(values.shape[1]):
        speaking = [a for a in range(len(values)) if not np.isnan(values[a, i, 0]) and weights[a] > 0]
        if speaking:
            share = sum(weights[a] for a in speaking) / sum(weights)
            sums[i] = sum(weights[a] * values[a, i] for a in speaking) / share
    return sums


# Probabilities


def log_posterior(slope, shifts, values, posterior, weights, log_shares, penalties):
    """Log likelihood of softmax(slope * (value + shift) + log share), less the ridges on slope and shifts of values of
    mean square 1."""
    size = math.sqrt((values**2).mean())
    total = -penalties[0] / 2 * (slope * size) ** 2 - penalties[1] / 2 * ((shifts / size) ** 2).sum()
    logits = slope * (values + shifts) + log_shares
    largest = logits.max(axis=1, keepdims=True)
    logs = logits - largest - np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))
    total += weights @ (posterior * logs).sum(axis=1)
    return total


def best_calibration(values, posterior, weights, log_shares, *penalties):
    """Slope and shifts by a general minimiser."""
    size = math.sqrt((values**2).mean())

    def downhill(unknown):
        return -log_posterior(unknown[0] / size, unknown[1:] * size, values, posterior, weights, log_shares, penalties)

    n_classes = values.shape[1]
    bounds = [(0, 100), *[(None, None)] * n_classes]
    codes = posterior.argmax(axis=1)
    offsets = np.mean([values[codes == code].mean(axis=0) / size for code in set(codes)], axis=0)
    tops = [
        minimize(downhill, np.r_[1.0, start], bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-8})
        for start in (np.zeros(n_classes), offsets.mean() - offsets)
    ]
    found = min(tops, key=lambda top: top.fun)
    return found.x[0] / size, found.x[1:] * size


def calibration_of_rows(calibration, present):
    """Slope and intercepts of each row: of the largest known pattern among its views, of several the lowest slope."""
    slopes, intercepts = np.zeros((len(present), 1)), np.tile(calibration.log_prior, (len(present), 1))
    for i, here in enumerate(present):
        known = [k for k, pattern in enumerate(calibration.patterns) if all(h or not p for h, p in zip(here, pattern))]
        if known:
            best = min(known, key=lambda k: (-calibration.patterns[k].sum(), calibration.slopes[k]))
            slopes[i], intercepts[i] = calibration.slopes[best], calibration.intercepts[best]
    return slopes, intercepts


# Reliabilities


def reliabilities(values, targets, row_weights, groups):
    """Squared correlations with the labels, drawn to their mean as far as they may differ by chance."""
    n_arms, n_rows, _ = values.shape
    units = range(n_rows) if groups is None else sorted(set(groups))
    changes = np.zeros((n_arms, len(units)))
    correlations = []
    for a in range(n_arms):
        centred = values[a] - np.average(values[a], axis=0, weights=row_weights)
        scaled = centred / math.sqrt(np.average((centred**2).sum(axis=1), weights=row_weights))
        r = np.average((scaled * targets).sum(axis=1), weights=row_weights)
        correlations.append(r)
        for place, unit in enumerate(units):
            for i in range(n_rows):
                if (i if groups is None else groups[i]) == unit:
                    change = scaled[i] @ targets[i] - r / 2 * scaled[i] @ scaled[i]
                    changes[a, place] += row_weights[i] / sum(row_weights) * change
    mean = sum(correlations) / n_arms
    errors = [len(units) * np.var(changes[a] - changes.mean(axis=0)) for a in range(n_arms)]
    between = sum((r - mean) ** 2 - e for r, e in zip(correlations, errors)) / n_arms
    kept = [between / (between + e) if between > 0 else 0.0 for e in errors]
    shrunk = [mean + share * (r - mean) for r, share in zip(correlations, kept)]
    squares = np.array([max(r, 0.0) ** 2 for r in shrunk])
    return squares / squares.mean() if squares.any() else np.ones(n_arms)


# Absent views


def conditional_mean(row, loadings, noise):
    """The row with its gaps at their mean given the other cells, if x is normal with the covariance L L' + noise I."""
    covariance = loadings @ loadings.T + noise * np.eye(len(row))
    absent = np.isnan(row)
    known = ~absent
    filled = row.copy()
    filled[absent] = covariance[np.ix_(absent, known)] @ np.linalg.inv(covariance[np.ix_(known, known)]) @ row[known]
    return filled


def component_steps(table, loadings, noise, prior_rows, n_steps):
    """Steps of expectation maximisation for loadings and noise, row by row and column by column."""
    n_columns, n_components = loadings.shape
    for _ in range(n_steps):
        means, squares = [], []
        for row in table:
            known = ~np.isnan(row)
            precision = np.linalg.inv(loadings[known].T @ loadings[known] + noise * np.eye(n_components))
            means.append(precision @ loadings[known].T @ row[known])
            squares.append(np.outer(means[-1], means[-1]) + noise * precision)
        new, error, n_cells = np.empty_like(loadings), 0.0, 0
        for column in range(n_columns):
            rows = [i for i in range(len(table)) if not np.isnan(table[i, column])]
            moments = sum(squares[i] for i in rows)
            sums = sum(table[i, column] * means[i] for i in rows)
            new[column] = np.linalg.inv(moments + prior_rows * np.eye(n_components)) @ sums
            error += sum(table[i, column] ** 2 for i in rows) - 2 * new[column] @ sums
            error += new[column] @ moments @ new[column]
            n_cells += len(rows)
        loadings, noise = new, error / n_cells
    return loadings, noise


# Rows with some of their views


def left_of_row(row, pattern, present, arm_values, arm_views, weights, factors, again):
    """The combined value of a training row that has no more than the views of a pattern, and the weight that it is of;
    None where it is not known.

    `again` is None or a function of a pattern that returns in-sample values of the row by arm, with all its views and
    with those of the pattern.
    """
    left = [bool(there and asked) for there, asked in zip(present[row], pattern)]
    if not any(left):
        return None
    total, spoken = 0.0, 0.0
    for a, view in enumerate(arm_views):
        if weights[a] == 0 or (view is not None and not left[view]):
            continue
        value, counted = arm_values[a][row], weights[a]
        if view is None:
            counted *= factors[sum(left)]
            if left != [bool(there) for there in present[row]]:
                if again is None:
                    return None
                whole, fewer = again(a, left)
                value = fewer - math.sqrt(sum(left) / sum(present[row])) * (whole - value)
        total, spoken = total + counted * value, spoken + counted
    return None if spoken == 0 else total * sum(weights) / spoken


def factor_of_count(count, present, arm_values, arm_views, weights, targets, row_weights, multiples, doubt):
    """What arms of all views count by in rows that have so many views: the share of these times the best multiple."""
    n_views = present.shape[1]
    rows = [i for i in range(len(present)) if sum(present[i]) == count]
    best = None
    for multiple in multiples:
        factors = [multiple * m / n_views for m in range(n_views + 1)]
        values = [left_of_row(i, present[i], present, arm_values, arm_views, weights, factors, None) for i in rows]
        of_classes = np.array([np.r_[-v, v] if len(v) == 1 else v for v in values])
        log_shares = np.log((row_weights[rows] @ targets[rows]) / row_weights[rows].sum())
        size = math.sqrt((of_classes**2).mean())

        def loss(slope, of_classes=of_classes, size=size, log_shares=log_shares):
            logits = slope / size * of_classes + log_shares
            logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
            return -float(row_weights[rows] @ (targets[rows] * logs).sum(axis=1)), slope**2 / 2

        slope = minimize(lambda x, loss=loss: sum(loss(x[0])), [1.0], bounds=[(0, 100)]).x[0]
        gain = -loss(slope)[0] - doubt * math.log2(multiple) ** 2
        if best is None or gain > best[0]:
            best = gain, multiple * count / n_views
    return best[1]
