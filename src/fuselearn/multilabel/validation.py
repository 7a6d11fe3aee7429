"""Check the settings of an ensemble, before any work is done."""

from numbers import Real

from fuselearn.settings import check_count, check_jobs

AUTO = "auto"


def check_settings(model):
    """Refuse settings that mean nothing."""
    check_count("n_estimators", model.n_estimators)
    for name in ("data_ratio", "feature_ratio"):
        check_ratio(name, getattr(model, name))
    if model.pool_size is not None:
        check_count("pool_size", model.pool_size)
    value = model.significance
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < value <= 1):
        raise ValueError(f"significance must be in (0, 1], where 1 is no test; got {value!r}.")
    check_jobs(model.n_jobs)
    check_count("verbose", model.verbose, least=0)


def check_ratio(name, value):
    """Refuse what is neither a part of the whole nor "auto"."""
    if isinstance(value, str) and value == AUTO:
        return
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < value <= 1):
        raise ValueError(f"{name} must be in (0, 1], or 'auto'; got {value!r}.")
