"""Score against the number of models."""

import numpy as np

from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import check_has, forgetful, read_labels, read_rows


class StagedScoreDisplay:
    """Score against the number of models of one or several ensembles (S1 figures 2 and 3, S2 figures 4 and 5).

    Parameters
    ----------
    scores : dict of name to array of shape (n_models,) or (n_runs, n_models)
        With several runs the mean is drawn, in a band of two standard errors.
    train_scores : dict of the same, default=None
        On the training rows; drawn thinner.
    score_name : str, default="accuracy"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of name to Line2D
    train_lines_ : dict of name to Line2D
    bands_ : dict of name to PolyCollection
        For names with several runs.

    Examples
    --------
    >>> from fuselearn.inspection import StagedScoreDisplay
    >>> display = StagedScoreDisplay(scores={"ShareBoost": [[0.7, 0.8, 0.9], [0.8, 0.9, 0.9]]})
    >>> display.scores["ShareBoost"].shape
    (2, 3)
    """

    def __init__(self, *, scores, train_scores=None, score_name="accuracy"):
        self.scores = {name: _as_runs("scores", name, runs) for name, runs in scores.items()}
        if not self.scores:
            raise ValueError("scores is empty; give the scores of at least one ensemble.")
        self.train_scores = {name: _as_runs("train_scores", name, runs) for name, runs in (train_scores or {}).items()}
        unknown = [name for name in self.train_scores if name not in self.scores]
        if unknown:
            raise ValueError(f"train_scores names {unknown[0]!r}, but scores has {list(self.scores)}.")
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls, model, X, y, *, X_train=None, y_train=None, name=None, metric=None, score_name="accuracy", ax=None
    ):
        """Draw the score of a fitted ensemble after each of its models.

        Parameters
        ----------
        model : fitted classifier with `staged_predict`
        X, y
            Rows that it was not fitted on.
        X_train, y_train : default=None
            Rows that it was fitted on.
        name : str, default=None
            For the legend; None is the name of the class.
        metric : callable, default=None
            Function of (y, predicted). None is accuracy, for several labels its mean over them.
        score_name : str, default="accuracy"
            What the metric is called.
        ax : matplotlib Axes, default=None
        """
        models = {type(model).__name__ if name is None else name: model}
        settings = {"X_train": X_train, "y_train": y_train, "metric": metric, "score_name": score_name, "ax": ax}
        return cls.from_estimators(models, X, y, **settings)

    @classmethod
    def from_estimators(cls, models, X, y, *, X_train=None, y_train=None, metric=None, score_name="accuracy", ax=None):
        """Draw the scores of several fitted ensembles, a dict of name to model, on the same rows."""
        if (X_train is None) != (y_train is None):
            raise ValueError("X_train and y_train must be given both, or neither.")
        scores = {name: staged_scores(model, X, y, metric) for name, model in models.items()}
        train = {}
        if X_train is not None:
            train = {name: staged_scores(model, X_train, y_train, metric) for name, model in models.items()}
        return cls(scores=scores, train_scores=train, score_name=score_name).plot(ax)

    @classmethod
    def from_results(cls, scores, *, score_name="accuracy", ax=None):
        """Draw scores of several runs, a dict of name to list of arrays; a run that ended early keeps its last."""
        padded = {}
        for name, runs in scores.items():
            runs = [np.atleast_1d(np.asarray(run, dtype=np.float64)) for run in runs]
            longest = max((len(run) for run in runs), default=0)
            padded[name] = np.array([np.pad(run, (0, longest - len(run)), mode="edge") for run in runs])
        return cls(scores=padded, score_name=score_name).plot(ax)

    def plot(self, ax=None, **kwargs):
        """Draw a line per ensemble.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        **kwargs
            For the lines.

        Returns
        -------
        self
        """
        with style.drawing(self, ax, 2.3) as ax:
            self.lines_, self.train_lines_, self.bands_ = {}, {}, {}
            for number, (name, runs) in enumerate(self.scores.items()):
                look = style.line_style(number)
                models = np.arange(1, runs.shape[1] + 1)
                label = style.shown(name, 30)
                # Markers of different lines do not stand on each other.
                every = max(1, len(models) // 8)
                look["markevery"] = (min(number * every // max(len(self.scores), 1), len(models) - 1), every)
                if name in self.train_scores:
                    label = f"{label}, test"
                self.lines_[name] = _line(ax, models, runs.mean(axis=0), label, look | kwargs)
                if len(runs) > 1:
                    mean, error = runs.mean(axis=0), 2 * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
                    self.bands_[name] = ax.fill_between(
                        models, mean - error, mean + error, color=look["color"], alpha=0.18, linewidth=0
                    )
                if name in self.train_scores:
                    train = self.train_scores[name]
                    thin = look | {"linewidth": 0.7, "markerfacecolor": "white", "markersize": 2.5}
                    self.train_lines_[name] = _line(
                        ax,
                        np.arange(1, train.shape[1] + 1),
                        train.mean(axis=0),
                        f"{style.shown(name, 30)}, train",
                        thin | kwargs,
                    )
            ax.set_xlabel("number of models")
            ax.set_ylabel(self.score_name)
            style.whole_ticks(ax.xaxis)
            style.light_grid(ax)
            if len(self.scores) + len(self.train_scores) > 1:
                _legend(ax)
        return self


def staged_scores(model, X, y, metric=None):
    """Score after each model, of shape (n_models,); one that has none gets the score of its prediction."""
    check_has(model, "staged_predict", "a score after each model is of ensembles that grow in rounds.")
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    metric = _accuracy if metric is None else metric
    bare = forgetful(model)
    scores = [float(metric(y, predicted)) for predicted in bare.staged_predict(table)]
    return np.array(scores or [float(metric(y, bare.predict(table)))])


def _accuracy(y, predicted):
    return np.mean(y == predicted)


def _as_runs(argument, name, runs):
    runs = np.atleast_2d(np.asarray(runs, dtype=np.float64))
    if runs.ndim != 2 or runs.size == 0:
        raise ValueError(
            f"{argument}[{name!r}] must have shape (n_models,) or (n_runs, n_models), with at least one; got shape "
            f"{runs.shape}."
        )
    return runs


def _line(ax, models, scores, label, look):
    [line] = ax.plot(models, scores, label=label, **look)
    return line


def _legend(ax):
    """Inside where few lines leave room, above otherwise."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) <= 4 and max(map(len, labels)) <= 24:
        ax.legend(loc="best", handlelength=3)
    else:
        columns = 2 if max(map(len, labels)) <= 20 else 1
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, handlelength=3)
