"""Settings, versions, code and command line that reproduce the model and the report, and facts of the file."""

import functools
import inspect
import platform
import pprint
import shlex
import textwrap
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, clone

from fuselearn._version import __version__
from fuselearn.inspection.fitted_model import FittedModel
from fuselearn.reporting.report_rows import Record, columns_of, has_views_of
from fuselearn.reporting.sentences import joined
from fuselearn.tables import ViewColumns
from fuselearn.typing import IntArray

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "skops", "jinja2")
MAX_VALUE_LENGTH = 120


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


def code_to_reproduce(
    given: FittedModel, model: FittedModel, note: Record | None, *, labelled: bool, with_ids: bool
) -> str | None:
    """Return Python code that makes such a report: of a model of the command line from its files, else by fitting one.

    `given` is the model of the report, and `model` the one with the matrix of numbers inside it, or the same. None
    where the file is to be joined with others, or read in a way that is that of the command line.
    """
    note = note if isinstance(note, dict) else {}
    file = _file_of(note)
    if isinstance(note.get("command"), list | tuple) and note.get("target"):
        if note.get("on") or file.get("reading", {}) is None:
            return None
        return _code_from_files(model, note, labelled=labelled)
    if file.get("name"):
        return None  # the command line has read the file for a model that was fitted in Python
    arguments = ", ".join(["model", "X", *(["y"] if labelled else []), *(["ids=ids"] if with_ids else [])])
    lines = _code_of_fit(given, model)
    names = ["X", *(["y"] if labelled else []), *(["ids"] if with_ids else [])]
    return "\n".join(
        [
            *lines,
            "",
            f"# {joined(names)}: rows that the model has not seen.",
            f'{_report_of(model)}({arguments}).save("report.html")',
        ]
    )


def _report_of(model: FittedModel) -> str:
    """Return the name of the report that a model has."""
    return "fuselearn.FitReport" if hasattr(model, "classes_") else "fuselearn.reporting.RegressionReport"


def _code_of_fit(given: FittedModel, model: FittedModel) -> list[str]:
    """Return lines of code that fit such a model or, where its settings cannot be written as code, load it."""
    always = "import fuselearn" if hasattr(model, "classes_") else "import fuselearn.reporting"
    imports = {always}
    # Around a model there may be one that makes its columns: to fit the inner one alone would need these.
    if given is model:
        code = _model_as_code(model, imports)
    elif columns_of(given) is not None:
        code = _table_model_as_code(given, imports)
    else:
        code = _as_code(given, imports)
    if code is None:
        return [always, "", 'model = fuselearn.load("model.fuse")  # as you have saved it']
    own_labels = list(getattr(model, "label_columns_", ["y"])) != ["y"]
    arguments = ["X_train", "y_train", *(["view_labels=view_labels"] if own_labels else [])]
    return [
        *sorted(imports, key=lambda line: (line.startswith("from"), line)),
        "",
        f"# X_train{', y_train and view_labels' if own_labels else ' and y_train'}: the rows to fit the model on.",
        f"model = {code}.fit({', '.join(arguments)})",
        'fuselearn.save(model, "model.fuse")',
    ]


def _model_as_code(model: FittedModel, imports: set[str], without_views: bool = False) -> str | None:
    """Return a model with its settings as code, with what has to be imported; None if they cannot be written so."""
    defaults = _defaults_of(model)
    settings: list[str] = []
    for name, value in model.get_params(deep=False).items():
        if _same(value, defaults.get(name)) or (name == "views" and without_views):
            continue
        code = _views_as_code(model) if name == "views" else _as_code(value, imports)
        if code is None:
            return None
        settings.append(f"    {name}={code},")
    return "\n".join([f"fuselearn.{type(model).__name__}(", *settings, ")"]) if settings else _called(model)


