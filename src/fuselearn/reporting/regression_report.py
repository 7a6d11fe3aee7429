"""The report of a model that predicts numbers: predicted against true, residuals, coverage of intervals, views."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import mean_absolute_error, median_absolute_error, r2_score

from fuselearn import __version__
from fuselearn.data import ViewBlocks
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.reporting import provenance
from fuselearn.reporting.cautions import training_rows_given
from fuselearn.reporting.charts import SIDE, Scale, feature_bars, horizontal_lines, padded_range, ticks, upward_ticks
from fuselearn.reporting.feature_contributions import explain_features
from fuselearn.reporting.fit_report import rendered, save_page
from fuselearn.reporting.model_summary import share_of
from fuselearn.reporting.report_rows import likeness_of_numbers, n_training_rows, unwrapped
from fuselearn.reporting.sentences import counted, largest_contributions, percent
from fuselearn.typing import AnyArray, ArrayLike, BoolArray, FloatArray, TableLike

COVERAGE = 0.9
"""Of the intervals that are checked."""
MOST_DOTS = 1500
"""Rows that are drawn."""
LARGEST_ERRORS = 10
LEAST_ROWS = 20
"""Rows of a pattern of views that it needs to be listed by itself."""
NO_BIAS = 1e-6
"""Part of the mean absolute error up to which a mean error is one of rounding."""


class RegressionReport:
    """A report of a model that predicts numbers, on rows that it has not seen, as one HTML page.

    Parameters
    ----------
    model : fitted regressor with views, or a pipeline, search or table model around one
        The model to report on.
    X : array or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted on.
    y : array of shape (n_samples,), default=None
        Their numbers. Without them the report says nothing about quality.
    ids : sequence of length n_samples, default=None
        Names of the rows, for the table of the largest errors.
    title : str, default=None
        Title of the page; None makes one from the model.
    note : dict, default=None
        Anything to be shown beside the settings.

    Attributes
    ----------
    summary : dict
        All numbers and sentences of the report, in plain types that can be written as JSON.
    html : str
        The page.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fuselearn import FusionRegressor
    >>> from fuselearn.reporting import RegressionReport
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FusionRegressor(views={"person": slice(0, 4), "blood": slice(4, 10)}, random_state=0)
    >>> report = RegressionReport(model.fit(X[:300], y[:300]), X[300:], y[300:])
    >>> print(report.summary["words"][0])
    FusionRegressor predicts a number from 2 views with 10 columns in total: “person” and “blood”.
    """

    def __init__(
        self,
        model: FittedModel,
        X: TableLike,
        y: ArrayLike | None = None,
        *,
        ids: Iterable[object] | None = None,
        title: str | None = None,
        note: dict[str, Any] | None = None,
    ) -> None:
        self.summary = summarize_regression(model, X, y, ids=ids, title=title, note=note)

    @cached_property
    def html(self) -> str:
        """The page, rendered when it is first needed."""
        features = self.summary["features"]
        bars = features and feature_bars(features)
        return rendered("regression.html.jinja", summary=self.summary, charts=_charts(self.summary), feature_chart=bars)

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the page to a file, completely or not at all.

        Parameters
        ----------
        path : str or Path
            The file to write.
        force : bool, default=False
            Overwrite the file if it exists.

        Returns
        -------
        Path
            The file written.
        """
        return save_page(self.html, path, force)

    def __repr__(self) -> str:
        return f"<RegressionReport: {self.summary['title']}, {self.summary['rows']} rows>"


