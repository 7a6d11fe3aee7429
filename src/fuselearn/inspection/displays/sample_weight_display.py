"""Weights of the training rows over the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from fuselearn.arguments import check_choice
from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel, check_has
from fuselearn.typing import ArrayLike, FloatArray, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection, QuadMesh
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

KINDS = ("auto", "raster", "bands")
Kind: TypeAlias = Literal["auto", "raster", "bands"]
MAX_RASTER_ROWS = 60
"""Rows that can be shown one by one."""
MAX_ROUNDS = 250
"""Rounds kept for many rows: more are not seen in a picture, and those of 200,000 rows would fill the memory."""
LOWEST_SHOWN = 0.01


class SampleWeightDisplay:
    """Weights of the training rows after each round of boosting, with wrong labels set off (S0 figure 2).

    Few rows are shown one by one, as a raster of rows and rounds; for many rows the median and the middle 80 % are
    shown, separately for rows with wrong labels and for the others. Weights are multiples of equal weights.

    Parameters
    ----------
    weights : array of shape (n_rounds + 1, n_rows)
        Weights before the first round and after each; each line sums to 1.
    wrong : bool array of shape (n_rows,), default=None
        True for rows whose labels are known to be wrong.
    rounds : int array of shape (n_rounds + 1,), default=None
        Number of the round of each line of `weights`, if some are omitted; None is 0, 1, ….
    row_names : list of str, default=None
        Names of the rows; None is the number of each row, from 0.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    image_ : QuadMesh or None
        The raster; None for bands.
    lines_ : dict of str to Line2D
        Medians of "wrong" and "other" rows.
    bands_ : dict of str to PolyCollection
        The middle 80 % of "wrong" and "other" rows.

    Examples
    --------
    >>> from fuselearn.inspection import SampleWeightDisplay
    >>> display = SampleWeightDisplay(weights=[[0.5, 0.5], [0.2, 0.8]], wrong=[False, True])
    >>> display.relative.tolist()
    [[1.0, 1.0], [0.4, 1.6]]
    """

    ax_: Axes
    figure_: Figure
    image_: QuadMesh | None
    lines_: dict[str, Line2D]
    bands_: dict[str, PolyCollection]

    def __init__(
        self,
        *,
        weights: ArrayLike,
        wrong: ArrayLike | None = None,
        rounds: ArrayLike | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        self.weights = np.asarray(weights)
        if self.weights.ndim != 2 or self.weights.size == 0:
            raise ValueError(f"weights must have shape (n_rounds + 1, n_rows); got shape {self.weights.shape}.")
        n_rounds, n_rows = self.weights.shape
        self.wrong = np.zeros(n_rows, dtype=bool) if wrong is None else np.asarray(wrong)
        if self.wrong.shape != (n_rows,) or self.wrong.dtype != bool:
            raise ValueError(
                f"wrong must be True or False for each of the {n_rows} rows; got {self.wrong.dtype} of shape "
                f"{self.wrong.shape}."
            )
        self.rounds = np.arange(n_rounds) if rounds is None else np.asarray(rounds, dtype=np.intp)
        if self.rounds.shape != (n_rounds,) or (np.diff(self.rounds) <= 0).any():
            raise ValueError(
                f"rounds must be {n_rounds} ascending numbers, one for each line of weights; got {self.rounds}."
            )
        self.row_names = [str(name) for name in (range(n_rows) if row_names is None else row_names)]
        if len(self.row_names) != n_rows:
            raise ValueError(f"row_names must name each of the {n_rows} rows; got {len(self.row_names)} names.")

    @property
    def relative(self) -> FloatArray:
        """Weights as multiples of equal weights, of shape (n_rounds + 1, n_rows)."""
        return self.weights * self.weights.shape[1]

    @classmethod
    def from_estimator(
        cls,
        model: FittedModel,
        X: TableLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        view_labels: ArrayLike | None = None,
        wrong: ArrayLike | None = None,
        view: str | None = None,
        kind: Kind = "auto",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the weights of the rows that a boosting classifier was fitted on.

        Parameters
        ----------
        model : fitted ShareBoostClassifier or IndependentBoostClassifier
            The boosted model.
        X : array or data frame of shape (n_samples, n_features)
            The training rows, which a model does not keep.
        y : array of shape (n_samples,)
            Their classes, as given to `fit`.
        sample_weight : array of shape (n_samples,), default=None
            Their weights, as given to `fit`.
        view_labels : array of shape (n_samples, n_views), default=None
            Labels by view, as given to `fit`.
        wrong : bool array of shape (n_samples,), default=None
            True for rows whose labels are known to be wrong.
        view : str, default=None
            View whose weights are drawn, if each view has its own (IndependentBoostClassifier). If a view has several
            learners, the weights of the first are drawn.
        kind : {"auto", "raster", "bands"}, default="auto"
            Kind of picture, see `plot`.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        SampleWeightDisplay
            The display, drawn.
        """
        check_has(model, "staged_sample_weights", "pass a fitted ShareBoost or IndependentBoost classifier.")
        n_rounds = model.n_iter_
        kept = np.arange(n_rounds + 1)
        if (n_rounds + 1) * len(X) > MAX_ROUNDS * 2000 and n_rounds > MAX_ROUNDS:
            kept = np.unique(np.linspace(0, n_rounds, MAX_ROUNDS).round().astype(np.intp))
        staged = model.staged_sample_weights(X, y, sample_weight=sample_weight, view_labels=view_labels)
        wanted = set(kept.tolist())
        weights, arm = [], None
        for number, now in enumerate(islice(staged, n_rounds + 1)):
            if number == 0:
                arm = _arm_of(model, view, now.ndim)
            if number in wanted:
                weights.append((now if arm is None else now[:, arm]).astype(np.float32 if len(now) > 10_000 else float))
        return cls(weights=np.array(weights), wrong=wrong, rounds=kept).plot(ax, kind=kind)

    def plot(self, ax: Axes | None = None, *, kind: Kind = "auto", **kwargs: Any) -> Self:
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        kind : {"auto", "raster", "bands"}, default="auto"
            "raster" shows every row, "bands" the median and the middle 80 %. "auto" is a raster for up to 60 rows.
        **kwargs
            For the raster, or for the lines of the medians.

        Returns
        -------
        SampleWeightDisplay
            The display itself.
        """
        check_choice("kind", kind, KINDS)
        if kind == "auto":
            kind = "raster" if self.weights.shape[1] <= MAX_RASTER_ROWS else "bands"
        self.image_, self.lines_, self.bands_ = None, {}, {}
        if kind == "raster":
            self._plot_raster(ax, kwargs)
        else:
            self._plot_bands(ax, kwargs)
        return self

    def _plot_raster(self, ax: Axes | None, kwargs: dict[str, Any]) -> None:
        """Draw every row, those with wrong labels on top."""
        n_rows = self.weights.shape[1]
        order = np.argsort(~self.wrong, kind="stable")
        height, size = style.lanes_height(n_rows, 0.125, 0.7)
        with style.drawing(self, ax, height) as ax:
            edges = np.append(self.rounds, self.rounds[-1] + 1) - 0.5
            look: dict[str, Any] = {
                "cmap": "Blues",
                "vmin": 0.0,
                "rasterized": self.weights.size > style.MAX_SHAPES,
            }
            self.image_ = ax.pcolormesh(edges, np.arange(n_rows + 1) - 0.5, self.relative.T[order], **(look | kwargs))
            style.colour_bar(self, self.image_, height, "weight / equal weight")
            ax.set_ylim(n_rows - 0.5, -0.5)
            ax.set_yticks(range(n_rows), style.short_names([self.row_names[row] for row in order], 14))
            for tick, row in zip(ax.get_yticklabels(), order):
                tick.set_fontsize(size)
                if self.wrong[row]:
                    tick.set(color=style.VERMILLION, fontweight="bold")
            n_wrong = int(self.wrong.sum())
            if 0 < n_wrong < n_rows:
                ax.axhline(n_wrong - 0.5, color=style.VERMILLION, linewidth=1.2)
                ax.set_title("above the line: wrong labels", fontsize=style.SMALL, loc="left", color=style.VERMILLION)
            ax.tick_params(axis="y", length=0)
            ax.spines[["left", "bottom"]].set_visible(False)
            ax.set_xlabel("round")
            ax.set_ylabel("row")
            style.whole_ticks(ax.xaxis)

    def _plot_bands(self, ax: Axes | None, kwargs: dict[str, Any]) -> None:
        """Draw the median and the middle 80 % of rows with wrong labels, and of the others."""
        with style.drawing(self, ax, 2.3) as ax:
            groups = {"other": ~self.wrong} | ({"wrong": self.wrong} if self.wrong.any() else {})
            looks = {
                "other": ("label right", style.BLUE, "-"),
                "wrong": ("label wrong", style.VERMILLION, "--"),
            }
            lowest = highest = 1.0
            for group, rows in groups.items():
                if not rows.any():
                    continue
                label, colour, line_style = looks[group]
                weights = self.weights[:, rows]
                low, median, high = np.quantile(weights, (0.1, 0.5, 0.9), axis=1) * len(rows)
                lowest, highest = min(lowest, low.min()), max(highest, high.max())
                label = f"{label}: {rows.sum()} rows, {weights[-1].sum():.0%} of the final weight"
                if not self.wrong.any():
                    label = f"median of {len(rows)} rows (band: 80% of them)"
                self.bands_[group] = ax.fill_between(self.rounds, low, high, color=colour, alpha=0.2, linewidth=0)
                look: dict[str, Any] = {"color": colour, "linestyle": line_style, "label": label}
                [self.lines_[group]] = ax.plot(self.rounds, median, **(look | kwargs))
            ax.axhline(1, color=style.GREY, linewidth=0.6, linestyle=":")
            # Logarithmic, since weights are products of factors. Those below a hundredth no longer matter.
            ax.set_yscale("log", nonpositive="clip")
            ax.set_ylim(max(0.8 * lowest, LOWEST_SHOWN), 1.5 * highest)
            ax.margins(x=0.01)
            ax.set_xlabel("round")
            ax.set_ylabel("weight / equal weight")
            style.whole_ticks(ax.xaxis)
            ax.yaxis.set_major_formatter(_plain_number)
            style.light_grid(ax)
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)


def _plain_number(value: float, _: float) -> str:
    """Return 0.01, 0.1, 1, 10 instead of powers of ten."""
    return f"{value:g}"


def _arm_of(model: FittedModel, view: str | None, n_dimensions: int) -> int | None:
    """Return the column of the weights that belong to a view; None if all views share their weights."""
    if view is not None and view not in model.view_names_:
        raise ValueError(f"view must be one of {model.view_names_}; got {view!r}.")
    if n_dimensions == 1:
        return None
    if view is None:
        raise ValueError(f"Each view has weights of its own; choose one with view=, of {model.view_names_}.")
    return [name for name, _ in model.arms_].index(view)
