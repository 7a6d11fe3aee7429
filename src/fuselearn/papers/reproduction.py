"""Experiments rerun into a folder: a record of each on disk, and a page of all.

A record is the JSON of an experiment's tables and findings, with its figures as PNG beside it. The page has the
verdicts first, then every table and figure.
"""

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuselearn import __version__
from fuselearn.evaluation.result_table import Table, wrap_markdown
from fuselearn.exceptions import InterruptedFitWarning
from fuselearn.numeric.execution import single_threaded_blas
from fuselearn.papers.code_revision import code_revision
from fuselearn.papers.experiments import EXPERIMENTS, PAPERS, Experiment, experiments_named
from fuselearn.papers.verdicts import (
    HOLDS,
    NOT_SHOWN,
    REFUTED,
    RULE,
    UNTESTED,
    VERDICTS,
    Drawing,
    Effort,
    Finding,
    Outcome,
)
from fuselearn.persistence import write_atomically

PAGE = "README.md"
QUICK = (
    "**This is a quick run: a few runs on less data, to see that everything works. Its verdicts are not worth much.**"
)
SETTLED = (
    "Settled after first runs had been seen, so read verdicts near the line with that in mind: the rule above (an "
    "earlier one asked for a lead on most sets, and left most claims open); SVMs do not standardise principal "
    "components (it cut the vote on the glasses from 0.90 to 0.77; without it S3's claims no longer hold in short "
    "runs); the sum of SVMs is judged on noisy and on clean labels separately; synthetic labels are drawn anew each "
    "time; sign tests are of each set (an earlier one pooled the labels of all sets). There is no correction for the "
    "number of claims."
)


UNKNOWN = "not noted"
"""Revision of a record that was made before revisions were."""


@dataclass(frozen=True)
class Record:
    """The outcome of an experiment, and how it was run.

    Attributes
    ----------
    name : str
    settings : dict
        Of the effort, but for the number of processes, which changes no number.
    seconds : float
    version : str
        Of fuselearn.
    tables : list of Table
    findings : list of Finding
    figures : list of str
        Names of PNG files in the same folder.
    missing : dict of str to str
        Data sets that could not be loaded, and why.
    revision : str
        Of the code that it came from, see :func:`fuselearn.papers.code_revision.code_revision`.
    """

    name: str
    settings: dict[str, Any]
    seconds: float
    version: str
    tables: list[Table]
    findings: list[Finding]
    figures: list[str]
    missing: dict[str, str] = field(default_factory=dict)
    revision: str = UNKNOWN


