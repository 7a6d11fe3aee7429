"""Benchmarks of fuselearn, one question per script. See README.md beside this file.

Every comparison is of one thread with one thread unless a script says otherwise. The native thread pools read their
size from the environment when they are loaded, so it is set here, before any script imports NumPy.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[variable] = "1"
