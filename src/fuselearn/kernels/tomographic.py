"""Fusion of views whose objects are not matched."""

import numpy as np
from sklearn.utils import check_random_state

from fuselearn.estimators import check_choice, check_count, check_flag
from fuselearn.kernels.base import BaseKernelFusion, uses_learning
from fuselearn.kernels.correspondence import CROSSINGS, Walk, paired_classes, walked_classes
from fuselearn.kernels.matching import read_matching
from fuselearn.kernels.meta_objects import marginal_weights
from fuselearn.kernels.mkl_weights import learn_weights
from fuselearn.numeric.pairs import mean_squared_distance

CORRESPONDENCES = ("tomographic", "cartesian")


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
        its own. Kernels with a width take it from the data's variance, as scikit-learn's SVC does.
    scale_kernels : bool, default=True
        Divide each kernel by the mean squared distance of its objects. Objects are matched by distance, so views on
        different scales cannot be matched without it.
    correspondence : {"tomographic", "cartesian"}, default="tomographic"
        How objects are put together.
    crossing : {"sample", "full", "corners"}, default="sample"
        How objects of the same density are put together, see :func:`~fuselearn.kernels.tomographic_correspondence`.
    l2 : bool, default=False
        Whether pairs lead on to other meta-objects only within a ball instead of a box.
    band : int, default=5
        Most pairs of objects that are taken to be equally dense.
    max_meta_objects : int, default=None
        Most meta-objects. None: in each class four times its unmatched objects in the view with most of them, beside
        those that are matched.
    keep_marginals : bool, default=True
        Weight the meta-objects so that in each view every object counts alike, however often it was put together
        with others. False counts each meta-object once, as S4's experiments do, and leans on dense places.
    weights : {"uniform", "mkl", "sdp"}, dict or array, default="uniform"
        Weight of each view's kernel: 1 each, learnt on the meta-objects (see :class:`MKLClassifier`), or given.
    C : float, default=1.0
        Penalty of the support vector machine.
    n_jobs : int, default=None
        Threads for kernels and classes. The model is the same for any number.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    meta_objects_ : int ndarray of shape (n_meta, n_views)
        Rows of `X` that were put together, one for each view.
    meta_labels_ : ndarray of shape (n_meta,)
    meta_weights_ : ndarray of shape (n_meta,)
        How much each meta-object counts; C times this is its penalty.
    kernel_weights_ : ndarray of shape (n_views,)
    kernel_scales_ : ndarray of shape (n_views,)
        What each kernel was divided by.
    view_names_ : list of str
    view_columns_ : list of ndarray
    support_ : list of ndarray
        Rows of `X` that the decision leans on, for each view.
    support_rows_ : list of ndarray
        Their columns of the view.
    dual_coef_ : list of ndarray of shape (n_problems, n_support)
    intercept_ : ndarray of shape (n_problems,)

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
        views=None,
        kernel="linear",
        scale_kernels=True,
        correspondence="tomographic",
        crossing="sample",
        l2=False,
        band=5,
        max_meta_objects=None,
        keep_marginals=True,
        weights="uniform",
        C=1.0,
        n_jobs=None,
        random_state=None,
    ):
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

    def _check_settings(self):
        super()._check_settings()
        check_choice("correspondence", self.correspondence, CORRESPONDENCES)
        check_choice("crossing", self.crossing, CROSSINGS)
        check_flag("scale_kernels", self.scale_kernels)
        check_flag("l2", self.l2)
        check_flag("keep_marginals", self.keep_marginals)
        check_count("band", self.band)
        if self.max_meta_objects is not None:
            check_count("max_meta_objects", self.max_meta_objects)

    def _check_rows(self, names, blocks, classes, codes):
        self._matching(names, blocks.present, classes, codes)

    def _matching(self, names, present, classes, codes):
        labels = [classes[codes[here]] for here in present.T]
        objects = np.where(present, np.cumsum(present, axis=0) - 1, -1)
        sizes = present.sum(axis=0).tolist()
        return read_matching(labels, sizes, objects[present.sum(axis=1) > 1], self.max_meta_objects, names)

    def _scale(self, gram):
        return (mean_squared_distance(gram) or 1.0) if self.scale_kernels else 1.0

    def _items(self, rows):
        matching = self._matching(rows.names, rows.blocks.present, rows.classes, rows.codes)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if self.correspondence == "tomographic":
            walk = Walk(self.crossing, self.l2, self.band)
            found = walked_classes(rows.grams, matching, walk, False, seed)
        else:
            found = paired_classes(matching, seed)
        places, labels = matching.put_together(found)
        codes = np.searchsorted(rows.classes, labels)
        meta_objects = np.column_stack([rows.rows_of(view)[column] for view, column in enumerate(places.T)])
        matched = rows.blocks.present.all(axis=1)[meta_objects]
        weights = marginal_weights(places, codes, matched) if self.keep_marginals else np.ones(len(places))
        seen = {
            "meta_objects_": meta_objects,
            "meta_labels_": labels,
            "meta_weights_": weights,
        }
        return places, codes, weights, seen

    def _weigh(self, weights, placed, problems, upper):
        if not uses_learning(weights):
            return np.ones(len(placed.grams)) if isinstance(weights, str) else weights
        # Learnt on kernels of one scale. A machine with an intercept does not see where the origin is, so the scale is
        # that of distances; what all objects have in common would pass for size otherwise.
        scales = np.array([mean_squared_distance(gram) for gram in placed.grams])
        spread = scales > 0
        even = [gram / scale if scale > 0 else np.zeros_like(gram) for gram, scale in zip(placed.grams, scales)]
        learnt = learn_weights(weights, type(placed)(even, placed.places), problems, upper, 1.0, self.n_jobs)
        return np.divide(learnt * scales.sum(), scales, out=np.zeros(len(scales)), where=spread)
