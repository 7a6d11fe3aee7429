"""Compile a loop on its first call.

Importing numba takes as long as fitting a small model, and a command such as ``fuselearn --help`` never needs
it. So a kernel stays a plain function until somebody calls it.
"""

from functools import wraps


def compiled(*, reassociate=False):
    """Decorate a loop over arrays so that numba compiles it on its first call.

    Parameters
    ----------
    reassociate : bool, default=False
        Let the compiler reorder the additions of a sum, which is what turns a dot product into vector
        instructions. The order is fixed at compile time, so results stay reproducible.
    """

    def decorate(loop):
        kernel = None

        @wraps(loop)
        def call(*arguments):
            nonlocal kernel
            if kernel is None:
                kernel = _compile(loop, reassociate)
            return kernel(*arguments)

        return call

    return decorate


def _compile(loop, reassociate):
    import numba

    # Infinities and NaN keep their meaning: both occur in the data of the kernels.
    fastmath = {"reassoc", "contract"} if reassociate else False
    try:
        return numba.njit(loop, nogil=True, cache=True, fastmath=fastmath)
    except RuntimeError:  # no writable place for the cache: compile anew in each process
        return numba.njit(loop, nogil=True, fastmath=fastmath)
