"""Progress of a fit, for whoever listens.

A fit reports its steps; a listener, such as the progress bar of the command line, receives them. Without a listener a
report costs one look-up. Reports are made in the thread that called `fit`, in the order of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias


class Step(NamedTuple):
    """One step of a fit that is done.

    Attributes
    ----------
    estimator : str
        Name of the estimator's class.
    done : int
        Number of steps done so far.
    total : int or None
        Number of steps in all; None where it is not known.
    text : str
        Description of the step, as ``verbose`` prints it.
    """

    estimator: str
    done: int
    total: int | None
    text: str


Listener: TypeAlias = Callable[[Step], None]
_listener: ContextVar[Listener | None] = ContextVar("fuselearn_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass the steps of all fits within the block to a listener.

    Parameters
    ----------
    listener : callable of Step
        Receives every step when it is done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ShareBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with listening(lambda step: print(step.done, "of", step.total)):
    ...     _ = ShareBoostClassifier("stump", n_estimators=2).fit(X, y)
    1 of 2
    2 of 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(estimator: object, done: int, total: int | None, text: str, *, printed: bool) -> None:
    """Report a step of a fit; `printed` says whether it is also to be printed, as ``verbose`` asks for."""
    name = type(estimator).__name__
    if printed:
        print(f"[{name}] {text}")
    listener = _listener.get()
    if listener is not None:
        listener(Step(name, done, total, text))
