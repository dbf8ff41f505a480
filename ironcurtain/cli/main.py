"""The command line: finds the command, runs it, and turns its outcome into text and an exit status.

Each command is one file in the package of its group and is loaded only when it is used. A command returns an
`Exit`; every failure arrives here as an exception and leaves on stderr with its own exit code.
"""

from __future__ import annotations

import gc
import importlib
import io
import itertools
import os
import sys
from collections.abc import Sequence

import click

from ironcurtain.cli.options.options import ARGUMENTS
from ironcurtain.cli.output import display
from ironcurtain.cli.output.problems import is_interrupt, print_failure
from ironcurtain.errors import Exit
from ironcurtain.system.interrupts import interrupts_kept
from ironcurtain.system.text import did_you_mean, quoted

# heading -> name -> summary: it stands here so that `--help` loads no command. The first word of a heading
# is the package of its commands.
GROUPS = {
    "Author a policy": {
        "init": "Write the files of a new project.",
        "lint": "Check a constitution for likely mistakes, without a model.",
        "compile": "Compile a constitution into a verified bundle.",
        "annotate": "Annotate the arguments of the servers' tools with roles.",
        "answer": "List and answer the open questions of a compile.",
        "lists": "Show and change the lists that rules refer to.",
        "customize": "Edit your own guidance by saying what should change.",
        "bundle": "Build a bundle from rules and annotations, without a model.",
        "lsp": "Run the language server for editors.",
        "schema": "Print the JSON Schema of a file or output.",
    },
    "Review it": {
        "verify": "Run all checks on a bundle: the gate for CI.",
        "matrix": "Print what a policy decides, tool by tool.",
        "guarantees": "Check a policy's guarantees over all calls.",
        "diff": "Show which calls two policies decide differently.",
        "explain": "Explain a decision, and show similar calls that are allowed.",
        "decide": "Decide tool calls on an embedded engine.",
        "input": "Print the policy input that OPA gets for a call.",
        "findings": "Report likely mistakes in a policy: dead rules, gaps, evasions.",
        "coverage": "Report how much of a policy scenarios and guarantees test.",
        "mutation": "Report which mutations of a policy its tests would miss.",
        "attack": "Search for spellings of calls that evade a policy.",
        "narrow": "Print each tool's schema, reduced to what a policy could permit.",
        "blame": "Name the sentence and the commit that first permitted a call.",
        "replay": "Decide recorded calls under another bundle.",
        "advise": "Propose sentences that fit what audit logs show, each proved.",
        "forecast": "Estimate how many approvals a session needs, by clause.",
    },
    "Run agents behind it": {
        "start": "Start an agent of your own, each call decided by a policy.",
        "sessions": "List, show and remove agent sessions.",
        "proxy": "Enforce a policy between an agent and its MCP servers.",
        "pdp": "Decide about calls that clients carry out themselves.",
        "wrap": "Run a client's MCP servers behind the proxy.",
        "unwrap": "Restore a wrapped client's configuration.",
        "approvals": "Show and answer calls that wait for approval.",
        "web": "Show waiting calls and decisions in a browser.",
        "status": "Show the running proxies.",
        "servers": "Show, add and remove the MCP servers of a project.",
        "tools": "Print the tool list of an MCP server.",
        "drift": "List tools that changed since they were annotated.",
        "serve": "Serve tools of your own, declared in Python.",
        "preview": "Filter a sample answer by its output policy, with reasons.",
    },
    "Operate it": {
        "audit": "Read, verify and sum up audit logs, and make receipts of calls.",
        "key": "Make and show the keys that bundles are signed with.",
        "publish": "Put a signed bundle where OPA fetches it.",
        "pull": "Fetch a bundle from an OCI registry.",
        "doctor": "Diagnose the installation and print fixes.",
        "opa": "Find or install the policy engine.",
        "error": "Print the page of an error, as IC3201.",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
_PACKAGES = {name: heading.split()[0].lower() for heading, group in GROUPS.items() for name in group}

_OBJECTS_BETWEEN_COLLECTIONS = 400_000

EXIT_CODES = """\b
Exit codes:
  0   yes: allowed, verified, proved to be no looser
  1   no: denied, failed, differs
  2   wrong usage or configuration
  3   no answer could be given: engine, model, input or output, integrity; not proved, not examined
  4   a person must decide: escalate, open question
  70  a bug in IronCurtain
  130 interrupted
"""


def command_of(name: str) -> click.Command:
    """Import and return a command."""
    command: click.Command = importlib.import_module(f"ironcurtain.cli.{_PACKAGES[name]}.{name}").command
    return command


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are run or asked for their own help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = tuple(args)  # for what runs a command again
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        return command_of(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"There is no command {quoted(args[0])}. {did_you_mean(args[0], COMMANDS)}".rstrip())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", summary) for name, summary in commands.items()])


@click.group(cls=_LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ironcurtain", message="%(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of a failure.")
@click.option(
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours: on a terminal, always, or never; NO_COLOR and FORCE_COLOR count, too.",
)
def cli(*, debug: bool, colour: display.Colour) -> None:
    """Plain-English rules for AI agents' tool calls, compiled to a verified OPA bundle.

    \b
    Example:
      ironcurtain decide --bundle generated/bundle --sandbox work \\
        filesystem read_text_file '{"path": "notes.txt"}'
    """  # noqa: D301 - click reads the escape
    del debug  # read from the arguments, since it must also work when parsing fails
    display.choose(colour)


def run(arguments: Sequence[str]) -> Exit:
    """Run one command line; return its exit status. Prints failures to stderr."""
    own_options = itertools.takewhile(lambda argument: argument.startswith("-"), arguments)
    debug = "--debug" in own_options
    try:
        with interrupts_kept():
            status = cli.main(args=list(arguments), prog_name="ironcurtain", standalone_mode=False)
    except click.Abort:  # click has ended the line that ^C stands in
        return _interrupted()
    except KeyboardInterrupt:
        click.echo(err=True)
        return _interrupted()
    except BrokenPipeError:
        _give_up_stdout()
        return Exit.NO_ANSWER
    except Exception as error:  # noqa: BLE001 - the last line of defence: a bug has its own status
        if is_interrupt(error):
            click.echo(err=True)
            return _interrupted()
        return print_failure(error, debug=debug)
    return status if isinstance(status, Exit) else Exit(status or 0)


def _interrupted() -> Exit:
    click.echo("interrupted", err=True)
    return Exit.INTERRUPTED


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Whatever the locale: JSON is UTF-8, and a character must never turn a result into a failure.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    display.stand_before_terminals()
    # No package that lies beside us sees what we validate, nor are all of them searched for one that would.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # What a command imports and reads stays: looking for garbage in it costs up to a fifth of its time.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    status = run(sys.argv[1:])
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # told already, by whoever wrote what is still there
        _give_up_stdout()
    # Nor is it looked through once more for the sake of memory that the system takes back anyway.
    gc.freeze()
    sys.exit(status)


def _give_up_stdout() -> None:
    """Nobody can be given our results: keep the interpreter from failing once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
