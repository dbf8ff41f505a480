"""`ironcurtain compile`: from a constitution to a verified, published bundle."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ironcurtain.errors import Exit
from ironcurtain.llm.providers import MANUAL, provider_for
from ironcurtain.opa.locate import find
from ironcurtain.pipeline.build import Options, build
from ironcurtain.pipeline.load import Sources
from ironcurtain.pipeline.progress import Lines, Progress, Silent
from ironcurtain.settings import defaults, find_settings, load_settings

_PATHS = {
    "constitution": "The constitution, in Markdown.",
    "servers": "The servers' configuration, mcp-servers.json.",
    "scenarios": "Handwritten scenarios: the ground truth.",
    "lists": "Named lists, kept by hand.",
    "confirmations": "What people confirmed about arguments and tools.",
    "custom": "Directory of the project's own Rego modules.",
    "questions": "Directory for questions that a person answers.",
}


def _load_defaults(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Put what ironcurtain.toml says below flags and environment, where click looks for defaults."""
    path = Path(value) if value else find_settings(Path.cwd())
    settings = load_settings(path)
    ctx.default_map = {**(ctx.default_map or {}), **defaults(path, settings)}
    ctx.obj = (path.absolute().parent if path else Path.cwd(), settings)
    return value


def _variables(name: str) -> list[str]:
    """Return the environment variables of an option, the one of this command first."""
    return [f"IRONCURTAIN_COMPILE_{name.upper()}", f"IRONCURTAIN_{name.upper()}"]


def _path_options(function: click.decorators.FC) -> click.decorators.FC:
    for name, text in reversed(_PATHS.items()):
        function = click.option(f"--{name}", metavar="PATH", envvar=_variables(name), help=text)(function)
    return function


@click.command("compile", short_help="Compile a constitution into a verified bundle.")
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
    "--model", metavar="ID", envvar=_variables("model"), help="manual, anthropic:ID, or an Anthropic id."
)
@click.option(
    "--serial", type=click.IntRange(min=0), envvar=_variables("serial"), help="Number of this policy."
)
@click.option("--locked", is_flag=True, help="Use kept answers only; fail where one is missing.")
@click.option("--saved-tools", is_flag=True, help="Prefer saved tool lists over live servers.")
@click.option("--opa", metavar="PATH", help="The OPA executable (default: see `ironcurtain opa which`).")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing when all is well.")
@click.pass_context
def command(ctx: click.Context, /, **options: str | int | None) -> Exit:
    """Compile a constitution and the tools of MCP servers into a verified OPA bundle.

    The result is published as a whole, and only if every scenario comes true; otherwise what was there
    before stays as it is. Paths in ironcurtain.toml are relative to that file.

    \b
    Examples:
      ironcurtain compile --model manual
      ironcurtain compile --locked

    \b
    Exit: 0 published, 1 a scenario fails or OPA rejects the policy, 2 wrong settings or files,
    3 a server, model or the engine fails, 4 a question waits for a person.
    """  # noqa: D301 - click reads the escape
    root, settings = ctx.obj
    sources = _sources(root, options)
    model = str(options["model"] or MANUAL)
    questions = Path(str(options["questions"]))
    build_options = Options(
        provider=None if options["locked"] else lambda: provider_for(model, questions=questions),
        serial=int(options["serial"] or 0),
        case_insensitive_hosts=frozenset(settings.case_insensitive_hosts),
        roles=settings.roles,
        saved_tools=bool(options["saved_tools"]),
    )
    opa = find(Path(str(options["opa"])) if options["opa"] else None)
    progress: Progress = Silent() if options["quiet"] else Lines(sys.stderr)
    built = build(sources, build_options, opa, progress)
    if not options["quiet"]:
        for finding in built.findings:
            progress.show(f"finding: {finding}")
        progress.show(f"published {sources.output.name}, revision {built.bundle.revision}")
    return Exit.YES


def _sources(root: Path, options: dict[str, str | int | None]) -> Sources:
    paths = {name: Path(str(options[name])) for name in (*_PATHS, "output") if options[name] is not None}
    questions = paths.pop("questions")
    return Sources(root=root, pending=questions / "kept", custom=paths.pop("custom", None), **paths)
