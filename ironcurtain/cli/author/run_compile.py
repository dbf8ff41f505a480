"""What `ironcurtain compile` does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path

import click

from ironcurtain.analysis.clauses.outcomes_text import outcome_line
from ironcurtain.cli.options.signing import chosen_signer
from ironcurtain.cli.output.report_text import plain_text
from ironcurtain.compiler.baseline import Baseline
from ironcurtain.compiler.build import Built, Options, build
from ironcurtain.compiler.llm.ledger import Ledger
from ironcurtain.compiler.llm.providers.choose import provider_for
from ironcurtain.compiler.llm.question import MANUAL
from ironcurtain.compiler.load.sources import Sources, sources_of
from ironcurtain.compiler.progress import OnFailure, Progress, Silent, for_terminal
from ironcurtain.compiler.rules.directories import canonical_directories
from ironcurtain.compiler.verify.gate_judgement import Gate, GateOutcome
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.locate import Opa, find
from ironcurtain.errors import Exit, UsageError
from ironcurtain.integrations.gate.checks.all_checks import run_checks
from ironcurtain.integrations.gate.reading import Standards, unpublished
from ironcurtain.integrations.gate.report import gate_report
from ironcurtain.settings import Settings, defaults, find_settings, load_settings
from ironcurtain.system import json_text


@dataclass(frozen=True)
class Project:
    """The settings of a project, their file, and the directory that paths are relative to."""

    file: Path | None
    root: Path
    settings: Settings


def read_settings(config: str | None) -> tuple[Project, dict[str, str | int | None]]:
    """Return the project of a settings file (or the nearest one), and its defaults for options."""
    path = Path(config) if config is not None else find_settings(Path.cwd())
    settings = load_settings(path)
    root = path.absolute().parent if path is not None else Path.cwd()
    return Project(path, root, settings), defaults(path, settings)


def run(
    *,
    settings: Project,
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
    """Compile, showing the stages on stderr."""
    sources = read_sources(settings.root, paths)
    questions = Path(str(paths["questions"]))
    ledger = Ledger(None if max_cost is None else Decimal(str(max_cost)))
    _require_asking(refresh, asks_no_model=locked or offline)
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
        directories=canonical_directories(settings.settings.directories, Registry(settings.settings.roles)),
        saved_tools=saved_tools,
        offline=offline,
        refresh=frozenset(refresh),
        intent=intent,
        # Who answers by hand sees the table of failures, and can correct the answer itself.
        repair=bool(asks),
        runs=runs or 1,
        second=None if silent or second_model is None else partial(make, second_model),
        sign=chosen_signer(sign=sign, key=key),
    )
    with closing(_progress(ledger, quiet=quiet, brief=brief)) as progress:
        built = build(sources, options, engine, progress)
        for line in () if brief else _lines(built):
            progress.show(line)
        if not brief:
            signature = "signed" if options.sign is not None else "unsigned"
            said = f"published {sources.output.name}, verified, {signature}: revision {built.bundle.revision}"
            progress.show(said)
    if format_ == "json":
        click.echo(json_text.pretty(built.verification.model_dump(mode="json")), nl=False)
    return Exit.YES


def _progress(ledger: Ledger, *, quiet: bool, brief: bool) -> Progress:
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
    yield from (f"clause: {outcome_line(outcome)}" for outcome in built.verification.clauses)
    yield from (f"finding: {finding}" for finding in built.findings)


def _gate(project: Standards, output: Path, engine: Opa) -> Gate:
    """Return the gate of `ironcurtain verify` for what is about to be published."""

    def judged(recorded: Baseline) -> GateOutcome:
        subject = unpublished(recorded, project, output, datetime.now(UTC).date())
        report = gate_report("verify", subject.bundle, engine, run_checks(subject))
        return GateOutcome(report, tuple(plain_text(report).splitlines()))

    return judged


def read_sources(root: Path, given: Mapping[str, str | None]) -> Sources:
    """Return where a compile reads from, as options or settings name it."""
    paths = {name: Path(value) for name, value in given.items() if value is not None}
    questions = paths.pop("questions")
    return Sources(root=root, pending=questions / "kept", custom=paths.pop("custom", None), **paths)