def _table_model_as_code(given: FittedModel, imports: set[str]) -> str | None:
    """Return a model of a table as code: the model inside, and its views by the names of the table's columns."""
    inner, columns, arguments = given.model_, given.columns_, []
    if hasattr(inner, "view_columns_") and type(inner).__module__.startswith("fuselearn."):
        estimator = _model_as_code(inner, imports, without_views=has_views_of(inner, columns))
    else:
        estimator = _as_code(given.estimator, imports)
    if estimator is None:
        return None
    # Where the model inside is the default with all its defaults, the code need not name it.
    if given.estimator is not None or estimator != _called(inner):
        arguments.append(estimator)
    if given.views is not None:
        code = _as_code(given.views, imports)
        if not isinstance(given.views, ViewColumns):
            views = columns.named_views_ if code is None else given.views
            code = pprint.pformat(views, width=100, compact=True, sort_dicts=False)
        if code is None:
            return None
        arguments.append(f"views={code}".replace("\n", "\n" + " " * len("views=")))
    lines = [f"    {line}" for argument in arguments for line in f"{argument},".splitlines()]
    return "\n".join([f"fuselearn.{type(given).__name__}(", *lines, ")"]) if lines else _called(given)


def _called(model: FittedModel) -> str:
    """Return a model with all its defaults as code."""
    return f"fuselearn.{type(model).__name__}()"


def _code_from_files(model: FittedModel, note: Record, *, labelled: bool) -> str:
    """Return code that makes the report of a model that ``fuselearn fit`` saved."""
    file = _file_of(note)
    path = str(file.get("name") or "held_out.csv")
    reading = dict(file.get("reading") or {"function": "read_csv"})
    read = reading.pop("function")
    target, identifier = file.get("target", note["target"]), file.get("id", note.get("id"))
    texts = [name for name in (identifier, target) if name and (name == identifier or _has_words(model))]
    if texts and read in ("read_csv", "read_excel"):
        reading["dtype"] = dict.fromkeys(texts, "str")
    settings = "".join(f", {name}={value!r}" for name, value in reading.items())
    arguments = ["model", "rows", *([f"rows[{target!r}]"] if labelled else [])]
    if identifier:
        arguments.append(f"ids=rows[{identifier!r}]")
    if file.get("title"):
        arguments.append(f"title={file['title']!r}")
    return "\n".join(
        [
            "import fuselearn" if hasattr(model, "classes_") else "import fuselearn.reporting",
            "import pandas",
            "",
            'model = fuselearn.load("model.fuse")  # made by the first command below',
            f"rows = pandas.{read}({path!r}{settings})",
            *([f"rows = rows[rows[{target!r}].notna()]"] if labelled else []),
            f'{_report_of(model)}({", ".join(arguments)}).save("report.html")',
        ]
    )


def _has_words(model: FittedModel) -> bool:
    """Check whether the classes of a model are text."""
    return hasattr(model, "classes_") and model.classes_.dtype.kind in "UO"


def _file_of(note: Record) -> Record:
    """Return what a note says about the file that the rows come from."""
    file = note.get("file")
    return file if isinstance(file, dict) else {}


def _as_code(value: object, imports: set[str]) -> str | None:
    """Return a setting as code, with what has to be imported for it; None if it cannot be written as code."""
    with config_context(print_changed_only=True):
        code = value.__repr__(N_CHAR_MAX=10**6) if isinstance(value, BaseEstimator) else repr(value)
    needed = {_import_of(kind) for kind in _classes_in(value)}
    try:
        names: Record = {}
        exec("\n".join(needed), names)
        again = eval(code, names)
    except Exception:  # whatever the code of a foreign class does
        return None
    if repr(again) != repr(value) or any(map(_has_more_than_settings, _estimators_in(value))):
        return None
    imports |= needed
    return "\n    ".join(code.splitlines())


def _estimators_in(value: object) -> list[BaseEstimator]:
    """Return the estimators in a setting, and those in their settings."""
    if isinstance(value, list | tuple):
        return [estimator for each in value for estimator in _estimators_in(each)]
    if isinstance(value, dict):
        return _estimators_in(list(value.values()))
    if not isinstance(value, BaseEstimator):
        return []
    return [value, *_estimators_in(list(value.get_params(deep=False).values()))]


def _has_more_than_settings(estimator: BaseEstimator) -> bool:
    """Return whether copies keep what no setting tells, such as the kind of tables that `set_output` asks for."""
    return bool(set(vars(clone(estimator))) - set(estimator.get_params(deep=False)))


def _classes_in(value: object) -> set[type]:
    """Return the classes of estimators, learners and policies in a setting."""
    if isinstance(value, list | tuple):
        return set().union(*map(_classes_in, value))
    if isinstance(value, dict):
        return _classes_in(list(value.values()))
    if isinstance(value, BaseEstimator):
        return {type(value)} | _classes_in(list(value.get_params(deep=False).values()))
    return {type(value)} if type(value).__module__.startswith("fuselearn.") else set()


