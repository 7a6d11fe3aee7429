"""FusionRegressor against what is usually fitted to numbers, clean and with gross outliers in the target.

``python -m benchmarks.regression`` prints R² on clean test rows, ranks and CPU seconds, all on one thread. ``--runs``,
``--sets`` and ``--methods`` choose what is measured; ``--coverage`` measures intervals with 40 % of the views dropped
instead, and then those of drawn rows that are hard: noise that depends on a column, patterns of views that few training
rows have or none, and groups.
"""

import argparse
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import KFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from benchmarks.data import DATA_FOLDER_VARIABLE
from fuselearn import FusionRegressor

OUTLIERS = 0.1
"""Share of the training targets that are spoilt."""
OURS = "FusionRegressor"


def diamonds(n_rows):
    """Return the logarithm of the price of diamonds, in views other than the price; None without the data."""
    path = Path(os.environ.get(DATA_FOLDER_VARIABLE, "")) / "diamonds" / "diamonds.npz"
    if not path.is_file():
        return None
    with np.load(path) as data:
        parts = {name: data[f"view_{name}"].astype(float) for name in ("size", "cut", "colour")}
        y = np.log(data["target_price"].astype(float))
    return *_side_by_side(parts), y, n_rows


def diabetes(n_rows):
    """Return scikit-learn's diabetes: what is known of the person, and what was measured of the blood."""
    X, y = load_diabetes(return_X_y=True)
    return X, {"person": np.arange(4), "blood": np.arange(4, 10)}, y, n_rows


def housing(n_rows, seed=0):
    """Draw prices of houses that depend on place, house and people as those of California do, roughly."""
    draws = np.random.default_rng(seed)
    n = n_rows + 5000
    place = np.column_stack([draws.uniform(32, 42, n), draws.uniform(-124, -114, n)])
    coast = np.abs(place[:, 1] + 124 - (42 - place[:, 0]))
    cities = sum(np.exp(-((place - centre) ** 2).sum(axis=1)) for centre in ([34, -118], [37.7, -122.3], [38.6, -121]))
    income = draws.lognormal(1.2, 0.45, n) * (1 + 0.3 * cities)
    rooms = np.clip(3 + 0.4 * income + draws.normal(0, 1, n), 1, None)
    bedrooms = 0.2 * rooms + draws.normal(0, 0.15, n)
    house = np.column_stack([draws.integers(1, 52, n), rooms, bedrooms])
    people = np.column_stack([income, draws.lognormal(7, 0.7, n), draws.lognormal(1, 0.3, n)])
    value = 0.45 * income + 1.2 * cities - 0.06 * coast + 0.004 * house[:, 0] * (cities > 0.3)
    value -= 0.2 * np.log(people[:, 2]) * income / 3
    y = np.minimum(value + 0.4 * draws.standard_t(5, n) + 1, 5.0)
    return *_side_by_side({"place": place, "house": house, "people": people}), y, n_rows


def synthetic(n_rows, seed=0):
    """Draw three views of ten columns; the target depends on all of them, in lines, curves and a product."""
    draws = np.random.default_rng(seed)
    parts = {name: draws.standard_normal((n_rows + 2000, 10)) for name in "abc"}
    y = parts["a"][:, 0] - 0.5 * parts["a"][:, 1] + np.sin(2 * parts["b"][:, 0]) + 0.5 * parts["b"][:, 1] ** 2
    y += parts["c"][:, 0] * parts["a"][:, 2] + parts["c"][:, 1] + 0.7 * draws.standard_normal(len(y))
    return *_side_by_side(parts), y, n_rows


SETS = {
    "diabetes": lambda: diabetes(331),
    "synthetic, 600 rows": lambda: synthetic(600),
    "housing, 1,000 rows": lambda: housing(1000),
    "diamonds, 1,000 rows": lambda: diamonds(1000),
    "synthetic, 10,000 rows": lambda: synthetic(10_000),
    "housing, 20,000 rows": lambda: housing(20_000),
    "diamonds, 20,000 rows": lambda: diamonds(20_000),
}


def _side_by_side(parts):
    """Return one table and the columns of each view."""
    ends = np.cumsum([0, *(part.shape[1] for part in parts.values())])
    views = {name: np.arange(start, stop) for name, start, stop in zip(parts, ends, ends[1:])}
    return np.column_stack(list(parts.values())), views


def lightgbm(seed):
    """Return LightGBM on one thread, with its defaults and 200 trees."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=200, n_jobs=1, random_state=seed, verbose=-1)


def fit_fusion(X, y, views, seed):
    """Fit FusionRegressor with its defaults."""
    return FusionRegressor(views=views, random_state=seed).fit(X, y).predict


def fit_lightgbm(X, y, views, seed):
    """Fit LightGBM to all columns."""
    return lightgbm(seed).fit(X, y).predict


def fit_histograms(X, y, views, seed):
    """Fit scikit-learn's histogram gradient boosting to all columns."""
    return HistGradientBoostingRegressor(random_state=seed).fit(X, y).predict


