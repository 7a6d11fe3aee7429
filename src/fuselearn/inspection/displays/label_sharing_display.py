"""A matrix of which labels use which base models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fuselearn.arguments import check_count
from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel, check_has
from fuselearn.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PatchCollection, QuadMesh
    from matplotlib.figure import Figure

MAX_FRAMED = 60
"""Models up to which cells are large enough for frames."""


class LabelSharingDisplay:
    """A matrix of the weight of each base model for each label (S2 figure 8).

    Columns are base models in the order in which they joined, rows are labels. Blue weights are positive, orange ones
    negative, with a bar across; a frame marks the label that a model was learned on. With more than 60 models, a mark
    below the weight replaces the frame.

    Parameters
    ----------
    weights : array of shape (n_models, n_labels)
        Weights of the base models, as in `label_weights_`.
    label_names : list of str
        Names of the labels.
    source_labels : int array of shape (n_models,), default=None
        Number of the label that each model was learned on.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    image_ : QuadMesh
        The matrix, of shape (n_labels, n_shown_).
    frames_ : PatchCollection or None
        Marks of the source labels; None if these are unknown.
    n_shown_ : int
        Number of base models shown.

    Examples
    --------
    >>> from fuselearn.inspection import LabelSharingDisplay
    >>> display = LabelSharingDisplay(weights=[[0.5, 0.0], [0.2, -0.1]], label_names=["road", "sky"])
    >>> display.shared
    0.5
    """

    ax_: Axes
    figure_: Figure
    image_: QuadMesh
    frames_: PatchCollection | None
    n_shown_: int

    def __init__(
        self, *, weights: ArrayLike, label_names: Sequence[str], source_labels: ArrayLike | None = None
    ) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.label_names = list(label_names)
        if self.weights.ndim != 2 or self.weights.shape[0] == 0 or self.weights.shape[1] != len(self.label_names):
            raise ValueError(
                f"weights must have shape (n_models, n_labels) with the {len(self.label_names)} labels of label_names; "
                f"got {self.weights.shape}."
            )
        self.source_labels = None if source_labels is None else np.asarray(source_labels, dtype=np.intp)
        if self.source_labels is not None and self.source_labels.shape != (len(self.weights),):
            raise ValueError(
                f"source_labels must hold a label for each of the {len(self.weights)} models; got shape "
                f"{self.source_labels.shape}."
            )

    @property
    def shared(self) -> float:
        """Share of the models in use that serve more than one label."""
        served = np.count_nonzero(self.weights, axis=1)
        return float((served > 1).sum() / max((served > 0).sum(), 1))

    @classmethod
    def from_estimator(cls, model: FittedModel, *, max_models: int = 30, ax: Axes | None = None) -> Self:
        """Draw the first base models of a fitted MSSBoost, NSBoost or RSBag classifier.

        Parameters
        ----------
        model : fitted MSSBoostClassifier, NSBoostClassifier or RSBagClassifier
            The multi-label model.
        max_models : int, default=30
            Number of base models to show, from the first.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        LabelSharingDisplay
            The display, drawn.
        """
        check_has(model, "label_weights_", "pass a fitted MSSBoost, NSBoost or RSBag classifier.")
        display = cls(weights=model.label_weights_, label_names=model.label_names_, source_labels=model.source_labels_)
        return display.plot(ax, max_models=max_models)

    def plot(self, ax: Axes | None = None, *, max_models: int = 30, **kwargs: Any) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        max_models : int, default=30
            Number of base models to show, from the first; S2 shows 30.
        **kwargs
            For the matrix.

        Returns
        -------
        LabelSharingDisplay
            The display itself.
        """
        check_count("max_models", max_models)
        style.pyplot()  # says what to install, before matplotlib is imported below
        from matplotlib.colors import LinearSegmentedColormap

        n_labels = len(self.label_names)
        self.n_shown_ = n_shown = min(max_models, len(self.weights))
        values = self.weights[:n_shown].T
        largest = np.abs(values).max() or 1.0
        height, size = style.lanes_height(n_labels, 0.15, 0.75)
        colours = LinearSegmentedColormap.from_list("weights", ["#B34E00", style.ORANGE, "white", style.SKY, "#004B78"])
        with style.drawing(self, ax, height) as ax:
            edges = np.arange(n_shown + 1) + 0.5
            look: dict[str, Any] = {"cmap": colours, "vmin": -largest, "vmax": largest}
            if n_shown > MAX_FRAMED or n_labels > MAX_FRAMED:
                look |= {"edgecolors": "none", "linewidth": 0, "rasterized": values.size > style.MAX_SHAPES}
            else:
                look |= {"edgecolors": style.PALE, "linewidth": 0.3}
            self.image_ = ax.pcolormesh(edges, np.arange(n_labels + 1) - 0.5, values, **(look | kwargs))
            if n_shown <= MAX_FRAMED:
                labels, models = np.nonzero(values < 0)
                ax.hlines(labels, models + 0.75, models + 1.25, colors=style.BLACK, linewidth=0.6)
            self.frames_ = self._draw_sources(ax, n_shown)
            style.colour_bar(self, self.image_, height, "weight")
            ax.set_yticks(range(n_labels), style.short_names(self.label_names, 20), fontsize=size)
            ax.set_ylim(n_labels - 0.5, -0.5)
            ax.set_xlabel("base model" if n_shown == len(self.weights) else f"first {n_shown} base models")
            style.whole_ticks(ax.xaxis, 8)
            ax.tick_params(axis="y", length=0)
            ax.spines[["left", "bottom"]].set_visible(False)
        return self

    def _draw_sources(self, ax: Axes, n_shown: int) -> PatchCollection | None:
        """Mark the label that each model was learned on."""
        if self.source_labels is None:
            return None
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        places = list(enumerate(self.source_labels[:n_shown].tolist()))
        if n_shown > MAX_FRAMED:  # a frame would cover its cell: a mark at the foot of it
            marks = [Rectangle((model + 0.5, label + 0.3), 1, 0.2) for model, label in places]
            collection = PatchCollection(marks, facecolor=style.BLACK, linewidth=0)
        else:
            inset = 0.08
            side = 1 - 2 * inset
            marks = [Rectangle((model + 0.5 + inset, label - 0.5 + inset), side, side) for model, label in places]
            collection = PatchCollection(marks, facecolor="none", edgecolor=style.BLACK, linewidth=0.9)
        ax.add_collection(collection)
        return collection
