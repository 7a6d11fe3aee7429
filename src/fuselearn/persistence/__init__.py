"""Fitted models in files: no pickle, nothing in a file is run.

A file is a zip archive: `fuselearn.json`, a header that anyone can read, and what skops makes of the model, a tree in
JSON (`schema.json`) and one member per array. Loading goes through five gates, each of them a file here, before
anything of the model is built:

1. `container`: it is a whole archive of bounded size, and its checksum is right.
2. `header`: its format and version are known.
3. `schema`: the tree is bounded, and an object that occurs twice is the same both times.
4. `arrays`: each array has the size it says, and is plain numbers or text.
5. `allowed`: each type is on the list for the way in which it is used.

Once it is built, `votes` looks whether its classes and columns are there, before it predicts anything.

The room imports no other, so that every other may write its files with it. What is slow to import is imported when a
model is saved or loaded: the command line reads headers without it.
"""

from fuselearn.persistence.atomic_write import write_atomically
from fuselearn.persistence.model_file import describe, load, save

__all__ = ["describe", "load", "save", "write_atomically"]
