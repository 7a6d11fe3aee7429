"""What ``fuselearn fit`` prints about a fitted model, for those who do not ask for JSON."""

from typing import Any

from fuselearn.cli.console import counted, say
from fuselearn.cli.files import size_of
from fuselearn.cli.saved_models import trust_options

SCORE_WORDS = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "roc_auc": "AUC"}


def print_summary(summary: dict[str, Any]) -> None:
    """Print the facts about a fitted model."""
    if summary["classes"] is None:
        from fuselearn.cli.regression import number_words

        about, quality = number_words(summary)
    else:
        classes = ", ".join(f"{label} ({count})" for label, count in summary["classes"].items())
        about, quality = f"{summary['rows']} rows, classes of {summary['target']}: {classes}", _scored(summary)
    rounds = f", {counted(summary['rounds'], 'round')}" if summary["rounds"] is not None else ""
    for line in (about, f"{summary['method']}{rounds}, {summary['seconds']:.1f} s{quality}"):
        say(line)
    if summary["view_importances"]:
        shares = sorted(summary["view_importances"].items(), key=lambda pair: -pair[1])
        say("Share of the views: " + ", ".join(f"{name} {share:.0%}" for name, share in shares))
    if "noise_rates" in summary:
        from fuselearn.cli.columns import label_words

        say(f"{label_words(summary)} (fuselearn suspects {summary['model']}).")
    kept = " (what was fitted by then)" if summary["interrupted"] else ""
    say(f"Saved {summary['model']}, {size_of(summary['model'])}{kept}.")
    if summary["foreign"]:
        say(f"It holds types of other packages; to use it, add {trust_options(summary['foreign'])}.")


def _scored(summary: dict[str, Any]) -> str:
    """Return the out-of-fold score in words and, where classes are unequal, the others beside it."""
    if summary["out_of_sample_score"] is None:
        return ""
    from fuselearn.data.labels import are_unequal

    metric, scores = summary["out_of_sample_metric"], summary["out_of_sample_scores"]
    others = [name for name in scores if name != metric] if are_unequal(list(summary["classes"].values())) else []
    beside = ", ".join(f"{SCORE_WORDS[name]} {scores[name]:.3f}" for name in others)
    return f", out-of-fold {SCORE_WORDS[metric]} {scores[metric]:.3f}" + (f" ({beside})" if beside else "")
