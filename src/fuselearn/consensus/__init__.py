"""What the labels and the views agree on."""

from fuselearn.consensus.expectation_maximisation import Agreement, agree, judge
from fuselearn.consensus.label_consensus import LabelConsensus

__all__ = ["Agreement", "LabelConsensus", "agree", "judge"]
