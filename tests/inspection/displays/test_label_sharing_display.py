"""A matrix of which labels use which base models."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import MSSBoostClassifier
from fuselearn.inspection import LabelSharingDisplay
from tests.inspection.displays.drawn_pictures import rendered, texts_outside


def test_sharing_shows_weights_and_sources():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = (X[:, :3] > 0).astype(int)
    names = ["road", "sky", "car"]
    model = MSSBoostClassifier(LogisticRegression(), n_estimators=9, feature_ratio=0.5, random_state=0)
    model.fit(X, pd.DataFrame(Y, columns=names))
    display = rendered(LabelSharingDisplay.from_estimator(model, max_models=7))
    np.testing.assert_array_equal(display.image_.get_array(), model.label_weights_[:7].T)
    assert display.image_.norm.vmin == -display.image_.norm.vmax
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == names
    centres = [path.vertices[:4].mean(axis=0) for path in display.frames_.get_paths()]
    np.testing.assert_allclose(centres, np.column_stack([np.arange(1, 8), model.source_labels_[:7]]))
    assert display.ax_.get_xlabel() == "first 7 base models"
    served = (model.label_weights_ != 0).sum(axis=1)
    assert display.shared == pytest.approx((served > 1).sum() / (served > 0).sum())


@pytest.mark.long
def test_fifty_labels_and_many_models():
    rng = np.random.default_rng(0)
    display = LabelSharingDisplay(
        weights=rng.normal(size=(300, 50)),
        label_names=[f"concept of television news {number}" for number in range(50)],
        source_labels=rng.integers(0, 50, 300),
    ).plot(max_models=300)
    assert texts_outside(rendered(display)) == []
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg")
    assert len(file.getvalue()) < 1_000_000
