"""Rerun experiments into a folder, one after the other, and keep a page of what is there."""

import time
import warnings
from pathlib import Path

from threadpoolctl import threadpool_limits

from fuselearn.evaluation.papers.catalogue import EXPERIMENTS, experiments_named
from fuselearn.evaluation.papers.page import counted, write_page
from fuselearn.evaluation.papers.record import load_record, save_outcome, settings_of
from fuselearn.exceptions import InterruptedFitWarning


def rerun(name, effort, folder, *, force=False, tell=lambda line: None):
    """Rerun one experiment, or all.

    What is finished is saved at once: its JSON, its figures, and the folder's page. An experiment that the folder has
    already, run with the same settings and all of its data, is not run again.

    Parameters
    ----------
    name : str
        Of an experiment, or "all".
    effort : Effort
    folder : str or path
        Made if it is not there; the folder that holds it must be.
    force : bool, default=False
        Run again what is there.
    tell : callable, default does nothing
        Is told lines of progress.

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
            tell(f"{head}: there already")
        else:
            tell(f"{head}: {experiment.paper} {experiment.reruns}")
            start = time.monotonic()
            outcome = _uninterrupted(experiment, effort)
            seconds = time.monotonic() - start
            record = save_outcome(folder, experiment.name, effort, outcome, seconds)
            write_page(folder, [load_record(folder, other) for other in EXPERIMENTS])
            tell(f"{head}: {seconds:.0f} s; {counted(record.findings)}")
        records.append(record)
    return records


def _uninterrupted(experiment, effort):
    """An interrupted fit keeps the rounds it has, and goes on; an experiment with such a fit is worth nothing."""
    # One thread for matrix products: their last bits depend on the number, and on a busy machine several wait for each
    # other, sixteen times as long in all.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("error", InterruptedFitWarning)
        # What could not be fetched is told by the experiment.
        warnings.filterwarnings("ignore", "A network error occurred", UserWarning)
        try:
            return experiment.run(effort)
        except InterruptedFitWarning as interrupted:
            raise KeyboardInterrupt from interrupted
