"""Bad input of gradient boosting gets an error that names the argument, what was given and what would be right."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor
from fuselearn.boosting.gradient import gradient_rounds
from fuselearn.numeric.gradient_histograms import BEYOND_SUMS, least_whole

rng = np.random.default_rng(0)
y = np.arange(60) % 2
three = np.arange(60) % 3
X = rng.normal(size=(60, 4)) + y[:, None]
FRAME = pd.DataFrame(X[:, :3], columns=["age", "dose", "size"]).assign(
    town=pd.Categorical(np.array(["north", "south", "east"])[three])
)
VIEWS = {"a": [0, 1], "b": [2, 3]}
SMALL = {"views": VIEWS, "n_estimators": 3, "min_samples_leaf": 5}
KINDS = [ShareGradientBoostingClassifier, ShareGradientBoostingRegressor]
POLICIES = r"view_policy must be one of \['best', 'exp3p', 'ucb', 'uniform', 'round_robin'\]"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trees": "jiont"}, r"trees must be one of \['joint', 'per_view'\]; got 'jiont'"),
        ({"trees": None}, "trees must be one of .*; got None"),
        ({"view_policy": "bset"}, f"{POLICIES} .*; got 'bset'. Did you mean 'best'"),
        ({"view_policy": 3, "trees": "per_view"}, f"{POLICIES} .*; got 3"),
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1; got 0"),
        ({"n_estimators": 2.5}, "n_estimators must be an integer of at least 1; got 2.5"),
        ({"n_estimators": True}, "n_estimators must be an integer of at least 1; got True"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0; got 0"),
        ({"learning_rate": np.inf}, "learning_rate must be a number above 0; got inf"),
        ({"learning_rate": "fast"}, "learning_rate must be a number above 0; got 'fast'"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be an integer of at least 2; got 1"),
        ({"max_leaf_nodes": None}, "max_leaf_nodes must be an integer of at least 2; got None"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be an integer of at least 1; got 0"),
        ({"min_samples_leaf": 0.1}, "min_samples_leaf must be an integer of at least 1; got 0.1"),
        ({"l2_regularization": -1}, "l2_regularization must be a number of at least 0; got -1"),
        ({"l2_regularization": np.nan}, "l2_regularization must be a number of at least 0; got nan"),
        ({"l2_regularization": "x"}, "l2_regularization must be a number of at least 0; got 'x'"),
        ({"max_bins": 1}, "max_bins must be an integer from 2 to 255; got 1"),
        ({"max_bins": 256}, "max_bins must be an integer from 2 to 255; got 256"),
        ({"max_bins": True}, "max_bins must be an integer from 2 to 255; got True"),
        ({"early_stopping": "yes"}, "early_stopping must be 'auto', True or False; got 'yes'"),
        ({"early_stopping": None}, "early_stopping must be 'auto', True or False; got None"),
        ({"validation_fraction": 0}, "validation_fraction must be a number above 0 and below 1; got 0"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number above 0 and below 1; got 1.0"),
        ({"validation_fraction": None}, "validation_fraction must be a number above 0 and below 1; got None"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be an integer of at least 1; got 0"),
        ({"warm_start": "no"}, "warm_start must be True or False; got 'no'"),
        ({"n_jobs": 0}, "n_jobs must be None, a number of threads, or -1 for all cores; got 0"),
        ({"n_jobs": "2"}, "n_jobs must be None, a number of threads, .*; got '2'"),
        ({"verbose": "loud"}, "verbose must be an integer of at least 0; got 'loud'"),
        ({"views": {"a": [0, 7]}}, "View 'a' asks for column 7, but X has n_features=4"),
        ({"views": {"a": []}}, "View 'a' is empty"),
        ({"views": {"a": ["x"]}}, "View 'a' names the column 'x', but X is not a data frame"),
        ({"views": [("a", [0]), ("a", [1])]}, "two views named 'a'"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst must have an entry for each of the 4 columns, 0 for .*; got 2"),
        ({"monotonic_cst": [2, 0, 0, 0]}, "monotonic_cst must hold -1, 0 and 1 only; got 2"),
        ({"monotonic_cst": ["+", 0, 0, 0]}, r"monotonic_cst must hold -1, 0 and 1 only; got '\+'"),
        ({"monotonic_cst": [np.nan, 0, 0, 0]}, "monotonic_cst must hold -1, 0 and 1 only; got nan"),
        ({"monotonic_cst": [[1], [0], [0], [0]]}, r"monotonic_cst must hold -1, 0 and 1 only; got \[1\]"),
        ({"monotonic_cst": 3}, "monotonic_cst must be None, a sequence of -1, 0 and 1 .* or a dict .*; got 3"),
        ({"monotonic_cst": {1, 0}}, r"monotonic_cst must be None, a sequence .*; got \{0, 1\}"),
        ({"monotonic_cst": "increasing"}, "monotonic_cst must be None, a sequence .*; got 'increasing'"),
        (
            {"monotonic_cst": {"age": 1}},
            "monotonic_cst is a dict of column names, but X has no column names; pass a seq",
        ),
        (
            {"monotonic_cst": [1, 0, 0, 0], "categorical_features": [0]},
            "monotonic_cst constrains column 0, which is categorical.* Make its entry 0",
        ),
        ({"categorical_features": [9]}, "categorical_features asks for column 9, but X has n_features=4"),
        ({"categorical_features": ["town"]}, "categorical_features names the column 'town', but X is not a data frame"),
        ({"categorical_features": "town"}, r"categorical_features must be 'from_dtype', None, .* write \['town'\]"),
        ({"categorical_features": [True, False]}, "categorical_features is a boolean mask of length 2, but X has 4"),
        ({"categorical_features": [0], "max_bins": 10}, "column 0 of X has 60 categories; max_bins allows 10. Merge"),
    ],
)
def test_settings(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**SMALL | settings).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_chosen_by_nothing(kind):
    with pytest.raises(TypeError, match=r"categorical_features is 3.5; columns are chosen by"):
        kind(categorical_features=3.5).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"class_weight": "balance"}, "class_weight must be None, 'balanced' or a dict of class to weight; got 'bal"),
        ({"class_weight": [1, 2]}, r"class_weight must be None, 'balanced' or a dict of class to weight; got \[1, 2\]"),
        ({"class_weight": {0: 1, 7: 3}}, r"class_weight names classes that y does not have: 7; .* are \[0, 1\]"),
        ({"class_weight": {0: -1}}, "class_weight gives the class 0 the weight -1; a number above 0 is needed"),
        ({"class_weight": {1: 0}}, "class_weight gives the class 1 the weight 0; .* Leave the rows"),
        ({"class_weight": {1: np.inf}}, "class_weight gives the class 1 the weight inf"),
    ],
)
def test_settings_of_the_classifier(settings, message):
    with pytest.raises(ValueError, match=message):
        ShareGradientBoostingClassifier(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "mse"}, r"loss must be one of \['squared_error', 'absolute_error', 'quantile'\]; got 'mse'"),
        ({"loss": None}, "loss must be one of .*; got None"),
        ({"loss": "quantile"}, "loss='quantile' needs a quantile between 0 and 1; got None"),
        ({"loss": "quantile", "quantile": 0}, "loss='quantile' needs a quantile between 0 and 1; got 0"),
        ({"loss": "quantile", "quantile": 1.0}, "loss='quantile' needs a quantile between 0 and 1; got 1.0"),
        ({"loss": "quantile", "quantile": 50}, "loss='quantile' needs a quantile between 0 and 1; got 50"),
        ({"loss": "quantile", "quantile": np.nan}, "loss='quantile' needs a quantile between 0 and 1; got nan"),
        ({"loss": "quantile", "quantile": "half"}, "loss='quantile' needs a quantile between 0 and 1; got 'half'"),
        ({"quantile": 0.5}, "quantile is for loss='quantile'; got quantile=0.5 with loss='squared_error'"),
    ],
)
def test_settings_of_the_regressor(settings, message):
    with pytest.raises(ValueError, match=message):
        ShareGradientBoostingRegressor(**settings).fit(X, y)


def test_more_classes_have_no_order():
    with pytest.raises(ValueError, match="monotonic_cst needs two classes or a regression; got 3 classes"):
        ShareGradientBoostingClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, three)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_by_name(kind):
    with pytest.raises(ValueError, match=r"monotonic_cst names the column 'weight', .* columns are \['age', 'dose'"):
        kind(monotonic_cst={"weight": 1}).fit(FRAME, y)
    with pytest.raises(ValueError, match="monotonic_cst constrains column 3, which is categorical"):
        kind(monotonic_cst={"town": 1}).fit(FRAME, y)
    with pytest.raises(ValueError, match="categorical_features names the column 'weight'"):
        kind(categorical_features=["weight"]).fit(FRAME, y)


def with_value(value, rows=slice(0, 1), columns=slice(0, 1)):
    changed = X.copy()
    changed[rows, columns] = value
    return changed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": y[:-1]}, "inconsistent numbers of samples"),
        ({"y": np.column_stack([y, y])}, "y should be a 1d array"),
        ({"X": with_value(np.inf)}, "Input X contains infinity"),
        ({"X": X[0]}, "Expected 2D array, got 1D array"),
        ({"X": with_value(np.nan, slice(4, 6), slice(None))}, "Every view is absent .* in 2 of the rows .* row 4"),
        ({"X": with_value(np.nan, slice(None), slice(2, 4))}, "The view 'b' is absent .* in every row"),
        ({"sample_weight": np.zeros(60)}, "sample_weight is zero for every row"),
        ({"sample_weight": np.r_[-1.0, np.ones(59)]}, "sample_weight holds negative weights, the least -1.0"),
        ({"sample_weight": np.r_[np.nan, np.ones(59)]}, "sample_weight holds NaN or infinity"),
        ({"sample_weight": np.ones(59)}, "inconsistent numbers of samples"),
        ({"sample_weight": np.ones((60, 2))}, "sample_weight must be 1-D"),
        ({"sample_weight": ["a"] * 60}, "sample_weight must hold numbers; got"),
        ({"sample_weight": np.full(60, 1e300)}, r"sample_weight, .* has weights up to 1e\+300, .* Multiply them by a"),
        ({"sample_weight": np.linspace(1e308, 1.7e308, 60)}, r"sample_weight, .* has weights up to 1.7e\+308"),
        ({"sample_weight": np.full(60, 1e-300)}, "sample_weight, .* has weights up to 1e-300"),
        ({"groups": np.zeros(60)}, "groups puts all rows of X that count into one group"),
        ({"groups": np.zeros(59)}, r"groups must have one entry for each of the 60 rows of X; got shape \(59,\)"),
        ({"groups": [None] * 60}, "groups has no value for row 0"),
    ],
)
def test_data(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        kind(early_stopping=True, **SMALL).fit(**{"X": X, "y": y, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(60)}, "y must hold at least two classes; it has one class only"),
        ({"y": rng.normal(size=60)}, "Unknown label type"),
        ({"y": np.r_[np.nan, np.ones(59)]}, r"y has no class in 1 of 60 rows \(nan in row 0\)"),
        ({"sample_weight": (y == 0).astype(float)}, "positive sample_weight are all of one class"),
        ({"groups": y}, "early_stopping holds out whole groups, and in 20 draws .* set early_stopping=False"),
        ({"view_labels": y}, r"view_labels must have shape \(n_samples, n_views\) = \(60, 2\).* got shape \(60,\)"),
        ({"view_labels": np.c_[y, y, y]}, r"view_labels must have shape .* got shape \(60, 3\)"),
        ({"view_labels": np.c_[y, y + 1]}, "view_labels of the view 'b' holds labels that are not among .*: 2"),
        ({"view_labels": np.full((60, 2), np.nan)}, "view_labels of the view 'a' holds labels .*nan"),
    ],
)
def test_data_of_the_classifier(arguments, message):
    model = ShareGradientBoostingClassifier(trees="per_view", early_stopping=True, **SMALL)
    with pytest.raises(ValueError, match=message):
        model.fit(**{"X": X, "y": y, **arguments})


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.r_[np.nan, np.ones(59)], "y must hold finite numbers; got nan in row 0"),
        (np.r_[np.inf, np.ones(59)], "y must hold finite numbers; got inf in row 0"),
        (np.array(["a", "b"] * 30), "y must hold numbers; got the text 'a' in row 0.* ShareGradientBoostingClassifier"),
        (y * 1e200, "y holds numbers that are up to 5e.199 away from their mean; .* Divide y by a number"),
        (np.r_[1e308, -1e308, np.zeros(58)], r"y holds numbers that are up to 1e\+308 away"),
    ],
)
def test_targets(target, message):
    with pytest.raises(ValueError, match=message):
        ShareGradientBoostingRegressor().fit(X, target)


def test_large_targets_and_weights():
    """What each of them may be alone, they may not be together."""
    target, weights = y * 1e100, np.linspace(0.5, 1.0, 60) * 1e200
    for given in ({"y": target}, {"y": y, "sample_weight": weights}):
        assert ShareGradientBoostingRegressor(**SMALL).fit(X, **given).score(X, given["y"]) > 0.1
    with pytest.raises(ValueError, match=r"sample_weight holds weights up to 1.*, and sums of losses"):
        ShareGradientBoostingRegressor(**SMALL).fit(X, target, sample_weight=weights)
    for loss in ({"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.9}):
        model = ShareGradientBoostingRegressor(**loss, **SMALL).fit(X, y * 1e200)
        assert np.isfinite(model.train_score_).all()
        with pytest.raises(ValueError, match=r"y holds numbers that are up to 1e\+300 away from their quantile"):
            clone(model).fit(X, y * 1e300)


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 2.0**-30, 0.1, 3.0, 1e300])
def test_the_least_whole_number_is_found_at_once(unit):
    """Also where a number and the next one are the same as floats."""
    number = least_whole(20.0, unit)
    assert number == BEYOND_SUMS or (number * unit >= 20.0 and (number - 1) * unit < 20.0)
    assert (number == BEYOND_SUMS) == (unit < 1e-200)


def test_labels_of_views_need_trees_of_views():
    with pytest.raises(ValueError, match="view_labels needs trees='per_view'"):
        ShareGradientBoostingClassifier(**SMALL).fit(X, y, view_labels=np.c_[y, y])
    for trees in ("joint", "per_view"):
        with pytest.raises(ValueError, match=r"view_labels holds classes by view; .*Regressor takes y alone"):
            ShareGradientBoostingRegressor(trees=trees, **SMALL).fit(X, y, view_labels=np.c_[y, y])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", [None, np.full(60, 0.01)])
def test_leaves_larger_than_all_rows_make_a_constant_model(kind, weights):
    advice = "Lower min_samples_leaf" if weights is None else "or give weights of about 1 a row"
    with pytest.warns(UserWarning, match=f"min_samples_leaf=31 asks for leaves .* the model is constant.*{advice}"):
        model = kind(min_samples_leaf=31).fit(X, y, sample_weight=weights)
    assert model.n_iter_ == 0
    assert np.ptp(model.predict(X)) == 0
    assert_array_equal(model.feature_importances_, np.zeros(4))
    assert_array_equal(model.view_importances_, np.zeros(1))


def test_a_class_of_one_row_is_not_held_out():
    rare = np.r_[np.zeros(59, dtype=int), 1]
    with pytest.warns(UserWarning, match="The class 1 has one row only. It stays in the training") as caught:
        ShareGradientBoostingClassifier(early_stopping=True, **SMALL).fit(X, rare)
    with pytest.warns(UserWarning, match="min_samples_leaf=31") as also_caught:
        ShareGradientBoostingClassifier(min_samples_leaf=31).fit(X, y)
    assert {warning.filename for warning in [*caught, *also_caught]} == {__file__}  # the line that called fit
    with pytest.raises(ValueError, match="early_stopping holds out rows, but 1 row of X counts"):
        ShareGradientBoostingRegressor(early_stopping=True).fit(X[:1], [1.0])


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_vanish_beside_others_are_told(kind):
    weights = np.r_[np.full(30, 1e9), np.full(25, 0.9), np.full(2, 0.01), np.zeros(3)]
    with pytest.warns(UserWarning, match="2 of 57 rows weigh less than 9e-10 of the largest weight") as caught:
        model = kind(**SMALL).fit(X, y, weights)
    assert [warning.filename for warning in caught] == [__file__]
    assert model.n_samples_fit_ == 57


def frame_of_codes(n_rows=600):
    """Return a frame of two columns of numbers, one of 400 categories and one of two."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(n_rows, 2)), columns=["dose", "size"])
    frame["code"] = pd.Categorical([f"c{number % 400}" for number in range(n_rows)])
    frame["town"] = pd.Categorical(np.array(["north", "south"])[generator.integers(0, 2, n_rows)])
    return frame, (frame["dose"] > 0).to_numpy().astype(int)


