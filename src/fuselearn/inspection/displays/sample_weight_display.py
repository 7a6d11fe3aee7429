"""Weights of training rows over the rounds."""

from itertools import islice

import numpy as np

from fuselearn.estimators import check_choice
from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import check_has

KINDS = ("auto", "raster", "bands")
MOST_LINES = 60
"""Rows that can be shown one by one."""
MOST_ROUNDS = 250
"""Rounds that are kept of many rows: more are not seen in a picture, and 200,000 rows fill the memory."""
LEAST = 0.01


class SampleWeightDisplay:
    """Weights of the training rows after each round of boosting, wrong labels apart (S0 figure 2).

    Few rows are shown one by one, as a raster of rows and rounds; of many rows the median and the middle 80 % are
    shown, of those with wrong labels and of the others. A weight is given as a multiple of that of equal weights.

    Parameters
    ----------
    weights : array of shape (n_rounds + 1, n_rows)
        Before the first round and after each; every line with sum 1.
    wrong : bool array of shape (n_rows,), default=None
        Rows whose labels are known to be wrong.
    rounds : int array of shape (n_rounds + 1,), default=None
        Number of each round, where not all are there; None is 0, 1, ….
    row_names : list of str, default=None
        None is the number of each row, from 0.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : QuadMesh or None
        The raster.
    lines_ : dict of str to Line2D
        Medians of "wrong" and "other" rows.
    bands_ : dict of str to PolyCollection

    Examples
    --------
    >>> from fuselearn.inspection import SampleWeightDisplay
    >>> display = SampleWeightDisplay(weights=[[0.5, 0.5], [0.2, 0.8]], wrong=[False, True])
    >>> display.relative.tolist()
    [[1.0, 1.0], [0.4, 1.6]]
    """

    def __init__(self, *, weights, wrong=None, rounds=None, row_names=None):
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
            raise ValueError(f"rounds must be {n_rounds} ascending numbers, one for each line of weights.")
        self.row_names = [str(row) for row in range(n_rows)] if row_names is None else [str(name) for name in row_names]
        if len(self.row_names) != n_rows:
            raise ValueError(f"row_names must name each of the {n_rows} rows; got {len(self.row_names)} names.")

    @property
    def relative(self):
        """Weights as multiples of equal ones, of shape (n_rounds + 1, n_rows)."""
        return self.weights * self.weights.shape[1]

    @classmethod
    def from_estimator(
        cls, model, X, y, *, sample_weight=None, view_labels=None, wrong=None, view=None, kind="auto", ax=None
    ):
        """Draw the weights of the rows that a boosting classifier was fitted on.

        Parameters
        ----------
        model : fitted ShareBoostClassifier or IndependentBoostClassifier
        X, y, sample_weight, view_labels
            As they were given to `fit`: a model does not keep them.
        wrong : bool array of shape (n_samples,), default=None
            Rows whose labels are known to be wrong.
        view : str, default=None
            Whose weights, where each view has its own (IndependentBoostClassifier). Of a view with several learners,
            the first one's.
        kind : {"auto", "raster", "bands"}, default="auto"
        ax : matplotlib Axes, default=None
        """
        check_has(model, "staged_sample_weights", "weights of rows are of ShareBoost and IndependentBoost.")
        n_rounds = model.n_iter_
        kept = np.arange(n_rounds + 1)
        if (n_rounds + 1) * len(X) > MOST_ROUNDS * 2000 and n_rounds > MOST_ROUNDS:
            kept = np.unique(np.linspace(0, n_rounds, MOST_ROUNDS).round().astype(np.intp))
        staged = model.staged_sample_weights(X, y, sample_weight=sample_weight, view_labels=view_labels)
        wanted = set(kept.tolist())
        weights, arm = [], None
        for number, now in enumerate(islice(staged, n_rounds + 1)):
            if number == 0:
                arm = _arm_of(model, view, now.ndim)
            if number in wanted:
                weights.append((now if arm is None else now[:, arm]).astype(np.float32 if len(now) > 10_000 else float))
        return cls(weights=np.array(weights), wrong=wrong, rounds=kept).plot(ax, kind=kind)

    def plot(self, ax=None, *, kind="auto", **kwargs):
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        kind : {"auto", "raster", "bands"}, default="auto"
            "raster" shows every row, "bands" the median and the middle 80 %. "auto" is a raster for up to 60 rows.
        **kwargs
            For the raster, or for the lines of the medians.

        Returns
        -------
        self
        """
        check_choice("kind", kind, KINDS)
        if kind == "auto":
            kind = "raster" if self.weights.shape[1] <= MOST_LINES else "bands"
        self.image_, self.lines_, self.bands_ = None, {}, {}
        if kind == "raster":
            self._plot_raster(ax, kwargs)
        else:
            self._plot_bands(ax, kwargs)
        return self

    def _plot_raster(self, ax, kwargs):
        n_rows = self.weights.shape[1]
        # Wrong rows first: they are what one looks for.
        order = np.argsort(~self.wrong, kind="stable")
        height, size = style.lanes_height(n_rows, 0.125, 0.7)
        with style.drawing(self, ax, height) as ax:
            edges = np.append(self.rounds, self.rounds[-1] + 1) - 0.5
            look = {"cmap": "Blues", "vmin": 0.0, "rasterized": self.weights.size > style.MOST_SHAPES}
            self.image_ = ax.pcolormesh(edges, np.arange(n_rows + 1) - 0.5, self.relative.T[order], **(look | kwargs))
            style.colour_bar(self, self.image_, height, "weight / equal weight")
            ax.set_ylim(n_rows - 0.5, -0.5)
            ax.set_yticks(range(n_rows), style.names_shown([self.row_names[row] for row in order], 14))
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

    def _plot_bands(self, ax, kwargs):
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
                label, colour, line = looks[group]
                own = self.weights[:, rows]
                low, middle, high = np.quantile(own, (0.1, 0.5, 0.9), axis=1) * len(rows)
                lowest, highest = min(lowest, low.min()), max(highest, high.max())
                label = f"{label}: {rows.sum()} rows, at last {own[-1].sum():.0%} of the weight"
                if not self.wrong.any():
                    label = f"median of {len(rows)} rows (band: 80% of them)"
                self.bands_[group] = ax.fill_between(self.rounds, low, high, color=colour, alpha=0.2, linewidth=0)
                look = {"color": colour, "linestyle": line, "label": label}
                [self.lines_[group]] = ax.plot(self.rounds, middle, **(look | kwargs))
            ax.axhline(1, color=style.GREY, linewidth=0.6, linestyle=":")
            # Weights are products of factors. Those below a hundredth are as good as gone.
            ax.set_yscale("log", nonpositive="clip")
            ax.set_ylim(max(0.8 * lowest, LEAST), 1.5 * highest)
            ax.margins(x=0.01)
            ax.set_xlabel("round")
            ax.set_ylabel("weight / equal weight")
            style.whole_ticks(ax.xaxis)
            ax.yaxis.set_major_formatter(_plain)
            style.light_grid(ax)
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)


def _plain(value, _):
    """0.01, 0.1, 1, 10 instead of powers of ten."""
    return f"{value:g}"


def _arm_of(model, view, n_dimensions):
    """Column of the weights that belong to a view; None where all views share theirs."""
    if view is not None and view not in model.view_names_:
        raise ValueError(f"view must be one of {model.view_names_}; got {view!r}.")
    if n_dimensions == 1:
        return None
    if view is None:
        raise ValueError(f"Each view has weights of its own; choose one with view=, of {model.view_names_}.")
    return [name for name, _ in model.arms_].index(view)
