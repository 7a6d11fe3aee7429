"""
The first five minutes: one classifier for a table as it is
===========================================================

A table has several groups of columns, holes where a group was not measured, and labels of which some are wrong. What
does one get without choosing anything, and how does one see whether to trust it?

The objects are the handwritten digits that ship with scikit-learn, in four views. A quarter of the digits lose one
view at random, and one label in ten is made wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import FusionClassifier, ViewVotingClassifier, add_label_noise
from fuselearn.datasets import load_digit_views
from fuselearn.inspection import LeaderboardDisplay, ViewImportanceDisplay

N_TRAIN = 600

X, views, truth = load_digit_views(return_tuple=True)
rng = np.random.default_rng(0)
for row in rng.choice(len(X), len(X) // 4, replace=False):
    X[row, list(views.values())[rng.integers(len(views))]] = np.nan
X, X_test, truth, truth_test = train_test_split(X, truth, train_size=N_TRAIN, stratify=truth, random_state=0)
given, wrong = add_label_noise(truth, 1, 0.1, random_state=0)
given, wrong = given[:, 0], wrong[:, 0]

# %%
# Fit
# ---

model = FusionClassifier(views=views, random_state=0).fit(X, given)
fused = model.score(X_test, truth_test)
print(f"accuracy on digits held out: {fused:.3f}")
print(f"the model's own estimate, from its training rows alone: {model.out_of_sample_score_:.3f}")

# %%
# The second number is lower because some of the labels it is compared with are wrong. How many does the model think
# are wrong?

print(f"wrong labels: {model.noise_rates_[0]:.3f} estimated, {wrong.mean():.3f} true")

# %%
# Look inside
# -----------
# The accuracy of each learner of each view on rows it has not seen, and the accuracy that is lost on digits held out
# when a view is absent.

LeaderboardDisplay.from_estimator(model)

# %%
ViewImportanceDisplay.from_estimator(model, X_test, truth_test, methods=["share", "drop"])

# %%
# Labels to look at again
# -----------------------

suspects = model.suspects(50)
for suspect in suspects[:5]:
    print(f"row {suspect['row']:4d}: labelled {suspect['given']}, more likely {suspect['proposed']}")
hits = sum(wrong[suspect["row"]] for suspect in suspects)

# %%
# What came out
# -------------
# For comparison: one SVM per view, trained on the same rows, decision values summed.

svms = ViewVotingClassifier(make_pipeline(StandardScaler(), SVC()), views=views, voting="sum").fit(X, given)
plain = svms.score(X_test, truth_test)
print(f"{hits} of the 50 most suspect labels are wrong, where 50 at random would hold about {50 * wrong.mean():.0f}.")
error = np.sqrt((fused * (1 - fused) + plain * (1 - plain)) / len(truth_test))
verdict = "ahead" if fused - plain > 2 * error else "behind" if plain - fused > 2 * error else "not clearly different"
print(f"Accuracy {fused:.3f}; an SVM per view, summed, has {plain:.3f}: the fusion is {verdict}.")

plt.show()
