"""Tables as people have them: each is read as it was written, or refused in one line with a remedy."""

import datetime
import gzip
import io
import math

import openpyxl
import pyarrow as pa
from pyarrow import parquet

N = 24
X = [number + 0.5 for number in range(N)]
KIND = ["a"] * (N // 2) + ["b"] * (N // 2)
DAYS = [datetime.date(2020, 1 + number % 12, 1 + number) for number in range(N)]
MOMENTS = [datetime.datetime(2020, 1, 1 + number, number, 30) for number in range(N)]


def rows(**columns):
    """Return the columns of a table with a view of numbers, other columns, and classes."""
    return {"id": [f"p{number:02d}" for number in range(N)], "x": X, **columns, "kind": columns.get("kind", KIND)}


def text(columns, delimiter=",", end="\n"):
    """Return columns as delimited text; cells are written as they are."""
    lines = [delimiter.join(columns), *(delimiter.join(map(str, row)) for row in zip(*columns.values()))]
    return end.join(lines) + end


def plain(**columns):
    return text(rows(**columns)).encode()


def but(values, **others):
    """Return values as texts, some of them replaced: ``_3="odd"`` is the fourth."""
    return [others.get(f"_{number}", str(value)) for number, value in enumerate(values)]


def missing(values, *places):
    return [None if number in places else value for number, value in enumerate(values)]


def workbook(*sheets):
    """Return a workbook of sheets, each a list of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, content in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for row in content:
            sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def sheet(**columns):
    content = rows(**columns)
    return [list(content), *map(list, zip(*content.values()))]


def in_parquet(**columns):
    stream = io.BytesIO()
    parquet.write_table(pa.table(rows(**columns)), stream)
    return stream.getvalue()


WEIGHTS = [f"{60 + number}" for number in range(N)]
SEMICOLONS = text(rows(w=WEIGHTS), ";").encode()
COMMAS = text(rows(x=[str(value).replace(".", ",") for value in X]), ";").encode()
GERMAN = [f"{day:%d.%m.%Y}" for day in DAYS]
NOON = [datetime.datetime.combine(day, datetime.time()) for day in DAYS]
EARLY = [datetime.date(2020, 1 + number % 12, 1 + number // 2) for number in range(N)]
EARLY_NOON = [datetime.datetime.combine(day, datetime.time()) for day in EARLY]
NOT_RECORDED = but(X, _3="not recorded", _5="not recorded")

# name of the file, its bytes, options, and the columns that must be read, or words of the refusal; words of a note last
READ = {
    "utf-8": ("t.csv", plain(town=["Köln", "Ål"] * 12), [], {"x": X, "town": ["Köln", "Ål"] * 12}),
    "byte order mark": ("t.csv", b"\xef\xbb\xbf" + plain(), [], {"x": X}),
    "latin-1": (
        "t.csv",
        plain(town=["Köln", "Ål"] * 12).decode().encode("latin-1"),
        ["--encoding", "latin-1"],
        {"town": ["Köln", "Ål"] * 12},
    ),
    "cp1252": (
        "t.csv",
        plain(unit=["€", "œ"] * 12).decode().encode("cp1252"),
        ["--encoding", "cp1252"],
        {"unit": ["€", "œ"] * 12},
    ),
    "utf-16": ("t.csv", plain().decode().encode("utf-16"), ["--encoding", "utf-16"], {"x": X}),
    "semicolons": ("t.csv", SEMICOLONS, ["--delimiter", ";"], {"x": X, "w": [60 + number for number in range(N)]}),
    "semicolons and a mark": ("t.csv", b"\xef\xbb\xbf" + SEMICOLONS, ["--delimiter", ";"], {"x": X}),
    "bars": ("t.csv", text(rows(), "|").encode(), ["--delimiter", "|"], {"x": X}),
    "tabs": ("t.tsv", text(rows(), "\t").encode(), [], {"x": X}),
    "tabs in csv": ("t.csv", text(rows(), "\t").encode(), ["--delimiter", "\t"], {"x": X}),
    "compressed": ("t.csv.gz", gzip.compress(plain()), [], {"x": X}),
    "decimal commas": ("t.csv", COMMAS, ["--delimiter", ";", "--decimal", ","], {"x": X}),
    "decimal commas with an odd cell": (
        "t.csv",
        text(rows(x=but([str(value).replace(".", ",") for value in X], _2="1.234,5")), ";").encode(),
        ["--delimiter", ";", "--decimal", ","],
        {"x": missing(X, 2)},
        "1 cell is not a number",
    ),
    "ISO dates": ("t.csv", plain(day=DAYS), [], {"day": DAYS}),
    "ISO times": ("t.csv", plain(day=MOMENTS), [], {"day": MOMENTS}),
    "ISO times with zones": (
        "t.csv",
        plain(day=[f"{moment.isoformat()}+02:00" for moment in MOMENTS]),
        [],
        {"day": [moment - datetime.timedelta(hours=2) for moment in MOMENTS]},
    ),
    "dates of a format": ("t.csv", plain(day=GERMAN), ["--date-format", "%d.%m.%Y"], {"day": NOON}),
    "dates of another format": (
        "t.csv",
        plain(day=[f"{day:%m/%d/%y}" for day in DAYS]),
        ["--date-format", "day=%m/%d/%y"],
        {"day": NOON},
    ),
    "dates of a format that look like ISO": (
        "t.csv",
        plain(day=[f"{day:%Y-%d-%m}" for day in EARLY]),
        ["--date-format", "%Y-%d-%m"],
        {"day": EARLY_NOON, "x": X},
    ),
    "texts of a format that look like ISO": (
        "t.parquet",
        in_parquet(day=[f"{day:%Y-%d-%m}" for day in EARLY]),
        ["--date-format", "%Y-%d-%m"],
        {"day": EARLY_NOON},
    ),
    "a format of dates beside numbers, truth and text": (
        "t.csv",
        plain(w=WEIGHTS, well=["true", "false"] * 12, town=["Köln", "Ål"] * 12, day=GERMAN, iso=DAYS),
        ["--date-format", "%d.%m.%Y"],
        {
            "w": [60 + number for number in range(N)],
            "well": [True, False] * 12,
            "town": ["Köln", "Ål"] * 12,
            "day": NOON,
            "iso": NOON,
        },
    ),
    "labels with blanks": (
        "t.csv",
        plain(kind=[" a", "a", "b ", "b"] * 6),
        [],
        {"kind": ["a", "a", "b", "b"] * 6},
        "has ' a' beside 'a' in the column 'kind'",
    ),
    "texts with blanks": (
        "t.csv",
        plain(town=["north", " north", "south", "south "] * 6),
        [],
        {"x": X},
        "'town' has ' north' beside 'north'",
    ),
    "labels in Parquet with blanks": (
        "t.parquet",
        in_parquet(kind=[" a", "a", "b ", "b"] * 6),
        [],
        {"kind": ["a", "a", "b", "b"] * 6},
        "has ' a' beside 'a' in the column 'kind'",
    ),
    "dates of digits": (
        "t.csv",
        plain(day=[f"{day:%Y%m%d}" for day in DAYS]),
        ["--date-format", "day=%Y%m%d"],
        {"day": NOON},
    ),
    "an odd date": (
        "t.csv",
        plain(day=but(DAYS, _3="soon")),
        [],
        {"day": missing(NOON, 3)},
        "'soon' in 'day'",
    ),
    "a day that is not": (
        "t.csv",
        plain(day=but(DAYS, _3="2020-02-30")),
        [],
        {"day": missing(NOON, 3)},
        "'2020-02-30'",
    ),
    "odd cells": (
        "t.csv",
        plain(crp=NOT_RECORDED),
        [],
        {"crp": missing(X, 3, 5)},
        "2 cells are not numbers as the others of the column and count as missing: 'not recorded' (2 times) in 'crp'",
    ),
    "a limit of detection": ("t.csv", plain(crp=but(X, _7="<5")), [], {"crp": missing(X, 7)}, "'<5' in 'crp'"),
    "a unit in one cell": ("t.csv", plain(w=but(X, _7="12 kg")), [], {"w": missing(X, 7)}, "'12 kg' in 'w'"),
    "numbers for nothing": ("t.csv", plain(w=but(X, _7="-999")), ["--na-values", "-999"], {"w": missing(X, 7)}),
    "a word for nothing": ("t.csv", plain(w=but(X, _7="?", _8="?")), ["--na-values", "?"], {"w": missing(X, 7, 8)}),
    "usual words for nothing": (
        "t.csv",
        plain(w=but(X, _1="NA", _2="", _3="n/a", _4="NULL")),
        [],
        {"w": missing(X, 1, 2, 3, 4)},
    ),
    "blanks": ("t.csv", plain(w=[f"  {value} " for value in X]), [], {"w": X}),
    "cells of blanks": ("t.csv", plain(w=but(X, _4=" " * 30)), [], {"w": missing(X, 4)}),
    "plus signs": ("t.csv", plain(w=[f"+{value}" for value in X]), [], {"w": X}),
    "minus signs of typesetters": ("t.csv", plain(w=but(X, _2="\N{MINUS SIGN}3.5")), [], {"w": [*X[:2], -3.5, *X[3:]]}),
    "powers of ten": ("t.csv", plain(w=[f"{value:e}" for value in X]), [], {"w": X}),
    "leading zeros": ("t.csv", plain(w=[f"{number:03d}" for number in range(N)]), [], {"w": list(range(N))}),
    "large whole numbers": (
        "t.csv",
        plain(w=[10**17 + number for number in range(N)]),
        [],
        {"w": [10**17 + n for n in range(N)]},
    ),
    "true and false": ("t.csv", plain(flag=["TRUE", "false"] * 12), [], {"flag": [True, False] * 12}),
    "yes and no": ("t.csv", plain(flag=["yes", "no"] * 12), [], {"flag": ["yes", "no"] * 12}),
    "wards": (
        "t.csv",
        plain(ward=["1A", "2B", "3C", "4D", "5E", "6F"] * 4),
        [],
        {"ward": ["1A", "2B", "3C", "4D", "5E", "6F"] * 4},
    ),
    "doses": ("t.csv", plain(dose=["10 mg", "20 mg"] * 12), [], {"dose": ["10 mg", "20 mg"] * 12}),
    "line breaks in cells": (
        "t.csv",
        plain(note=['"two\nlines"', '"a ""b"""'] * 12),
        [],
        {"note": ["two\nlines", 'a "b"'] * 12},
    ),
    "delimiters in cells": ("t.csv", plain(note=['"a,b"', "c"] * 12), [], {"note": ["a,b", "c"] * 12}),
    "ends of Windows": ("t.csv", text(rows(), end="\r\n").encode(), [], {"x": X}),
    "blank lines at the end": ("t.csv", plain() + b"\n\n", [], {"x": X}),
    "an empty column": ("t.csv", plain(w=[""] * N), [], {"x": X, "w": [None] * N}),
    "rows without a class": (
        "t.csv",
        text({**rows(), "kind": but(KIND, _0="", _1="")}).encode(),
        [],
        {"x": X},
        "2 of 24 rows have no 'kind'",
    ),
    "ids that occur twice": (
        "t.csv",
        text({**rows(), "id": ["p"] * N}).encode(),
        [],
        {"x": X},
        "has more than one row of 'p'",
    ),
    "a target of many numbers": (
        "t.csv",
        text({**rows(), "kind": [number // 2 for number in range(N)]}).encode(),
        [],
        {"x": X},
        "has 12 different numbers, from 0 to 11, and each of them is a class",
    ),
    "a workbook": (
        "t.xlsx",
        workbook(sheet(w=list(range(N)), day=MOMENTS, flag=[True, False] * 12, town=["Köln", "Ål"] * 12)),
        [],
        {"x": X, "w": list(range(N)), "day": MOMENTS, "flag": [True, False] * 12, "town": ["Köln", "Ål"] * 12},
    ),
    "a workbook with gaps": ("t.xlsx", workbook(sheet(w=missing(X, 1, 2))), [], {"w": missing(X, 1, 2)}),
    "a workbook with an odd cell": (
        "t.xlsx",
        workbook(sheet(w=[*X[:5], "not recorded", *X[6:]])),
        [],
        {"w": missing(X, 5)},
        "'not recorded' in 'w'",
    ),
    "a workbook with numbers as text": ("t.xlsx", workbook(sheet(w=list(map(str, X)))), [], {"w": X}),
    "a workbook of two sheets": (
        "t.xlsx",
        workbook(sheet(), [["notes"], ["made by hand"]]),
        [],
        {"x": X},
        "'sheet 0' is read, not sheet 1",
    ),
    "an empty sheet first": ("t.xlsx", workbook([], sheet()), [], {"x": X}),
    "text of numbers in Parquet": (
        "t.parquet",
        in_parquet(w=but(X, _3="?")),
        ["--na-values", "?"],
        {"w": missing(X, 3)},
    ),
    "odd cells in Parquet": ("t.parquet", in_parquet(w=but(X, _3="none")), [], {"w": missing(X, 3)}, "'none' in 'w'"),
    "categories in Parquet": ("t.parquet", in_parquet(c=pa.array(KIND).dictionary_encode()), [], {"c": KIND}),
    "zones in Parquet": ("t.parquet", in_parquet(day=pa.array(MOMENTS, pa.timestamp("us", "UTC"))), [], {"x": X}),
}
REFUSED = {
    "latin-1 without a word": (
        "t.csv",
        plain(town=["Köln"] * N).decode().encode("latin-1"),
        [],
        ["--encoding latin-1"],
    ),
    "utf-16 without a word": ("t.csv", plain().decode().encode("utf-16"), [], ["--encoding utf-16"]),
    "semicolons without a word": ("t.csv", SEMICOLONS, [], ["--delimiter ';'"]),
    "tabs without a word": ("t.csv", text(rows(), "\t").encode(), [], ["--delimiter $'\\t'"]),
    "decimal commas without a word": ("t.csv", COMMAS, ["--delimiter", ";"], ["'x'", "--decimal ,"]),
    "points for commas": (
        "t.csv",
        SEMICOLONS,
        ["--delimiter", ";", "--decimal", ","],
        ["another decimal sign than --decimal"],
    ),
    "decimal commas and commas": ("t.csv", COMMAS, ["--delimiter", ",", "--decimal", ","], ["they must differ"]),
    "points of thousands": (
        "t.csv",
        text(rows(x=WEIGHTS, w=[f"1.{number:03d},5" for number in range(N)]), ";").encode(),
        ["--delimiter", ";", "--decimal", ","],
        ["'w'", "write them plainly"],
    ),
    "points of thousands without a word": (
        "t.csv",
        text(rows(w=[f"1.{number:03d},5" for number in range(N)]), ";").encode(),
        ["--delimiter", ";"],
        ["'w'", "write them plainly"],
    ),
    "commas of thousands": (
        "t.csv",
        plain(w=[f'"{number + 1},234"' for number in range(N)]),
        [],
        ["'w'", "separates thousands"],
    ),
    "blanks of thousands": (
        "t.csv",
        plain(w=[f"{number + 1} 234" for number in range(N)]),
        [],
        ["'w'", "write them plainly"],
    ),
    "dates of a format without a word": ("t.csv", plain(day=GERMAN), [], ["--date-format 'day=%d.%m.%Y'"]),
    "days and months mixed": (
        "t.csv",
        plain(day=["31/12/2020", "12/31/2020", "01/01/2020"] * 8),
        [],
        ["'31/12/2020'", "--drop 'day'"],
    ),
    "dates of digits without a column": ("t.csv", plain(), ["--date-format", "%Y%m%d"], ["COLUMN=%Y%m%d"]),
    "a format of nothing": ("t.csv", plain(), ["--date-format", "day"], ["'%d.%m.%Y'"]),
    "times of day": ("t.csv", plain(day=[f"{number:02d}:30:00" for number in range(N)]), [], ["hours", "--drop 'day'"]),
    "odd cells that are refused": (
        "t.csv",
        plain(crp=NOT_RECORDED),
        ["--strict"],
        ["'not recorded' in row 4", "'crp'"],
    ),
    "an odd date that is refused": (
        "t.csv",
        plain(day=but(DAYS, _3="soon")),
        ["--strict"],
        ["'soon' in row 4", "dates"],
    ),
    "odd cells everywhere": (
        "t.csv",
        plain(crp=[*X[:16], *["none"] * 8]),
        [],
        ["'none' in row 17", "--na-values 'none'"],
    ),
    "units in all cells": (
        "t.csv",
        plain(w=[f"{value} kg" for value in X]),
        [],
        ["'0.5 kg'", "write the numbers alone"],
    ),
    "percent": ("t.csv", plain(w=[f"{value}%" for value in X]), [], ["'0.5%'", "write the numbers alone"]),
    "money": ("t.csv", plain(w=[f"${value}" for value in X]), [], ["'$0.5'", "write the numbers alone"]),
    "truth and numbers": ("t.csv", plain(flag=["true", "2"] * 12), [], ["'true' in row 1", "fix these cells"]),
    "infinite": ("t.csv", plain(w=but(X, _3="inf")), [], ["infinite value", "row 4"]),
    "too large": ("t.csv", plain(w=but(X, _3="1e999")), [], ["infinite value", "row 4"]),
    "ends of old programs": ("t.csv", text(rows(), end="\r").encode(), [], ["usual line ends"]),
    "rows of different lengths": ("t.csv", plain() + b"p99,1\n", [], ["Every row needs a cell"]),
    "columns of one name": ("t.csv", plain().replace(b"id,x", b"x,x"), [], ["give each column its own name"]),
    "blanks beside names": ("t.csv", plain().replace(b",kind", b", kind"), [], ["There is ' kind'"]),
    "an open quote": ("t.csv", plain(note=['"a'] + ["b"] * (N - 1)), [], ["close every quote"]),
    "no rows": ("t.csv", b"id,x,kind\n", [], ["has no rows"]),
    "an empty file": ("t.csv", b"", [], ["is empty"]),
    "no class": ("t.csv", text({**rows(), "kind": [""] * N}).encode(), [], ["every row needs its class"]),
    "measured classes": (
        "t.csv",
        text({**rows(), "kind": X}).encode(),
        [],
        ["does not predict numbers", "--task classification"],
    ),
    "a target with units": (
        "t.csv",
        plain(kind=[f"{value} kg" for value in X]),
        [],
        ["24 classes in 24 rows", "'0.5 kg'", "write the numbers alone"],
    ),
    "a target with separators": (
        "t.csv",
        text(rows(x=WEIGHTS, kind=[f"1.{number:03d},5" for number in range(N)]), ";").encode(),
        ["--delimiter", ";", "--decimal", ","],
        ["24 classes in 24 rows", "write them plainly"],
    ),
    "a target with commas as classes": (
        "t.csv",
        text(rows(kind=[f"{number},5" for number in range(N)]), ";").encode(),
        ["--delimiter", ";", "--task", "classification"],
        ["24 classes in 24 rows", "--decimal ,"],
    ),
    "a target of ids": (
        "t.csv",
        plain(kind=[f"n{number}" for number in range(N)]),
        [],
        ["is it an id or a measured number"],
    ),
    "names that never repeat": (
        "t.csv",
        plain(name=[f"n{number}" for number in range(N)]),
        [],
        ["nothing can be learnt"],
    ),
    "a title above the table": ("t.xlsx", workbook([["Our patients"], *sheet()]), [], ["delete titles above it"]),
    "formulas without values": (
        "t.xlsx",
        workbook(sheet(w=[f"=B{number + 2}*2" for number in range(N)])),
        [],
        ["open it in Excel, and save it"],
    ),
    "a workbook of nothing": ("t.xlsx", workbook([]), [], ["no sheet that holds anything"]),
    "a damaged workbook": ("t.xlsx", b"PK\x03\x04" + bytes(100), [], ["not an Excel workbook that can be opened"]),
    "an old workbook": ("t.xls", b"\xd0\xcf\x11\xe0" + bytes(100), [], ["save or export it as .xlsx"]),
    "csv named as a workbook": ("t.xlsx", plain(), [], ["is not an Excel workbook"]),
    "a workbook named as csv": ("t.csv", workbook(sheet()), [], ["zip archive, not a table"]),
    "csv named as compressed": ("t.csv.gz", plain(), [], ["is not compressed with gzip"]),
    "lists in Parquet": ("t.parquet", in_parquet(w=[[1.0]] * N), [], ["give each of its values a column"]),
    "bytes in Parquet": ("t.parquet", in_parquet(w=[b"\xff\x00"] * N), [], ["not UTF-8"]),
}


def same(read, written):
    """Check whether a column was read as it was written; gaps are None or NaN."""

    def plainly(value):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            return datetime.datetime(value.year, value.month, value.day)
        return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value

    return [plainly(value) for value in read] == [plainly(value) for value in written]
