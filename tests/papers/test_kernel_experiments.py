"""S4's experiments run, and show what their docstrings say."""

import dataclasses
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from fuselearn import TomographicClassifier, stack_unpaired
from fuselearn.evaluation import Table
from fuselearn.papers import partly_matched as partly
from fuselearn.papers import unmatched_halves as halves
from fuselearn.papers.axial_bias import axial_bias, clean, pseudo_density
from fuselearn.papers.gaussian_illustration import gaussian_illustration
from fuselearn.papers.unmatched_music import S4_TEST, unmatched_music


def same(first, second):
    """Whether two results hold the same values."""
    for field in dataclasses.fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, dict):
            assert one.keys() == other.keys()
            for key, value in one.items():
                assert_array_equal(value, other[key])
        elif isinstance(one, tuple) and isinstance(one[0], np.ndarray):
            for value, again in zip(one, other, strict=True):
                assert_array_equal(value, again)
        else:
            assert_array_equal(one, other)
    return True


# Axial bias


@pytest.mark.parametrize("seed", range(5))
def test_components_of_clean_add_up_to_the_marginals(seed):
    generator = np.random.default_rng(seed)
    first, second = generator.random(30), generator.random(20)
    first, second = first / first.sum(), second / second.sum()
    components = clean(first, second, tolerance=1e-4)
    assert (components >= 0).all()
    # The sum less the components' artefacts, rows and columns through them, is the residual that CLEAN leaves.
    artefacts = components.sum(axis=1)[:, None] + components.sum(axis=0)
    residual = first[:, None] + second - artefacts
    assert residual.min() > -1e-12
    assert_allclose(components.sum(axis=1), first, atol=2e-3 * first.max())
    assert_allclose(components.sum(axis=0), second, atol=2e-3 * second.max())


def test_clean_finds_two_peaks_that_are_of_different_height():
    """Densest with densest: marginals 0.7 and 0.3 at two places each are two points, not four."""
    components = clean(np.array([0.7, 0.0, 0.3]), np.array([0.3, 0.7]), gain=0.01)
    assert components[0, 1] > 0.5
    assert components[1].sum() == 0
    # What four equally likely combinations would give.
    assert components[0, 0] < 0.7 * 0.3
    assert components[2, 1] < 0.7 * 0.3


def test_the_sum_has_ridges_and_the_deconvolved_sum_has_none():
    result = axial_bias(trials=3, grid=81)
    added, deconvolved, _ = result.outside.T
    assert (added > 0.6).all()
    assert (deconvolved < 0.2).all()
    assert (result.drift[:, 0] > 0.2).all()
    assert (result.drift[:, 1] < 0.01).all()
    assert_allclose(result.marginals.sum(axis=1), 1)
    assert_allclose(result.added.sum(), 1)
    # One hump each, at the centre of the class.
    assert_allclose(result.axis[result.marginals.argmax(axis=1)], -1.5, atol=0.5)
    assert same(result, axial_bias(trials=3, grid=81))
    assert result.table().column("pseudo-density") == ("added", "deconvolved", "multiplied")


def test_a_pseudo_density_falls_off_on_both_sides():
    generator = np.random.default_rng(0)
    ordinates = np.concatenate([generator.normal(-2, 0.5, 100), generator.normal(2, 0.5, 100)])
    axis = np.linspace(-6, 6, 61)
    density = pseudo_density(ordinates, ordinates < 0, axis)
    assert abs(axis[density.argmax()] + 2) < 0.5
    assert density[0] < 1e-6
    assert density[-1] < 1e-6


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"trials": 0}, "trials must be an integer of at least 1; got 0"),
        ({"vectors": 2}, "vectors must be an integer of at least 3"),
        ({"grid": 5}, "grid must be an integer of at least 11"),
        ({"gain": 0}, "gain must be a number above 0; got 0"),
        ({"gain": 0.7}, r"gain must be below 0\.5; got 0\.7"),
    ],
)
def test_bad_settings_of_axial_bias(settings, told):
    with pytest.raises(ValueError, match=told):
        axial_bias(**settings)


# Gaussian illustration


@pytest.fixture(scope="module")
def illustration():
    return gaussian_illustration(trials=12)


def test_true_matches_of_the_illustration_are_a_plain_machine(illustration):
    machine = SVC(kernel="linear", tol=1e-5).fit(illustration.points, illustration.labels)
    grid = np.column_stack([values.ravel() for values in np.meshgrid(*illustration.axes)])
    decisions = illustration.decisions["true matches"].ravel()
    assert_allclose(decisions, machine.decision_function(grid), atol=0.02)
    place = illustration.fusions.index("true matches")
    assert_array_equal(illustration.items_right[:, place], illustration.vectors_right[:, place])


