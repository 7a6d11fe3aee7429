"""How much memory rows that are read from files may take."""

import os
import re
from contextlib import suppress
from pathlib import Path

VARIABLE = "FUSELEARN_MEMORY_LIMIT"
UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4} | {
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}
WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


def memory_limit():
    """Bytes, as the environment variable FUSELEARN_MEMORY_LIMIT says; else half of the memory that there is.

    That is the machine's, or what a container or a job of a cluster may take of it.

    Examples
    --------
    >>> os.environ[VARIABLE] = "1.5 GiB"
    >>> memory_limit()
    1610612736
    >>> del os.environ[VARIABLE]
    """
    written = os.environ.get(VARIABLE)
    if not written:
        return min([_memory_of_the_machine(), *_limits_of_groups()]) // 2
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


def _limits_of_groups(root="/"):
    """Limits of the control groups that this process is in (of Linux, both versions of them), outermost last."""
    try:
        lines = Path(root, "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    limits = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        mounted, name = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        top = Path(root, "sys/fs/cgroup", mounted)
        inner = top / group.lstrip("/")
        # Inside a container the group's own folder may not be there, and the top is the container's.
        for folder in (inner, *inner.parents):
            with suppress(OSError, ValueError):  # "max" says that there is none
                limits.append(int((folder / name).read_text()))
            if folder == top:
                break
    return limits
