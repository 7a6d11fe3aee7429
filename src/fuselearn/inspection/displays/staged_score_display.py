"""Scores against the number of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import r2_score

from fuselearn.inspection.displays import style
from fuselearn.inspection.fitted_model import FittedModel, check_has, read_labels, read_rows, without_feature_names
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Metric: TypeAlias = Callable[[AnyArray, AnyArray], float]


class StagedScoreDisplay:
    """Score against the number of models of one or several ensembles (S1 figures 2 and 3, S2 figures 4 and 5).

    Parameters
    ----------
    scores : dict of name to array of shape (n_models,) or (n_runs, n_models)
        Scores of each ensemble. With several runs the mean is drawn, in a band of two standard errors.
    train_scores : dict of name to array, default=None
        Scores on the training rows, for some or all names; drawn thinner.
    score_name : str, default="accuracy"
        Name of the score, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn into.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : dict of name to Line2D
        The lines of the scores.
    train_lines_ : dict of name to Line2D
        The lines of the training scores.
    bands_ : dict of name to PolyCollection
        The bands of names with several runs.

    Examples
    --------
    >>> from fuselearn.inspection import StagedScoreDisplay
    >>> display = StagedScoreDisplay(scores={"ShareBoost": [[0.7, 0.8, 0.9], [0.8, 0.9, 0.9]]})
    >>> display.scores["ShareBoost"].shape
    (2, 3)
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]
    train_lines_: dict[str, Line2D]
    bands_: dict[str, PolyCollection]

    def __init__(
        self,
        *,
        scores: Mapping[str, ArrayLike],
        train_scores: Mapping[str, ArrayLike] | None = None,
        score_name: str = "accuracy",
    ) -> None:
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
        cls,
        model: FittedModel,
        X: TableLike,
        y: ArrayLike,
        *,
        X_train: TableLike = None,
        y_train: ArrayLike = None,
        name: str | None = None,
        metric: Metric | None = None,
        score_name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the score of a fitted ensemble after each of its models.

        Parameters
        ----------
        model : fitted estimator with `staged_predict`
            The ensemble.
        X : array or data frame of shape (n_samples, n_features)
            Rows that it was not fitted on.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their labels.
        X_train : array or data frame, default=None
            Rows that it was fitted on.
        y_train : array, default=None
            Their labels.
        name : str, default=None
            Name in the legend; None is the name of the class.
        metric : callable, default=None
            Function of (y, predicted). None is accuracy, for a multi-label model the mean accuracy over the labels,
            for a regressor R².
        score_name : str, default=None
            Name of the metric, for the axis; None is that of the default metric, or "score".
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        StagedScoreDisplay
            The display, drawn.
        """
        models = {type(model).__name__ if name is None else name: model}
        return cls.from_estimators(
            models, X, y, X_train=X_train, y_train=y_train, metric=metric, score_name=score_name, ax=ax
        )

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, FittedModel],
        X: TableLike,
        y: ArrayLike,
        *,
        X_train: TableLike = None,
        y_train: ArrayLike = None,
        metric: Metric | None = None,
        score_name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of several fitted ensembles on the same rows.

        Parameters
        ----------
        models : dict of name to fitted estimator with `staged_predict`
            The ensembles, by their name in the legend.
        X : array or data frame of shape (n_samples, n_features)
            Rows that they were not fitted on.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their labels.
        X_train : array or data frame, default=None
            Rows that they were fitted on.
        y_train : array, default=None
            Their labels.
        metric : callable, default=None
            Function of (y, predicted). None is accuracy, for a multi-label model the mean accuracy over the labels,
            for a regressor R².
        score_name : str, default=None
            Name of the metric, for the axis; None is that of the default metric, or "score".
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        StagedScoreDisplay
            The display, drawn.
        """
        if (X_train is None) != (y_train is None):
            raise ValueError("X_train and y_train must be given together; got only one of them.")
        scores = {name: _staged_scores(model, X, y, metric) for name, model in models.items()}
        train_scores = {}
        if X_train is not None:
            train_scores = {name: _staged_scores(model, X_train, y_train, metric) for name, model in models.items()}
        if score_name is None:
            default = "R²" if any(map(is_regressor, models.values())) else "accuracy"
            score_name = default if metric is None else "score"
        return cls(scores=scores, train_scores=train_scores, score_name=score_name).plot(ax)

    @classmethod
    def from_results(
        cls, scores: Mapping[str, Sequence[ArrayLike]], *, score_name: str = "accuracy", ax: Axes | None = None
    ) -> Self:
        """Draw scores of several runs, which may differ in length.

        Parameters
        ----------
        scores : dict of name to list of array
            Scores of each run; a run that ended early keeps its last score.
        score_name : str, default="accuracy"
            Name of the score.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        StagedScoreDisplay
            The display, drawn.
        """
        padded = {}
        for name, runs in scores.items():
            arrays = [np.atleast_1d(np.asarray(run, dtype=np.float64)) for run in runs]
            longest = max((len(run) for run in arrays), default=0)
            padded[name] = np.array([np.pad(run, (0, longest - len(run)), mode="edge") for run in arrays])
        return cls(scores=padded, score_name=score_name).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a line per ensemble.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs
            For the lines.

        Returns
        -------
        StagedScoreDisplay
            The display itself.
        """
        with style.drawing(self, ax, 2.3) as ax:
            self.lines_, self.train_lines_, self.bands_ = {}, {}, {}
            for number, (name, runs) in enumerate(self.scores.items()):
                look = style.line_style(number)
                models = np.arange(1, runs.shape[1] + 1)
                # Markers of different lines do not stand on each other.
                every = max(1, len(models) // 8)
                look["markevery"] = (min(number * every // max(len(self.scores), 1), len(models) - 1), every)
                short_name = style.short_name(name, 30)
                label = f"{short_name}, test" if name in self.train_scores else short_name
                mean = runs.mean(axis=0)
                [self.lines_[name]] = ax.plot(models, mean, label=label, **(look | kwargs))
                if len(runs) > 1:
                    error = 2 * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
                    self.bands_[name] = ax.fill_between(
                        models, mean - error, mean + error, color=look["color"], alpha=0.18, linewidth=0
                    )
                if name in self.train_scores:
                    train_mean = self.train_scores[name].mean(axis=0)
                    train_models = np.arange(1, len(train_mean) + 1)
                    thin = look | {"linewidth": 0.7, "markerfacecolor": "white", "markersize": 2.5}
                    [self.train_lines_[name]] = ax.plot(
                        train_models, train_mean, label=f"{short_name}, train", **(thin | kwargs)
                    )
            ax.set_xlabel("number of models")
            ax.set_ylabel(self.score_name)
            style.whole_ticks(ax.xaxis)
            style.light_grid(ax)
            if len(self.scores) + len(self.train_scores) > 1:
                _add_legend(ax)
        return self


def _staged_scores(model: FittedModel, X: TableLike, y: ArrayLike, metric: Metric | None) -> FloatArray:
    """Return the score after each model, of shape (n_models,); without models the score of the prediction."""
    check_has(model, "staged_predict", "only ensembles that grow in rounds have a score after each model.")
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    if metric is None:
        metric = r2_score if is_regressor(model) else _accuracy
    nameless = without_feature_names(model)
    scores = [float(metric(y, predicted)) for predicted in nameless.staged_predict(table)]
    return np.array(scores or [float(metric(y, nameless.predict(table)))])


def _accuracy(y: AnyArray, predicted: AnyArray) -> float:
    """Return the accuracy, for several labels its mean over them."""
    return float(np.mean(y == predicted))


def _as_runs(argument: str, name: str, runs: ArrayLike) -> FloatArray:
    """Return scores of shape (n_runs, n_models)."""
    runs = np.atleast_2d(np.asarray(runs, dtype=np.float64))
    if runs.ndim != 2 or runs.size == 0:
        raise ValueError(
            f"{argument}[{name!r}] must have shape (n_models,) or (n_runs, n_models), with at least one score; got "
            f"shape {runs.shape}."
        )
    return runs


def _add_legend(ax: Axes) -> None:
    """Add a legend, inside if few lines leave space for it, else above."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) <= 4 and max(map(len, labels)) <= 24:
        ax.legend(loc="best", handlelength=3)
    else:
        columns = 2 if max(map(len, labels)) <= 20 else 1
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, handlelength=3)
