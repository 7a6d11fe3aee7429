"""Arrays that are not in this machine's memory: known by their type, refused where nothing reads them."""


def is_device_array(X):
    """Whether an array is from a library whose arrays live on a device: CuPy, or torch with the array on a GPU.

    It goes by the module of the type, so that no library is imported that the user does not use. Arrays of
    ``array_api_strict`` count too: it has no other use than to test code such as this.

    Examples
    --------
    >>> import numpy as np
    >>> is_device_array(np.zeros(3))
    False
    """
    library = library_of(X)
    return library in ("cupy", "array_api_strict") or (library == "torch" and bool(getattr(X, "is_cuda", False)))


def library_of(X):
    """Name of the library that an array is from."""
    return type(X).__module__.partition(".")[0]


def check_on_host(values, name, who):
    """Refuse an array on a device where only arrays of this machine are read.

    Parameters
    ----------
    values : object
    name : str
        Of the argument.
    who : str
        Who reads it.
    """
    if is_device_array(values):
        raise TypeError(
            f"{who} reads {name} on the host; got one of {library_of(values)} on a device. {name}.get() of CuPy, or "
            f"{name}.cpu().numpy() of torch, brings it here. On a device run ShareBoostClassifier, "
            "IndependentBoostClassifier, MSSBoostClassifier and NSBoostClassifier, composite_kernel, "
            "composite_test_kernel, augmented_kernel and tomographic_correspondence."
        )
