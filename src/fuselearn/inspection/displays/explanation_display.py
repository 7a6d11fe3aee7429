"""Bars of what the decision on a row is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from fuselearn.arguments import check_count
from fuselearn.explanation import Explanation
from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel, check_has
from fuselearn.typing import ArrayLike, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure


class ExplanationDisplay:
    """Bars of the contributions to the decision on a row, from the base on top to the decision at the bottom.

    Parameters
    ----------
    names : list of str
        Names of the views or columns.
    values : array of shape (n_names,)
        Their contributions.
    base : float
        What contributions are added to.
    title : str, default=""
        What is explained.
    n_largest : int, default=12
        Contributions that are drawn one by one, the largest first; the others are one bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    bars_ : BarContainer
        The bars.
    order_ : ndarray of int
        Numbers of the names that are drawn one by one, from top to bottom.

    See Also
    --------
    fuselearn.explanation.Explanation : The numbers.

    Examples
    --------
    >>> from fuselearn.inspection import ExplanationDisplay
    >>> display = ExplanationDisplay(names=["rna", "clinical"], values=[0.4, -1.2], base=0.1)
    >>> display.order_.tolist()
    [1, 0]
    """

    ax_: Axes
    figure_: Figure
    bars_: BarContainer

    def __init__(
        self, *, names: Sequence[str], values: ArrayLike, base: float, title: str = "", n_largest: int = 12
    ) -> None:
        check_count("n_largest", n_largest)
        self.names, self.values = list(names), np.asarray(values, dtype=np.float64)
        if self.values.shape != (len(self.names),):
            raise ValueError(
                f"values must have a number for each of the {len(self.names)} names; got shape {self.values.shape}."
            )
        self.base, self.title, self.n_largest = float(base), title, int(n_largest)
        self.order_ = np.argsort(-np.abs(self.values), kind="stable")[: self.n_largest]

    @classmethod
    def from_estimator(
        cls, model: FittedModel, X: TableLike, row: int = 0, *, ax: Axes | None = None, **settings: Any
    ) -> Self:
        """Explain rows by a fitted model, and draw one of them.

        Parameters
        ----------
        model : fitted estimator of fuselearn with `explain`
            The model.
        X : array or data frame of shape (n_samples, n_features)
            Rows.
        row : int, default=0
            Number of the row to draw.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **settings
            `of`, `class_` and `n_largest` of :meth:`from_explanation`.

        Returns
        -------
        ExplanationDisplay
            The display, drawn.
        """
        check_has(model, "explain", "model must be a fitted estimator that explains its decisions.")
        return cls.from_explanation(model.explain(X), row, ax=ax, **settings)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        row: int = 0,
        *,
        of: Literal["columns", "views"] | None = None,
        class_: Any = None,
        n_largest: int = 12,
        ax: Axes | None = None,
    ) -> Self:
        """Draw what the decision on a row is made of.

        Parameters
        ----------
        explanation : Explanation
            What `explain` of a model returned.
        row : int, default=0
            Number of the row among those that were explained.
        of : {"columns", "views"} or None, default=None
            Which contributions; None is the columns where there are any, else the views.
        class_ : default=None
            With more than two classes, the class whose decision value is drawn; None is the one of the largest value.
        n_largest : int, default=12
            Contributions that are drawn one by one.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        ExplanationDisplay
            The display, drawn.
        """
        base, values, names = explanation.of_row(row, of=of, class_=class_)
        title = f"row {row}"
        if explanation.classes is not None:
            number = 1 if explanation.decision.ndim == 1 else explanation.class_number(row, class_)
            title = f"{title}: decision for {explanation.classes[number]}"
        return cls(names=names, values=values, base=base, title=title, n_largest=n_largest).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw one bar per contribution, each from where the last one ended.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs
            For the bars.

        Returns
        -------
        ExplanationDisplay
            The display itself.
        """
        drawn, names = self.values[self.order_], style.short_names(self.names[number] for number in self.order_)
        n_others = len(self.values) - len(drawn)
        if n_others:
            drawn = np.append(drawn, self.values.sum() - drawn.sum())
            names = [*names, f"{n_others} others"]
        ends = self.base + np.cumsum(drawn)
        starts = ends - drawn
        height, size = style.lanes_height(len(drawn), 0.2, 0.85)
        with style.drawing(self, ax, height) as ax:
            look: dict[str, Any] = {
                "height": 0.74,
                "color": [style.BLUE if value >= 0 else style.VERMILLION for value in drawn],
                "hatch": ["" if value >= 0 else "////" for value in drawn],
                "edgecolor": "white",
                "linewidth": 0.3,
            }
            places = np.arange(len(drawn))
            self.bars_ = ax.barh(places, drawn, left=starts, **(look | kwargs))
            for place, end in enumerate(ends[:-1]):
                ax.plot([end, end], [place, place + 1], color=style.GREY, linewidth=0.5)
            ax.axvline(self.base, color=style.GREY, linewidth=0.6, linestyle=":")
            decision = self.base + float(self.values.sum())
            ax.axvline(decision, color=style.BLACK, linewidth=0.8)
            ax.set_yticks(places, names, fontsize=size)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
            ax.set_ylim(len(drawn) - 0.5, -0.5)
            style.light_grid(ax, "x")
            ax.set_xlabel(f"decision value: {self.base:+.2f} (base) to {decision:+.2f}")
            if self.title:
                ax.set_title(style.short_name(self.title, 60))
        return self
