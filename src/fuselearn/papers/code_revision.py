"""The revision of the code that an experiment ran with."""

import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path

import fuselearn

CHANGED = " with changes"


@cache
def code_revision(package: Path | None = None) -> str:
    """Return the last commit that changed the package, or a checksum of its files where there is no repository.

    Parameters
    ----------
    package : Path or None, default=None
        Folder of the package; None is that of fuselearn.

    Returns
    -------
    str
        Such as ``"4f0c2a91d3"``, followed by ``" with changes"`` where files differ from that commit; or
        ``"files 9d3a71c0be"``.

    Examples
    --------
    >>> code_revision() == code_revision()
    True
    """
    folder = Path(fuselearn.__file__).parent if package is None else package
    commit = _git(folder, "log", "-1", "--format=%h", "--abbrev=10", "--", ".")
    if not commit:
        return f"files {_checksum(folder)[:10]}"
    return commit + (CHANGED if _git(folder, "status", "--porcelain", "--", ".") else "")


def _git(folder: Path, *arguments: str) -> str:
    """Return what git says about a folder, "" where it says nothing or is not there."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def _checksum(folder: Path) -> str:
    """Return a checksum of the names and contents of the Python files of a folder."""
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
