"""What was put together of views whose objects are not matched."""

import numpy as np

from fuselearn.estimators import check_choice
from fuselearn.inspection.displays import style
from fuselearn.inspection.meta_object_positions import Correspondence, correspondence

KINDS = ("plane", "distances")
MOST_LEVELS = 8
"""Levels of distance that can be told apart in a picture."""


class CorrespondenceDisplay:
    """Meta-objects of two unmatched views (S4 figures 3 to 5), or the distances that they were matched by.

    In the plane of two views every meta-object is a point; the objects it is made of are ticks along the sides, where
    they lie as long as nothing is known of the other view. Points are the larger the more they count. Lines are where
    the decision changes, for views of one column each. The other picture shows how fast distances grow from the nearest
    pair to the farthest in either view; pairs of the same distance, joined by level lines, are read together.

    Parameters
    ----------
    view_names : list of str
        Two of them.
    objects : list of array
        Where the objects of each view lie.
    meta_objects : array of shape (n_meta, 2)
    meta_labels : array of shape (n_meta,)
    meta_weights : array of shape (n_meta,), default=None
    boundary : (array, array, array), default=None
        Both sides of a grid, and by how much each class leads at its points, of shape (n_classes, n2, n1).
    distances : list of array, default=None
        Distances of the pairs of each view, ascending.
    bands : array, default=None
        Distances at which bands end.
    label : object, default=None
        The class that distances are of.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : dict of label to PathCollection
        Meta-objects of each class.
    ticks_ : list of Line2D
        Objects of each view.
    lines_ : list of Line2D
        Distances of each view.
    levels_ : LineCollection or None

    Examples
    --------
    >>> from fuselearn.inspection import CorrespondenceDisplay
    >>> display = CorrespondenceDisplay(
    ...     view_names=["face", "iris"], objects=[[0, 1], [5]], meta_objects=[[0, 5], [1, 5]], meta_labels=["a", "b"]
    ... )
    >>> display.meta_objects.shape
    (2, 2)
    """

    def __init__(
        self,
        *,
        view_names,
        objects,
        meta_objects,
        meta_labels,
        meta_weights=None,
        boundary=None,
        distances=None,
        bands=None,
        label=None,
    ):
        self.view_names = list(view_names)
        if len(self.view_names) != 2 or len(objects) != 2:
            raise ValueError("view_names and objects must be of two views.")
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
        self.distances = None if distances is None else [np.asarray(some, dtype=np.float64) for some in distances]
        self.bands = np.empty(0) if bands is None else np.asarray(bands, dtype=np.float64)
        self.label = label

    @classmethod
    def from_estimator(cls, model, X, *, views=None, label=None, kind="plane", ax=None):
        """Draw what a fitted :class:`~fuselearn.TomographicClassifier` has put together.

        Parameters
        ----------
        model : fitted TomographicClassifier
        X : array or data frame
            The rows that it was fitted on: a model does not keep them.
        views : pair of str, default=None
            None is the first two.
        label : default=None
            Class whose distances are shown; None is the one with most meta-objects.
        kind : {"plane", "distances"}, default="plane"
        ax : matplotlib Axes, default=None
        """
        return cls.from_results(correspondence(model, X, views=views, label=label), kind=kind, ax=ax)

    @classmethod
    def from_results(cls, found: Correspondence, *, kind="plane", ax=None):
        """Draw what :func:`fuselearn.inspection.correspondence` returned."""
        display = cls(
            view_names=found.view_names,
            objects=found.objects,
            meta_objects=found.meta_objects,
            meta_labels=found.meta_labels,
            meta_weights=found.meta_weights,
            boundary=found.boundary,
            distances=found.distances,
            bands=found.bands,
            label=found.label,
        )
        return display.plot(ax, kind=kind)

    def plot(self, ax=None, *, kind="plane", **kwargs):
        """Draw the plane or the distances.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        kind : {"plane", "distances"}, default="plane"
        **kwargs
            For the points of the plane, or the lines of the distances.

        Returns
        -------
        self
        """
        check_choice("kind", kind, KINDS)
        self.points_, self.ticks_, self.lines_, self.levels_ = {}, [], [], None
        if kind == "plane":
            self._plot_plane(ax, kwargs)
        elif self.distances is None:
            raise ValueError("kind='distances' needs distances, which were not given.")
        else:
            self._plot_distances(ax, kwargs)
        return self

    def _plot_plane(self, ax, kwargs):
        labels = np.unique(self.meta_labels)
        largest = self.meta_weights.max() if len(self.meta_weights) else 1.0
        with style.drawing(self, ax, 3.0) as ax:
            for number, label in enumerate(labels):
                here = self.meta_labels == label
                look = {
                    "color": style.PALETTE[number % len(style.PALETTE)],
                    "marker": style.MARKERS[number % len(style.MARKERS)],
                    "s": 3 + 15 * self.meta_weights[here] / largest,
                    "alpha": 0.75 if len(here) < 500 else 0.45,
                    "linewidths": 0,
                    "rasterized": len(here) > style.MOST_SHAPES,
                    "label": style.shown(label, 20),
                }
                self.points_[label] = ax.scatter(*self.meta_objects[here].T, **(look | kwargs))
            if self.boundary is not None:
                self._draw_boundary(ax)
            # In axes fraction across the side, so that they stay there whatever is drawn or zoomed.
            for axis, values in enumerate(self.objects):
                side = np.full(len(values), 0.012)
                places, transform = (values, side), ax.get_xaxis_transform()
                if axis == 1:
                    places, transform = (side, values), ax.get_yaxis_transform()
                [ticks] = ax.plot(
                    *places,
                    linestyle="",
                    marker="|" if axis == 0 else "_",
                    markersize=4,
                    markeredgewidth=0.6,
                    color=style.BLACK,
                    transform=transform,
                )
                self.ticks_.append(ticks)
            ax.set_xlabel(style.shown(self.view_names[0], 40))
            ax.set_ylabel(style.shown(self.view_names[1], 30))
            columns = min(4, len(labels))
            ax.legend(
                loc="lower left",
                bbox_to_anchor=(0, 1),
                ncols=columns,
                borderaxespad=0.2,
                handlelength=1,
                markerscale=1.2,
            )

    def _draw_boundary(self, ax):
        across, up, leads = self.boundary
        # Of two classes, where one ends the other begins.
        for lead in leads[1:] if len(leads) == 2 else leads:
            if lead.min() < 0 < lead.max():
                ax.contour(across, up, lead, levels=[0], colors=style.BLACK, linewidths=0.9)

    def _plot_distances(self, ax, kwargs):
        with style.drawing(self, ax, 2.3) as ax:
            shares = []
            for number, (name, distances) in enumerate(zip(self.view_names, self.distances)):
                share = np.arange(1, len(distances) + 1) / max(len(distances), 1)
                look = style.line_style(number, marker=False) | {"label": style.shown(name, 30)}
                self.lines_ += ax.plot(share, distances, **(look | kwargs))
                shares.append(share)
            if len(self.bands) and all(map(len, self.distances)):
                # The bands nearest to even steps, up to where either view has pairs.
                steps = np.linspace(0, min(some[-1] for some in self.distances), MOST_LEVELS + 2)[1:-1]
                levels = np.unique(self.bands[np.abs(self.bands[:, None] - steps).argmin(axis=0)])
                ends = [
                    share[np.clip(np.searchsorted(distances, levels, side="right") - 1, 0, None)]
                    for share, distances in zip(shares, self.distances)
                ]
                self.levels_ = ax.hlines(
                    levels, *ends, colors=style.GREY, linewidth=0.7, linestyle=":", label="read together"
                )
            ax.set_xlabel(
                "share of the pairs, nearest first"
                if self.label is None
                else f"share of the pairs of {style.shown(self.label)}, nearest first"
            )
            ax.set_ylabel("squared distance")
            ax.set_ylim(bottom=0)
            style.light_grid(ax)
            ax.legend(loc="upper left")
