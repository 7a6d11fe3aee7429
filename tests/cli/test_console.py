"""Progress, and what else a command tells on stderr."""

from fuselearn import ShareBoostClassifier
from fuselearn.cli import console
from tests.cli.patients import VIEWS, numbers


def test_rounds_are_shown_as_they_are_done(table, monkeypatch):
    seen = []

    class Bar:
        def __init__(self, description, total=None):
            assert (description, total) == ("fitting it", 4)

        def __enter__(self):
            return lambda done=None, total=None: seen.append((done, total))

        def __exit__(self, *error):
            return False

    monkeypatch.setattr(console, "progress_bar", Bar)
    model = ShareBoostClassifier(views=VIEWS, n_estimators=4)
    with console.fit_shown(model, "it"):
        model.fit(numbers(table), table.column("outcome").to_pylist())
    assert seen == [(number, 4) for number in range(1, 5)]
    assert model.verbose == 0
