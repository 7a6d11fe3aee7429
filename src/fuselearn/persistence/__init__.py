"""Fitted models in files: no pickle, and nothing in a file is run.

A file is a zip archive: `fuselearn.json`, a header that anyone can read, and what skops makes of the model, a tree in
JSON (`schema.json`) and one member per array. Types of fuselearn are named by public ids (`public_ids`), so that
modules can move. Before anything of the model is built, loading checks, in this order:

1. `container`: it is a whole archive of bounded size, of a known format and version, and its checksum is right.
2. `schema`: the tree is bounded, and an object that occurs twice is the same both times; ids become classes.
3. `allowed`: each type is on the list for the way in which it is used; with `checks`, each array has the size it
   declares, and is plain numbers or text.

Once the model is built, `checks` makes sure that its trees, classes and columns are in range before it predicts.

This package imports no other, so that every other may write its files with it. What is slow to import is imported when
a model is saved or loaded: the command line reads headers without it.
"""

from fuselearn.persistence.atomic_write import write_atomically
from fuselearn.persistence.model_file import describe, load, save

__all__ = ["describe", "load", "save", "write_atomically"]
