"""A summary that needs no caution, and the sentence that a rule makes of it."""

from copy import deepcopy

NBSP = "\N{NO-BREAK SPACE}"


def record(name, share=None, lost=None):
    return {"name": name, "columns": 5, "share": share, "lost": lost, "shuffled": lost, "shuffled_std": 0.0}


PLAIN = {
    "model": {"name": "ShareBoostClassifier", "wrapped_in": [], "calibrated": False},
    "data": {
        "rows": 1000,
        "columns": 10,
        "views": 2,
        "labelled": True,
        "many_labels": False,
        "n_labels": None,
        "classes": ["ill", "well"],
        "class_counts": [400, 600],
        "unknown_classes": [],
        "rows_left_out": 0,
    },
    "training": {
        "rows": 500,
        "likeness": None,
        "error_bound": None,
        "noise_rates": None,
        "out_of_sample_score": None,
        "out_of_sample_metric": "balanced_accuracy",
    },
    "quality": {
        "name": "accuracy",
        "score": 0.9,
        "low": 0.88,
        "high": 0.92,
        "right": 900,
        "rows": 1000,
        "baseline": 0.6,
        "baseline_class": "well",
        "p_value": 1e-9,
        "unequal_classes": False,
        "accuracy": 0.9,
        "accuracy_low": 0.88,
        "accuracy_high": 0.92,
        "area_under_curve": 0.93,
        "balanced_accuracy": 0.89,
        "balanced_high": 0.91,
        "chance": 0.5,
        "precision": 0.7,
        "recall": 0.8,
        "of_class": "ill",
    },
    "per_class": None,
    "leaderboard": None,
    "views": {
        "records": [record("rna", 0.7, 0.2), record("age", 0.3, 0.001)],
        "baseline": 0.9,
        "score_name": "accuracy",
        "rows": 1000,
        "of": 1000,
    },
    "features": None,
    "redundancy": {"most": [{"first": "rna", "second": "age", "alike": 0.1}]},
    "rounds": {"n": 50, "planned": 50, "ended_early": False, "staged": None},
    "margins": {"rows": 1000, "of": 1000},
    "missingness": {
        "complete": 1.0,
        "empty_rows": 0,
        "records": [{"view": "rna", "present": 1.0, "gaps": 0.0}, {"view": "age", "present": 1.0, "gaps": 0.0}],
    },
    "suspects": {"confident": 0, "labels": 1000, "total": 0},
    "calibration": {"stated": 0.91, "observed": 0.9},
}


def sentence(rule, **changes):
    """Return what a rule says of the plain summary with values changed; ``a__b`` names the key b of the part a."""
    summary = deepcopy(PLAIN)
    for path, value in changes.items():
        *parts, last = path.split("__")
        place = summary
        for part in parts:
            place = place[part]
        place[last] = value
    return rule(summary)
