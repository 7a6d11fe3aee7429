"""Mean targets of training rows tell nothing of their own labels, nor of those of their group."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import TargetEncoder

from fuselearn import FusionClassifier, TableClassifier
from fuselearn.tables import ViewColumns
from fuselearn.tables.target_means import cross_fitted_means

N_PERSONS, N_ROWS = 60, 480
PERSONS = np.repeat(np.arange(N_PERSONS), N_ROWS // N_PERSONS)


def by_chance(seed, n_classes=2):
    """Return a table in which each person has a street, and labels that persons have by chance."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, N_PERSONS)[PERSONS]
    streets = [f"street {person}" for person in PERSONS]
    return pd.DataFrame({"street": streets, "x": rng.normal(size=N_ROWS), "z": rng.normal(size=N_ROWS)}), y


def test_labels_by_chance_are_not_predicted_for_other_groups():
    table, y = by_chance(0)
    columns = ViewColumns({"a": ["street", "x"], "b": ["z"]}, categorical="target", random_state=0)
    model = TableClassifier(FusionClassifier(random_state=0), views=columns).fit(table, y, groups=PERSONS)
    assert model.model_.out_of_sample_score_ < 0.65
    means = columns.fit_transform(table, y, PERSONS)[:, 0]
    assert len(np.unique(means)) <= 5  # the mean of the other folds: nobody else lives in the street
    assert abs(np.corrcoef(means, y)[0, 1]) < 0.2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_means_do_not_depend_on_labels_of_the_own_group(n_classes):
    table, y = by_chance(1, n_classes)
    streets = np.array([f"street {person % 20}" for person in PERSONS], dtype=object)
    encoder, means = cross_fitted_means("street", streets, y, PERSONS, 0)
    np.testing.assert_array_equal(np.unique(y), encoder.classes_)
    assert means.shape == (N_ROWS, 1 if n_classes == 2 else n_classes)
    for person in (3, 47):
        rows = person == PERSONS
        assert (means[rows] == means[rows][0]).all()
    columns = ViewColumns({"a": ["street"]}, categorical="target", random_state=0)
    grouped = columns.fit_transform(table.assign(street=streets), y, PERSONS)
    np.testing.assert_array_equal(grouped, means)
    np.testing.assert_array_equal(grouped, columns.fit_transform(table.assign(street=streets), y, PERSONS.astype(str)))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_groups_they_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(n_classes)
    for n_rows, n_texts in ((300, 7), (40, 30), (9, 2)):
        texts = np.array([f"text {number}" for number in rng.integers(0, n_texts, n_rows)], dtype=object)
        y = np.array(["c", "a", "d", "b"])[np.arange(n_rows) % n_classes]
        n_folds = min(5, int(np.unique(y, return_counts=True)[1].max()))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=3)
        # TODO(scikit-learn 1.9 at least): a splitter is all that it takes.
        by_number = TargetEncoder().get_params()["random_state"] is None
        encoder = TargetEncoder(cv=n_folds, random_state=3) if by_number else TargetEncoder(cv=folds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes with fewer rows than folds
            expected = encoder.fit_transform(texts[:, None], y)
            of_all, means = cross_fitted_means("text", texts, y, None, 3)
        np.testing.assert_array_equal(means, expected)
        np.testing.assert_array_equal(of_all.encodings_, encoder.encodings_)


def test_few_groups():
    table, y = by_chance(2)
    columns = ViewColumns({"a": ["street"]}, categorical="target", random_state=0)
    pairs = np.arange(N_ROWS) % 2
    assert len(np.unique(columns.fit_transform(table.assign(street="s"), y, pairs))) <= 2
    one = table.assign(street=np.where(PERSONS == 7, "s", None))
    with pytest.raises(ValueError, match=r"column 'street' has values in the group 7 only, .*; encode it onehot"):
        columns.fit_transform(one, np.arange(N_ROWS) % 2, PERSONS)
    with pytest.raises(ValueError, match="groups must have one entry for each of the 480 rows"):
        columns.fit_transform(table, y, PERSONS[:9])
    with pytest.raises(ValueError, match="groups has no value for row 0"):
        columns.fit_transform(table, y, [None, *PERSONS[1:]])


def test_measured_numbers_have_no_mean_of_a_class():
    table, _ = by_chance(3)
    numbers = np.round(np.random.default_rng(3).normal(size=N_ROWS), 1)
    with pytest.raises(
        ValueError, match="'street' can have mean targets of classes only, and numbers are predicted; encode it onehot"
    ):
        ViewColumns({"a": ["street"]}, categorical="target").fit_transform(table, numbers)