def summarize_regression(
    model: FittedModel,
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    ids: Iterable[object] | None = None,
    title: str | None = None,
    note: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return all numbers and sentences of a report in plain types; see `RegressionReport`."""
    inner, X, _, columns_of_table = unwrapped(model, X)
    if not is_regressor(inner) or not hasattr(inner, "view_names_"):
        raise TypeError(
            "model must be a fitted regressor with views, such as FusionRegressor, or a pipeline or search around one; "
            f"got {type(inner).__name__}. FitReport reports on classifiers."
        )
    table = np.asarray(X, dtype=np.float64)
    if not len(table):
        raise ValueError("X has no rows; a report needs rows to evaluate the model on.")
    names = [f"{name}" for name in (range(1, len(table) + 1) if ids is None else ids)]
    if len(names) != len(table):
        raise ValueError(f"ids must have a name for each of the {len(table)} rows of X; got {len(names)}.")
    predicted = np.asarray(inner.predict(X), dtype=np.float64)
    given = None if y is None else np.asarray(y, dtype=np.float64)
    if given is not None and (given.shape != predicted.shape or not np.isfinite(given).all()):
        raise ValueError(f"y must hold a finite number for each of the {len(table)} rows of X.")
    present = ViewBlocks.of(table, inner.view_names_, inner.view_columns_).present
    ends = inner.predict_interval(X, COVERAGE) if hasattr(inner, "predict_interval") else None
    file = provenance.file_facts(note, inner, columns_of_table)
    features, no_features = explain_features(inner, X, len(table), file["sources"], seed=0)
    shares = getattr(inner, "view_importances_", [None] * len(inner.view_names_))
    columns_per_view = file["columns"] or [len(columns) for columns in inner.view_columns_]
    n_columns = file["n_columns"] or len(np.unique(np.concatenate(list(inner.view_columns_))))
    summary: dict[str, Any] = {
        "title": title or f"{type(inner).__name__} on {len(table):,} rows",
        "model": type(inner).__name__,
        "rows": len(table),
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "fuselearn_version": __version__,
        "asked": COVERAGE,
        "shares": share_of(inner),
        "views": [
            {"name": name, "columns": number, "share": None if share is None else float(share)}
            for name, number, share in zip(inner.view_names_, columns_per_view, shares)
        ],
        "columns": n_columns,
        "scores": None,
        "coverage": [],
        "largest": [],
        "predicted": predicted.tolist(),
        "given": None if given is None else given.tolist(),
        "training": {"rows": n_training_rows(inner), "likeness": None},
        "outlier_share": float(getattr(inner, "outlier_share_", 0.0)),
        "leaderboard": _leaderboard(inner),
        "features": features,
        "left_out": [no_features] if no_features else [],
        "note": provenance.shown_notes(note),
        "settings": provenance.settings_of(inner),
        "versions": provenance.versions(),
        "reproduce": {
            "code": provenance.code_to_reproduce(
                model, inner, note, labelled=given is not None, with_ids=ids is not None
            ),
            "command": provenance.command_to_reproduce(note),
        },
    }
    if given is not None:
        has_view = np.asarray(present.any(axis=1))
        summary["training"]["likeness"] = likeness_of_numbers(inner, given, predicted, has_view)
        errors = given - predicted
        summary["scores"] = {
            "r2": float(r2_score(given, predicted)) if len(given) > 1 else None,
            "mean_absolute_error": float(mean_absolute_error(given, predicted)),
            "median_absolute_error": float(median_absolute_error(given, predicted)),
            "mean_error": float(errors.mean()),
        }
        order = np.argsort(-np.abs(errors), kind="stable")[:LARGEST_ERRORS].tolist()
        of_rows = {"given": given, "predicted": predicted, "error": errors}
        summary["largest"] = [
            {"id": names[row], **{name: float(values[row]) for name, values in of_rows.items()}} for row in order
        ]
        if ends is not None:
            summary["coverage"] = _coverage(given, ends, present, inner.view_names_)
    summary["words"] = _words(summary)
    caution = training_rows_given(summary)
    summary["careful"] = [] if caution is None else [caution]
    return summary


def _leaderboard(model: Any) -> list[dict[str, Any]]:
    """Return the base models of a fusion that count."""
    if not hasattr(model, "arm_weights_"):
        return []
    order = np.argsort(-model.arm_weights_, kind="stable").tolist()
    return [
        {
            "view": model.arms_[arm][0],
            "learner": model.arms_[arm][1],
            "r2": float(model._arm_scores[arm]),
            "weight": float(model.arm_weights_[arm]),
        }
        for arm in order
        if model.arm_weights_[arm] > 0
    ]


def _coverage(given: FloatArray, ends: FloatArray, present: BoolArray, names: list[str]) -> list[dict[str, Any]]:
    """Return how often numbers are in their intervals: over all rows, and for each frequent pattern of views."""
    inside = (ends[:, 0] <= given) & (given <= ends[:, 1])
    widths = ends[:, 1] - ends[:, 0]

    def record(views: str, rows: AnyArray) -> dict[str, Any]:
        return {
            "views": views,
            "rows": int(np.count_nonzero(rows)),
            "covered": float(inside[rows].mean()),
            "width": float(widths[rows].mean()),
        }

    records = [record("any", np.ones(len(given), dtype=bool))]
    patterns, counts = np.unique(present, axis=0, return_counts=True)
    for pattern, count in sorted(zip(patterns.tolist(), counts.tolist()), key=lambda pair: -pair[1]):
        if len(patterns) > 1 and count >= LEAST_ROWS:
            views = ", ".join(name for name, there in zip(names, pattern) if there) or "none"
            records.append(record(views, np.asarray((present == np.array(pattern)).all(axis=1))))
    return records


def _words(summary: dict[str, Any]) -> list[str]:
    """Return the report in a few sentences."""
    names = [f"“{view['name']}”" for view in summary["views"]]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    plural = "s" * (len(names) > 1)
    words = [
        f"{summary['model']} predicts a number from {len(names)} view{plural} with "
        f"{counted(summary['columns'], 'column')} in total: "
        f"{listed}."
    ]
    scores = summary["scores"]
    if scores is None:
        words.append("The rows have no numbers to compare with: nothing is said about quality.")
    else:
        share, is_ = ("", " is") if scores["r2"] is None else (f"R² is {scores['r2']:.3f}, ", "")
        words.append(
            f"On these rows {share}the mean absolute error{is_} {scores['mean_absolute_error']:.4g}, and predictions "
            f"are {_bias(scores['mean_error'], scores['mean_absolute_error'])} on average."
        )
    if summary["coverage"]:
        first = summary["coverage"][0]
        words.append(
            f"Intervals that are asked to hold {percent(COVERAGE, 0)} of the numbers hold {percent(first['covered'])} "
            f"of them, with a mean width of {first['width']:.4g}."
        )
    if summary["outlier_share"]:
        words.append(
            f"An estimated {percent(summary['outlier_share'])} of the training targets are gross outliers; they "
            "counted next to nothing."
        )
        if scores is not None:
            measures = "the mean absolute error" if scores["r2"] is None else "R² and the mean absolute error"
            words.append(
                f"Outliers among the rows of this report are not left out of {measures}; the median absolute error, "
                f"{scores['median_absolute_error']:.4g}, is hardly touched by them."
            )
    shares = [view for view in summary["views"] if view["share"] is not None]
    if len(shares) > 1:
        best = max(shares, key=lambda view: view["share"])
        words.append(f"The view that matters most is “{best['name']}”, with a share of {percent(best['share'], 0)}.")
    features = largest_contributions(summary)
    return words if features is None else [*words, features]


def _bias(mean_error: float, mean_absolute_error: float) -> str:
    """Return in words by how much predictions are too low or too high, unless that is rounding."""
    if abs(mean_error) <= NO_BIAS * mean_absolute_error:
        return "neither too low nor too high"
    return f"{abs(mean_error):.3g} too {'low' if mean_error > 0 else 'high'}"


def _charts(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the marks of predicted against true numbers, and of residuals against predicted ones."""
    if summary["given"] is None:
        return []
    given, predicted = np.array(summary["given"]), np.array(summary["predicted"])
    if len(given) > MOST_DOTS:
        rows = np.sort(np.random.default_rng(0).choice(len(given), MOST_DOTS, replace=False))
        given, predicted = given[rows], predicted[rows]
    drawn = f" {len(given):,} rows are drawn." if len(given) < summary["rows"] else ""
    both = Scale(*padded_range([*given.tolist(), *predicted.tolist()]))
    residuals = (given - predicted).tolist()
    across, up = Scale(*padded_range(predicted.tolist())), Scale(*padded_range([*residuals, 0.0]))
    return [
        {
            "id": "predicted",
            "title": "Predicted and true numbers",
            "text": f"True numbers upwards, predicted ones to the right; on the line both are equal.{drawn}",
            "line": f"M{both.right(both.low)} {both.up(both.low)} {both.right(both.high)} {both.up(both.high)}",
            "y_title": "true",
            **_marks(both, both, predicted.tolist(), given.tolist()),
        },
        {
            "id": "residuals",
            "title": "Residuals",
            "text": f"True less predicted numbers upwards, predicted ones to the right.{drawn}",
            "line": f"M0 {up.up(0.0)} {SIDE} {up.up(0.0)}",
            "y_title": "true less predicted",
            **_marks(across, up, predicted.tolist(), residuals),
        },
    ]


def _marks(across: Scale, upward: Scale, x: list[float], y: list[float]) -> dict[str, Any]:
    """Return dots and ticks of a chart."""
    return {
        "dots": [[across.right(left), upward.up(height)] for left, height in zip(x, y)],
        "grid": horizontal_lines(upward),
        "x_ticks": [[across.percent(tick), f"{tick:,g}"] for tick in ticks(across.low, across.high)],
        "y_ticks": upward_ticks(upward),
    }