def test_meta_objects_of_the_illustration_are_of_its_ordinates(illustration):
    for fusion, items in illustration.meta_objects.items():
        for label in (0, 1):
            own = items[illustration.meta_labels[fusion] == label]
            vectors = illustration.points[illustration.labels == label]
            for axis in (0, 1):
                known = np.append(vectors[:, axis], 0.0) if fusion == "augmented" else vectors[:, axis]
                assert np.isin(own[:, axis], known).all()
                assert np.isin(vectors[:, axis], own[:, axis]).all()
    assert len(illustration.meta_objects["augmented"]) == 40
    assert (illustration.meta_objects["augmented"] == 0).sum() == 40


def test_augmented_kernel_suffers_from_classes_away_from_the_origin(illustration):
    augmented = illustration.fusions.index("augmented")
    tomographic = illustration.fusions.index("tomographic")
    away = illustration.fresh_right.mean(axis=0)
    near = gaussian_illustration(trials=12, centre=0.0).fresh_right.mean(axis=0)
    assert away[tomographic] > away[augmented] + 0.05
    assert abs(near[tomographic] - near[augmented]) < 0.05


def test_illustration_does_not_depend_on_the_processes():
    assert same(gaussian_illustration(trials=3), gaussian_illustration(trials=3, n_jobs=2))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"trials": 1.5}, "trials must be an integer of at least 1; got 1.5"),
        ({"vectors": 1}, "vectors must be an integer of at least 2; got 1"),
        ({"separation": -1}, "separation must be a number above 0; got -1"),
        ({"centre": "here"}, "centre must be a number; got 'here'"),
        ({"n_jobs": 0}, "n_jobs must be None"),
    ],
)
def test_bad_settings_of_the_illustration(settings, told):
    with pytest.raises(ValueError, match=told):
        gaussian_illustration(**settings)


# Unmatched halves


@pytest.fixture(scope="module")
def result():
    return halves.unmatched_halves(["wine", "iris"], trials=6)


def test_result_has_a_value_for_each_fold(result):
    for scores in (result.test, result.train):
        assert scores.shape == (2, 6, 3, len(halves.FUSIONS))
        assert ((scores > 0.3) & (scores <= 1)).all()
    assert (result.mahalanobis > 0).all()
    assert result.mahalanobis.shape == (2, 6)


def test_unmatched_halves_of_wine_are_better_than_one_half(result):
    means = dict(zip(result.fusions, result.test[0].mean(axis=(0, 1))))
    for fusion in ("tomographic", "tomographic, S4's way", "cartesian"):
        assert means[fusion] > max(means["half 1"], means["half 2"]) + 0.02
        assert means[fusion] > means["augmented, halves apart"] + 0.02
        assert means["true matches"] - means[fusion] < 0.03
    assert_allclose(result.deficits().mean(axis=1)[0], means["true matches"] - means["tomographic"])


def test_augmented_machine_decides_halves_as_the_halves_do(result):
    """Which is why S4's augmented column is the mean of its two halves."""
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
    scores = halves.fusion_accuracies(blocks, y, train, test, kernel=kernel, seed=0)

    def gram(rows):
        total = 0.0
        for block in blocks:
            machine = block[train]
            squared = ((block[rows][:, None] - machine) ** 2).sum(axis=2)
            width = 1 / (block.shape[1] * machine.var())
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
    assert_allclose(rows["wine", "half 1"]["standard error"], deviation / np.sqrt(6))
    assert result.overview().rows[-1][0] == "mean"
    assert result.deficit_table().column("data set") == ("wine", "iris", "all trials")
    for each in (table, result.overview(), result.deficit_table("cartesian")):
        assert json.loads(each.to_json())["rows"]


def test_single_trials_have_no_deviation_over_trials():
    table = halves.unmatched_halves(["iris"], trials=1).table()
    assert all(np.isnan(value) for value in table.column("± of trials"))


def test_halves_do_not_depend_on_the_processes():
    settings = {"datasets": ["iris"], "trials": 3, "split": "any size", "random_state": 5}
    assert same(halves.unmatched_halves(**settings), halves.unmatched_halves(**settings, n_jobs=2))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"datasets": "wine"}, "datasets must be names from .*; got 'wine'"),
        ({"datasets": []}, "datasets must be names from"),
        ({"datasets": ["wine", "tea"]}, r"datasets must be names from .*; got \['wine', 'tea'\]"),
        ({"trials": 0}, "trials must be an integer of at least 1; got 0"),
        ({"split": "thirds"}, r"split must be one of \['halves', 'any size'\]; got 'thirds'"),
        ({"n_jobs": "all"}, "n_jobs must be None"),
    ],
)
def test_bad_settings_of_unmatched_halves(settings, told):
    with pytest.raises(ValueError, match=told):
        halves.unmatched_halves(**settings)


def test_a_deficit_of_an_unknown_fusion(result):
    with pytest.raises(ValueError, match=r"fusion must be one of .*; got 'magic'"):
        result.deficits("magic")


