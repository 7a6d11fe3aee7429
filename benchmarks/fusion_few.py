"""FusionClassifier on few rows and many columns, with wrong labels that all views share; a part of `fusion.py`."""

from functools import partial

import numpy as np

from benchmarks.fusion_comparison import (
    accuracy_part,
    behind,
    chosen_methods,
    lead,
    measure,
    short_table,
    summary_table,
)
from benchmarks.fusion_methods import STACKING, remark_on_packages
from benchmarks.fusion_sets import (
    FLIPPED,
    MOST_OBJECTS,
    Objects,
    available,
    digits,
    faces,
    glasses,
    public,
    split,
    without,
)
from benchmarks.fusion_store import open_store
from benchmarks.tables import quick_note, section

LEFT_OUT = ("XGBoost", STACKING)
"""Methods that take long on thousands of columns and are behind support vector machines on such sets."""
N_RUNS = 5
N_NOISE = 200
PROTOCOL = (
    f"Balanced accuracy on clean test labels, in percent. At most {MOST_OBJECTS} objects, 60 % to train on, so 90 to "
    "300; all columns, standardised, without principal components. Labels are clean, or some "
    f"({FLIPPED:.0%}) are flipped, the same ones for all views (common). FusionClassifier and the SVMs have balanced "
    "class weights."
)


def with_noise(load):
    """Load a set, and add columns of noise to each view, as many as make the useful ones hard to find."""
    objects = load()
    rng = np.random.default_rng(0)
    tables = {
        name: np.hstack([table / table.std(), rng.normal(size=(len(table), N_NOISE))])
        for name, table in objects.tables.items()
    }
    return Objects(tables, objects.y, objects.groups)


def _class_of(name, number):
    return partial(public, name, lambda y: y == np.unique(y)[number])


SETS = {
    **{
        f"breast_tcga, {name}": _class_of("breast_tcga", number)
        for number, name in enumerate(("Basal", "Her2", "LumA"))
    },
    **{f"bdgp, class {number}": _class_of("bdgp", number) for number in range(5)},
    **{f"msrc_v1, class {number}": _class_of("msrc_v1", number) for number in (0, 2, 4, 6)},
    "msrc_v1, classes ≥ 3": partial(public, "msrc_v1", lambda y: y - y.min() >= 3),
    "mfeat ≥ 5": partial(public, "mfeat", lambda y: y >= 5),
    "mfeat, odd": partial(public, "mfeat", lambda y: y % 2),
    "olivetti, glasses by person": glasses,
    "scikit-image faces": faces,
    "digits ≥ 5, 200 columns of noise a view": partial(with_noise, partial(digits, lambda y: y >= 5)),
    "digits, odd, 200 columns of noise a view": partial(with_noise, partial(digits, lambda y: y % 2)),
}
QUICK = ("digits ≥ 5, 200 columns of noise a view",)


def report(options, keep=None, only_peers=False):
    """Return the section of the report, as Markdown."""
    wanted = {name: {name: load} for name, load in SETS.items() if not options.quick or name in QUICK}
    sets, missing = available(wanted)
    n_runs = 2 if options.quick else N_RUNS
    results = measure(
        sets,
        n_runs,
        open_store(keep, PROTOCOL),
        regimes=("clean", "common"),
        prepare=partial(split, reduce=False),
        fitters=chosen_methods(only_peers, LEFT_OUT),
    )
    if only_peers:
        return section("Peers on few rows and many columns", short_table(results), summary_table(results))
    return section(
        "FusionClassifier on few rows and many columns",
        f"{PROTOCOL} {n_runs} runs.",
        *without(missing),
        *remark_on_packages(["LightGBM"]),
        short_table(results),
        summary_table(results),
        *lead(results),
        *behind(results),
        *accuracy_part(results),
        *quick_note(options),
    )
