"""Kernels of views whose objects are matched, partly matched or not matched at all."""
