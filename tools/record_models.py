"""Write small models of every kind, as this version saves them, for the tests of all later versions.

    python tools/record_models.py [--replace]

fills `tests/recorded/models/<version>/`: for each model `<name>.fuse`, as `fuselearn.save` writes it, and `<name>.json`
with rows and what the model answers for them. Run once for a release, after its version is set, and commit the files:
`tests/persistence/test_recorded_models.py` loads those of every version, and compares. They are never written anew for
a version that was released, since a file that an old version wrote is the very thing that is tested.

Where an estimator takes classifiers or regressors, they are of fuselearn: how scikit-learn's are saved depends on its
version, which no file outlives.
"""

import argparse
import json
import math
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import fuselearn
from fuselearn import (
    AugmentedKernelClassifier,
    ConcatenatedClassifier,
    ConcatenatedRegressor,
    FusionClassifier,
    FusionRegressor,
    IndependentBoostClassifier,
    LabelConsensus,
    MKLClassifier,
    MSSBoostClassifier,
    NSBoostClassifier,
    RSBagClassifier,
    ShareBoostClassifier,
    ShareGradientBoostingClassifier,
    ShareGradientBoostingRegressor,
    SuperKernelClassifier,
    TableClassifier,
    TableRegressor,
    TomographicClassifier,
    ViewStackingClassifier,
    ViewStackingRegressor,
    ViewVotingClassifier,
    ViewVotingRegressor,
    save,
)
from fuselearn.fusion import local_fusion
from fuselearn.fusion.base_models import catalogue
from fuselearn.fusion.base_models.boosted_trees import BoostingSettings
from fuselearn.kernels import GramLookup
from fuselearn.multilabel import RbfSVC
from fuselearn.tables import ViewColumns

RECORDED = Path(__file__).parent.parent / "tests" / "recorded" / "models"
ANSWERS = ("predict", "predict_proba", "decision_function", "predict_set", "predict_interval")
"""Methods whose answers are recorded, where a model has them."""
FOUND = ("labels_", "confidence_", "posterior_", "noise_rates_")
"""What is recorded of a model that answers for no other rows than those that it was fitted on."""

VIEWS = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}
TABLE_VIEWS = {"person": ["age", "ward", "born"], "drug": ["dose", "words"]}
N_TRAINING, N_ANSWERED = 40, 16
"""Rows that most models are fitted on, and that all answer for: the last ones."""
MANY_ROWS = "many_rows"
"""In names of models that are fitted as if their few rows were many, which keeps the files small."""
IN_A_FILE = "in_a_file"
"""At the end of names of models whose rows are in a Parquet file."""
FEW_ROUNDS = BoostingSettings(n_rounds=2, max_leaf_nodes=4, learning_rate=0.3, min_samples_leaf=5.0)


