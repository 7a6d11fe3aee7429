"""What a command tells beside its result."""

import typer

from fuselearn.cli.refusal import one_line


class Notes:
    """Lines for the user: on stderr as they come or, for a script, in the JSON object at the end.

    Parameters
    ----------
    quiet : bool
        Whether to keep them for the JSON object.
    """

    def __init__(self, quiet):
        self.quiet = quiet
        self.lines = []

    def tell(self, line):
        """Tell a line once, however often it comes."""
        line = one_line(line)
        if line in self.lines:
            return
        self.lines.append(line)
        if not self.quiet:
            typer.echo(line, err=True)
