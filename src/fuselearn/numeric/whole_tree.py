"""The growth of a whole tree in one call, best leaf first, on rows in memory.

It makes the splits that `fuselearn.boosting.gradient.growth` makes leaf by leaf, wherever the rows are. A small leaf
takes less time than the way to it and back through the interpreter: on tables of few columns that is most of the time.
"""

import numpy as np

from fuselearn.numeric.execution import SERIAL, Threads
from fuselearn.numeric.gradient_loops import grow_loop
from fuselearn.numeric.growth_arrays import CountedRows, GrowthMemory, Nodes, SplitRules
from fuselearn.typing import IntArray


def grow_whole_tree(counted: CountedRows, rules: SplitRules, memory: GrowthMemory, threads: Threads = SERIAL) -> Nodes:
    """Grow a tree.

    Parameters
    ----------
    counted : CountedRows
        The rows, which are sorted by leaf.
    rules : SplitRules
        What splits have to keep to.
    memory : GrowthMemory
        Memory to work in; the result is a part of it, until the next tree.
    threads : Threads, default=SERIAL
        Threads that share the columns, and the rows of large leaves; the tree is the same for any number of them.

    Returns
    -------
    Nodes
        The nodes in the order in which they were made: the root, then both children of each split.
    """
    step, n_left = np.zeros(2, dtype=np.intp), np.zeros(threads.count, dtype=np.intp)
    n_nodes = np.zeros(threads.count, dtype=np.intp)

    def work(thread: int, barrier: IntArray) -> None:
        n_nodes[thread] = grow_loop(
            counted, rules, memory.nodes, memory.histograms, memory.space, memory.max_leaf_nodes, step, n_left, thread,
            threads.count, barrier,
        )  # fmt: skip

    threads.together(work)
    return memory.nodes.first(int(n_nodes[0]))
