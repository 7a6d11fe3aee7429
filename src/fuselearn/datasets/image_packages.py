"""Packages that only the image sets need: the extra ``datasets``."""

from importlib import import_module

PACKAGES = {"skimage": "scikit-image", "pywt": "PyWavelets"}


def image_package(module, *, needed_by):
    """Import a module of the extra ``datasets``, or say how to get it.

    Parameters
    ----------
    module : str
        Such as ``"skimage.feature"``.
    needed_by : str
        The function that the user called.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = PACKAGES[module.partition(".")[0]]
        raise ImportError(
            f"{needed_by} needs {package}, which cannot be imported ({error}): pip install 'fuselearn[datasets]'"
        ) from error
