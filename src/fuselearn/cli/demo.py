"""``fuselearn demo``: the gain of fusion, with clean labels and when each view has wrong labels of its own."""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.console import check_jobs, check_seed, interruptible, progress_bar, refuse, say_json
from fuselearn.cli.options import Jobs

if TYPE_CHECKING:
    from fuselearn.typing import AnyArray, FloatArray

TRAIN_SIZE = 0.6  # as in the noise studies of S0 and S1


@dataclass(frozen=True)
class Row:
    """The result of one method with one kind of labels. `rounds` is None for a method that has none."""

    labels: str
    method: str
    accuracy: float
    standard_error: float
    fit_seconds: float
    rounds: int | None
    view_shares: dict[str, float]


def demo(
    rounds: Annotated[int, typer.Option(help="Number of rounds of boosting.")] = 100,
    noise: Annotated[float, typer.Option(help="Share of the labels of each view that are wrong.")] = 0.3,
    seed: Annotated[int, typer.Option(help="Seed of the split, of the wrong labels and of the bandit.")] = 0,
    jobs: Jobs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Fuse four views of handwritten digits, with clean and with wrong labels, and compare with boosting."""
    if rounds < 1:
        refuse(f"--rounds must be at least 1; got {rounds}.")
    if not 0 <= noise <= 1:
        refuse(f"--noise must be between 0 and 1; got {noise:g}.")
    check_seed(seed)
    check_jobs(jobs)
    with interruptible("the comparison is not finished"), progress_bar("", total=1) as update:
        rows = compare_methods(rounds, noise, seed, jobs, update)
    if as_json:
        settings = {"rounds": rounds, "noise": noise, "seed": seed}
        say_json({**settings, "rows": [asdict(row) for row in rows], "summary": summarise(rows)})
    else:
        _print_table(rows, summarise(rows), rounds)


def compare_methods(
    rounds: int,
    noise: float,
    seed: int,
    jobs: int | None = None,
    on_step: Callable[[int, int, str], None] = lambda number, total, description: None,
) -> list[Row]:
    """Fit FusionClassifier, ShareBoost, rShareBoost and iBoost to the digits, with clean labels and with wrong ones.

    `noise` is the share of each view's labels that are wrong; with 0 there are rows for clean labels only. `on_step`
    gets the number of a step, the number of all, and a description, before each step.
    """
    total = 1 + 4 * (2 if noise > 0 else 1)
    on_step(0, total, "compiling, first run only")
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    from fuselearn import FusionClassifier, IndependentBoostClassifier, ShareBoostClassifier, add_label_noise

    X, views, y = _digits()
    X, X_test, y, y_test = train_test_split(X, y, train_size=TRAIN_SIZE, stratify=y, random_state=seed)
    common = {"views": views, "n_estimators": rounds, "n_jobs": jobs, "random_state": seed}
    methods = {
        "Fusion": FusionClassifier(views=views, n_jobs=jobs, random_state=seed),
        "ShareBoost": ShareBoostClassifier(**common),
        "rShareBoost": ShareBoostClassifier(view_policy="exp3p", **common),
        "iBoost": IndependentBoostClassifier(**common),
    }
    kinds: dict[str, AnyArray | None] = {"clean": None}
    if noise > 0:
        kinds[f"{100 * noise:g}% wrong"], _ = add_label_noise(y, len(views), rate=noise, random_state=seed)
    # Each method, with each kind of labels, has loops of its own to compile; its seconds must not include that.
    for method, model in methods.items():
        short = {"max_fits": 6} if method == "Fusion" else {"n_estimators": 2}
        for view_labels in kinds.values():
            _fit(clone(model).set_params(**short), X, y, view_labels).predict(X_test)

    rows: list[Row] = []
    for labels, view_labels in kinds.items():
        for method, model in methods.items():
            on_step(1 + len(rows), total, f"fitting {method}, labels {labels}")
            start = time.perf_counter()
            _fit(model, X, y, view_labels)
            seconds = time.perf_counter() - start
            accuracy = float(model.score(X_test, y_test))
            rows.append(
                Row(
                    labels=labels,
                    method=method,
                    accuracy=accuracy,
                    standard_error=math.sqrt(accuracy * (1 - accuracy) / len(y_test)),
                    fit_seconds=seconds,
                    rounds=getattr(model, "n_iter_", None),
                    view_shares=dict(zip(model.view_names_, model.view_importances_.tolist())),
                )
            )
    on_step(total, total, "done")
    return rows


def summarise(rows: list[Row]) -> list[str]:
    """Return what the rows say, in one or two sentences."""
    by_labels: dict[str, list[Row]] = {}
    for row in rows:
        by_labels.setdefault(row.labels, []).append(row)
    leads = "; ".join(f"labels {labels}: {_lead(group)}" for labels, group in by_labels.items())
    sentences = [f"{leads[0].upper()}{leads[1:]} (two standard errors of this one split)."]
    if len(by_labels) == 2:
        clean, wrong = by_labels.values()
        changes = [f"{after.accuracy - before.accuracy:+.3f} ({after.method})" for before, after in zip(clean, wrong)]
        sentences.append(f"Wrong labels change the accuracy by {', '.join(changes)}.")
    return sentences


def _digits() -> Any:
    """Load the rows, views and classes of the demo."""
    from fuselearn.datasets import load_digit_views

    return load_digit_views(return_tuple=True)


def _lead(rows: list[Row]) -> str:
    """Return which method is ahead, and which are so close to it that another split could turn the order."""
    best = max(rows, key=lambda row: row.accuracy)
    close = [
        row.method
        for row in rows
        if row is not best and best.accuracy - row.accuracy <= 2 * math.hypot(best.standard_error, row.standard_error)
    ]
    verdict = f"with {' and '.join(close)} too close to call" if close else "beyond chance"
    return f"{best.method} is ahead at {best.accuracy:.3f}, {verdict}"


def _fit(model: Any, X: "FloatArray", y: "AnyArray", view_labels: "AnyArray | None") -> Any:
    """Fit a model; an interrupt ends the demo."""
    from fuselearn.exceptions import InterruptedFitWarning, NoEdgeWarning

    with warnings.catch_warnings():
        # An interrupted fit keeps the rounds it has, but who interrupts a demo wants it to end.
        warnings.simplefilter("error", InterruptedFitWarning)
        # The table says how many rounds there were, also when there was none.
        warnings.simplefilter("ignore", NoEdgeWarning)
        try:
            return model.fit(X, y, view_labels=view_labels)
        except InterruptedFitWarning as interrupted:
            raise KeyboardInterrupt from interrupted


def _print_table(rows: list[Row], sentences: list[str], rounds: int) -> None:
    """Print the results as a table, and the sentences below it."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    caption = "Views: share of all votes, or of the spread of the values."
    if any(row.rounds is not None and row.rounds < rounds for row in rows):
        caption += "\nA run ends early when no view is left that beats chance."
    table = Table(title="Handwritten digits, four views", caption=caption, box=box.SIMPLE_HEAD, padding=0)
    # Nine columns fit into 80 characters; where there are fewer, folding loses no digit.
    table.add_column("labels", overflow="fold")
    table.add_column("method", overflow="fold")
    for heading in ["accuracy", "rounds", "fit s", *rows[0].view_shares]:
        table.add_column(heading, justify="right", overflow="fold")
    previous = None
    for row in rows:
        if previous not in (None, row.labels):
            table.add_section()
        table.add_row(
            "" if row.labels == previous else row.labels,
            row.method,
            f"{row.accuracy:.3f}",
            "" if row.rounds is None else f"{row.rounds}",
            f"{row.fit_seconds:.2f}",
            *(f"{share:.0%}" for share in row.view_shares.values()),
        )
        previous = row.labels
    console = Console(highlight=False)
    console.print(table)
    for sentence in sentences:
        console.print(sentence)
