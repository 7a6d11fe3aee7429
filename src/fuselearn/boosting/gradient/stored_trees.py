"""Trees of earlier rounds, and checks of those that were read from a file: a saved model, or the log of a run.

A tree by itself is checked where it is built (`fuselearn.boosting.gradient.tree_format`). Here it is held against the
views, bins and categories that it belongs to. Compiled code walks trees without looking at bounds, and a model whose
trees do not fit its bins could be continued, but not as the run that it claims to be.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuselearn.boosting.gradient.gradient_rounds import GradientTrace
from fuselearn.boosting.gradient.gradient_rows import FinishedTree, TreeRequest
from fuselearn.boosting.gradient.tree_format import BoostedTrees, GradientTree
from fuselearn.data.categories import Categories
from fuselearn.learners.binning import Binning
from fuselearn.numeric.gradients import ALL_VIEWS
from fuselearn.persistence.validation import check_array, check_integer, check_part, check_views
from fuselearn.typing import BoolArray, FloatArray, IntArray

EARLIER_TREE = -1
"""Token of a tree that was grown before this run, whose rows by leaf nobody knows any more."""
LARGEST_NUMBER = 2**63
"""Beyond every seed and number of rounds."""


def joined_trees(trace: GradientTrace) -> BoostedTrees:
    """Return all trees of a run, one after the other."""
    finished = [tree for round_ in trace.rounds for tree in round_.trees]
    return BoostedTrees.of(
        [tree.tree for tree in finished],
        [tree.request.output for tree in finished],
        [tree.request.view for tree in finished],
    )


def earlier_trees(number: int, view: int, trees: Sequence[GradientTree]) -> tuple[FinishedTree, ...]:
    """Return the trees of a round that was run before, one for each score of a row."""
    return tuple(
        FinishedTree(TreeRequest(EARLIER_TREE, number, output, view, 0), tree) for output, tree in enumerate(trees)
    )


def check_fitted(model: Any, n_outputs: int) -> None:
    """Refuse a model of gradient boosting, read from a file, whose parts do not fit together.

    Parameters
    ----------
    model : BaseGradientBoosting
        The model, whose parts were checked each by itself.
    n_outputs : int
        Raw scores of a row.

    Raises
    ------
    ValueError
        If trees read other columns, add to other scores or cut at other bins than the model has.
    """
    check_views(model)
    view_columns, n_views = model.view_columns_, len(model.view_columns_)
    if not n_views:
        raise ValueError("it has no views")
    n_features, n_rounds = check_integer(model, "n_features_in_"), check_integer(model, "n_iter_")
    trees, binning = check_part(model, "trees_", BoostedTrees), check_part(model, "binning_", Binning)
    # Sizes first, of arrays that are in the file: what follows takes no more than they do.
    check_array(model, "feature_importances_", np.float64, (n_features,), at_least=0.0)
    check_array(model, "view_importances_", np.float64, (n_views,), at_least=0.0)
    check_array(model, "baseline_", np.float64, (n_outputs,))
    check_array(model, "train_score_", np.float64, (n_rounds + 1,))
    if len(check_array(model, "validation_score_", np.float64, (None,))) not in (0, n_rounds + 1):
        raise ValueError(f"it has scores of held-out rows that are not those of {n_rounds} rounds")
    winning = check_array(model, "winning_views_", np.integer, (n_rounds,), at_least=ALL_VIEWS, below=n_views)
    trees.check_columns(n_features)
    trees.check_outputs(n_outputs, n_views)
    if len(trees) != n_outputs * n_rounds or not np.array_equal(trees.view, np.repeat(winning, n_outputs)):
        raise ValueError(f"it has {len(trees)} trees, which are not those of the views that won its {n_rounds} rounds")
    used = np.unique(np.concatenate(view_columns))
    n_categories = _categories_of_columns(model, n_features)
    check_bins(binning, n_categories[used])
    check_splits(trees, view_columns, binning, n_categories[used] >= 0)
    check_integer(model, "n_samples_fit_", least=1)
    check_integer(model, "_seed", below=LARGEST_NUMBER)
    check_integer(model, "_horizon", least=1, below=LARGEST_NUMBER)


def _categories_of_columns(model: Any, n_features: int) -> IntArray:
    """Return the number of categories of each column of X; -1 for a column of numbers."""
    n_categories = np.full(n_features, -1, dtype=np.intp)
    if vars(model)["categories_"] is not None:
        categories = check_part(model, "categories_", Categories)
        if categories.columns.max(initial=-1) >= n_features:
            raise ValueError(f"it has categories of columns beyond the {n_features} it was fitted on")
        n_categories[categories.columns] = [len(values) for values in categories.values]
    return n_categories


def check_bins(binning: Binning, n_categories: IntArray) -> None:
    """Refuse bins that are not in order, or that are not the categories of a column.

    Parameters
    ----------
    binning : Binning
        Edges between the bins of the columns that are in a view.
    n_categories : intp ndarray of shape (n_used,)
        Number of categories of each of these columns; -1 for a column of numbers.
    """
    if binning.n_columns != len(n_categories):
        raise ValueError(f"it has bins of {binning.n_columns} columns; its views have {len(n_categories)}")
    edges, n_edges = binning.edges, binning.n_edges
    places = np.arange(edges.shape[1])
    is_edge = places < n_edges[:, None]
    in_order = edges[:, :-1] < edges[:, 1:]
    if np.any(is_edge & ~np.isfinite(edges)) or np.any(~is_edge & (edges != np.inf)):
        raise ValueError("it has edges between bins that are no numbers, or more of them than it counts")
    if np.any(is_edge[:, 1:] & ~in_order):
        raise ValueError("it has edges between bins that are not in order")
    categorical = n_categories >= 0
    if np.any(n_edges[categorical] != np.maximum(n_categories[categorical] - 1, 0)):
        raise ValueError("it has a column with another number of bins than of categories")
    if np.any(is_edge[categorical] & (edges[categorical] != places + 0.5)):
        raise ValueError("it has a column whose bins are not its categories")


def check_splits(
    trees: BoostedTrees, view_columns: Sequence[IntArray], binning: Binning, categorical: BoolArray
) -> None:
    """Refuse splits on columns of other views than a tree's own, or where the column has no such bins.

    Parameters
    ----------
    trees : BoostedTrees
        The trees, whose arrays were checked.
    view_columns : list of intp ndarray
        Columns of each view, numbered as in the trees.
    binning : Binning
        Edges between the bins of the columns that are in a view, in their order.
    categorical : bool ndarray of shape (n_used,)
        Whether each of these columns is categorical.
    """
    inner = trees.column >= 0
    column = trees.column[inner]
    view = np.repeat(trees.view, np.diff(trees.starts))[inner]
    used = np.unique(np.concatenate(view_columns))
    for number in np.unique(view).tolist():
        own = used if number == ALL_VIEWS else view_columns[number]
        if not np.isin(column[view == number], own).all():
            raise ValueError("it has a tree that reads columns of other views than its own")
    places = np.searchsorted(used, column)
    by_category = trees.category_row[inner] >= 0
    if np.any(by_category != categorical[places]):
        raise ValueError("it has a tree that splits numbers as categories, or categories as numbers")
    by_number = ~by_category
    places, cut_bin = places[by_number], trees.cut_bin[inner][by_number]
    if np.any(cut_bin > binning.n_edges[places]):
        raise ValueError("it has a tree that cuts behind the last bin of a column")
    # Beyond the last edge there is infinity: all values go left.
    edges: FloatArray = np.column_stack([binning.edges, np.full(binning.n_columns, np.inf)])
    if np.any(trees.threshold[inner][by_number] != edges[places, cut_bin]):
        raise ValueError("it has a tree whose thresholds are not the edges between its bins")
