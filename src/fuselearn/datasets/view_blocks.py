"""Blocks of columns, one per view: put side by side, and reduced to principal components.

Also the checks of settings and the optional packages that the data sets share.
"""

from importlib import import_module
from numbers import Real
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from fuselearn.arguments import check_count
from fuselearn.typing import FloatArray

PACKAGES = {"skimage": "scikit-image", "pywt": "PyWavelets"}
"""Packages of the extra ``datasets``, by the name they are imported under."""


def side_by_side(blocks: dict[str, FloatArray]) -> tuple[FloatArray, dict[str, slice], list[str]]:
    """Put the views' blocks beside each other; return the table, the views, and names such as ``"pixels_0"``."""
    ends = np.cumsum([block.shape[1] for block in blocks.values()]).tolist()
    views = {name: slice(start, end) for name, start, end in zip(blocks, [0, *ends[:-1]], ends)}
    feature_names = [f"{name}_{i}" for name, block in blocks.items() for i in range(block.shape[1])]
    return np.hstack(list(blocks.values())), views, feature_names


def principal_components(block: FloatArray, n_components: int | None) -> FloatArray:
    """Return the scores of the first principal components, or fewer where there are not as many; None changes nothing.

    Papers do this as the last step for each view of an image.
    """
    if n_components is None:
        return block
    # n objects around their mean span n - 1 dimensions: one component more would be rounding errors.
    n_components = max(min(n_components, block.shape[0] - 1, block.shape[1]), 1)
    return PCA(n_components, svd_solver="full").fit_transform(block)


def check_components(n_components: object) -> None:
    """Refuse a value that is neither None nor a number of components."""
    if n_components is not None:
        check_count("n_components", n_components)


def check_in_range(
    argument: str, value: object, *, least: float, most: float = np.inf, given: Any = None, alternative: str = ""
) -> None:
    """Refuse a value that is not a finite number from `least` to `most`.

    `given` is the user's argument, where `value` is a part of it, and `alternative` what else would be right.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else np.nan
    if not np.isfinite(number) or not least <= number <= most:
        bounds = f"of at least {least:g}" if most == np.inf else f"from {least:g} to {most:g}"
        given = value if given is None else given
        raise ValueError(f"{argument} must be a number {bounds}{alternative}; got {given!r}.")


def image_package(module: str, *, needed_by: str) -> ModuleType:
    """Import a module of the extra ``datasets``, or raise an error that names the extra; `needed_by` is the caller."""
    try:
        return import_module(module)
    except ImportError as error:
        package = PACKAGES[module.partition(".")[0]]
        raise ImportError(
            f"{needed_by} needs {package}, which cannot be imported ({error}): pip install 'fuselearn[datasets]'"
        ) from error
