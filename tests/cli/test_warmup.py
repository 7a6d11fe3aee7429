"""``fuselearn warmup``: what it compiles ahead of time need not be compiled later."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.command_line import run

LATER_FITS = """
from sklearn.datasets import load_wine
from fuselearn import FusionClassifier, ShareBoostClassifier, ShareGradientBoostingClassifier, TomographicClassifier
X, y = load_wine(return_X_y=True)
views = [slice(0, 6), slice(6, 13)]
for model in (
    FusionClassifier(views=views),
    ShareBoostClassifier("tree", views=views, n_estimators=5),
    ShareBoostClassifier(views=views, n_estimators=5),
    ShareGradientBoostingClassifier(views=views, n_estimators=5),
    TomographicClassifier(views=views),
):
    model.fit(X, y).predict_proba(X[:5]) if hasattr(model, "predict_proba") else model.fit(X, y).predict(X)
rows = [i % len(X) for i in range(40_000)]  # enough for threads to grow a tree together
ShareGradientBoostingClassifier(n_estimators=2, n_jobs=2).fit(X[rows], y[rows]).predict(X)
"""


def test_it_says_what_was_compiled_and_where_it_is():
    result = run("warmup", "--only", "multilabel", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert list(told["seconds"]) == ["multilabel"]
    assert told["cache"]


def test_other_kinds_are_refused():
    result = run("warmup", "--only", "everything")
    assert result.exit_code == 1
    assert result.stderr == (
        "fuselearn: --only must be fusion, boosting, gradient, kernels or multilabel; got 'everything'.\n"
    )


@pytest.mark.long
def test_nothing_is_compiled_after_it(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def compiled_by(*command):
        subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True)
        return {path.name for path in tmp_path.rglob("*.nbc")}

    at_first = compiled_by("-c", "from fuselearn.cli import main; main()", "warmup")
    assert len(at_first) > 40
    assert compiled_by("-c", LATER_FITS) == at_first
