"""Compiled loops and the threads they run on: arrays in, arrays out.

Nothing here knows an estimator, a view or a data frame. Every reduction over rows is cut into blocks of
`execution.BLOCK_ROWS` rows whose partial sums are added in a fixed order, so that a result has the same bits whatever
the number of threads.
"""
