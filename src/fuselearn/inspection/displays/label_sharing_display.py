"""Which labels use which base models."""

import numpy as np

from fuselearn.estimators import check_count
from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import check_has

WIDE = 60
"""Models whose cells are large enough for frames."""


class LabelSharingDisplay:
    """What each base model counts for each label (S2 figure 8).

    Columns are base models in the order in which they joined, rows are labels. Blue weights are positive, orange ones
    negative, with a bar across; a frame marks the label that a model was learned on. Of more than 60 models, a mark
    below the weight stands for the frame.

    Parameters
    ----------
    weights : array of shape (n_models, n_labels)
        As `label_weights_`.
    label_names : list of str
    source_labels : int array of shape (n_models,), default=None
        Label that each model was learned on.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : QuadMesh
        Of shape (n_labels, models shown).
    frames_ : PatchCollection or None
    n_shown_ : int
        Base models shown.

    Examples
    --------
    >>> from fuselearn.inspection import LabelSharingDisplay
    >>> display = LabelSharingDisplay(weights=[[0.5, 0.0], [0.2, -0.1]], label_names=["road", "sky"])
    >>> display.shared
    0.5
    """

    def __init__(self, *, weights, label_names, source_labels=None):
        self.weights = np.asarray(weights, dtype=np.float64)
        self.label_names = list(label_names)
        if self.weights.ndim != 2 or self.weights.shape[0] == 0 or self.weights.shape[1] != len(self.label_names):
            raise ValueError(
                f"weights must have shape (n_models, n_labels) with the {len(self.label_names)} labels of label_names; "
                f"got {self.weights.shape}."
            )
        self.source_labels = None if source_labels is None else np.asarray(source_labels, dtype=np.intp)
        if self.source_labels is not None and self.source_labels.shape != (len(self.weights),):
            raise ValueError(f"source_labels must hold a label for each of the {len(self.weights)} models.")

    @property
    def shared(self):
        """Share of the models in use that serve more than one label."""
        served = np.count_nonzero(self.weights, axis=1)
        return float((served > 1).sum() / max((served > 0).sum(), 1))

    @classmethod
    def from_estimator(cls, model, *, max_models=30, ax=None):
        """Draw the first base models of a fitted MSSBoost, NSBoost or RSBag classifier."""
        check_has(model, "label_weights_", "weights of base models for labels are of MSSBoost, NSBoost and RSBag.")
        display = cls(weights=model.label_weights_, label_names=model.label_names_, source_labels=model.source_labels_)
        return display.plot(ax, max_models=max_models)

    def plot(self, ax=None, *, max_models=30, **kwargs):
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        max_models : int, default=30
            Base models to show, from the first; S2 shows 30.
        **kwargs
            For the matrix.

        Returns
        -------
        self
        """
        check_count("max_models", max_models)
        style.pyplot()  # says what to install before matplotlib is imported below
        from matplotlib.colors import LinearSegmentedColormap

        n_labels = len(self.label_names)
        self.n_shown_ = n_shown = min(max_models, len(self.weights))
        values = self.weights[:n_shown].T
        most = np.abs(values).max() or 1.0
        height, size = style.lanes_height(n_labels, 0.15, 0.75)
        colours = LinearSegmentedColormap.from_list("weights", ["#B34E00", style.ORANGE, "white", style.SKY, "#004B78"])
        with style.drawing(self, ax, height) as ax:
            edges = np.arange(n_shown + 1) + 0.5
            look = {"cmap": colours, "vmin": -most, "vmax": most, "edgecolors": style.PALE, "linewidth": 0.3}
            if n_shown > WIDE or n_labels > WIDE:
                look.update(edgecolors="none", linewidth=0, rasterized=values.size > style.MOST_SHAPES)
            self.image_ = ax.pcolormesh(edges, np.arange(n_labels + 1) - 0.5, values, **(look | kwargs))
            if n_shown <= WIDE:
                labels, models = np.nonzero(values < 0)
                ax.hlines(labels, models + 0.75, models + 1.25, colors=style.BLACK, linewidth=0.6)
            self.frames_ = self._draw_sources(ax, n_shown)
            style.colour_bar(self, self.image_, height, "weight")
            ax.set_yticks(range(n_labels), style.names_shown(self.label_names, 20), fontsize=size)
            ax.set_ylim(n_labels - 0.5, -0.5)
            ax.set_xlabel("base model" if n_shown == len(self.weights) else f"first {n_shown} base models")
            style.whole_ticks(ax.xaxis, 8)
            ax.tick_params(axis="y", length=0)
            ax.spines[["left", "bottom"]].set_visible(False)
        return self

    def _draw_sources(self, ax, n_shown):
        if self.source_labels is None:
            return None
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        inset, places = 0.08, list(enumerate(self.source_labels[:n_shown].tolist()))
        if n_shown > WIDE:  # a frame would cover its cell: a mark at the foot of it
            frames = [Rectangle((model + 0.5, label + 0.3), 1, 0.2) for model, label in places]
            return ax.add_collection(PatchCollection(frames, facecolor=style.BLACK, linewidth=0))
        side = 1 - 2 * inset
        frames = [Rectangle((model + 0.5 + inset, label - 0.5 + inset), side, side) for model, label in places]
        return ax.add_collection(PatchCollection(frames, facecolor="none", edgecolor=style.BLACK, linewidth=0.9))
