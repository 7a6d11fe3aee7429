"""MSSBoost: base models that serve many labels, and the rounds that it shares with NSBoost (S2 Alg. 2)."""

from collections.abc import Iterable, Iterator

import numpy as np

from fuselearn.backends.gpu.gpu_pool import GpuJointLoss, GpuPool
from fuselearn.multilabel.base import AnyJointLoss, BaseSubspaceEnsemble
from fuselearn.multilabel.pool import Pool, further_steps, number_of_candidates
from fuselearn.multilabel.subspace_models import Candidate, Trainer, train_all
from fuselearn.numeric.logistic import Winner
from fuselearn.numeric.threads import Threads
from fuselearn.typing import FloatArray

REDRAWS = 10
"""Most draws in a row of a slot whose candidate can serve no label."""


class MSSBoostClassifier(BaseSubspaceEnsemble):
    """Multi-label boosting in which a few small base models serve all labels.

    Base models are learned on balanced bootstrap samples and random subspaces, one label each. In every round the model
    of a pool that lowers the joint logistic loss of *all* labels most joins the ensemble, with a weight of its own for
    each label: labels that are related use each other's models. This is MSSBoost [1]_.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier that base models are clones of: anything with `predict_proba` (outputs 2p - 1) or `decision_function`
        (clipped to [-1, 1]). None is ``RbfSVC(max_vectors="auto")`` of :mod:`fuselearn.multilabel`, an RBF
        support vector machine of least squares that few rows span.
    views : dict, list or None, default=None
        Views of the columns of `X`: a dict of name to selector, or a list of selectors. A base model draws its columns
        inside one view, and the views take turns. None is one view of all columns.
    n_estimators : int, default=100
        Number of base models in the ensemble.
    data_ratio : float in (0, 1] or "auto", default=0.2
        Rows of a base model's sample as a part of all: half of them with its label, half without.
    feature_ratio : float in (0, 1] or "auto", default=0.1
        Columns of a base model as a part of those of its view. ``"auto"`` chooses the smallest ratios that keep 80 % of
        the mean average precision of models on all rows and columns, in two-fold cross-validation. A sparse `X` stays
        sparse there, unless `estimator` does not take sparse rows: then half of it is made dense for each label.
    pool_size : int or None, default=None
        Number of candidates to choose from in each round; None is one for each label, and with the default base model
        at least 39. With fewer than labels, the labels take turns to bring in new candidates. Memory grows with rows ×
        (labels + pool).
    significance : float in (0, 1], default=0.025
        A base model gets no weight for a label that its sign is not related to by a χ² test at this level. 1 is no
        test.
    fit_intercept : bool or None, default=None
        Whether the decision function of a label begins at its log-odds rather than at 0, so that no base model has to
        show how rare it is. None is True with the default base model and False, as in the paper, with another one.
    newton_steps : int, default=1
        Newton steps for the weights of the base model that joins; which one joins is decided by the first. More lower
        the training loss faster, and gained nothing on new rows where it was measured.
    n_jobs : int, default=None
        Number of threads. The model is the same, bit for bit, for any number.
    random_state : int, RandomState or None, default=None
        Seed of the samples, the subspaces and the draws of random base models.
    verbose : int, default=0
        How often to print: 1 prints ten times during a fit, 2 after every model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,), or list of ndarray
        Numbers of the labels; for a matrix of one or two labels a list of ``array([0, 1])``, since scikit-learn's
        scorers would take the numbers for two classes. For a 1-D target its two classes.
    label_names_ : list of str
        Columns of `y` if it was a data frame, else ``"label0"``, ``"label1"``, …
    estimators_ : list of classifier
        The base models, in the order in which they joined. Their classes are 0 and 1.
    estimators_features_ : list of ndarray
        Columns of `X` that each base model reads.
    label_weights_ : ndarray of shape (n_models, n_labels)
        α: weight of each base model's output for each label.
    intercepts_ : ndarray of shape (n_labels,)
        Log-odds ln(n₊ / n₋) of each label, or 0.
    source_labels_ : int ndarray of shape (n_models,)
        Label that each base model was learned on.
    loss_curve_ : ndarray of shape (n_models + 1,)
        Joint logistic loss, summed over rows and labels, in natural logarithms: of scores of 0, without the intercepts,
        which is rows · labels · ln 2, and then after each model, with them. It never rises, and the number of training
        errors is at most the loss divided by ln 2.
    model_size_ : int or None
        Support vectors × features, summed over the base models that some label uses; nodes for trees, coefficients for
        linear models, None for base models that have none of these.
    data_ratio_ : float
        Ratio of the rows that was used.
    feature_ratio_ : float
        Ratio of the columns that was used.
    ratio_scores_ : dict or None
        Scores that ``"auto"`` chose by: mean average precision of (data ratio, feature ratio) pairs, and of ``"full"``.
        None where both ratios were given.
    view_names_ : list of str
        Names of the views.
    view_columns_ : list of ndarray
        Columns of `X` that each view has.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Names of the columns, if `X` was a data frame.

    See Also
    --------
    NSBoostClassifier : The same without sharing.
    RSBagClassifier : No boosting either.

    Notes
    -----
    A Newton step can overshoot. A weight that would raise the loss of its label is halved up to five times, then 0. A
    round in which no candidate lowers the loss is like any other: the candidate of the slot that has had the fewest
    joins with weights of 0 and is replaced by a new one. Such models are not used in predictions. A candidate that can
    serve no label does not enter the pool; its slot draws again, at most ten times in a row.

    Three settings of None are ours and not S2's: base models are spanned by √n·ln n of their n rows, the pool has at
    least 39 candidates, and decision functions begin at the log-odds of their labels. Without that the first models
    show which labels are rare, not what they have in common: sharing pays less then than it costs. With an `estimator`
    given, None is S2's rule: one candidate for each label, and no intercept.

    The default base model takes γ = 1 / (n_features · variance) of its own sample, where S2 cross-validates one width
    for all. Numbers of rows and columns are rounded, and at least 1. Base models are fitted on plain arrays: they do
    not see the names of the columns.

    References
    ----------
    .. [1] Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn import MSSBoostClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = MSSBoostClassifier(n_estimators=10, feature_ratio=0.5, random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 4)
    >>> model.label_weights_.shape
    (10, 4)
    >>> bool(model.loss_curve_[-1] < model.loss_curve_[0])
    True
    >>> len(model.prune(3).estimators_)
    3
    """

    def _rounds(
        self, trainer: Trainer, joint: AnyJointLoss, threads: Threads
    ) -> Iterator[tuple[Candidate, FloatArray]]:
        return boosted_rounds(
            trainer,
            joint,
            threads,
            pool_size=number_of_candidates(self.pool_size, len(joint.signs), default_model=self.estimator is None),
            significance=self.significance,
            shared=True,
            newton_steps=self.newton_steps,
        )


