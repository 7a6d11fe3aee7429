"""Time of rShareBoost, which fits one view a round, as a share of ShareBoost's.

Usage: ``python -m benchmarks.bandit [--quick]``
"""

from functools import partial

from benchmarks.command_line import progress, run_script
from benchmarks.data import clustered_views
from benchmarks.tables import at_most, markdown_table, number, quick_note, section
from benchmarks.timing import best_times
from fuselearn import ShareBoostClassifier

LEARNERS = {"naive Bayes": "gaussian_nb", "stump": "stump", "tree": "tree"}
N_VIEWS = 6
LARGEST_SHARE = 0.3
LEARNING_RATE = 0.1
"""Small steps, so that no run ends before its last round."""


def measure(options):
    """Return the best whole fit: a dict of learner's name to dict of policy to Timed."""
    n_rows, n_rounds, repeats = (2_000, 30, 1) if options.quick else (20_000, 150, 3)
    X, y, views = clustered_views(n_rows, N_VIEWS, n_columns=50)
    times = {}
    for name, learner in LEARNERS.items():
        progress(f"bandit: {name}")

        def fit(policy, rounds=n_rounds, learner=learner):
            return ShareBoostClassifier(
                learner,
                views=views,
                view_policy=policy,
                n_estimators=rounds,
                learning_rate=LEARNING_RATE,
                random_state=0,
            ).fit(X, y)

        fit("best", rounds=2)  # compiles the loops
        times[name] = best_times({policy: partial(fit, policy) for policy in ("best", "exp3p")}, repeats)
    return times


def report(options):
    """Return the section of the report, as Markdown."""
    rows = [
        (
            name,
            number(times["best"].seconds),
            number(times["exp3p"].seconds),
            f"{times['best'].result.n_iter_} / {times['exp3p'].result.n_iter_}",
            at_most(times["exp3p"].seconds / times["best"].seconds, LARGEST_SHARE),
        )
        for name, times in measure(options).items()
    ]
    n_rows, n_rounds = ("2,000", 30) if options.quick else ("20,000", 150)
    return section(
        "One view a round: rShareBoost",
        f"{n_rows} rows, {N_VIEWS} views of 50 columns, {n_rounds} rounds, one thread: the whole fit, with the "
        "preparation of all views, which both policies need.",
        markdown_table(("learner", "ShareBoost, s", "rShareBoost, s", "rounds run", "share of the time"), rows),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
