"""`ironcurtain doctor`: why something does not work, and what mends it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, FORMAT, OPA, STATE, Number, engine_options, trust_options
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, IronCurtainError
from ironcurtain.system.text import counted, printable

if TYPE_CHECKING:
    from ironcurtain.cli.options.project import Project
    from ironcurtain.settings import Settings

_WIDTH = 5
_OUTCOMES = {"ok": "in order", "warn": "to look at", "fail": "failed", "skip": "not looked at"}
_MODELS = ("model", "judge_model", "second_model")


@click.command()
@CONFIG
@bundle_argument()
@click.option("--servers", metavar="FILE", help="The servers' configuration (default: the project's).")
@click.option("--sandbox", metavar="DIR", help="The workspace: the agent's working directory.")
@trust_options
@engine_options
@click.option(
    "--client",
    "clients",
    metavar="NAME|FILE",
    multiple=True,
    help="A client that has to be wrapped (default: look at all); repeatable.",
)
@click.option("--permissions", metavar="FILE", help="As serve is given it: whom a gateway's agent acts for.")
@click.option("--tokens", metavar="FILE", help="As serve is given it: the keys of signed tokens.")
@click.option("--domain", metavar="FILE", help="As serve is given it: a domain's signed configuration.")
@click.option("--domain-key", metavar="FILE", help="With --domain: the public key that it is signed with.")
@STATE
@click.option(
    "--publish-to",
    metavar="DIR|URL",
    multiple=True,
    help="Where bundles are published to; repeatable. Nothing is written.",
)
@click.option("--publish-token-file", metavar="FILE", help="With --publish-to: a file with its bearer token.")
@click.option(
    "--online", is_flag=True, help="Ask the model's provider whether it takes the key; costs nothing."
)
@click.option("--timeout", type=Number(1), default=30.0, show_default=True, help="Seconds for each server.")
@OPA
@FORMAT
def command(
    *,
    config: str | None,
    bundle: str | None,
    servers: str | None,
    sandbox: str | None,
    expect_revision: str | None,
    verify_key: str | None,
    min_serial: int | None,
    engine: tuple[str, ...],
    engine_ca: str | None,
    engine_token_file: str | None,
    clients: tuple[str, ...],
    permissions: str | None,
    tokens: str | None,
    domain: str | None,
    domain_key: str | None,
    state: str | None,
    publish_to: tuple[str, ...],
    publish_token_file: str | None,
    online: bool,
    timeout: float,
    opa: str | None,
    format_: str,
) -> Exit:
    """Diagnose each part of an installation, and print the fix for each failure.

    Checks Python and its packages, settings, the model's key, OPA, the bundle (revision, signature, rules),
    the servers (they are started, in their sandbox), gateways (their modules are read), drift, the sandbox,
    approvals, audit logs, the store of totals, keys, the clients' configurations, hooks, running proxies, and
    lets an engine decide a call. Changes nothing, and asks the network only for what --engine, --state,
    --publish-to and --online name.

    \b
    Examples:
      ironcurtain doctor
      ironcurtain doctor --client claude-code --format json
      ironcurtain doctor --engine https://node-1:8181

    \b
    Exit: 0 no failure (warnings allowed), 1 something fails, 2 wrong options.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.approvals.places import default_paths
    from ironcurtain.enforcement.audit.log_paths import audit_directory
    from ironcurtain.integrations.doctor.checks import examine, exit_of
    from ironcurtain.integrations.doctor.installation import GatewayFiles, Installation
    from ironcurtain.settings import user_directory

    project, problem = _project(config)
    files = (project.path("output") / "bundle", project.path("servers"))
    named = bundle or servers or config or project.file or problem
    installation = Installation(
        bundle=Path(bundle) if bundle else files[0],
        servers=Path(servers) if servers else files[1],
        project=bool(named) or any(path.exists() for path in files),
        bundle_alone=not (servers or config or project.file or problem or files[1].exists()),
        user=user_directory(),
        approvals=default_paths(),
        audit=audit_directory(),
        cwd=Path.cwd(),
        opa=Path(opa) if opa else None,
        workspace=Path(sandbox) if sandbox else None,
        verify_key=Path(verify_key) if verify_key else None,
        expect_revision=expect_revision,
        min_serial=min_serial,
        clients=clients,
        timeout=timeout,
        problem=problem,
        models=_models(project.settings),
        sources=_sources(project) if bundle is None else None,
        engine=engine,
        engine_ca=engine_ca,
        engine_token_file=engine_token_file,
        publish_to=publish_to,
        publish_token_file=publish_token_file,
        gateway_files=GatewayFiles(*map(_path, (permissions, tokens, domain, domain_key))),
        state=state,
        online=online,
    )
    report = examine(installation)
    if format_ == "json":
        print_json(report)
        return exit_of(report)
    for each in report.checks:
        click.echo(printable(f"{each.status:<{_WIDTH}}{each.name}: {each.what}"))
        if each.fix:
            click.echo(printable(f"{'':<{_WIDTH}}fix: {each.fix}"))
        if each.code:
            click.echo(f"{'':<{_WIDTH}}see: ironcurtain error {each.code}")
    counts: Counter[str] = Counter(each.status for each in report.checks)
    said = (f"{counts[status]} {word}" for status, word in _OUTCOMES.items() if counts[status])
    click.echo(f"{counted(len(report.checks), 'check')}: {', '.join(said)}", err=True)
    return exit_of(report)


def _path(named: str | None) -> Path | None:
    return Path(named) if named is not None else None


def _project(config: str | None) -> tuple[Project, IronCurtainError | None]:
    """Return the project; where its settings are wrong, one with default settings, and what is wrong."""
    from ironcurtain.cli.options.project import Project, read_project
    from ironcurtain.settings import Settings, find_settings

    try:
        return read_project(config), None
    except IronCurtainError as error:
        file = Path(config) if config is not None else find_settings(Path.cwd())
        root = file.absolute().parent if file is not None else Path.cwd()
        return Project(None, root, Settings()), error


def _models(settings: Settings) -> tuple[str, ...]:
    """Return whom a compile would ask: what its environment variables say comes before the settings."""
    from ironcurtain.cli.author.compile import variables

    named = (
        next(filter(None, map(os.environ.get, variables(key))), None) or getattr(settings, key)
        for key in _MODELS
    )
    return tuple(dict.fromkeys(filter(None, named)))


def _sources(project: Project) -> tuple[Path, Path | None, Path] | None:
    base = project.path("constitution")
    return (base, project.existing_guidance, project.root) if base.exists() else None
