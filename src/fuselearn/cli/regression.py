"""Numbers as the target of a command: whether they are meant, which methods predict them, and facts about them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fuselearn.cli.choices import DEFAULT_METHOD
from fuselearn.cli.console import Notes, refuse
from fuselearn.typing import AnyArray, FloatArray

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.registry import Method


def numbers_to_predict(y: AnyArray, name: str, path: str, task: str, notes: Notes | None) -> FloatArray | None:
    """Return the target as numbers where these are to be predicted, else None; a guess is noted.

    With "auto" these are numbers with fractions, as scikit-learn has it; whole numbers are classes.
    """
    fractions = y[y != np.round(y)] if y.dtype.kind == "f" else y[:0]
    if task == "classification" or (task == "auto" and not len(fractions)):
        return None
    numbers = _as_numbers(y, name, path)
    if len(np.unique(numbers)) < 2:
        refuse(f"{path} has one number only in the target {name!r}; there must be several to learn from.")
    if task == "auto" and notes is not None:
        notes.add(
            f"The target {name!r} has measured numbers, such as {fractions[0]:g}: they are predicted as numbers "
            "(--task regression; --task classification is for classes)."
        )
    return numbers


def _as_numbers(y: AnyArray, name: str, path: str) -> FloatArray:
    """Return a target as finite numbers, or refuse it."""
    if len(y) == 0:
        refuse(f"{path} has no value in the target {name!r}; every row needs its number to be learnt from.")
    try:
        numbers: FloatArray = np.asarray(y, dtype=np.float64)
    except ValueError as error:
        refuse(f"{path} has text in the target {name!r} ({error}), but --task regression predicts numbers.")
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0]) + 1
        refuse(f"{path} has {numbers[row - 1]} in the target {name!r}, row {row} of those with a value.")
    return numbers


def target_numbers(column: "pyarrow.ChunkedArray", name: str, path: str) -> FloatArray:
    """Return the numbers that a model is judged by."""
    return _as_numbers(np.array(column.to_pylist()), name, path)


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
    """Return what the target is, and how well it is predicted out of fold, in words."""
    low, high = summary["target_range"]
    scores = summary["out_of_sample_scores"]
    quality = ""
    if scores is not None:
        quality = f", out-of-fold R² {scores['r2']:.3f} (mean absolute error {scores['mean_absolute_error']:.4g})"
    return f"{summary['rows']} rows, numbers of {summary['target']} from {low:g} to {high:g}", quality


def outlier_words(summary: dict[str, Any]) -> str:
    """Return the share of gross outliers in words; empty where none were found."""
    share = summary.get("outlier_share")
    return f"Gross outliers of the target, which count next to nothing: {share:.1%} of the rows." if share else ""


def interval_columns(model: Any, X: FloatArray, coverage: float) -> dict[str, FloatArray]:
    """Return the ends of intervals as columns of predictions, where a model has intervals."""
    if not hasattr(model, "predict_interval"):
        return {}
    lower, upper = model.predict_interval(X, coverage).T
    return {"lower": np.ascontiguousarray(lower), "upper": np.ascontiguousarray(upper)}
