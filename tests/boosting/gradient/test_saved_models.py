"""Models of gradient boosting that were saved and loaded, and files that were forged."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from fuselearn import ShareGradientBoostingClassifier, ShareGradientBoostingRegressor, load, save
from tests.boosting.gradient.fitted_models import CASES, FRAME, SMALL, THREE, TWO, VIEWS, X, assert_identical
from tests.persistence.saved_models import forge


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fuse"


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", CASES)
def test_a_loaded_model_is_the_same(name, path):
    model, rows, y = CASES[name]
    model = clone(model).fit(rows, y)
    loaded = load(save(model, path))
    assert type(loaded) is type(model)
    assert_identical(loaded, model, rows)
    assert loaded.get_params().keys() == model.get_params().keys()
    assert_array_equal(loaded.views_used(rows), model.views_used(rows))
    assert_array_equal(loaded.predict(rows), model.predict(rows))
    for one, other in zip(loaded.staged_predict(rows), model.staged_predict(rows), strict=True):
        assert_array_equal(one, other)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", CASES)
def test_a_loaded_model_goes_on_exactly(name, path):
    model, rows, y = CASES[name]
    half = clone(model).set_params(n_estimators=5, warm_start=True).fit(rows, y)
    loaded = load(save(half, path)).set_params(n_estimators=12).fit(rows, y)
    going_on = half.set_params(n_estimators=12).fit(rows, y)
    assert_identical(loaded, going_on, rows)
    if getattr(model, "view_policy", "best") != "exp3p":  # which plans for the number of rounds of the first fit
        whole = clone(model).fit(rows, y)
        assert_array_equal(loaded.train_score_, whole.train_score_)
        assert_array_equal(loaded.trees_.value, whole.trees_.value)


def test_unknown_and_missing_categories_after_loading(path):
    model, rows, y = CASES["categories"]
    model = clone(model).fit(rows, y)
    loaded = load(save(model, path))
    unknown = rows.assign(town=rows["town"].cat.add_categories("elsewhere").fillna("elsewhere"))
    assert_array_equal(loaded.decision_function(unknown), model.decision_function(rows))
    with pytest.raises(ValueError, match=r"categorical column 'town'.* held text when the model was fitted"):
        loaded.predict(rows.assign(town=1.0))


def test_a_model_that_is_not_fitted(path):
    model = ShareGradientBoostingClassifier(views=VIEWS, monotonic_cst={"a": 1})
    assert load(save(model, path)).get_params() == model.get_params()


def test_a_constant_model(path):
    same = np.zeros((50, 2))
    model = ShareGradientBoostingClassifier().fit(same, np.arange(50) % 2)
    assert model.n_iter_ == 0
    assert_array_equal(load(save(model, path)).predict_proba(same), np.full((50, 2), 0.5))


# Forged files. All checksums are right: only what a file holds tells.


def node_of(file, *names):
    """Return the node of an attribute, or of an attribute of an attribute."""
    state = file.tree["state"]
    for name in names[:-1]:
        state = state[name]["state"]
    return state[names[-1]]


def in_array(*names, change):
    """An edit of an array: it becomes what a function makes of it."""

    def edit(file):
        node = node_of(file, *names)
        file.put(node, change(file.array(node)))

    return edit


def with_value(*names, value):
    """An edit that puts another value for an attribute."""

    def edit(file):
        state = file.tree["state"]
        for name in names[:-1]:
            state = state[name]["state"]
        state[names[-1]] = value

    return edit


def first(value, dtype=None):
    def change(array):
        array = array.copy() if dtype is None else array.astype(dtype)
        array.flat[0] = value
        return array

    return change


def inner(value):
    return lambda array: np.where(array >= 0, value, array).astype(array.dtype)


def tree(name, change):
    return in_array("trees_", name, change=change)


OUTSIDE = "reads columns beyond the"
FORGERIES = {
    "columns outside": (tree("column", inner(6)), OUTSIDE),
    "columns far outside": (tree("column", inner(2**31 - 1)), OUTSIDE),
    "columns of another view": (tree("column", inner(5)), "columns of other views than its own"),
    "a cycle": (
        tree("left", lambda left: np.where(left >= 0, np.maximum(left - 2, 0), left).astype("i4")),
        "circle|out",
    ),
    "a node that is its own child": (tree("right", first(0)), "circle|out of it"),
    "two parents": (tree("right", lambda right: np.where(right >= 0, right - 1, right).astype("i4")), "parent"),
    "NaN in leaves": (tree("value", first(np.nan)), "NaN or infinity"),
    "infinity in leaves": (tree("value", first(np.inf)), "NaN or infinity"),
    "gains below 0": (tree("gain", first(-1.0)), "out of range"),
    "single precision": (tree("value", lambda value: value.astype("f4")), "float32, not float64"),
    "fewer values": (tree("value", lambda value: value[:-1]), "has the shape"),
    "starts outside": (tree("starts", lambda starts: starts + 10**6), "do not follow each other"),
    "starts in disorder": (tree("starts", lambda starts: starts[::-1].copy()), "do not follow each other"),
    "another output": (tree("output", first(1)), "not in rounds of 3"),
    "a wild output": (tree("output", lambda output: output + 2**20), "not in rounds of 3"),
    "another view": (tree("view", lambda view: np.roll(view, 3)), "not those of the views that won|other views"),
    "a wild view": (tree("view", lambda view: view + 50), "other views than its 3"),
    "no view": (tree("view", first(-1)), "single views beside trees of all views"),
    "thresholds": (tree("threshold", lambda cut: cut * 1.01), "thresholds are not the edges"),
    "cuts": (tree("cut_bin", inner(254)), "cuts behind the last bin"),
    "rows of categories": (tree("category_row", first(0)), "out of range|categories"),
    "categories of numbers": (
        tree("categories_left", lambda sets: np.zeros((5, 256), dtype=np.uint8)),
        "categories of no split",
    ),
    "other sets": (tree("categories_left", lambda sets: np.zeros((0, 255), dtype=np.uint8)), "has the shape"),
    "no trees": (with_value("trees_", value=None), "trees_ of a ShareGradientBoostingClassifier is not a BoostedTrees"),
    "trees of text": (with_value("trees_", value="trees"), "is not a BoostedTrees"),
    "a tree for trees": (
        lambda file: node_of(file, "trees_").update(object="boosting.GradientTree"),
        "a GradientTree with other fields",
    ),
    "fewer rounds": (with_value("n_iter_", value=3), "has the shape|are not those"),
    "endless rounds": (with_value("n_iter_", value=2**62), "has the shape"),
    "rounds beyond numbers": (with_value("n_iter_", value=10**30), "has the shape"),
    "rounds of text": (with_value("n_iter_", value="12"), "n_iter_ of a .* is not a whole number"),
    "rounds below 0": (with_value("n_iter_", value=-1), "out of range"),
    "more columns": (with_value("n_features_in_", value=7), "feature_importances_ .* has the shape"),
    "endless columns": (with_value("n_features_in_", value=2**50), "feature_importances_ .* has the shape"),
    "fewer columns": (with_value("n_features_in_", value=4), "columns beyond the 4"),
    "a short baseline": (in_array("baseline_", change=lambda baseline: baseline[:1]), "baseline_ .* has the shape"),
    "a long baseline": (in_array("baseline_", change=lambda baseline: np.tile(baseline, 2)), "baseline_ .* the shape"),
    "a baseline of NaN": (in_array("baseline_", change=first(np.nan)), "baseline_ .* has NaN"),
    "scores": (in_array("train_score_", change=lambda scores: scores[1:]), "train_score_ .* has the shape"),
    "held-out scores": (in_array("validation_score_", change=lambda scores: np.zeros(2)), "scores of held-out rows"),
    "held-out scores of text": (with_value("validation_score_", value="no"), "is not an array"),
    "winners": (in_array("winning_views_", change=first(2)), "are not those of the views that won"),
    "wild winners": (in_array("winning_views_", change=first(3)), "out of range"),
    "winners of floats": (in_array("winning_views_", change=lambda winners: winners * 1.0), "not integer"),
    "importances": (in_array("view_importances_", change=first(-1.0)), "out of range"),
    "no bins": (with_value("binning_", value=None), "binning_ .* is not a Binning"),
    "fewer bins": (in_array("binning_", "edges", change=lambda edges: edges[:-1]), "has the shape"),
    "bins without end": (in_array("binning_", "n_edges", change=first(10**6)), "out of range"),
    "more bins than bytes": (
        in_array("binning_", "edges", change=lambda edges: np.hstack([edges, np.full((6, 300), np.inf)])),
        "are the most",
    ),
    "bins of NaN": (in_array("binning_", "edges", change=first(np.nan)), "edges between bins that are no numbers"),
    "bins in disorder": (in_array("binning_", "edges", change=first(1e9)), "not in order|thresholds"),
    "fewer edges": (in_array("binning_", "n_edges", change=first(1)), "more of them than it counts"),
    "categories of no column": (
        with_value("categories_", value={"object": "data.Categories", "state": {"columns": 3, "values": 3}}),
        "a Categories whose columns is 3",
    ),
    "a seed of text": (with_value("_seed", value="3"), "_seed .* is not a whole number"),
    "a seed below 0": (with_value("_seed", value=-1), "out of range"),
    "a seed of a float": (with_value("_seed", value=3.5), "_seed .* is not a whole number"),
    "a wild seed": (with_value("_seed", value=10**30), "out of range"),
    "no seed": (lambda file: file.tree["state"].pop("_seed"), "_seed"),
    "a wild horizon": (with_value("_horizon", value=10**30), "out of range"),
    "no horizon": (with_value("_horizon", value=0), "out of range"),
    "rows": (with_value("n_samples_fit_", value="many"), "n_samples_fit_ .* is not a whole number"),
    "no views": (
        lambda file: file.tree["state"].update(view_names_=[], view_columns_=[]),
        "view_importances_|no views",
    ),
    "one class": (in_array("classes_", change=lambda classes: classes[:1]), "1 classes, of at least two"),
    "no class": (in_array("classes_", change=lambda classes: classes[:0]), "0 classes, of at least two"),
    "more classes": (in_array("classes_", change=lambda classes: np.arange(4)), "baseline_ .* has the shape"),
    "fewer classes": (in_array("classes_", change=lambda classes: classes[:2]), "baseline_ .* has the shape"),
    "a million threads": (with_value("n_jobs", value=10**6), "n_jobs"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the file of a small model of three classes by trees of single views."""
    model = ShareGradientBoostingClassifier(views=VIEWS, trees="per_view", **SMALL).set_params(n_estimators=4)
    model.fit(X, THREE)
    assert 2 not in model.winning_views_
    return save(model, tmp_path_factory.mktemp("saved") / "model.fuse").read_bytes()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_file_is_refused(what, saved, path):
    edit, words = FORGERIES[what]
    path.write_bytes(saved)
    load(path)
    forge(path, edit)
    with pytest.raises(ValueError, match=f"(?s)was not loaded: .*({words})"):
        load(path)


