"""Fit MuMBo of scikit-multimodallearn, in whatever Python can run it.

`benchmarks.peers` starts this file as a script, with the interpreter that ``--mumbo-python`` names. So it imports
nothing of this package: that environment has scikit-multimodallearn, and what it needs, only.

Usage: ``python mumbo.py TASK.npz N_ROUNDS``, where the file holds `X`, `y`, `view_starts` (with the end of the last
view), and the row numbers `train` and `test`. Prints JSON.
"""

import json
import sys
import time

import numpy as np
from multimodal.boosting.mumbo import MumboClassifier


def main(path, n_rounds):
    """Fit on the training rows, and print the CPU seconds, the accuracy on the test rows and the rounds."""
    task = np.load(path)
    X, y, train, test = task["X"], task["y"], task["train"], task["test"]
    start = time.process_time()
    model = MumboClassifier(n_estimators=n_rounds, random_state=0).fit(X[train], y[train], task["view_starts"])
    seconds = time.process_time() - start
    accuracy = float(np.mean(model.predict(X[test]) == y[test]))
    print(json.dumps({"seconds": seconds, "accuracy": accuracy, "rounds": len(model.estimators_)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
