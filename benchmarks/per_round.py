"""Cost of a round, against AdaBoost on the concatenated views and against reading the data.

Usage: ``python -m benchmarks.per_round [--quick]``
"""

from functools import partial

from sklearn.ensemble import AdaBoostClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from benchmarks.command_line import progress, run_script
from benchmarks.data import clustered_views
from benchmarks.tables import at_least, markdown_table, milliseconds, number, quick_note, section
from benchmarks.timing import best_times, seconds_per_round
from fuselearn import ShareBoostClassifier

CONTENDERS = {
    "naive Bayes": ("gaussian_nb", GaussianNB(), 25),
    "stump": ("stump", DecisionTreeClassifier(max_depth=1), 100),
}
"""Our learner, the peer's weak learner, and how many times faster a round must be."""
LEARNING_RATE = 0.1
"""Small steps keep an edge for hundreds of rounds, also for the peer; the cost of a round does not depend on it."""
OUR_ROUNDS = (10, 110)
PEER_ROUNDS = (2, 12)


def measure(options):
    """Time fits of few and of many rounds, predictions, and plain passes over the data.

    Returns
    -------
    passes : Timed
        Two sums over X.
    learners : dict of name to dict
        For each contender the keys ``our_round``, ``peer_round``, ``our_vote``, ``peer_vote`` (seconds per round of
        fit and of predict), ``our_rounds`` and ``peer_rounds``.
    """
    n_rows, repeats = (2_000, 1) if options.quick else (20_000, 5)
    X, y, views = clustered_views(n_rows, n_views=3, n_columns=100)
    passes = best_times({"passes": lambda: (X.sum(), X.sum())}, repeats=20)["passes"]
    return passes, {
        name: _measure_learner(X, y, views, ours, weak, repeats, name) for name, (ours, weak, _) in CONTENDERS.items()
    }


def _measure_learner(X, y, views, ours, weak, repeats, name):
    progress(f"per_round: {name}")

    def fit_ours(n_rounds):
        model = ShareBoostClassifier(ours, views=views, n_estimators=n_rounds, learning_rate=LEARNING_RATE)
        return model.fit(X, y)

    def fit_peer(n_rounds):
        model = AdaBoostClassifier(weak, n_estimators=n_rounds, learning_rate=LEARNING_RATE, random_state=0)
        return model.fit(X, y)

    fit_ours(2).predict(X)  # compiles the loops
    fits = best_times(
        {
            "our few": partial(fit_ours, OUR_ROUNDS[0]),
            "our many": partial(fit_ours, OUR_ROUNDS[1]),
            "peer few": partial(fit_peer, PEER_ROUNDS[0]),
            "peer many": partial(fit_peer, PEER_ROUNDS[1]),
        },
        repeats,
    )
    our_model, peer_model = fits["our many"].result, fits["peer many"].result
    votes = best_times({"ours": lambda: our_model.predict(X), "peer": lambda: peer_model.predict(X)}, repeats)
    return {
        "our_round": seconds_per_round(fits["our few"], fits["our many"], lambda model: model.n_iter_),
        "peer_round": seconds_per_round(fits["peer few"], fits["peer many"], lambda model: len(model.estimators_)),
        "our_rounds": our_model.n_iter_,
        "peer_rounds": len(peer_model.estimators_),
        "our_vote": votes["ours"].seconds / our_model.n_iter_,
        "peer_vote": votes["peer"].seconds / len(peer_model.estimators_),
    }


def report(options):
    """Return the section of the report, as Markdown."""
    passes, learners = measure(options)
    fit_rows, predict_rows = [], []
    for name, figures in learners.items():
        target = CONTENDERS[name][2]
        fit_rows.append(
            (
                name,
                milliseconds(figures["our_round"]),
                milliseconds(figures["peer_round"]),
                number(figures["our_round"] / passes.seconds),
                f"{figures['our_rounds']} / {figures['peer_rounds']}",
                at_least(figures["peer_round"] / figures["our_round"], target),
            )
        )
        predict_rows.append(
            (
                name,
                milliseconds(figures["our_vote"]),
                milliseconds(figures["peer_vote"]),
                # A hypothesis reads one of the three views.
                number(figures["our_vote"] / (passes.seconds / 2 / 3)),
                number(figures["peer_vote"] / figures["our_vote"]),
            )
        )
    n_rows = "2,000" if options.quick else "20,000"
    return section(
        "A round, against AdaBoost",
        f"{n_rows} rows, 3 views of 100 columns, two classes, one thread. AdaBoost works on the concatenation. The "
        "time of a round is that of one more: the difference between a long and a short fit, over the rounds between "
        f"them. Two plain passes over the same bytes (`X.sum()` twice) take {milliseconds(passes.seconds)} ms.",
        markdown_table(
            (
                "fit",
                "ShareBoost, ms a round",
                "AdaBoost, ms a round",
                "round / two passes",
                "rounds run",
                "times faster",
            ),
            fit_rows,
        ),
        "Predicting, per round of the ensemble; a pass is over the one view that a hypothesis reads.",
        markdown_table(
            ("predict", "ShareBoost, ms a round", "AdaBoost, ms a round", "round / pass of a view", "times faster"),
            predict_rows,
        ),
        *quick_note(options),
    )


if __name__ == "__main__":
    run_script(report, __doc__)
