"""How much memory rows that are read from files may take."""

import os
import re

VARIABLE = "FUSELEARN_MEMORY_LIMIT"
UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4} | {
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}
WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


def memory_limit():
    """Bytes, as the environment variable FUSELEARN_MEMORY_LIMIT says; else half of the machine's memory.

    Examples
    --------
    >>> os.environ[VARIABLE] = "1.5 GiB"
    >>> memory_limit()
    1610612736
    >>> del os.environ[VARIABLE]
    """
    written = os.environ.get(VARIABLE)
    if not written:
        return _memory_of_the_machine() // 2
    match = WRITTEN.fullmatch(written)
    size = 0 if match is None else int(float(match[1]) * UNITS[match[2].upper()])
    if size < 2**20:
        raise ValueError(f"{VARIABLE} must be a size of at least 1 MiB, like '8 GiB' or '500 MB'; got {written!r}.")
    return size


def _memory_of_the_machine():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not POSIX
        return 8 * 2**30
