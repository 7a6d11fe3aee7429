"""The choices that the user made on the command line: views and their learners, the method and its settings.

Views are given by ``--view NAME=GLOB``, by a TOML file, or guessed from prefixes; settings by ``--set KEY=VALUE``.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fuselearn.cli.console import Notes, refuse
from fuselearn.cli.files import blank_hint, check_column
from fuselearn.cli.guessed_views import guessed_views
from fuselearn.cli.unused_columns import note_unused, note_used_twice

if TYPE_CHECKING:
    from fuselearn.cli.files import OpenedFile
    from fuselearn.cli.joined_files import JoinedFiles
    from fuselearn.registry import Method

Number = TypeVar("Number", int, float)

FUSION = "fusion"
TASKS = ("auto", "classification", "regression")
ONLY_FOR_NUMBERS = ("ridge_concatenated",)
"""Methods that predict numbers only."""
DEFAULT_METHOD = FUSION
OPTION_OF = {
    "views": "--view or --views",
    "class_weight": "--class-weight",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "verbose": "the progress bar",
}
"""Settings that have an option of their own."""
WEAK_LEARNERS = ("gaussian_nb", "stump", "tree", "linear")
"""Learners that boosting has of its own."""
LEARNERS = (*WEAK_LEARNERS, "logistic", "svm", "forest", "extra_trees")
"""Learners that a view may have, by name."""
VIEW_SETTINGS = ("columns", "learner", "preprocess", "categorical")
"""Keys of the table of a view in a TOML file."""
CATEGORICAL = ("onehot", "target", "none")
"""Ways in which text becomes numbers. With "none" a view holds numbers only."""


@dataclass(frozen=True)
class ViewChoice:
    """A view as the user chose it; what is None is left to the method, to ``--categorical``, and to DATA."""

    columns: list[str]
    learner: str | None = None
    preprocess: tuple[str, ...] = ()
    categorical: str | None = None
    path: str | None = None


def choose_views(
    view_options: list[str], views_file: str | None, columns: list[str], reserved: dict[str, str] | None = None
) -> tuple[dict[str, ViewChoice], str]:
    """Return the views as the user chose them, and in words how they were found.

    Parameters
    ----------
    view_options : list of str
        ``NAME=GLOB``, where the glob may be a list with commas, and a range ``FIRST:LAST`` takes all columns between.
    views_file : str or None
        TOML with a table ``[views]`` of name to glob, list of globs, or table with `VIEW_SETTINGS`.
    columns : list of str
        Columns of the data, without target and id.
    reserved : dict of column name to what it is, default=None
        Columns that no view may name, such as ``{"outcome": "the target"}``.
    """
    reserved = reserved or {}
    if view_options and views_file:
        refuse("--view and --views cannot both be given.")
    named = [column for column in columns if column.strip()]
    if views_file:
        settings_of = _from_file(views_file)
        return {
            name: ViewChoice(
                matching_columns(name, settings.pop("columns"), named, f"--views {views_file}", reserved), **settings
            )
            for name, settings in settings_of.items()
        }, "from the file"
    if view_options:
        pairs = [_pair(option) for option in view_options]
        names = [name for name, _ in pairs]
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            refuse(f"--view names {repeated[0]!r} more than once; list its globs with commas: {repeated[0]}=A,B.")
        return {
            name: ViewChoice(matching_columns(name, globs, named, "--view", reserved)) for name, globs in pairs
        }, "as given"
    views, how = guessed_views(columns)
    return {name: ViewChoice(members) for name, members in views.items()}, how


def choose_file_views(
    opened: "OpenedFile",
    view_options: list[str],
    views_file: str | None,
    reserved: dict[str, str],
    drop: list[str] | None,
    notes: Notes,
) -> tuple[dict[str, ViewChoice], str]:
    """Return the views of what was opened, as `choose_views` does, without the columns to `drop`.

    Columns that are in no view, or in several ones, are noted.
    """
    names, path, joined = opened.names, opened.source.name, opened.source.on is not None
    dropped = _dropped(drop or [], names, path, joined)
    if joined:
        if views_file:
            refuse("--views and --on cannot both be given; name the files with --view NAME=FILE.")
        if not view_options:
            refuse("--on joins the files of views; name them with --view NAME=FILE, once for each view.")
        choices = cast("JoinedFiles", opened).choices(reserved, dropped)
        note_unused(opened, choices, {*reserved, *dropped}, notes)
        return choices, "a file each"
    free = [name for name in names if name not in reserved and name not in dropped]
    if not free:
        refuse(f"{path} has no columns beside the target; views need some.")
    choices, how = choose_views(view_options, views_file, free, {**reserved, **dict.fromkeys(dropped, "dropped")})
    note_unused(opened, choices, {*reserved, *dropped}, notes)
    note_used_twice(choices, notes)
    return choices, how


def _dropped(drop: list[str], names: list[str], path: str, joined: bool) -> set[str]:
    """Return the columns that are dropped, each of which must exist; with files joined, in any of them."""
    known = {*names, *(name.partition(": ")[2] for name in names)} if joined else set(names)
    dropped = {name for option in drop for name in ([option] if option in known else option.split(","))}
    for name in sorted(dropped):
        if name not in known:
            check_column(name, names, path, "--drop")
    return dropped


def check_column_of_data(name: str, opened: "OpenedFile", option: str) -> None:
    """Refuse a column that DATA does not have, whether files of views have it or not."""
    if opened.source.on is None:
        check_column(name, opened.names, opened.source.name, option)
    else:
        cast("JoinedFiles", opened).check_column_of_data(name, option)


def find_method(name: str, view_names: list[str], task: str = "classification") -> "Method":
    """Return the method of a name, or refuse it with similar names; of a name that both tasks have, that of classes."""
    from fuselearn import registry

    if task == "regression" or (task == "auto" and name in ONLY_FOR_NUMBERS):
        from fuselearn.cli.regression import regression_method

        return regression_method(name, view_names)
    try:
        return registry.find_method(name, view_names, unmatched=True)
    except ValueError as error:
        from fuselearn.regression_methods import REGRESSION_METHODS

        also = f" With --task regression there are {', '.join(REGRESSION_METHODS)}." if task == "auto" else ""
        refuse(f"--method {name!r} is not known; {str(error).partition('; ')[2]}{also}")


def make_estimator(
    method: "Method",
    views: dict[str, Any],
    learners: dict[str, str],
    settings: list[str],
    *,
    seed: int,
    jobs: int | None,
) -> Any:
    """Return an unfitted estimator of a method, with a learner for each view that names one, and the settings."""
    estimator = method.estimator(views, None, seed)
    if learners:
        _set_learners(estimator, method, views, learners, seed)
    typed = typed_settings(estimator, settings, method.name)
    if typed.get("estimator") in LEARNERS:
        if learners:
            refuse("--set estimator and learners in --views cannot both be given.")
        typed["estimator"] = make_learner(typed["estimator"], _boosts(estimator), seed)
    estimator.set_params(**typed)
    if "n_jobs" in estimator.get_params(deep=False):
        estimator.set_params(n_jobs=jobs)
    return estimator


def typed_settings(estimator: Any, settings: list[str], method_name: str) -> dict[str, Any]:
    """Return the values of ``key=value``, each of the type that the setting has by default.

    Examples
    --------
    >>> from fuselearn import ShareBoostClassifier
    >>> typed_settings(ShareBoostClassifier(), ["n_estimators=50", "resample=true", "estimator=stump"], "shareboost")
    {'n_estimators': 50, 'resample': True, 'estimator': 'stump'}
    """
    defaults = estimator.get_params(deep=True)
    typed: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        key, text = key.strip(), text.strip()
        if not (key and sign):
            refuse(f"--set takes KEY=VALUE, such as n_estimators=50; got {setting!r}.")
        if key in OPTION_OF:
            refuse(f"--set {key}: use {OPTION_OF[key]} instead.")
        if key not in defaults:
            known = [name for name in defaults if "__" not in name and name not in OPTION_OF]
            near = get_close_matches(key, defaults, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else f"known are {', '.join(known)}."
            refuse(f"--set {key}: {method_name} has no such setting; {hint}")
        if key in typed:
            refuse(f"--set {key} is given more than once.")
        typed[key] = _typed(key, text, defaults[key])
    return typed


def make_learner(name: str, boosting: bool, seed: int) -> Any:
    """Return what the `estimator` of a method takes for one of `LEARNERS`.

    Methods that do not boost weak learners get a classifier of scikit-learn, after means in gaps and standardising
    where it needs them.
    """
    if boosting and name in WEAK_LEARNERS:
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


def takes(estimator: Any, argument: str) -> bool:
    """Check whether `fit` takes an argument such as `sample_weight`, with the settings that the estimator has."""
    from sklearn.utils.validation import has_fit_parameter

    from fuselearn.registry import grows_joint_trees

    if argument == "view_labels" and grows_joint_trees(estimator):
        return False
    return bool(has_fit_parameter(estimator, argument))


def _pair(option: str) -> tuple[str, list[str]]:
    """Return the name and the globs of ``NAME=GLOB,GLOB``."""
    name, sign, globs = option.partition("=")
    if not (name and sign and globs):
        refuse(f"--view takes NAME=GLOB, such as rna='rna_*'; got {option!r}.")
    return name, globs.split(",")


def _from_file(path: str) -> dict[str, dict[str, Any]]:
    """Return the settings of each view of a TOML file."""
    import tomllib

    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        refuse(f"--views: {path} cannot be read: {error.strerror or error}.")
    except UnicodeDecodeError:
        refuse(f"--views: {path} cannot be read: it is not UTF-8, which TOML must be.")
    except tomllib.TOMLDecodeError as error:
        refuse(f"--views: {path} is not TOML: {error}.")
    views = content.get("views")
    if not isinstance(views, dict) or not views:
        refuse(f'--views: {path} needs a table [views], such as: rna = "rna_*".')
    others = [key for key in content if key != "views"]
    if others:
        refuse(f"--views: {path} has the unknown key {others[0]!r} beside [views]; name views inside [views].")
    return {name: _view_settings(name, value, path) for name, value in views.items()}


def _view_settings(name: str, value: Any, path: str) -> dict[str, Any]:
    """Return the settings of a view, checked."""
    settings = dict(value) if isinstance(value, dict) else {"columns": value}
    for key in settings:
        if key not in VIEW_SETTINGS:
            near = get_close_matches(key, VIEW_SETTINGS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(VIEW_SETTINGS)}."
            refuse(f"--views: {path} has the unknown setting {key!r} for the view {name!r}{hint}")
    settings["columns"] = _texts(settings.get("columns"))
    if not settings["columns"]:
        refuse(f"--views: {path} must give the view {name!r} a glob or a list of globs, as columns.")
    if settings.get("learner", LEARNERS[0]) not in LEARNERS:
        refuse(
            f"--views: {path} gives the view {name!r} the learner {settings['learner']!r}; known are "
            f"{', '.join(LEARNERS)}."
        )
    if "preprocess" in settings:
        from fuselearn.tables import PREPROCESSING_STEPS, is_preprocessing_step

        steps = _texts(settings["preprocess"])
        unknown = [step for step in steps or [settings["preprocess"]] if not is_preprocessing_step(step)]
        if unknown:
            refuse(
                f"--views: {path} gives the view {name!r} the preprocess {unknown[0]!r}; known are "
                f"{PREPROCESSING_STEPS}."
            )
        settings["preprocess"] = tuple(steps or ())
    if settings.get("categorical", "onehot") not in CATEGORICAL:
        refuse(
            f"--views: {path} gives the view {name!r} categorical = {settings['categorical']!r}; known are "
            f"{', '.join(CATEGORICAL)}."
        )
    return settings


def _texts(value: Any) -> list[str] | None:
    """Return one text or a list of them as a list; None if it is neither."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        return None
    return value


