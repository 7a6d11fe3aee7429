"""What is built of scikit-learn is checked before it is used: genuine models pass, damaged ones are refused."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from fuselearn.persistence.foreign_checks import check_objects

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
X[:, 2] = rng.integers(0, 4, 80)
y = (X[:, 0] + (X[:, 2] % 2) > 0.5).astype(int)


@pytest.fixture(scope="module")
def histogram_boosting():
    return HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=[2]).fit(X, y)


@pytest.fixture(scope="module")
def precomputed():
    return SVC(kernel="precomputed").fit(X @ X.T, y)


@pytest.fixture(scope="module")
def neighbours():
    return KNeighborsClassifier(algorithm="kd_tree", leaf_size=5).fit(X, y)


def test_genuine_models_pass(histogram_boosting, precomputed, neighbours):
    without_categories = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5).fit(X, y)
    check_objects([histogram_boosting, without_categories, precomputed, neighbours, neighbours._tree])


@pytest.mark.parametrize("known", [np.zeros(3, dtype=bool), np.ones(2, dtype=bool), [True, False, False], None])
def test_trees_of_categories_where_none_are_known(histogram_boosting, known):
    assert any(stage[0].nodes["is_categorical"].any() for stage in histogram_boosting._predictors)
    damaged = deepcopy(histogram_boosting)
    damaged._bin_mapper.is_categorical_ = known
    with pytest.raises(ValueError, match="a tree of categories, where histogram boosting knows none"):
        check_objects([damaged])


@pytest.mark.parametrize(
    ("place", "mask"),
    [
        (0, [True, False, True]),  # twice
        (0, [False, False, False]),  # not at all
        (1, [True, True, True]),
        (1, [True, False, False]),
        (1, [True, True]),
        (2, [False, False, True]),
        (2, []),
    ],
)
def test_columns_that_are_read_twice_or_not(histogram_boosting, place, mask):
    damaged = deepcopy(histogram_boosting)
    parts = [list(part) for part in damaged._preprocessor.transformers_]
    assert np.asarray(parts[0][2]).tolist() == [False, False, True]
    parts = [*parts, ["remainder", "drop", np.zeros(3, dtype=bool)]][:3]  # an empty rest is not listed by 1.6
    parts[place][2] = np.array(mask)
    damaged._preprocessor.transformers_ = [tuple(part) for part in parts]
    with pytest.raises(ValueError, match="reads other columns than it was fitted on"):
        check_objects([damaged])


@pytest.mark.parametrize("number", [-1, 80, 10**6])
def test_support_outside_of_the_rows(precomputed, number):
    damaged = deepcopy(precomputed)
    damaged.support_[3] = number
    with pytest.raises(ValueError, match="support is not among the rows it was fitted on"):
        check_objects([damaged])


@pytest.mark.parametrize("part", ["child", "end", "start"])
def test_search_trees_that_lead_out(neighbours, part):
    damaged = deepcopy(neighbours)._tree
    nodes = np.asarray(damaged.get_arrays()[2])
    state = list(damaged.__getstate__())
    [place] = [place for place, value in enumerate(state) if np.asarray(value).dtype == nodes.dtype]
    changed = nodes.copy()
    if part == "child":
        # Only the last inner nodes have children past the end.
        leaf = len(nodes) // 2
        assert changed["is_leaf"][leaf] == 1
        changed["is_leaf"][leaf] = 0
    elif part == "end":
        changed["idx_end"][1] = len(X) + 1
    else:
        changed["idx_start"][1] = -1
    state[place] = changed
    damaged.__setstate__(tuple(state))
    with pytest.raises(ValueError, match=r"lead out of it|rows out of range"):
        check_objects([damaged])
