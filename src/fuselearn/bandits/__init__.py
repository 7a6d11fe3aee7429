"""Policies that choose the arms of a round.

A policy is a set of settings, frozen once made; `start` turns it into the state of one run.
"""

from fuselearn.bandits.best import Best
from fuselearn.bandits.exp3p import Exp3P
from fuselearn.bandits.protocol import Policy, PolicyState
from fuselearn.bandits.round_robin import RoundRobin
from fuselearn.bandits.ucb import UCB
from fuselearn.bandits.uniform import UniformRandom

__all__ = ["UCB", "Best", "Exp3P", "Policy", "PolicyState", "RoundRobin", "UniformRandom"]
