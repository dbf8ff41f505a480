"""`ironcurtain compile`: from a constitution to a verified, published bundle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import ARGUMENTS, FORMAT, KEY, OPA, QUIET, SIGN, F, Number
from ironcurtain.errors import Exit

_PATHS = {
    "constitution": "The constitution, in Markdown.",
    "user_constitution": "Your own guidance, which takes precedence over the constitution.",
    "servers": "The servers' configuration, mcp-servers.json.",
    "scenarios": "Handwritten scenarios, the ground truth.",
    "lists": "Named lists, kept by hand.",
    "confirmations": "Confirmations of arguments and tools.",
    "guarantees": "Guarantees that the policy must keep.",
    "custom": "Directory of the project's own Rego modules.",
    "questions": "Directory for questions that a person answers.",
}


def _load_defaults(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Put what ironcurtain.toml says below flags and environment, where click looks for defaults."""
    ctx.obj, values = lazy.load("author.compile").read_settings(value)
    ctx.default_map = {**(ctx.default_map or {}), **values}


def variables(name: str) -> list[str]:
    """Return the environment variables of an option, the one of this command first."""
    return [f"IRONCURTAIN_COMPILE_{name.upper()}", f"IRONCURTAIN_{name.upper()}"]


def _setting(flag: str, *short: str, **how: Any) -> Callable[[F], F]:  # noqa: ANN401 - what click takes
    """Declare an option that environment variables can set, too."""
    name = flag.removeprefix("--").partition("/")[0].replace("-", "_")
    return click.option(*short, flag, envvar=variables(name), **how)


def _path_options(function: F) -> F:
    for name, text in reversed(_PATHS.items()):
        function = _setting(f"--{name.replace('_', '-')}", metavar="PATH", help=text)(function)
    return function


@click.command()
@_setting(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_load_defaults,
    help="Settings (default: the nearest ironcurtain.toml upwards).",
)
@_path_options
@_setting("--output", "-o", metavar="DIR", help="Where the result is published.")
@_setting("--model", metavar="ID", help="manual, anthropic:ID, openai:ID, google:ID, or an Anthropic id.")
@_setting("--judge-model", metavar="ID", help="The model that judges failed scenarios (default: --model).")
@_setting(
    "--max-cost",
    type=Number(min=0),
    metavar="USD",
    help="Stop before a call that could exceed this sum.",
)
@_setting("--serial", type=click.IntRange(min=0), help="Number of this policy.")
@_setting(
    "--intent/--no-intent",
    default=None,
    help="Ask for scenarios of the author's intent, and test the rules with them.",
)
@_setting(
    "--runs", type=click.IntRange(1, 9), help="Compile the rules as often as this, and compare the results."
)
@_setting("--second-model", metavar="ID", help="The model of the second and later runs (default: --model).")
@click.option(
    "--refresh",
    type=click.Choice(["annotate", "clauses", "rules", "lists", "intent", "judge", "repair"]),
    multiple=True,
    help="Ask the questions of a stage anew; repeatable.",
)
@click.option("--locked", is_flag=True, help="Use kept answers only; fail where one is missing.")
@click.option("--offline", is_flag=True, help="Ask no model and start no server: kept answers, saved tools.")
@click.option("--saved-tools", is_flag=True, help="Prefer saved tool lists over live servers.")
@click.option("--watch", is_flag=True, help="Compile again whenever a source changes; Ctrl-C ends.")
@SIGN
@KEY
@OPA
@FORMAT
@QUIET
@click.option("--brief", is_flag=True, hidden=True, help="Report failures alone, as a round of --watch does.")
@click.pass_context
def command(ctx: click.Context, /, *, watch: bool, **options: object) -> Exit:
    """Compile a constitution and the tools of MCP servers into a verified OPA bundle.

    The result is published atomically, and only if every scenario passes; otherwise the published policy
    stays unchanged. Paths in ironcurtain.toml are relative to that file. With --format json the
    verification is printed. With --watch each round says in short what came of it, and what is decided
    otherwise than before; a round that fails leaves the last published policy as it is.

    \b
    Examples:
      ironcurtain compile --model manual
      ironcurtain compile --model claude-sonnet-5-5 --max-cost 2
      ironcurtain compile --locked
      ironcurtain compile --watch

    \b
    Exit: 0 published, 1 a scenario fails or OPA rejects the policy, 2 wrong settings or files,
    3 a server, model or the engine fails, 4 a question waits for a person (see `ironcurtain answer`).
    """  # noqa: D301 - click reads the escape
    if watch:
        given = {name: options[name] for name in (*_PATHS, "output") if _is_given(ctx, name)}
        return lazy.run("author.compile_watch", project=ctx.obj, given=given, arguments=ctx.meta[ARGUMENTS])
    return lazy.run("author.compile", settings=ctx.obj, **options)


def _is_given(ctx: click.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source in (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)
