"""Bars of how much each view contributes to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.inspection.view_importances import Method, ViewImportance, view_importance
from fuselearn.typing import ArrayLike, FloatArray, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure

AXIS_NAMES = {
    "share": "share in the model",
    "drop": "score lost without the view",
    "permutation": "score lost, shuffled",
}


class ViewImportanceDisplay:
    """Bars of how much each view contributes to a model, by one or several measures.

    Parameters
    ----------
    view_names : list of str
        Names of the views.
    means : dict of str to array of shape (n_views,)
        Importance of the views by each method.
    stds : dict of str to array of shape (n_views,), default=None
        Half the length of the whiskers; none are drawn where it is 0.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    bars_ : dict of str to BarContainer
        The bars of each method.
    order_ : ndarray of shape (n_views,)
        Numbers of the views from top to bottom.

    See Also
    --------
    fuselearn.inspection.view_importance : The numbers.

    Examples
    --------
    >>> from fuselearn.inspection import ViewImportanceDisplay
    >>> display = ViewImportanceDisplay(view_names=["face", "voice"], means={"share": [0.3, 0.7]})
    >>> display.order_.tolist()
    [1, 0]
    """

    ax_: Axes
    figure_: Figure
    bars_: dict[str, BarContainer]

    def __init__(
        self, *, view_names: Sequence[str], means: Mapping[str, ArrayLike], stds: Mapping[str, ArrayLike] | None = None
    ) -> None:
        self.view_names = list(view_names)
        self.means = {method: np.asarray(mean, dtype=np.float64) for method, mean in means.items()}
        if not self.means:
            raise ValueError("means is empty; give the importances by at least one method.")
        stds = stds or {}
        self.stds = {method: np.asarray(stds.get(method, np.zeros(len(self.view_names)))) for method in self.means}
        for argument, values in (("means", self.means), ("stds", self.stds)):
            for method, row in values.items():
                if row.shape != (len(self.view_names),):
                    raise ValueError(
                        f"{argument}[{method!r}] must have a number for each of the {len(self.view_names)} views; got "
                        f"shape {row.shape}."
                    )
        self.order_ = np.argsort(-next(iter(self.means.values())), kind="stable")

    @classmethod
    def from_estimator(
        cls,
        model: FittedModel,
        X: TableLike = None,
        y: ArrayLike = None,
        *,
        methods: Method | Sequence[Method] = "share",
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Measure the importance of the views of a fitted model, and draw it.

        Parameters
        ----------
        model : fitted classifier of fuselearn
            The classifier itself, not a pipeline or search around it.
        X : array or data frame of shape (n_samples, n_features), default=None
            Held-out rows, for methods that need them.
        y : array of shape (n_samples,) or (n_samples, n_labels), default=None
            Their labels.
        methods : str or list of str, default="share"
            Methods of :func:`~fuselearn.inspection.view_importance`. The first one orders the views.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **settings
            `scoring`, `n_repeats`, `n_jobs` and `random_state` of :func:`~fuselearn.inspection.view_importance`.

        Returns
        -------
        ViewImportanceDisplay
            The display, drawn.
        """
        names: Sequence[Method] = [methods] if isinstance(methods, str) else list(methods)
        return cls.from_results(*(view_importance(model, X, y, method=name, **settings) for name in names), ax=ax)

    @classmethod
    def from_results(cls, *importances: ViewImportance, ax: Axes | None = None) -> Self:
        """Draw results of :func:`~fuselearn.inspection.view_importance`.

        Parameters
        ----------
        *importances : ViewImportance
            One or several results, by different methods for the same views.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        ViewImportanceDisplay
            The display, drawn.
        """
        if not importances:
            raise ValueError("importances is empty; pass at least one result of view_importance.")
        first = importances[0].view_names
        for other in importances[1:]:
            if list(other.view_names) != list(first):
                raise ValueError(f"importances must be of the same views; got {first} and {other.view_names}.")
        means: dict[str, FloatArray] = {importance.method: importance.mean for importance in importances}
        stds: dict[str, FloatArray] = {importance.method: importance.std for importance in importances}
        return cls(view_names=first, means=means, stds=stds).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw one group of bars per view, the most important on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs
            For the bars.

        Returns
        -------
        ViewImportanceDisplay
            The display itself.
        """
        n_views, n_methods = len(self.view_names), len(self.means)
        height, size = style.lanes_height(n_views, 0.2 if n_methods == 1 else 0.13 * n_methods + 0.08, 0.75)
        with style.drawing(self, ax, height) as ax:
            thickness = 0.74 / n_methods
            self.bars_ = {}
            for number, method in enumerate(self.means):
                places = np.arange(n_views) + (number - (n_methods - 1) / 2) * thickness
                look: dict[str, Any] = {
                    "height": thickness,
                    "color": style.PALETTE[number % len(style.PALETTE)],
                    "hatch": style.HATCHES[number % len(style.HATCHES)],
                    "edgecolor": "white",
                    "linewidth": 0.3,
                }
                mean, std = self.means[method][self.order_], self.stds[method][self.order_]
                self.bars_[method] = ax.barh(places, mean, label=AXIS_NAMES.get(method, method), **(look | kwargs))
                if (std > 0).any():
                    ax.errorbar(
                        mean, places, xerr=std, fmt="none", ecolor=style.BLACK, elinewidth=0.8, capsize=min(2, size / 4)
                    )
            ax.axvline(0, color=style.BLACK, linewidth=0.6)
            names = style.short_names(self.view_names[view] for view in self.order_)
            ax.set_yticks(range(n_views), names, fontsize=size)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
            ax.set_ylim(n_views - 0.5, -0.5)
            style.light_grid(ax, "x")
            if n_methods == 1:
                method = next(iter(self.means))
                ax.set_xlabel(AXIS_NAMES.get(method, method))
            else:
                ax.set_xlabel("importance")
                ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1, borderaxespad=0.2)
        return self
