"""``"auto"`` ratios: the smallest that keep most of the full model's mean average precision (S2 section 6.2).

Check the settings of an ensemble, before any work is done.
"""

from itertools import product
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.svm import SVC
from sklearn.utils import get_tags

from fuselearn.estimators import check_count, check_jobs
from fuselearn.multilabel.base_models import draw_sample, fit_rows, fit_sample, scores, seeded
from fuselearn.multilabel.rbf_svc import RbfSVC
from fuselearn.numeric.execution import Scratch

RATIOS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Ratios that are tried."""
KEPT = 0.8
"""Part of the full model's mean average precision that must be left."""
STREAM = 2**31
"""Marks the seeds of this search, apart from those of the base models."""


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
    scores: dict | None


def choose_ratios(data_ratio, feature_ratio, estimator, table, signs, view_columns, seed, threads):
    """The ratios as numbers. Where one is ``"auto"``, two-fold cross-validation of one base model per label.

    The full model of a label is fitted on all rows and columns. Pairs are tried by their product, which is the size of
    a base model, and of those with the same product the smaller data ratio first. The first that keeps 80 % is taken.

    Parameters
    ----------
    data_ratio, feature_ratio : float or "auto"
    estimator : classifier
    table : SubspaceTable
    signs : int8 ndarray of shape (n_labels, n_rows)
    view_columns : list of intp ndarray
    seed : int
    threads : Threads

    Returns
    -------
    Ratios
    """
    if AUTO not in (data_ratio, feature_ratio):
        return Ratios(float(data_ratio), float(feature_ratio), None)
    search = _Search(estimator, table, signs, view_columns, seed, threads)
    full = search.mean_average_precision(search.full_model, sparse=search.full_sparse)
    found = {"full": full}
    choices = [RATIOS if ratio == AUTO else (float(ratio),) for ratio in (data_ratio, feature_ratio)]
    pairs = sorted(product(*choices), key=lambda pair: (round(pair[0] * pair[1], 12), pair[0]))
    for pair in pairs:
        found[pair] = search.mean_average_precision(lambda *place, pair=pair: search.base_model(pair, *place))
        if found[pair] >= KEPT * full:
            return Ratios(*pair, found)
    return Ratios(*pairs[-1], found)


class _Search:
    """Two halves of the rows, each of which judges models of the other one."""

    def __init__(self, estimator, table, signs, view_columns, seed, threads):
        order = np.random.default_rng([seed, STREAM]).permutation(len(table))
        halves = np.sort(order[::2]), np.sort(order[1::2])
        self._estimator = estimator
        self._full_estimator = estimator
        if table.is_sparse and isinstance(estimator, RbfSVC):  # libsvm has the same optimum, and takes sparse rows
            self._full_estimator = SVC(C=estimator.C, gamma=estimator.gamma, tol=estimator.tol)
        # Base models read few columns, the full model all: made dense, a wide sparse table might not fit.
        self.full_sparse = table.is_sparse and _takes_sparse(self._full_estimator)
        self._halves = halves
        self._tables = [table.rows(half) for half in halves]
        self._has_label = [signs[:, half] > 0 for half in halves]
        self._view_columns = view_columns
        self._all_columns = np.unique(np.concatenate(view_columns))
        self._seed = seed
        self._threads = threads
        self._scratch = Scratch()
        mixed = [has.any(axis=1) & ~has.all(axis=1) for has in self._has_label]
        self._labels = np.flatnonzero(mixed[0] & mixed[1])
        if not len(self._labels):
            raise ValueError(
                "data_ratio='auto' and feature_ratio='auto' cross-validate in two halves, so some label must have rows "
                "with it and without it in both; none of Y's has. Give the ratios as numbers."
            )

    def mean_average_precision(self, fit, *, sparse=False):
        """Of the models that `fit(half, label)` returns with their columns, on the other half's rows."""
        config = get_config()

        def judge(place):
            half, label = place
            with config_context(**config):
                model, columns = fit(half, label)
                table, chunk = self._tables[1 - half], self._tables[1 - half].chunks(columns, sparse=sparse)
                said = np.empty(len(table))
                for number in range(table.n_chunks):
                    rows, values = chunk(number)
                    said[rows] = scores(model, values, single=True, scratch=self._scratch)
                return average_precision_score(self._has_label[1 - half][label], said)

        return float(np.mean(self._threads.map(judge, list(product((0, 1), self._labels)))))

    def full_model(self, half, label):
        """The base estimator on all rows of a half and all columns; they stay sparse where it takes them so."""
        generator = np.random.default_rng([self._seed, STREAM, half, int(label)])
        model = seeded(clone(self._full_estimator), generator)
        values = self._tables[half].columns(self._all_columns, sparse=self.full_sparse)
        return fit_rows(model, values, self._has_label[half][label]), self._all_columns

    def base_model(self, pair, half, label):
        """A base model of the ratios."""
        generator = np.random.default_rng([self._seed, STREAM, half, int(label)])
        columns = self._view_columns[label % len(self._view_columns)]
        sample = draw_sample(generator, self._has_label[half][label], pair[0], columns, pair[1])
        return fit_sample(self._estimator, self._tables[half], sample, generator, self._scratch), sample.columns


def _takes_sparse(estimator):
    try:
        return get_tags(estimator).input_tags.sparse
    except (AttributeError, TypeError):  # not a scikit-learn estimator: arrays are safe
        return False


AUTO = "auto"


def check_settings(model):
    """Refuse settings that mean nothing."""
    check_count("n_estimators", model.n_estimators)
    for name in ("data_ratio", "feature_ratio"):
        check_ratio(name, getattr(model, name))
    if model.pool_size is not None:
        check_count("pool_size", model.pool_size)
    value = model.significance
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < value <= 1):
        raise ValueError(f"significance must be in (0, 1], where 1 is no test; got {value!r}.")
    check_jobs(model.n_jobs)
    check_count("verbose", model.verbose, least=0)


def check_ratio(name, value):
    """Refuse what is neither a part of the whole nor "auto"."""
    if isinstance(value, str) and value == AUTO:
        return
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < value <= 1):
        raise ValueError(f"{name} must be in (0, 1], or 'auto'; got {value!r}.")
