"""Odd command lines: files and options as a seeded generator makes them, none of which may end in a traceback."""

import gzip
import io

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet

CELLS = [
    "", " ", "          ", "NA", "?", "-", "None", "nan", "inf", "-inf", "1e308", "-1e308", "1e999", "1e-320",
    "-0", "0x1F", "1,5",
    "1_000", "١٢", "½", "true", "TRUE", "2020-01-01", "12:30:00", "a" * 5000, "=1+1", "\x1b[31mred",
    "\u202eback", "🙂",
    "\x00", "two\nlines", 'a "quote"', "5\"", "\t", ";", "007", "9" * 30, "9223372036854775808", "[1, 2]", "é" * 200,
]  # fmt: skip
NAMES = [
    "", " ", "a_0", "kind", "id", "prediction", "probability_x", "x" * 300, "é" * 300, "a\nb", "a\tb",
    "\x1b[2J", "*", "[", "a=b",
    "a,b", "0", "None", "__class__", "../x", "\u202e", "🙂",
]  # fmt: skip
ENCODINGS = [
    "utf-8", "utf-16", "utf-32", "latin-1", "cp037", "utf-7", "rot13", "hex", "base64", "zip", "bz2", "quopri",
    "uu", "idna",
    "punycode", "unicode_escape", "undefined", "klingon", "", "a\0b", "é", "../utf_8", "x" * 300, "utf-8-sig",
    "shift_jis", "hz",
]  # fmt: skip
OPTIONS = {
    "--target": ["kind", "Kind", "", "nothing", "a_0", "x" * 500, "kind\n", "*"],
    "--id": ["id", "kind", "", "prediction", "a_1", "nobody"],
    "--view": ["a=a_*", "a=", "=a_*", "a", "a=[", "a=a_0:a_2", "a=zzz*", "a=kind", "a=a_0,a_0", "é=a_*", "a=*"],
    "--delimiter": [",", ";", "\t", "", ",,", "é", " ", '"', "\n", "\r", "\0", "a", "0"],
    "--encoding": ENCODINGS,
    "--format": ["csv", "tsv", "parquet", "feather", "xlsx", "", "CSV"],
    "--na-values": ["?", "-", "", " ", "0", "1e999", "nan", "well", "é", "\x1b"],
    "--seed": ["0", "-1", "99999999999999999999", "x", "1.5", ""],
    "--jobs": ["1", "0", "-2", "x"],
    "--method": ["shareboost", "svm_vote", "nope", "", "view:a", "view:zzz", "SHAREBOOST"],
    "--set": ["n_estimators=2", "n_estimators=0", "n_estimators=-1", "n_estimators=x", "=", "a", "views=3",
        "learning_rate=nan",
              "learning_rate=0", "estimator=tree", "estimator=nope", "resample=perhaps", "n_estimators=2.5", "a=b=c"],
    "--categorical": ["onehot", "target", "none", "auto", ""],
    "--class-weight": ["auto", "balanced", "none", "x"],
    "--label-columns": ["a=kind", "kind", "a=", "=", ",", "zzz=kind", "a_0"],
    "--group": ["g", "kind", "id", "", "zzz"],
    "--chunk-rows": ["1", "7", "0", "-1", "x", "100000000000"],
    "--output-format": ["csv", "tsv", "parquet", "feather", "xls", ""],
    "--runs": ["1", "0", "-1", "x"],
    "--train-size": ["0.6", "0", "1", "nan", "inf", "-1"],
    "--noise": ["0", "0.1", "2", "nan"],
    "--scoring": ["accuracy", "beauty", "roc_auc", ""],
    "--methods": ["shareboost", "nope", "", ",", "view:a"],
    "--title": ["", "<script>", "\x1b[31m", "x" * 1000],
    "--trust": ["sklearn.svm.SVC", "os.system", ""],
    "--nonsense": ["1"],
}  # fmt: skip
OF_COMMAND = {
    "fit": ["--target", "--id", "--view", "--delimiter", "--encoding", "--format", "--na-values", "--seed",
        "--jobs", "--method",
            "--set", "--categorical", "--class-weight", "--label-columns", "--group", "--nonsense"],
    "predict": ["--id", "--delimiter", "--encoding", "--format", "--na-values", "--chunk-rows",
        "--output-format", "--trust",
                "--nonsense"],
    "report": ["--target", "--id", "--delimiter", "--encoding", "--format", "--na-values", "--title", "--trust"],
    "compare": ["--target", "--id", "--view", "--delimiter", "--encoding", "--na-values", "--seed", "--runs",
        "--train-size",
                "--noise", "--scoring", "--methods", "--group"],
    "inspect": ["--nonsense"],
}  # fmt: skip
OUTPUTS = [*["{}/out{}"] * 40, "{}", "{}/no/out{}", "{}/" + "o" * 300 + "{}", "{}/out.xyz", "-", "", "{}/data.csv"]
SUFFIXES = {"fit": ".fuse", "predict": ".csv", "report": ".html", "compare": ".md"}
N_ROWS = 24


