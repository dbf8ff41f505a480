"""Run by an installed program's own interpreter: the first page of every command, in an empty directory.

Prints what each ended with, as JSON: a list of `[command, what it printed as an error, exit code]`.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Self

import click

from ironcurtain.cli.main import cli, run

SERVING: dict[tuple[str, ...], list[str]] = {("web",): ["--port", "none"]}
"""What serves until it is ended gets an option that is wrong instead."""


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every command below a group by its words."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


def main() -> None:
    """Print the first pages."""
    found = []
    for path in commands(cli):
        for more in (["--help"], SERVING.get(path, [])):
            with tempfile.TemporaryDirectory() as empty, Printed() as printed:
                os.chdir(empty)
                code = run([*path, *more])
                os.chdir("/")
            found.append([" ".join([*path, *more]), printed.said, int(code)])
    json.dump(found, sys.stdout)


class Printed(contextlib.ExitStack):
    """What is printed meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.out, self.err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
        self.said = ""

    def __enter__(self) -> Self:
        self.enter_context(contextlib.redirect_stdout(self.out))
        self.enter_context(contextlib.redirect_stderr(self.err))
        self.callback(self._read)
        return self

    def _read(self) -> None:
        self.err.flush()
        self.said = self.err.buffer.getvalue().decode()


if __name__ == "__main__":
    main()
