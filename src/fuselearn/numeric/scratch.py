"""Memory that is used again.

A fresh array of some megabytes costs more than the arithmetic of a small kernel machine: the system hands it out page
by page, each zeroed. A run of many machines keeps its arrays instead.
"""

import threading
from math import prod

import numpy as np


class Scratch(threading.local):
    """Arrays by name, each thread with its own; they live as long as this object.

    Examples
    --------
    >>> scratch = Scratch()
    >>> products = scratch.array("products", (2, 3))
    >>> products.shape, scratch.array("products", (3, 1)).base is products.base
    ((2, 3), True)
    """

    def __init__(self):
        self._buffers = {}

    def array(self, name, shape, kind=np.float64):
        """A C-contiguous array with anything in it; the last one of that name and kind is overwritten."""
        size, key = prod(shape), (name, kind)
        if key not in self._buffers or len(self._buffers[key]) < size:
            self._buffers[key] = np.empty(size, dtype=kind)
        return self._buffers[key][:size].reshape(shape)
