"""The methods that `regression.py` compares, each on one thread and with its own defaults.

A method takes training rows, targets, views and a seed, and returns a callable that predicts rows.
"""

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from fuselearn import FusionRegressor

try:
    from lightgbm import LGBMRegressor
except ImportError:
    LGBMRegressor = None

OURS, FOREST, SVR_SUM = "FusionRegressor", "forest", "SVR sum"
SLOW = (FOREST, SVR_SUM)
"""Methods that take long on many rows."""


def lightgbm(seed):
    """Return LightGBM on one thread, with its defaults and 200 trees."""
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
        rows = np.random.default_rng(seed).permutation(len(X))[:5_000]  # its time is the square of the rows
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
    **({"LightGBM": fit_lightgbm} if LGBMRegressor else {}),
    "HistGradientBoosting": fit_histograms,
    FOREST: fit_forest,
    "ridge": fit_ridge,
    SVR_SUM: fit_svr_sum,
    **({"LightGBM stacking": fit_stacking} if LGBMRegressor else {}),
}
