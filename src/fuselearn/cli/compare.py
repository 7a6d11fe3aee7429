"""``fuselearn compare``: every fusion method and every view alone, on the same splits."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fuselearn.cli.files import numbers, read_file, take_column
from fuselearn.cli.refusal import refuse
from fuselearn.cli.view_options import views_of


def compare(
    data: Annotated[str, typer.Argument(help="CSV, TSV, Parquet or Feather file; - is CSV from standard input.")],
    target: Annotated[str, typer.Option(help="Column that holds the classes.")],
    identifier: Annotated[str | None, typer.Option("--id", help="Column to leave out: it names the objects.")] = None,
    view: Annotated[list[str] | None, typer.Option(help="NAME=GLOB, once for each view.")] = None,
    views: Annotated[str | None, typer.Option(help="TOML file with the views.")] = None,
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
    force: Annotated[bool, typer.Option(help="Overwrite the output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
):
    """Compare fusion methods, and every view alone, on the same splits of a file."""
    _check_output(output, force)
    table = read_file(data)
    labels, table = take_column(table, target, data, "--target")
    if identifier == target:
        refuse(f"--id and --target both name {target!r}.")
    if not 0 <= seed < 2**32:
        refuse(f"--seed must be between 0 and {2**32 - 1}; got {seed}.")
    if identifier is not None:
        _, table = take_column(table, identifier, data, "--id")
    if not table.column_names:
        refuse(f"{data} has no columns beside the target; views need some.")
    columns, how = views_of(view or [], views, table.column_names)
    used = list(dict.fromkeys(column for own in columns.values() for column in own))
    X = numbers(table.select(used), data)
    y = _classes(labels, target, data)
    if not as_json:
        listed = ", ".join(f"{name} ({len(own)})" for name, own in columns.items())
        typer.echo(f"Views, {how}: {listed}", err=True)
    from sklearn.metrics import get_scorer_names

    from fuselearn import compare as compare_methods

    if scoring not in get_scorer_names():
        refuse(f"--scoring {scoring!r} is not a score of scikit-learn, such as accuracy or balanced_accuracy.")
    try:
        result = compare_methods(
            X,
            y,
            views={name: [used.index(column) for column in own] for name, own in columns.items()},
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
        result.save(output)
    typer.echo(json.dumps(json.loads(result.summary.to_json()), indent=2) if as_json else str(result))


def _check_output(output, force):
    if output is None:
        return
    path = Path(output)
    if path.suffix not in (".md", ".json", ".csv", ".txt"):
        refuse(f"--output must end in .md, .json, .csv or .txt; got {output!r}.")
    if path.exists() and not force:
        refuse(f"--output: {output} exists; add --force to overwrite it.")
    if not path.absolute().parent.is_dir():
        refuse(f"--output: the folder {path.absolute().parent} does not exist.")


def _classes(labels, target, path):
    """The target as an array without gaps."""
    if labels.null_count:
        refuse(f"{path} has {labels.null_count} rows without a value in the target {target!r}; fill or drop them.")
    values = labels.combine_chunks().to_pylist()
    if values and isinstance(values[0], bytes):
        refuse(f"{path} is not UTF-8 in the target {target!r}; save it as UTF-8.")
    import numpy as np

    y = np.array(values)
    return y.astype(str) if y.dtype.kind == "O" else y
