"""A warm start of gradient boosting goes on with the same run, and refuses another one."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import fuselearn
from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor

rng = np.random.default_rng(0)
y = np.arange(60) % 2
X = rng.normal(size=(60, 4)) + y[:, None]
X[:, 3] = np.arange(60) % 3
VIEWS = {"a": [0, 1], "b": [2, 3]}
SMALL = {"views": VIEWS, "n_estimators": 3, "min_samples_leaf": 5, "warm_start": True, "random_state": 0}
FRAME = pd.DataFrame(X, columns=["age", "dose", "size", "town"]).astype({"town": "category"})


def check_refused(model, settings, message, *arguments, **labels):
    before, state = model.get_params(), dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.set_params(**{"n_estimators": 6, **settings}).fit(*arguments, **labels)
    model.set_params(**before)
    assert all(vars(model)[name] is value for name, value in state.items() if name.endswith("_"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_estimators": 2}, "n_estimators=2 must be at least the 3 rounds that the model already has"),
        ({"trees": "per_view"}, "whose trees was 'joint'; it is now 'per_view'. Set it back"),
        ({"views": {"a": [0, 1], "c": [2, 3]}}, r"views must be those that the model was fitted on, \['a', 'b'\]"),
        ({"views": {"a": [0], "b": [2, 3]}}, "or other columns of them"),
        ({"early_stopping": True}, "held no rows out for early stopping; now early_stopping=True holds some out"),
        ({"max_bins": 20}, "whose max_bins was 255; it is now 20. Set it back, or warm_start=False"),
        ({"categorical_features": [3]}, r"whose categorical columns were none; by .*=\[3\] they are now \[3\]"),
    ],
)
def test_settings_of_another_run_are_refused(settings, message, tmp_path):
    model = ShareGradientBoostingClassifier(**SMALL).fit(X, y)
    check_refused(model, settings, message, X, y)
    fuselearn.save(model, tmp_path / "model.fuse")
    check_refused(fuselearn.load(tmp_path / "model.fuse"), settings, message, X, y)


def test_another_loss_is_refused():
    model = ShareGradientBoostingRegressor(**SMALL).fit(X, X[:, 0])
    message = "whose loss was 'squared_error'; it is now 'absolute_error'"
    check_refused(model, {"loss": "absolute_error"}, message, X, X[:, 0])
    model = ShareGradientBoostingRegressor(loss="quantile", quantile=0.2, **SMALL).fit(X, X[:, 0])
    check_refused(model, {"quantile": 0.3}, r"whose quantile was 0.2; it is now 0.3", X, X[:, 0])


def test_other_classes_and_columns_are_refused():
    model = ShareGradientBoostingClassifier(**SMALL).fit(X, y)
    message = r"y must have the classes that the model was fitted on, \[0, 1\]; got \[1, 2\]"
    check_refused(model, {}, message, X, y + 1)
    message = "X has 3 features, but ShareGradientBoostingClassifier is expecting 4"
    check_refused(model, {}, message, X[:, :3], y)


def test_labels_of_views_stay_given_or_not():
    plain, labelled = (ShareGradientBoostingClassifier(trees="per_view", **SMALL) for _ in range(2))
    plain.fit(X, y)
    labelled.fit(X, y, view_labels=np.c_[y, y])
    check_refused(plain, {}, "was not given view_labels; now they are given", X, y, view_labels=np.c_[y, y])
    check_refused(labelled, {}, "was given view_labels; now they are missing", X, y)
    assert labelled.set_params(n_estimators=5).fit(X, y, view_labels=np.c_[y, y]).n_iter_ == 5


def test_categorical_columns_stay_what_they_were(tmp_path):
    settings = {**SMALL, "views": {"a": ["age", "dose"], "b": ["size", "town"]}}
    model = ShareGradientBoostingClassifier(**settings).fit(FRAME, y)
    message = r"whose categorical columns were \[3\]; by categorical_features=None they are now none"
    check_refused(model, {"categorical_features": None}, message, FRAME, y)
    FRAME.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    check_refused(model, {"categorical_features": None}, message, tmp_path / "rows.parquet", "y")
    check_refused(model, {}, r"were \[3\]; by .*'from_dtype' they are now none", FRAME.astype({"town": float}), y)
    # The same column, by its name.
    goes_on = model.set_params(n_estimators=5, categorical_features=["town"]).fit(FRAME, y)
    whole = ShareGradientBoostingClassifier(**{**settings, "n_estimators": 5}).fit(FRAME, y)
    assert_array_equal(goes_on.predict_proba(FRAME), whole.predict_proba(FRAME))
