"""
A block of measurements is missing: leave out the patients, the block, or neither?
==================================================================================

Three blocks were measured on patients: mRNA, microRNA and proteins. Proteins are the most telling and the most
expensive: most patients lack them. Common ways out are to leave out the patients who lack a block, to leave out the
block, or to fill the holes with means. fuselearn lets a view that is absent abstain instead.

The patients are made up by :func:`fuselearn.datasets.make_views`, a stand-in for real cohorts, which may not be
shipped. How the ways compare depends on the data: run it with a table of your own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import (
    ConcatenatedClassifier,
    FusionClassifier,
    ShareBoostClassifier,
    ViewVotingClassifier,
)
from fuselearn.datasets import make_views
from fuselearn.inspection import LeaderboardDisplay, missingness

BLOCKS = {"mrna": 60, "mirna": 40, "protein": 30}


def make_cohort(seed):
    """Patients of three subtypes; six in ten lack proteins, one in ten microRNA."""
    return make_views(
        600,
        n_classes=3,
        views=BLOCKS,
        strength={"mrna": 2.0, "mirna": 1.5, "protein": 2.5},
        redundancy=0.3,
        missing={"mrna": 0.0, "mirna": 0.1, "protein": 0.6},
        random_state=seed,
    )


# %%
# What is there
# -------------

cohort = make_cohort(0)
print(f"{'patients':>9}  blocks")
for pattern in missingness(cohort.views, cohort.X).patterns:
    print(f"{pattern['rows']:9d}  {', '.join(pattern['views'])}")

# %%
# Six ways, ten cohorts
# ---------------------
# 240 patients to train on, 360 to test on: with the same holes, and as patients of a hospital that never measures
# proteins. The machine is the same, but for the last two.

machine = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), SVC())


def accuracies(cohort):
    """Test accuracy of each way."""
    X, y, views = cohort.X[:240], cohort.y[:240], cohort.views
    complete = ~np.isnan(X).any(axis=1)
    without = {name: columns for name, columns in views.items() if name != "protein"}
    fitted = {
        "complete patients only": ViewVotingClassifier(machine, views=views, voting="sum").fit(
            X[complete], y[complete]
        ),
        "without the block": ViewVotingClassifier(machine, views=without, voting="sum").fit(X, y),
        "means in the holes": ConcatenatedClassifier(machine, views=views).fit(X, y),
        "abstain, SVM sum": ViewVotingClassifier(machine, views=views, voting="sum").fit(X, y),
        "abstain, ShareBoost": ShareBoostClassifier(views=views, n_estimators=100).fit(X, y),
        "abstain, fusion": FusionClassifier(views=views, random_state=0).fit(X, y),
    }
    X_test, y_test = cohort.X[240:], cohort.y[240:]
    never = X_test.copy()
    never[:, views["protein"]] = np.nan
    return {name: (model.score(X_test, y_test), model.score(never, y_test)) for name, model in fitted.items()}


runs = [accuracies(make_cohort(seed)) for seed in range(10)]
scores, scores_never = ({name: np.array([run[name][place] for run in runs]) for name in runs[0]} for place in (0, 1))
print(f"{'':24} {'same holes':>13}   never measured")
records = []
for name, values in scores.items():
    error = 2 * values.std(ddof=1) / np.sqrt(len(values))
    records.append(
        {"method": name, "accuracy": values.mean(), "low": values.mean() - error, "high": values.mean() + error}
    )
    print(f"{name:24} {values.mean():.3f} ± {error:.3f}   {scores_never[name].mean():.3f}")

# %%
LeaderboardDisplay.from_results(records, score="accuracy")

# %%
# What came out
# -------------
# Differences are of the same cohorts, so their errors are smaller than those of the bars.


def compared(name, other, scores):
    """What the paired difference of two ways says, in words."""
    difference = scores[name] - scores[other]
    error = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
    if abs(difference.mean()) <= error:
        words = "cannot be told apart from"
    else:
        words = "is better than" if difference.mean() > 0 else "is worse than"
    return f"'{name}' {words} '{other}': {difference.mean():+.3f} ± {error:.3f}."


for where, found in {"The same holes": scores, "Never measured": scores_never}.items():
    print(f"{where}:")
    for way in ("abstain, SVM sum", "abstain, fusion"):
        for other in ("complete patients only", "without the block", "means in the holes"):
            print(" ", compared(way, other, found))

# %%
# To leave out patients is the worst way in both cases. Whether means in the holes or abstaining views are better
# depends on the data, and the difference is small: these made-up views are Gaussian, for which means are a good guess.

plt.show()
