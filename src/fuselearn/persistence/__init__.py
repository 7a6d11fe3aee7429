"""Fitted models in files: no pickle, and nothing in a file is called while it is loaded.

A file is a zip archive: `fuselearn.json`, a header that anyone can read; `model.json`, the tree of the model; and
`arrays.bin`, the bytes of its arrays. Types of fuselearn are named by public ids (`model_types`), so that modules can
move. Loading goes through these files, in this order:

1. `container`: it is a whole archive of bounded size, of a known format and version, and its checksum is right.
2. `object_tree`, which writes it, too: plain values, arrays and objects of fuselearn are built, by a closed list of
   node types.
3. `validation`: each object, as it was built, has the fields that its class declares, and its numbers agree.

Objects of other packages are in a folder of the archive, `foreign/`, as skops writes them (`foreign_tree`). They are
built only if the caller trusts their types (`model_types`), and checked where we know how (`foreign_checks`).

This package imports no other, so that every other may write its files with it. What is slow to import is imported when
a model is saved or loaded: the command line reads headers without it.
"""

from fuselearn.persistence.atomic_write import write_atomically
from fuselearn.persistence.model_file import describe, load, save

__all__ = ["describe", "load", "save", "write_atomically"]
