"""A finished experiment on disk: its tables and findings as JSON, its figures as PNG."""

import json
from dataclasses import asdict, dataclass, field

from fuselearn import __version__
from fuselearn.evaluation.papers.outcome import Finding
from fuselearn.evaluation.tables import Table


@dataclass(frozen=True)
class Record:
    """What an experiment gave, and how it was run.

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
        Data sets that could not be had, and why.
    """

    name: str
    settings: dict
    seconds: float
    version: str
    tables: list
    findings: list
    figures: list
    missing: dict = field(default_factory=dict)


def settings_of(effort):
    """What of an effort decides the numbers."""
    return {"quick": effort.quick, "runs": effort.runs, "seed": effort.seed}


def save_outcome(folder, name, effort, outcome, seconds):
    """Write an outcome's figures and its JSON.

    Parameters
    ----------
    folder : Path
        It must be there.
    name : str
        Of the experiment.
    effort : Effort
    outcome : Outcome
    seconds : float

    Returns
    -------
    Record
    """
    figures = []
    for stem, draw in outcome.figures.items():
        _draw(draw, folder / f"{stem}.png")
        figures.append(f"{stem}.png")
    record = Record(
        name, settings_of(effort), seconds, __version__, outcome.tables, outcome.findings, figures, outcome.missing
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
    }
    unfinished = folder / f".{name}.json.part"
    unfinished.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(folder / f"{name}.json")
    return record


def load_record(folder, name):
    """The record of an experiment, or None where there is none that can be read.

    Parameters
    ----------
    folder : Path
    name : str
    """
    try:
        content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        tables = [Table(**table) for table in content.pop("tables")]
        findings = [Finding(**finding) for finding in content.pop("findings")]
        return Record(tables=tables, findings=findings, **content)
    # A file of another version, or of another program.
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _draw(draw, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    draw(figure)
    # A panel needs its room, whoever drew it.
    columns = max((axes.get_subplotspec().get_gridspec().ncols for axes in figure.axes), default=1)
    rows = max((axes.get_subplotspec().get_gridspec().nrows for axes in figure.axes), default=1)
    figure.set_size_inches(max(7, 3.2 * columns), max(4, 3 * rows))
    figure.savefig(path, dpi=90, pil_kwargs={"optimize": True})
