"""``fuselearn fit``: a model of the views of a file, saved with the way from its columns to numbers."""

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.choices import (
    CATEGORICAL,
    DEFAULT_METHOD,
    FUSION,
    TASKS,
    ViewChoice,
    check_column_of_data,
    choose_file_views,
    find_method,
    make_estimator,
    takes,
)
from fuselearn.cli.console import (
    Notes,
    check_choice,
    check_jobs,
    check_seed,
    fit_shown,
    interruptible,
    interrupts,
    refuse,
    refusing,
    refusing_arguments,
    say_json,
)
from fuselearn.cli.file_kinds import FORMATS
from fuselearn.cli.files import (
    check_output,
    id_of,
    open_data,
    read_opened,
    save_model,
    source_of,
    view_files,
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
    Jobs,
    NaValues,
    On,
    Seed,
    Strict,
    Target,
    TaskName,
    ViewGlobs,
    ViewsFile,
    words_of,
)

if TYPE_CHECKING:
    import pyarrow

    from fuselearn.cli.columns import TrainingTable
    from fuselearn.cli.files import OpenedFile
    from fuselearn.registry import Method

CLASS_WEIGHTS = ("none", "balanced")
MAX_SKIPPED = 10_000
"""Rows without a class or view that the note of a model lists, so that its rows are found again in the file."""
FEW_IN_FOLDS = "The least populated class"
"""Begins a warning of scikit-learn, which does not name the class; `note_few_for_folds` does."""


@dataclass(frozen=True)
class Task:
    """A fit as the user asked for it."""

    target: str
    identifier: str | None
    group: str | None
    label_columns: list[str]
    choices: dict[str, ViewChoice]
    method: "Method"
    settings: list[str]
    categorical: str
    class_weight: str
    seed: int
    jobs: int | None = None
    task: str = "auto"


