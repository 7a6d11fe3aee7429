"""
Two hundred tags: does each need models of its own?
===================================================

Pictures, songs and articles carry hundreds of tags, and many of them are about the same few things. One classifier per
tag learns the same things again and again. :class:`~fuselearn.MSSBoostClassifier` learns small base models and lets
every tag use every one of them. How much does that help, and what if the tags have nothing in common?

The objects are generated: 200 tags, each a noisy mixture of two concepts. In the first set there are twelve concepts in
all, in the second as many as it takes for no two tags to share one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import average_precision_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from fuselearn import MSSBoostClassifier, NSBoostClassifier, RSBagClassifier
from fuselearn.datasets import make_shared_labels
from fuselearn.inspection import LabelSharingDisplay

N_TRAIN, N_TEST, N_TAGS = 600, 300, 200


def make_tags(n_concepts):
    """Return objects with 200 tags that are mixtures of so many concepts."""
    return make_shared_labels(
        N_TRAIN + N_TEST,
        n_features=30,
        n_labels=N_TAGS,
        n_concepts=n_concepts,
        positives=0.1,
        noise=0.2,
        random_state=0,
    )


def mean_precision(model, X, Y):
    """Return the mean average precision over the tags, on the test objects. Guessing has 0.1."""
    if hasattr(model, "decision_function"):
        values = model.decision_function(X[N_TRAIN:])
    else:
        values = np.column_stack([shares[:, 1] for shares in model.predict_proba(X[N_TRAIN:])])
    return average_precision_score(Y[N_TRAIN:], values, average="macro")


# %%
# Models for 200 tags
# -------------------
# The subspace ensembles have base models of 30 % of the rows and a fifth of the columns. Beside them: an SVM per tag,
# and trees, each of which serves all tags as well.

small = {"data_ratio": 0.3, "feature_ratio": 0.2, "random_state": 0}
models = {
    "MSSBoost, 100 models, shared": MSSBoostClassifier(n_estimators=100, pool_size=N_TAGS, **small),
    "NSBoost, 100 models, not shared": NSBoostClassifier(n_estimators=100, pool_size=N_TAGS, **small),
    "RSBag, 100 models in turn": RSBagClassifier(n_estimators=100, **small),
    "RSBag, 600 models in turn": RSBagClassifier(n_estimators=600, **small),
    "an SVM per tag": OneVsRestClassifier(SVC()),
    "60 extremely random trees": ExtraTreesClassifier(60, min_samples_leaf=2, random_state=0),
}
X, Y = make_tags(12)
scores = {}
for name, model in models.items():
    scores[name] = mean_precision(model.fit(X[:N_TRAIN], Y[:N_TRAIN]), X, Y)
    print(f"{name:34} {scores[name]:.3f}")

# %%
# Who uses whose models
# ---------------------
# A column for each of the first base models, a row for each of the first tags.

shared = models["MSSBoost, 100 models, shared"]
serves = np.count_nonzero(shared.label_weights_, axis=1)
print(f"A base model serves {serves.mean():.0f} of the {N_TAGS} tags on average.")
first_tags = shared.label_weights_[:25, :30]
LabelSharingDisplay(
    weights=first_tags, label_names=[f"tag {number + 1}" for number in range(first_tags.shape[1])]
).plot()

# %%
# Tags with nothing in common
# ---------------------------

X, Y = make_tags(2 * N_TAGS)
unrelated = {}
for name in ("MSSBoost, 100 models, shared", "RSBag, 600 models in turn", "60 extremely random trees"):
    unrelated[name] = mean_precision(models[name].fit(X[:N_TRAIN], Y[:N_TRAIN]), X, Y)
    print(f"{name:34} {unrelated[name]:.3f}")

# %%
# What came out
# -------------

few, many = scores["RSBag, 100 models in turn"], scores["RSBag, 600 models in turn"]
trees = scores["60 extremely random trees"]
mss, mss_unrelated = scores["MSSBoost, 100 models, shared"], unrelated["MSSBoost, 100 models, shared"]
print(
    f"Tags that have concepts in common: sharing takes 100 base models from {few:.3f} to {mss:.3f}; six times as many"
)
print(f"that are not shared have {many:.3f}.")
print(f"It is not the only way to share: trees, which split for all tags at once, have {trees:.3f}.")
best = max(unrelated, key=unrelated.get)
print(f"Tags that have nothing in common: MSSBoost has {mss_unrelated:.3f}, and '{best}' is ahead with")
print(f"{unrelated[best]:.3f}.")

plt.show()
