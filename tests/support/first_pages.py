"""Run by an installed program's own interpreter: the first page of every command, in an empty directory.

Prints what each ended with, as JSON: a list of `[command, what it printed as an error, exit code]`.
"""

import contextlib
import io
import json
import os
import sys
import tempfile

import click

from ironcurtain.cli.main import cli, run


def commands(group, path=()):
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


def main():
    found = []
    for path in commands(cli):
        for more in (["--help"], []):
            with tempfile.TemporaryDirectory() as empty, Printed() as printed:
                os.chdir(empty)
                code = run([*path, *more])
                os.chdir("/")
            found.append([" ".join([*path, *more]), printed.err.getvalue(), int(code)])
    json.dump(found, sys.stdout)


class Printed(contextlib.ExitStack):
    """What is printed meanwhile."""

    def __enter__(self):
        self.out, self.err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
        self.enter_context(contextlib.redirect_stdout(self.out))
        self.enter_context(contextlib.redirect_stderr(self.err))
        return self

    def __exit__(self, *details):
        self.err.flush()
        text = self.err.buffer.getvalue().decode()
        self.err = io.StringIO(text)
        return super().__exit__(*details)


if __name__ == "__main__":
    main()
