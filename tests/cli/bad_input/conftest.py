"""Commands that are to be refused."""

import pytest

from tests.cli.bad_input.refusals import FIT, refused, write
from tests.cli.command_line import run


@pytest.fixture
def data(tmp_path):
    return write(tmp_path)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    result = run("fit", write(folder), *FIT, "--output", folder / "model.fuse")
    assert result.exit_code == 0, result.output
    return folder / "model.fuse"


@pytest.fixture
def fit(tmp_path):
    """Fit, and see that a refusal leaves nothing behind."""

    def call(data, *arguments, words, **settings):
        before = set(tmp_path.iterdir())
        refused(run("fit", data, *arguments, "--output", tmp_path / "model.fuse", **settings), *words)
        assert set(tmp_path.iterdir()) == before

    return call


@pytest.fixture
def predict(tmp_path, fitted):
    """Predict, and see that a refusal leaves nothing behind."""

    def call(data, *arguments, words, model=fitted, output="predictions.csv", **settings):
        before = set(tmp_path.iterdir())
        refused(run("predict", model, data, *arguments, "--output", tmp_path / output, **settings), *words)
        assert set(tmp_path.iterdir()) == before

    return call
