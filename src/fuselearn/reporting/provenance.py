"""What it takes to make the model and the report again: settings, versions, code and command line.

What a caller tells of the file that rows come from.

A model may see other columns than the file has: text is put into numbers, which have no gaps any more. What is said of
columns and gaps is then to be that of the file.
"""

import inspect
import platform
import shlex
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral, Real

from fuselearn._version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "skops", "jinja2")
LONGEST_VALUE = 120
MOST_VIEWS_IN_CODE = 12


def settings_of(model):
    """Settings of the model: name, value as code, and whether it is the default."""
    defaults = {name: one.default for name, one in inspect.signature(type(model)).parameters.items()}
    records = []
    for name, value in model.get_params(deep=False).items():
        default = _same(value, defaults.get(name))
        shown = f"{len(model.view_names_)} views, see Views" if name == "views" and not default else _short(value)
        records.append({"name": name, "value": shown, "default": default})
    return records


def versions():
    """Versions of what computed the report."""
    found = [{"name": "fuselearn", "version": __version__}]
    found.append({"name": "Python", "version": platform.python_version()})
    for package in PACKAGES:
        try:
            found.append({"name": package, "version": version(package)})
        except PackageNotFoundError:
            continue
    found.append({"name": "system", "version": f"{platform.system()} {platform.machine()}"})
    return found


def code_to_reproduce(model, *, labelled, with_ids):
    """Python that fits such a model and makes such a report."""
    name = type(model).__name__
    defaults = {name: one.default for name, one in inspect.signature(type(model)).parameters.items()}
    given = []
    for setting, value in model.get_params(deep=False).items():
        if _same(value, defaults.get(setting)):
            continue
        shown = _views_as_code(model) if setting == "views" else repr(value)
        fits = setting == "views" or len(shown) <= LONGEST_VALUE
        given.append(f"    {setting}={shown}," if fits else f"    {setting}=...,  # see Settings")
    arguments = ", ".join(["model", "X", *(["y"] if labelled else []), *(["ids=ids"] if with_ids else [])])
    return "\n".join(
        [
            "import fuselearn",
            "",
            f"model = fuselearn.{name}(",
            *given,
            ").fit(X_train, y_train)",
            'fuselearn.save(model, "model.fuse")',
            "",
            f"# {'X and y: rows' if labelled else 'X: rows'} that the model has not seen.",
            f'fuselearn.FitReport({arguments}).save("report.html")',
        ]
    )


def command_to_reproduce(note):
    """Command line that makes such a report from files; the model's own command where `note` tells it."""
    command = note.get("command") if isinstance(note, dict) else None
    lines = []
    if isinstance(command, str):
        lines.append(command)
    elif isinstance(command, list | tuple):
        lines.append(shlex.join(map(str, command)))
    else:
        lines.append("fuselearn fit train.csv --target TARGET --views views.toml --output model.fuse")
    lines.append("fuselearn report model.fuse --data held_out.csv --output report.html")
    return "\n".join(lines)


def _views_as_code(model):
    named = list(zip(model.view_names_, model.view_columns_))
    lines = [f"        {name!r}: {_columns_as_code(columns)}," for name, columns in named[:MOST_VIEWS_IN_CODE]]
    if len(named) > MOST_VIEWS_IN_CODE:
        lines.append(f"        # and {len(named) - MOST_VIEWS_IN_CODE} more views")
    return "\n".join(["{", *lines, "    }"])


def _columns_as_code(columns):
    columns = [int(column) for column in columns]
    first, last = columns[0], columns[-1]
    if columns == list(range(first, last + 1)) and len(columns) > 2:
        return f"slice({first}, {last + 1})"
    return repr(columns) if len(columns) <= 12 else f"[{', '.join(map(str, columns[:8]))}, ...]"


def _same(value, default):
    if value is default:
        return True
    try:
        return type(value) is type(default) and bool(value == default)
    except (TypeError, ValueError):
        return False


def _short(value):
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[: LONGEST_VALUE - 1]}…"


def file_facts(note, model):
    """Columns, gaps and rows left out, as ``note["file"]`` tells.

    Parameters
    ----------
    note : dict or None
    model : fitted classifier with views

    Returns
    -------
    dict
        ``columns`` and ``gaps``: lists in the order of the model's views, None where they are not told of every view;
        ``rows_left_out``: int.
    """
    told = (note or {}).get("file")
    told = told if isinstance(told, dict) else {}
    n = told.get("rows_left_out")
    columns = _by_view(told.get("columns_per_view"), model, Integral)
    return {
        "columns": columns,
        "gaps": _by_view(told.get("gaps_per_view"), model, Real),
        "rows_left_out": int(n) if isinstance(n, Integral) and n > 0 else 0,
    }


def _by_view(told, model, kind):
    if not isinstance(told, dict):
        return None
    values = [told.get(name) for name in model.view_names_]
    return values if all(isinstance(value, kind) for value in values) else None
