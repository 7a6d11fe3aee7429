"""Timing on a busy machine: work to be compared is interleaved, and the best of several runs counts."""

import gc
import time
from dataclasses import dataclass

import numpy as np

from fuselearn.progress import listening


@dataclass(frozen=True)
class Timed:
    """The fastest of several runs.

    Attributes
    ----------
    seconds : float
    result : object
        The value that the work returned.
    """

    seconds: float
    result: object


def best_times(works, repeats, clock=time.process_time):
    """Run every piece of work `repeats` times, in turn, and keep the fastest run of each.

    Taking turns makes a slow spell of the machine hit all works alike. Other processes can only make a run slower, so
    the fastest is the nearest to the truth.

    Parameters
    ----------
    works : dict of name to callable without arguments
    repeats : int
    clock : callable, default=time.process_time
        CPU seconds, which for one thread are wall seconds less the time that other processes took. Work on several
        threads needs `time.perf_counter`.

    Returns
    -------
    dict of name to Timed
    """
    best = {}
    for _ in range(repeats):
        for name, work in works.items():
            gc.collect()
            start = clock()
            result = work()
            seconds = clock() - start
            if name not in best or seconds < best[name].seconds:
                best[name] = Timed(seconds, result)
    return best


def seconds_per_round(few, many, n_rounds):
    """Return the time that one more round takes, free of the fixed cost of a fit.

    Parameters
    ----------
    few, many : Timed
        A fit of few and of many rounds, whose results are fitted models.
    n_rounds : callable
        Number of rounds that a model really has: boosting ends early when no edge is left.
    """
    more = n_rounds(many.result) - n_rounds(few.result)
    if more < 1:
        raise RuntimeError(f"Boosting ended after {n_rounds(few.result)} rounds, so that no round can be timed.")
    return (many.seconds - few.seconds) / more


def round_times(model, X, y):
    """Fit a boosting model, and return when each of its rounds ended, in seconds of `time.perf_counter`."""
    times = []
    with listening(lambda step: times.append(time.perf_counter())):
        model.fit(X, y)
    if model.n_iter_ < model.n_estimators:
        raise RuntimeError(f"The run ended after {model.n_iter_} of {model.n_estimators} rounds.")
    return np.array(times)


def exponent(sizes, seconds):
    """Return the slope of log time over log size: 1 where time is proportional to size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
