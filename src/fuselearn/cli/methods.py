"""Methods that ``fuselearn fit`` knows by name, and their settings from ``--set key=value``.

Learners that a view may have, by name.
"""

from difflib import get_close_matches

from fuselearn.cli.errors import refuse

FUSION = "fusion"
DEFAULT_METHOD = FUSION
BALANCES_ITSELF = (FUSION,)
"""Methods that treat rare and frequent classes alike without weights."""
ELSEWHERE = {"views": "--view or --views", "n_jobs": "--jobs", "random_state": "--seed", "verbose": "the progress bar"}
"""Settings that have an option of their own."""


def find_method(name, view_names):
    """The method of a name, or a refusal that names near ones.

    Parameters
    ----------
    name : str
        One of those that ``fuselearn compare`` knows, or "tomographic", "augmented".
    view_names : list of str

    Returns
    -------
    fuselearn.registry.Method
    """
    from fuselearn import registry

    try:
        return registry.find_method(name, view_names, unmatched=True)
    except ValueError as error:
        refuse(f"--method: {str(error).removeprefix('methods names ')}")


def make_estimator(method, views, learners, settings, *, seed, jobs):
    """An unfitted estimator.

    Parameters
    ----------
    method : Method
    views : dict of name to column numbers
    learners : dict of view name to learner name
        Of the views that name one.
    settings : list of str
        ``key=value``.
    seed : int
    jobs : int or None
    """
    estimator = method.estimator(views, None, seed)
    if learners:
        _give_learners(estimator, method, views, learners, seed)
    typed = typed_settings(estimator, settings, method.name)
    if typed.get("estimator") in LEARNERS:
        if learners:
            refuse("--set estimator and learners in --views cannot be given both.")
        typed["estimator"] = make_learner(typed["estimator"], _boosts(estimator), seed)
    estimator.set_params(**typed)
    if "n_jobs" in estimator.get_params(deep=False):
        estimator.set_params(n_jobs=jobs)
    return estimator


def typed_settings(estimator, settings, method_name):
    """Values of ``key=value``, each of the type that the setting has by default.

    Parameters
    ----------
    estimator : estimator
        With its defaults.
    settings : list of str
    method_name : str
        For messages.

    Returns
    -------
    dict

    Examples
    --------
    >>> from fuselearn import ShareBoostClassifier
    >>> typed_settings(ShareBoostClassifier(), ["n_estimators=50", "resample=true", "estimator=stump"], "shareboost")
    {'n_estimators': 50, 'resample': True, 'estimator': 'stump'}
    """
    defaults = estimator.get_params(deep=True)
    typed = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        key, text = key.strip(), text.strip()
        if not (key and sign):
            refuse(f"--set takes KEY=VALUE, such as n_estimators=50; got {setting!r}.")
        if key in ELSEWHERE:
            refuse(f"--set {key}: use {ELSEWHERE[key]} instead.")
        if key not in defaults:
            open_to_all = [name for name in defaults if "__" not in name and name not in ELSEWHERE]
            near = get_close_matches(key, defaults, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else f"known are {', '.join(open_to_all)}."
            refuse(f"--set {key}: {method_name} has no such setting; {hint}")
        if key in typed:
            refuse(f"--set {key} is given more than once.")
        typed[key] = _typed(key, text, defaults[key])
    return typed


def takes(estimator, argument):
    """Whether `fit` takes an argument such as `sample_weight`."""
    from sklearn.utils.validation import has_fit_parameter

    return has_fit_parameter(estimator, argument)


def _give_learners(estimator, method, views, learners, seed):
    first = next(iter(learners))
    if "estimator" not in estimator.get_params(deep=False) or method.name.endswith("concatenated"):
        refuse(
            f"--views gives the view {first!r} a learner, but {method.name} has none per view; leave learner out, or "
            "add --method shareboost."
        )
    boosts, otherwise = _boosts(estimator), estimator.estimator
    estimator.set_params(
        estimator={
            name: make_learner(learners[name], boosts, seed) if name in learners else otherwise for name in views
        }
    )


def _boosts(estimator):
    return hasattr(estimator, "n_estimators")


def _typed(key, text, default):
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            refuse(f"--set {key} must be true or false; got {text!r}.")
        return text.lower() == "true"
    if isinstance(default, int):
        return _number(key, text, int, "a whole number")
    if isinstance(default, float):
        return _number(key, text, float, "a number")
    if default is None or isinstance(default, str):
        return _guessed(text)
    if key == "estimator" and text in LEARNERS:
        return text
    advice = f"one of {', '.join(LEARNERS)}" if key == "estimator" else f"a setting of its own, as {key}__NAME=VALUE"
    return refuse(f"--set {key} is no single value but a {type(default).__name__}; give {advice}.")


def _number(key, text, kind, words):
    try:
        return kind(text)
    except ValueError:
        refuse(f"--set {key} must be {words}; got {text!r}.")


def _guessed(text):
    """What a text most likely means, where the default does not say."""
    plain = {"none": None, "true": True, "false": False}
    if text.lower() in plain:
        return plain[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


BOOSTED = ("gaussian_nb", "stump", "tree", "linear")
"""Those that boosting has of its own."""
LEARNERS = (*BOOSTED, "logistic", "svm", "forest", "extra_trees")


def make_learner(name, boosting, seed):
    """What the `estimator` of a method takes for a name.

    Parameters
    ----------
    name : str
        One of `LEARNERS`.
    boosting : bool
        Whether the method boosts weak learners. Others get a classifier of scikit-learn, after means in gaps and
        standardising where it needs them.
    seed : int
    """
    if boosting and name in BOOSTED:
        return name
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    if name in ("stump", "tree"):
        return DecisionTreeClassifier(max_depth=1 if name == "stump" else None, random_state=seed)
    if name in ("forest", "extra_trees"):
        return (RandomForestClassifier if name == "forest" else ExtraTreesClassifier)(random_state=seed)
    classifier = {
        "gaussian_nb": GaussianNB,
        "linear": RidgeClassifier,
        "logistic": lambda: LogisticRegression(max_iter=1000),
        "svm": SVC,
    }[name]()
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), classifier)