def matching_columns(
    name: str, globs: Sequence[str], columns: list[str], source: str, reserved: dict[str, str]
) -> list[str]:
    """Return the columns that the globs of a view match, each once."""
    matching: dict[str, None] = {}
    for glob in globs:
        first, sign, last = glob.partition(":")
        if glob in columns:
            matched = [glob]
        elif sign and first in columns and last in columns:
            matched = columns[columns.index(first) : columns.index(last) + 1]
        else:
            matched = [column for column in columns if fnmatchcase(column, glob)]
        if not matched:
            # A glob that has other columns too leaves these out without a word; to name one is a mistake.
            excluded = [column for column in reserved if column in (glob, first, last) or fnmatchcase(column, glob)]
            if excluded:
                refuse(
                    f"{source}: the view {name!r} has {excluded[0]!r}, which is {reserved[excluded[0]]}; leave it out "
                    "of the view."
                )
            near = get_close_matches(glob, columns, n=1)
            hint = blank_hint(glob, columns) or (f" Did you mean {near[0]!r}?" if near else "")
            # `Path.is_file` would raise for names that no file can have.
            if not hint and os.path.isfile(glob.partition("::")[0]):
                hint = " It is a file: --on, with the column of ids, joins files of views."
            refuse(f"{source}: no column of the data matches {glob!r} of the view {name!r}.{hint}")
        matching |= dict.fromkeys(matched)
    return list(matching)


