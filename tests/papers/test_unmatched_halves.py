"""S4's six sets with unmatched halves: the machines are those of the paper, and so are their accuracies."""

import json

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from fuselearn import TomographicClassifier, stack_unpaired
from fuselearn.evaluation import Table
from fuselearn.papers import unmatched_halves as halves
from tests.papers.results import same


@pytest.fixture(scope="module")
def result():
    return halves.unmatched_halves(["wine", "iris"], trials=3)


@pytest.mark.long
def test_result_has_a_value_for_each_fold(result):
    for scores in (result.test, result.train):
        assert scores.shape == (2, 3, 3, len(halves.FUSIONS))
        assert ((scores > 0.3) & (scores <= 1)).all()
    assert (result.mahalanobis > 0).all()
    assert result.mahalanobis.shape == (2, 3)


@pytest.mark.long
def test_unmatched_halves_of_wine_are_better_than_one_half(result):
    means = dict(zip(result.fusions, result.test[0].mean(axis=(0, 1))))
    for fusion in ("tomographic", "tomographic, S4's way", "cartesian"):
        assert means[fusion] > max(means["half 1"], means["half 2"]) + 0.02
        assert means[fusion] > means["augmented, halves apart"] + 0.02
        assert means["true matches"] - means[fusion] < 0.03
    assert_allclose(result.deficits().mean(axis=1)[0], means["true matches"] - means["tomographic"])


@pytest.mark.long
def test_augmented_machine_decides_halves_as_the_halves_do(result):
    """That is why S4's augmented column is the mean of its two halves."""
    means = dict(zip(result.fusions, result.test.mean(axis=(1, 2)).T))
    average = (means["half 1"] + means["half 2"]) / 2
    assert_allclose(means["augmented, halves apart"], average, atol=0.02)
    for table in (halves.S4_TRAIN, halves.S4_TEST):
        for first, second, augmented in ([mean for mean, _ in row[1:4]] for row in table.values()):
            assert abs(augmented - (first + second) / 2) <= 1.4 + 1e-9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_true_matches_are_the_machine_on_the_sum_of_kernels(kernel):
    X, y = load_wine(return_X_y=True)
    X, y = minmax_scale(X, (-1, 1)), np.where(y == 2, 0, y)
    blocks = [X[:, :6], X[:, 6:]]
    train, test = train_test_split(np.arange(len(y)), random_state=0, stratify=y)
    scores, walks = halves.fusion_accuracies(blocks, y, train, test, kernel=kernel, seed=0)
    assert walks.shape == (2, 2)
    assert (walks[:, 0] > 0.9).all()  # S4's way, and the default in small classes, walk to the end

    def gram(rows):
        total = 0.0
        for block in blocks:
            machine = block[train]
            squared = ((block[rows][:, None] - machine) ** 2).sum(axis=2)
            width = 1 / machine.var(axis=0).sum()
            total = total + (block[rows] @ machine.T if kernel == "linear" else np.exp(-width * squared))
        return total

    machine = SVC(kernel="precomputed").fit(gram(train), y[train])
    place = halves.FUSIONS.index("true matches")
    for row, rows in enumerate((train, test)):
        assert abs(scores[row, place] - machine.score(gram(rows), y[rows])) <= 1 / len(rows)


def test_meta_objects_as_rows():
    X, y = load_iris(return_X_y=True)
    table, views, labels = stack_unpaired([(X[::2, :2], y[::2]), (X[1::2, 2:], y[1::2])])
    model = TomographicClassifier(views=views, random_state=0).fit(table, labels)
    rows = halves.meta_object_rows(model, table)
    assert not np.isnan(rows).any()
    for number in (0, 17, -1):
        first, second = model.meta_objects_[number]
        assert_array_equal(rows[number], [*table[first, :2], *table[second, 2:]])
        assert labels[first] == labels[second] == model.meta_labels_[number]