def rerun(
    name: str,
    effort: Effort,
    folder: str | Path,
    *,
    force: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """Rerun one experiment, or all.

    Each finished experiment is saved at once: its JSON, its figures, and the folder's page. An experiment that the
    folder has already, run with the same settings and all of its data, is not run again.

    Parameters
    ----------
    name : str
        Of an experiment, or "all".
    effort : Effort
        Number of runs and processes, and the seed.
    folder : str or Path
        Made if it does not exist; the folder that holds it must exist.
    force : bool, default=False
        Run again what the folder has already.
    tell : callable, default does nothing
        Function of a line of progress.

    Returns
    -------
    list of Record
        Of the experiments that were named, in order.
    """
    experiments = experiments_named(name)
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    records = []
    for number, experiment in enumerate(experiments, start=1):
        head = f"[{number} of {len(experiments)}] {experiment.name}"
        record = None if force else load_record(folder, experiment.name)
        if record is not None and record.settings == settings_of(effort) and not record.missing:
            tell(f"{head}: there already, of revision {record.revision}")
        else:
            tell(f"{head}: {experiment.paper} {experiment.reruns}")
            start = time.monotonic()
            outcome = _outcome(experiment, effort)
            seconds = time.monotonic() - start
            record = save_outcome(folder, experiment.name, effort, outcome, seconds)
            write_page(folder, [load_record(folder, other) for other in EXPERIMENTS])
            tell(f"{head}: {seconds:.0f} s; {counted(record.findings)}")
        records.append(record)
    return records


def settings_of(effort: Effort) -> dict[str, Any]:
    """Return the settings of an effort that decide the numbers."""
    return {"quick": effort.quick, "runs": effort.runs, "seed": effort.seed}


def save_outcome(folder: Path, name: str, effort: Effort, outcome: Outcome, seconds: float) -> Record:
    """Write an outcome's figures and its JSON into a folder that exists."""
    figures = []
    for stem, draw in outcome.figures.items():
        _save_figure(draw, folder / f"{stem}.png")
        figures.append(f"{stem}.png")
    record = Record(
        name,
        settings_of(effort),
        seconds,
        __version__,
        outcome.tables,
        outcome.findings,
        figures,
        outcome.missing,
        code_revision(),
    )
    content = {
        "name": name,
        "settings": record.settings,
        "seconds": round(seconds, 1),
        "version": record.version,
        "tables": [json.loads(table.to_json()) for table in record.tables],
        "findings": [asdict(finding) for finding in record.findings],
        "figures": figures,
        "missing": record.missing,
        "revision": record.revision,
    }
    with write_atomically(folder / f"{name}.json") as file:
        file.write(json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    return record


def load_record(folder: Path, name: str) -> Record | None:
    """Return the record of an experiment, or None where there is none that can be read."""
    try:
        content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        tables = [Table(**table) for table in content.pop("tables")]
        findings = [Finding(**finding) for finding in content.pop("findings")]
        return Record(tables=tables, findings=findings, **content)
    # A file of another version, or of another program.
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_page(folder: Path, records: Sequence[Record | None]) -> None:
    """Write the page of the experiments that have been run, which are not None."""
    with write_atomically(folder / PAGE) as file:
        file.write(page_of([record for record in records if record is not None]))


def page_of(records: Sequence[Record]) -> str:
    """Return the page in Markdown."""
    findings = [finding for record in records for finding in record.findings]
    parts = [
        "# The papers, rerun",
        f"{len(findings)} claims of five papers, judged by {len(records)} of {len(EXPERIMENTS)} experiments: "
        f"{counted(findings)}. "
        "Verdicts are computed from the numbers, not written.",
        *([QUICK] if any(record.settings["quick"] for record in records) else []),
        RULE,
        SETTLED,
        "\n".join(f"- {name}: {title}" for name, title in PAPERS.items()),
        "## Verdicts",
        verdict_table(records).to_markdown(),
        "## Which code, how many runs",
        effort_table(records).to_markdown(),
        *(section_of(record) for record in records),
        "## How to rerun",
        _how_to_rerun(records),
    ]
    return wrap_markdown("\n\n".join(parts)) + "\n"


def counted(findings: Sequence[Finding]) -> str:
    """Return in words how many claims hold, are refuted, are not shown, and cannot be tested."""
    words = {
        HOLDS: ("holds", "hold"),
        REFUTED: ("is refuted", "are refuted"),
        NOT_SHOWN: ("is not shown", "are not shown"),
        UNTESTED: (UNTESTED, UNTESTED),
    }
    counts = {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in words}
    return ", ".join(f"{count} {words[verdict][count != 1]}" for verdict, count in counts.items())


def verdict_table(records: Sequence[Record]) -> Table:
    """Return every claim with its verdict and the evidence."""
    rows = [
        (record.name, finding.claim, finding.verdict, finding.evidence)
        for record in records
        for finding in record.findings
    ]
    return Table("", ("experiment", "claim", "verdict", "evidence"), rows)


def effort_table(records: Sequence[Record]) -> Table:
    """Return what each experiment was run with, and its counts of verdicts."""
    rows = [
        (
            record.name,
            record.revision,
            record.settings["runs"] or ("quick" if record.settings["quick"] else "its own"),
            round(record.seconds),
            *(sum(finding.verdict == verdict for finding in record.findings) for verdict in VERDICTS),
        )
        for record in records
    ]
    return Table(
        "",
        ("experiment", "revision of the code", "runs", "seconds", *VERDICTS),
        rows,
        note="Revision: the last commit that changed the package, or a checksum of its files. Where it differs from "
        "that of other experiments, the numbers are those of older code.",
    )


def section_of(record: Record) -> str:
    """Return an experiment's section of the page."""
    experiment = EXPERIMENTS[record.name]
    head = [
        f"## {record.name}",
        f"{experiment.paper} {experiment.reruns}. Data: {experiment.data}. {record.seconds:.0f} s.",
    ]
    if record.missing:
        head.append("Left out: " + "; ".join(f"{name} ({why})" for name, why in record.missing.items()) + ".")
    tables = [table.to_markdown() for table in record.tables]
    figures = [f"![{record.name}]({name})" for name in record.figures]
    return "\n\n".join([*head, *figures, *tables])


def _outcome(experiment: Experiment, effort: Effort) -> Outcome:
    """Run an experiment to its end.

    An interrupted fit keeps the rounds it has, and the experiment would go on with it; its numbers would be worthless.
    """
    # One thread for matrix products: their last bits depend on the number, and on a busy machine several wait for each
    # other, sixteen times as long in all.
    with warnings.catch_warnings(), single_threaded_blas():
        warnings.simplefilter("error", InterruptedFitWarning)
        # The experiment itself tells what could not be fetched.
        warnings.filterwarnings("ignore", "A network error occurred", UserWarning)
        try:
            return experiment.run(effort)
        except InterruptedFitWarning as interrupted:
            raise KeyboardInterrupt from interrupted


def _save_figure(draw: Drawing, path: Path) -> None:
    """Draw a figure, as large as its panels need, and save it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    draw(figure)
    grids = [axes.get_subplotspec().get_gridspec() for axes in figure.axes]  # type: ignore[union-attr]  # all are subplots
    columns = max((grid.ncols for grid in grids), default=1)
    rows = max((grid.nrows for grid in grids), default=1)
    figure.set_size_inches(max(7, 3.2 * columns), max(4, 3 * rows))
    figure.savefig(path, dpi=90, pil_kwargs={"optimize": True})


def _how_to_rerun(records: Sequence[Record]) -> str:
    """Return the command of a page, what it needs and how long it takes."""
    settings = records[0].settings if records else {"quick": False, "runs": None, "seed": 0}
    options = " --quick" if settings["quick"] else ""
    options += f" --runs {settings['runs']}" if settings["runs"] else ""
    options += f" --seed {settings['seed']}" if settings["seed"] else ""
    total = sum(record.seconds for record in records)
    versions = ", ".join(sorted({record.version for record in records}))
    return (
        f"`fuselearn reproduce all{options} --jobs 2 --output FOLDER`; `fuselearn reproduce list` names the "
        "experiments. Sets that do not come with scikit-learn or scikit-image are read from the folder that the "
        "environment variable FUSELEARN_DATA names, or fetched from OpenML; claims whose data cannot be had are listed "
        f"as not to be tested. These experiments took {total / 60:.0f} minutes in all, with fuselearn {versions}. The "
        "tables are in the JSON files beside this page too. The numbers of a seed are the same for any number of jobs, "
        "but for seconds."
    )
