"""``fuselearn compare``: every fusion method and every view alone, on the same splits."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fuselearn.cli.choices import TASKS, ViewChoice, check_column_of_data, choose_file_views
from fuselearn.cli.console import (
    Notes,
    check_choice,
    check_jobs,
    check_seed,
    interruptible,
    interrupts,
    refuse,
    refusing,
    refusing_arguments,
    say_json,
    say_lines,
    tell,
)
from fuselearn.cli.files import (
    check_output,
    id_of,
    open_data,
    read_opened,
    source_of,
    view_files,
    writing,
)
from fuselearn.cli.options import (
    AsJson,
    Data,
    DateFormat,
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Force,
    Format,
    Identifier,
    NaValues,
    On,
    Processes,
    Strict,
    Target,
    TaskName,
    ViewGlobs,
    ViewsFile,
)

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.cli.files import OpenedFile
    from fuselearn.typing import AnyArray, BoolArray, FloatArray

OPTION_OF_ARGUMENT = {
    name: f"--{name.replace('_', '-')}"
    for name in ("runs", "train_size", "methods", "resume", "noise", "protocol", "scoring", "consensus")
} | {"groups": "--group", "views": "--view", "n_jobs": "--jobs", "random_state": "--seed"}
"""Names of options, by the arguments of `fuselearn.compare`."""
TABLE_SUFFIXES = (".md", ".json", ".csv", ".txt")


def compare(
    data: Data,
    target: Target,
    identifier: Identifier = None,
    view: ViewGlobs = None,
    views: ViewsFile = None,
    on: On = None,
    drop: Drop = None,
    methods: Annotated[str, typer.Option(help="Names of methods with commas, or default, or all.")] = "default",
    noise: Annotated[float, typer.Option(help="Share of each view's training labels to flip.")] = 0.0,
    consensus: Annotated[
        bool, typer.Option(help="Also fit every method to the labels that the views agree on.")
    ] = False,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Take runs, split, rounds and methods of a paper: shareboost, bssd, mssboost, shared_distribution, "
            "tomographic."
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Number of random splits.", show_default="20, or those of the protocol")
    ] = None,
    train_size: Annotated[
        float | None, typer.Option(help="Share of the rows to train on.", show_default="0.6, or that of the protocol")
    ] = None,
    scoring: Annotated[
        str, typer.Option(help="Any score of scikit-learn; numbers are scored by R² instead of accuracy.")
    ] = "accuracy",
    task: TaskName = "auto",
    seed: Annotated[int, typer.Option(help="Seed of splits, noise and methods.")] = 0,
    group: Annotated[
        str | None, typer.Option(help="Column of groups, such as persons; no group is on both sides of a split.")
    ] = None,
    jobs: Processes = None,
    resume: Annotated[
        str | None, typer.Option(help="File that keeps finished fits: the same command goes on from there.")
    ] = None,
    output: Annotated[str | None, typer.Option(help="File for the table: .md, .json, .csv or .txt.")] = None,
    file_format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    na_values: NaValues = None,
    decimal: Decimal = ".",
    date_format: DateFormat = None,
    strict: Strict = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare fusion methods, and every view alone, on the same splits of a file."""
    if output is not None and Path(output).suffix not in TABLE_SUFFIXES:
        refuse(f"--output must end in .md, .json, .csv or .txt; got {output!r}.")
    if output is not None:
        check_output(output, force, data, *(file.path for file in view_files(view, on)))
    check_seed(seed)
    check_jobs(jobs, "processes")
    check_choice("--task", task, TASKS)
    notes = Notes(quiet=False)
    files = view_files(view, on)
    source = source_of(data, file_format, delimiter, encoding, na_values, on, files, decimal, date_format, strict)
    with open_data(source, notes) as opened:
        path = opened.source.name
        reserved = _reserved(opened, target, id_of(identifier, on), group)
        choices, views_found = choose_file_views(opened, view or [], views, reserved, drop, notes)
        table = _read(opened, choices, target, group, task)
    y, table, known, numbers = _classes(table, target, path, notes, task)
    import numpy as np

    groups = None
    if group is not None:
        from fuselearn.cli.columns import groups_of

        groups = groups_of(table.column(group), group, path, known)
    X, view_columns = _matrix(table, choices, y, path, notes)
    has_view = np.asarray(~np.isnan(X).all(axis=1))
    notes.rows_left_out(int(np.sum(~has_view)), len(has_view), "value in any view")
    if not has_view.all():
        X, y, groups = X[has_view], y[has_view], None if groups is None else groups[has_view]
    if not as_json:
        listed = ", ".join(f"{name} ({len(choice.columns)})" for name, choice in choices.items())
        tell(f"Views, {views_found}: {listed}")
        if any(choice.learner or choice.preprocess or choice.categorical == "target" for choice in choices.values()):
            tell(
                "Every method is compared with its own learner and preprocessing, and text one-hot encoded: those of "
                "--views are left out."
            )
    from sklearn.metrics import get_scorer_names

    from fuselearn import compare as compare_methods

    if scoring not in get_scorer_names():
        refuse(f"--scoring {scoring!r} is not a score of scikit-learn, such as accuracy or balanced_accuracy.")
    consequence = "nothing was written" if resume is None else f"finished fits are in {resume}, to go on from"
    with (
        interruptible(consequence),
        interrupts.unwinding(),
        warnings.catch_warnings(record=True) as caught,
        refusing_arguments({**OPTION_OF_ARGUMENT, "y": f"the target {target!r}"}, ValueError, OSError, ImportError),
    ):
        warnings.simplefilter("always")
        result = compare_methods(
            X,
            y,
            views=view_columns,
            methods=methods if methods in ("default", "all") else [name.strip() for name in methods.split(",")],
            noise=noise,
            consensus=consensus,
            protocol=protocol,
            runs=runs,
            train_size=train_size,
            scoring=scoring,
            task="regression" if numbers else "classification",
            groups=groups,
            n_jobs=jobs,
            random_state=seed,
            resume=resume,
            verbose=int(not as_json),
        )
        interrupts.keep()
    notes.add_warnings(caught)
    if output is not None:
        with writing(output):
            result.summary.save(output, overwrite=force)
    if as_json:
        say_json(json.loads(result.summary.to_json()))
    else:
        say_lines(str(result))