def categories(change):
    """An edit of the categories of a column."""

    def edit(file):
        state = node_of(file, "categories_")["state"]
        change(file, state)

    return edit


def of_columns(*columns):
    def change(file, state):
        file.put(state["columns"], np.array(columns))

    return categories(change)


def of_values(values):
    def change(file, state):
        state["values"]["tuple"][0]["tuple"] = values

    return categories(change)


def as_numbers(file):
    """All splits by categories become cuts of numbers."""
    trees = node_of(file, "trees_")["state"]
    row, cut = file.array(trees["category_row"]), file.array(trees["cut_bin"])
    file.put(trees["cut_bin"], np.where(row >= 0, 0, cut).astype("i4"))
    file.put(trees["category_row"], np.full(len(row), -1, dtype="i4"))
    file.put(trees["categories_left"], np.zeros((0, 256), dtype=np.uint8))


OF_CATEGORIES = {
    "no categories": (with_value("categories_", value=None), "numbers as categories, or categories as numbers"),
    "another column": (of_columns(5), "categories"),
    "a column outside": (of_columns(7), "categories of columns beyond the 7"),
    "a column far outside": (of_columns(2**40), "categories of columns beyond the 7"),
    "a column below 0": (of_columns(-1), "out of range"),
    "more columns": (of_columns(5, 6), "of another number of columns"),
    "fewer categories": (of_values(["town 0", "town 1"]), "another number of bins than of categories"),
    "more categories": (of_values([f"t{n:03}" for n in range(200)]), "another number of bins than of categories"),
    "too many categories": (of_values([f"t{n:03}" for n in range(300)]), "255 are the most"),
    "categories in disorder": (of_values([f"town {n}" for n in (1, 0, 2, 3, 4, 5)]), "not in order"),
    "categories of numbers": (of_values([1, 2, 3, 4, 5, 6]), "a Categories whose values is"),
    "splits of numbers": (as_numbers, "numbers as categories, or categories as numbers"),
    "other bins": (in_array("binning_", "edges", change=lambda edges: edges + 0.25), "bins are not its|thresholds"),
    "sets beyond truth": (tree("categories_left", first(2)), "out of range"),
    "a row twice": (tree("category_row", lambda rows: np.where(rows >= 0, 0, rows).astype("i4")), "of several"),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("what", OF_CATEGORIES)
def test_forged_categories_are_refused(what, path):
    model, rows, y = CASES["categories"]
    save(clone(model).fit(rows, y), path)
    edit, words = OF_CATEGORIES[what]
    forge(path, edit)
    with pytest.raises(ValueError, match=f"(?s)was not loaded: .*({words})"):
        load(path)


def test_a_forged_regressor_is_refused(path):
    """Its baseline is one number."""
    save(ShareGradientBoostingRegressor(**SMALL).fit(FRAME[list("xyz")], FRAME["x"].fillna(0)), path)
    forge(path, in_array("baseline_", change=lambda baseline: np.zeros(0)))
    with pytest.raises(ValueError, match="baseline_ of a ShareGradientBoostingRegressor has the shape"):
        load(path)


def test_every_array_of_the_trees_that_is_spoiled_is_refused_or_harmless(saved, path):
    """Random numbers in random arrays: what is loaded predicts numbers, and goes on or refuses to."""
    rng = np.random.default_rng(0)
    n_loaded = 0
    for _ in range(60):
        path.write_bytes(saved)
        group = ("trees_", "binning_")[int(rng.integers(5) == 0)]

        def spoil(file, group=group):
            state = node_of(file, group)["state"]
            node = state[sorted(state)[int(rng.integers(len(state)))]]
            array = file.array(node)
            if array.size:
                place = int(rng.integers(array.size))
                wild = rng.choice([-2, -1, 0, 1, 2, 3, 17, 255, 2**31 - 1, array.size])
                array.flat[place] = np.array(wild).astype(array.dtype)
            file.put(node, array)

        forge(path, spoil)
        try:
            model = load(path)
        except ValueError:
            continue
        n_loaded += 1
        assert np.isfinite(model.decision_function(X)).all()
        assert model.set_params(warm_start=True, n_estimators=5).fit(X, THREE).n_iter_ == 5
    assert 5 < n_loaded < 40


def test_two_classes_have_one_score(path):
    save(ShareGradientBoostingClassifier(**SMALL).fit(X, TWO), path)
    forge(path, in_array("classes_", change=lambda classes: np.array(["maybe", "no", "yes"])))
    with pytest.raises(ValueError, match=r"baseline_ .* has the shape"):
        load(path)
