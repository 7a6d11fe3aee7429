"""
Which labels should a person look at again?
===========================================

A table was labelled in a hurry. Some labels are wrong, nobody knows how many, and there is time to check a hundred of
them. Which hundred?

The objects are the handwritten digits that ship with scikit-learn, in four views. Twelve labels in a hundred are made
wrong at random; :class:`~fuselearn.LabelConsensus` knows neither which nor how many.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fuselearn import LabelConsensus, ShareBoostClassifier, add_label_noise
from fuselearn.datasets import load_digit_views
from fuselearn.inspection import MarginDisplay

TRAIN_SIZE = 0.6

X, views, truth = load_digit_views(return_tuple=True)
rows, held_out = train_test_split(np.arange(len(X)), train_size=TRAIN_SIZE, stratify=truth, random_state=0)
given, wrong = add_label_noise(truth[rows], 1, 0.12, random_state=0)
given, wrong = given[:, 0], wrong[:, 0]

# %%
# Ask the views
# -------------

consensus = LabelConsensus(views=views, random_state=0).fit(X[rows], given)
print(f"share of wrong labels: estimated {consensus.noise_rates_[0]:.3f}, true {wrong.mean():.3f}")

# %%
# The hundred most suspect labels
# -------------------------------

suspects = consensus.suspects(100)
hits = np.array([wrong[suspect["row"]] for suspect in suspects])
right = np.array([suspect["proposed"] == truth[rows][suspect["row"]] for suspect in suspects])
print(f"of the first 10, 50 and 100 suspects are wrong: {hits[:10].sum()}, {hits[:50].sum()}, {hits.sum()}")
print(f"for {right.sum()} of these 100 the proposed label is the true one")
print(f"100 rows at random would hold about {100 * wrong.mean():.0f} wrong labels")

# %%
# The first twelve, as the checker would see them.

images = load_digits().images[rows]
figure, panels = plt.subplots(2, 6, figsize=(8, 3.4), layout="constrained")
for panel, suspect in zip(panels.flat, suspects):
    panel.imshow(images[suspect["row"]], cmap="gray_r")
    panel.set_title(f"labelled {suspect['given']}\nproposed {suspect['proposed']}", fontsize=9)
    panel.set_axis_off()

# %%
# What wrong labels cost a model
# ------------------------------
# Models are trained on labels as given, as agreed on, and as they truly are. A margin below 0 is a mistake on a digit
# held out.

models = {
    name: ShareBoostClassifier(views=views, n_estimators=60).fit(X[rows], labels)
    for name, labels in {"as given": given, "as agreed on": consensus.labels_, "true": truth[rows]}.items()
}
scores = {name: model.score(X[held_out], truth[held_out]) for name, model in models.items()}
for name, score in scores.items():
    print(f"labels {name:14} accuracy on digits held out {score:.3f}")
MarginDisplay.from_estimators(models, X[held_out], truth[held_out])

# %%
# What came out
# -------------
ratio = hits.mean() / wrong.mean()
print(f"Checking the 100 suspects finds {hits.sum()} of the {wrong.sum()} wrong labels, {ratio:.1f} times as many as")
print("checking at random would find.")
cost = scores["true"] - scores["as given"]
gain = scores["as agreed on"] - scores["as given"]
if cost <= 0:
    print(f"For this model the wrong labels cost nothing ({cost:+.3f}), so there was nothing to win back.")
else:
    print(f"Wrong labels cost this model {cost:.3f} of accuracy; the agreed ones win back {gain:+.3f} of it.")

plt.show()
