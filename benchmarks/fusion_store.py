"""Finished fits of `fusion.py` in a file, so that a run that was interrupted goes on."""

import hashlib
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.fusion_methods import peer_versions
from fuselearn import fusion
from fuselearn.evaluation.result_store import CellStore

PACKAGES = ("backends", "boosting", "classifiers", "consensus", "data", "fusion", "learners", "numeric")
"""Packages whose source decides what FusionClassifier does."""


def source_of_ours():
    """Return a hash of FusionClassifier's source, so that fits of a changed one are not mixed with others."""
    package = Path(fusion.__file__).parents[1]
    files = sorted(path for name in PACKAGES for path in (package / name).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def open_store(path, protocol):
    """Return the store of finished fits, in a file where one is named; it must have the same versions and protocol."""
    versions = {package: version(package) for package in ("fuselearn", "scikit-learn", "numpy")}
    versions |= {name.lower(): number for name, number in peer_versions().items()}
    header = {"protocol": protocol, "versions": versions}
    try:
        return CellStore(path, header)
    except ValueError as error:
        sys.exit(f"--keep: {error}")