@pytest.mark.parametrize("place", ["memory", "array", "files"])
def test_categories_that_do_not_count_refuse_no_fit(place, tmp_path):
    """Those of a column in no view, and those of rows without weight."""
    frame, labels = frame_of_codes()
    weights = (np.arange(600) % 400 < 100).astype(float)
    in_view = {"views": {"a": ["dose", "town"]}}, np.ones(600)
    without_weight = {"views": {"a": ["dose", "code"]}}, weights
    table, settings = frame, {}
    if place != "memory":
        table = frame.assign(code=frame["code"].cat.codes, town=frame["town"].cat.codes)
        settings = {"categorical_features": [2, 3]}
    if place == "array":
        table = table.to_numpy(dtype=float)
        in_view[0]["views"], without_weight[0]["views"] = {"a": [0, 3]}, {"a": [0, 2]}
    for views, sample_weight in (in_view, without_weight):
        model = ShareGradientBoostingClassifier(n_estimators=2, random_state=0, **views, **settings)
        rows = sample_weight > 0
        if place == "files":
            table.assign(y=labels, w=sample_weight).to_parquet(tmp_path / "rows.parquet")
            model.fit(tmp_path / "rows.parquet", "y", sample_weight="w")
        else:
            model.fit(table, labels, sample_weight)
        assert model.predict(table).shape == (600,)
        kept = clone(model).fit(table[rows], labels[rows])
        # Losses are summed in units that depend on the number of all rows.
        assert_allclose(model.predict_proba(table[rows]), kept.predict_proba(table[rows]), rtol=1e-12)
    with pytest.raises(ValueError, match="has 400 categories; max_bins allows 255"):
        model.fit(table, labels)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("warm_start", [False, True])
