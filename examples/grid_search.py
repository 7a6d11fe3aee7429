"""
Which views are needed? A grid search that can leave views out
==============================================================

Every view costs something to measure. The views are a setting of each estimator of fuselearn, so scikit-learn's own
:class:`~sklearn.model_selection.GridSearchCV` can choose among sets of them, together with everything else.

The objects are the handwritten digits that ship with scikit-learn, in four views, and the model is the plainest: an SVM
per view, decision values summed. How many views does it need?
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import ViewVotingClassifier
from fuselearn.datasets import load_digit_views
from fuselearn.inspection import LeaderboardDisplay

N_TRAIN = 600

X, views, y = load_digit_views(return_tuple=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=N_TRAIN, stratify=y, random_state=0)

# %%
# All sets of views, and two settings of the SVMs
# -----------------------------------------------
# Settings of the estimators inside are reached by names with two underscores, as everywhere in scikit-learn.

subsets = [
    {name: views[name] for name in names} for size in range(1, len(views) + 1) for names in combinations(views, size)
]
model = ViewVotingClassifier(make_pipeline(StandardScaler(), SVC()), views=views, voting="sum")
search = GridSearchCV(
    model,
    {"views": subsets, "estimator__svc__C": [0.3, 3.0]},
    cv=StratifiedKFold(3, shuffle=True, random_state=0),
).fit(X, y)

results = search.cv_results_
names = [f"{' + '.join(setting['views'])}, C = {setting['estimator__svc__C']:g}" for setting in results["params"]]
order = np.argsort(-results["mean_test_score"], kind="stable")
print(f"{len(names)} settings; the best five in cross-validation:")
for number in order[:5]:
    print(f"  {results['mean_test_score'][number]:.3f} ± {results['std_test_score'][number]:.3f}  {names[number]}")

# %%
# The best set of each size
# -------------------------
# Bars are the spread over three folds, which is no confidence interval: it is here to show how close the leaders are.

sizes = np.array([len(setting["views"]) for setting in results["params"]])
leaders = [order[sizes[order] == size][0] for size in range(1, len(views) + 1)]
LeaderboardDisplay.from_results(
    [
        {
            "method": names[number],
            "accuracy": results["mean_test_score"][number],
            "low": results["mean_test_score"][number] - results["std_test_score"][number],
            "high": results["mean_test_score"][number] + results["std_test_score"][number],
        }
        for number in leaders
    ],
    score="accuracy",
)

# %%
# What came out
# -------------
# The best of many settings looks better than it is. Digits that took no part in the search show how good it is.

held_out = {}
for number in leaders:
    model.set_params(**results["params"][number]).fit(X, y)
    held_out[int(sizes[number])] = model.score(X_test, y_test)
    print(f"{sizes[number]} view(s): {held_out[int(sizes[number])]:.3f} on digits held out, {names[number]}")

enough = min(size for size, score in held_out.items() if score >= max(held_out.values()) - 0.01)
print(f"The search chose {names[search.best_index_]}: {search.best_score_:.3f} in cross-validation,")
print(f"{search.score(X_test, y_test):.3f} on digits held out. Within a point of the best there: {enough} view(s).")

plt.show()
