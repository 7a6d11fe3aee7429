"""``"auto"`` ratios: the smallest that keep most of the full model's mean average precision (S2 section 6.2)."""

from collections.abc import Callable
from itertools import product
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.svm import SVC
from sklearn.utils import get_tags

from fuselearn.classifiers.adapter import keep_sklearn_config, seeded_clone
from fuselearn.multilabel.rbf_svc import RbfSVC
from fuselearn.multilabel.subspace_models import SubspaceTable, draw_sample, fit_rows, fit_sample, scores
from fuselearn.numeric.execution import Scratch
from fuselearn.numeric.threads import Threads
from fuselearn.typing import Classifier, FloatArray, IntArray

AUTO = "auto"
RATIOS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Ratios that are tried."""
KEPT = 0.8
"""Part of the full model's mean average precision that must be left."""
STREAM = 2**31
"""Marks the seeds of this search, so that they differ from those of the base models."""

RatioScores: TypeAlias = dict[str | tuple[float, float], float]
FitOnHalf: TypeAlias = Callable[[int, int], tuple[Classifier, IntArray]]
"""A function of a half and a label that returns a model and its columns."""


class Ratios(NamedTuple):
    """The ratios of a fit.

    Attributes
    ----------
    data, feature : float
    scores : dict or None
        Mean average precision of the pairs (data ratio, feature ratio) that were tried and, under ``"full"``, of the
        models on all rows and columns; None where nothing was searched.
    """

    data: float
    feature: float
    scores: RatioScores | None


def check_ratio(name: str, value: Any) -> None:
    """Refuse a ratio that is neither a number in (0, 1] nor "auto"."""
    if isinstance(value, str) and value == AUTO:
        return
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < float(value) <= 1):
        raise ValueError(f"{name} must be in (0, 1], or 'auto'; got {value!r}.")


def choose_ratios(
    data_ratio: float | str,
    feature_ratio: float | str,
    estimator: Classifier,
    table: SubspaceTable,
    signs: IntArray,
    view_columns: list[IntArray],
    seed: int,
    threads: Threads,
) -> Ratios:
    """Return the ratios as numbers; where one is ``"auto"``, by two-fold cross-validation of one base model per label.

    The full model of a label is fitted on all rows and columns. Pairs are tried by their product, which is the size of
    a base model, and of those with the same product the smaller data ratio first. The first that keeps 80 % is chosen.
    """
    if AUTO not in (data_ratio, feature_ratio):
        return Ratios(float(data_ratio), float(feature_ratio), None)
    search = _Search(estimator, table, signs, view_columns, seed, threads)
    full_score = search.mean_average_precision(search.full_model, sparse=search.full_sparse)
    ratio_scores: RatioScores = {"full": full_score}
    data_ratios, feature_ratios = (
        RATIOS if ratio == AUTO else (float(ratio),) for ratio in (data_ratio, feature_ratio)
    )
    pairs = sorted(product(data_ratios, feature_ratios), key=lambda pair: (round(pair[0] * pair[1], 12), pair[0]))
    for pair in pairs:
        ratio_scores[pair] = search.mean_average_precision(search.base_model_of(*pair))
        if ratio_scores[pair] >= KEPT * full_score:
            return Ratios(*pair, ratio_scores)
    return Ratios(*pairs[-1], ratio_scores)


class _Search:
    """Two halves of the rows, each of which judges models of the other one."""

    def __init__(
        self,
        estimator: Classifier,
        table: SubspaceTable,
        signs: IntArray,
        view_columns: list[IntArray],
        seed: int,
        threads: Threads,
    ) -> None:
        order = np.random.default_rng([seed, STREAM]).permutation(len(table))
        halves = np.sort(order[::2]), np.sort(order[1::2])
        self._estimator = estimator
        self._full_estimator = estimator
        if isinstance(estimator, RbfSVC):
            self._full_estimator = clone(estimator).set_params(max_vectors=None)
        if table.is_sparse and isinstance(estimator, RbfSVC):  # libsvm has the same optimum, and takes sparse rows
            self._full_estimator = SVC(C=estimator.C, gamma=estimator.gamma, tol=estimator.tol)
        # Base models read few columns, the full model all: made dense, a wide sparse table might not fit.
        self.full_sparse = table.is_sparse and _takes_sparse(self._full_estimator)
        self._tables = [table.rows(half) for half in halves]
        self._has_label = [signs[:, half] > 0 for half in halves]
        self._view_columns = view_columns
        self._all_columns = np.unique(np.concatenate(view_columns))
        self._seed = seed
        self._threads = threads
        self._scratch = Scratch()
        mixed = [has.any(axis=1) & ~has.all(axis=1) for has in self._has_label]
        self._labels: list[int] = np.flatnonzero(mixed[0] & mixed[1]).tolist()
        if not self._labels:
            raise ValueError(
                "data_ratio='auto' and feature_ratio='auto' cross-validate in two halves, so y must have a label with "
                "positive and negative rows in both; it has none. Give the ratios as numbers."
            )

    def mean_average_precision(self, fit: FitOnHalf, *, sparse: bool = False) -> float:
        """Return the mean average precision of the models of each half, on the other half's rows."""

        @keep_sklearn_config
        def judge(half_and_label: tuple[int, int]) -> float:
            half, label = half_and_label
            model, columns = fit(half, label)
            table, chunk = self._tables[1 - half], self._tables[1 - half].chunks(columns, sparse=sparse)
            model_scores: FloatArray = np.empty(len(table))
            for number in range(table.n_chunks):
                rows, values = chunk(number)
                model_scores[rows] = scores(model, values, single=True, scratch=self._scratch)
            return average_precision_score(self._has_label[1 - half][label], model_scores)

        return float(np.mean(self._threads.map(judge, list(product((0, 1), self._labels)))))

    def full_model(self, half: int, label: int) -> tuple[Classifier, IntArray]:
        """Fit the estimator on all rows of a half and all columns; they stay sparse where it takes them so."""
        generator = np.random.default_rng([self._seed, STREAM, half, label])
        model = seeded_clone(self._full_estimator, generator, only_unset=False)
        values = self._tables[half].columns(self._all_columns, sparse=self.full_sparse)
        return fit_rows(model, values, self._has_label[half][label]), self._all_columns

    def base_model_of(self, data_ratio: float, feature_ratio: float) -> FitOnHalf:
        """Return a function that fits a base model of the ratios."""

        def base_model(half: int, label: int) -> tuple[Classifier, IntArray]:
            generator = np.random.default_rng([self._seed, STREAM, half, label])
            columns = self._view_columns[label % len(self._view_columns)]
            sample = draw_sample(generator, self._has_label[half][label], data_ratio, columns, feature_ratio)
            return fit_sample(self._estimator, self._tables[half], sample, generator, self._scratch), sample.columns

        return base_model


def _takes_sparse(estimator: Classifier) -> bool:
    """Return whether a classifier takes sparse rows; one that is not of scikit-learn is given arrays."""
    try:
        return get_tags(estimator).input_tags.sparse
    except (AttributeError, TypeError):
        return False
