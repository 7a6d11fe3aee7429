"""Steps of one task in compiled loops, whose chunks go to whichever thread of a team comes first.

To hand a step to the threads of a pool and to wait for them takes some 50 microseconds, and several times that for
many threads: longer than a small leaf of a tree takes. Here a step takes about one. One thread leads: it publishes the
chunks of a step, takes some of them itself, and goes on once all are done. The others look again and again for chunks
to take, and after a while let others run between two looks, for a processor may have fewer cores to spare than there
are threads. The leader waits for nobody who has not taken a chunk: a thread that does not run costs nothing but its
help.
"""

import ctypes
import sys
from typing import Any

from fuselearn.numeric.execution import compiled, made_for_loops
from fuselearn.typing import IntArray

CACHE_LINE = 8
"""Numbers of 64 bits that the caches of processors exchange together."""
TICKET, DONE, ENDED = (CACHE_LINE * place for place in range(3))
TEAM_SIZE = 3 * CACHE_LINE
"""Places in the array of a team: the next chunk, how many of the step are done, and whether the task has ended, or a
thread has failed."""
CHUNK_BITS = 20
"""A ticket holds the number of the step, that of its chunks, and that of the next chunk: all three change at once. So
a thread that comes late cannot take a chunk of one step for that of another."""
LOOKS = 2000
"""Looks, some microseconds of them, before a thread lets others run."""
YIELD = "fuselearn_yield"
"""Name by which compiled code calls the system's function that lets other threads run."""


def _exchange(operation: str) -> Any:
    """Return the function that changes a number of an array in one step, and returns what was there."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    @intrinsic
    def change(typing_context: Any, array: Any, place: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            struct = make_array(array)(context, builder, arguments[0])
            pointer = cgutils.get_item_pointer(context, builder, array, struct, [arguments[1]])
            return builder.atomic_rmw(operation, pointer, arguments[2], "seq_cst")

        return types.int64(array, types.intp, types.int64), code

    return change


@made_for_loops
def atomic_add() -> Any:
    """Return the function ``atomic_add(array, place, number)``, which adds to an int64 and returns what was there."""
    return _exchange("add")


@made_for_loops
def atomic_set() -> Any:
    """Return the function ``atomic_set(array, place, number)``, which sets an int64 and returns what was there."""
    return _exchange("xchg")


@made_for_loops
def atomic_get() -> Any:
    """Return the function ``atomic_get(array, place)``, which returns an int64 as other threads have left it."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    @intrinsic
    def get(typing_context: Any, array: Any, place: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
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
    def give_way(typing_context: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), YIELD)
            return builder.call(function, [])

        return types.int32(), code

    return give_way


@compiled()
def publish_step(team: IntArray, n_chunks: int) -> None:
    """Let all threads of a team take chunks of a new step; those of the last one are done.

    Parameters
    ----------
    team : int64 ndarray of shape (24,)
        See `fuselearn.numeric.threads.Threads.lead`.
    n_chunks : int
        Number of chunks, below 2²⁰.
    """
    atomic_set(team, DONE, 0)
    step = (atomic_get(team, TICKET) >> (2 * CHUNK_BITS)) + 1
    atomic_set(team, TICKET, (step << (2 * CHUNK_BITS)) + (n_chunks << CHUNK_BITS))


@compiled()
def take_chunk(team: IntArray) -> int:
    """Return the number of a chunk that nobody else has taken; -1 where none is left."""
    ticket = atomic_add(team, TICKET, 1)
    chunk, n_chunks = ticket & ((1 << CHUNK_BITS) - 1), (ticket >> CHUNK_BITS) & ((1 << CHUNK_BITS) - 1)
    return chunk if chunk < n_chunks else -1


@compiled()
def finish_chunk(team: IntArray) -> None:
    """Note that a chunk is done."""
    atomic_add(team, DONE, 1)


@compiled()
def all_done(team: IntArray, n_chunks: int) -> bool:
    """Wait until all chunks of a step are done; return whether they are, which they never will be if a thread fails.

    An exception would not do: compiled code that raises one never frees its arrays.
    """
    looks = 0
    while atomic_get(team, DONE) < n_chunks:
        if atomic_get(team, ENDED) != 0:
            return False
        looks += 1
        if looks > LOOKS:
            let_others_run()
    return True


@compiled()
def next_step(team: IntArray, last: int) -> int:
    """Wait for a step that comes after the last one, and return its number; -1 once the task has ended."""
    looks = 0
    while atomic_get(team, ENDED) == 0:
        step = atomic_get(team, TICKET) >> (2 * CHUNK_BITS)
        if step != last:
            return step
        looks += 1
        if looks > LOOKS:
            let_others_run()
    return -1
