"""How values are spelled in names of columns, in tables and in JSON."""


def text_of(label):
    """A class as it stands in names of columns and in JSON."""
    label = label.item() if hasattr(label, "item") else label
    return str(label).lower() if isinstance(label, bool) else str(label)
