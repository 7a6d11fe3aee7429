"""``fuselearn compare``: every fusion method and every view alone, on the same splits."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fuselearn.cli.errors import check_jobs, check_seed, refuse, refusing
from fuselearn.cli.files import (
    AsJson,
    Data,
    Delimiter,
    Encoding,
    Force,
    Format,
    Identifier,
    Source,
    Target,
    ViewGlobs,
    ViewsFile,
    read_file,
    take_column,
)
from fuselearn.cli.outputs import check_output, writing
from fuselearn.cli.views import choose_views


def compare(
    data: Data,
    target: Target,
    identifier: Identifier = None,
    view: ViewGlobs = None,
    views: ViewsFile = None,
    methods: Annotated[str, typer.Option(help="Names with commas, or default, or all.")] = "default",
    noise: Annotated[float, typer.Option(help="Share of each view's training labels to flip.")] = 0.0,
    consensus: Annotated[bool, typer.Option(help="Try every method on agreed labels too.")] = False,
    protocol: Annotated[str | None, typer.Option(help="Runs, split and rounds of a paper.")] = None,
    runs: Annotated[int, typer.Option(help="Random splits.")] = 20,
    train_size: Annotated[float, typer.Option(help="Share of the rows to train on.")] = 0.6,
    scoring: Annotated[str, typer.Option(help="Any score of scikit-learn.")] = "accuracy",
    seed: Annotated[int, typer.Option(help="Seed of splits, noise and methods.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; -1 takes all cores.", show_default="1")] = None,
    resume: Annotated[str | None, typer.Option(help="File that keeps finished fits, to go on from.")] = None,
    output: Annotated[str | None, typer.Option(help="Write the table here: .md, .json, .csv or .txt.")] = None,
    file_format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: AsJson = False,
):
    """Compare fusion methods, and every view alone, on the same splits of a file."""
    if output is not None and Path(output).suffix not in (".md", ".json", ".csv", ".txt"):
        refuse(f"--output must end in .md, .json, .csv or .txt; got {output!r}.")
    if output is not None:
        check_output(output, force, data)
    check_seed(seed)
    check_jobs(jobs, "processes")
    source = Source(data, file_format, delimiter, encoding)
    table = read_file(source)
    labels, table = take_column(table, target, source.name, "--target")
    if identifier == target:
        refuse(f"--id and --target both name {target!r}.")
    if identifier is not None:
        _, table = take_column(table, identifier, source.name, "--id")
    if not table.column_names:
        refuse(f"{source.name} has no columns beside the target; views need some.")
    reserved = {target: "the target", **({identifier: "the id"} if identifier else {})}
    choices, how = choose_views(view or [], views, table.column_names, reserved)
    columns = {name: choice.columns for name, choice in choices.items()}
    y = _classes(labels, target, source.name)
    X, numbers = _matrix(table, choices, y, source.name)
    if not as_json:
        listed = ", ".join(f"{name} ({len(own)})" for name, own in columns.items())
        typer.echo(f"Views, {how}: {listed}", err=True)
        if any(choice.learner or choice.preprocess or choice.categorical == "target" for choice in choices.values()):
            typer.echo(
                "Every method is compared with its own learner and preprocessing, and text one-hot encoded: those of "
                "--views are left out.",
                err=True,
            )
    from sklearn.metrics import get_scorer_names

    from fuselearn import compare as compare_methods

    if scoring not in get_scorer_names():
        refuse(f"--scoring {scoring!r} is not a score of scikit-learn, such as accuracy or balanced_accuracy.")
    try:
        result = compare_methods(
            X,
            y,
            views={name: own.tolist() for name, own in numbers.items()},
            methods=methods if methods in ("default", "all") else [name.strip() for name in methods.split(",")],
            noise=noise,
            consensus=consensus,
            protocol=protocol,
            runs=runs,
            train_size=train_size,
            scoring=scoring,
            n_jobs=jobs,
            random_state=seed,
            resume=resume,
            verbose=int(not as_json),
        )
    except (ValueError, OSError) as error:
        refuse(" ".join(str(error).split()))
    if output is not None:
        with writing(output):
            result.save(output)
    typer.echo(json.dumps(json.loads(result.summary.to_json()), indent=2) if as_json else str(result))


def _matrix(table, choices, y, path):
    """Numbers of the views side by side, text one-hot encoded, and the columns that are each view's."""
    from fuselearn.cli.columns import check_view_columns
    from fuselearn.tables.view_columns import ViewColumns

    # Means of the target would tell the rows to be predicted what they are: they belong into each split.
    choices = {
        name: replace(one, categorical=None if one.categorical == "target" else one.categorical)
        for name, one in choices.items()
    }
    check_view_columns(table, choices, "onehot", path)
    columns = ViewColumns({name: one.columns for name, one in choices.items()})
    with refusing(ValueError, TypeError, what=path):
        return columns.fit_transform(table, y), columns.views_


def _classes(labels, target, path):
    """The target as an array without gaps."""
    from fuselearn.cli.targets import classes_of, rows_with_target

    missing = len(labels) - sum(rows_with_target(labels).to_pylist())
    if missing:
        refuse(f"{path} has {missing} rows without a value in the target {target!r}; fill or drop them.")
    return classes_of(labels, target, path)
