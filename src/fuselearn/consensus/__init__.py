"""The classes that labels and views agree on, and the labels that are probably wrong."""

from fuselearn.consensus.expectation_maximisation import Agreement, agree, judge
from fuselearn.consensus.label_consensus import LabelConsensus

__all__ = ["Agreement", "LabelConsensus", "agree", "judge"]
