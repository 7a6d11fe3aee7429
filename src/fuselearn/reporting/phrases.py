"""Numbers and names as they stand in a sentence."""


def percent(share, decimals=1):
    """A share as people write it. What is not all or nothing is not shown as 100 or 0."""
    value = 100 * share
    shown = f"{value:z.{decimals}f}"
    nearly = 10.0**-decimals
    if share < 1 and float(shown) == 100:
        shown = f"{100 - nearly:.{decimals}f}"
    elif share > 0 and float(shown) == 0:
        shown = f"less than {nearly:g}"
    return f"{shown}\N{NO-BREAK SPACE}%"


def shortened(name, longest=40):
    """A name that fits into a sentence."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def counted(n, noun):
    """A number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(names):
    """Some names in quotes, and how many more there are."""
    quoted = [f"“{shortened(str(name))}”" for name in names]
    most = 12 if sum(map(len, quoted)) <= 80 else 6
    if len(quoted) > most:
        return f"{', '.join(quoted[: most - 2])} and {len(quoted) - most + 2} more"
    return joined(quoted)


def joined(parts):
    """Parts with commas, and the last with "and"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def verb_be(n):
    return "is" if n == 1 else "are"


def has(n):
    return "has" if n == 1 else "have"