def fit_forest(X, y, views, seed):
    """Fit a random forest to all columns."""
    return RandomForestRegressor(random_state=seed).fit(X, y).predict


def fit_ridge(X, y, views, seed):
    """Fit a ridge to all columns, its strength by leave-one-out."""
    model = make_pipeline(SimpleImputer(), StandardScaler(), RidgeCV(np.logspace(-3, 4, 20)))
    return model.fit(X, y).predict


def fit_svr_sum(X, y, views, seed):
    """Fit a support vector regression to each view; the mean of all is predicted."""
    models = {}
    for name, columns in views.items():
        rows = np.random.default_rng(seed).permutation(len(X))[:5000]  # its time is the square of the rows
        machine = TransformedTargetRegressor(
            make_pipeline(SimpleImputer(), StandardScaler(), SVR()), transformer=StandardScaler()
        )
        models[name] = machine.fit(X[np.ix_(rows, columns)], y[rows])
    return lambda new: np.mean([models[name].predict(new[:, columns]) for name, columns in views.items()], axis=0)


def fit_stacking(X, y, views, seed):
    """Fit LightGBM to each view and to all of them, and a ridge to their out-of-fold predictions of five folds."""
    parts = [*views.values(), np.arange(X.shape[1])]
    folds = KFold(5, shuffle=True, random_state=seed)
    values = np.column_stack([cross_val_predict(lightgbm(seed), X[:, own], y, cv=folds) for own in parts])
    models = [lightgbm(seed).fit(X[:, own], y) for own in parts]
    final = RidgeCV(np.logspace(-3, 3, 13)).fit(values, y)
    return lambda new: final.predict(np.column_stack([m.predict(new[:, own]) for m, own in zip(models, parts)]))


METHODS = {
    OURS: fit_fusion,
    "LightGBM": fit_lightgbm,
    "HistGradientBoosting": fit_histograms,
    "forest": fit_forest,
    "ridge": fit_ridge,
    "SVR sum": fit_svr_sum,
    "LightGBM stacking": fit_stacking,
}


def spoilt(y, share, seed):
    """Return targets of which a share is moved by 5 to 20 standard deviations, up or down."""
    draws = np.random.default_rng(seed)
    moved = (draws.random(len(y)) < share) * draws.choice([-1, 1], len(y)) * draws.uniform(5, 20, len(y))
    return y + moved * y.std()


def split(data, seed):
    """Return training and test rows of a set."""
    X, views, y, n_rows = data
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n_rows, test_size=min(len(y) - n_rows, 5000), random_state=seed
    )
    return X, X_test, y, y_test, views


def measure(sets, methods, runs):
    """Print scores and seconds of all methods on all sets, clean and with outliers, and the mean ranks."""
    ranks = []
    for set_name in sets:
        data = SETS[set_name]()
        if data is None:
            print(f"{set_name}: left out, since {DATA_FOLDER_VARIABLE} does not name a folder that has it.")
            continue
        for share in (0.0, OUTLIERS):
            scores, errors, seconds = (np.empty((len(methods), runs)) for _ in range(3))
            for run in range(runs):
                X, X_test, y, y_test, views = split(data, run)
                y = spoilt(y, share, run)
                for place, method in enumerate(methods):
                    started = time.process_time()
                    predict = METHODS[method](X, y, views, run)
                    seconds[place, run] = time.process_time() - started
                    predicted = predict(X_test)
                    scores[place, run] = r2_score(y_test, predicted)
                    errors[place, run] = mean_absolute_error(y_test, predicted)
            ranks.append(rankdata(-scores.mean(axis=1)))
            print(f"\n{set_name}, {share:.0%} outliers\n| method | R² | MAE | seconds |\n|---|---|---|---|")
            for place, method in enumerate(methods):
                print(
                    f"| {method} | {scores[place].mean():.4f} | {errors[place].mean():.4f} "
                    f"| {np.median(seconds[place]):.2f} |",
                    flush=True,
                )
    if ranks:
        print("\n| method | mean rank, clean | mean rank, outliers |\n|---|---|---|")
        for method, clean, dirty in zip(methods, np.mean(ranks[::2], axis=0), np.mean(ranks[1::2], axis=0)):
            print(f"| {method} | {clean:.2f} | {dirty:.2f} |")


