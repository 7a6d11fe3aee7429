"""The meta-objects of two unmatched views, and the distances that matched them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from fuselearn.arguments import check_choice
from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.inspection.meta_object_positions import Correspondence, correspondence
from fuselearn.typing import ArrayLike, FloatArray, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

KINDS = ("plane", "distances")
Kind: TypeAlias = Literal["plane", "distances"]
MAX_LEVELS = 8
"""Levels of distance that can be distinguished in a picture."""


class CorrespondenceDisplay:
    """Meta-objects of two unmatched views (S4 figures 3 to 5), or the distances by which they were matched.

    In the plane of two views every meta-object is a point; the objects that it combines are ticks along the sides, at
    their position in the one view they have. Larger points have a larger weight. Lines are where the decision changes,
    for views of one column each. The other picture shows how distances grow from the nearest pair to the farthest in
    either view; level lines join pairs of the same distance, which are matched together.

    Parameters
    ----------
    view_names : list of str
        Names of the two views.
    objects : list of array
        Positions of the objects of each view.
    meta_objects : array of shape (n_meta, 2)
        Positions of the meta-objects in both views.
    meta_labels : array of shape (n_meta,)
        Classes of the meta-objects.
    meta_weights : array of shape (n_meta,), default=None
        Weights of the meta-objects; None is equal weights.
    boundary : (array, array, array), default=None
        Both sides of a grid, and how far each class leads at its points, of shape (n_classes, n2, n1).
    distances : list of array, default=None
        Distances of the pairs of each view, ascending.
    bands : array, default=None
        Distances at which bands end.
    label : object, default=None
        The class that the distances belong to.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    points_ : dict of label to PathCollection
        Meta-objects of each class.
    ticks_ : list of Line2D
        Objects of each view.
    lines_ : list of Line2D
        Distances of each view.
    levels_ : LineCollection or None
        Level lines between pairs that are matched together.

    Examples
    --------
    >>> from fuselearn.inspection import CorrespondenceDisplay
    >>> display = CorrespondenceDisplay(
    ...     view_names=["face", "iris"], objects=[[0, 1], [5]], meta_objects=[[0, 5], [1, 5]], meta_labels=["a", "b"]
    ... )
    >>> display.meta_objects.shape
    (2, 2)
    """

    ax_: Axes
    figure_: Figure
    points_: dict[Any, PathCollection]
    ticks_: list[Line2D]
    lines_: list[Line2D]
    levels_: LineCollection | None

    def __init__(
        self,
        *,
        view_names: Sequence[str],
        objects: Sequence[ArrayLike],
        meta_objects: ArrayLike,
        meta_labels: ArrayLike,
        meta_weights: ArrayLike | None = None,
        boundary: tuple[FloatArray, FloatArray, FloatArray] | None = None,
        distances: Sequence[ArrayLike] | None = None,
        bands: ArrayLike | None = None,
        label: Any = None,
    ) -> None:
        self.view_names = list(view_names)
        if len(self.view_names) != 2 or len(objects) != 2:
            raise ValueError(
                f"view_names and objects must be of two views; got {len(self.view_names)} and {len(objects)}."
            )
        self.objects = [np.asarray(values, dtype=np.float64) for values in objects]
        self.meta_objects = np.asarray(meta_objects, dtype=np.float64)
        self.meta_labels = np.asarray(meta_labels)
        n_meta = len(self.meta_labels)
        if self.meta_objects.shape != (n_meta, 2):
            raise ValueError(
                f"meta_objects must have shape (n_meta, 2) = ({n_meta}, 2); got {self.meta_objects.shape}."
            )
        self.meta_weights = np.ones(n_meta) if meta_weights is None else np.asarray(meta_weights, dtype=np.float64)
        self.boundary = boundary
        self.distances = None if distances is None else [np.asarray(view, dtype=np.float64) for view in distances]
        self.bands = np.empty(0) if bands is None else np.asarray(bands, dtype=np.float64)
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        model: FittedModel,
        X: TableLike,
        *,
        views: Sequence[str] | None = None,
        label: Any = None,
        kind: Kind = "plane",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the meta-objects of a fitted :class:`~fuselearn.TomographicClassifier`.

        Parameters
        ----------
        model : fitted TomographicClassifier
            The model that built the meta-objects.
        X : array or data frame of shape (n_samples, n_features)
            The training rows, which a model does not keep.
        views : pair of str, default=None
            Names of the two views; None takes the first two.
        label : object, default=None
            Class whose distances are shown; None is the class with most meta-objects.
        kind : {"plane", "distances"}, default="plane"
            Kind of picture.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        CorrespondenceDisplay
            The display, drawn.
        """
        return cls.from_results(correspondence(model, X, views=views, label=label), kind=kind, ax=ax)

    @classmethod
    def from_results(cls, result: Correspondence, *, kind: Kind = "plane", ax: Axes | None = None) -> Self:
        """Draw a result of :func:`fuselearn.inspection.correspondence`.

        Parameters
        ----------
        result : Correspondence
            The result.
        kind : {"plane", "distances"}, default="plane"
            Kind of picture.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        CorrespondenceDisplay
            The display, drawn.
        """
        display = cls(
            view_names=result.view_names,
            objects=result.objects,
            meta_objects=result.meta_objects,
            meta_labels=result.meta_labels,
            meta_weights=result.meta_weights,
            boundary=result.boundary,
            distances=result.distances,
            bands=result.bands,
            label=result.label,
        )
        return display.plot(ax, kind=kind)

    def plot(self, ax: Axes | None = None, *, kind: Kind = "plane", **kwargs: Any) -> Self:
        """Draw the plane or the distances.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        kind : {"plane", "distances"}, default="plane"
            Kind of picture.
        **kwargs
            For the points of the plane, or the lines of the distances.

        Returns
        -------
        CorrespondenceDisplay
            The display itself.
        """
        check_choice("kind", kind, KINDS)
        self.points_, self.ticks_, self.lines_, self.levels_ = {}, [], [], None
        if kind == "plane":
            self._plot_plane(ax, kwargs)
        elif self.distances is None:
            raise ValueError("kind='distances' needs distances, which were not given.")
        else:
            self._plot_distances(ax, self.distances, kwargs)
        return self

    def _plot_plane(self, ax: Axes | None, kwargs: dict[str, Any]) -> None:
        """Draw meta-objects as points, and objects as ticks along the sides."""
        labels = np.unique(self.meta_labels)
        largest = self.meta_weights.max() if len(self.meta_weights) else 1.0
        with style.drawing(self, ax, 3.0) as ax:
            for number, label in enumerate(labels):
                of_label = self.meta_labels == label
                look: dict[str, Any] = {
                    "color": style.PALETTE[number % len(style.PALETTE)],
                    "marker": style.MARKERS[number % len(style.MARKERS)],
                    "s": 3 + 15 * self.meta_weights[of_label] / largest,
                    "alpha": 0.75 if len(of_label) < 500 else 0.45,
                    "linewidths": 0,
                    "rasterized": len(of_label) > style.MAX_SHAPES,
                    "label": style.short_name(label, 20),
                }
                self.points_[label] = ax.scatter(*self.meta_objects[of_label].T, **(look | kwargs))
            if self.boundary is not None:
                self._draw_boundary(ax, *self.boundary)
            # At a fraction of the axes, so that they stay at the side whatever is drawn or zoomed.
            ticks: dict[str, Any] = {"linestyle": "", "markersize": 4, "markeredgewidth": 0.6, "color": style.BLACK}
            across, up = self.objects
            for x, y, marker, transform in (
                (across, np.full(len(across), 0.012), "|", ax.get_xaxis_transform()),
                (np.full(len(up), 0.012), up, "_", ax.get_yaxis_transform()),
            ):
                self.ticks_ += ax.plot(x, y, marker=marker, transform=transform, **ticks)
            ax.set_xlabel(style.short_name(self.view_names[0], 40))
            ax.set_ylabel(style.short_name(self.view_names[1], 30))
            ax.legend(
                loc="lower left",
                bbox_to_anchor=(0, 1),
                ncols=min(4, len(labels)),
                borderaxespad=0.2,
                handlelength=1,
                markerscale=1.2,
            )

    def _draw_boundary(self, ax: Axes, across: FloatArray, up: FloatArray, leads: FloatArray) -> None:
        """Draw lines where the leading class changes."""
        # The boundaries of two classes coincide.
        for lead in leads[1:] if len(leads) == 2 else leads:
            if lead.min() < 0 < lead.max():
                ax.contour(across, up, lead, levels=[0], colors=style.BLACK, linewidths=0.9)

    def _plot_distances(self, ax: Axes | None, all_distances: Sequence[FloatArray], kwargs: dict[str, Any]) -> None:
        """Draw the sorted distances of each view, and levels of pairs that are matched together."""
        with style.drawing(self, ax, 2.3) as ax:
            shares = []
            for number, (name, distances) in enumerate(zip(self.view_names, all_distances)):
                share = np.arange(1, len(distances) + 1) / max(len(distances), 1)
                look = style.line_style(number, marker=False) | {"label": style.short_name(name, 30)}
                self.lines_ += ax.plot(share, distances, **(look | kwargs))
                shares.append(share)
            if len(self.bands) and all(map(len, all_distances)):
                # The bands nearest to even steps, up to where both views have pairs.
                steps = np.linspace(0, min(distances[-1] for distances in all_distances), MAX_LEVELS + 2)[1:-1]
                levels = np.unique(self.bands[np.abs(self.bands[:, None] - steps).argmin(axis=0)])
                starts, stops = (
                    share[np.clip(np.searchsorted(distances, levels, side="right") - 1, 0, None)]
                    for share, distances in zip(shares, all_distances)
                )
                self.levels_ = ax.hlines(
                    levels, starts, stops, colors=style.GREY, linewidth=0.7, linestyle=":", label="matched together"
                )
            of_label = "" if self.label is None else f" of {style.short_name(self.label)}"
            ax.set_xlabel(f"share of the pairs{of_label}, nearest first")
            ax.set_ylabel("squared distance")
            ax.set_ylim(bottom=0)
            style.light_grid(ax)
            ax.legend(loc="upper left")
