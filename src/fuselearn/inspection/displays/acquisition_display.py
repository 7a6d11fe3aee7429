"""Accuracy against the views that are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from fuselearn.inspection.acquisition_curves import AcquisitionCurve, acquisition_curve
from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.typing import ArrayLike, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class AcquisitionDisplay:
    """Accuracy against the mean number or cost of views, chosen row by row, by importance, and at random.

    Parameters
    ----------
    curve : AcquisitionCurve
        The numbers.
    by_cost : bool, default=False
        Whether costs are drawn instead of the number of views.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : dict of name to Line2D
        The curves.

    See Also
    --------
    fuselearn.inspection.acquisition_curve : The numbers.

    Examples
    --------
    >>> from fuselearn import FusionClassifier
    >>> from fuselearn.inspection import AcquisitionDisplay, acquisition_curve
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = FusionClassifier(views={"first": slice(0, 6), "last": slice(6, 13)}, random_state=0)
    >>> curve = acquisition_curve(model.fit(X[::2], y[::2]), X[1::2], y[1::2], min_gains=[0.01], random_state=0)
    >>> AcquisitionDisplay(curve=curve).by_cost
    False
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]

    def __init__(self, *, curve: AcquisitionCurve, by_cost: bool = False) -> None:
        self.curve, self.by_cost = curve, by_cost

    @classmethod
    def from_estimator(
        cls,
        model: FittedModel,
        X: TableLike,
        y: ArrayLike,
        *,
        by_cost: bool = False,
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Measure views of held-out rows one by one, and draw the accuracy.

        Parameters
        ----------
        model : fitted FusionClassifier
            The classifier itself, not a pipeline or search around it.
        X : array or data frame of shape (n_samples, n_features)
            Held-out rows, with all views that could be measured.
        y : array of shape (n_samples,)
            Their classes.
        by_cost : bool, default=False
            Whether costs are drawn instead of the number of views.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **settings
            For :func:`~fuselearn.inspection.acquisition_curve`.

        Returns
        -------
        AcquisitionDisplay
            The display, drawn.
        """
        return cls(curve=acquisition_curve(model, X, y, **settings), by_cost=by_cost).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the three curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs
            For the curves.

        Returns
        -------
        AcquisitionDisplay
            The display itself.
        """
        curve = self.curve
        numbers = list(range(len(curve.view_names) + 1))
        points = {
            "next_view": (curve.costs if self.by_cost else curve.n_views, curve.accuracies),
            "by importance": (curve.importance_costs if self.by_cost else numbers, curve.by_importance),
            "at random": (curve.random_costs if self.by_cost else numbers, curve.at_random),
        }
        with style.drawing(self, ax, 2.3) as ax:
            self.lines_ = {}
            for number, (name, (across, up)) in enumerate(points.items()):
                look = style.line_style(number) | {"label": name}
                [self.lines_[name]] = ax.plot(across, up, **(look | kwargs))
            ax.axhline(curve.by_importance[-1], color=style.GREY, linewidth=0.8)
            ax.set_xlabel("mean cost of the views measured" if self.by_cost else "mean number of views measured")
            ax.set_ylabel("accuracy")
            style.light_grid(ax)
            ax.legend(loc="lower right")
        return self
