"""Voting and stacking over views, a row and a view at a time.

A model is a pair of callables on the rows of its own view: ``labels(X)``, a class code for each row, and
``values(X)``, a list of decision values for each row, one per class. ``fit(X, y)`` makes one. A row of a view is absent
where all its values are NaN.
"""

import numpy as np


def is_absent(x):
    return all(np.isnan(value) for value in x)


def fit_views(blocks, labels, fit):
    """One model per view, of the rows that have it, by the view's own labels."""
    models = []
    for block, own in zip(blocks, labels.T, strict=True):
        rows = [i for i in range(len(block)) if not is_absent(block[i])]
        models.append(fit(block[rows], own[rows]))
    return models


def majority(labels_of_views, n_classes):
    """Class that most of the views name (None: absent); a tie goes to the first view that names a tied class."""
    counts = [sum(label == k for label in labels_of_views) for k in range(n_classes)]
    return next(label for label in labels_of_views if label is not None and counts[label] == max(counts))


def vote(blocks, models, n_classes, voting):
    """Predicted class codes; ties in the number of votes go to the larger sum of values. -1 without any view."""
    predicted = []
    for i in range(len(blocks[0])):
        votes, sums = [0] * n_classes, [0.0] * n_classes
        for block, (labels, values) in zip(blocks, models, strict=True):
            if not is_absent(block[i]):
                votes[labels(block[i : i + 1])[0]] += 1
                for k, value in enumerate(values(block[i : i + 1])[0]):
                    sums[k] += value
        if not any(votes):
            predicted.append(-1)
            continue
        ranking = [(votes[k], sums[k], -k) if voting == "majority" else (sums[k], -k) for k in range(n_classes)]
        predicted.append(-max(ranking)[-1])
    return np.array(predicted)


def stack(blocks, labels, fit, folds, n_classes, method):
    """Table of out-of-fold outputs: for each view a column per class; 0 where the view is absent."""
    table = np.zeros((len(labels), len(blocks) * n_classes))
    for train, test in folds:
        models = fit_views([block[train] for block in blocks], labels[train], fit)
        for view, (block, (name, values)) in enumerate(zip(blocks, models, strict=True)):
            for i in test:
                if is_absent(block[i]):
                    continue
                for k in range(n_classes):
                    said = values(block[i : i + 1])[0][k] if method == "values" else name(block[i : i + 1])[0] == k
                    table[i, view * n_classes + k] = said
    return table
