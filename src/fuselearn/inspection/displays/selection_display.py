"""Lanes of which view won each round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel, check_has
from fuselearn.typing import ArrayLike, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

MAX_STEPS = 400
"""Rounds whose probabilities can be seen side by side."""


class ViewSelectionDisplay:
    """Lanes of which view won each round of boosting, and the probability with which a policy drew it (S1 §4).

    Every view is a lane, time runs to the right. Bars mark the rounds that a view won; its share of all rounds stands
    on the right. The area above the bars is the probability with which the policy would draw the view.

    Parameters
    ----------
    winners : int array of shape (n_rounds,)
        Number of the lane that won each round.
    names : list of str
        Names of the lanes: of the views, or of the arms if views have several learners.
    probabilities : array of shape (n_rounds, n_lanes), default=None
        Probabilities with which the policy drew the lanes in each round.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    bars_ : list of PolyCollection
        The runs of rounds that each lane won.
    areas_ : list of PolyCollection
        The probability of each lane; empty if there are no probabilities.

    Examples
    --------
    >>> from fuselearn.inspection import ViewSelectionDisplay
    >>> display = ViewSelectionDisplay(winners=[0, 1, 1, 0], names=["face", "voice"])
    >>> display.shares.tolist()
    [0.5, 0.5]
    """

    ax_: Axes
    figure_: Figure
    bars_: list[PolyCollection]
    areas_: list[PolyCollection]

    def __init__(self, *, winners: ArrayLike, names: Sequence[str], probabilities: ArrayLike | None = None) -> None:
        self.winners = np.asarray(winners, dtype=np.intp)
        self.names = list(names)
        if self.winners.ndim != 1 or not len(self.winners):
            raise ValueError(f"winners must hold the winner of at least one round; got shape {self.winners.shape}.")
        if self.winners.min() < 0 or self.winners.max() >= len(self.names):
            raise ValueError(
                f"winners must be numbers from 0 to {len(self.names) - 1}, the lanes of names; got "
                f"{self.winners.min()} to {self.winners.max()}."
            )
        self.probabilities = None if probabilities is None else np.asarray(probabilities, dtype=np.float64)
        expected = (len(self.winners), len(self.names))
        if self.probabilities is not None and self.probabilities.shape != expected:
            raise ValueError(
                f"probabilities must have shape (n_rounds, n_lanes) = {expected}; got {self.probabilities.shape}."
            )
        self.shares = np.bincount(self.winners, minlength=len(self.names)) / len(self.winners)

    @classmethod
    def from_estimator(cls, model: FittedModel, *, ax: Axes | None = None) -> Self:
        """Draw the rounds of a fitted boosting estimator.

        Parameters
        ----------
        model : fitted boosting classifier, or gradient boosting with ``trees="per_view"``
            The boosted model.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        ViewSelectionDisplay
            The display, drawn.
        """
        check_has(model, "winning_views_", "pass a fitted boosting estimator.")
        if not hasattr(model, "winning_arms_"):
            return cls(winners=_winners_of_trees(model), names=model.view_names_).plot(ax)
        if not len(model.winning_arms_):
            raise ValueError("model has no rounds, so no view won any.")
        views = [name for name, _ in model.arms_]
        several = len(set(views)) < len(views)
        names = [f"{view}, {_learner_name(learner)}" if several else view for view, learner in model.arms_]
        return cls(winners=model.winning_arms_, names=names, probabilities=model.arm_probabilities_).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a lane per view.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs
            For the bars.

        Returns
        -------
        ViewSelectionDisplay
            The display itself.
        """
        n_lanes, n_rounds = len(self.names), len(self.winners)
        drawn = self.probabilities is not None
        height, size = style.lanes_height(n_lanes, 0.36 if drawn else 0.24, 0.65)
        # y grows downwards: a lane is from -0.5 (top) to 0.5 (bottom) around its number.
        bar_top, bar_height = (0.12, 0.32) if drawn else (-0.36, 0.72)
        with style.drawing(self, ax, height) as ax:
            self.bars_, self.areas_ = [], []
            for lane in range(n_lanes):
                look: dict[str, Any] = {"facecolors": style.PALETTE[lane % len(style.PALETTE)], "linewidth": 0}
                runs = _runs(self.winners == lane)
                self.bars_.append(ax.broken_barh(runs, (lane + bar_top, bar_height), **(look | kwargs)))
            if self.probabilities is not None:
                self._draw_probabilities(ax, self.probabilities)
            ax.set_yticks(range(n_lanes), style.short_names(self.names), fontsize=size)
            ax.set(xlim=(0.5, n_rounds + 0.5), ylim=(n_lanes - 0.5, -0.55))
            ax.set_xlabel("round")
            style.whole_ticks(ax.xaxis)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
            for lane in range(1, n_lanes):
                ax.axhline(lane - 0.5, color=style.PALE, linewidth=0.4, zorder=0)
            beside: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"),
                "xytext": (3, 0),
                "textcoords": "offset points",
            }
            for lane, share in enumerate(self.shares):
                won = "<1%" if 0 < share < 0.01 else f"{share:.0%}"
                ax.annotate(won, (1, lane), va="center", fontsize=size, **beside)
            above = beside | {"xycoords": "axes fraction", "xytext": (3, 3)}
            ax.annotate("won", (1, 1), va="bottom", fontsize=style.SMALL, **above)
        return self

    def _draw_probabilities(self, ax: Axes, probabilities: FloatArray) -> None:
        """Draw the area of each lane, all on the scale of the largest probability."""
        n_rounds = len(self.winners)
        largest = max(probabilities.max(), np.finfo(float).tiny)
        rounds = np.arange(n_rounds)
        if n_rounds > MAX_STEPS:
            rounds = np.unique(np.linspace(0, n_rounds - 1, MAX_STEPS).round().astype(np.intp))
        edges = np.append(rounds, n_rounds) + 0.5
        as_pixels = len(rounds) * len(self.names) > style.MAX_SHAPES
        for lane, of_lane in enumerate(probabilities[rounds].T):
            colour = style.PALETTE[lane % len(style.PALETTE)]
            top = lane + 0.06 - 0.5 * np.append(of_lane, of_lane[-1]) / largest
            look: dict[str, Any] = {"step": "post", "facecolor": colour, "alpha": 0.35, "linewidth": 0}
            self.areas_.append(ax.fill_between(edges, lane + 0.06, top, rasterized=as_pixels, **look))
            ax.plot(edges, top, drawstyle="steps-post", color=colour, linewidth=0.6, rasterized=as_pixels)
        ax.set_title(f"area: probability, up to {largest:.2f}", loc="left", fontsize=style.SMALL, pad=3)


def _winners_of_trees(model: FittedModel) -> IntArray:
    """Return the view of each round of gradient boosting, whose arms are the views."""
    if not len(model.winning_views_):
        raise ValueError("model has no rounds, so no view won any.")
    if model.winning_views_.min() < 0:
        raise ValueError(
            "model has joint trees, which read all views at once, so no view won a round; fit it with "
            "trees='per_view', or look at view_importances_."
        )
    return model.winning_views_


def _learner_name(learner: object) -> str:
    """Return the class of a learner, without its settings."""
    return type(getattr(learner, "estimator", learner)).__name__


def _runs(won: BoolArray) -> list[tuple[float, float]]:
    """Return (start, length) of the runs of rounds won; the first round is from 0.5 to 1.5."""
    change = np.flatnonzero(np.diff(won.astype(np.int8), prepend=0, append=0))
    return [(start + 0.5, stop - start) for start, stop in zip(change[::2].tolist(), change[1::2].tolist())]
