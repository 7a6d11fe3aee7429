"""Scores of methods, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel, check_has
from fuselearn.typing import ArrayLike, FloatArray, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SINGLE_VIEW = "view:"
"""Prefix that `compare` gives to the name of a single view."""


class LeaderboardDisplay:
    """Scores of methods with their intervals, the best on top.

    The best is filled in vermillion with a dotted line, others in blue; single views are squares without filling.

    Parameters
    ----------
    methods : list of str
        Names of the methods.
    scores : array of shape (n_methods,)
        Scores of the methods; higher is better.
    lows : array of shape (n_methods,), default=None
        Lower ends of the intervals; NaN where there is none.
    highs : array of shape (n_methods,), default=None
        Upper ends of the intervals; NaN where there is none.
    score_name : str, default="score"
        Name of the score, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    points_ : list of Line2D
        Points of the methods, from top to bottom.
    intervals_ : LineCollection or None
        The intervals; None if no method has one.
    order_ : ndarray of shape (n_methods,)
        Numbers of the methods from the best to the worst.

    Examples
    --------
    >>> from fuselearn.inspection import LeaderboardDisplay
    >>> display = LeaderboardDisplay(methods=["svm_sum", "shareboost"], scores=[0.91, 0.93])
    >>> display.order_.tolist()
    [1, 0]
    """

    ax_: Axes
    figure_: Figure
    points_: list[Line2D]
    intervals_: LineCollection | None

    def __init__(
        self,
        *,
        methods: Sequence[str],
        scores: ArrayLike,
        lows: ArrayLike | None = None,
        highs: ArrayLike | None = None,
        score_name: str = "score",
    ) -> None:
        self.methods = [str(name) for name in methods]
        if not self.methods:
            raise ValueError("methods is empty; give at least one, with its score.")
        n_methods = len(self.methods)
        self.scores = _as_numbers("scores", scores, n_methods)
        self.lows = _as_numbers("lows", lows, n_methods)
        self.highs = _as_numbers("highs", highs, n_methods)
        if np.isnan(self.scores).any():
            raise ValueError(f"scores is NaN for {self.methods[int(np.isnan(self.scores).argmax())]!r}; leave it out.")
        self.score_name = score_name
        self.order_ = np.argsort(-self.scores, kind="stable")

    @classmethod
    def from_comparison(cls, comparison: Any, *, ax: Axes | None = None) -> Self:
        """Draw a result of :func:`fuselearn.compare`.

        Parameters
        ----------
        comparison : Comparison
            The result.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        LeaderboardDisplay
            The display, drawn.
        """
        check_has(comparison, "summary", "pass a result of fuselearn.compare, or use from_results for records.")
        table = comparison.summary
        return cls.from_results(table.records(), score=table.columns[1], ax=ax)

    @classmethod
    def from_estimator(cls, model: FittedModel, *, ax: Axes | None = None) -> Self:
        """Draw the `leaderboard_` of a fitted FusionClassifier.

        It has the out-of-fold score of each arm, a view together with a learner: the accuracy or, where its
        `class_weight` is "balanced", the balanced accuracy. Arms that were not fitted are not shown.

        Parameters
        ----------
        model : fitted FusionClassifier
            The model that has the leaderboard.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        LeaderboardDisplay
            The display, drawn.
        """
        check_has(model, "leaderboard_", "only FusionClassifier has one; use from_results for other scores.")
        metric = model.out_of_sample_metric_
        name = metric.replace("_", " ")
        arms = [
            {"arm": f"{record['view']} · {record['learner']}", name: record[metric]}
            for record in as_records(model.leaderboard_)
            if record[metric] == record[metric]
        ]
        return cls.from_results(arms, method="arm", score=name, ax=ax)

    @classmethod
    def from_results(
        cls,
        records: list[dict[str, Any]] | TableLike,
        *,
        method: str = "method",
        score: str = "score",
        low: str = "low",
        high: str = "high",
        ax: Axes | None = None,
    ) -> Self:
        """Draw records of methods and scores.

        Parameters
        ----------
        records : list of dict, or data frame
            One record per method.
        method : str, default="method"
            Key, or column, of the name of the method.
        score : str, default="score"
            Key of the score.
        low : str, default="low"
            Key of the lower end of the interval, which may be absent.
        high : str, default="high"
            Key of the upper end of the interval, which may be absent.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        LeaderboardDisplay
            The display, drawn.
        """
        records = as_records(records)
        for key in (method, score):
            if not records or key not in records[0]:
                keys = list(records[0]) if records else "no record"
                raise ValueError(f"records must have {key!r}; got {keys}.")
        return cls(
            methods=[record[method] for record in records],
            scores=[record[score] for record in records],
            lows=[record.get(low) for record in records],
            highs=[record.get(high) for record in records],
            score_name=score,
        ).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a point and an interval per method.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs
            For the points.

        Returns
        -------
        LeaderboardDisplay
            The display itself.
        """
        n_methods = len(self.methods)
        height, size = style.lanes_height(n_methods, 0.17, 0.6)
        with style.drawing(self, ax, height) as ax:
            scores, lows, highs = self.scores[self.order_], self.lows[self.order_], self.highs[self.order_]
            names = [self.methods[number] for number in self.order_]
            looks = [_look(name, place == 0) for place, name in enumerate(names)]
            ax.axvline(scores[0], color=style.VERMILLION, linewidth=0.8, linestyle=":", zorder=1)
            known = np.flatnonzero(~np.isnan(lows) & ~np.isnan(highs))
            self.intervals_ = None
            if len(known):
                colours = [looks[place]["color"] for place in known]
                self.intervals_ = ax.hlines(known, lows[known], highs[known], colors=colours, linewidth=1.1, zorder=2)
            base: dict[str, Any] = {"linestyle": "", "markersize": 4, "zorder": 3}
            self.points_ = [
                ax.plot(score, place, **(base | look | kwargs))[0]
                for place, (score, look) in enumerate(zip(scores, looks))
            ]
            ax.set_yticks(range(n_methods), style.short_names(names, 28), fontsize=size)
            ax.set_ylim(n_methods - 0.5, -0.5)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
            ax.set_xlabel(style.short_name(self.score_name).replace("_", " "))
            style.light_grid(ax, "both")
            ax.margins(x=0.06)
        return self


def as_records(table: list[dict[str, Any]] | TableLike) -> list[dict[str, Any]]:
    """Return the records of a list, of a data frame of pandas or polars, or of an Arrow table."""
    for method in ("to_dicts", "to_pylist"):
        if hasattr(table, method):
            return getattr(table, method)()
    if hasattr(table, "to_dict"):
        return table.to_dict("records")
    return list(table)


def _as_numbers(argument: str, values: ArrayLike | None, n_methods: int) -> FloatArray:
    """Return an array with a number for each method, NaN for None."""
    values = [None] * n_methods if values is None else values
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if numbers.shape != (n_methods,):
        raise ValueError(f"{argument} must hold a number for each of the {n_methods} methods; got {len(numbers)}.")
    return numbers


def _look(name: str, is_best: bool) -> dict[str, Any]:
    """Return colour and marker of a method."""
    if name.startswith(SINGLE_VIEW):
        colour = style.VERMILLION if is_best else style.GREY
        return {"color": colour, "marker": "s", "markerfacecolor": "white"}
    return {"color": style.VERMILLION if is_best else style.BLUE, "marker": "o"}
