"""A small saved model."""

import pytest

from fuselearn import ShareBoostClassifier, save
from tests.persistence.saved_models import TWO, VIEWS, X


@pytest.fixture
def path(tmp_path):
    """Return where a model may be saved."""
    return tmp_path / "model.fuse"


@pytest.fixture
def saved(path):
    """Save a small model at `path`, and return it."""
    model = ShareBoostClassifier(views=VIEWS, n_estimators=3).fit(X, TWO)
    save(model, path)
    return model
