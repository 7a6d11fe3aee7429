"""Scores of methods, with intervals."""

import numpy as np

from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import check_has

ONE_VIEW = "view:"
"""How `compare` names a single view."""


class LeaderboardDisplay:
    """Scores of methods with their intervals, the best on top.

    The best is filled in vermillion with a dotted line, others in blue; single views are squares without filling.

    Parameters
    ----------
    methods : list of str
    scores : array of shape (n_methods,)
        Higher is better.
    lows, highs : array of shape (n_methods,), default=None
        Ends of the intervals; NaN where there is none.
    score_name : str, default="score"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of Line2D
        From top to bottom.
    intervals_ : LineCollection or None
    order_ : ndarray of shape (n_methods,)
        From the best to the worst.

    Examples
    --------
    >>> from fuselearn.inspection import LeaderboardDisplay
    >>> display = LeaderboardDisplay(methods=["svm_sum", "shareboost"], scores=[0.91, 0.93])
    >>> display.order_.tolist()
    [1, 0]
    """

    def __init__(self, *, methods, scores, lows=None, highs=None, score_name="score"):
        self.methods = [str(name) for name in methods]
        if not self.methods:
            raise ValueError("methods is empty; give at least one, with its score.")
        nothing = np.full(len(self.methods), np.nan)
        given = {
            "scores": scores,
            "lows": nothing if lows is None else lows,
            "highs": nothing if highs is None else highs,
        }
        for argument, values in given.items():
            values = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
            if values.shape != (len(self.methods),):
                raise ValueError(
                    f"{argument} must hold a number for each of the {len(self.methods)} methods; got {len(values)}."
                )
            setattr(self, argument, values)
        if np.isnan(self.scores).any():
            raise ValueError(f"scores is NaN for {self.methods[int(np.isnan(self.scores).argmax())]!r}; leave it out.")
        self.score_name = score_name
        self.order_ = np.argsort(-self.scores, kind="stable")

    @classmethod
    def from_comparison(cls, comparison, *, ax=None):
        """Draw what :func:`fuselearn.compare` returned."""
        check_has(comparison, "summary", "pass what fuselearn.compare returns, or records to from_results.")
        table = comparison.summary
        return cls.from_results(table.records(), score=table.columns[1], ax=ax)

    @classmethod
    def from_estimator(cls, model, *, ax=None):
        """Draw the `leaderboard_` of a fitted FusionClassifier.

        It has the balanced accuracy of each arm, a view with a learner, on training rows that it has not seen. Arms
        that were not fitted are left out.

        Parameters
        ----------
        model : fitted FusionClassifier
        ax : matplotlib Axes, default=None

        Returns
        -------
        LeaderboardDisplay
        """
        check_has(model, "leaderboard_", "a leaderboard of its own has FusionClassifier; for others see from_results.")
        arms = [
            {"arm": f"{record['view']} · {record['learner']}", "balanced accuracy": record["score"]}
            for record in _as_records(model.leaderboard_)
            if record["score"] == record["score"]
        ]
        return cls.from_results(arms, method="arm", score="balanced accuracy", ax=ax)

    @classmethod
    def from_results(cls, records, *, method="method", score="score", low="low", high="high", ax=None):
        """Draw records.

        Parameters
        ----------
        records : list of dict, or data frame
        method, score, low, high : str
            Keys, or columns. Intervals may be absent.
        ax : matplotlib Axes, default=None
        """
        records = _as_records(records)
        for key in (method, score):
            if not records or key not in records[0]:
                has = list(records[0]) if records else "no record"
                raise ValueError(f"records must have {key!r}; got {has}.")
        return cls(
            methods=[record[method] for record in records],
            scores=[record[score] for record in records],
            lows=[record.get(low) for record in records],
            highs=[record.get(high) for record in records],
            score_name=score,
        ).plot(ax)

    def plot(self, ax=None, **kwargs):
        """Draw a point and an interval per method.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        **kwargs
            For the points.

        Returns
        -------
        self
        """
        n_methods = len(self.methods)
        height, size = style.lanes_height(n_methods, 0.17, 0.6)
        with style.drawing(self, ax, height) as ax:
            scores, lows, highs = self.scores[self.order_], self.lows[self.order_], self.highs[self.order_]
            names = [self.methods[place] for place in self.order_]
            looks = [_look(name, place == 0) for place, name in enumerate(names)]
            ax.axvline(scores[0], color=style.VERMILLION, linewidth=0.8, linestyle=":", zorder=1)
            known = np.flatnonzero(~np.isnan(lows) & ~np.isnan(highs))
            self.intervals_ = None
            if len(known):
                colours = [looks[place]["color"] for place in known]
                self.intervals_ = ax.hlines(known, lows[known], highs[known], colors=colours, linewidth=1.1, zorder=2)
            self.points_ = [
                ax.plot(score, place, **({"linestyle": "", "markersize": 4, "zorder": 3} | look | kwargs))[0]
                for place, (score, look) in enumerate(zip(scores, looks))
            ]
            ax.set_yticks(range(n_methods), style.names_shown(names, 28), fontsize=size)
            ax.set_ylim(n_methods - 0.5, -0.5)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
            ax.set_xlabel(style.shown(self.score_name).replace("_", " "))
            style.light_grid(ax, "both")
            ax.margins(x=0.06)
        return self


def _look(name, is_best):
    if name.startswith(ONE_VIEW):
        colour = style.VERMILLION if is_best else style.GREY
        return {"color": colour, "marker": "s", "markerfacecolor": "white"}
    return {"color": style.VERMILLION if is_best else style.BLUE, "marker": "o"}


def _as_records(records):
    """List of dicts from a list, or from a data frame of pandas, polars or Arrow."""
    for method in ("to_dicts", "to_pylist"):
        if hasattr(records, method):
            return getattr(records, method)()
    if hasattr(records, "to_dict"):
        return records.to_dict("records")
    return list(records)
