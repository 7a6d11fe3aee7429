"""Settings, versions, code and command line that reproduce the model and the report, and facts of the file."""

import functools
import inspect
import platform
import shlex
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral, Real

from fuselearn._version import __version__
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.reporting.report_rows import Record
from fuselearn.typing import IntArray

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "skops", "jinja2")
MAX_VALUE_LENGTH = 120
MAX_VIEWS_IN_CODE = 12


def settings_of(model: FittedModel) -> list[Record]:
    """Return the settings of the model: name, value as code, and whether it is the default."""
    defaults = _defaults_of(model)
    records = []
    for name, value in model.get_params(deep=False).items():
        is_default = _same(value, defaults.get(name))
        shown = f"{len(model.view_names_)} views, see Views" if name == "views" and not is_default else _short(value)
        records.append({"name": name, "value": shown, "default": is_default})
    return records


def versions() -> list[Record]:
    """Return the versions of the software that computed the report."""
    records = [
        {"name": "fuselearn", "version": __version__},
        {"name": "Python", "version": platform.python_version()},
    ]
    records += [{"name": package, "version": number} for package, number in _installed_packages().items()]
    return [*records, {"name": "system", "version": f"{platform.system()} {platform.machine()}"}]


@functools.cache  # reading the descriptions of packages takes a tenth of a report's time
def _installed_packages() -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    numbers = {}
    for package in PACKAGES:
        try:
            numbers[package] = version(package)
        except PackageNotFoundError:
            continue
    return numbers


def code_to_reproduce(model: FittedModel, *, labelled: bool, with_ids: bool) -> str:
    """Return Python code that fits such a model and makes such a report."""
    defaults = _defaults_of(model)
    settings = []
    for name, value in model.get_params(deep=False).items():
        if _same(value, defaults.get(name)):
            continue
        code = _views_as_code(model) if name == "views" else repr(value)
        fits = name == "views" or len(code) <= MAX_VALUE_LENGTH
        settings.append(f"    {name}={code}," if fits else f"    {name}=...,  # see Settings")
    arguments = ", ".join(["model", "X", *(["y"] if labelled else []), *(["ids=ids"] if with_ids else [])])
    return "\n".join(
        [
            "import fuselearn",
            "",
            f"model = fuselearn.{type(model).__name__}(",
            *settings,
            ").fit(X_train, y_train)",
            'fuselearn.save(model, "model.fuse")',
            "",
            f"# {'X and y: rows' if labelled else 'X: rows'} that the model has not seen.",
            f'fuselearn.FitReport({arguments}).save("report.html")',
        ]
    )


def command_to_reproduce(note: Record | None) -> str:
    """Return the command line that makes such a report from files, with the command of the fit if `note` has it."""
    command = note.get("command") if isinstance(note, dict) else None
    if isinstance(command, list | tuple):
        command = shlex.join(map(str, command))
    elif not isinstance(command, str):
        command = "fuselearn fit train.csv --target TARGET --views views.toml --output model.fuse"
    return f"{command}\nfuselearn report model.fuse --data held_out.csv --output report.html"


def file_facts(note: Record | None, model: FittedModel) -> Record:
    """Return what ``note["file"]`` says about the file that the rows come from.

    The columns of a model may differ from those of the file: text becomes numbers, which have no gaps. ``"columns"``
    and ``"gaps"`` are in the order of the model's views, and None unless they are given for every view; so are
    ``"sources"``, the column of the file that each column of the model comes from, unless they are given for all.
    """
    facts = (note or {}).get("file")
    facts = facts if isinstance(facts, dict) else {}
    n_skipped, sources = facts.get("rows_left_out"), facts.get("sources")
    if not isinstance(sources, list) or len(sources) != getattr(model, "n_features_in_", None):
        sources = None
    return {
        "columns": _values_by_view(facts.get("columns_per_view"), model, Integral),
        "gaps": _values_by_view(facts.get("gaps_per_view"), model, Real),
        "sources": sources and [str(name) for name in sources],
        "rows_left_out": int(n_skipped) if isinstance(n_skipped, Integral) and int(n_skipped) > 0 else 0,
    }


def _defaults_of(model: FittedModel) -> Record:
    """Return the default of each setting of a model."""
    return {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}


def _views_as_code(model: FittedModel) -> str:
    """Return a dict of the views as code."""
    views = list(zip(model.view_names_, model.view_columns_))
    lines = [f"        {name!r}: {_columns_as_code(columns)}," for name, columns in views[:MAX_VIEWS_IN_CODE]]
    if len(views) > MAX_VIEWS_IN_CODE:
        lines.append(f"        # and {len(views) - MAX_VIEWS_IN_CODE} more views")
    return "\n".join(["{", *lines, "    }"])


def _columns_as_code(columns: IntArray) -> str:
    """Return a slice or a list of column numbers as code."""
    numbers = [int(column) for column in columns]
    first, last = numbers[0], numbers[-1]
    if numbers == list(range(first, last + 1)) and len(numbers) > 2:
        return f"slice({first}, {last + 1})"
    return repr(numbers) if len(numbers) <= 12 else f"[{', '.join(map(str, numbers[:8]))}, ...]"


def _same(value: object, default: object) -> bool:
    """Return True if a setting has its default."""
    if value is default:
        return True
    try:
        return type(value) is type(default) and bool(value == default)
    except (TypeError, ValueError):
        return False


def _short(value: object) -> str:
    """Return a value as code on one line, cut if it is long."""
    code = " ".join(repr(value).split())
    return code if len(code) <= MAX_VALUE_LENGTH else f"{code[: MAX_VALUE_LENGTH - 1]}…"


def _values_by_view(values: object, model: FittedModel, kind: type) -> list[float | None] | None:
    """Return a value for each view of the model; None unless all are there."""
    if not isinstance(values, dict):
        return None
    in_order = [values.get(name) for name in model.view_names_]
    return in_order if all(isinstance(value, kind) for value in in_order) else None
