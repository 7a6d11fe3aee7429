"""A barrier in compiled loops: threads that share the steps of one task wait there for each other.

To hand a step to the threads of a pool and to wait for them takes some 50 microseconds, and several times that for
many threads: longer than a small leaf of a tree takes. At a barrier threads wait for about one. They look again and
again whether the last one has come, and after a while let others run between two looks, for a processor may have fewer
cores to spare than there are threads.
"""

import ctypes
import sys
from typing import Any

from fuselearn.numeric.execution import compiled, made_for_loops
from fuselearn.typing import IntArray

CACHE_LINE = 8
"""Numbers of 64 bits that the caches of processors exchange together."""
ARRIVED, GENERATION, STOPPED = (CACHE_LINE * place for place in range(3))
BARRIER_SIZE = 3 * CACHE_LINE
"""Places in the array of a barrier: threads that have arrived, how often all had, and whether one has given up."""
LOOKS = 2000
"""Looks, some microseconds of them, before a thread lets others run."""
YIELD = "fuselearn_yield"
"""Name by which compiled code calls the system's function that lets other threads run."""


@made_for_loops
def atomic_add() -> Any:
    """Return the function ``atomic_add(array, place, number)``, which adds to an int64 and returns what was there."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    @intrinsic
    def add(typing_context, array, place, number):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            struct = make_array(array)(context, builder, arguments[0])
            pointer = cgutils.get_item_pointer(context, builder, array, struct, [arguments[1]])
            return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

        return types.int64(array, types.intp, types.int64), code

    return add


@made_for_loops
def atomic_get() -> Any:
    """Return the function ``atomic_get(array, place)``, which returns an int64 as other threads have left it."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    @intrinsic
    def get(typing_context, array, place):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            struct = make_array(array)(context, builder, arguments[0])
            pointer = cgutils.get_item_pointer(context, builder, array, struct, [arguments[1]])
            return builder.load_atomic(pointer, "seq_cst", 8)

        return types.int64(array, types.intp), code

    return get


@made_for_loops
def let_others_run() -> Any:
    """Return the function ``let_others_run()``, which gives way to other threads of the system."""
    from llvmlite import binding, ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    if sys.platform == "win32":
        system = ctypes.WinDLL("kernel32").SwitchToThread
    else:
        system = ctypes.CDLL(None).sched_yield
    address = ctypes.cast(system, ctypes.c_void_p).value
    assert address is not None
    binding.add_symbol(YIELD, address)

    @intrinsic
    def give_way(typing_context):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), YIELD)
            return builder.call(function, [])

        return types.int32(), code

    return give_way


@compiled()
def all_arrive(barrier: IntArray, n_threads: int) -> bool:
    """Wait until so many threads have arrived; return whether they have, which they never will if one has given up.

    An exception would not do: compiled code that raises one never frees its arrays.

    Parameters
    ----------
    barrier : int64 ndarray
        See `fuselearn.numeric.threads.Threads.together`.
    n_threads : int
        Number of threads.
    """
    if n_threads == 1:
        return True
    if atomic_get(barrier, STOPPED) != 0:  # who arrives late must not let others pass
        return False
    generation = atomic_get(barrier, GENERATION)
    if atomic_add(barrier, ARRIVED, 1) == n_threads - 1:
        atomic_add(barrier, ARRIVED, -n_threads)
        atomic_add(barrier, GENERATION, 1)
        return True
    looks = 0
    while atomic_get(barrier, GENERATION) == generation:
        if atomic_get(barrier, STOPPED) != 0:
            return False
        looks += 1
        if looks > LOOKS:
            let_others_run()
    return True
