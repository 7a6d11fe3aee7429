"""`validate` of everything that a fitted fusion holds: it accepts what fits made, and refuses what does not agree."""

import re
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import FusionClassifier
from fuselearn.fusion.base_models.kernel_machines import LinearMachine, RadialMachine

PLAIN = (str, bytes, int, float, bool, type(None), slice)


def parts_of(value, path="model"):
    """Yield every object with attributes that a value holds, itself included, with the path to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from parts_of(item, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from parts_of(item, f"{path}[{place}]")
    elif isinstance(value, np.ndarray):
        assert value.dtype != object, path
    elif not isinstance(value, PLAIN):
        yield path, value
        for name, item in vars(value).items():
            yield from parts_of(item, f"{path}.{name}")


def fit(n_rows=60, n_classes=3, seed=0, **settings):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, 5)) + y[:, None]
    X[:5, :2] = np.nan
    X[:, 0] *= 7
    return FusionClassifier(views=[[0, 1], [2, 3, 4]], random_state=0, **settings).fit(X, y)


fitted_once = cache(fit)
"""For tests that leave the model as it is."""


@pytest.fixture(scope="module")
def several():
    return fitted_once(n_classes=3)


@pytest.fixture(scope="module")
def two():
    return fitted_once(n_classes=2)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("settings", [{"n_classes": 2}, {"n_classes": 3}, {"n_rows": 700}, {"consensus": False}])
def test_what_a_default_fit_makes_is_ours_and_valid(settings):
    model = fitted_once(**settings)
    parts = [(path, part) for path, part in parts_of(model) if part is not model]
    assert parts
    for path, part in parts:
        assert type(part).__module__.startswith("fuselearn."), path
        part.validate()


def test_classifiers_of_the_user_are_not_touched():
    model = fit(learners=[LogisticRegression(), "rbf"], max_fits=6)
    arm = next(number for number, (_, learner) in enumerate(model.arms_) if learner == "logisticregression")
    fitted = model.estimators_[arm][0]
    fitted.validate()
    broken = deepcopy(fitted)
    for view_model in broken.models:
        object.__setattr__(view_model, "estimator", "anything")
    broken.validate()
    object.__setattr__(broken.models[0], "codes", np.array([0, 0, 1]))
    with pytest.raises(ValueError, match="codes of a ViewModel are not of different classes"):
        broken.validate()
    object.__setattr__(broken.models[0], "codes", np.array([0, 1, 3]))
    with pytest.raises(ValueError, match="codes of a ViewModel has numbers that are not from 0 to 2"):
        broken.validate()


def part_named(model, name):
    return deepcopy(next(part for _, part in parts_of(model) if type(part).__name__ == name))


def forge(part, name, change):
    """Set an attribute, whatever the type allows."""
    object.__setattr__(part, name, change(vars(part)[name]))
    return part


def put(place, number):
    """Return a change of one number of an array."""

    def change(array):
        array = array.copy()
        array[place] = number
        return array

    return change


def shorter(items):
    return items[:-1]


def first_inner(forest):
    return int(np.flatnonzero(forest.feature >= 0)[0])


FORGERIES = {
    "targets of other rows": ("OutOfFoldValues", "targets", lambda v: shorter, "targets of a OutOfFoldValues"),
    "a unit outside": ("OutOfFoldValues", "units", lambda v: put(0, 2**30), "units of a OutOfFoldValues"),
    "logits of other rows": ("OutOfFoldLogits", "logits", lambda v: shorter, "logits of a OutOfFoldLogits"),
    "sums of other views": ("OutOfFoldValues", "view_sums", lambda v: shorter, "view_sums of a OutOfFoldValues"),
    "sums of other patterns": ("OutOfFoldValues", "joint_sums", lambda v: shorter, "joint_sums of a OutOfFoldValues"),
    "a weight below 0": ("OutOfFoldValues", "weights", lambda v: put(0, -1.0), "weights of a OutOfFoldValues"),
    "children before parents": ("Forest", "left", lambda forest: put(first_inner(forest), 0), "back to itself"),
    "a circle": ("Forest", "left", lambda f: put(first_inner(f), first_inner(f)), "back to itself"),
    "a child outside": ("Forest", "left", lambda f: put(first_inner(f), len(f.left)), "numbers that are not from 0"),
    "a right child outside": ("Forest", "left", lambda f: put(first_inner(f), len(f.left) - 1), "not from 0 to"),
    "a negative child": ("Forest", "left", lambda f: put(first_inner(f), -5), "numbers that are not from 0"),
    "a column outside": ("Forest", "feature", lambda f: put(first_inner(f), f.n_columns), "feature of a Forest"),
    "a root outside": ("Forest", "roots", lambda f: put(0, len(f.left)), "roots of a Forest"),
    "a negative root": ("Forest", "roots", lambda f: put(0, -1), "roots of a Forest"),
    "no roots": ("Forest", "roots", lambda f: lambda a: a[:0], "0 trees"),
    "short thresholds": ("Forest", "threshold", lambda f: shorter, "threshold of a Forest has the shape"),
    "short values": ("Forest", "values", lambda f: shorter, "values of a Forest has the shape"),
    "flat values": ("Forest", "values", lambda f: np.ravel, "values of a Forest has the shape"),
    "values of another type": ("Forest", "values", lambda f: lambda a: a.astype(np.float64), "not float32"),
    "values of the other byte order": ("Forest", "values", lambda f: lambda a: a.astype(">f4"), "not float32"),
    "whole numbers as floats": ("Forest", "left", lambda f: lambda a: a.astype(np.float32), "not int32"),
    "a subclass": ("Forest", "values", lambda f: lambda a: a.view(np.recarray), "is not an array but a recarray"),
    "a list": ("Forest", "values", lambda f: np.ndarray.tolist, "is not an array but a list"),
    "nothing": ("Forest", "values", lambda f: lambda a: None, "is not an array but missing"),
    "an infinite threshold": ("Forest", "threshold", lambda f: put(0, np.inf), "NaN or infinity"),
    "true for a number of columns": ("Forest", "n_columns", lambda f: bool, "n_columns of a Forest is not a whole"),
    "no columns": ("Forest", "n_columns", lambda f: lambda n: 0, "n_columns of a Forest is 0"),
    "a forest too few": ("ForestModel", "forests", lambda f: shorter, "shares of a ForestModel has the shape"),
    "a stranger among forests": ("ForestModel", "forests", lambda f: lambda a: [a[0], "x"], "has a str, not a Forest"),
    "a fill too few": ("ForestModel", "fill", lambda f: shorter, "differ in the number of columns"),
    "an invalid forest": ("ForestModel", "forests", lambda f: lambda a: [forge(a[0], "roots", put(0, -1))], "roots"),
    "no parts": ("KernelMachine", "parts", lambda f: lambda a: [], "parts of a KernelMachine has 0 items"),
    "parts as a tuple": ("KernelMachine", "parts", lambda f: tuple, "is not a list but a tuple"),
    "an invalid part": (
        "KernelMachine",
        "parts",
        lambda f: lambda a: [forge(a[0], "offsets", shorter)],
        "has the shape",
    ),
    "a centre too few": ("RadialMachine", "centres", lambda f: shorter, "coefficients of a RadialMachine"),
    "a column of centres too few": ("RadialMachine", "centres", lambda f: lambda a: a[:, 1:], "centres of a"),
    "an infinite width": ("RadialMachine", "gamma", lambda f: lambda a: np.inf, "gamma of a RadialMachine is inf"),
    "a width in words": ("RadialMachine", "gamma", lambda f: str, "is not a float but a str"),
    "another scale": ("RadialMachine", "scale", lambda f: lambda a: f.centres, "is not a Scale but a ndarray"),
    "coefficients of fewer columns": ("LinearMachine", "coefficients", lambda f: shorter, "coefficients of a"),
    "an offset too few": ("LinearMachine", "offsets", lambda f: shorter, "coefficients of a LinearMachine"),
    "NaN": ("LinearMachine", "coefficients", lambda f: put(0, np.nan), "NaN or infinity"),
    "a division by nothing": ("Scale", "divisor", lambda f: put(0, 0.0), "not positive"),
    "a size too few": ("Scale", "size", lambda f: shorter, "size of a Scale has the shape"),
    "an endless scale": ("Scale", "largest", lambda f: lambda a: np.nan, "largest of a Scale is nan"),
    "a slope too few": ("PatternCalibration", "slopes", lambda f: shorter, "slopes of a PatternCalibration"),
    "a class too few": ("PatternCalibration", "log_prior", lambda f: shorter, "intercepts of a PatternCalibration"),
    "patterns of numbers": ("PatternCalibration", "patterns", lambda f: lambda a: a.astype(float), "not bool"),
    "no full pattern": ("PatternCalibration", "patterns", lambda f: put((0, 0), False), "begin with all views"),
    "a support vector too few": ("SupportVectorMachine", "centres", lambda f: shorter, "coefficients of a"),
    "an intercept too few": ("SupportVectorMachine", "intercepts", lambda f: shorter, "intercepts of a"),
    "a share too few": ("SupportVectorMachine", "shares", lambda f: shorter, "coefficients of a"),
    "a view too few": ("ViewImputer", "view_of", lambda f: shorter, "view_of of a ViewImputer"),
    "a loading too few": ("ViewImputer", "loadings", lambda f: shorter, "loadings of a ViewImputer"),
    "no noise": ("ViewImputer", "noise", lambda f: lambda a: 0.0, "not above 0"),
    "no machines": ("SupportVectorMachines", "parts", lambda f: lambda a: [], "has 0 items"),
    "shares of nothing": (
        "SupportVectorMachines",
        "parts",
        lambda f: lambda a: [forge(a[0], "shares", np.zeros_like)],
        "shares",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_does_not_agree_is_refused(several, two, forgery):
    kind, name, change_of, words = FORGERIES[forgery]
    part = part_named(two if kind.startswith("Support") else several, kind)
    part.validate()
    with pytest.raises(ValueError, match=re.escape(words)):
        forge(part, name, change_of(part)).validate()


@pytest.mark.parametrize("kind", ["Forest", "ForestModel", "KernelMachine", "RadialMachine", "LinearMachine", "Scale"])
def test_a_missing_attribute_is_refused(several, kind):
    for name in vars(part_named(several, kind)):
        if name == "weight":  # files of earlier versions have none
            continue
        part = part_named(several, kind)
        vars(part).pop(name)
        with pytest.raises(ValueError, match=name):
            part.validate()


def test_parts_that_each_agree_must_agree_with_each_other(several):
    machine = part_named(several, "KernelMachine")
    linear = [part for _, part in parts_of(several) if type(part) is LinearMachine]
    radial = [part for _, part in parts_of(several) if type(part) is RadialMachine]
    narrow, wide = radial[0], next(part for part in linear if len(part.scale.centre) != len(radial[0].scale.centre))
    object.__setattr__(machine, "parts", [narrow, wide])
    with pytest.raises(ValueError, match="differ in the number of columns"):
        machine.validate()


def test_every_type_of_a_fitted_model_is_covered():
    """A type that is added to the base models gets a `validate`, too."""
    kinds = {kind for kind, *_ in FORGERIES.values()}
    held = {
        type(part).__name__
        for model in (fitted_once(n_classes=3), fitted_once(n_classes=2))
        for _, part in parts_of(model)
    }
    assert held - {"FusionClassifier"} == kinds
