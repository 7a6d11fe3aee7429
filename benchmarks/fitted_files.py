"""Files of a fusion as users have them: rows in CSV, and a model that ``fuselearn fit`` saved."""

import csv
import subprocess
import sys

from fuselearn.datasets import make_views

N_VIEWS, N_ROWS = 3, 400


def fuselearn(*arguments):
    """Return the command that runs the command line of the fuselearn that is measured."""
    return [sys.executable, "-c", "from fuselearn.cli import main; main()", *map(str, arguments)]


def view_widths(n_columns):
    """Return the number of columns of each view, alike up to one column, by name."""
    return {f"view{view}": (n_columns + view) // N_VIEWS for view in range(N_VIEWS)}


def fit_fusion(folder, n_columns):
    """Fit a FusionClassifier to a CSV file in a folder; return the files of the model and of its rows without classes.

    Parameters
    ----------
    folder : Path
        Is made where it does not exist.
    n_columns : int
        Number of columns of all views.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = make_views(N_ROWS, views=view_widths(n_columns), random_state=0)
    labelled, rows, model = folder / "labelled.csv", folder / "rows.csv", folder / "model.fuse"
    write_csv(labelled, [*data.feature_names, "class"], [[*row, f"c{label}"] for row, label in zip(data.X, data.y)])
    write_csv(rows, data.feature_names, data.X)
    subprocess.run(
        fuselearn("fit", labelled, "--target", "class", "--output", model), check=True, stdout=subprocess.DEVNULL
    )
    return model, rows


def write_csv(path, header, rows):
    """Write a header and rows."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def first_lines(path, n_rows):
    """Return the text of a CSV file's header and first rows."""
    with open(path, encoding="utf-8") as file:
        return "".join(line for line, _ in zip(file, range(1 + n_rows)))
