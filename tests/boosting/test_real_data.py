"""Real multi-view data, where the folder FUSELEARN_DATA is there."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from fuselearn import IndependentBoostClassifier, ShareBoostClassifier, add_label_noise, stack_views
from fuselearn.learners import Tree


def views_of(arrays):
    return stack_views({name[5:]: array for name, array in arrays.items() if name.startswith("view_")})


@pytest.mark.parametrize(("estimator", "least"), [("gaussian_nb", 0.90), ("stump", 0.95), ("tree", 0.96)])
def test_digits_of_six_views(real_data, estimator, least):
    arrays = real_data("mfeat")
    X, views = views_of(arrays)
    y = arrays["y"] >= 5
    train, test = train_test_split(np.arange(len(X)), train_size=1400, random_state=0, stratify=y)
    model = ShareBoostClassifier(estimator, views=views).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > least


def test_sharing_beats_separate_weights_under_noise(real_data):
    """S0's and S1's claim for 30 % wrong labels, independently per view."""
    arrays = real_data("mfeat")
    X, views = views_of(arrays)
    y = arrays["y"] >= 5
    shared, separate = [], []
    for seed in range(5):
        train, test = train_test_split(np.arange(len(X)), train_size=0.6, random_state=seed, stratify=y)
        labels, _ = add_label_noise(y[train], len(views), 0.3, random_state=seed)
        for kind, scores in ((ShareBoostClassifier, shared), (IndependentBoostClassifier, separate)):
            model = kind(views=views).fit(X[train], y[train], view_labels=labels)
            scores.append(model.score(X[test], y[test]))
    assert np.mean(shared) > np.mean(separate) + 0.03


def test_a_view_that_is_missing_in_half_of_the_rows(real_data):
    arrays = real_data("bdgp")
    blocks = {}
    for name in ("visual1000", "visual500"):
        block = arrays[f"view_{name}"].astype(float)
        block[(block == 0).all(axis=1)] = np.nan
        blocks[name] = block
    X, views = stack_views(blocks)
    y = arrays["y"]
    seen = ~np.isnan(X).all(axis=1)
    train, test = train_test_split(np.flatnonzero(seen), random_state=0, stratify=y[seen])
    both = ShareBoostClassifier("stump", views=views, n_estimators=100).fit(X[train], y[train])
    assert both.score(X[test], y[test]) > 0.7
    assert set(both.winning_views_) == {0, 1}


def test_a_test_set_without_the_protein_view(real_data):
    arrays = real_data("breast_tcga")
    X, views = stack_views({name: arrays[f"view_{name}"] for name in ("mrna", "mirna", "protein")})
    missing = np.full((70, arrays["view_protein"].shape[1]), np.nan)
    X_test = np.hstack([arrays["test_mrna"], arrays["test_mirna"], missing])
    model = ShareBoostClassifier("stump", views=views, n_estimators=100).fit(X, arrays["y"])
    assert_array_equal(model.classes_, ["Basal", "Her2", "LumA"])
    assert model.score(X_test, arrays["test_labels"]) > 0.8


def test_textures_by_colour_channel_with_weakened_trees(real_data):
    """S3's experiment: pairs of textures, the colour channels as views, PCA, 30 weakened C4.5 trees."""
    arrays = real_data("dtd10")
    X, views = views_of(arrays)
    pair = np.flatnonzero(arrays["y"] <= 1)
    y = arrays["y"]
    train, test = train_test_split(pair, train_size=0.5, random_state=0, stratify=y[pair])
    model = ShareBoostClassifier(Tree(), views=views, n_estimators=30, preprocess=PCA(0.95)).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.6
