"""Warnings with names of their own, so that a program can filter each of them."""


class InterruptedFitWarning(UserWarning):
    """A fit was interrupted; the model has the rounds that were done by then."""


class NoEdgeWarning(UserWarning):
    """No view beats chance in the first round; the model predicts the class prior."""


class SavedByOtherVersionWarning(UserWarning):
    """A saved model was written with another version of scikit-learn than the one that reads it."""
