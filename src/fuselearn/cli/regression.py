"""Numbers as the target of a command: whether they are meant, which methods predict them, and facts about them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fuselearn.cli.choices import DEFAULT_METHOD
from fuselearn.cli.columns import INTERVAL_ENDS
from fuselearn.cli.console import refuse
from fuselearn.cli.targets import as_numbers
from fuselearn.typing import FloatArray

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.registry import Method


def target_numbers(column: "pyarrow.ChunkedArray", name: str, path: str) -> FloatArray:
    """Return the numbers that a model is judged by."""
    return as_numbers(np.array(column.to_pylist()), name, path)


def regression_method(method: str, view_names: list[str]) -> "Method":
    """Return the method of a name that predicts numbers, or refuse it with similar names."""
    from fuselearn.regression_methods import find_regression_method

    try:
        return find_regression_method(method, view_names)
    except ValueError as error:
        refuse(
            f"--method {method!r} does not predict numbers; {str(error).partition('; ')[2]} "
            f"--method {DEFAULT_METHOD} does, and --task classification predicts classes."
        )


def check_for_classes_only(class_weight: str, label_columns: list[str], categorical: str) -> None:
    """Refuse options that make sense for classes only."""
    if class_weight != "none":
        refuse("--class-weight is for classes, but numbers are predicted; leave it out.")
    if label_columns:
        refuse("--label-columns is for classes, but numbers are predicted; leave it out.")
    if categorical == "target":
        refuse("--categorical target is the mean of a class; for numbers use onehot.")


def number_facts(model: Any, y: FloatArray) -> dict[str, Any]:
    """Return facts about a fitted regression in plain types."""
    share = getattr(model, "outlier_share_", None)
    return {
        "task": "regression",
        "classes": None,
        "target_range": [float(y.min()), float(y.max())],
        "outlier_share": None if share is None else float(share),
    }


def number_words(summary: dict[str, Any]) -> tuple[str, str]:
    """Return in words what the target is, and how well it is predicted out of fold."""
    (low, high), scores, share = summary["target_range"], summary["out_of_sample_scores"], summary["outlier_share"]
    quality = ""
    if scores is not None:
        quality = f", out-of-fold R² {scores['r2']:.3f} (mean absolute error {scores['mean_absolute_error']:.4g})"
    if share:
        quality += f" without the {share:.1%} of the rows that are gross outliers, which count next to nothing"
        if scores is not None:
            # A report and `compare` judge by all rows: without this figure their R² would seem to contradict the other.
            quality += f"; R² of all rows {scores['r2_all_rows']:.3f}"
    return f"{summary['rows']} rows, numbers of {summary['target']} from {low:g} to {high:g}", quality


def interval_columns(model: Any, X: FloatArray, coverage: float) -> dict[str, FloatArray]:
    """Return the ends of intervals as columns of predictions, where a model has intervals."""
    if not hasattr(model, "predict_interval"):
        return {}
    lower, upper = model.predict_interval(X, coverage).T
    return {name: np.ascontiguousarray(ends) for name, ends in zip(INTERVAL_ENDS, (lower, upper))}
