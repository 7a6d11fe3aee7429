"""Weak learners: how to fit one view under weights.

A learner is a set of settings. It makes a *plan* of a view once, the plan prepares the rows once, and then
each round turns weights into a *hypothesis* (see `fuselearn.learners.protocol`).
"""

from fuselearn.learners.protocol import Hypothesis, Learner, Plan
from fuselearn.learners.score_learners import GaussianNB, LeastSquares
from fuselearn.learners.sklearn_learner import SklearnLearner, as_learner
from fuselearn.learners.tree import Stump, Tree

__all__ = [
    "GaussianNB",
    "Hypothesis",
    "Learner",
    "LeastSquares",
    "Plan",
    "SklearnLearner",
    "Stump",
    "Tree",
    "as_learner",
]
