"""Noise, and what it does to a method."""

from fuselearn.evaluation.noise import add_label_noise

__all__ = ["add_label_noise"]
