"""Fusion by voting, stacking and concatenation: what every other method has to beat."""