def test_views_of_the_training_rows_are_in_orders_of_their_own():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    (first, first_y), (second, second_y) = halves._shuffled([X[:, :1], X[:, 1:]], y, np.arange(10), seed=0)
    assert_array_equal(np.sort(first[:, 0]), X[:10, 0])
    assert_array_equal(np.sort(second[:, 0]), X[:10, 1])
    assert not np.array_equal(first[:, 0] + 1, second[:, 0])
    assert_array_equal(first_y, (first[:, 0] // 2) % 2)
    assert_array_equal(second_y, (second[:, 0] // 2) % 2)


def test_distance_of_centroids_is_that_of_the_pooled_covariance():
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1], 5000)
    X = generator.normal(size=(10000, 2)) * [1.0, 3.0] + y[:, None] * [2.0, 0.0]
    # A column that never changes adds nothing.
    assert_allclose(halves._centroid_distance(np.column_stack([X, np.ones(10000)]), y), 2, rtol=0.05)


@pytest.mark.long
def test_tables_put_the_numbers_of_the_paper_beside_ours(result):
    table = result.table()
    assert isinstance(table, Table)
    rows = {(row["data set"], row["fusion"]): row for row in table.records()}
    assert len(rows) == 2 * len(halves.FUSIONS)
    assert rows["wine", "true matches"]["S4 test"] == 97.3
    assert rows["iris", "tomographic, S4's way"]["S4 train"] == 80.1
    assert rows["iris", "cartesian"]["S4 test"] is None
    assert_allclose(rows["wine", "half 1"]["test"], 100 * result.test[0, :, :, 3].mean())
    deviation = np.std(100 * result.test[0, :, :, 3].mean(axis=1), ddof=1)
    assert_allclose(rows["wine", "half 1"]["standard error"], deviation / np.sqrt(3))
    assert result.overview().rows[-1][0] == "mean"
    assert result.deficit_table().column("data set") == ("wine", "iris", "all trials")
    for each in (table, result.overview(), result.deficit_table("cartesian")):
        assert json.loads(each.to_json())["rows"]


def test_single_trials_have_no_deviation_over_trials():
    table = halves.unmatched_halves(["iris"], trials=1).table()
    assert all(np.isnan(value) for value in table.column("± of trials"))


@pytest.mark.long
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.long)])
def test_halves_do_not_depend_on_the_processes(backend):
    settings = {"datasets": ["iris"], "trials": 1, "split": "any size", "random_state": 5}
    with parallel_config(backend=backend):  # processes take seconds to start
        parallel = halves.unmatched_halves(**settings, n_jobs=2)
    assert same(halves.unmatched_halves(**settings), parallel)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"datasets": "wine"}, "datasets must be names from .*; got 'wine'"),
        ({"datasets": []}, "datasets must be names from"),
        ({"datasets": ["wine", "tea"]}, r"datasets must be names from .*; got \['wine', 'tea'\]"),
        ({"trials": 0}, "trials must be an integer of at least 1; got 0"),
        ({"split": "thirds"}, r"split must be one of \['halves', 'any size'\]; got 'thirds'"),
        ({"n_jobs": "all"}, "n_jobs must be None"),
    ],
)
def test_bad_settings_of_unmatched_halves(settings, message):
    with pytest.raises(ValueError, match=message):
        halves.unmatched_halves(**settings)


@pytest.mark.long
def test_a_deficit_of_an_unknown_fusion(result):
    with pytest.raises(ValueError, match=r"fusion must be one of .*; got 'magic'"):
        result.deficits("magic")


@pytest.mark.parametrize(
    ("name", "trials"),
    [
        ("sonar", 2),
        *(pytest.param(name, 8, marks=pytest.mark.long) for name in ("sonar", "heart_statlog", "ionosphere")),
    ],
)
def test_unmatched_halves_reach_the_accuracy_of_the_paper(real_data, name, trials):
    real_data(name)
    result = halves.unmatched_halves([name], trials=trials)
    means = dict(zip(result.fusions, 100 * result.test[0].mean(axis=(0, 1))))
    assert means["tomographic"] > halves.S4_TEST[name][0][0] - 1
    assert means["tomographic"] > means["true matches"] - 1.5
    assert means["tomographic"] > means["augmented"]
    # Nothing of this is random but the folds and the halves: S4's true matches are ours.
    assert abs(means["true matches"] - halves.S4_TEST[name][-1][0]) < 2


def test_trend_of_the_deficit():
    """S4 figure 12: by the correlations within the sets, not by the sets' means."""
    rng = np.random.default_rng(0)
    distances = np.sort(rng.uniform(1, 3, (2, 20)), axis=1)
    for sign, verdict in ((1, "holds"), (-1, "refuted"), (0, "not shown")):
        deficits = sign * distances + 0.1 * rng.normal(size=distances.shape)
        test = np.zeros((2, 20, 1, 2))
        test[..., 0] = deficits[:, :, None]
        result = halves.UnmatchedHalves(
            ("iris", "wine"), ("true matches", "tomographic, S4's way"), "halves", test, test, distances, np.zeros(0)
        )
        assert halves.trend_finding("claim", result).verdict == verdict
