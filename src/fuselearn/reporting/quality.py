"""Measures of quality on labelled rows: scores with intervals, classes, confusions and calibration."""

import numpy as np
from scipy import stats
from sklearn.metrics import average_precision_score, confusion_matrix, f1_score, roc_auc_score

from fuselearn.data.labels import are_unequal
from fuselearn.reporting.report_rows import Record
from fuselearn.typing import AnyArray, BoolArray, FloatArray, IntArray

LEVEL = 0.95
"""Confidence level of all intervals."""
Z = float(stats.norm.ppf((1 + LEVEL) / 2))
N_BINS = 10
"""Bins of probabilities for calibration."""
MAX_CONFUSIONS = 20


def class_score(y: AnyArray, predicted: AnyArray, usual_class: object, *, balanced: bool = False) -> Record:
    """Return accuracy and balanced accuracy with their intervals; ``"score"`` is the one that the model is made for.

    The baseline is to predict the same class always. For accuracy this is `usual_class`, the most frequent one of these
    rows, which makes the hardest baseline; ``"p_value"`` is the sign test on the rows that only one of the two predicts
    correctly. For balanced accuracy any class will do, and the p-value is that of the normal distribution.
    """
    right, usual = predicted == y, y == usual_class
    low, high = share_interval(right)
    labels, sizes = np.unique(y, return_counts=True)
    recalls = np.array([right[y == label].mean() for label in labels])
    balanced_low, balanced_high = balanced_interval(recalls, sizes)
    mean_recall, chance = float(np.mean(recalls)), 1.0 / len(recalls)
    headline: Record = {
        "name": "accuracy",
        "score": float(right.mean()),
        "low": low,
        "high": high,
        "baseline": float(usual.mean()),
        "p_value": sign_test(right, usual),
    }
    if balanced:
        z = abs(mean_recall - chance) / balanced_error(recalls, sizes)
        headline = {
            "name": "balanced accuracy",
            "score": mean_recall,
            "low": balanced_low,
            "high": balanced_high,
            "baseline": chance,
            "p_value": float(2 * stats.norm.sf(z)),
        }
    return {
        **headline,
        "baseline_class": str(usual_class),
        "right": int(right.sum()),
        "rows": len(y),
        "unequal_classes": are_unequal(sizes),
        "accuracy": float(right.mean()),
        "accuracy_low": low,
        "accuracy_high": high,
        "balanced_accuracy": mean_recall,
        "balanced_low": balanced_low,
        "balanced_high": balanced_high,
        "chance": chance,
    }


def area_under_curve(y: AnyArray, scores: FloatArray, classes: AnyArray) -> float | None:
    """Return the area under the ROC curve, the mean over the classes, each against all others; None without two.

    `scores` are probabilities or decision values, with a column for each of the sorted `classes`, or one for two.
    """
    if scores.ndim == 1:
        classes, scores = classes[1:], scores[:, None]
    areas = [
        roc_auc_score(y == label, of_class)
        for label, of_class in zip(classes.tolist(), scores.T)
        if 0 < np.sum(y == label) < len(y)
    ]
    return float(np.mean(areas)) if areas else None


def multilabel_score(y: IntArray, decision: FloatArray, names: list[str]) -> Record:
    """Return the mean average precision over the labels, and the baseline of ranking rows at random.

    The score has no interval, because the labels of a row are not independent.
    """
    records: list[Record] = []
    for name, given, values in zip(names, y.T, decision.T):
        is_defined = 0 < given.sum() < len(given)
        records.append(
            {
                "label": name,
                "rows": int(given.sum()),
                "average_precision": float(average_precision_score(given, values)) if is_defined else None,
                "area_under_curve": float(roc_auc_score(given, values)) if is_defined else None,
                "f1": float(f1_score(given, values > 0)) if is_defined else None,
            }
        )
    judged = [record for record in records if record["average_precision"] is not None]
    return {
        "name": "mean average precision",
        "score": float(np.mean([record["average_precision"] for record in judged])) if judged else None,
        "baseline": float(np.mean([record["rows"] for record in judged]) / len(y)) if judged else None,
        "rows": len(y),
        "labels": records,
        "labels_judged": len(judged),
    }


