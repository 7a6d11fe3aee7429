"""Pictures of fitted models: one Display per file, all in the one style of `style.py`."""
