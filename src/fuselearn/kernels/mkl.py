"""Multiple kernel learning."""

from numbers import Real

import numpy as np

from fuselearn.kernels.base import BaseKernelFusion, uses_learning
from fuselearn.kernels.mkl_weights import learn_weights


class MKLClassifier(BaseKernelFusion):
    """Support vector machine on a weighted sum of the views' kernels.

    Kernels are divided by their mean diagonal (trace normalisation), and their weights are all alike, given, or learnt
    together with the machine: they solve the problem of Lanckriet et al. [1]_, for `norm` above 1 that of Kloft et
    al. [2]_.

    Parameters
    ----------
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors.
    kernel : str, callable, GramLookup or dict, default="rbf"
        See :class:`TomographicClassifier`.
    weights : {"uniform", "mkl", "sdp"}, dict or array, default="uniform"
        "mkl" alternates a support vector machine and weights in closed form. "sdp" solves the same problem for
        ``norm=1`` by a conic solver: slow, and there to compare with (``pip install 'fuselearn[sdp]'``).
    norm : float, default=1.0
        Norm p ≥ 1 of the learnt weights: 1 chooses few kernels, larger ones keep more of them.
    C : float, default=1.0
    n_jobs : int, default=None
        Threads for kernels and classes. The model is the same for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_weights_ : ndarray of shape (n_views,)
        Of norm 1, on kernels of mean diagonal 1, unless they were given.
    kernel_scales_ : ndarray of shape (n_views,)
        Mean diagonal of each kernel.
    objective_ : float
        Dual objective of the machine, which learnt weights minimise.
    support_, support_rows_, dual_coef_ : list of ndarray
        See :class:`TomographicClassifier`.
    intercept_ : ndarray of shape (n_problems,)

    Notes
    -----
    A row that lacks a view at fit time has no kernel values in it. More than two classes are separated one against
    one, with the same weights.

    References
    ----------
    .. [1] G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui and M. Jordan, Learning the kernel matrix with
       semidefinite programming, JMLR 5 (2004).
    .. [2] M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien, ℓp-norm multiple kernel learning, JMLR 12 (2011).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import MKLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MKLClassifier(views={"sepal": [0, 1], "petal": [2, 3]}, weights="mkl").fit(X, y)
    >>> dict(zip(model.view_names_, model.kernel_weights_.round(1).tolist()))
    {'sepal': 0.0, 'petal': 1.0}
    """

    def __init__(self, *, views=None, kernel="rbf", weights="uniform", norm=1.0, C=1.0, n_jobs=None):
        self.views = views
        self.kernel = kernel
        self.weights = weights
        self.norm = norm
        self.C = C
        self.n_jobs = n_jobs

    def _check_settings(self):
        super()._check_settings()
        if isinstance(self.norm, bool) or not (isinstance(self.norm, Real) and 1 <= self.norm < np.inf):
            raise ValueError(f"norm must be a number of at least 1; got {self.norm!r}.")
        if isinstance(self.weights, str) and self.weights == "sdp" and self.norm != 1:
            raise ValueError(f"weights='sdp' is defined for norm=1; got norm={self.norm!r}. Use weights='mkl'.")

    def _scale(self, gram):
        return np.trace(gram) / len(gram) or 1.0

    def _items(self, rows):
        return rows.objects(), rows.codes, np.ones(len(rows.codes)), {}

    def _weigh(self, weights, placed, problems, upper):
        if uses_learning(weights):
            return learn_weights(weights, placed, problems, upper, float(self.norm), self.n_jobs)
        n_views = len(placed.grams)
        return np.full(n_views, n_views ** (-1.0 / self.norm)) if isinstance(weights, str) else weights

    def _publish(self, rows, features, placed, weights, machines):
        super()._publish(rows, features, placed, weights, machines)
        self.objective_ = machines.objective