@pytest.mark.parametrize("name", ["sonar", "heart_statlog", "ionosphere"])
def test_unmatched_halves_reach_the_accuracy_of_the_paper(real_data, name):
    real_data(name)
    result = halves.unmatched_halves([name], trials=8)
    means = dict(zip(result.fusions, 100 * result.test[0].mean(axis=(0, 1))))
    assert means["tomographic"] > halves.S4_TEST[name][0][0] - 1
    assert means["tomographic"] > means["true matches"] - 1.5
    assert means["tomographic"] > means["augmented"]
    # Nothing of this is random but the folds and the halves: S4's true matches are ours.
    assert abs(means["true matches"] - halves.S4_TEST[name][-1][0]) < 2


# Unmatched music


def test_music(real_data):
    real_data("cal500")
    result = unmatched_music(trials=2)
    assert result.test.shape == (2, 2, len(result.fusions))
    # S4 §4.3: 339 and 160 of 502 songs have the tags.
    assert_allclose(result.majority, [339 / 502, 342 / 502])
    assert result.fusions[-1] == "average of single views"
    singles = [result.fusions.index(name) for name in ("mfcc alone", "spectral alone")]
    assert_allclose(result.test[..., -1], result.test[..., singles].mean(axis=-1))
    rows = {(row["tag"], row["fusion"]): row for row in result.table().records()}
    for tag, published in S4_TEST.items():
        for fusion, (mean, _) in published.items():
            assert rows[tag, fusion]["S4 test"] == mean
    assert same(result, unmatched_music(trials=2, n_jobs=2))
    with pytest.raises(ValueError, match=r"tags must be names of labels of cal500, .*; got \['Jazz hands'\]"):
        unmatched_music(["Jazz hands"])


def test_bad_settings_of_music():
    with pytest.raises(ValueError, match="trials must be an integer of at least 1; got 0"):
        unmatched_music(trials=0)


# Partly matched


def test_objects_are_cut_apart_but_for_those_that_are_matched():
    generator = np.random.RandomState(0)
    X, y = generator.normal(size=(10, 5)), np.arange(10)
    views = {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 5)}
    matched = y < 4
    rows, labels = partly.cut_apart(X, y, views, matched, generator)
    assert rows.shape == (4 + 3 * 6, 5)
    for number in y:
        own = rows[labels == number]
        assert len(own) == (1 if matched[number] else 3)
        # Each value is there once, in a row that holds whole views.
        assert_array_equal((~np.isnan(own)).sum(axis=0), 1)
        assert_array_equal(np.nansum(own, axis=0), X[number])
    present = ~np.isnan(rows)
    assert_array_equal(present[:, 0], present[:, 1])
    assert_array_equal(present[:, 3], present[:, 4])


def test_shares_are_of_each_class_and_grow():
    y = np.repeat([0, 1, 2], [30, 10, 20])
    ranks = partly._ranks_in_class(y, np.random.RandomState(0))
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        assert_array_equal(np.bincount(y[ranks < share], minlength=3), np.round(share * np.array([30, 10, 20])))


def test_half_interval_is_that_of_student():
    values = np.array([3.0, 5.0, 4.0, 8.0])
    assert_allclose(partly.half_interval(values), 3.182446 * values.std(ddof=1) / 2, rtol=1e-6)


def test_partly_matched_digits(real_data):
    real_data("mfeat")
    settings = {"trials": 2, "train_size": 100, "shares": (0, 0.5), "kernel": "linear"}
    result = partly.partly_matched(**settings)
    assert result.matched.shape == (2, 2, 2)
    assert result.absent.shape == (2, 3, 3, 2)
    assert (result.matched > 0.8).all()
    # All the views are better than what is left of them.
    complete, lacking, never = result.absent.mean(axis=(0, 1, 3))
    assert complete > never
    assert complete > lacking > 0.5
    # Without any match known, the same machine is in both tables.
    assert_array_equal(result.matched[0, 0], result.absent[0, 0, 0])
    assert result.table().column("known matches") == (0.0, 50.0, 0.0, 50.0)
    assert result.absent_table().column("absent view") == ("fou", "kar", "zer") * 2
    assert same(result, partly.partly_matched(**settings, n_jobs=2))
    with pytest.raises(ValueError, match="train_size must leave 700 of the 2000 objects to test; got 1500"):
        partly.partly_matched(train_size=1500)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"trials": 1}, "trials must be an integer of at least 2; got 1"),
        ({"train_size": 5}, "train_size must be an integer of at least 20; got 5"),
        ({"kernel": "cosine"}, r"kernel must be one of \['linear', 'rbf'\]; got 'cosine'"),
        ({"shares": (0.1, 0.5)}, r"shares must be numbers from 0 to 1, the first of them 0; got \(0\.1, 0\.5\)"),
        ({"shares": 0.5}, "shares must be numbers from 0 to 1"),
        ({"shares": (0, 2)}, "shares must be numbers from 0 to 1"),
    ],
)
def test_bad_settings_of_partly_matched(settings, told):
    with pytest.raises(ValueError, match=told):
        partly.partly_matched(**settings)
