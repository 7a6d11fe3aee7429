"""Tables in which a number stands for nothing, however it is spelled."""

from tests.cli.odd_tables import WEIGHTS, X, but, in_parquet, missing, plain, rows, text

# as READ of the odd tables
READ = {
    "numbers for nothing beside an odd cell": (
        "t.csv",
        plain(w=but(X, _3="-999.0", _5="-999", _7="<5")),
        ["--na-values", "-999"],
        {"w": missing(X, 3, 5, 7)},
        "1 cell is not a number",
    ),
    "numbers for nothing beside an odd cell in Parquet": (
        "t.parquet",
        in_parquet(w=but(X, _3="-999.0", _5="-999", _7="<5")),
        ["--na-values", "-999"],
        {"w": missing(X, 3, 5, 7)},
        "1 cell is not a number",
    ),
    "numbers for nothing with decimal commas": (
        "t.csv",
        text(rows(w=but([str(value).replace(".", ",") for value in X], _3="-999,0", _7="<5"), x=WEIGHTS), ";").encode(),
        ["--delimiter", ";", "--decimal", ",", "--na-values", "-999"],
        {"w": missing(X, 3, 7)},
        "1 cell is not a number",
    ),
    "classes, and a number for nothing": (
        "t.csv",
        plain(kind=but([1] * 12 + [2] * 12, _3="-999.0")),
        ["--na-values", "-999"],
        {"kind": missing([1] * 12 + [2] * 12, 3)},
        "1 of 24 rows has no 'kind'",
    ),
    "codes that are not numbers for nothing": (
        "t.csv",
        plain(kind=["08"] * 12 + ["09"] * 12),
        ["--na-values", "9"],
        {"kind": ["08"] * 12 + ["09"] * 12},
    ),
}
