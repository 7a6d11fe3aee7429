"""``fuselearn reproduce``: the papers' tables and figures again, with a verdict on each claim."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fuselearn.cli.console import (
    check_jobs,
    check_seed,
    interruptible,
    interrupts,
    refuse,
    refusing,
    say,
    say_json,
    say_lines,
    tell,
)
from fuselearn.cli.options import Processes


def reproduce(
    name: Annotated[
        str, typer.Argument(help="Name of an experiment, or all.", show_default="list, which prints their names")
    ] = "list",
    runs: Annotated[
        int | None, typer.Option(help="Number of runs of every experiment.", show_default="its own")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few runs on less data: minutes for all, too few for verdicts.")
    ] = False,
    jobs: Processes = None,
    seed: Annotated[int, typer.Option(help="Seed of splits, noise and methods.")] = 0,
    output: Annotated[str, typer.Option(help="Folder for the page, figures and tables.")] = "reproduction",
    force: Annotated[bool, typer.Option("--force", help="Run experiments again that the folder has.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Rerun the papers' experiments, and judge their claims; without a name, list them.

    Finished experiments are kept in the folder: the same command goes on from there.
    """
    if runs is not None and runs < 2:
        refuse(f"--runs must be at least 2; got {runs}.")
    check_jobs(jobs, "processes")
    check_seed(seed, 2**31 - 1)
    from fuselearn.papers.experiments import EXPERIMENTS, experiments_named

    if name == "list":
        _list(EXPERIMENTS.values(), as_json)
        if not as_json:
            tell("Run one by its name, fuselearn reproduce NAME, or all: fuselearn reproduce all.")
        return
    try:
        experiments_named(name)
    except ValueError as error:
        refuse(str(error))
    _check_folder(Path(output))
    _check_packages()
    if quick:
        tell(
            "--quick shows that everything runs. Its few runs on little data lack the power to judge: a claim that it "
            "does not confirm may well hold. Leave --quick out for verdicts."
        )
    records = _rerun(name, {"quick": quick, "runs": runs, "n_jobs": jobs, "seed": seed}, output, force)
    if as_json:
        say_json([_as_dict(record) for record in records])
        return
    for record in records:
        say(record.name)
        for finding in record.findings:
            say(f"  {finding.verdict}: {finding.claim}")
            say(f"    {finding.evidence}")
    say(f"Tables and figures: {Path(output) / 'README.md'}")


def _list(experiments: Iterable[Any], as_json: bool) -> None:
    """Print the experiments."""
    if as_json:
        keys = ("name", "paper", "reruns", "data")
        shown = [{key: getattr(experiment, key) for key in keys} for experiment in experiments]
        say_json(shown)
        return
    for experiment in experiments:
        say_lines(f"{experiment.name}\n  {experiment.paper} {experiment.reruns}\n  Data: {experiment.data}")


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be made."""
    if folder.exists() and not folder.is_dir():
        refuse(f"--output: {folder} is a file; name a folder.")
    if not folder.absolute().parent.is_dir():
        refuse(f"--output: the folder {folder.absolute().parent} does not exist.")


def _check_packages() -> None:
    """Refuse to begin what could not be drawn at the end."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        refuse("the figures need matplotlib, which is not installed: pip install matplotlib")


def _rerun(name: str, settings: dict[str, Any], output: str, force: bool) -> list[Any]:
    """Run experiments, and return their records."""
    from fuselearn.papers.reproduction import rerun
    from fuselearn.papers.verdicts import Effort

    consequence = f"what was finished is in {output}, and the same command goes on from there"
    with interruptible(consequence), interrupts.unwinding(), refusing(OSError):
        return rerun(name, Effort(**settings), output, force=force, tell=tell)


def _as_dict(record: Any) -> dict[str, Any]:
    """Return a record in plain types."""
    return {
        "name": record.name,
        "settings": record.settings,
        "seconds": record.seconds,
        "findings": [asdict(finding) for finding in record.findings],
        "tables": [json.loads(table.to_json()) for table in record.tables],
        "figures": record.figures,
    }