def _import_of(kind: type) -> str:
    """Return the line that imports a class, from where its library shows it."""
    public = [part for part in kind.__module__.split(".") if not part.startswith("_")]
    return f"from {'.'.join(public)} import {kind.__qualname__}"


def command_to_reproduce(note: Record | None) -> str | None:
    """Return the command line that makes such a report from files, with the command of the fit if `note` has it.

    None where neither the model nor the rows came from the command line: a command would name files that do not exist.
    """
    note = note if isinstance(note, dict) else {}
    command, file = note.get("command"), _file_of(note)
    if isinstance(command, list | tuple):
        command = shlex.join(map(str, command))
    elif not isinstance(command, str):
        command = None
    if command is None and not file.get("name"):
        return None
    options = [str(word) for word in file.get("options") or []]
    data = str(file.get("name") or "held_out.csv")
    report = ["fuselearn", "report", "model.fuse", "--data", data, *options, "--output", "report.html"]
    return "\n".join([*([] if command is None else [command]), shlex.join(report)])


def shown_notes(note: Record | None) -> list[list[str]]:
    """Return the notes as strings, without the command and the facts of the file, which are shown elsewhere."""
    shown_elsewhere = ("command", "file", "skipped_rows")
    return [[str(key), _cut(value)] for key, value in (note or {}).items() if value and key not in shown_elsewhere]


def _cut(value: object) -> str:
    """Return the value of a note as text, cut if it is long."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 500 else f"{text[:499]}…"


def file_facts(note: Record | None, model: FittedModel, table: ViewColumns | None = None) -> Record:
    """Return what ``note["file"]`` says about the file that the rows come from, or else `table` of its columns.

    The columns of a model may differ from those of the file: text becomes numbers, which have no gaps. ``"columns"``
    and ``"gaps"`` are in the order of the model's views, and None unless they are given for every view; so are
    ``"sources"``, the column of the file that each column of the model comes from, unless they are given for all.
    ``"n_columns"`` counts a column of several views once where `table` knows it.
    """
    facts = _file_of(note or {})
    n_skipped, sources = facts.get("rows_left_out"), facts.get("sources")
    training_rows = facts.get("training_rows")
    if not isinstance(sources, list) or len(sources) != getattr(model, "n_features_in_", None):
        sources = None if table is None else table.source_columns()
    columns = _values_by_view(facts.get("columns_per_view"), model, Integral)
    n_columns = None if columns is None else int(sum(columns))
    if columns is None and table is not None and has_views_of(model, table):
        columns, n_columns = [len(names) for names in table.named_views_.values()], table.n_features_in_
    return {
        "columns": columns,
        "n_columns": n_columns,
        "gaps": _values_by_view(facts.get("gaps_per_view"), model, Real),
        "sources": sources and [str(name) for name in sources],
        "given": bool(facts),
        "training_rows": training_rows if isinstance(training_rows, np.ndarray) else None,
        "rows_left_out": int(n_skipped) if isinstance(n_skipped, Integral) and int(n_skipped) > 0 else 0,
    }


def _defaults_of(model: FittedModel) -> Record:
    """Return the default of each setting of a model."""
    return {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}


def _views_as_code(model: FittedModel) -> str:
    """Return a dict of the views as code."""
    views = zip(model.view_names_, model.view_columns_)
    lines = [f"        {name!r}: {_columns_as_code(columns)}," for name, columns in views]
    return "\n".join(["{", *lines, "    }"])


def _columns_as_code(columns: IntArray) -> str:
    """Return a slice or a list of column numbers as code; runs of three and more become ranges."""
    numbers = [int(column) for column in columns]
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) == 1 and len(numbers) > 2:
        return f"slice({numbers[0]}, {numbers[-1] + 1})"
    parts = [f"*range({run[0]}, {run[-1] + 1})" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return "\n            ".join(
        textwrap.wrap(f"[{', '.join(parts)}]", 100, break_long_words=False, break_on_hyphens=False)
    )


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


def _values_by_view(values: object, model: FittedModel, kind: type) -> list[float] | None:
    """Return a value for each view of the model; None unless all are there."""
    if not isinstance(values, dict):
        return None
    in_order: list[Any] = [values.get(name) for name in model.view_names_]
    return in_order if all(isinstance(value, kind) for value in in_order) else None