def fit(
    data: Data,
    target: Target,
    output: Annotated[str, typer.Option(help="File for the model, such as model.fuse.")],
    identifier: Identifier = None,
    view: ViewGlobs = None,
    views: ViewsFile = None,
    on: On = None,
    drop: Drop = None,
    method: Annotated[str, typer.Option(help="A method of fuselearn, such as shareboost.")] = DEFAULT_METHOD,
    task_name: TaskName = "auto",
    settings: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of the method, repeated.")] = None,
    label_columns: Annotated[
        str | None, typer.Option(help="Columns of labels that views have of their own: VIEW=COLUMN, with commas.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column of groups, such as persons; each row is evaluated by models that saw no row of its group."
        ),
    ] = None,
    categorical: Annotated[
        str, typer.Option(help="What text becomes: onehot, target (mean target of a category); none refuses it.")
    ] = "onehot",
    class_weight: Annotated[
        str,
        typer.Option(
            help="none, or balanced: rare classes count as much as frequent ones. With fusion this moves the decision "
            "only, and probabilities stay those of the data; other methods weigh the rows they learn from."
        ),
    ] = "none",
    seed: Seed = 0,
    jobs: Jobs = None,
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
    """Fit a model to a file and save it.

    Views are sets of columns, from --view or --views, or guessed by prefixes (rna_1). Ctrl-C saves finished rounds.
    """
    check_seed(seed)
    check_jobs(jobs)
    check_choice("--categorical", categorical, CATEGORICAL)
    check_choice("--class-weight", class_weight, CLASS_WEIGHTS)
    check_choice("--task", task_name, TASKS)
    files = view_files(view, on)
    _check_model_path(output, force, data, *(file.path for file in files))
    notes = Notes(as_json)
    words = words_of(
        {
            "--target": target,
            "--id": identifier,
            "--on": on,
            "--view": [file.option for file in files] or view,
            "--views": Path(views).name if views else None,
            "--drop": drop,
            "--method": method,
            "--task": task_name if task_name != "auto" else None,
            "--set": settings,
            "--label-columns": label_columns,
            "--group": group,
            "--categorical": categorical if categorical != "onehot" else None,
            "--class-weight": class_weight if class_weight != "none" else None,
            "--seed": str(seed) if seed else None,
            "--format": file_format,
            "--delimiter": delimiter,
            "--encoding": encoding if encoding != "utf-8" else None,
            "--na-values": na_values,
            "--decimal": decimal if decimal != "." else None,
            "--date-format": date_format,
            "--strict": strict,
        }
    )
    with interruptible("nothing was written"):
        source = source_of(data, file_format, delimiter, encoding, na_values, on, files, decimal, date_format, strict)
        with open_data(source, notes) as opened:
            path = opened.source.name
            identifier = id_of(identifier, on)
            choices, label_names, views_found = _choose_columns(
                opened, target, identifier, group, label_columns, view or [], views, drop, notes
            )
            chosen = find_method(method, list(choices), task_name)
            if chosen.only_view is not None:
                choices = {chosen.only_view: choices[chosen.only_view]}
            task = Task(
                target, identifier, group, label_names, choices, chosen, settings or [], categorical, class_weight, seed
            )
            task = replace(task, jobs=jobs, task=task_name)
            listed = ", ".join(f"{name} ({len(choice.columns)})" for name, choice in choices.items())
            notes.add(f"Views, {views_found}: {listed}")
            table, order = _read(opened, task)
        from fuselearn.cli.columns import check_id_name, training_table

        training = training_table(table, task, path, notes)
        if identifier is not None:
            check_id_name(identifier, numbers=training.numbers)
        if training.numbers:
            from fuselearn.cli.regression import check_for_classes_only, regression_method

            check_for_classes_only(class_weight, label_names, categorical)
            task = replace(task, method=regression_method(method, list(choices)))
        started = time.perf_counter()
        model, facts = _fit_table(training, task, notes)
        facts["seconds"] = round(time.perf_counter() - started, 3)
        note = {
            "command": ["fuselearn", "fit", Path(data).name, *words, "--output", "model.fuse"],
            "target": target,
            "id": identifier,
            "on": on,
            "group": group,
            "method": method,
            "settings": task.settings,
            "seed": seed,
            "data": Path(data).name,
            "rows": facts["rows"],
            "skipped_rows": facts.pop("skipped_rows"),
            "row_order": order,
            "class_weight": facts["class_weight"],
            "label_columns": label_names,
            "views": views_found,
            "na_values": list(source.na_values),
            "decimal": decimal,
            "date_format": date_format or [],
        }
        facts["foreign"] = save_model(model, output, note, force=force)
    interrupts.saved(f"the model is saved in {output}")
    summary = {
        "model": output,
        **{key: note[key] for key in ("method", "settings", "target", "id", "group", "seed")},
        "views": {name: choice.columns for name, choice in choices.items()},
        "views_found": views_found,
        **facts,
        "notes": notes.lines,
    }
    if as_json:
        say_json(summary)
    else:
        from fuselearn.cli.fit_summary import print_summary

        print_summary(summary)


def _check_model_path(output: str, force: bool, *inputs: str) -> None:
    """Refuse an output that is no file for a model."""
    if output == "-":
        refuse("--output: a model cannot go to standard output; name a file, such as model.fuse.")
    if Path(output).suffix.lower() in FORMATS:
        refuse(f"--output: {output} is named as data; name a file for the model, such as model.fuse.")
    check_output(output, force, *inputs)


def _choose_columns(
    opened: "OpenedFile",
    target: str,
    identifier: str | None,
    group: str | None,
    label_columns: str | None,
    view: list[str],
    views: str | None,
    drop: list[str] | None,
    notes: Notes,
) -> tuple[dict[str, ViewChoice], list[str], str]:
    """Return the views, the columns of their labels, and how the views were found."""
    from fuselearn.cli.columns import label_columns_of

    check_column_of_data(target, opened, "--target")
    reserved = {target: "the target"}
    if identifier is not None:
        check_column_of_data(identifier, opened, "--id")
        if identifier == target:
            refuse(f"--id and --target both name {target!r}.")
        reserved[identifier] = "the id"
    if group is not None:
        check_column_of_data(group, opened, "--group")
        if group == target:
            refuse(f"--group and --target both name {target!r}.")
        # It may be the id as well: a person of whom there are several rows.
        reserved.setdefault(group, "the group")
    if label_columns:
        for column in (part.rpartition("=")[2].strip() for part in label_columns.split(",")):
            reserved.setdefault(column, "a column of labels")
    choices, views_found = choose_file_views(opened, view, views, reserved, drop, notes)
    label_names = label_columns_of(label_columns, list(choices)) if label_columns else []
    for column in label_names:
        check_column_of_data(column, opened, "--label-columns")
    return choices, label_names, views_found


def _read(opened: "OpenedFile", task: Task) -> "tuple[pyarrow.Table, str]":
    """Read the columns of the views, and those of classes, which are numbers only where these are spelled alike.

    The text beside them is the digest of the rows in their order.
    """
    import pyarrow

    from fuselearn.cli.row_order import digest_of_ids, digest_of_rows
    from fuselearn.cli.targets import as_meant

    labels = list(dict.fromkeys([task.target, *task.label_columns]))
    as_texts = [*labels, *(name for name in (task.group, task.identifier) if name)]
    used = [column for choice in task.choices.values() for column in choice.columns]
    names = list(dict.fromkeys([*used, *as_texts]))
    table = read_opened(opened, names, dict.fromkeys(as_texts, pyarrow.string()))
    if task.identifier is None:
        order = digest_of_rows(table, dict.fromkeys(used))
    else:
        order = digest_of_ids(table.column(task.identifier), opened.source.na_values)
    return as_meant(table, opened, labels, task.task, task.group), order


def _fit_table(training: "TrainingTable", task: Task, notes: Notes) -> tuple[Any, dict[str, Any]]:
    """Return a fitted `TableClassifier`, and the facts about it in plain types."""
    import numpy as np

    from fuselearn.cli.columns import label_facts
    from fuselearn.cli.targets import class_counts, note_few_for_folds
    from fuselearn.exceptions import InterruptedFitWarning
    from fuselearn.fusion.fusion_options import n_folds_of
    from fuselearn.tables import TableClassifier, TableRegressor, ViewColumns

    columns = ViewColumns(
        {name: choice.columns for name, choice in task.choices.items()},
        categorical={name: choice.categorical or task.categorical for name, choice in task.choices.items()},
        preprocess={name: list(choice.preprocess) for name, choice in task.choices.items()},
        fill_gaps=task.method.whole_views,
        random_state=task.seed,
    )
    with warnings.catch_warnings(record=True) as caught, refusing(ValueError, TypeError):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=FEW_IN_FOLDS)
        X = columns.fit_transform(training.table, training.y, training.groups)
    notes.add_warnings(caught)
    has_view = ~np.asarray(np.isnan(X).all(axis=1))
    notes.rows_left_out(int(np.sum(~has_view)), len(has_view), "value in any view")
    if not has_view.all():
        X = X[has_view]
    y = training.y[has_view]
    if task.method.name == FUSION and not training.numbers:  # whose out-of-fold figures are shown
        note_few_for_folds(y, n_folds_of(len(y)), task.target, notes)
    learners = {name: choice.learner for name, choice in task.choices.items() if choice.learner}
    estimator = make_estimator(task.method, columns.views_, learners, task.settings, seed=task.seed, jobs=task.jobs)
    arguments = _fit_arguments(estimator, task, training, has_view, notes)
    given = {name: f"--set {name}" for name in (setting.partition("=")[0].strip() for setting in task.settings)}
    with (
        warnings.catch_warnings(record=True) as caught,
        refusing_arguments(given, ValueError, TypeError, MemoryError),
    ):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=FEW_IN_FOLDS)
        with fit_shown(estimator, task.method.name):
            estimator.fit(X, y, **arguments)
            interrupts.keep()
    notes.add_warnings(caught)
    if "groups" in arguments and not len(getattr(estimator, "validation_score_", [0])):
        notes.add(
            f"--group made no difference: {task.method.name} needs groups only where it holds rows out to stop early, "
            "which --set early_stopping=true asks for."
        )
    used = training.labelled.copy()
    used[training.labelled] = has_view
    skipped = (np.flatnonzero(~used) + 1).tolist()
    shares, score = getattr(estimator, "view_importances_", None), getattr(estimator, "out_of_sample_score_", None)
    table_model, target_facts = TableClassifier, {"classes": class_counts(y)}
    if training.numbers:
        from fuselearn.cli.regression import number_facts

        table_model, target_facts = TableRegressor, number_facts(estimator, y)
    return table_model.of(columns, estimator), {
        "rows": len(y),
        "rows_left_out": len(skipped),
        "skipped_rows": skipped if len(skipped) <= MAX_SKIPPED else None,
        **target_facts,
        "class_weight": task.class_weight,
        "rounds": getattr(estimator, "n_iter_", None),
        "view_importances": None
        if shares is None
        else {name: round(float(share), 4) for name, share in zip(estimator.view_names_, shares)},
        "out_of_sample_score": None if score is None else float(score),
        "out_of_sample_metric": getattr(estimator, "out_of_sample_metric_", None),
        "out_of_sample_scores": getattr(estimator, "out_of_sample_scores_", None),
        **label_facts(estimator, arguments.get("view_labels", y), task.label_columns or [task.target]),
        "interrupted": any(issubclass(warning.category, InterruptedFitWarning) for warning in caught),
    }


def _fit_arguments(estimator: Any, task: Task, training: "TrainingTable", rows: Any, notes: Notes) -> dict[str, Any]:
    """Return the arguments of `fit` beside X and y, after `class_weight` of the estimator is set where it has one."""
    name = task.method.name
    arguments = {}
    if training.view_labels is not None:
        if not takes(estimator, "view_labels"):
            refuse(f"--label-columns: {name} takes one column of labels; gradient_views takes each view's own.")
        arguments["view_labels"] = training.view_labels[rows]
    if training.groups is not None:
        if takes(estimator, "groups"):
            arguments["groups"] = training.groups[rows]
        elif "target" not in {choice.categorical or task.categorical for choice in task.choices.values()}:
            refuse(f"--group: {name} does not judge by out-of-fold rows; leave it out, or add --method {FUSION}.")
    if task.class_weight == "balanced":
        if "class_weight" in estimator.get_params(deep=False):
            estimator.set_params(class_weight="balanced")
        else:
            from sklearn.utils.class_weight import compute_sample_weight

            arguments["sample_weight"] = compute_sample_weight("balanced", training.y[rows])
        if name != FUSION:
            notes.add("Rows are weighted so that each class counts alike: probabilities are those of equal classes.")
    return arguments
