"""``fuselearn fit``: a model of the views of a file, saved with the way from its columns to numbers."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from fuselearn.cli.errors import Notes, check_choice, check_jobs, check_seed, interruptible, refuse
from fuselearn.cli.files import (
    FORMATS,
    AsJson,
    Data,
    Delimiter,
    Encoding,
    Force,
    Format,
    Identifier,
    Jobs,
    Seed,
    Source,
    Target,
    ViewGlobs,
    ViewsFile,
    check_column,
    open_data,
    read_opened,
)
from fuselearn.cli.methods import BALANCES_ITSELF, DEFAULT_METHOD, find_method
from fuselearn.cli.outputs import check_output, save_model, size_of
from fuselearn.cli.predict import check_id_name
from fuselearn.cli.views import CATEGORICAL, choose_views

CLASS_WEIGHTS = ("auto", "balanced", "none")


def fit(
    data: Data,
    target: Target,
    output: Annotated[str, typer.Option(help="File for the model, such as model.fuse.")],
    identifier: Identifier = None,
    view: ViewGlobs = None,
    views: ViewsFile = None,
    method: Annotated[str, typer.Option(help="Any method that fuselearn compare knows.")] = DEFAULT_METHOD,
    settings: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of the method, repeated.")] = None,
    label_columns: Annotated[
        str | None, typer.Option(help="Labels that views have of their own: VIEW=COLUMN, with commas.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of what rows belong to, such as a person; such rows are judged together.")
    ] = None,
    categorical: Annotated[
        str, typer.Option(help="What becomes of text: onehot, target (mean of a category), none (refuse).")
    ] = "onehot",
    class_weight: Annotated[
        str, typer.Option(help="balanced, none, or auto: balanced unless the method sees to it.")
    ] = "auto",
    seed: Seed = 0,
    jobs: Jobs = None,
    file_format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: AsJson = False,
):
    """Fit a model to a file and save it.

    Views are sets of columns: --view, --views, or guessed from prefixes (rna_1, rna_2). Ctrl-C keeps finished rounds.
    """
    check_seed(seed)
    check_jobs(jobs)
    check_choice("--categorical", categorical, CATEGORICAL)
    check_choice("--class-weight", class_weight, CLASS_WEIGHTS)
    if class_weight != "auto" and method in BALANCES_ITSELF:
        refuse(
            f"--class-weight {class_weight}: {method} balances the classes by itself; leave the option out, or add "
            "--method shareboost, which takes weights."
        )
    _check_model_path(output, force, data)
    notes = Notes(as_json)
    options = {
        "--target": [target],
        "--id": [identifier],
        "--view": view or [],
        "--views": [Path(views).name if views else None],
        "--method": [method],
        "--set": settings or [],
        "--label-columns": [label_columns],
        "--group": [group],
        "--categorical": [categorical if categorical != "onehot" else None],
        "--class-weight": [class_weight if class_weight != "auto" else None],
        "--seed": [str(seed) if seed else None],
        "--format": [file_format],
        "--delimiter": [delimiter],
        "--encoding": [encoding if encoding != "utf-8" else None],
        "--output": ["model.fuse"],
    }
    note = {
        "command": _command(data, options),
        "target": target,
        "id": identifier,
        "group": group,
        "method": method,
        "settings": settings or [],
        "seed": seed,
        "data": Path(data).name,
    }
    with interruptible("nothing was written"):
        with open_data(Source(data, file_format, delimiter, encoding)) as opened:
            path = opened.source.name
            choices, label_names, found = _choose(
                opened.names, path, target, identifier, group, label_columns, view, views
            )
            chosen = find_method(method, list(choices))
            if chosen.only_view is not None:
                choices = {chosen.only_view: choices[chosen.only_view]}
            listed = ", ".join(f"{name} ({len(one.columns)})" for name, one in choices.items())
            notes.tell(f"Views, {found}: {listed}")
            used = [column for one in choices.values() for column in one.columns]
            table = _read(opened, [*used, *([group] if group else [])], [target, *label_names])
        from fuselearn.cli.training import HowToFit, fit_rows, training_rows

        how = HowToFit(chosen, choices, categorical, settings or [], class_weight, seed, jobs)
        rows = training_rows(table, how, target, label_names, group, path, notes)
        started = time.perf_counter()
        model, told = fit_rows(rows, how, notes)
        told["seconds"] = round(time.perf_counter() - started, 3)
        note |= {
            "rows": told["rows"],
            "class_weight": told["class_weight"],
            "label_columns": label_names,
            "views": found,
        }
        save_model(model, output, note)
    summary = {
        "model": output,
        **{key: note[key] for key in ("method", "settings", "target", "id", "group", "seed")},
        "views": {name: one.columns for name, one in choices.items()},
        "views_found": found,
        **told,
        "notes": notes.lines,
    }
    if as_json:
        typer.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        _print(summary)


def _check_model_path(output, force, data):
    if output == "-":
        refuse("--output: a model cannot go to standard output; name a file, such as model.fuse.")
    if Path(output).suffix.lower() in FORMATS:
        refuse(f"--output: {output} is named as data; name a file for the model, such as model.fuse.")
    check_output(output, force, data)


def _choose(names, path, target, identifier, group, label_columns, view, views):
    """Views, columns of labels, and how the views were found."""
    check_column(target, names, path, "--target")
    reserved = {target: "the target"}
    if identifier is not None:
        check_column(identifier, names, path, "--id")
        if identifier == target:
            refuse(f"--id and --target both name {target!r}.")
        check_id_name(identifier)
        reserved[identifier] = "the id"
    if group is not None:
        check_column(group, names, path, "--group")
        if group == target:
            refuse(f"--group and --target both name {target!r}.")
        # It may be the id as well: a person of whom there are several rows.
        reserved.setdefault(group, "the group")
    if label_columns:
        for column in (part.rpartition("=")[2].strip() for part in label_columns.split(",")):
            reserved.setdefault(column, "a column of labels")
    free = [name for name in names if name not in reserved]
    if not free:
        refuse(f"{path} has no columns beside the target; views need some.")
    choices, found = choose_views(view or [], views, free, reserved)
    label_names = []
    if label_columns:
        from fuselearn.cli.targets import label_columns_of

        label_names = label_columns_of(label_columns, list(choices))
        for column in label_names:
            check_column(column, names, path, "--label-columns")
    return choices, label_names, found


def _read(opened, columns, labels):
    """The columns of the views, and those of classes, which are numbers only where these are spelled alike."""
    import pyarrow

    from fuselearn.cli.targets import as_spelled

    names = list(dict.fromkeys([*columns, *labels]))
    table = read_opened(opened, names, dict.fromkeys(labels, pyarrow.string()))
    return as_spelled(table, list(dict.fromkeys(labels))) if opened.kind in ("csv", "tsv") else table


def _command(data, options):
    """The command that makes such a model, for its report."""
    given = [
        word for option, values in options.items() for value in values if value is not None for word in (option, value)
    ]
    return ["fuselearn", "fit", Path(data).name, *given]


def _print(summary):
    classes = ", ".join(f"{label} ({count})" for label, count in summary["classes"].items())
    typer.echo(f"{summary['rows']} rows, classes of {summary['target']}: {classes}")
    rounds = f", {summary['rounds']} rounds" if summary["rounds"] is not None else ""
    score = summary["out_of_sample_score"]
    scored = "" if score is None else f", {summary['out_of_sample_metric']} on rows left out {score:.3f}"
    typer.echo(f"{summary['method']}{rounds}, {summary['seconds']:.1f} s{scored}")
    if summary["view_importances"]:
        shares = sorted(summary["view_importances"].items(), key=lambda pair: -pair[1])
        typer.echo("Share of the views: " + ", ".join(f"{name} {share:.0%}" for name, share in shares))
    kept = " (what was fitted before the interrupt)" if summary["interrupted"] else ""
    typer.echo(f"Saved {summary['model']}, {size_of(summary['model'])}{kept}.")
