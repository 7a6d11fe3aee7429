"""What a fitted view keeps: the columns of scikit-learn to the last bit, in types of ours that can be checked."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler, TargetEncoder

from fuselearn import ShareBoostClassifier
from fuselearn.tables import TableClassifier, ViewColumns
from fuselearn.tables.fitted_steps import (
    ENCODINGS,
    STEPS,
    GapFilling,
    OneHotEncoding,
    Projection,
    Scaling,
    TargetMeanEncoding,
)

N_ROWS = 120
NUMBERS = [f"n{number}" for number in range(7)]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    values = rng.normal(3.0, 2.0, size=(N_ROWS, 7)) @ rng.normal(size=(7, 7))
    values[rng.uniform(size=values.shape) < 0.2] = np.nan
    values[rng.uniform(size=N_ROWS) < 0.1] = np.nan  # the view is missing in these rows
    values[:, 6] = np.nan  # never measured
    columns = {name: values[:, number] for number, name in enumerate(NUMBERS)}
    columns["site"] = rng.choice(np.array(["north", "south", "é", "", None], dtype=object), size=N_ROWS)
    return pd.DataFrame(columns)


def classes(n_classes):
    return np.array(["a", "b", "c"])[np.arange(N_ROWS) % n_classes]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("encoder", [OneHotEncoder(handle_unknown="ignore", sparse_output=False), "target"])
def test_encodings_are_those_of_scikit_learn(table, encoder, n_classes):
    if encoder == "target":
        # TODO(scikit-learn 1.9 at least): a splitter is all that it takes.
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        encoder = TargetEncoder(cv=folds if TargetEncoder().random_state is not None else 5)
    known = table["site"].notna().to_numpy()
    texts = table["site"].to_numpy(dtype=object)[known]
    encoder.fit(texts[:, None], classes(n_classes)[known])
    encoding = ENCODINGS[type(encoder).__name__].of(encoder)
    encoding.validate()
    rows = np.array([*texts, "west", "nor"], dtype=object)
    np.testing.assert_array_equal(encoding.transform(rows), encoder.transform(rows[:, None]))
    assert len(encoding.names("site")) == encoding.width


@pytest.mark.parametrize("n_columns", [3, 40, 600])
@pytest.mark.parametrize(
    "step",
    [StandardScaler(), RobustScaler(), PCA(2, random_state=0), PCA(0.9, svd_solver="full"), "means"],
    ids=lambda step: type(step).__name__,
)
def test_steps_are_those_of_scikit_learn(step, n_columns):
    rng = np.random.default_rng(n_columns)
    rows = rng.normal(1e3, 5.0, size=(61, n_columns))
    step = SimpleImputer(keep_empty_features=True) if step == "means" else step
    if not isinstance(step, PCA):
        rows[rng.uniform(size=rows.shape) < 0.2] = np.nan
    if isinstance(step, SimpleImputer):
        rows[:, 1] = np.nan
    step.fit(rows)
    fitted = STEPS[type(step).__name__].of(step)
    fitted.validate()
    # Components that lie in another order of memory than saved ones are multiplied in another order: those of the
    # randomised solver, and from SciPy 1.18 on those of the full one.
    tolerance = 0 if not isinstance(step, PCA) or step.components_.T.flags.c_contiguous else 1e-9
    for some in (rows, rows[:1], rows[5:9]):
        np.testing.assert_allclose(fitted.transform(some), step.transform(some), rtol=tolerance, atol=tolerance)
    assert fitted.shape == (n_columns, step.transform(rows).shape[1])


@pytest.mark.parametrize("preprocess", [("standard",), ("robust",), ("pca:3",), ("robust", "pca:0.8")])
@pytest.mark.parametrize("fill_gaps", [False, True])
def test_a_view_is_what_scikit_learn_makes_of_it(table, preprocess, fill_gaps):
    columns = ViewColumns({"numbers": NUMBERS}, preprocess=preprocess, fill_gaps=fill_gaps, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the column without a value is not warned of, as it is no mistake
        training = columns.fit_transform(table, classes(2))
        again = columns.transform(table)
    imputer = SimpleImputer(keep_empty_features=True)
    steps = [imputer] if fill_gaps else []
    for name in preprocess:
        if name.startswith("pca"):
            amount = name.removeprefix("pca:")
            pca = PCA(int(amount), random_state=3) if amount == "3" else PCA(float(amount), svd_solver="full")
            steps += [SimpleImputer(keep_empty_features=True), StandardScaler(), pca]
        else:
            steps.append(StandardScaler() if name == "standard" else RobustScaler())
    values = table[NUMBERS].to_numpy()
    present = ~np.isnan(values).all(axis=1)
    fitted = applied = values[present]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for step in steps:
            fitted, applied = step.fit_transform(fitted), None
        applied = values[present]
        for step in steps:
            applied = step.transform(applied)
    np.testing.assert_array_equal(training[present], fitted)
    np.testing.assert_array_equal(again[present], applied)
    assert np.isnan(training[~present]).all()
    assert np.isnan(again[~present]).all()


def test_nothing_of_scikit_learn_is_kept(table):
    views = {"numbers": NUMBERS, "place": ["site"]}
    preprocess = {"numbers": ["robust", "pca:3"], "place": ["standard"]}
    columns = ViewColumns(views, categorical="target", preprocess=preprocess, fill_gaps=True, random_state=0)
    columns.fit(table, classes(3))
    waiting, kinds = [columns], set()
    while waiting:
        value = waiting.pop()
        kinds.add(type(value))
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, BaseEstimator) or dataclasses.is_dataclass(value):
            waiting += vars(value).values()
    ours = {kind.__name__ for kind in kinds if kind.__module__.startswith("fuselearn.")}
    assert ours == {"ViewColumns", "ViewPreparation", "GapFilling", "Scaling", "Projection", "TargetMeanEncoding"}
    others = {kind for kind in kinds if not kind.__module__.startswith("fuselearn.")}
    assert others <= {str, int, bool, float, list, tuple, dict, np.ndarray, type(None)}


NUMBER = np.array([1.0, 2.0])
BAD_PARTS = {
    "categories twice": (OneHotEncoding(["a", "a"]), "not all different"),
    "categories of numbers": (OneHotEncoding([1, 2]), "list of texts"),
    "categories as one text": (OneHotEncoding("ab"), "list of texts"),
    "no categories": (OneHotEncoding([]), "empty"),
    "means of other categories": (TargetMeanEncoding(["a"], np.ones((1, 2)), np.ones(1), NUMBER), "1 categories"),
    "means of one class": (TargetMeanEncoding(["a"], np.ones((1, 1)), np.ones(1), np.ones(1)), "1 classes"),
    "classes of two dimensions": (TargetMeanEncoding(["a"], np.ones((1, 1)), np.ones(1), np.ones((1, 2))), "classes"),
    "infinite mean": (GapFilling(np.array([np.inf])), "not finite"),
    "gap in a mean": (GapFilling(np.array([np.nan])), "not finite"),
    "means of objects": (GapFilling(np.array([None], dtype=object)), "double precision"),
    "means of whole numbers": (GapFilling(np.array([1, 2])), "double precision"),
    "a list of means": (GapFilling([1.0]), "double precision"),
    "a matrix of means": (GapFilling(np.ones((2, 2))), "1 dimension"),
    "scales of other columns": (Scaling(NUMBER, NUMBER[:1]), "2 centres and 1 scales"),
    "scale of 0": (Scaling(NUMBER, np.array([1.0, 0.0])), "not above 0"),
    "components of other columns": (Projection(NUMBER, np.ones((3, 1))), "for 2 columns"),
    "no components": (Projection(NUMBER, np.ones((2, 0))), "for 2 columns"),
}


@pytest.mark.parametrize("name", BAD_PARTS)
def test_bad_parts_are_found(name):
    part, words = BAD_PARTS[name]
    with pytest.raises(ValueError, match=words):
        part.validate()


def preparation(model):
    return model.columns_.preparations_["numbers"]


BAD_MODELS = {
    "an encoder too many": (lambda model: preparation(model).encoders_.update(n0=OneHotEncoding(["a"])), "text"),
    "an encoder that is none": (
        lambda model: model.columns_.preparations_["place"].encoders_.update(site=StandardScaler()),
        "'site' has a StandardScaler",
    ),
    "a step of other columns": (lambda model: preparation(model).steps_.append(GapFilling(NUMBER)), "takes 2 columns"),
    "a step that is none": (lambda model: preparation(model).steps_.append(PCA()), "a step that is a PCA"),
    "names of numbers": (lambda model: preparation(model).feature_names_.pop(), "names for"),
    "another preparation": (lambda model: model.columns_.preparations_.update(place=PCA()), "'place' has a PCA"),
    "columns not fitted": (lambda model: setattr(model, "columns_", model.views), "were not fitted"),
    "a preparation not fitted": (
        lambda model: model.columns_.preparations_.update(place=clone(model.columns_.preparations_["place"])),
        "'place' was not fitted",
    ),
    "views of others": (lambda model: model.columns_.views_.pop("place"), "differ from those"),
    "columns of others": (lambda model: model.columns_.views_["place"].__iadd__(1), "not in their order"),
    "fewer columns": (lambda model: model.columns_.views_.update(place=np.arange(2)), "columns of numbers"),
    "kind unknown": (lambda model: model.columns_.kinds_.update(n0="colour"), "unknown kind"),
    "kind of text": (lambda model: model.columns_.kinds_.update(n0="text"), "other columns of text"),
    "kind missing": (lambda model: model.columns_.kinds_.pop("n0"), "names of the columns"),
    "classes": (lambda model: model.classes_.sort(), None),
    "classes of another": (lambda model: setattr(model, "classes_", np.array(["x", "y"])), "classes of the table"),
    "no classes": (lambda model: delattr(model, "classes_"), "lacks classes_"),
    "a count as text": (lambda model: setattr(model.columns_, "n_features_in_", "8"), "has a str as n_features_in_"),
    "columns of a view": (lambda model: model.view_columns_[0].__imul__(2), "that they were fitted on"),
    "numbers of the model": (lambda model: setattr(model.model_, "n_features_in_", 3), "takes 3 numbers a row"),
}


@pytest.mark.parametrize("name", BAD_MODELS)
def test_bad_models_are_found(table, name):
    views = {"numbers": NUMBERS[:3], "place": ["site"]}
    columns = ViewColumns(views, preprocess={"numbers": ["standard"]})
    has_view = table[[*NUMBERS[:3], "site"]].notna().any(axis=1).to_numpy()
    model = TableClassifier(ShareBoostClassifier(n_estimators=2), views=columns).fit(
        table[has_view], classes(2)[has_view]
    )
    model.validate()
    clone(model).validate()  # without a fit there is nothing to check
    change, words = BAD_MODELS[name]
    change(model)
    if words is None:
        model.validate()
        return
    with pytest.raises(ValueError, match=words):
        model.validate()


def test_numbers_too_large_to_scale_are_refused_in_words(table):
    large = pd.DataFrame({"a": [1e308, -1e308, 1e308, 2.0], "b": [1.0, 2.0, 3.0, 4.0]})
    y = np.array([0, 1, 0, 1])
    for step in ("standard", "pca:1"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=r"The view 'x' cannot be used: .*too large.*1e\+308.*larger unit"):
                ViewColumns({"x": ["a", "b"]}, preprocess=[step]).fit(large, y)
    small = pd.DataFrame({"a": [1e-3, 2e-3, 3e-3, 2e-3], "b": [1.0, 2.0, 3.0, 4.0]})
    columns = ViewColumns({"x": ["a", "b"]}, preprocess=["robust"]).fit(small, y)
    with pytest.raises(ValueError, match=r"The view 'x' cannot be used: .*too large"):
        columns.transform(large)