def measure_coverage(sets, runs, asked=0.9, dropped=0.4):
    """Print how often intervals hold the target, over all and for the patterns of views, with views dropped."""
    print(f"| set | coverage (asked {asked}) | patterns, least to most | mean width / sd |\n|---|---|---|---|")
    for set_name in sets:
        data = SETS[set_name]()
        if data is None:
            continue
        inside, patterns, widths = [], [], []
        for run in range(runs):
            X, X_test, y, y_test, views = split(data, run)
            draws = np.random.default_rng(run)
            X, y, _ = _dropped(X, y, views, dropped, draws)
            X_test, y_test, present = _dropped(X_test, y_test, views, dropped, draws)
            lower, upper = FusionRegressor(views=views, random_state=run).fit(X, y).predict_interval(X_test, asked).T
            inside.append((lower <= y_test) & (y_test <= upper))
            patterns.append(present @ (1 << np.arange(len(views))))
            widths.append(np.mean(upper - lower) / y.std())
        inside, patterns = np.concatenate(inside), np.concatenate(patterns)
        by_pattern = [inside[patterns == pattern].mean() for pattern in np.unique(patterns)]
        by_pattern = f"{min(by_pattern):.3f} to {max(by_pattern):.3f}"
        print(f"| {set_name} | {inside.mean():.3f} | {by_pattern} | {np.mean(widths):.2f} |", flush=True)


HARD_VIEWS = {"a": slice(0, 3), "b": slice(3, 6), "c": slice(6, 9)}
TEST_ROWS = 3000


def noisy(n_rows, seed, spread):
    """Draw rows whose noise has a spread that depends on the fifth column."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((n_rows + TEST_ROWS, 9))
    y = X[:, 0] + np.sin(2 * X[:, 3]) + X[:, 6] + spread(X[:, 4]) * draws.standard_normal(len(X))
    return X, y, None


def lacking(n_rows, seed, n_lacking):
    """Draw rows of which few lack the view that matters most, and test rows that all do."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((n_rows + TEST_ROWS, 9))
    y = 2 * X[:, 0] + X[:, 3] + X[:, 6] + 0.3 * draws.standard_normal(len(X))
    X[draws.choice(n_rows, n_lacking, replace=False), :3] = np.nan
    X[n_rows:, :3] = np.nan
    return X, y, None


def grouped(n_rows, seed, size=10):
    """Draw rows of groups that have most of their error in common."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((n_rows + TEST_ROWS, 9))
    groups = np.arange(len(X)) // size
    y = X[:, 0] + X[:, 3] + draws.standard_normal(groups.max() + 1)[groups] + 0.3 * draws.standard_normal(len(X))
    return X, y, groups


def in_steps(column):
    """Return a spread of 0.2 or, for a quarter of the rows, of 3."""
    return np.where(column > 0.7, 3.0, 0.2)


def growing(column):
    """Return a spread that grows exponentially."""
    return 0.3 * np.exp(1.2 * column)


def equal(column):
    """Return a spread of 0.5 for all rows."""
    return np.full(len(column), 0.5)


HARD_SETS = {
    f"{name}, {n_rows:,} rows": (partial(draw, **settings), n_rows)
    for name, draw, settings, sizes in (
        ("noise of one size", noisy, {"spread": equal}, (300, 4000)),
        ("noise in a step", noisy, {"spread": in_steps}, (300, 4000)),
        ("noise that grows", noisy, {"spread": growing}, (300, 4000)),
        ("a view that 2 % lack", lacking, {"n_lacking": 80}, (4000,)),
        ("a view that none lacks", lacking, {"n_lacking": 0}, (1000, 4000)),
        ("groups of 10", grouped, {}, (400, 4000)),
    )
    for n_rows in sizes
}


def measure_hard_coverage(runs, asked=0.9):
    """Print coverage, the least of the runs, the share of rows that are taken for outliers, and widths."""
    print(f"\n| set | coverage (asked {asked}) | least | outliers | mean width / sd |\n|---|---|---|---|---|")
    for name, (draw, n_rows) in HARD_SETS.items():
        inside, widths, shares = [], [], []
        for run in range(runs):
            X, y, groups = draw(n_rows, run)
            model = FusionRegressor(views=HARD_VIEWS, random_state=run)
            model.fit(X[:n_rows], y[:n_rows], groups=None if groups is None else groups[:n_rows])
            lower, upper = model.predict_interval(X[n_rows:], asked).T
            inside.append(np.mean((lower <= y[n_rows:]) & (y[n_rows:] <= upper)))
            widths.append(np.mean(upper - lower) / y.std())
            shares.append(model.outlier_share_)
        print(
            f"| {name} | {np.mean(inside):.3f} | {min(inside):.3f} | {np.mean(shares):.3f} | {np.mean(widths):.2f} |",
            flush=True,
        )


def _dropped(X, y, views, share, draws):
    """Return rows whose views are missing with some probability, without those that have none left."""
    present = draws.random((len(X), len(views))) >= share
    X = X.copy()
    for columns, there in zip(views.values(), present.T):
        X[np.ix_(~there, columns)] = np.nan
    kept = present.any(axis=1)
    return X[kept], y[kept], present[kept]


def main():
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--coverage", action="store_true")
    options = parser.parse_args()
    if options.coverage:
        measure_coverage(options.sets, options.runs)
        measure_hard_coverage(options.runs)
    else:
        measure(options.sets, options.methods, options.runs)


if __name__ == "__main__":
    main()
