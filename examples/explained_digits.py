"""
Why does the model take this digit for an 8?
============================================

A classifier fuses four views of handwritten digits. For one of them it is asked why: which views spoke for its class,
and which pixels? And over all digits: which columns matter?

The digits ship with scikit-learn. Contributions are Shapley values, which add up to the decision value of the class.
"""

import matplotlib.pyplot as plt
import numpy as np

from fuselearn import FusionClassifier
from fuselearn.datasets import load_digit_views

N_TRAIN = 600

X, views, y = load_digit_views(return_tuple=True)
model = FusionClassifier(views=views, max_fits=24, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
asked = X[N_TRAIN : N_TRAIN + 60].copy()
asked[1, views["edges"]] = np.nan  # this digit lacks a view

# %%
# Explain the decisions
# ---------------------

explanation = model.explain(asked)
print(explanation)
decision = model.decision_function(asked)
largest_error = np.abs(explanation.column_base + explanation.column_values.sum(axis=1) - decision).max()
print(f"columns add up to the decision to {largest_error:.0e}")

# %%
# One digit, by views and by pixels
# ---------------------------------
# An 8, and what the views and the pixels contribute to the decision value of its class.

row = int(np.flatnonzero(model.predict(asked) == 8)[0])
print("contributions of the views to the class 8:", explanation.view_values[row, :, 8].round(2))
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(8.4, 2.4), layout="constrained")
explanation.plot(row, of="views", class_=8, ax=left)
pixels = explanation.column_values[row, views["pixels"], 8].reshape(8, 8)
middle.imshow(asked[row, views["pixels"]].reshape(8, 8), cmap="gray_r")
middle.set_title("the digit", fontsize=8)
limit = np.abs(pixels).max()
right.imshow(pixels, cmap="RdBu", vmin=-limit, vmax=limit)
right.set_title("for 8 (blue), against it (red)", fontsize=8)
for axes in (middle, right):
    axes.set_axis_off()
plt.show()

# %%
# What came out
# -------------
# The sums are exact, and a view that a digit lacks contributes nothing. The pixels where an 8 has no ink speak as
# clearly as those where it has.

missing = float(np.abs(explanation.view_values[1, model.view_names_.index("edges")]).max())
print(f"contribution of a missing view: {missing}")
