"""Cumulative distribution of margins."""

import numpy as np

from fuselearn.estimators import check_count
from fuselearn.inspection.displays import style
from fuselearn.inspection.margins import margin_distribution, staged_margins

MOST_STEPS = 1000


class MarginDisplay:
    """Cumulative distribution of the margins of rows, after some of the rounds or of several models.

    The height of a curve at 0 is the share of rows that are wrong.

    Parameters
    ----------
    margins : dict of name to array of shape (n_rows,)
        In [-1, 1].

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of name to Line2D

    See Also
    --------
    fuselearn.inspection.margin_distribution : The numbers.

    Examples
    --------
    >>> from fuselearn.inspection import MarginDisplay
    >>> MarginDisplay(margins={"after 10": [-0.5, 0.1, 0.2, 0.9]}).share_wrong
    {'after 10': 0.25}
    """

    def __init__(self, *, margins):
        self.margins = {name: np.asarray(values, dtype=np.float64) for name, values in margins.items()}
        if not self.margins:
            raise ValueError("margins is empty; give those of at least one model.")
        for name, values in self.margins.items():
            if values.ndim != 1 or not len(values):
                raise ValueError(f"margins[{name!r}] must hold a number for each row; got shape {values.shape}.")
            if not (np.abs(values) <= 1 + 1e-9).all():
                raise ValueError(f"margins[{name!r}] must be in [-1, 1]; got up to {np.abs(values).max():.3g}.")

    @property
    def share_wrong(self):
        """Share of the rows whose margin is not positive, by name."""
        return {name: float(np.mean(values <= 0)) for name, values in self.margins.items()}

    @classmethod
    def from_estimator(cls, model, X, y, *, rounds=None, ax=None):
        """Draw the margins of rows, after several rounds where the model has them.

        Parameters
        ----------
        model : fitted classifier of fuselearn
        X, y
            Rows, and their labels.
        rounds : sequence of int, default=None
            After which rounds. None takes up to four from the first to the last, each a multiple of the one before.
        ax : matplotlib Axes, default=None
        """
        if not hasattr(model, "staged_decision_function"):
            if rounds is not None:
                raise ValueError(f"{type(model).__name__} has no rounds (staged_decision_function); leave rounds out.")
            return cls(margins={type(model).__name__: margin_distribution(model, X, y)}).plot(ax)
        done = len(model.estimators_)
        if done == 0:
            raise ValueError("model has no rounds, so rows have no margins.")
        if rounds is None:
            rounds = np.unique(np.geomspace(1, done, 4).round().astype(int)).tolist()
        rounds = list(rounds)
        for number in rounds:
            check_count("rounds", number)
            if number > done:
                raise ValueError(f"rounds must be at most {done}, those that the model has; got {number}.")
        named = [f"after round {number}" for number in rounds]
        return cls(margins=dict(zip(named, staged_margins(model, X, y, rounds)))).plot(ax)

    @classmethod
    def from_estimators(cls, models, X, y, *, ax=None):
        """Draw the margins of several fitted models, a dict of name to model, on the same rows."""
        return cls(margins={name: margin_distribution(model, X, y) for name, model in models.items()}).plot(ax)

    def plot(self, ax=None, **kwargs):
        """Draw a curve for each name.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        **kwargs
            For the curves.

        Returns
        -------
        self
        """
        with style.drawing(self, ax, 2.3) as ax:
            self.lines_ = {}
            for number, (name, values) in enumerate(self.margins.items()):
                across, up = _steps(values)
                look = style.line_style(number, marker=False) | {"drawstyle": "steps-post"}
                look["label"] = f"{style.shown(name, 30)} ({self.share_wrong[name]:.1%} wrong)"
                [self.lines_[name]] = ax.plot(across, up, **(look | kwargs))
            ax.axvline(0, color=style.GREY, linewidth=0.8)
            ax.set(xlim=(-1, 1), ylim=(0, 1.02))
            ax.set_xticks([-1, -0.5, 0, 0.5, 1])
            ax.set_xlabel("margin")
            ax.set_ylabel("share of rows")
            style.light_grid(ax)
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
        return self


def _steps(values):
    """Corners of the empirical distribution from -1 to 1; of very many rows, of as many as can be seen."""
    values = np.sort(np.clip(values, -1, 1))
    places = np.arange(1, len(values) + 1)
    if len(values) > MOST_STEPS:
        places = np.unique(np.linspace(1, len(values), MOST_STEPS).round().astype(np.intp))
    return (
        np.concatenate([[-1.0], values[places - 1], [1.0]]),
        np.concatenate([[0.0], places / len(values), [1.0]]),
    )
