"""What each view's models say of rows that they were not fitted on."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

SMALLEST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class CrossFitting:
    """How out-of-fold values are made.

    Attributes
    ----------
    estimators : list of classifier
        One per view; clones are fitted.
    tables : list of ndarray of shape (n_rows_v, n_columns_v)
        The rows that have each view.
    present : bool ndarray of shape (n_rows, n_views)
    n_classes : int
    cv : int, splitter, or list of (training rows, held-out rows)
    seed : int
    n_jobs : int or None
    """

    estimators: list
    tables: list
    present: np.ndarray
    n_classes: int
    cv: object
    seed: int
    n_jobs: int | None

    def values(self, codes, pass_number):
        """Out-of-fold decision values of all views.

        Parameters
        ----------
        codes : int ndarray of shape (n_rows, n_views)
            Class that each view learns for each row; -1 for a row that it does not learn from.
        pass_number : int
            Folds and random classifiers differ between passes.

        Returns
        -------
        ndarray of shape (n_rows, n_views, n_classes)
            Of mean 0 in every row and of mean square 1 in every view; zeros where a view is absent.
        """
        tasks = [
            (view, fold, train, test)
            for view in range(len(self.tables))
            for fold, (train, test) in enumerate(self._folds(codes[:, view], view, pass_number))
        ]
        said = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fold_values)(view, codes[:, view], train, test, (self.seed, pass_number, view, fold))
            for view, fold, train, test in tasks
        )
        values = np.zeros((len(codes), len(self.tables), self.n_classes))
        for (view, _, _, test), fold_values in zip(tasks, said):
            values[test, view] = fold_values
        for view, here in enumerate(self.present.T):
            size = np.sqrt((values[here, view] ** 2).mean())
            if size > 0:
                values[:, view] /= size
        return values

    def _folds(self, codes, view, pass_number):
        """(training rows, held-out rows) among the rows that have the view."""
        here = self.present[:, view]
        if isinstance(self.cv, Integral):
            generator = np.random.default_rng([self.seed, pass_number, view])
            fold_of = stratified_folds(np.where(here, codes, -1), self.cv, generator)
            folds = [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(self.cv)]
        else:
            folds = self.cv
        learnt = here & (codes >= 0)
        return [(train[learnt[train]], test[here[test]]) for train, test in folds]

    def _fold_values(self, view, codes, train, test, seed):
        seen, local_codes = np.unique(codes[train], return_inverse=True)
        if len(seen) < 2 or len(test) == 0:
            return np.zeros((len(test), self.n_classes))  # nothing to tell apart: the view abstains
        place = np.cumsum(self.present[:, view]) - 1
        table = self.tables[view]
        model = _seeded(clone(self.estimators[view]), seed)
        model.fit(table[place[train]], local_codes)
        values = np.zeros((len(test), self.n_classes))
        values[:, seen] = class_values(model, table[place[test]], len(seen))
        return values


def class_values(model, rows, n_classes):
    """A decision value for each class, with mean 0 in every row.

    Decision values of a classifier that has them, else logarithms of probabilities.
    """
    if hasattr(model, "decision_function"):
        source, values = "decision_function", np.asarray(model.decision_function(rows), dtype=np.float64)
        if values.ndim == 1:
            values = np.column_stack([-values, values])
    else:
        source, values = "predict_proba", np.asarray(model.predict_proba(rows), dtype=np.float64)
        values = np.log(np.maximum(values, SMALLEST_PROBABILITY))
    if values.shape != (len(rows), n_classes) or not np.isfinite(values).all():
        raise ValueError(
            f"{type(model).__name__}.{source} must give a finite value for each of {len(rows)} rows and {n_classes} "
            f"classes; it gave shape {values.shape}{'' if np.isfinite(values).all() else ', with NaN or infinity'}."
        )
    return values - values.mean(axis=1, keepdims=True)


def stratified_folds(codes, n_folds, generator, groups=None):
    """Number of the fold of each row. Every class is dealt out in turn, so its shares differ by one row at most.

    A class with fewer rows than folds is dealt out as well, which scikit-learn's splitter warns of.

    Parameters
    ----------
    codes : int ndarray of shape (n_rows,)
    n_folds : int
    generator : Generator
    groups : intp ndarray of shape (n_rows,) or None
        Rows of the same number, from 0, stay in one fold. Classes are then shared out as well as that allows.
    """
    if groups is not None:
        return _folds_of_groups(codes, n_folds, generator, groups)[groups]
    fold_of = np.empty(len(codes), dtype=np.intp)
    dealt = 0
    for code in np.unique(codes):
        rows = generator.permutation(np.flatnonzero(codes == code))
        fold_of[rows] = (dealt + np.arange(len(rows))) % n_folds
        dealt += len(rows)  # the next class goes on where this one ended, so that folds are of equal size
    return fold_of


def _folds_of_groups(codes, n_folds, generator, groups):
    """Fold of each group: the largest first, each to where its most frequent class has the fewest rows."""
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=np.intp)
    np.add.at(counts, (groups, codes), 1)
    sizes, main_class = counts.sum(axis=1), counts.argmax(axis=1)
    order = generator.permutation(len(sizes))
    fold_of = np.empty(len(sizes), dtype=np.intp)
    held = np.zeros((n_folds, counts.shape[1]), dtype=np.intp)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        fold_of[group] = np.lexsort((held.sum(axis=1), held[:, main_class[group]]))[0]
        held[fold_of[group]] += counts[group]
    return fold_of


def read_cv(cv, labels):
    """A number of folds as it is; a splitter or a list as (training rows, held-out rows), checked.

    Parameters
    ----------
    cv : int, splitter or iterable
    labels : ndarray of shape (n_rows,)
        What a splitter is given to stratify by.
    """
    if isinstance(cv, Integral) and not isinstance(cv, bool) and cv >= 2:
        return int(cv)
    if isinstance(cv, bool | Integral | str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise ValueError(
            "cv must be an integer of at least 2, a splitter such as StratifiedKFold(5), or a list of (training rows, "
            f"held-out rows); got {cv!r}."
        )
    folds = [(np.asarray(train), np.asarray(test)) for train, test in check_cv(cv).split(np.zeros(len(labels)), labels)]
    held_out = np.concatenate([test for _, test in folds]) if folds else np.array([], dtype=np.intp)
    if not np.array_equal(np.sort(held_out), np.arange(len(labels))):
        raise ValueError(f"cv must hold out every row once; {cv!r:.80} does not.")
    return folds


def _seeded(model, seed):
    """Give every `random_state` that is None a number that depends on the seed alone."""
    names = sorted(
        name
        for name, value in model.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and value is None
    )
    states = np.random.SeedSequence(seed).generate_state(len(names))
    return model.set_params(**{name: int(state >> 1) for name, state in zip(names, states)})
