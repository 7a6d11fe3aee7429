"""
Can the comparison run on a cluster, and come out the same?
===========================================================

Before choosing a method one compares several, on many splits. Every fit is independent of the others, so the work can
be spread over the cores of a machine, or over a cluster, by naming a joblib backend. The numbers must not depend on
where they were computed.

Where Dask is installed (``pip install 'fuselearn[dask]'``) this example starts a small cluster in this process and
runs there; otherwise it runs on threads. For a real cluster, give ``Client`` its address instead.
"""

import logging
from contextlib import contextmanager
from importlib.util import find_spec

import joblib
import matplotlib.pyplot as plt
import numpy as np

from fuselearn import compare
from fuselearn.datasets import load_digit_views
from fuselearn.inspection import LeaderboardDisplay

X, views, y = load_digit_views(return_tuple=True)
X, y = X[::3], y[::3]
settings = {"views": views, "methods": ["shareboost", "rshareboost", "svm_sum", "svm_concatenated"], "runs": 4}

# %%
# Where to run
# ------------


@contextmanager
def parallel_backend():
    """Run within a Dask cluster of two workers, or two threads."""
    if find_spec("distributed"):
        from distributed import Client

        with (
            Client(
                processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
            ),
            joblib.parallel_config("dask"),
        ):
            yield "a Dask cluster"
    else:
        with joblib.parallel_config("threading", n_jobs=2):
            yield "threads"


# %%
# The same comparison, here and there
# -----------------------------------

here = compare(X, y, random_state=0, **settings)
with parallel_backend() as place:
    there = compare(X, y, random_state=0, n_jobs=2, **settings)
    print(f"ran on {place}")
for method, scores in zip(here.methods, here.scores):
    print(f"{method:18} {scores.mean():.3f}")
LeaderboardDisplay.from_comparison(there)

# %%
# What came out
# -------------

same = here.methods == there.methods and np.array_equal(here.scores, there.scores)
print(f"{here.scores.size} fits: the scores are {'equal, bit for bit' if same else 'NOT the same'}.")
spread = here.scores.mean(axis=1)
print(f"The best of the four is {here.best} ({spread[0]:.3f}), the last {here.methods[-1]} ({spread[-1]:.3f}).")

plt.show()
