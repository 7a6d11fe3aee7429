"""FusionClassifier against its peers, on real data in several views and with wrong labels.

Usage: ``FUSELEARN_DATA=... python -m benchmarks.fusion [--quick] [--keep FILE] [--peers]
[--calibration | --not_looked_at | --growth | --large [--cell SET ROWS LABELS] | --protocols | --missing | --few |
--beyond {dask,parquet,gpu}]``

Without a further option it compares methods on the public grid: six sets, three regimes of wrong labels, ten runs. Sets
that cannot be loaded and peers that are not installed are left out, and the report says so.
"""

import warnings

from threadpoolctl import threadpool_limits

from benchmarks import (
    fusion_calibration,
    fusion_few,
    fusion_growth,
    fusion_large,
    fusion_missing,
    fusion_partitions,
    fusion_protocols,
)
from benchmarks.command_line import Options, parser
from benchmarks.fusion_comparison import (
    accuracy_part,
    behind,
    chosen_methods,
    comparison_table,
    lead,
    measure,
    seconds_part,
    short_table,
    summary_table,
)
from benchmarks.fusion_methods import remark_on_packages
from benchmarks.fusion_sets import (
    FLIPPED,
    GRID,
    LOOKED_AT,
    MOST_COLUMNS,
    MOST_OBJECTS,
    NEVER_SEEN,
    SETTLED,
    available,
    without,
)
from benchmarks.fusion_store import open_store
from benchmarks.tables import quick_note, section

PROTOCOL = (
    "Balanced accuracy on clean test labels, in percent; FusionClassifier, the SVMs and the stack have balanced class "
    f"weights. At most {MOST_OBJECTS} objects, 60 % to train on; views "
    f"standardised, those of more than {MOST_COLUMNS} columns reduced to principal components of 95 % of the variance. "
    f"Labels are clean, or {FLIPPED:.0%} of them are flipped: the same ones in all views (common), or in each view "
    "separately (own). There FusionClassifier gets each view's labels, the others their majority. "
    "Where rows belong together, as the ten pictures of a person in olivetti do, the two methods that use out-of-fold "
    "values get the groups: FusionClassifier by `groups`, LightGBM stacking by folds of whole groups."
)


def grid_report(options, keep=None, only_peers=False):
    """Return the section of the public grid, as Markdown."""
    sets, missing = available(GRID)
    n_runs = 2 if options.quick else 10
    results = measure(sets, n_runs, open_store(keep, PROTOCOL), fitters=chosen_methods(only_peers))
    if only_peers:
        return section("Peers on the public grid", comparison_table(results), summary_table(results))
    return section(
        "FusionClassifier on the public grid",
        f"{PROTOCOL} {n_runs} runs. dtd10 is the mean of five pairs of classes.",
        *without(missing),
        *remark_on_packages(),
        comparison_table(results),
        summary_table(results),
        *lead(results),
        *behind(results),
        *accuracy_part(results),
        *seconds_part(results),
        *quick_note(options),
    )


def further_report(options, keep=None, only_peers=False):
    """Return the section of sets that are not in the grid, as Markdown."""
    n_runs, store = (2 if options.quick else 5), open_store(keep, PROTOCOL)
    parts = []
    for remark, wanted in (
        ("**Sets on which defaults of FusionClassifier were chosen**, so that they flatter it:", SETTLED),
        ("**Tasks that were looked at** when calibration was designed, and not before:", LOOKED_AT),
        ("**Tasks that were not looked at before**; their objects were, with other classes or labels:", NEVER_SEEN),
    ):
        sets, missing = available(wanted)
        results = measure(sets, n_runs, store, fitters=chosen_methods(only_peers))
        parts += [remark, *without(missing), short_table(results), summary_table(results)]
        if only_peers:
            continue
        parts += [*lead(results), *behind(results), *accuracy_part(results)]
    return section(
        "FusionClassifier on sets outside the grid",
        f"{PROTOCOL} {n_runs} runs. Sets of one view have their columns dealt to three views at random.",
        *remark_on_packages(),
        *parts,
        *quick_note(options),
    )


PARTS = {
    "not_looked_at": (further_report, "sets that are not in the grid"),
    "calibration": (fusion_calibration.report, "expected calibration error"),
    "growth": (fusion_growth.report, "time, memory and accuracy by number of rows, beside LightGBM"),
    "large": (fusion_large.report, "sets of many rows, against LightGBM"),
    "protocols": (fusion_protocols.report, "public protocols, beside the figures published"),
    "missing": (fusion_missing.report, "accuracy by share of missing views"),
    "few": (fusion_few.report, "few rows, many columns, wrong labels that all views share"),
}
"""Sections that are asked for by an option, instead of the grid."""
WITHOUT_STORE = ("calibration", "protocols")
WITH_PEERS = ("grid", "not_looked_at", "few", "large")


def main():
    """Parse the command line and print the section asked for."""
    command_line = parser(__doc__.splitlines()[0])
    help_on_keep = "keep finished fits in this file of JSON lines, and go on from it; a file for each section"
    command_line.add_argument("--keep", metavar="FILE", help=help_on_keep)
    command_line.add_argument("--peers", action="store_true", help="fit the peers only, for the file of --keep")
    help_on_cell = "with --large: this cell only, such as: movies 20000 wrong"
    command_line.add_argument("--cell", nargs=3, metavar=("SET", "ROWS", "LABELS"), help=help_on_cell)
    which = command_line.add_mutually_exclusive_group()
    for name, (_, help_on_part) in PARTS.items():
        which.add_argument(f"--{name}", dest="part", action="store_const", const=name, help=help_on_part)
    which.add_argument("--beyond", choices=fusion_partitions.REPORTS, help="on a cluster, from files, or on a GPU")
    command_line.set_defaults(part="grid")
    arguments = command_line.parse_args()
    _check(arguments, command_line)
    options = Options(arguments.quick, arguments.mumbo_python)
    # LightGBM names the columns of a bare array, then complains that another one has no names.
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    if arguments.beyond:
        print(fusion_partitions.REPORTS[arguments.beyond](options))
        return
    report, _ = ({"grid": (grid_report, "")} | PARTS)[arguments.part]
    settings = {} if arguments.part in WITHOUT_STORE else {"keep": arguments.keep}
    settings |= {"only_peers": True} if arguments.peers else {}
    settings |= {"cell": arguments.cell} if arguments.cell else {}
    with threadpool_limits(1):
        print(report(options, **settings))


def _check(arguments, command_line):
    """Refuse options that the section asked for does not have."""
    part = arguments.beyond or arguments.part
    if arguments.cell and part != "large":
        command_line.error("--cell belongs to --large")
    if arguments.peers and part not in WITH_PEERS:
        command_line.error(f"--peers belongs to the {', '.join(WITH_PEERS)}")
    if arguments.keep and (arguments.beyond or part in WITHOUT_STORE):
        command_line.error(f"--keep does not belong to {part}")


if __name__ == "__main__":
    main()
