"""Agreement of a fitted model with the labels of given rows: margins, and labels that look wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuselearn.arguments import check_count
from fuselearn.backends.protocol import PredictsByDecision
from fuselearn.data import ViewBlocks, encode_known
from fuselearn.inspection.fitted_model import (
    FittedModel,
    check_has,
    fitted_views,
    read_labels,
    read_rows,
    without_feature_names,
)
from fuselearn.numeric.votes import probabilities
from fuselearn.records import Records
from fuselearn.typing import AnyArray, ArrayLike, FloatArray, IntArray, TableLike


def margin_distribution(model: FittedModel, X: TableLike, y: ArrayLike) -> FloatArray:
    """Return the margin of each row: how far its class is ahead of every other class.

    Parameters
    ----------
    model : fitted classifier of fuselearn
        The classifier itself, not a pipeline or search around it.
    X : array or data frame of shape (n_samples, n_features)
        Rows with the columns that the model was fitted on.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        Their classes; for a multi-label model the indicator matrix.

    Returns
    -------
    ndarray of shape (n_samples,)
        In [-1, 1], positive where `y` is predicted. For boosting it is (votes of the class - largest other) / Σ|α|
        (`model.margins`); for multi-label models the mean over the labels of ±F / Σ|α|; for gradient boosting and other
        models the probability of the class minus the largest other probability. With `class_weight`,
        :class:`~fuselearn.FusionClassifier` does not always predict the most probable class; its margin is that of
        softmax(decision), which is largest for the class it predicts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> from fuselearn.inspection import margin_distribution
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ShareBoostClassifier(views=[[0, 1], [2, 3]], n_estimators=30).fit(X[::2], y[::2])
    >>> margins = margin_distribution(model, X[1::2], y[1::2])
    >>> bool((margins > 0).mean() == model.score(X[1::2], y[1::2]))
    True
    """
    fitted_views(model)
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    model = without_feature_names(model)
    if hasattr(model, "margins"):
        return model.margins(table, y)
    if hasattr(model, "label_weights_"):
        return _multilabel_margins(model.decision_function(table), y, model, len(model.label_weights_))
    if hasattr(model, "predict_proba") and _predicts_most_probable(model):
        scores = model.predict_proba(table)
    elif hasattr(model, "predict_proba"):
        scores = probabilities(model.decision_function(table) / 2)
    else:
        check_has(model, "decision_function", "margins need it, or predict_proba.")
        scores = probabilities(model.decision_function(table))
    return lead(scores, encode_known(y, model.classes_, "y"))


def staged_margins(model: FittedModel, X: TableLike, y: ArrayLike, rounds: Sequence[int]) -> list[FloatArray]:
    """Return the margins after each of the given rounds of boosting, counted from 1."""
    check_has(model, "staged_decision_function", "only boosting has margins after each round.")
    names, columns = fitted_views(model)
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    multilabel = hasattr(model, "label_weights_")
    if not multilabel:
        codes = encode_known(y, model.classes_, "y")
        present = ViewBlocks.of(table, names, columns).present
    margins = {}
    for n_rounds, decision in enumerate(without_feature_names(model).staged_decision_function(table), start=1):
        if n_rounds not in rounds:
            continue
        if multilabel:
            margins[n_rounds] = _multilabel_margins(decision, y, model, n_rounds)
            continue
        if not hasattr(model, "estimator_weights_"):  # gradient boosting adds scores, of which nothing bounds the sum
            margins[n_rounds] = lead(probabilities(decision / 2), codes)
            continue
        votes = np.column_stack([-decision / 2, decision / 2]) if decision.ndim == 1 else decision
        total = np.abs(model.estimator_weights_[:n_rounds]).sum()
        # A row without any of the views that have voted so far has the prior's decision, and the margin 0.
        voting = [
            view
            for view, hypothesis in zip(model.winning_views_[:n_rounds], model.estimators_)
            if hypothesis is not None
        ]
        has_vote = present[:, np.unique(voting).astype(np.intp)].any(axis=1)
        margins[n_rounds] = np.where(has_vote, lead(votes, codes), 0.0) / (total if total > 0 else 1.0)
    return [margins[n_rounds] for n_rounds in rounds]


def suspects(
    model: FittedModel,
    X: TableLike,
    y: ArrayLike,
    *,
    n: int | None = None,
    ids: Sequence[Any] | AnyArray | None = None,
) -> Records:
    """Return the labels of given rows that the model considers wrong, the most suspect first.

    Pass rows that the model was not fitted on: it has learnt the wrong labels of its training rows. To search these,
    use :class:`~fuselearn.LabelConsensus`, which judges every row out of fold.

    Parameters
    ----------
    model : fitted classifier of fuselearn with `predict_proba`
        The classifier itself, not a pipeline or search around it.
    X : array or data frame of shape (n_samples, n_features)
        Rows with the columns that the model was fitted on.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        The labels to judge; for a multi-label model the indicator matrix.
    n : int or None, default=None
        How many labels to return; labels that the model would predict come last. None returns all labels that are
        more probably wrong than right and that the model would not predict.
    ids : sequence of length n_samples, default=None
        Names of the rows.

    Returns
    -------
    Records
        A table with one row per label; iterating gives records, `to_pandas()` a data frame. Columns are ``"row"``, the
        row number in `X`; ``"id"``, if `ids` are given; ``"column"``, ``"y"`` or the name of the label; ``"given"``,
        the label; ``"proposed"``, the most probable other class; ``"probability"``, the probability that the label is
        wrong. Rows in which every view is absent are never suspect, because there is no evidence against their labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> from fuselearn.inspection import suspects
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ShareBoostClassifier(views=[[0, 1], [2, 3]], n_estimators=30).fit(X[::2], y[::2])
    >>> X_new, y_new = X[1::2], y[1::2].copy()
    >>> y_new[3] = 2  # a setosa that somebody took for a virginica
    >>> worst = suspects(model, X_new, y_new, n=1)[0]
    >>> worst["row"], worst["given"], worst["proposed"]
    (3, 2, 0)
    """
    if n is not None:
        check_count("n", n, least=0)
    names, columns = fitted_views(model)
    check_has(model, "predict_proba", "suspects needs probabilities.")
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    row_ids = None if ids is None else np.asarray(ids)
    if row_ids is not None and row_ids.shape != (len(table),):
        raise ValueError(f"ids must name each of the {len(table)} rows of X; got shape {row_ids.shape}.")
    nameless = without_feature_names(model)
    class_probabilities = nameless.predict_proba(table)
    contradicted: AnyArray = np.ones((len(table), 1), dtype=bool)
    if y.ndim == 1:
        # The predicted class need not be the most probable one.
        contradicted[:, 0] = nameless.predict(table) != y
        given, label_names, classes = encode_known(y, model.classes_, "y")[:, None], ["y"], model.classes_
        class_probabilities = class_probabilities[:, None, :]
    else:
        given, label_names, classes = y.astype(np.intp), list(model.label_names_), np.array([0, 1])
        class_probabilities = np.stack([1 - class_probabilities, class_probabilities], axis=2)
    of_given = np.take_along_axis(class_probabilities, given[:, :, None], axis=2)[:, :, 0]
    of_others = class_probabilities.copy()
    np.put_along_axis(of_others, given[:, :, None], -1.0, axis=2)
    proposed = of_others.argmax(axis=2)
    has_view = ViewBlocks.of(table, names, columns).present.any(axis=1, keepdims=True)
    doubt = np.where(has_view, 1 - of_given, -1.0)
    contradicted = np.logical_and(contradicted, doubt > 0.5)
    rows, labels = np.nonzero(contradicted if n is None else doubt > -1.0)
    order = np.lexsort((-doubt[rows, labels], ~contradicted[rows, labels]))[:n]
    rows, labels = rows[order], labels[order]
    return Records(
        {
            "row": rows,
            **({} if row_ids is None else {"id": row_ids[rows]}),
            "column": [label_names[label] for label in labels],
            "given": classes[given[rows, labels]],
            "proposed": classes[proposed[rows, labels]],
            "probability": doubt[rows, labels],
        }
    )


def lead(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the value of each row's class minus the largest other value."""
    values = np.array(values, dtype=np.float64)
    rows = np.arange(len(values))
    of_class = values[rows, codes]
    values[rows, codes] = -np.inf
    return of_class - values.max(axis=1)


def _predicts_most_probable(model: FittedModel) -> bool:
    """Return True unless decision values weigh the classes differently from the probabilities."""
    return isinstance(model, PredictsByDecision) or not hasattr(model, "decision_function")


def _multilabel_margins(decision: FloatArray, y: AnyArray, model: FittedModel, n_models: int) -> FloatArray:
    """Return the mean over the labels of ±F / Σ|α|, with 0 for a label that no base model serves."""
    totals = np.abs(model.label_weights_[:n_models]).sum(axis=0)
    decision = decision.reshape(len(decision), -1)
    has_label = y.reshape(decision.shape) == (model.classes_[1] if y.ndim == 1 else 1)
    signed = np.where(has_label, decision, -decision)
    return np.divide(signed, totals, out=np.zeros_like(signed), where=totals > 0).mean(axis=1)
