"""When two numbers count as equal."""

TIE = 1e-12
"""Values nearer than this are equal, and the lowest index wins: sums of weights round differently from machine to
machine, on a cluster and on a GPU, and the model must not."""
