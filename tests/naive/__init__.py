"""Slow, obvious reference implementations, written straight from the papers' boxes and equations.

They are oracles: each test asks that the fast code gives what these loops give on small random input. The papers are
cited as S0 (boosting with a shared sampling distribution), S1 (ShareBoost and rShareBoost), S2 (MSSBoost), S3 (the
first shared-distribution fusion, with weakened C4.5) and S4 (tomographic kernel fusion); where a paper leaves something
open, the page of its method under ``docs/`` settles it. Class labels are integer codes ``0 .. K-1``, a hypothesis is
any callable ``h(X) -> codes`` on the rows of its own view. Nothing here is meant to be quick.
"""
