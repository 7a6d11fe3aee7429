"""Fusion of views whose objects are not matched."""

import inspect
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from fuselearn.arguments import check_choice, check_count, check_flag
from fuselearn.classifiers.adapter import check_classifier, seeded_clone, weight_parameter
from fuselearn.classifiers.view_model import fit_view_model, known_model
from fuselearn.data import TrainingData, ViewBlocks
from fuselearn.kernels.base import BaseKernelFusion, Items, object_numbers, uses_learning
from fuselearn.kernels.composition import ItemKernels, embedding
from fuselearn.kernels.correspondence import (
    CROSSINGS,
    TomographicSettings,
    WalkRecord,
    matched_at_random,
    matched_by_density,
    seed_of,
)
from fuselearn.kernels.machines import Problem
from fuselearn.kernels.meta_objects import Matching, check_cap, read_matching
from fuselearn.kernels.mkl import check_solver, learn_weights
from fuselearn.kernels.view_kernels import Kernel
from fuselearn.numeric.pairs import mean_squared_distance
from fuselearn.persistence.validation import check_array
from fuselearn.typing import ArrayLike, BoolArray, FloatArray, IntArray, RandomState, TableLike, Views

CORRESPONDENCES = ("tomographic", "cartesian")
BAND_SETTINGS = ("crossing", "l2", "band", "reference")
COMPOSITE = "the composite kernel"
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
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
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
        `l2`, `band` and `reference` are of the first; beside "cartesian" there is a warning that they have no effect.
    crossing : {"sample", "full", "corners"}, default="sample"
        How objects of the same density are put together, see :func:`~fuselearn.kernels.tomographic_correspondence`;
        "full" is as "sample" where the product exceeds what `max_meta_objects` leaves room for.
    l2 : bool, default=False
        Whether pairs lead on to other meta-objects only within a ball inside the box that they reach otherwise.
    band : int, default=5
        Largest number of pairs of objects that are taken to be equally dense.
    max_meta_objects : int or inf, default=None
        Largest number of meta-objects. None: as many as there are ways to combine the objects of a class
        where these are at most 10,000, so that the walk goes to its end; in a larger class twelve times its unmatched
        objects in the view with most of them, beside those that are matched. ``np.inf``
        sets no limit: the walk goes to the end that S4 describes, and reaches all objects that it can, see
        `n_reached_`.
    keep_marginals : bool, default=True
        Whether to weight the meta-objects so that in each view every object counts alike, however often it was put
        together with others. False counts each meta-object once, as S4's experiments do, and favours dense places.
    weights : {"uniform", "mkl", "sdp"}, dict or array, default="uniform"
        Weight of each view's kernel: 1 each, learnt on the meta-objects (see :class:`MKLClassifier`), or given.
    C : float, default=1.0
        Penalty of the support vector machine.
    estimator : scikit-learn classifier, default=None
        What to train in place of the support vector machine, on the coordinates of the meta-objects in the space of the
        composite kernel. So :class:`~sklearn.discriminant_analysis.LinearDiscriminantAnalysis` is kernel Fisher
        discriminant analysis. A view that a row lacks is then at the origin, which is the mean for centred kernels.
    reference : str, default=None
        Name of the view whose pairs of objects make the bands. None: the first.
    absent_views : {"scale", "neutral"}, default="scale"
        How the support vector machine decides on a row that lacks a view: scale up the sum over the others, or put the
        absent view at its neutral point [2]_, which speaks for neither class.
    n_jobs : int, default=None
        Threads for kernels and classes. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Seed of the random choices of the correspondence.
    verbose : int, default=0
        1 prints a line for each of the steps: kernels, items, weights, machines.

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
    n_reached_ : int ndarray of shape (n_classes, n_views)
        Objects of each class that known matches and the walk put together, before the cap ended it. The others, and
        with ``correspondence="cartesian"`` all that are not matched in full, were put together at random.
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
    neutral_values_ : ndarray of shape (n_views, n_problems)
        What an absent view adds to the decision of each pair of classes with ``absent_views="neutral"``: the value
        half-way between the means of the two classes' meta-objects.
    estimator_ : classifier
        The fitted `estimator`, where one is given. `intercept_` is then not there, and `dual_coef_` gives the
        coordinates in place of decisions.
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
    .. [2] N. Poh, D. Windridge, V. Mottl, A. Tatarchuk and A. Eliseyev, Addressing missing values in kernel-based
       multimodal biometric fusion using neutral point substitution, IEEE Trans. Inf. Forensics Security 5 (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import TomographicClassifier, stack_unpaired
    >>> X, y = load_iris(return_X_y=True)
    >>> sepals, petals = (X[::2, :2], y[::2]), (X[1::2, 2:], y[1::2])  # of different flowers
    >>> X_train, views, y_train = stack_unpaired({"sepal": sepals, "petal": petals})
    >>> model = TomographicClassifier(views=views, random_state=0).fit(X_train, y_train)
    >>> model.n_reached_.tolist()  # of 25 flowers of each kind
    [[24, 25], [25, 25], [25, 25]]
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
        max_meta_objects: float | None = None,
        keep_marginals: bool = True,
        weights: str | Mapping[str, float] | Sequence[float] | FloatArray = "uniform",
        C: float = 1.0,
        estimator: Any = None,
        reference: str | None = None,
        absent_views: str = "scale",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
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
        self.estimator = estimator
        self.reference = reference
        self.absent_views = absent_views
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: TableLike, y: ArrayLike, view_labels: ArrayLike = None) -> Self:
        """Put objects together, and fit the machine on them.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Training rows. A view of a row is absent when all its columns are NaN there.
        y : array of shape (n_samples,)
            Class of each row.
        view_labels : array of shape (n_samples, n_views), default=None
            Label of each row by each view, where they disagree; `y` then supplies `classes_` only. Views that agree on
            a row are a known match of that class, and those that do not are put together with others.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y, None, view_labels)

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
        if "n_reached_" in vars(self):  # not in models of earlier versions
            check_array(self, "n_reached_", np.integer, (len(self.classes_), len(self.view_names_)), at_least=0)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("correspondence", self.correspondence, CORRESPONDENCES)
        check_choice("crossing", self.crossing, CROSSINGS)
        check_flag("scale_kernels", self.scale_kernels)
        check_flag("l2", self.l2)
        check_flag("keep_marginals", self.keep_marginals)
        check_count("band", self.band)
        check_cap(self.max_meta_objects)
        check_solver(self.weights)
        if self.estimator is None:
            return
        check_classifier(self.estimator)
        if self.absent_views != "scale":
            raise ValueError(
                f"absent_views={self.absent_views!r} is of the support vector machine; leave it out with an estimator, "
                "for which an absent view is at the origin."
            )
        if self.keep_marginals and weight_parameter(self.estimator) is None:
            raise TypeError(
                f"keep_marginals=True needs an estimator that takes sample_weight; {self.estimator!r} does not. Set "
                "keep_marginals=False."
            )

    def _check_rows(self, data: TrainingData) -> None:
        self._matching(data)

    def _matching(self, data: TrainingData) -> Matching:
        """Return the objects of each class; what several views saw and call by the same label is a known match."""
        present, codes = data.blocks.present, data.view_codes()
        labels = [data.classes[column[rows]] for column, rows in zip(codes.T, present.T)]
        numbers = object_numbers(present)
        known = [np.where(codes == code, numbers, -1) for code in range(len(data.classes))]
        known = [rows[(rows >= 0).sum(axis=1) > 1] for rows in known]
        sizes = present.sum(axis=0).tolist()
        return read_matching(labels, sizes, np.concatenate(known), self.max_meta_objects, data.names)

    def _scale(self, gram: FloatArray, weights: FloatArray) -> float:
        return (mean_squared_distance(gram) or 1.0) if self.scale_kernels else 1.0

    def _items(self, data: TrainingData, grams: list[FloatArray]) -> Items:
        matching = self._matching(data)
        seed = seed_of(self.random_state)
        record = WalkRecord()
        if self.correspondence == "tomographic":
            settings = TomographicSettings(self.crossing, self.l2, self.band, self._reference_view(data.names))
            objects, labels = matching.joined(matched_by_density(grams, matching, settings, False, seed, record))
            record.warn(self.max_meta_objects)
        else:
            self._warn_of_unused_settings()
            objects, labels = matching.joined(matched_at_random(matching, seed, record))
        codes = np.searchsorted(data.classes, labels)
        present = data.blocks.present
        meta_objects = np.column_stack(
            [np.flatnonzero(present[:, view])[column] for view, column in enumerate(objects.T)]
        )
        view_codes = data.view_codes()
        matched = np.all(present & (view_codes == view_codes[:, :1]), axis=1)[meta_objects]
        weights = marginal_weights(objects, codes, matched) if self.keep_marginals else np.ones(len(objects))
        attributes = {
            "meta_objects_": meta_objects,
            "meta_labels_": labels,
            "meta_weights_": weights,
            "n_reached_": np.array(record.n_reached),
        }
        return Items(objects, codes, weights, attributes)

    def _reference_view(self, names: list[str]) -> int:
        """Return the number of the reference view."""
        if self.reference is not None and self.reference not in names:
            raise ValueError(f"reference must be the name of one of the views {names}; got {self.reference!r}.")
        return 0 if self.reference is None else names.index(self.reference)

    def _learn(
        self,
        data: TrainingData,
        items: Items,
        kernels: ItemKernels,
        view_weights: FloatArray,
        problems: list[Problem],
    ) -> None:
        for name in ("estimator_", "intercept_", "neutral_values_"):  # of an earlier fit
            if name in vars(self):
                delattr(self, name)
        if self.estimator is None:
            super()._learn(data, items, kernels, view_weights, problems)
            return
        spaces = [embedding(gram, weight) for gram, weight in zip(kernels.grams, view_weights)]
        table = np.hstack([coordinates[column] for (coordinates, _), column in zip(spaces, items.objects.T)])
        estimator = seeded_clone(self.estimator, seed_of(self.random_state))
        weights = items.weights if self.keep_marginals else None
        model = fit_view_model(COMPOSITE, estimator, table, items.codes, data.classes, weights)
        self.estimator_ = model.estimator
        self._keep_support(data, [coefficients for _, coefficients in spaces])

    def _decided(self, blocks: ViewBlocks, start: int, weight_present: FloatArray) -> FloatArray:
        if not hasattr(self, "estimator_"):
            return super()._decided(blocks, start, weight_present)
        model = known_model(COMPOSITE, self.estimator_, self.classes_)
        table = np.hstack(self._parts(blocks, start))
        if model.gives_values:
            values = model.values(table, unknown="least")
        else:
            values = 2.0 * model.predicted_indicators(table) - 1
        return (values[:, 1] - values[:, 0]) / 2 if values.shape[1] == 2 else values

    def _warn_of_unused_settings(self) -> None:
        """Warn of settings of the tomographic correspondence where objects are put together at random."""
        defaults = inspect.signature(type(self)).parameters
        unused = [name for name in BAND_SETTINGS if getattr(self, name) != defaults[name].default]
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