def main() -> None:
    """Write the files of this version."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replace", action="store_true", help="write the files of this version anew")
    replace = parser.parse_args().replace
    folder = RECORDED / fuselearn.__version__
    if folder.exists():
        if not replace:
            raise SystemExit(f"{folder} exists: --replace writes it anew, before this version is released.")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for name, (model, rows, y) in models().items():
        save(fitted(name, model, rows[:-N_ANSWERED], y[:-N_ANSWERED]), folder / f"{name}.fuse")
        answers = recorded(model, rows[-N_ANSWERED:])
        (folder / f"{name}.json").write_text(json.dumps(answers) + "\n", encoding="utf-8")


def fitted(name: str, model: Any, rows: Any, y: Any) -> Any:
    """Return a model that was fitted as its name says."""
    with ExitStack() as stack:
        if MANY_ROWS in name:
            stack.enter_context(patch.object(catalogue, "MANY_ROWS", N_TRAINING // 2))
            stack.enter_context(patch.object(local_fusion, "boosting_settings", lambda n_rows, seed: FEW_ROUNDS))
        if not name.endswith(IN_A_FILE):
            return model.fit(rows, y)
        file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "rows.parquet"
        rows.assign(target=y).to_parquet(file)
        return model.fit(file, "target")


def models() -> dict[str, tuple[Any, Any, Any]]:
    """Return unfitted models by name, each with all rows and their targets."""
    n_rows = N_TRAINING + N_ANSWERED
    draws = np.random.default_rng(0)
    X = draws.normal(size=(n_rows, 6)).round(3)
    number = X[:, 0] + X[:, 2] + X[:, 4] + 0.3 * draws.normal(size=n_rows).round(3)
    two, three = np.where(number > 0, "yes", "no"), np.digitize(number, [-0.8, 0.8])
    labels = np.column_stack([number > 0, X[:, 1] > 0, X[:, 5] > 0.2]).astype(int)
    absent = draws.random((n_rows, 3)) < 0.25
    absent[absent.all(axis=1)] = False
    gaps = np.where(np.repeat(absent, 2, axis=1), np.nan, X)
    one_each = np.where(np.repeat(np.eye(3, dtype=bool)[np.arange(n_rows) % 3], 2, axis=1), X, np.nan)
    table = table_of(X)
    more_rows = np.tile(gaps, (2, 1)) + draws.normal(scale=0.1, size=(2 * n_rows, 6)).round(3)
    trees = {"views": VIEWS, "n_estimators": 4, "max_leaf_nodes": 4, "min_samples_leaf": 5, "random_state": 0}
    subspaces = {"n_estimators": 4, "data_ratio": 0.5, "feature_ratio": 0.5, "random_state": 0}
    regressor = ShareGradientBoostingRegressor(n_estimators=3, max_leaf_nodes=4, min_samples_leaf=5, random_state=0)
    numbered = np.column_stack([np.arange(n_rows), X[:, 2:4]])
    one_class = np.where((two == "no")[:, None] & (np.arange(6) > 3), np.nan, X)
    named = pd.DataFrame(gaps, columns=list("pqrstu"))
    dated = table.assign(born=pd.to_datetime(table["born"]))
    return {
        "share_boost": (ShareBoostClassifier(views=VIEWS, n_estimators=5), X, three),
        "share_boost_trees_exp3p": (
            ShareBoostClassifier("tree", views=VIEWS, n_estimators=5, view_policy="exp3p", random_state=0),
            gaps,
            two,
        ),
        "share_boost_linear_ucb": (
            ShareBoostClassifier("linear", views=VIEWS, n_estimators=5, view_policy="ucb"),
            X,
            two,
        ),
        "share_boost_stumps_uniform": (
            ShareBoostClassifier("stump", views=VIEWS, n_estimators=5, view_policy="uniform", random_state=0),
            X,
            three,
        ),
        "share_boost_machines_round_robin": (
            ShareBoostClassifier(
                {"a": "gaussian_nb", "b": RbfSVC(), "c": RbfSVC()},
                views=VIEWS,
                n_estimators=6,
                view_policy="round_robin",
                resample=True,
                random_state=0,
            ),
            one_class,
            two,
        ),
        "independent_boost": (IndependentBoostClassifier("stump", views=VIEWS, n_estimators=3), X, two),
        "gradient_boosting": (ShareGradientBoostingClassifier(**trees), gaps, three),
        "gradient_boosting_of_numbers": (ShareGradientBoostingRegressor(**trees), X, number),
        "gradient_boosting_of_categories": (
            ShareGradientBoostingClassifier(
                **trees | {"views": {"person": ["age", "ward"], "drug": ["dose"]}, "categorical_features": ["ward"]}
            ),
            table[["age", "ward", "dose"]],
            two,
        ),
        "mssboost": (MSSBoostClassifier(**subspaces), X, labels),
        "nsboost": (NSBoostClassifier(**subspaces), X, labels),
        "rsbag": (RSBagClassifier(**subspaces), X, labels),
        "tomographic": (TomographicClassifier(views=VIEWS, random_state=0), one_each, two),
        "kernels": (MKLClassifier(views=VIEWS, weights="mkl"), X, two),
        "kernels_looked_up": (
            MKLClassifier(
                views={"object": [0], "b": [1, 2]}, kernel={"object": GramLookup(X[:, :2] @ X[:, :2].T), "b": "rbf"}
            ),
            numbered,
            two,
        ),
        "augmented_kernel": (AugmentedKernelClassifier(views=VIEWS), one_each, two),
        "super_kernel": (SuperKernelClassifier(views=VIEWS, random_state=0), X, two),
        "super_kernel_with_a_view_of_one_class": (SuperKernelClassifier(views=VIEWS, random_state=0), one_class, two),
        "voting": (ViewVotingClassifier(RbfSVC(), views=VIEWS), X, two),
        "voting_of_numbers": (ViewVotingRegressor(regressor, views=VIEWS), X, number),
        "stacking": (ViewStackingClassifier(RbfSVC(), views=VIEWS, random_state=0), X, two),
        "stacking_of_numbers": (
            ViewStackingRegressor(regressor, final_estimator=regressor, views=VIEWS, random_state=0),
            X,
            number,
        ),
        "concatenated": (ConcatenatedClassifier(RbfSVC(), views=VIEWS), X, two),
        "concatenated_numbers": (ConcatenatedRegressor(regressor, views=VIEWS), X, number),
        "label_consensus": (LabelConsensus(RbfSVC(), views=VIEWS, random_state=0), X, two),
        "fusion": (FusionClassifier(views=VIEWS, learners=["svm", "linear"], random_state=0), gaps, two),
        "fusion_of_three_classes": (
            FusionClassifier(views=VIEWS, learners=["rbf"], class_weight="balanced", random_state=0),
            gaps,
            three,
        ),
        "fusion_of_forests": (FusionClassifier(views=VIEWS, learners=["trees"], random_state=0), gaps, two),
        "fusion_of_boosted_trees": (
            FusionClassifier(views={"a": slice(0, 6)}, learners=["boosting"], max_fits=1, random_state=0),
            more_rows,
            np.tile(two, 2),
        ),
        "fusion_of_many_rows": (FusionClassifier(views=VIEWS, learners=["linear"], random_state=0), gaps, two),
        "fusion_of_many_rows_by_boosting": (
            FusionClassifier(views=VIEWS, learners=["boosting"], random_state=0),
            gaps,
            two,
        ),
        "fusion_of_many_rows_in_a_file": (
            FusionClassifier(
                views={"a": ["p", "q"], "b": ["r", "s"], "c": ["t", "u"]}, learners=["linear"], random_state=0
            ),
            named,
            two,
        ),
        "fusion_of_boosted_numbers": (
            FusionRegressor(views={"a": slice(0, 6)}, learners=["boosting"], max_fits=1, random_state=0),
            more_rows,
            np.tile(number, 2),
        ),
        "fusion_of_numbers": (FusionRegressor(views=VIEWS, learners=["rbf", "linear"], random_state=0), gaps, number),
        "table": (
            TableClassifier(FusionClassifier(learners=["linear"], random_state=0), views=TABLE_VIEWS),
            table,
            two,
        ),
        "table_of_prepared_views": (
            TableClassifier(
                FusionClassifier(learners=["linear"], random_state=0),
                views=ViewColumns(
                    TABLE_VIEWS,
                    categorical={"person": "onehot", "drug": "target"},
                    preprocess={"drug": ["standard", "pca:2"]},
                    fill_gaps=True,
                    random_state=0,
                ),
            ),
            dated,
            two,
        ),
        "table_of_numbers": (
            TableRegressor(FusionRegressor(learners=["linear"], random_state=0), views=TABLE_VIEWS),
            table,
            number,
        ),
    }


def table_of(X: np.ndarray) -> pd.DataFrame:
    """Return a table of numbers, categories, words and dates, with missing values, of the same rows."""
    row = np.arange(len(X))
    days = np.datetime64("1950-01-01") + row * 97
    return pd.DataFrame(
        {
            "age": np.where(row % 7, X[:, 0], np.nan),
            "ward": np.where(row % 5, np.array(["north", "south", "east"])[row % 3], None),
            "born": np.where(row % 9, np.datetime_as_string(days), None),
            "dose": X[:, 2],
            "words": np.array([f"word{number % 30}" for number in row]),
        }
    )


def recorded(model: Any, rows: Any) -> dict[str, Any]:
    """Return rows and what a fitted model answers for them, as JSON can hold them."""
    answers = {name: plain(getattr(model, name)(rows)) for name in ANSWERS if hasattr(model, name)}
    answers = answers or {name: plain(getattr(model, name)) for name in FOUND}
    if not isinstance(rows, pd.DataFrame):
        return {"rows": plain(rows), "answers": answers}
    dates = [name for name in rows if pd.api.types.is_datetime64_dtype(rows[name])]
    columns = {name: plain(rows[name]) for name in rows}
    return {"rows": columns, **({"dates": dates} if dates else {}), "answers": answers}


def plain(values: Any) -> Any:
    """Return an array or column as nested lists, in which a missing value is None and a date is text."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, list):
        return [plain(value) for value in values]
    if isinstance(values, pd.Timestamp):
        return values.isoformat()
    return None if values is pd.NaT or (isinstance(values, float) and math.isnan(values)) else values


if __name__ == "__main__":
    main()
