"""Gradient boosting of classes over views that share one gradient per row."""

import os
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from fuselearn.bandits.protocol import Policy
from fuselearn.boosting.gradient.gradient_arguments import read_classes
from fuselearn.boosting.gradient.gradient_base import BaseGradientBoosting
from fuselearn.boosting.gradient.gradient_data import GradientData
from fuselearn.boosting.gradient.gradient_plan import GradientPlan
from fuselearn.boosting.gradient.gradient_rounds import GradientTrace
from fuselearn.boosting.gradient.stored_trees import check_fitted
from fuselearn.boosting.gradient.tree_prediction import TreeClassification
from fuselearn.data.class_weights import ClassWeight
from fuselearn.data.view_table import to_host
from fuselearn.persistence.validation import check_classes
from fuselearn.typing import AnyArray, ArrayLike, RandomState, TableLike, Views


class ShareGradientBoostingClassifier(TreeClassification, ClassifierMixin, BaseGradientBoosting):
    """Gradient boosting over views that share one gradient per row.

    Every round fits trees to the gradients of the log loss at the rows, which all views share as those of
    :class:`ShareBoostClassifier` share their weights. With ``trees="joint"`` a tree may split on any column: this is
    gradient boosting of all columns. With ``trees="per_view"`` a tree reads one view, all views compete for the shared
    gradients (or a bandit draws one), and a row without the view abstains.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A selector is what
        :class:`~sklearn.compose.ColumnTransformer` takes. None is one view of all columns. Views may overlap.
    trees : {"joint", "per_view"}, default="joint"
        Whether a tree may split on any column, or reads one view.
    view_policy : {"best", "exp3p", "ucb", "uniform", "round_robin"} or policy, default="best"
        Policy that chooses the view of a round with ``trees="per_view"``, see :mod:`fuselearn.bandits`: under
        ``"best"`` all views grow trees, and those that lower the loss most join; the others draw one view, at the cost
        of one.
    n_estimators : int, default=200
        Largest number of rounds. A round has one tree for two classes, else one for each class.
    learning_rate : float, default=0.1
        Factor on the values of all leaves.
    max_leaf_nodes : int, default=31
        Most leaves of a tree. It grows best leaf first, and to a depth of twice the logarithm to base two of this, but
        at least 10.
    min_samples_leaf : int, default=20
        Least weight of a leaf: the number of its rows where there is no `sample_weight` and no `class_weight`.
    l2_regularization : float, default=0.0
        Added to the second derivatives of a leaf.
    max_bins : int, default=255
        Most bins of a column. A column of no more distinct values than this is cut exactly.
    categorical_features : "from_dtype", None, list of int or str, or bool mask, default="from_dtype"
        Columns whose values are categories, which a split divides into two sets. By default the columns of a data
        frame that are of a categorical type. A category that was not there at the fit counts as missing.
    monotonic_cst : sequence of int, dict or None, default=None
        For each column, or by name, 1 where the score of ``classes_[1]`` must not fall with it, -1 where it must not
        rise, else 0. For two classes only.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, by which those of the rows are multiplied.
    early_stopping : "auto" or bool, default="auto"
        Whether some rows are held out, by class, or by group where groups are given, and the run ends when their loss
        no longer falls. "auto": above 10,000 rows.
    validation_fraction : float, default=0.1
        Share of the rows that early stopping holds out.
    n_iter_no_change : int, default=10
        Rounds without a lower loss on the held-out rows after which the run ends.
    warm_start : bool, default=False
        Go on with the rounds of the last fit, with its seed and its bins.
    n_jobs : int, default=None
        Number of threads; None for one, -1 for all cores. The model is the same, bit for bit, for any number.
    random_state : int, RandomState or None, default=None
        Seed of all draws: of rows that place the bins, of held-out rows, and of views.
    verbose : int, default=0
        1 reports ten times during a fit, 2 after every round.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    n_iter_ : int
        Number of rounds.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of each view.
    winning_views_ : int ndarray of shape (n_iter_,)
        View that won each round; -1 with ``trees="joint"``.
    view_importances_ : ndarray of shape (n_views,)
        Share of the gains of all splits that each view has. The gain of a column of several views counts in parts.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the gains of all splits that each column has.
    train_score_ : ndarray of shape (n_iter_ + 1,)
        Minus the mean log loss of the training rows, before the first round and after each.
    validation_score_ : ndarray of shape (n_iter_ + 1,) or (0,)
        The same of the held-out rows; empty without early stopping.
    trees_ : BoostedTrees
        All trees.
    baseline_ : ndarray of shape (n_outputs,)
        Raw scores before the first tree.
    binning_ : Binning
        Edges between the bins of the columns that are in a view.
    categories_ : Categories or None
        Categories of the categorical columns.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns of `X`, where they are all strings.
    n_samples_fit_ : int
        Number of rows with weight.

    See Also
    --------
    ShareGradientBoostingRegressor : The same for numbers.
    ShareBoostClassifier : Boosting by shared weights, with any weak learner.

    Notes
    -----
    Gradients are whole numbers of a fixed unit, so that their sums are exact: the model does not depend on the number
    of threads or partitions. With ``trees="joint"`` a missing value goes to the side of a split that the training rows
    suggest.

    References
    ----------
    .. [1] Friedman. Greedy Function Approximation: A Gradient Boosting Machine. Annals of Statistics, 2001.
    .. [2] Peng, Barbu, Seetharaman, Fan, Wu, Palaniappan. ShareBoost: Boosting for Multi-view Learning with
       Performance Guarantees. ECML PKDD 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fuselearn import ShareGradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = ShareGradientBoostingClassifier(views=views, trees="per_view", n_estimators=50).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    >>> model.view_importances_.round(1)
    array([0.2, 0. , 0.8])
    """

    def __init__(
        self,
        *,
        views: Views = None,
        trees: str = "joint",
        view_policy: str | Policy = "best",
        n_estimators: int = 200,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        class_weight: ClassWeight = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.views = views
        self.trees = trees
        self.view_policy = view_policy
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    classes_: AnyArray

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        view_labels: ArrayLike = None,
        groups: ArrayLike = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            A view of a row is absent when all its columns are NaN there. A Dask collection is trained on by the cluster
            of the current client; paths of Parquet files are read partition by partition (see the guide on distributed
            fits). The model is that of the same rows in memory, bit for bit.
        y : array of shape (n_samples,)
            Class of each row. Of Dask collections, cut at the same rows as X; of files the name of a column, as are the
            arguments below.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; None for equal weights. Rows of weight 0 are ignored, but for their classes, which are
            among `classes_`.
        view_labels : array of shape (n_samples, n_views), default=None
            Each view's own label of each row, where the views do not agree on what a row is; for ``trees="per_view"``.
            With it, `y` supplies `classes_` only.
        groups : array of shape (n_samples,), default=None
            Group of each row. Early stopping holds out whole groups.
        checkpoint : str or path-like, default=None
            File for the log of the run. The same call after a kill goes on from it and gives the same model, bit for
            bit; only `n_estimators` may have grown. A log of other data or settings is refused. It stays when the fit
            is done.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight, view_labels, groups, checkpoint)

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike = None) -> float:
        """Return the share of the rows whose class is predicted.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows to predict. As for `fit`, all arguments may be CUDA arrays.
        y : array of shape (n_samples,)
            Their classes.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; None for equal weights.

        Returns
        -------
        float
            The accuracy.
        """
        return super().score(X, to_host(y), to_host(sample_weight))

    def validate(self) -> None:
        """Refuse a model, read from a file, whose trees, views and classes do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The model would read or score outside of what it was fitted on.
        """
        if "trees_" not in vars(self):
            return
        n_classes = check_classes(self)
        if n_classes < 2:
            raise ValueError(f"it has {n_classes} classes, of at least two")
        check_fitted(self, 1 if n_classes == 2 else n_classes)

    def _read(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike,
        view_labels: ArrayLike,
        groups: ArrayLike,
        *,
        reset: bool,
    ) -> GradientData:
        """Check the arguments of `fit`, and return the rows."""
        return read_classes(self, X, y, sample_weight, view_labels, groups, reset=reset)

    def _publish(self, data: GradientData, plan: GradientPlan, trace: GradientTrace, stops_early: bool) -> None:
        """Set the fitted attributes."""
        super()._publish(data, plan, trace, stops_early)
        self.classes_ = np.asarray(data.classes)
