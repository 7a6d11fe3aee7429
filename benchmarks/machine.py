"""Description of the machine that the figures were measured on."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("fuselearn", "numpy", "scikit-learn", "numba", "lightgbm")


def description():
    """Return processor, cores, Python and the versions that matter, as one Markdown paragraph."""
    return (
        f"{cpu_model()}, {n_cores()} cores, {platform.system()}, Python {platform.python_version()}; "
        + ", ".join(f"{package} {_version(package)}" for package in PACKAGES)
        + "."
    )


def commit():
    """Return the commit that is measured, and whether the sources differ from it."""
    root = Path(__file__).resolve().parent.parent
    name = _git(root, "rev-parse", "--short=10", "HEAD") or "unknown"
    changed = _git(root, "status", "--porcelain", "--", "src", "benchmarks/*.py")
    return f"{name} with changes" if changed else name


def n_cores():
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def cpu_model():
    """Return the name of the processor, as the system reports it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _git(root, *arguments):
    finished = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return finished.stdout.strip()


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
