"""Forged files of all estimators: whatever was edited, loading and predicting do no harm.

That is: no signal, no hang, no file opened or written but the model's, and no method of what the file holds called
while it is loaded, other than those that check or fill it. A refusal is a ValueError in words.
"""

import json
import sys
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import fuselearn
from fuselearn import FusionRegressor, TableRegressor, ViewVotingClassifier
from fuselearn.persistence.model_file import dump
from fuselearn.persistence.model_types import Trust
from tests.persistence.forging import FOREIGN_EDITS, OWN_EDITS, Forger
from tests.persistence.saved_models import (
    CLASSIFIERS,
    MODELS,
    NUMBERED,
    ONE_VIEW_EACH,
    SUMS,
    TABLE,
    TABLE_MODEL,
    THREE,
    TWO,
    VIEWS,
    SavedFile,
    X,
    fitted,
)
from tests.persistence.watching import watched

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits memory as POSIX does")

VOTING = {
    "trees": ExtraTreesClassifier(3, max_depth=4),
    "boosting": GradientBoostingClassifier(n_estimators=2),
    "histograms": HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5, min_samples_leaf=5),
    "kernel of a function": SVC(kernel=laplacian_kernel),
    "search tree": KNeighborsClassifier(algorithm="kd_tree"),
    "neighbours": KNeighborsClassifier(algorithm="brute"),
    "network": next(classifier for classifier in CLASSIFIERS if isinstance(classifier, MLPClassifier)),
}
NUMBER_TABLE = TableRegressor(FusionRegressor(learners="linear", random_state=0), views=TABLE_MODEL.views)
FORGED = MODELS | {"table": (TABLE_MODEL, TABLE, TWO), "table of numbers": (NUMBER_TABLE, TABLE, SUMS)}
FORGED |= {f"voting of {name}": (ViewVotingClassifier(model, views=VIEWS), X, THREE) for name, model in VOTING.items()}
SLOW = {"fusion of classifiers": 12, "search": 20}
"""Models whose files take long to load, and how many of them are forged."""
QUICK = ["tree", "linear", "mss", "tomographic", "fusion with gaps", "voting", "bag", "gradients"]
QUICK += ["fusion of many rows with gaps"]


def rows_for(name):
    """Return the name of the table that a model predicts."""
    return {"table": "table", "gram": "numbered"}.get(name, "matrix")


def write_tables(folder):
    """Write rows with all views, and with gaps."""
    folder.mkdir()
    np.savez(folder / "matrix.npz", whole=X[:6], gaps=ONE_VIEW_EACH[:6])
    np.savez(folder / "numbered.npz", whole=NUMBERED[:6])
    TABLE[:6].to_csv(folder / "table.csv", index=False)


def fitted_to_forge(name):
    """Return a fitted model of `FORGED`."""
    return fitted(name)[0] if name in MODELS else clone(FORGED[name][0]).fit(*FORGED[name][1:])


def forged_and_watched(names, number, folder, seed, n_workers):
    """Forge so many files of each model, and return what became of them: [(model, kind of edit, result), ...]."""
    with threadpool_limits(1):  # threads of OpenMP, on so few rows, only wait for each other
        files = {name: dump(fitted_to_forge(name), Trust(True)) for name in names}
    foreign = {name for name, content in files.items() if SavedFile(content).schema is not None}
    donors = [content for name, content in files.items() if name not in foreign]
    write_tables(folder / "rows")
    genuine, tasks, edits = [], [], []
    for place, (name, content) in enumerate(files.items()):
        task = {"trusted": name in foreign, "rows": rows_for(name), "predict": True}
        path = folder / f"{place}.fuse"
        path.write_bytes(content)
        genuine.append(task | {"path": str(path)})
        wanted = SLOW.get(name, number // 2 if name in foreign else number)
        for turn, (kind, forged) in enumerate(Forger(content, donors, seed + place).forged(wanted)):
            path = folder / f"{place}-{turn}.fuse"
            path.write_bytes(forged)
            tasks.append(task | {"path": str(path)})
            edits.append((name, kind))
    (folder / "rows" / "genuine.json").write_text(json.dumps(genuine))
    results = watched(tasks, folder / "rows", n_workers)
    return [(*edit, result | {"path": task["path"]}) for edit, task, result in zip(edits, tasks, results)]


def check_harmless(told):
    """Check that none of the files did harm."""
    harm = []
    for name, kind, result in told:
        outcome = result["outcome"]
        refused = outcome.startswith(("ValueError: ", "UntrustedTypeError: ")) and " was not loaded: " in outcome
        words = refused and "Traceback" not in outcome and len(outcome) < 2000
        if not (outcome == "loaded" or words) or result["events"] or result["methods"]:
            harm.append((name, kind, outcome[:300], result["events"], result["methods"], result["errors"][-30:]))
        elif any("umba" in error or error == "TypingError" for error in result["errors"]):
            harm.append((name, kind, result["errors"]))
    assert not harm, "\n".join(map(str, harm))


@pytest.mark.long
def test_some_forged_files_do_no_harm(tmp_path):
    told = forged_and_watched(QUICK, 10, tmp_path, seed=0, n_workers=1)
    assert len(told) == 80
    check_harmless(told)
    assert 5 < sum(result["outcome"] == "loaded" for _, _, result in told) < 50


@pytest.mark.long
def test_forged_files_of_all_estimators_do_no_harm(tmp_path):
    told = forged_and_watched(list(FORGED), 76, tmp_path, seed=5000, n_workers=2)
    assert len(told) >= 2000
    check_harmless(told)
    assert {kind for _, kind, _ in told} == OWN_EDITS.keys() | FOREIGN_EDITS.keys()
    loaded = Counter(name for name, _, result in told if result["outcome"] == "loaded")
    assert loaded.keys() == FORGED.keys()


def test_the_models_that_are_forged_are_of_all_estimators():
    kinds = {type(model).__name__ for model, _, _ in FORGED.values()}
    assert {name for name, _ in fuselearn.all_estimators()} <= kinds


@pytest.mark.long
def test_the_watch_sees_what_does_harm(tmp_path):
    """A pickle that opens a file, and one that kills the process."""
    write_tables(tmp_path / "rows")
    (tmp_path / "rows" / "genuine.json").write_text("[]")
    opens = b"cio\nopen\n(S'" + str(tmp_path / "made").encode() + b"'\nS'w'\ntR."
    kills = b"cos\nabort\n(tR."
    tasks = []
    for name, content in (("opens", opens), ("kills", kills), ("opens again", opens)):
        path = tmp_path / f"{name}.pickle"
        path.write_bytes(content)
        tasks.append({"path": str(path), "trusted": False, "rows": "matrix", "predict": False})
    first, second, third = watched(tasks, tmp_path / "rows", n_workers=1)
    assert any(event.startswith(f"open {tmp_path / 'made'} w") for event in first["events"])
    assert "pickle.find_class" in str(first["events"])
    assert second["outcome"] == "killed by 6"
    assert any("Abort" in line for line in second["errors"])
    assert len(third["events"]) == len(first["events"])