def boosted_rounds(
    trainer: Trainer,
    joint: AnyJointLoss,
    threads: Threads,
    *,
    pool_size: int | None,
    significance: float,
    shared: bool,
    newton_steps: int = 1,
) -> Iterator[tuple[Candidate, FloatArray]]:
    """Yield the candidate and the weights of each round, without end; the caller adds them to `joint` in between.

    Slot k of the pool begins with a model learned on label k, or k modulo the number of labels. The one that takes the
    place of a used model is learned on the same label (S2 Alg. 2 step 2c). A pool with fewer slots than labels, which
    S2 does not have, would so never see most labels: there the labels take turns.

    Two rules of ours keep every slot at work. A candidate that can serve no label, by the χ² test or because its own
    is the only one it may serve, does not enter: its slot draws the next generation, at most ten times in a row. And
    when no candidate lowers the loss, the slot with the fewest generations so far is renewed.

    With several Newton steps the winner is still that of one, and takes the others alone.
    """
    n_labels = len(joint.signs)
    n_slots = n_labels if pool_size is None else int(pool_size)
    labels = np.arange(n_slots) % n_labels  # that the candidate of each slot is learned on
    generations = np.zeros(n_slots, dtype=int)
    next_label = n_slots % n_labels

    def trained(slots: Iterable[int]) -> list[Candidate]:
        return train_all(trainer, [(slot, int(generations[slot]), int(labels[slot])) for slot in slots], threads)

    def redraw_idle(slots: Iterable[int]) -> None:
        for _ in range(REDRAWS):
            slots = [slot for slot in slots if pool.is_idle(slot)]
            if not slots:
                break
            generations[slots] += 1
            for slot, candidate in zip(slots, trained(slots)):
                pool.replace(slot, candidate, threads)

    pool: Pool | GpuPool[Candidate]
    if isinstance(joint, GpuJointLoss):
        pool = GpuPool(joint, trained(range(n_slots)), significance=significance, shared=shared)
    else:
        pool = Pool(joint, trained(range(n_slots)), significance=significance, shared=shared)
    redraw_idle(range(n_slots))
    while True:
        slot, weights = pool.best(threads) or Winner(int(np.argmin(generations)), np.zeros(n_labels))
        if newton_steps > 1:
            winner = pool.candidates[slot].outputs
            weights = further_steps(weights, winner, joint.signs, joint.host_margins(), newton_steps - 1)
        yield pool.candidates[slot], weights
        pool.labels_changed(np.flatnonzero(weights), threads)
        generations[slot] += 1
        if n_slots < n_labels:
            labels[slot], next_label = next_label, (next_label + 1) % n_labels
        [candidate] = trained([slot])
        pool.replace(slot, candidate, threads)
        redraw_idle([slot])
