"""Fusion of views whose objects are not matched."""

import inspect
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from fuselearn.arguments import check_choice, check_count, check_flag
from fuselearn.data import TrainingData
from fuselearn.kernels.base import BaseKernelFusion, Items, Problem, object_numbers, uses_learning
from fuselearn.kernels.composition import ItemKernels
from fuselearn.kernels.correspondence import (
    CROSSINGS,
    TomographicSettings,
    WalkRecord,
    matched_at_random,
    matched_by_density,
    seed_of,
)
from fuselearn.kernels.meta_objects import Matching, read_matching
from fuselearn.kernels.mkl import check_solver, learn_weights
from fuselearn.kernels.view_kernels import Kernel
from fuselearn.numeric.pairs import mean_squared_distance
from fuselearn.persistence.validation import check_array
from fuselearn.typing import BoolArray, FloatArray, IntArray, RandomState, Views

CORRESPONDENCES = ("tomographic", "cartesian")
FITTING_ROUNDS = 25
"""Rounds of the proportional fitting of weights to marginals."""
LEAST_WEIGHT = 1e-6
"""A dual variable needs some range to move in."""


class TomographicClassifier(BaseKernelFusion):
    """Support vector machine on views that saw different objects of the same classes.

    Objects of different views are put together to meta-objects, either where their class is equally dense (S4's
    tomographic kernel fusion [1]_) or at random within the class. Kernels of the views add up to a kernel between
    meta-objects, and the machine then classifies objects that all views saw. Rows that several views saw are known
    matches and stay together; rows that lack a view are completed; no row is thrown away.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. The first is the reference.
    kernel : str, callable, GramLookup or dict, default="linear"
        A name that :func:`sklearn.metrics.pairwise.pairwise_kernels` knows, a function of two tables that returns
        their kernel matrix, or a precomputed matrix as :class:`~fuselearn.kernels.GramLookup`. A dict gives each view
        its own. "linear", "rbf" and "laplacian" are of the rows about the means of the training rows, so that it does
        not matter where the origin of the columns is; the others, and functions, are of the rows as they are. Kernels
        with a width take it from the data's variance: that of the columns about their means where the kernel is, else
        that of all values, as scikit-learn's SVC does.
    scale_kernels : bool, default=True
        Whether to divide each kernel by the mean squared distance of its objects. Objects are matched by distance, so
        views on different scales cannot be matched without it.
    correspondence : {"tomographic", "cartesian"}, default="tomographic"
        How objects are put together: where their class is equally dense, or at random within the class. `crossing`,
        `l2` and `band` are of the tomographic one; beside "cartesian" there is a warning that they have no effect.
    crossing : {"sample", "full", "corners"}, default="sample"
        How objects of the same density are put together, see :func:`~fuselearn.kernels.tomographic_correspondence`;
        "full" is as "sample" where the product exceeds what `max_meta_objects` leaves room for.
    l2 : bool, default=False
        Whether pairs lead on to other meta-objects only within a ball inside the box that they reach otherwise.
    band : int, default=5
        Largest number of pairs of objects that are taken to be equally dense.
    max_meta_objects : int, default=None
        Largest number of meta-objects. None: in each class four times its unmatched objects in the view with most of
        them, beside those that are matched.
    keep_marginals : bool, default=True
        Whether to weight the meta-objects so that in each view every object counts alike, however often it was put
        together with others. False counts each meta-object once, as S4's experiments do, and favours dense places.
    weights : {"uniform", "mkl", "sdp"}, dict or array, default="uniform"
        Weight of each view's kernel: 1 each, learnt on the meta-objects (see :class:`MKLClassifier`), or given.
    C : float, default=1.0
        Penalty of the support vector machine.
    n_jobs : int, default=None
        Threads for kernels and classes. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Seed of the random choices of the correspondence.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class among the training rows: the decision on a row without any view.
    meta_objects_ : int ndarray of shape (n_meta, n_views)
        Rows of `X` that were put together, one for each view.
    meta_labels_ : ndarray of shape (n_meta,)
        Class of each meta-object.
    meta_weights_ : ndarray of shape (n_meta,)
        How much each meta-object counts; C times this is its penalty.
    kernel_weights_ : ndarray of shape (n_views,)
        Weight of each view's kernel.
    kernel_scales_ : ndarray of shape (n_views,)
        Number that each kernel was divided by.
    kernels_ : list of object
        Kernel of each view, with its width.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of `X` that each view has.
    support_ : list of ndarray
        Rows of `X` that the decision depends on, for each view.
    support_rows_ : list of ndarray of shape (n_support, n_columns of the view)
        Values of these rows in the view.
    dual_coef_ : list of ndarray of shape (n_problems, n_support)
        Coefficients of these rows, for each pair of classes.
    intercept_ : ndarray of shape (n_problems,)
        Intercept for each pair of classes.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns, if `X` was a data frame.

    See Also
    --------
    AugmentedKernelClassifier : Uses no correspondence at all.
    MKLClassifier : For views whose objects are matched.

    Notes
    -----
    More than two classes are separated one against one, as in LIBSVM.

    References
    ----------
    .. [1] D. Windridge and F. Yan, Kernel combination via debiased object correspondence analysis, Information Fusion
       27 (2016).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import TomographicClassifier, stack_unpaired
    >>> X, y = load_iris(return_X_y=True)
    >>> sepals, petals = (X[::2, :2], y[::2]), (X[1::2, 2:], y[1::2])  # of different flowers
    >>> X_train, views, y_train = stack_unpaired({"sepal": sepals, "petal": petals})
    >>> model = TomographicClassifier(views=views, random_state=0).fit(X_train, y_train)
    >>> model.meta_objects_.shape
    (300, 2)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        views: Views = None,
        kernel: Kernel | Mapping[str, Kernel] = "linear",
        scale_kernels: bool = True,
        correspondence: str = "tomographic",
        crossing: str = "sample",
        l2: bool = False,
        band: int = 5,
        max_meta_objects: int | None = None,
        keep_marginals: bool = True,
        weights: str | Mapping[str, float] | Sequence[float] | FloatArray = "uniform",
        C: float = 1.0,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.views = views
        self.kernel = kernel
        self.scale_kernels = scale_kernels
        self.correspondence = correspondence
        self.crossing = crossing
        self.l2 = l2
        self.band = band
        self.max_meta_objects = max_meta_objects
        self.keep_marginals = keep_marginals
        self.weights = weights
        self.C = C
        self.n_jobs = n_jobs
        self.random_state = random_state

    def validate(self) -> None:
        """Refuse a classifier, read from a file, whose parts do not fit together.

        :func:`fuselearn.load` calls it.

        Raises
        ------
        ValueError
            The numbers of views, columns, support vectors, meta-objects or classes do not agree.
        """
        super().validate()
        if "meta_objects_" not in vars(self):
            return
        n_meta = len(check_array(self, "meta_objects_", np.integer, (None, len(self.view_names_)), at_least=0))
        check_array(self, "meta_labels_", np.generic, (n_meta,), finite=False)
        check_array(self, "meta_weights_", np.float64, (n_meta,), at_least=0.0)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("correspondence", self.correspondence, CORRESPONDENCES)
        check_choice("crossing", self.crossing, CROSSINGS)
        check_flag("scale_kernels", self.scale_kernels)
        check_flag("l2", self.l2)
        check_flag("keep_marginals", self.keep_marginals)
        check_count("band", self.band)
        if self.max_meta_objects is not None:
            check_count("max_meta_objects", self.max_meta_objects)
        check_solver(self.weights)

    def _check_rows(self, data: TrainingData) -> None:
        self._matching(data)

    def _matching(self, data: TrainingData) -> Matching:
        """Return the objects of each class; rows that several views saw are known matches."""
        present = data.blocks.present
        labels = [data.classes[data.codes[rows, 0]] for rows in present.T]
        known = object_numbers(present)[present.sum(axis=1) > 1]
        return read_matching(labels, present.sum(axis=0).tolist(), known, self.max_meta_objects, data.names)

    def _scale(self, gram: FloatArray) -> float:
        return (mean_squared_distance(gram) or 1.0) if self.scale_kernels else 1.0

    def _items(self, data: TrainingData, grams: list[FloatArray]) -> Items:
        matching = self._matching(data)
        seed = seed_of(self.random_state)
        if self.correspondence == "tomographic":
            settings = TomographicSettings(self.crossing, self.l2, self.band)
            record = WalkRecord()
            objects, labels = matching.joined(matched_by_density(grams, matching, settings, False, seed, record))
            record.warn(self.max_meta_objects)
        else:
            self._warn_of_unused_settings()
            objects, labels = matching.joined(matched_at_random(matching, seed))
        codes = np.searchsorted(data.classes, labels)
        present = data.blocks.present
        meta_objects = np.column_stack(
            [np.flatnonzero(present[:, view])[column] for view, column in enumerate(objects.T)]
        )
        matched = np.all(present, axis=1)[meta_objects]
        weights = marginal_weights(objects, codes, matched) if self.keep_marginals else np.ones(len(objects))
        attributes = {"meta_objects_": meta_objects, "meta_labels_": labels, "meta_weights_": weights}
        return Items(objects, codes, weights, attributes)

    def _warn_of_unused_settings(self) -> None:
        """Warn of settings of the tomographic correspondence where objects are put together at random."""
        defaults = inspect.signature(type(self)).parameters
        unused = [name for name in ("crossing", "l2", "band") if getattr(self, name) != defaults[name].default]
        if unused:
            given = ", ".join(f"{name}={getattr(self, name)!r}" for name in unused)
            warnings.warn(
                f"correspondence='cartesian' puts objects together at random, without bands: {given} has no effect. "
                "Leave it out, or use correspondence='tomographic'.",
                UserWarning,
                stacklevel=4,
            )

    def _view_weights(
        self, weights: str | FloatArray, kernels: ItemKernels, problems: list[Problem], upper: FloatArray
    ) -> FloatArray:
        if not isinstance(weights, str):
            return weights
        if not uses_learning(weights):
            return np.ones(len(kernels.grams))
        # Learnt on kernels of one scale. A machine with an intercept does not see where the origin is, so the scale is
        # that of distances; what all objects have in common would pass for size otherwise.
        scales = np.array([mean_squared_distance(gram) for gram in kernels.grams])
        grams = [gram / scale if scale > 0 else np.zeros_like(gram) for gram, scale in zip(kernels.grams, scales)]
        learnt = learn_weights(weights, ItemKernels(grams, kernels.objects), problems, upper, 1.0, self.n_jobs)
        return np.divide(learnt * scales.sum(), scales, out=np.zeros(len(scales)), where=scales > 0)


def marginal_weights(objects: IntArray, codes: IntArray, matched: BoolArray | None = None) -> FloatArray:
    """Return weights under which the objects of a class count alike in each view, as nearly as meta-objects allow.

    Reading pairs from the nearest to the farthest puts objects of dense places together many times and those of sparse
    places once. S4 asks that each view's marginal distribution of a class is kept: the deconvolved density has the same
    marginals (§2.1), and sampling preserves marginal rates (§3.1.3). Weights can do that where counts cannot.

    They come from proportional fitting: in turn, each view's objects are given equal sums, and of the last turn the
    geometric mean over the views is taken, so that none is favoured. A thing that all views saw (where `matched` is
    true for all its objects) counts once, and the objects that it lends to others do not take from that.
    """
    matched = np.zeros(objects.shape, dtype=bool) if matched is None else matched
    weights = np.ones(len(objects))
    unmatched = ~matched.all(axis=1)
    for code in np.unique(codes[unmatched]):
        here = (codes == code) & unmatched
        weights[here] = _weights_of_class(objects[here], matched[here])
    return np.maximum(weights, LEAST_WEIGHT)


def _weights_of_class(objects: IntArray, matched: BoolArray) -> FloatArray:
    """Return the weights of the meta-objects of one class that are not known matches."""
    views = []
    for column, lent in zip(objects.T, matched.T):
        numbers = np.unique(column[~lent], return_inverse=True)[1]
        views.append((numbers, ~lent, numbers.max(initial=-1) + 1, lent.any()))
    total = max(count for _, _, count, _ in views)
    weights = np.full(len(objects), total / len(objects))
    for _ in range(FITTING_ROUNDS):
        turns = []
        for numbers, not_lent, count, any_lent in views:
            if count:
                # Where others lend objects, they make up for those that this view lacks.
                due = 1.0 if any_lent else total / count
                sums = np.bincount(numbers, weights[not_lent], minlength=count)
                weights[not_lent] *= (due / np.maximum(sums, np.finfo(float).tiny))[numbers]
            turns.append(np.maximum(weights, LEAST_WEIGHT))
    return np.exp(np.mean(np.log(turns), axis=0))
