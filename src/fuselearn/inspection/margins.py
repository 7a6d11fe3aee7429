"""How clearly rows are classified."""

import numpy as np

from fuselearn.data import ViewBlocks, encode_known
from fuselearn.estimators import PredictsByDecision
from fuselearn.inspection.fitted_model import check_has, forgetful, read_labels, read_rows, views_of
from fuselearn.numeric.votes import probabilities


def margin_distribution(model, X, y):
    """Margin of each row: how much more speaks for its class than for any other.

    Parameters
    ----------
    model : fitted classifier of fuselearn
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_labels)

    Returns
    -------
    ndarray of shape (n_samples,)
        In [-1, 1], positive where `y` is predicted. For boosting it is (votes of the class - largest other) / Σ|α|
        (`model.margins`); for several labels the mean over them of ±F / Σ|α|; for other models the probability of the
        class less the largest other. :class:`~fuselearn.FusionClassifier` does not always predict the most probable
        class, since it takes all classes for equally important; its margin is of softmax(decision), by which it does.

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
    views_of(model)
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    model = forgetful(model)
    if hasattr(model, "margins"):
        return model.margins(table, y)
    if hasattr(model, "label_weights_"):
        return _of_labels(model.decision_function(table), y, model, len(model.label_weights_))
    if hasattr(model, "predict_proba") and predicts_most_probable(model):
        chances = model.predict_proba(table)
    elif hasattr(model, "predict_proba"):
        chances = probabilities(model.decision_function(table) / 2)
    else:
        check_has(model, "decision_function", "margins need it, or predict_proba.")
        chances = probabilities(model.decision_function(table))
    return lead(chances, encode_known(y, model.classes_, "y"))


def staged_margins(model, X, y, rounds):
    """Margins after some of the rounds of boosting.

    Parameters
    ----------
    model : fitted classifier with `staged_decision_function`
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_labels)
    rounds : sequence of int
        From 1 to the number of rounds.

    Returns
    -------
    list of ndarray of shape (n_samples,)
    """
    check_has(model, "staged_decision_function", "margins after each round are of boosting.")
    names, columns = views_of(model)
    table = read_rows(model, X)
    y = read_labels(model, y, len(table))
    of_labels = hasattr(model, "label_weights_")
    if not of_labels:
        codes = encode_known(y, model.classes_, "y")
        present = ViewBlocks.of(table, names, columns).present
    found = {}
    for done, decision in enumerate(forgetful(model).staged_decision_function(table), start=1):
        if done not in rounds:
            continue
        if of_labels:
            found[done] = _of_labels(decision, y, model, done)
            continue
        votes = np.column_stack([-decision / 2, decision / 2]) if decision.ndim == 1 else decision
        total = np.abs(model.estimator_weights_[:done]).sum()
        # A row that nobody has heard of yet has the prior's decision, and the margin 0.
        voted = [view for view, one in zip(model.winning_views_[:done], model.estimators_) if one is not None]
        heard = present[:, np.unique(voted).astype(np.intp)].any(axis=1)
        found[done] = np.where(heard, lead(votes, codes), 0.0) / (total if total > 0 else 1.0)
    return [found[number] for number in rounds]


def predicts_most_probable(model):
    """Whether the predicted class is the most probable one; it is not where decision values weigh classes otherwise."""
    return isinstance(model, PredictsByDecision) or not hasattr(model, "decision_function")


def lead(values, codes):
    """Value of each row's class less the largest other."""
    values = np.array(values, dtype=np.float64)
    everyone = np.arange(len(values))
    own = values[everyone, codes]
    values[everyone, codes] = -np.inf
    return own - values.max(axis=1)


def _of_labels(decision, y, model, n_models):
    """Mean over the labels of ±F / Σ|α|; 0 for a label that no base model serves."""
    totals = np.abs(model.label_weights_[:n_models]).sum(axis=0)
    decision = decision.reshape(len(decision), -1)
    has_label = y.reshape(decision.shape) == (model.classes_[1] if y.ndim == 1 else 1)
    signed = np.where(has_label, decision, -decision)
    return np.divide(signed, totals, out=np.zeros_like(signed), where=totals > 0).mean(axis=1)
