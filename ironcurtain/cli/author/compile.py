"""`ironcurtain compile`: from a constitution to a verified, published bundle."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ironcurtain.cli.author.compile_settings import read_settings, read_sources
from ironcurtain.cli.options.options import ARGUMENTS, FORMAT, KEY, OPA, QUIET, SIGN, F, Number
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, UsageError

if TYPE_CHECKING:
    from ironcurtain.cli.options.project import Project
    from ironcurtain.compiler.build import Built
    from ironcurtain.compiler.llm.ledger import Ledger
    from ironcurtain.compiler.progress import Progress
    from ironcurtain.compiler.verify.baseline import Baseline
    from ironcurtain.compiler.verify.gate_judgement import Gate, GateOutcome
    from ironcurtain.engine.locate import Opa
    from ironcurtain.integrations.gate.reading import Standards
    from ironcurtain.servers.tool_lists.ahead import ListsAhead

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
    ctx.obj, values = read_settings(value)
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
def command(
    ctx: click.Context,
    /,
    *,
    watch: bool,
    model: str,
    judge_model: str | None,
    max_cost: float | None,
    serial: int,
    intent: bool | None,
    runs: int | None,
    second_model: str | None,
    refresh: tuple[str, ...],
    locked: bool,
    offline: bool,
    saved_tools: bool,
    sign: bool,
    key: str | None,
    opa: str | None,
    format_: str,
    quiet: bool,
    brief: bool,
    **paths: str | None,
) -> Exit:
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
    settings: Project = ctx.obj
    if watch:
        from ironcurtain.cli.author.compile_watch import watch_compile

        given = {name: paths[name] for name in (*_PATHS, "output") if _is_given(ctx, name)}
        return watch_compile(settings, given, ctx.meta[ARGUMENTS])
    _require_asking(refresh, asks_no_model=locked or offline)
    with _lists_ahead(str(paths["servers"]), saved=saved_tools, offline=offline) as ahead:
        # Only now: servers start while all this is loaded.
        from ironcurtain.cli.options.signing import chosen_signer
        from ironcurtain.compiler.build import build
        from ironcurtain.compiler.llm.ledger import Ledger
        from ironcurtain.compiler.llm.providers.choose import provider_for
        from ironcurtain.compiler.llm.question import MANUAL
        from ironcurtain.compiler.load.sources import sources_of
        from ironcurtain.compiler.options import Options
        from ironcurtain.compiler.rules.directories import canonical_directories
        from ironcurtain.decision.roles import Registry
        from ironcurtain.engine.locate import find
        from ironcurtain.integrations.gate.reading import Standards

        sources = read_sources(settings.root, paths)
        questions = Path(str(paths["questions"]))
        ledger = Ledger(None if max_cost is None else Decimal(str(max_cost)))
        # A person who answers from files needs no network.
        asks = [each for each in (model, judge_model, second_model) if each is not None and each != MANUAL]
        silent = locked or (offline and bool(asks))
        make = partial(provider_for, judge_model=judge_model, questions=questions, ledger=ledger)
        engine = find(Path(opa) if opa is not None else None)
        standards = Standards(settings.root, settings.settings)
        options = Options(
            provider=None if silent else partial(make, model),
            gate=_gate(standards, sources.output, engine),
            serial=serial,
            case_insensitive_hosts=frozenset(settings.settings.case_insensitive_hosts),
            sources=sources_of(sources, settings.settings),
            roles=settings.settings.roles,
            approvers=settings.settings.approvers,
            caller=settings.settings.caller,
            directories=canonical_directories(
                settings.settings.directories, Registry(settings.settings.roles)
            ),
            saved_tools=saved_tools,
            offline=offline,
            refresh=frozenset(refresh),
            intent=intent,
            # Who answers by hand sees the table of failures, and can correct the answer itself.
            repair=bool(asks),
            runs=runs or 1,
            second=None if silent or second_model is None else partial(make, second_model),
            sign=chosen_signer(sign=sign, key=key),
            ahead=ahead,
        )
        telling = ahead.telling() if ahead is not None else nullcontext()
        with closing(_progress(ledger, quiet=quiet, brief=brief)) as progress:
            with telling:
                built = build(sources, options, engine, progress)
            for line in () if brief else _lines(built):
                progress.show(line)
            if not brief:
                signature = "signed" if options.sign is not None else "unsigned"
                revision = f"revision {built.bundle.revision}"
                progress.show(f"published {sources.output.name}, verified, {signature}: {revision}")
    if format_ == "json":
        print_json(built.verification)
    return Exit.YES


@contextmanager
def _lists_ahead(servers: str, *, saved: bool, offline: bool) -> Iterator[ListsAhead | None]:
    """Read the tool lists while the block runs; offline, nothing is started."""
    if offline:
        yield None
        return
    from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
    from ironcurtain.servers.tool_lists.ahead import listing_ahead

    with listing_ahead(Path(servers), contained_launcher, saved=saved) as ahead:
        yield ahead


def _is_given(ctx: click.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source in (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)


def _progress(ledger: Ledger, *, quiet: bool, brief: bool) -> Progress:
    from ironcurtain.cli.output.progress import OnFailure, Silent, for_terminal

    if brief:
        return OnFailure(sys.stderr)
    return Silent() if quiet else for_terminal(sys.stderr, ledger)


def _require_asking(refresh: tuple[str, ...], *, asks_no_model: bool) -> None:
    if refresh and asks_no_model:
        raise UsageError(
            "--refresh asks anew, and a locked or offline compile asks no model",
            hint="Leave one of them away.",
        )


def _lines(built: Built) -> Iterator[str]:
    """Yield what became of each clause, and what a person should know."""
    from ironcurtain.analysis.clauses.outcomes_text import outcome_line

    yield from (f"clause: {outcome_line(outcome)}" for outcome in built.verification.clauses)
    for finding in built.findings:
        yield from f"finding: {finding}".splitlines()


def _gate(project: Standards, output: Path, engine: Opa) -> Gate:
    """Return the gate of `ironcurtain verify` for what is about to be published."""
    from ironcurtain.cli.output.report_text import check_lines
    from ironcurtain.compiler.verify.gate_judgement import GateOutcome
    from ironcurtain.integrations.gate.checks.all_checks import run_checks
    from ironcurtain.integrations.gate.reading import unpublished
    from ironcurtain.integrations.gate.report import gate_report

    def judged(recorded: Baseline) -> GateOutcome:
        reviewed = unpublished(recorded, project, output, datetime.now(UTC).date())
        report = gate_report("verify", reviewed.bundle, engine, run_checks(reviewed))
        return GateOutcome(report, tuple(check_lines(report)))

    return judged
