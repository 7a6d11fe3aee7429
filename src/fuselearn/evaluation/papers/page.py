"""The page of a folder of experiments: verdicts first, then every table and figure."""

from fuselearn.evaluation.papers.catalogue import EXPERIMENTS, PAPERS
from fuselearn.evaluation.papers.outcome import FAILS, HOLDS, UNTESTED
from fuselearn.evaluation.papers.verdicts import RULE
from fuselearn.evaluation.tables import Table

PAGE = "README.md"
QUICK = (
    "**This is a quick run: a few runs on less data, to see that everything works. Its verdicts are not worth much.**"
)


SETTLED = (
    "Settled after first runs had been seen, so read verdicts near the line with that in mind: the rule above (an "
    "earlier one asked for a lead on most sets, and left most claims open); SVMs do not standardise principal "
    "components (it cut the vote on the glasses from 0.90 to 0.77; without it S3's claims no longer hold in short "
    "runs); the sum of SVMs is judged on noisy and on clean labels apart; synthetic labels are drawn anew each time. "
    "There is no correction for the number of claims."
)


def write_page(folder, records):
    """Write the page of the records that are there.

    Parameters
    ----------
    folder : Path
    records : list of Record or None
        None where an experiment has not been run.
    """
    unfinished = folder / f".{PAGE}.part"
    unfinished.write_text(page_of([record for record in records if record is not None]), encoding="utf-8")
    unfinished.replace(folder / PAGE)


def page_of(records):
    """The page in Markdown.

    Parameters
    ----------
    records : list of Record

    Returns
    -------
    str
    """
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
        *(section_of(record) for record in records),
        "## How to rerun",
        _how(records),
    ]
    return "\n\n".join(parts) + "\n"


def counted(findings):
    """How many claims hold, in words."""
    words = {HOLDS: ("holds", "hold"), FAILS: ("does not", "do not"), UNTESTED: (UNTESTED, UNTESTED)}
    counts = {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in words}
    return ", ".join(f"{count} {words[verdict][count != 1]}" for verdict, count in counts.items())


def verdict_table(records):
    """Every claim with its verdict and the evidence.

    Parameters
    ----------
    records : list of Record

    Returns
    -------
    Table
    """
    rows = [
        (record.name, finding.claim, finding.verdict, finding.evidence)
        for record in records
        for finding in record.findings
    ]
    return Table("", ("experiment", "claim", "verdict", "evidence"), rows)


def section_of(record):
    """An experiment's part of the page."""
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


def _how(records):
    settings = records[0].settings if records else {"quick": False, "runs": None, "seed": 0}
    options = " --quick" if settings["quick"] else ""
    options += f" --runs {settings['runs']}" if settings["runs"] else ""
    options += f" --seed {settings['seed']}" if settings["seed"] else ""
    total = sum(record.seconds for record in records)
    versions = ", ".join(sorted({record.version for record in records}))
    return (
        f"`fuselearn reproduce all{options} --jobs 2 --output FOLDER`; `fuselearn reproduce list` names the "
        "experiments. Sets that do not come with scikit-learn or scikit-image are read from the folder that the "
        "environment variable FUSELEARN_DATA names, or fetched from OpenML; what cannot be had is listed as not to be "
        f"tested. These experiments took {total / 60:.0f} minutes in all, with fuselearn {versions}. The tables are in "
        "the JSON files beside this page too. The numbers of a seed are the same for any number of jobs, but for "
        "seconds."
    )