def _set_learners(estimator: Any, method: "Method", views: dict[str, Any], learners: dict[str, str], seed: int) -> None:
    """Set the learner of each view that names one; the others keep the method's own."""
    first = next(iter(learners))
    if "estimator" not in estimator.get_params(deep=False) or method.name.endswith("concatenated"):
        refuse(
            f"--views gives the view {first!r} a learner, but {method.name} has none per view; leave learner out, or "
            "add --method shareboost."
        )
    boosts, default = _boosts(estimator), estimator.estimator
    estimator.set_params(
        estimator={name: make_learner(learners[name], boosts, seed) if name in learners else default for name in views}
    )


def _boosts(estimator: Any) -> bool:
    """Check whether an estimator boosts weak learners."""
    return hasattr(estimator, "n_estimators")


def _typed(key: str, text: str, default: Any) -> Any:
    """Return a value of the type of the default."""
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            refuse(f"--set {key} must be true or false; got {text!r}.")
        return text.lower() == "true"
    if isinstance(default, int):
        return _number(key, text, int, "a whole number")
    if isinstance(default, float):
        return _number(key, text, float, "a number")
    if default is None or isinstance(default, str):
        return _guessed_value(text)
    if key != "estimator" or text not in LEARNERS:
        by_parts = f"a setting of its own, as {key}__NAME=VALUE"
        advice = f"one of {', '.join(LEARNERS)}" if key == "estimator" else by_parts
        refuse(f"--set {key} is not a single value but a {type(default).__name__}; give {advice}.")
    return text


def _number(key: str, text: str, kind: type[Number], words: str) -> Number:
    """Return a number, or refuse the text."""
    try:
        return kind(text)
    except ValueError:
        refuse(f"--set {key} must be {words}; got {text!r}.")


def _guessed_value(text: str) -> Any:
    """Return what a text most likely means, where the default does not say."""
    plain = {"none": None, "true": True, "false": False}
    if text.lower() in plain:
        return plain[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