class OddInput:
    """A command line with its files, of a number: the same number makes the same one."""

    def __init__(self, number, folder, model):
        self.rng = np.random.default_rng([16, number])
        self.folder, self.model, self.input = folder, model, None
        command = self.choice(["fit"] * 6 + ["predict"] * 6 + ["report", "report", "compare", "compare", "inspect"])
        data = self.data()
        options = ["--target", "kind", "--id", "id"] if command in ("fit", "compare") else []
        if command == "fit":
            options += ["--method", "shareboost", "--set", "n_estimators=2", "--set", "estimator=stump"]
        if command == "compare":
            options += ["--methods", "shareboost", "--runs", "1"]
        for _ in range(self.choice([0, 0, 1, 1, 2])):
            option = self.choice(OF_COMMAND[command])
            value = self.choice(OPTIONS[option])
            if option in options and self.rng.random() < 0.8:
                options[options.index(option) + 1] = value
            else:
                options += [option, value]
        if command in SUFFIXES and self.rng.random() < 0.95:
            options += ["--output", self.choice(OUTPUTS).format(folder, SUFFIXES[command])]
        if self.rng.random() < 0.2:
            options += [self.choice(["--json", "--force", "--allow-missing-columns", "--help", "--version"])]
        words = {"predict": [self.model_path(), data], "inspect": [self.model_path()]}.get(command, [data])
        if command == "report":
            words = [self.model_path(), "--data", data]
        self.arguments = [command, *words, *options]

    def choice(self, values):
        """Return one of the values."""
        return values[self.rng.integers(len(values))]

    def model_path(self):
        """Return the path of a model, or of what is none."""
        kind = self.rng.random()
        if kind < 0.8:
            return str(self.model)
        path = self.folder / "model.fuse"
        content = bytearray(self.model.read_bytes())
        if kind < 0.95:
            for place in self.rng.integers(0, len(content), size=self.rng.integers(1, 20)):
                content[place] = self.rng.integers(256)
            path.write_bytes(bytes(content[: self.rng.integers(1, len(content))] if kind < 0.85 else content))
            return str(path)
        return self.choice([str(self.folder), "", "-", "nowhere.fuse", "m" * 300, str(self.folder / "data.csv")])

    def data(self):
        """Write a file, mostly one with something odd in it; return its path, or a path to nothing."""
        kind = self.choice(["text"] * 9 + ["typed"] * 5 + ["nothing"])
        if kind == "nothing":
            return self.choice(
                [str(self.folder), "", "nowhere.csv", "n" * 300 + ".csv", "zero\0.csv", "-", "/dev/null"]
            )
        suffix = self.choice(["csv", "csv", "csv.gz", "tsv", "-"] if kind == "text" else ["parquet", "feather"])
        content = self.text(suffix) if kind == "text" else self.typed(suffix)
        if suffix == "csv.gz":
            content = gzip.compress(content)
        if self.rng.random() < 0.15:
            content = self.damaged(content)
        if suffix == "-":
            self.input = content
            return "-"
        path = self.folder / f"data.{suffix}"
        path.write_bytes(content)
        return str(path)

    def columns(self):
        """Return the columns of a table of which something can be learnt, as texts."""
        y = np.arange(N_ROWS) % 2
        columns = {"id": [f"p{number}" for number in range(N_ROWS)]}
        columns |= {
            f"a_{number}": (self.rng.normal(size=N_ROWS) + y).round(3).astype(str).tolist() for number in range(3)
        }
        columns["b_0"] = self.rng.choice(["north", "south"], size=N_ROWS).tolist()
        columns["g"] = [str(number % 6) for number in range(N_ROWS)]
        columns["kind"] = np.array(["well", "ill"])[y].tolist()
        return columns

    def text(self, suffix):
        """Return a table as text, with odd cells, names and lines."""
        columns = self.columns()
        for _ in range(self.choice([0, 0, 1, 1, 2, 3])):
            column = self.choice(list(columns))
            rows = range(N_ROWS) if self.rng.random() < 0.3 else [self.rng.integers(N_ROWS)]
            cell = self.choice(CELLS)
            for row in rows:
                columns[column][row] = cell
        names = list(columns)
        if self.rng.random() < 0.15:
            names[self.rng.integers(len(names))] = self.choice(NAMES)
        lines = [names, *zip(*columns.values())][: self.choice([1, 2, *[N_ROWS + 1] * 12])]
        sign = self.choice(["\t" if suffix == "tsv" else ","] * 9 + [";"])
        quoted = self.rng.random() < 0.8

        def cell_text(cell):
            odd = any(character in cell for character in f'{sign}"\r\n')
            return '"' + cell.replace('"', '""') + '"' if quoted and odd else cell

        texts = [sign.join(map(cell_text, line)) for line in lines]
        for _ in range(self.choice([0, 0, 0, 0, 0, 1, 3])):
            texts.insert(self.rng.integers(len(texts) + 1), self.choice(["", " ", sign, sign * 20, '"', "a", sign * 6]))
        text = self.choice([*["\n"] * 8, *["\r\n"] * 4, "\r"]).join(texts) + self.choice(["\n", "", "\n\n\n", "\r\n"])
        return text.encode(self.choice(["utf-8"] * 20 + ["utf-8-sig", "utf-16", "utf-32"]))

    def typed(self, suffix):
        """Return a table as Parquet or Feather, with columns of odd types."""
        columns = self.columns()
        table = {name: [float(cell) for cell in cells] if name[0] == "a" else cells for name, cells in columns.items()}
        numbers = np.arange(N_ROWS)
        odd = [
            pa.array(numbers % 2 == 0), pa.array(numbers, pa.uint64()), pa.array(numbers + 2.0**60), pa.nulls(N_ROWS),
            pa.nulls(N_ROWS, pa.bool_()), pa.array([None, *numbers[1:].tolist()]), pa.array([[1]] * N_ROWS),
            pa.array([{"a": 1}] * N_ROWS), pa.array([b"\xff"] * N_ROWS), pa.array(numbers, pa.timestamp("s")),
            pa.array(numbers, pa.duration("s")), pa.array(columns["b_0"]).dictionary_encode(),
            pa.array(columns["a_0"]), pa.array(numbers.astype(np.float32) / 7),
            pa.array(numbers % 2).dictionary_encode(),
            pa.array(["", None] * (N_ROWS // 2)), pa.array([float("nan")] * N_ROWS),
            pa.array([float("inf")] * N_ROWS),
            pa.array(columns["a_0"], pa.large_string()), pa.array(numbers.astype(str)).cast(pa.decimal128(10, 2)),
            pa.array([self.choice(CELLS) for _ in numbers]), pa.array(numbers, pa.int32()).cast(pa.date32()),
        ]  # fmt: skip
        for _ in range(self.rng.integers(0, 3)):
            table[self.choice([*columns, *NAMES])] = self.choice(odd)
        table = pa.table(table).slice(0, self.choice([0, 1, *[N_ROWS] * 8]))
        written = io.BytesIO()
        if suffix == "parquet":
            parquet.write_table(table, written, row_group_size=10)
        else:
            feather.write_feather(table, written, chunksize=10)
        return written.getvalue()

    def damaged(self, content):
        """Return bytes of which some are changed, lost or added."""
        content = bytearray(content)
        for _ in range(self.rng.integers(1, 8)):
            place = self.rng.integers(len(content) + 1)
            how = self.rng.integers(3)
            if how == 0:
                content[place : place + 1] = bytes([self.rng.integers(256)])
            elif how == 1:
                del content[place : place + self.rng.integers(1, 30)]
            else:
                content[place:place] = self.choice(
                    [b"\x00", b"\xff\xfe", b'"', b"\r", b"\n\n", b"\xef\xbb\xbf", b"PAR1"]
                )
        return bytes(content)


def write_model_data(path):
    """Write the table that the model is fitted on."""
    rng = np.random.default_rng(16)
    y = np.arange(40) % 2
    table = {"id": [f"p{number}" for number in range(40)]}
    table |= {f"a_{number}": rng.normal(size=40) + y for number in range(3)}
    table |= {"b_0": rng.choice(["north", "south"], size=40), "kind": np.array(["well", "ill"])[y]}
    csv.write_csv(pa.table(table), path)
