"""`ironcurtain compile`: from a constitution to a verified, published bundle."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options import FORMAT, KEY, OPA, QUIET, SIGN, F
from ironcurtain.errors import Exit

_PATHS = {
    "constitution": "The constitution, in Markdown.",
    "user_constitution": "Your own guidance, which supersedes the constitution.",
    "servers": "The servers' configuration, mcp-servers.json.",
    "scenarios": "Handwritten scenarios: the ground truth.",
    "lists": "Named lists, kept by hand.",
    "confirmations": "What people confirmed about arguments and tools.",
    "guarantees": "Statements that the policy has to keep.",
    "custom": "Directory of the project's own Rego modules.",
    "questions": "Directory for questions that a person answers.",
}


def _load_defaults(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Put what ironcurtain.toml says below flags and environment, where click looks for defaults."""
    ctx.obj, values = lazy.load("compile").read_settings(value)
    ctx.default_map = {**(ctx.default_map or {}), **values}


def _variables(name: str) -> list[str]:
    """Return the environment variables of an option, the one of this command first."""
    return [f"IRONCURTAIN_COMPILE_{name.upper()}", f"IRONCURTAIN_{name.upper()}"]


def _path_options(function: F) -> F:
    for name, text in reversed(_PATHS.items()):
        flag = f"--{name.replace('_', '-')}"
        function = click.option(flag, metavar="PATH", envvar=_variables(name), help=text)(function)
    return function


@click.command()
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_load_defaults,
    envvar=_variables("config"),
    help="Settings (default: the nearest ironcurtain.toml upwards).",
)
@_path_options
@click.option(
    "-o", "--output", metavar="DIR", envvar=_variables("output"), help="Where the result is published."
)
@click.option(
    "--model",
    metavar="ID",
    envvar=_variables("model"),
    help="manual, anthropic:ID, openai:ID, google:ID, or an Anthropic id.",
)
@click.option(
    "--judge-model",
    metavar="ID",
    envvar=_variables("judge_model"),
    help="Who judges failed scenarios, if not --model.",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    envvar=_variables("max_cost"),
    help="Stop before a call that could exceed this sum.",
)
@click.option(
    "--serial", type=click.IntRange(min=0), envvar=_variables("serial"), help="Number of this policy."
)
@click.option(
    "--intent/--no-intent",
    default=None,
    envvar=_variables("intent"),
    help="Ask for scenarios of what the author means, and hold the rules against them.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 9),
    envvar=_variables("runs"),
    help="Compile the rules as often as this, and compare the results.",
)
@click.option(
    "--second-model",
    metavar="ID",
    envvar=_variables("second_model"),
    help="Who answers in the second and later runs, if not --model.",
)
@click.option(
    "--refresh",
    type=click.Choice(["annotate", "clauses", "rules", "lists", "intent", "judge", "repair"]),
    multiple=True,
    help="Ask the questions of a stage anew; repeatable.",
)
@click.option("--locked", is_flag=True, help="Use kept answers only; fail where one is missing.")
@click.option("--offline", is_flag=True, help="Ask no model and start no server: kept answers, saved tools.")
@click.option("--saved-tools", is_flag=True, help="Prefer saved tool lists over live servers.")
@SIGN
@KEY
@OPA
@FORMAT
@QUIET
@click.pass_obj
def command(settings: object, /, **options: object) -> Exit:
    """Compile a constitution and the tools of MCP servers into a verified OPA bundle.

    The result is published as a whole, and only if every scenario comes true; otherwise what was there
    before stays as it is. Paths in ironcurtain.toml are relative to that file. With --format json the
    verification is printed.

    \b
    Examples:
      ironcurtain compile --model manual
      ironcurtain compile --model claude-sonnet-5-5 --max-cost 2
      ironcurtain compile --locked

    \b
    Exit: 0 published, 1 a scenario fails or OPA rejects the policy, 2 wrong settings or files,
    3 a server, model or the engine fails, 4 a question waits for a person (see `ironcurtain answer`).
    """  # noqa: D301 - click reads the escape
    return lazy.run("compile", settings=settings, **options)