def _read(
    opened: "OpenedFile", choices: dict[str, ViewChoice], target: str, group: str | None, task: str
) -> "pyarrow.Table":
    """Read the columns of the views, of classes as `fit` reads them, and of groups."""
    import pyarrow

    from fuselearn.cli.targets import as_meant

    used = [column for choice in choices.values() for column in choice.columns]
    as_texts = [target, *([group] if group else [])]
    table = read_opened(opened, list(dict.fromkeys([*used, *as_texts])), dict.fromkeys(as_texts, pyarrow.string()))
    return as_meant(table, opened, [target], task, group)


def _reserved(opened: "OpenedFile", target: str, identifier: str | None, group: str | None) -> dict[str, str]:
    """Return the columns that no view may have, and what they are; each must exist."""
    check_column_of_data(target, opened, "--target")
    reserved = {target: "the target"}
    for column, option, what in ((identifier, "--id", "the id"), (group, "--group", "the group")):
        if column is None:
            continue
        if column == target:
            refuse(f"{option} and --target both name {target!r}.")
        check_column_of_data(column, opened, option)
        # The group may be the id as well: a person of whom there are several rows.
        reserved.setdefault(column, what)
    return reserved


def _matrix(
    table: "pyarrow.Table", choices: dict[str, ViewChoice], y: "AnyArray", path: str, notes: Notes
) -> "tuple[FloatArray, dict[str, list[int]]]":
    """Return the numbers of the views side by side, text one-hot encoded, and the columns of each view."""
    from fuselearn.cli.columns import check_view_columns
    from fuselearn.tables import ViewColumns

    # Means of the target would tell the rows to be predicted what they are: they belong into each split.
    choices = {
        name: replace(choice, categorical=None if choice.categorical == "target" else choice.categorical)
        for name, choice in choices.items()
    }
    check_view_columns(table, choices, "onehot", path, notes)
    columns = ViewColumns({name: choice.columns for name, choice in choices.items()})
    with warnings.catch_warnings(record=True) as caught, refusing(ValueError, TypeError, what=path):
        warnings.simplefilter("always")
        X = columns.fit_transform(table, y)
    notes.add_warnings(caught)
    return X, {name: numbers.tolist() for name, numbers in columns.views_.items()}


def _classes(
    table: "pyarrow.Table", target: str, path: str, notes: Notes, task: str
) -> "tuple[AnyArray, pyarrow.Table, BoolArray, bool]":
    """Return the classes or numbers, the rows that have one, as `fit` takes them, their mask, and if they are numbers.

    How many have none is noted.
    """
    from fuselearn.cli.targets import check_target, classes_of, numbers_to_predict, rows_with_target

    known = rows_with_target(table.column(target))
    total, table = table.num_rows, table.filter(known)
    notes.rows_left_out(total - table.num_rows, total, repr(target))
    y = classes_of(table.column(target), target, path)
    numbers = numbers_to_predict(y, target, path, task, notes)
    if numbers is not None:
        return numbers, table, known.to_numpy(), True
    check_target(y, target, path, notes)
    return y, table, known.to_numpy(), False
