"""Tables whose columns of text are numbers or dates gone wrong, or categories that begin with a number."""

import datetime

import numpy as np
import pyarrow as pa

from tests.cli.odd_tables import KIND, N, X, but, in_parquet, missing, plain, rows, sheet, text, workbook

FRACTIONS = [f"{36 + number / 10:.1f}" for number in range(N)]
UNITS = ("°C", "mg/dL", "kg/m²", "µg", "10^9/L", "mmol/mol", "%", "in 24 h")
ROOMS = [f"{1 + number % 6} room{'s' if number % 6 else ''}" for number in range(N)]
MICROSECONDS = [datetime.datetime(2020, 1, 1 + number, 8, 30, 0, 123456) for number in range(N)]


def column(cells, *words, delimiter=",", options=()):
    """Return a CSV file with the column w, and words of its refusal or note."""
    return "t.csv", text(rows(w=cells), delimiter).encode(), list(options), ["'w'", *words]


def labels(kind, *words, options=()):
    return "t.csv", plain(kind=kind), list(options), list(words)


def read(cells, *words, options=(), expected=None):
    """Return a CSV file with the column w, which is read so, and words of a note."""
    return "t.csv", plain(w=cells), list(options), {"w": cells if expected is None else expected}, *words


UNIT, TAKEN = "write the numbers alone", "they are taken as categories"
REFUSED = {
    **{f"numbers in {unit}": column([f"{value} {unit}" for value in FRACTIONS], UNIT) for unit in UNITS},
    "dollars": column([f'"$1,{200 + number}.50"' for number in range(N)], "'$1,200.50'", UNIT),
    "euros": column([f'"1.{200 + number},50 €"' for number in range(N)], "'1.200,50 €'", UNIT),
    "errors of measurement": column([f"{value}±{value}" for value in FRACTIONS], UNIT),
    "limits": column([f">={value}" for value in FRACTIONS], UNIT),
    "brackets": column([f"({value})" for value in FRACTIONS], UNIT),
    "units in all cells but one": column(but([f"{value} °C" for value in FRACTIONS], _3="absent"), "'36.0 °C'", UNIT),
    "powers of ten with a comma": column([f'"1,{number}e3"' for number in range(N)], "--decimal ,"),
    "powers of ten of Fortran": column([f"{value}D+01" for value in FRACTIONS], "as 1.5E+01"),
    "two numbers in a cell": column([f"{110 + number}/{70 + number}" for number in range(N)], "a column of its own"),
    "hours and minutes": column([f"{number % 10}:{number + 10}" for number in range(N)], "such as 8.5 hours"),
    "hours and minutes in words": column([f"{number}h 30m" for number in range(N)], UNIT),
    "durations in a workbook": (
        "t.xlsx",
        workbook(sheet(w=[datetime.timedelta(hours=20 + number) for number in range(N)])),
        [],
        ["'w'", "such as hours"],
    ),
    "dates with names of months": column([f"{1 + n:02d} Mar {2000 + n}" for n in range(N)], "'w=%d %b %Y'"),
    "dates with long names of months": column([f'"March {1 + n}, {2000 + n}"' for n in range(N)], "'w=%B %d, %Y'"),
    "dates with two digits of the year": column([f"{1 + n:02d}-Mar-{10 + n}" for n in range(N)], "'w=%d-%b-%y'"),
    "dates of another language": column([f"{1 + n:02d}. März {2000 + n}" for n in range(N)], "write them so"),
    "dates that may be American": column(
        [f"{1 + n % 12:02d}/{1 + n % 11:02d}/2024" for n in range(N)],
        "'w=%d/%m/%Y', or --date-format 'w=%m/%d/%Y' if the month comes first: only you can know",
    ),
    "a target of thousands": labels(
        [f'"{191 + n},800"' for n in range(N)], "'191,800'; write 191800 if it separates thousands", "add --decimal ,"
    ),
    "a target of thousands and millions": labels(
        [f'"{191 + n},800"' for n in range(N - 1)] + ['"2,878,850"'],
        "'2,878,850', where it separates thousands; write them without it, as 2878850",
    ),
    "a target of thousands with decimals": labels([*[900] * 9, *['"1,234.50"'] * (N - 9)], "as 1234.50"),
    "a target of thousands with decimals to predict": labels(
        [f'"{n + 1}.234,50"' for n in range(N)],
        "'1.234,50'",
        "write them plainly",
        options=["--task", "regression", "--method", "svm_sum"],
    ),
    "days without a year": column([f"{1 + n:02d}.12." for n in range(N)], "write whole dates"),
    "months": column([f"{2000 + n}-{1 + n % 12:02d}" for n in range(N)], "write a day of each"),
    "points of thousands in a cell": column(
        but([str(300 + n) if n % 2 else f"{n + 1}.037" for n in range(N)], _5="1.234.567"),
        "'1.234.567' in row 6",
        "write them plainly",
    ),
    "points of thousands and a decimal comma": column(
        but([str(300 + n) if n % 2 else f"{n + 1}.037" for n in range(N)], _5="1.234,5"),
        "'1.234,5' in row 6",
        delimiter=";",
        options=["--delimiter", ";"],
    ),
    "a comma of thousands": column(but(X, _5='"1,234.5"'), "'1,234.5' in row 6"),
    "a comma of thousands among decimal commas": column(
        but([str(value).replace(".", ",") for value in X], _5="1,234,567"),
        "'1,234,567' in row 6",
        delimiter=";",
        options=["--delimiter", ";", "--decimal", ","],
    ),
    "a target with points of thousands": labels(
        but([f"{n + 1}.037" for n in range(N)], _5="1.234.567"), "'kind'", "'1.234.567' in row 6"
    ),
    "a format of dates for no column": (
        "t.csv",
        plain(),
        ["--date-format", "born=%d.%m.%Y"],
        ["--date-format names the column 'born'"],
    ),
    "years that no date has": (
        "t.parquet",
        in_parquet(w=pa.array([1_600_000_000_000 + n for n in range(N)], "timestamp[s]")),
        [],
        ["the year 52671 in row 1 of the column 'w'", "is the unit of timestamp[ms] right?"],
    ),
    "a title": ("t.csv", b"My export,,\n" + plain(), [], ["'My export'", "is the first line a title?"]),
    "a name short": (
        "t.csv",
        b"\n".join(
            line if number == 0 else b"%d,%s" % (number, line) for number, line in enumerate(plain().split(b"\n")[:-1])
        ),
        [],
        ["one name fewer than the rows have cells"],
    ),
}
READ = {
    "floors": read(["1st floor", "2nd floor", "3rd floor", "4th floor", "5th floor", "6th floor"] * 4),
    "ages": read(["10-20", "20-30", "30-40", "40-50", "50-60", "60+"] * 4),
    "few rooms": read(["1 room", "2 rooms", "3 rooms"] * 8),
    "codes": read(["A1", "B2"] * 12),
    "seasons": read(["2000-01", "2001-02", "2002-03", "2003-04", "2004-05", "2005-06"] * 4),
    "rooms": read(ROOMS, f"such as '1 room': {TAKEN}. If they are meant as numbers with a unit or sign, {UNIT}"),
    "doses of a hundred patients": (
        "t.csv",
        text(
            {
                "id": [f"p{number}" for number in range(100)],
                "x": [number + 0.5 for number in range(100)],
                "w": ["2.5 mg", "5 mg", "7.5 mg", "10 mg", "15 mg"] * 20,
                "kind": ["a", "b"] * 50,
            }
        ).encode(),
        [],
        {"w": ["2.5 mg", "5 mg", "7.5 mg", "10 mg", "15 mg"] * 20},
        TAKEN,
    ),
    "whole numbers in hexadecimal": read([f"0x{n:02x}" for n in range(N)], expected=list(range(N))),
    "hours without minutes": read(
        [f"2020-01-{1 + n:02d}T08" for n in range(N)],
        expected=[datetime.datetime(2020, 1, 1 + n, 8) for n in range(N)],
    ),
    "two numbers for nothing": read(
        but(X, _3="-999", _9="-9"), options=["--na-values", "-999,-9"], expected=missing(X, 3, 9)
    ),
    "years with two digits": read(
        [f"{1 + n:02d}.01.{n % 2 + 45}" for n in range(N)],
        "'01.01.45' in 'w' is read as 2045-01-01, which is to come",
        options=["--date-format", "w=%d.%m.%y"],
        expected=[datetime.datetime(2045 + n % 2, 1, 1 + n) for n in range(N)],
    ),
    "a decimal comma in one cell": read(
        but(X, _3='"1,5"'), "or --decimal , if the comma is the decimal sign", expected=missing(X, 3)
    ),
    "nanoseconds in Parquet": (
        "t.parquet",
        in_parquet(w=np.array(MICROSECONDS, dtype="datetime64[ns]") + 789),
        [],
        {"w": MICROSECONDS},
    ),
    "nanoseconds": read([f"{moment.isoformat()}789" for moment in MICROSECONDS], expected=MICROSECONDS),
    "columns without a name": (
        "t.csv",
        b"\n".join(line + b",," for line in plain().split(b"\n")[:-1]),
        [],
        {"x": X},
        "2 columns without a name are left out",
    ),
    "a delimiter in the first line": (
        "t.csv",
        b"sep=;\n" + text(rows(w=X), ";").encode(),
        [],
        {"x": X, "w": X},
    ),
    "a target with units": (
        "t.csv",
        plain(kind=[f"{n % 11}.5 kg" for n in range(N - 2)] + ["0.5 kg"] * 2),
        [],
        {"x": X},
        "has 11 different texts, such as '0.5 kg', and each of them is a class here",
        UNIT,
    ),
    "a target of dates": (
        "t.csv",
        plain(kind=[f"2024-01-{1 + n % 11:02d}" for n in range(N)]),
        [],
        {"x": X},
        "They look like dates; is it the column of classes?",
    ),
    "a target with words for nothing": (
        "t.csv",
        plain(kind=but(KIND, _3="?", _5="unknown")),
        [],
        {"x": X},
        "has '?' and 'unknown' in 2 of 24 rows: classes of their own here",
        "add --na-values '?'",
    ),
    "a target with two spellings of a number": (
        "t.csv",
        plain(kind=["0", "1", "1.0"] * 8),
        [],
        {"x": X},
        "has '1' beside '1.0': two classes here",
    ),
}