def test_nothing_is_lost_by_a_fit_that_fails(kind, warm_start, monkeypatch):
    model = kind(warm_start=warm_start, random_state=0, **SMALL).fit(X, y)
    state, before = vars(model).copy(), model.predict(X)
    fitted = {name for name in state if name.endswith("_") or name.startswith("_")}
    failures = [
        ({"n_estimators": 5}, {"sample_weight": np.ones(3)}, "inconsistent numbers of samples"),
        ({"max_leaf_nodes": 1}, {}, "max_leaf_nodes must be"),
        ({"monotonic_cst": [1]}, {}, "monotonic_cst must have an entry"),
        ({"views": {"a": [0, 9]}}, {}, "View 'a' asks for column 9"),
        ({"n_estimators": 2}, {}, "n_estimators=2 must be at least the 3 rounds")
        if warm_start
        else ({"categorical_features": [9]}, {}, "categorical_features asks for column 9"),
    ]
    for settings, arguments, message in failures:
        broken = clone(model)
        vars(broken).update(state)
        with pytest.raises(ValueError, match=message):
            broken.set_params(**settings).fit(X, y, **arguments)
        assert all(vars(broken)[name] is state[name] for name in fitted)
    original, calls = gradient_rounds.grow_tree, []

    def fails_in_the_third_round(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("out of order")
        return original(*arguments)

    monkeypatch.setattr(gradient_rounds, "grow_tree", fails_in_the_third_round)
    with pytest.raises(RuntimeError, match="out of order"):
        model.set_params(n_estimators=8).fit(X, y)
    assert all(vars(model)[name] is state[name] for name in fitted)
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_predict_must_be_those_of_fit(kind):
    model = kind(n_estimators=3).fit(FRAME, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME.rename(columns={"dose": "doses"}))
    with pytest.raises(ValueError, match=f"X has 3 features, but {kind.__name__} is expecting 4"):
        kind(n_estimators=3).fit(X, y).predict(X[:, :3])
