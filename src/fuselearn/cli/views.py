"""Which columns are a view: from repeated ``--view NAME=GLOB``, from a TOML file, or guessed from prefixes."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from fuselearn.cli.errors import refuse
from fuselearn.cli.files import blank_hint

SETTINGS = ("columns", "learner", "preprocess", "categorical")
"""What the table of a view in a TOML file may hold."""
CATEGORICAL = ("onehot", "target", "none")
"""How text becomes numbers. With "none" a view holds numbers only."""


@dataclass(frozen=True)
class ViewChoice:
    """A view as the user chose it.

    Attributes
    ----------
    columns : list of str
    learner : str or None
        Name of a weak learner or classifier, see :mod:`fuselearn.cli.methods`; None is the method's own.
    preprocess : list of str
        Named steps, see :mod:`fuselearn.tables.view_preparation`.
    categorical : str or None
        One of `CATEGORICAL`; None is what ``--categorical`` says.
    """

    columns: list[str]
    learner: str | None = None
    preprocess: tuple[str, ...] = ()
    categorical: str | None = None


def views_of(view_options, views_file, columns, reserved=None):
    """Views as a dict of name to column names, and how they were found; see :func:`choose_views`."""
    choices, how = choose_views(view_options, views_file, columns, reserved)
    return {name: choice.columns for name, choice in choices.items()}, how


def choose_views(view_options, views_file, columns, reserved=None):
    """Views as the user chose them, and how they were found.

    Parameters
    ----------
    view_options : list of str
        ``NAME=GLOB``, where the glob may be a list with commas, and a range ``FIRST:LAST`` takes all columns between.
    views_file : str or None
        TOML with a table ``[views]`` of name to glob, list of globs, or table with `SETTINGS`.
    columns : list of str
        Columns of the data, without target and id.
    reserved : dict of column name to what it is, default=None
        Columns that no view may name, such as ``{"outcome": "the target"}``.

    Returns
    -------
    choices : dict of str to ViewChoice
    how : str
    """
    reserved = reserved or {}
    if view_options and views_file:
        refuse("--view and --views cannot be given both.")
    if views_file:
        chosen = _from_file(views_file)
        return {
            name: ViewChoice(
                _matching(name, settings.pop("columns"), columns, f"--views {views_file}", reserved), **settings
            )
            for name, settings in chosen.items()
        }, "from the file"
    if view_options:
        chosen = [_pair(option) for option in view_options]
        names = [name for name, _ in chosen]
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            refuse(f"--view names {repeated[0]!r} more than once; list its globs with commas: {repeated[0]}=A,B.")
        return {
            name: ViewChoice(_matching(name, globs, columns, "--view", reserved)) for name, globs in chosen
        }, "as given"
    views, how = _guessed(columns)
    return {name: ViewChoice(own) for name, own in views.items()}, how


def _pair(option):
    name, sign, globs = option.partition("=")
    if not (name and sign and globs):
        refuse(f"--view takes NAME=GLOB, such as rna='rna_*'; got {option!r}.")
    return name, globs.split(",")


def _from_file(path):
    import tomllib

    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        refuse(f"--views: {path} cannot be read: {error.strerror or error}.")
    except UnicodeDecodeError:
        refuse(f"--views: {path} cannot be read: it is not UTF-8, which TOML must be.")
    except tomllib.TOMLDecodeError as error:
        refuse(f"--views: {path} is not TOML: {error}.")
    views = content.get("views")
    if not isinstance(views, dict) or not views:
        refuse(f'--views: {path} needs a table [views], such as: rna = "rna_*".')
    others = [key for key in content if key != "views"]
    if others:
        refuse(f"--views: {path} has the unknown key {others[0]!r} beside [views]; name views inside [views].")
    return {name: _settings(name, value, path) for name, value in views.items()}


def _settings(name, value, path):
    own = dict(value) if isinstance(value, dict) else {"columns": value}
    for key in own:
        if key not in SETTINGS:
            near = get_close_matches(key, SETTINGS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(SETTINGS)}."
            refuse(f"--views: {path} has the unknown setting {key!r} for the view {name!r}{hint}")
    own["columns"] = _texts(own.get("columns"))
    if not own["columns"]:
        refuse(f"--views: {path} must give the view {name!r} a glob or a list of globs, as columns.")
    if "learner" in own:
        from fuselearn.cli.methods import LEARNERS

        if own["learner"] not in LEARNERS:
            refuse(
                f"--views: {path} gives the view {name!r} the learner {own['learner']!r}; known are "
                f"{', '.join(LEARNERS)}."
            )
    if "preprocess" in own:
        from fuselearn.tables.view_preparation import KNOWN, is_step

        own["preprocess"] = _texts(own["preprocess"])
        wrong = [step for step in own["preprocess"] or [value["preprocess"]] if not is_step(step)]
        if wrong:
            refuse(f"--views: {path} gives the view {name!r} the preprocess {wrong[0]!r}; known are {KNOWN}.")
        own["preprocess"] = tuple(own["preprocess"])
    if own.get("categorical", "onehot") not in CATEGORICAL:
        refuse(
            f"--views: {path} gives the view {name!r} categorical = {own['categorical']!r}; known are "
            f"{', '.join(CATEGORICAL)}."
        )
    return own


def _texts(value):
    """One text or a list of them as a list; None if it is neither."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        return None
    return value


def _matching(name, globs, columns, source, reserved):
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
            # A glob that has other columns too leaves these out without a word; to name one is a mistake.
            taken = [column for column in reserved if column in (glob, first, last) or fnmatchcase(column, glob)]
            if taken:
                refuse(
                    f"{source}: the view {name!r} has {taken[0]!r}, which is {reserved[taken[0]]}; leave it out of "
                    "the view."
                )
            near = get_close_matches(glob, columns, n=1)
            hint = blank_hint(glob, columns) or (f" Did you mean {near[0]!r}?" if near else "")
            refuse(f"{source}: no column of the data matches {glob!r} of the view {name!r}.{hint}")
        found += [column for column in own if column not in found]
    return found


def _prefix(name):
    """What stands before the first ``_``, ``.`` or ``-``; before the first digit only where there is none of these."""
    parting = r"[_.\-]" if re.search(r"[_.\-]", name) else r"\d"
    return re.split(parting, name, maxsplit=1)[0] or name


def _guessed(columns):
    """Views by prefixes of the names, where that makes at least two groups."""
    # A column without a name is the row number that some programs write.
    named = [column for column in columns if column.strip()]
    left_out = " (a column without a name is left out)" if len(named) < len(columns) else ""
    groups = {}
    for column in named:
        groups.setdefault(_prefix(column.strip()), []).append(column)
    large = {name: own for name, own in groups.items() if len(own) > 1}
    alone = [column for own in groups.values() if len(own) == 1 for column in own]
    if not large or len(large) + bool(alone) < 2:
        return {"all": named}, f"no prefixes to guess views from: one view of all columns{left_out}"
    if alone:
        large["other"] = [*large.pop("other", []), *alone]
    return large, f"guessed from the columns' prefixes{left_out}"
