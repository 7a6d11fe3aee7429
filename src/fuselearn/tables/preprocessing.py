"""Steps that a view may be put through, by name."""

KNOWN = "none, standard, robust, pca:SHARE (such as pca:0.95) and pca:NUMBER (such as pca:20)"


def is_step(name):
    """Whether a step of this name is known."""
    return name in ("none", "standard", "robust") or _components(name) is not None


def make_steps(names, seed):
    """Unfitted transformers for names.

    Parameters
    ----------
    names : sequence of str
        "standard" has mean 0 and variance 1; "robust" median 0 and quartile range 1; "pca:0.95" standardises and takes
        the components that hold 95 % of the variance, "pca:20" the first 20. Gaps are filled by means before PCA.
    seed : int or None

    Examples
    --------
    >>> make_steps(["standard"], 0)
    [StandardScaler()]
    """
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import RobustScaler, StandardScaler

    steps = []
    for name in names:
        if name == "standard":
            steps.append(StandardScaler())
        elif name == "robust":
            steps.append(RobustScaler())
        elif name != "none":
            components = _components(name)
            solver = "full" if isinstance(components, float) else "auto"
            steps += [
                SimpleImputer(keep_empty_features=True),
                StandardScaler(),
                PCA(components, svd_solver=solver, random_state=seed),
            ]
    return steps


def _components(name):
    """Number, or share of the variance, that ``pca:…`` names; None if it names neither."""
    kind, sign, amount = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind != "pca" or not sign:
        return None
    try:
        if amount.isdigit():
            return int(amount) or None
        return float(amount) if 0 < float(amount) < 1 else None
    except ValueError:
        return None
