"""Cumulative distributions of margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fuselearn.arguments import check_count
from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.inspection.label_agreement import margin_distribution, staged_margins
from fuselearn.typing import ArrayLike, FloatArray, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MAX_STEPS = 1000
"""Steps of a curve; more cannot be seen."""


class MarginDisplay:
    """Cumulative distributions of the margins of rows, after some of the rounds or for several models.

    The height of a curve at 0 is the share of rows that are wrong.

    Parameters
    ----------
    margins : dict of name to array of shape (n_rows,)
        Margins in [-1, 1], by the name of the curve.

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
    fuselearn.inspection.margin_distribution : The numbers.

    Examples
    --------
    >>> from fuselearn.inspection import MarginDisplay
    >>> MarginDisplay(margins={"after 10": [-0.5, 0.1, 0.2, 0.9]}).share_wrong
    {'after 10': 0.25}
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]

    def __init__(self, *, margins: Mapping[str, ArrayLike]) -> None:
        self.margins = {name: np.asarray(values, dtype=np.float64) for name, values in margins.items()}
        if not self.margins:
            raise ValueError("margins is empty; give those of at least one model.")
        for name, values in self.margins.items():
            if values.ndim != 1 or not len(values):
                raise ValueError(f"margins[{name!r}] must hold a number for each row; got shape {values.shape}.")
            if not (np.abs(values) <= 1 + 1e-9).all():
                raise ValueError(f"margins[{name!r}] must be in [-1, 1]; got up to {np.abs(values).max():.3g}.")

    @property
    def share_wrong(self) -> dict[str, float]:
        """Share of the rows whose margin is not positive, by name."""
        return {name: float(np.mean(values <= 0)) for name, values in self.margins.items()}

    @classmethod
    def from_estimator(
        cls,
        model: FittedModel,
        X: TableLike,
        y: ArrayLike,
        *,
        rounds: Sequence[int] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the margins of rows, after several rounds if the model has rounds.

        Parameters
        ----------
        model : fitted classifier of fuselearn
            The classifier itself, not a pipeline or search around it.
        X : array or data frame of shape (n_samples, n_features)
            Rows with the columns that the model was fitted on.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their labels.
        rounds : sequence of int, default=None
            Rounds after which margins are drawn. None takes up to four from the first to the last, each a multiple of
            the one before.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        MarginDisplay
            The display, drawn.
        """
        if not hasattr(model, "staged_decision_function"):
            if rounds is not None:
                raise ValueError(f"{type(model).__name__} has no rounds (staged_decision_function); leave rounds out.")
            return cls(margins={type(model).__name__: margin_distribution(model, X, y)}).plot(ax)
        n_rounds = model.n_iter_ if hasattr(model, "n_iter_") else len(model.estimators_)
        if n_rounds == 0:
            raise ValueError("model has no rounds, so rows have no margins.")
        if rounds is None:
            rounds = np.unique(np.geomspace(1, n_rounds, 4).round().astype(int)).tolist()
        rounds = list(rounds)
        for number in rounds:
            check_count("rounds", number)
            if number > n_rounds:
                raise ValueError(f"rounds must be at most {n_rounds}, the number of rounds of model; got {number}.")
        names = [f"after round {number}" for number in rounds]
        return cls(margins=dict(zip(names, staged_margins(model, X, y, rounds)))).plot(ax)

    @classmethod
    def from_estimators(
        cls, models: Mapping[str, FittedModel], X: TableLike, y: ArrayLike, *, ax: Axes | None = None
    ) -> Self:
        """Draw the margins of several fitted models on the same rows.

        Parameters
        ----------
        models : dict of name to fitted classifier
            The models, by the name of their curve.
        X : array or data frame of shape (n_samples, n_features)
            Rows with the columns that the models were fitted on.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their labels.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        MarginDisplay
            The display, drawn.
        """
        return cls(margins={name: margin_distribution(model, X, y) for name, model in models.items()}).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a curve for each name.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs
            For the curves.

        Returns
        -------
        MarginDisplay
            The display itself.
        """
        with style.drawing(self, ax, 2.3) as ax:
            self.lines_ = {}
            for number, (name, values) in enumerate(self.margins.items()):
                across, up = _steps(values)
                look = style.line_style(number, marker=False) | {"drawstyle": "steps-post"}
                look["label"] = f"{style.short_name(name, 30)} ({self.share_wrong[name]:.1%} wrong)"
                [self.lines_[name]] = ax.plot(across, up, **(look | kwargs))
            ax.axvline(0, color=style.GREY, linewidth=0.8)
            ax.set(xlim=(-1, 1), ylim=(0, 1.02))
            ax.set_xticks([-1, -0.5, 0, 0.5, 1])
            ax.set_xlabel("margin")
            ax.set_ylabel("share of rows")
            style.light_grid(ax)
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
        return self


def _steps(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of the empirical distribution from -1 to 1, thinned if there are very many rows."""
    values = np.sort(np.clip(values, -1, 1))
    places = np.arange(1, len(values) + 1)
    if len(values) > MAX_STEPS:
        places = np.unique(np.linspace(1, len(values), MAX_STEPS).round().astype(np.intp))
    return (
        np.concatenate([[-1.0], values[places - 1], [1.0]]),
        np.concatenate([[0.0], places / len(values), [1.0]]),
    )
