"""The command line: finds the command, runs it, and turns its outcome into text and an exit status.

Each command is one file beside this one and is loaded only when it is used. A command returns an
`Exit`; every failure arrives here as an exception and leaves on stderr with its own exit code.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence

import click

from ironcurtain.cli.problems import print_error
from ironcurtain.errors import Exit, IronCurtainError

# name -> (module, summary): the summary stands here so that `--help` loads no command.
COMMANDS = {
    "bundle": ("ironcurtain.cli.bundle", "Build a bundle from rules and annotations, without a model."),
    "compile": ("ironcurtain.cli.compile", "Compile a constitution into a verified bundle."),
    "decide": ("ironcurtain.cli.decide", "Decide tool calls on an embedded engine."),
    "input": ("ironcurtain.cli.input", "Print the policy input that OPA gets for a call."),
    "opa": ("ironcurtain.cli.opa", "Find or install the policy engine."),
    "schema": ("ironcurtain.cli.schema", "Print the JSON Schema of a file or output."),
    "tools": ("ironcurtain.cli.tools", "Print the tool list of an MCP server."),
    "verify": ("ironcurtain.cli.verify", "Check, test and verify a bundle, without a model."),
}

EXIT_CODES = """\b
Exit codes:
  0   yes: allowed, verified, no difference
  1   no: denied, failed, differs
  2   usage or configuration
  3   could not answer: engine, model, I/O, integrity
  4   a person must decide: escalate, open question
  70  a bug
  130 interrupted
"""


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are run or asked for their own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        command.epilog = command.epilog or EXIT_CODES
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in sorted(COMMANDS.items())])


@click.group(cls=_LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ironcurtain", message="%(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of a failure.")
def cli(*, debug: bool) -> None:
    """Plain-English rules for AI agents' tool calls, compiled to a verified OPA bundle.

    \b
    Example:
      ironcurtain decide --bundle generated/bundle --sandbox work \\
        filesystem read_text_file '{"path": "notes.txt"}'
    """  # noqa: D301 - click reads the escape
    del debug  # read from the arguments, since it must also work when parsing fails


def run(arguments: Sequence[str]) -> Exit:
    """Run one command line; return its exit status. Prints failures to stderr."""
    debug = "--debug" in arguments
    try:
        status = cli.main(args=list(arguments), prog_name="ironcurtain", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our results has gone; keep the interpreter from failing once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.NO_ANSWER
    except Exception as error:  # noqa: BLE001 - the last line of defence: a bug has its own status
        return _failed(error, debug=debug)
    return status if isinstance(status, Exit) else Exit(status or 0)


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))


def _failed(error: Exception, *, debug: bool) -> Exit:
    if debug:
        traceback.print_exc()
    if isinstance(error, IronCurtainError):
        return print_error(error)
    click.echo(
        f"error[IC0001]: a bug in IronCurtain: {type(error).__name__}\n"
        "  hint: run it again with --debug and report what it prints",
        err=True,
    )
    return Exit.BUG
