"""Matrix products on one thread, so that only `n_jobs` says how many are used."""

from threadpoolctl import threadpool_limits


def single_threaded_products():
    """A context in which BLAS has one thread: the bits of a product may depend on how many it has."""
    return threadpool_limits(limits=1, user_api="blas")
