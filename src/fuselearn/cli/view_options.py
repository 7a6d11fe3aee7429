"""Which columns are a view: from repeated ``--view NAME=GLOB``, from a TOML file, or guessed from prefixes."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from fuselearn.cli.refusal import refuse


def views_of(view_options, views_file, columns):
    """Views as a dict of name to column names, and how they were found.

    Parameters
    ----------
    view_options : list of str
        ``NAME=GLOB``, where the glob may be a list with commas, and a range ``FIRST:LAST`` takes all columns between.
    views_file : str or None
        TOML with a table ``[views]`` of name to glob, list of globs, or table with ``columns``.
    columns : list of str
        Columns of the data, without target and id.

    Returns
    -------
    views : dict of str to list of str
    how : str
    """
    if view_options and views_file:
        refuse("--view and --views cannot be given both.")
    if views_file:
        chosen = _from_file(views_file)
        return {name: _matching(name, globs, columns, views_file) for name, globs in chosen.items()}, "from the file"
    if view_options:
        chosen = [_pair(option) for option in view_options]
        names = [name for name, _ in chosen]
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            refuse(f"--view names {repeated[0]!r} more than once.")
        return {name: _matching(name, globs, columns, "--view") for name, globs in chosen}, "as given"
    return _guessed(columns)


def _pair(option):
    name, sign, globs = option.partition("=")
    if not (name and sign and globs):
        refuse(f"--view takes NAME=GLOB, such as rna='rna_*'; got {option!r}.")
    return name, globs.split(",")


def _from_file(path):
    import tomllib

    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        refuse(f"--views: {path} cannot be read: {error}")
    except tomllib.TOMLDecodeError as error:
        refuse(f"--views: {path} is not TOML: {error}")
    views = content.get("views")
    if not isinstance(views, dict) or not views:
        refuse(f'--views: {path} needs a table [views], such as: rna = "rna_*".')
    return {name: _globs(name, value, path) for name, value in views.items()}


def _globs(name, value, path):
    if isinstance(value, dict):
        unknown = sorted(set(value) - {"columns"})
        if unknown:
            refuse(f"--views: {path} has the unknown setting {unknown[0]!r} for the view {name!r}.")
        value = value.get("columns")
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not value or not all(isinstance(glob, str) for glob in value):
        refuse(f"--views: {path} must give the view {name!r} a glob or a list of globs.")
    return value


def _matching(name, globs, columns, source):
    found = []
    for glob in globs:
        first, sign, last = glob.partition(":")
        if glob in columns:
            own = [glob]
        elif sign and first in columns and last in columns:
            own = columns[columns.index(first) : columns.index(last) + 1]
        else:
            own = [column for column in columns if fnmatchcase(column, glob)]
        if not own:
            refuse(f"{source}: no column of the data matches {glob!r} of the view {name!r}.")
        found += [column for column in own if column not in found]
    return found


def _guessed(columns):
    """Views by what stands before the first ``_``, ``.``, ``-`` or digit, where that makes at least two groups."""
    groups = {}
    for column in columns:
        groups.setdefault(re.split(r"[_.\-]|\d", column, maxsplit=1)[0] or column, []).append(column)
    large = {name: own for name, own in groups.items() if len(own) > 1}
    alone = [column for own in groups.values() if len(own) == 1 for column in own]
    if not large or len(large) + bool(alone) < 2:
        return {"all": list(columns)}, "no prefixes to guess views from: one view of all columns"
    if alone:
        large["other"] = alone
    return large, "guessed from the columns' prefixes"
