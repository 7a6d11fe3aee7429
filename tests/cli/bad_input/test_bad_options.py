"""Options that cannot be used: one line that says why and how to fix it."""

import pytest

from tests.cli.bad_input.refusals import FIT, N_ROWS, write
from tests.cli.command_line import run

VIEWS = {
    "method for numbers": (["--method", "ridge"], ["--method 'ridge' is not known", "--task regression", "view:"]),
    "unknown view": (["--method", "view:sound"], ["--method 'view:sound' is not known"]),
    "glob of nothing": (["--view", "a=sound_*"], ["no column of the data matches 'sound_*' of the view 'a'"]),
    "name that is near": (["--view", "a=rna_01"], ["'rna_01'", "Did you mean 'rna_1'?"]),
    "no glob": (["--view", "rna"], ["--view takes NAME=GLOB", "'rna'"]),
    "twice": (["--view", "a=rna_*", "--view", "a=image_*"], ["--view names 'a' more than once"]),
    "target in a view": (["--view", "a=rna_*,kind"], ["the view 'a' has 'kind', which is the target"]),
    "id in a view": (["--view", "a=patient"], ["the view 'a' has 'patient', which is the id"]),
    "both": (["--view", "a=rna_*", "--views", "views.toml"], ["cannot both be given"]),
    "no file": (["--views", "nowhere.toml"], ["nowhere.toml cannot be read: No such file"]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name, data, fit):
    arguments, words = VIEWS[name]
    fit(data, *FIT, *arguments, words=words)


TOML = {
    "[views\n": ["is not TOML", "line 1"],
    "a = 1\n": ["needs a table [views]"],
    "[views]\n": ["needs a table [views]"],
    '[views]\na = "rna_*"\n[other]\nb = 1\n': ["unknown key 'other'"],
    "[views]\na = 3\n": ["must give the view 'a' a glob"],
    '[views.a]\ncolumn = "rna_*"\n': ["unknown setting 'column' for the view 'a'", "did you mean 'columns'?"],
    '[views.a]\ncolumns = "rna_*"\nlearner = "magic"\n': ["the learner 'magic'", "stump"],
    '[views.a]\ncolumns = "rna_*"\npreprocess = "pca:2.5"\n': ["the preprocess 'pca:2.5'", "pca:0.95"],
    '[views.a]\ncolumns = "rna_*"\npreprocess = 3\n': ["the preprocess 3", "standard"],
    '[views.a]\ncolumns = "rna_*"\ncategorical = "maybe"\n': ["categorical = 'maybe'", "onehot"],
    '[views]\na = "rna_*"\na = "image_*"\n': ["is not TOML"],
}


@pytest.mark.parametrize("content", TOML)
def test_views_files(content, data, tmp_path, fit):
    (tmp_path / "views.toml").write_text(content)
    fit(data, *FIT, "--views", tmp_path / "views.toml", words=["--views", "views.toml", *TOML[content]])


def test_more_components_than_columns(data, tmp_path, fit):
    (tmp_path / "views.toml").write_text('[views.a]\ncolumns = "rna_*"\npreprocess = "pca:20"\n')
    fit(data, *FIT, "--views", tmp_path / "views.toml", words=["The view 'a' cannot be used", "n_components=20"])


def test_views_file_that_is_not_text(data, tmp_path, fit):
    (tmp_path / "views.toml").write_bytes(b"\xff\xfe\x00")
    fit(data, *FIT, "--views", tmp_path / "views.toml", words=["cannot be read", "UTF-8"])


def test_learner_for_a_method_that_has_none(data, tmp_path, fit):
    (tmp_path / "views.toml").write_text('[views.a]\ncolumns = "rna_*"\nlearner = "stump"\n')
    fit(data, "--target", "kind", "--method", "mkl", "--views", tmp_path / "views.toml", words=["'a'", "mkl has none"])
    usual = ["--target", "kind", "--views", tmp_path / "views.toml"]
    fit(data, *usual, words=["'a'", "fusion has none per view", "add --method shareboost"])


OPTIONS = {
    "method": (["--method", "sharebost"], ["--method 'sharebost' is not known", "'shareboost'"]),
    "set key": (["--set", "n_estimator=5"], ["--set n_estimator", "did you mean n_estimators"]),
    "set type": (["--set", "learning_rate=fast"], ["--set learning_rate must be a number", "'fast'"]),
    "set whole": (["--set", "warm_start=yes"], ["--set warm_start must be true or false", "'yes'"]),
    "set form": (["--set", "resample"], ["--set takes KEY=VALUE", "'resample'"]),
    "set elsewhere": (["--set", "random_state=3"], ["--set random_state", "use --seed"]),
    "set twice": (["--set", "n_estimators=5"], ["--set n_estimators is given more than once"]),
    "set value": (["--set", "learning_rate=-1"], ["learning_rate must be", "-1"]),
    "set object": (["--method", "svm_sum", "--set", "estimator=magic"], ["--set estimator", "extra_trees"]),
    "jobs": (["--jobs", "-3"], ["--jobs must be a number of threads", "-3"]),
    "no jobs": (["--jobs", "0"], ["--jobs must be a number of threads"]),
    "seed": (["--seed", "-1"], ["--seed must be between 0 and"]),
    "id absent": (["--id", "number"], ["--id names the column 'number'"]),
    "target is near": (["--target", "kinds"], ["--target names the column 'kinds'", "Did you mean 'kind'?"]),
    "id is target": (["--id", "kind"], ["--id and --target both name 'kind'"]),
    "categorical": (["--categorical", "both"], ["--categorical must be onehot", "'both'"]),
    "class weight": (["--class-weight", "heavy"], ["--class-weight must be none", "'heavy'"]),
    "automatic weights": (["--class-weight", "auto"], ["--class-weight must be none", "'auto'"]),
    "labels": (["--label-columns", "rna=mine"], ["--label-columns has no column for the view 'image'"]),
    "labels of nobody": (["--label-columns", "rna=kind,sound=kind"], ["the view 'sound'", "rna, image"]),
    "too few labels": (["--label-columns", "kind"], ["names 1 columns, but there are 2 views"]),
    "label column absent": (["--label-columns", "kind,mine"], ["--label-columns names the column 'mine'"]),
    "group absent": (["--group", "persons"], ["--group names the column 'persons'"]),
    "group is target": (["--group", "kind"], ["--group and --target both name 'kind'"]),
    "group elsewhere": (["--group", "patient"], ["--group: shareboost does not judge", "--method fusion"]),
    "delimiter": (["--delimiter", "ab"], ["--delimiter must be one character"]),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name, data, fit):
    arguments, words = OPTIONS[name]
    usual = FIT[:4] if "--method" in arguments else FIT
    fit(data, *usual, *arguments, words=words)


def test_gaps_in_label_columns(tmp_path, fit):
    path = write(tmp_path, other=[None, *["well"] * (N_ROWS - 1)])
    fit(path, *FIT, "--label-columns", "kind,other", words=["label column 'other'", "fill or drop"])


def test_gaps_in_groups(tmp_path, fit):
    path = write(tmp_path, person=["a", "b", None, *["c"] * (N_ROWS - 3)])
    arguments = [*FIT[:4], "--method", "fusion", "--group", "person"]
    fit(path, *arguments, words=["group column 'person'", "row 3"])


def test_one_group_only(tmp_path, fit):
    path = write(tmp_path, person=["a"] * N_ROWS)
    fit(path, *FIT[:4], "--method", "fusion", "--group", "person", words=["one group only in the column 'person'"])


def test_usage_is_exit_code_2(data):
    for arguments in (["fit", data], ["predict"], ["fit", data, *FIT], ["inspect"], ["fit", data, "--speed", "9"]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Usage" in result.stderr