def share_interval(right: BoolArray) -> tuple[float, float]:
    """Return Wilson's interval of the share of True."""
    interval = stats.binomtest(int(np.sum(right)), len(right)).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def balanced_interval(recalls: FloatArray, sizes: IntArray) -> tuple[float, float]:
    """Return an interval of the mean of the recalls of classes of given sizes."""
    # It covers the truth in about 93 of 100 cases.
    balanced, half_width = float(np.mean(recalls)), Z * balanced_error(recalls, sizes)
    return max(0.0, balanced - half_width), min(1.0, balanced + half_width)


def balanced_error(recalls: FloatArray, sizes: IntArray) -> float:
    """Return the standard error of the mean of the recalls of classes of given sizes."""
    # The variance of each recall is p(1 - p) / n, with p as if there were two more rows, one right and one wrong, so
    # that no recall counts as known to be 0 or 1.
    smoothed = (recalls * sizes + 1) / (sizes + 2)
    return float(np.sqrt(np.sum(smoothed * (1 - smoothed) / sizes))) / len(sizes)


def sign_test(first: BoolArray, second: BoolArray) -> float:
    """Return the two-sided p-value that two predictors are right equally often, from the rows where they differ."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    differing = only_first + only_second
    return float(stats.binomtest(only_first, differing).pvalue) if differing else 1.0


def per_class(y: AnyArray, predicted: AnyArray, classes: list[object]) -> list[Record]:
    """Return rows, precision, recall and F1 of each class; None for a value that is not defined."""
    records = []
    for label in classes:
        given, named = y == label, predicted == label
        hits = int((given & named).sum())
        low, high = share_interval(predicted[given] == label) if given.any() else (None, None)
        records.append(
            {
                "class": str(label),
                "rows": int(given.sum()),
                "predicted": int(named.sum()),
                "precision": hits / int(named.sum()) if named.any() else None,
                "recall": hits / int(given.sum()) if given.any() else None,
                "recall_low": low,
                "recall_high": high,
                "f1": 2 * hits / int(given.sum() + named.sum()) if given.any() or named.any() else None,
            }
        )
    return records


def precision_and_recall(classes: list[Record]) -> Record:
    """Return precision and recall of the rarer one of two classes, else their means over the classes.

    A class that is never predicted has the precision 0 in the mean. ``"of_class"`` is the class, or None for a mean.
    """
    given = [record for record in classes if record["rows"]]
    if len(classes) == 2:
        given = [min(given, key=lambda record: record["rows"])]
    return {
        "precision": float(np.mean([record["precision"] or 0.0 for record in given])),
        "recall": float(np.mean([record["recall"] or 0.0 for record in given])),
        "of_class": given[0]["class"] if len(classes) == 2 else None,
    }


def confusion(y: AnyArray, predicted: AnyArray, classes: list[object]) -> Record:
    """Return counts of given against predicted classes, and the pairs that are confused most often."""
    counts = confusion_matrix(y, predicted, labels=classes)
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_CONFUSIONS]
    totals = counts.sum(axis=1)
    most = [
        {
            "given": str(classes[given]),
            "predicted": str(classes[named]),
            "rows": int(wrong[given, named]),
            "share": float(wrong[given, named] / totals[given]),
        }
        for given, named in zip(*np.unravel_index(order, wrong.shape))
        if wrong[given, named]
    ]
    return {"classes": [str(label) for label in classes], "counts": counts.tolist(), "most": most}


def calibration(y: AnyArray, predicted: AnyArray, probabilities: FloatArray, classes: AnyArray) -> Record:
    """Return how often the predicted class is right, by its probability, and the expected calibration error.

    The predicted class need not be the most probable one. `classes` are sorted, as those of a model are.
    """
    confidence = probabilities[np.arange(len(predicted)), np.searchsorted(classes, predicted)]
    right = predicted == y
    bin_numbers = np.clip((confidence * N_BINS).astype(int), 0, N_BINS - 1)
    bins: list[Record] = []
    for number in np.unique(bin_numbers):
        inside = bin_numbers == number
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
    gaps = sum(record["rows"] * abs(record["stated"] - record["observed"]) for record in bins)
    return {
        "bins": bins,
        "stated": float(confidence.mean()),
        "observed": float(right.mean()),
        "error": gaps / len(y),
        "rows": len(y),
    }
