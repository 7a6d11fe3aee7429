"""What each column contributes to the values of fitted base models.

Each kind of base model has its own closed form: sums for linear machines, quadrature for Gaussian kernels and trees.
Support vector machines say tanh of a sum of kernels, of which a small part is sampled. Classifiers of the user's are
sampled altogether, and so are boosted trees that are cross-fitted for their probabilities. In all of them the terms add
up to what `predict` of the model says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuselearn.boosting.gradient.regressor import ShareGradientBoostingRegressor
from fuselearn.explanation.column_terms import ColumnTerms, function_terms, linear_terms
from fuselearn.explanation.kernel_values import kernel_shapley, squashed_kernel_shapley
from fuselearn.explanation.tree_values import TreeNodes, tree_shapley
from fuselearn.fusion.base_models import FittedModel
from fuselearn.fusion.base_models.boosted_trees import BoostedTreesModel
from fuselearn.fusion.base_models.cross_fitted import CrossFittedModel
from fuselearn.fusion.base_models.cross_fitted_regressors import CrossFittedRegressors
from fuselearn.fusion.base_models.forests import ForestModel, as_columns
from fuselearn.fusion.base_models.kernel_machines import KernelMachine, LinearMachine
from fuselearn.fusion.base_models.ridge_features import RidgeModel
from fuselearn.fusion.base_models.support_vector_machines import SupportVectorMachines
from fuselearn.numeric.forest import Forest
from fuselearn.numeric.gradients import ALL_VIEWS
from fuselearn.numeric.threads import SERIAL, Threads
from fuselearn.typing import FloatArray, IntArray


def mean_terms(
    models: Sequence[FittedModel], cells: FloatArray, players: IntArray, n_players: int, threads: Threads = SERIAL
) -> ColumnTerms:
    """Return the terms of the mean of what several models of the same columns say.

    Parameters
    ----------
    models : sequence of FittedModel
        The models.
    cells : ndarray of shape (n_rows, n_columns)
        Columns of the models.
    players : intp ndarray of shape (n_columns,)
        Column of X that each of these columns is; -1 for a column of a view that the rows lack.
    n_players : int
        Number of columns of X.
    threads : Threads, default=SERIAL
        Threads that share the rows.
    """
    parts = [model_terms(model, cells, players, n_players, threads) for model in models]
    mean = ColumnTerms.zeros(len(cells), n_players, parts[0].base.shape[1])
    for part in parts:
        mean.add(part, 1 / len(parts))
    return mean


def model_terms(
    model: FittedModel, cells: FloatArray, players: IntArray, n_players: int, threads: Threads = SERIAL
) -> ColumnTerms:
    """Return the terms of what one model says; see `mean_terms`."""
    if isinstance(model, KernelMachine):
        return _kernel_terms(model, cells, players, n_players, threads)
    if isinstance(model, SupportVectorMachines):
        return _support_vector_terms(model, cells, players, n_players, threads)
    if isinstance(model, ForestModel):
        return _forest_terms(model, cells, players, n_players, threads)
    if isinstance(model, BoostedTreesModel):
        return _boosted_terms(model, cells, players, n_players, threads)
    if isinstance(model, RidgeModel):
        return _ridge_terms(model, cells, players, n_players, threads)
    if isinstance(model, CrossFittedRegressors) and all(_sums_its_trees(one) for one in model.models):
        return _tree_regressor_terms(model.models, cells, players, n_players, threads)
    if isinstance(model, CrossFittedModel | CrossFittedRegressors):
        if model.reference is None:
            raise ValueError(_of_earlier_version("a classifier"))
        return function_terms(model.predict, cells, model.reference, players, n_players)
    raise TypeError(f"A {type(model).__name__} cannot be explained.")


def _of_earlier_version(what: str) -> str:
    """Return what is wrong with a model of a file that was saved before models could be explained."""
    return f"The model has {what} of an earlier version, which did not keep what an explanation needs; fit it again."


def _kernel_terms(
    model: KernelMachine, cells: FloatArray, players: IntArray, n_players: int, threads: Threads
) -> ColumnTerms:
    """Return the terms of kernel machines by least squares."""
    terms = ColumnTerms.zeros(len(cells), n_players, len(model.parts[0].offsets))
    for part in model.parts:
        scaled = part.scale(cells)
        if isinstance(part, LinearMachine):
            terms.add(linear_terms(scaled, part.coefficients, part.offsets, players, n_players))
        else:
            base, values = kernel_shapley(
                scaled, part.centres, part.gamma, part.coefficients, players, n_players, threads
            )
            terms.add(ColumnTerms(base + part.offsets, values))
    return terms


def _support_vector_terms(
    model: SupportVectorMachines, cells: FloatArray, players: IntArray, n_players: int, threads: Threads
) -> ColumnTerms:
    """Return the terms of support vector machines."""
    terms = ColumnTerms.zeros(len(cells), n_players, 1)
    shares = sum(float(part.shares.sum()) for part in model.parts)
    for part in model.parts:
        explained = squashed_kernel_shapley(
            part.scale(cells),
            part.centres,
            part.gamma,
            part.coefficients,
            part.intercepts,
            part.shares,
            players,
            n_players,
            threads,
        )
        terms.add(ColumnTerms(*explained), 1 / shares)
    return terms


def _forest_terms(
    model: ForestModel, cells: FloatArray, players: IntArray, n_players: int, threads: Threads
) -> ColumnTerms:
    """Return the terms of forests, whose rows are in single precision as they are for `predict`."""
    rows = as_columns(cells, model.fill).T.astype(np.float64)
    n_targets = model.forests[0].values.shape[1]
    terms = ColumnTerms.zeros(len(cells), n_players, n_targets)
    for share, forest in zip(model.shares, model.forests):
        nodes = _forest_nodes(forest)
        explained = tree_shapley(nodes, rows, players, n_players, n_targets, threads)
        terms.add(ColumnTerms(*explained), float(share) / len(forest.roots))
    return terms


def _forest_nodes(forest: Forest) -> TreeNodes:
    """Return the trees of a forest as explanations read them."""
    if forest.weight is None:
        raise ValueError(_of_earlier_version("a forest"))
    left = forest.left
    return TreeNodes.of_numbers(
        forest.roots, forest.feature, forest.threshold, left, left + 1, forest.weight, forest.values
    )


def _boosted_terms(
    model: BoostedTreesModel, cells: FloatArray, players: IntArray, n_players: int, threads: Threads
) -> ColumnTerms:
    """Return the terms of boosted trees; scores of several classes are about their mean."""
    n_outputs = len(model.baseline)
    base, values = tree_shapley(model.trees.nodes(), cells, players, n_players, n_outputs, threads)
    terms = ColumnTerms(base + model.baseline, values)
    if n_outputs == 1:
        return terms
    centred = ColumnTerms.zeros(len(cells), n_players, n_outputs)
    centred.add(terms, np.eye(n_outputs) - 1 / n_outputs)
    return centred


def _sums_its_trees(regressor: Any) -> bool:
    """Return whether a regressor is gradient boosting of which every tree counts, whatever views a row has."""
    ours = isinstance(regressor, ShareGradientBoostingRegressor)
    return ours and regressor.categories_ is None and bool(np.all(regressor.trees_.view == ALL_VIEWS))


def _tree_regressor_terms(
    regressors: Sequence[ShareGradientBoostingRegressor],
    cells: FloatArray,
    players: IntArray,
    n_players: int,
    threads: Threads,
) -> ColumnTerms:
    """Return the terms of the mean of gradient boosting regressors."""
    terms = ColumnTerms.zeros(len(cells), n_players, 1)
    for regressor in regressors:
        base, values = tree_shapley(regressor.trees_.nodes(), cells, players, n_players, 1, threads)
        terms.add(ColumnTerms(base + regressor.baseline_, values), 1 / len(regressors))
    return terms


def _ridge_terms(
    model: RidgeModel, cells: FloatArray, players: IntArray, n_players: int, threads: Threads
) -> ColumnTerms:
    """Return the terms of ridges; it is known which views are there, so that their marks are fixed."""
    features, coefficients, offsets = model.features, model.coefficients[:-1], model.coefficients[-1]
    coordinates = features.coordinates(cells)
    players = np.append(players, np.full(len(features.marked), -1, dtype=np.intp))
    if not len(features.landmarks):
        return linear_terms(coordinates, coefficients, offsets, players, n_players)
    base, values = kernel_shapley(
        coordinates, features.landmarks, features.gamma, coefficients, players, n_players, threads
    )
    return ColumnTerms(base + offsets, values)
