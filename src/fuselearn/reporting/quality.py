"""How good predictions are on labelled rows: score with its interval, classes, confusions, probabilities."""

import numpy as np
from scipy import stats
from sklearn.metrics import average_precision_score, confusion_matrix, f1_score, roc_auc_score

LEVEL = 0.95
Z = float(stats.norm.ppf((1 + LEVEL) / 2))
N_BINS = 10
MOST_CONFUSIONS = 20


def score_of(y, predicted, usual_class):
    """Accuracy with Wilson's interval, beside that of always naming one class.

    Parameters
    ----------
    y, predicted : array of shape (n_rows,)
    usual_class : label
        The most frequent class of these rows, which makes for the hardest comparison.

    Returns
    -------
    dict
        ``p_value`` is the sign test of the rows that only one of the two has right.
    """
    right, usual = predicted == y, y == usual_class
    low, high = share_interval(right)
    sizes = np.unique(y, return_counts=True)[1]
    recalls = [float(right[y == label].mean()) for label in np.unique(y)]
    balanced = float(np.mean(recalls))
    # The variance of each recall, p(1 - p) / n, with p as if two rows more were there, one right and one wrong: no
    # class is known to be found always or never. The interval covers in about 93 of 100 cases.
    smoothed = (np.array(recalls) * sizes + 1) / (sizes + 2)
    spread = Z * float(np.sqrt(np.sum(smoothed * (1 - smoothed) / sizes))) / len(sizes)
    return {
        "name": "accuracy",
        "score": float(right.mean()),
        "low": low,
        "high": high,
        "right": int(right.sum()),
        "rows": len(y),
        "baseline": float(usual.mean()),
        "baseline_class": str(usual_class),
        "p_value": sign_test(right, usual),
        "balanced_accuracy": balanced,
        "balanced_low": max(0.0, balanced - spread),
        "balanced_high": min(1.0, balanced + spread),
        "chance": 1.0 / len(recalls),
    }


def score_of_labels(Y, decision, names):
    """Mean average precision over the labels, beside the mean share of rows that have a label, which is chance.

    Parameters
    ----------
    Y : int array of shape (n_rows, n_labels)
    decision : array of shape (n_rows, n_labels)
    names : list of str

    Returns
    -------
    dict
        The score has no interval: labels of one row are not independent.
    """
    records = []
    for name, given, values in zip(names, Y.T, decision.T):
        both = 0 < given.sum() < len(given)
        records.append(
            {
                "label": name,
                "rows": int(given.sum()),
                "average_precision": float(average_precision_score(given, values)) if both else None,
                "area_under_curve": float(roc_auc_score(given, values)) if both else None,
                "f1": float(f1_score(given, values > 0)) if both else None,
            }
        )
    judged = [record for record in records if record["average_precision"] is not None]
    return {
        "name": "mean average precision",
        "score": float(np.mean([record["average_precision"] for record in judged])) if judged else None,
        "baseline": float(np.mean([record["rows"] for record in judged]) / len(Y)) if judged else None,
        "rows": len(Y),
        "labels": records,
        "labels_judged": len(judged),
    }


def share_interval(right):
    """Wilson's interval of the share of True."""
    interval = stats.binomtest(int(np.sum(right)), len(right)).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def sign_test(first, second):
    """Two-sided p-value that two ways of predicting are right equally often, from the rows where they differ."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    differing = only_first + only_second
    return float(stats.binomtest(only_first, differing).pvalue) if differing else 1.0


def per_class(y, predicted, classes):
    """Rows, precision, recall and F1 of each class.

    Parameters
    ----------
    y, predicted : array of shape (n_rows,)
    classes : list
        The model's classes, and those that only `y` has.

    Returns
    -------
    list of dict
        A value that is not defined (a class without rows, or never predicted) is None.
    """
    records = []
    for label in classes:
        given, named = y == label, predicted == label
        hits = int((given & named).sum())
        precision = hits / int(named.sum()) if named.any() else None
        recall = hits / int(given.sum()) if given.any() else None
        f1 = 2 * hits / int(given.sum() + named.sum()) if given.any() or named.any() else None
        low, high = share_interval(predicted[given] == label) if given.any() else (None, None)
        records.append(
            {
                "class": str(label),
                "rows": int(given.sum()),
                "predicted": int(named.sum()),
                "precision": precision,
                "recall": recall,
                "recall_low": low,
                "recall_high": high,
                "f1": f1,
            }
        )
    return records


def confusion(y, predicted, classes):
    """Counts of given against predicted classes, and the pairs that are mistaken most often."""
    counts = confusion_matrix(y, predicted, labels=classes)
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSIONS]
    given, named = np.unravel_index(order, wrong.shape)
    totals = counts.sum(axis=1)
    most = [
        {
            "given": str(classes[one]),
            "predicted": str(classes[other]),
            "rows": int(wrong[one, other]),
            "share": float(wrong[one, other] / totals[one]),
        }
        for one, other in zip(given, named)
        if wrong[one, other]
    ]
    return {"classes": [str(label) for label in classes], "counts": counts.tolist(), "most": most}


def calibration(y, predicted, probabilities, classes):
    """How often the predicted class is right where its probability is so and so large.

    Parameters
    ----------
    y, predicted : array of shape (n_rows,)
        The predicted class need not be the most probable one.
    probabilities : array of shape (n_rows, n_classes)
    classes : array of shape (n_classes,)
        Sorted, as those of a model are.

    Returns
    -------
    dict
        ``error`` is the expected calibration error: the mean gap over the rows.
    """
    confidence = probabilities[np.arange(len(predicted)), np.searchsorted(classes, predicted)]
    right = predicted == y
    places = np.clip((confidence * N_BINS).astype(int), 0, N_BINS - 1)
    bins = []
    for number in np.unique(places):
        inside = places == number
        low, high = share_interval(right[inside])
        bins.append(
            {
                "from": number / N_BINS,
                "to": (number + 1) / N_BINS,
                "rows": int(inside.sum()),
                "stated": float(confidence[inside].mean()),
                "observed": float(right[inside].mean()),
                "low": low,
                "high": high,
            }
        )
    gaps = sum(one["rows"] * abs(one["stated"] - one["observed"]) for one in bins)
    return {
        "bins": bins,
        "stated": float(confidence.mean()),
        "observed": float(right.mean()),
        "error": gaps / len(y),
        "rows": len(y),
    }
