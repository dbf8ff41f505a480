"""What `ironcurtain serve` does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ironcurtain.bundle.domain import Domain, open_domain
from ironcurtain.bundle.signing.keys import read_public_key
from ironcurtain.cli.options.bundle_argument import no_bundle
from ironcurtain.errors import Exit, GatewayError, UsageError
from ironcurtain.gateway.gateway import Gateway
from ironcurtain.gateway.module import load_gateway
from ironcurtain.gateway.option_positions import option_positions
from ironcurtain.gateway.outcome_table import outcome_table
from ironcurtain.gateway.principal import read_permissions
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.system.text import visible

_ENVIRONMENTS = ("IRONCURTAIN_ENV", "ENVIRONMENT", "ENV", "APP_ENV", "PYTHON_ENV")
_DEBUG = (
    "DEBUG AUDIT: the log shows the arguments of every call in clear, personal fields aside; "
    "never serve real people like this"
)


def run(
    *,
    target: str,
    check: bool,
    bundle: str | None,
    permissions: str | None,
    tokens: str | None,
    domain: str | None,
    domain_key: str | None,
    audit: str,
    protected: tuple[str, ...],
    **chosen: Any,  # noqa: ANN401 - options that it shares with `ironcurtain proxy`
) -> Exit:
    """Serve, or only check."""
    config = load_servers(Path(target))
    gateways = _gateways(config)
    if check:
        for line in _checked(gateways):
            click.echo(line)
        return Exit.YES
    if bundle is None:
        raise no_bundle()
    deployed = _domain(domain, domain_key)
    sub = deployed.principal() if deployed is not None else None
    _check_identity([permissions, tokens, sub], tokens, chosen.get("http"))
    if deployed is not None:
        gateways = deployed.of(gateways, str(domain))
    from ironcurtain.cli.run import run_proxy  # noqa: PLC0415 - the SDK takes a second to load
    from ironcurtain.enforcement.proxy.tokens import Tokens  # noqa: PLC0415 - as above

    if audit == "debug":
        _warn_of_debug()
        run_proxy.say(_DEBUG)
    known = frozenset().union(*(each.permissions for each in gateways.values()))
    principal = read_permissions(Path(permissions), known) if permissions is not None else sub
    options = run_proxy.options_of(
        bundle=bundle,
        servers=target,
        caller=None,
        protected=(*protected, *filter(None, (permissions, tokens, domain, domain_key))),
        http_open=tokens is not None,
        answer_within=600.0,
        trust_client=False,
        observe=False,
        audit_values="redacted" if audit == "debug" else "abstract",
        audit_redact=(),
        audit_max_bytes=64 << 20,
        telemetry=False,
        **chosen,
    )
    named = {
        "the permissions file": permissions,
        "the settings of tokens": tokens,
        "the domain's configuration": domain,
        "the key of the domain's configuration": domain_key,
    }
    files = {what: Path(path) for what, path in named.items() if path is not None}
    verifier = None
    if tokens is not None:
        verifier = Tokens(Path(tokens))
        verifier.read()
        for note in verifier.notes():
            run_proxy.say(f"note: {note}")
    run_proxy.serve(
        replace(
            options, principal=principal, tokens=verifier, domain=deployed, files={**options.files, **files}
        )
    )
    return Exit.YES


def _gateways(config: ServerConfig) -> dict[str, Gateway]:
    found = {
        name: load_gateway(config.directory / server.gateway)
        for name, server in config.servers.items()
        if server.gateway
    }
    if not found:
        raise GatewayError(
            "the file names no gateway",
            where=str(config.path),
            hint='Write "gateway": "tools.py", or use ironcurtain proxy.',
        )
    return found


def _domain(path: str | None, key: str | None) -> Domain | None:
    """Read the domain that is deployed; None where none is."""
    if (path is None) != (key is None):
        raise UsageError("--domain and --domain-key belong together", hint="Give both, or neither.")
    return (
        open_domain(Path(path), read_public_key(Path(key))) if path is not None and key is not None else None
    )


def _check_identity(ways: Sequence[object], tokens: str | None, http: object) -> None:
    """See that it is known, in one way, whom the agent acts for."""
    if sum(way is not None for way in ways) != 1:
        raise UsageError(
            "it must be known in one way whom the agent acts for",
            hint="Give --permissions FILE, --tokens FILE with --http, or a --domain with a sub.",
        )
    if tokens is not None and http is None:
        raise UsageError(
            "--tokens needs --http", hint="Over stdio there is one principal: --permissions FILE."
        )


def _warn_of_debug() -> None:
    """Refuse to show arguments where real people are served.

    Raises:
        UsageError: If the environment says that they are.
    """
    for name in _ENVIRONMENTS:
        if os.environ.get(name, "").strip().lower() in {"production", "prod"}:
            raise UsageError(
                f"--audit debug is refused: {name} says that this is production",
                hint="Leave the option out: arguments are then hashed.",
            )


def _checked(gateways: Mapping[str, Gateway]) -> Iterator[str]:
    """Yield what is printed of tools with which nothing is wrong."""
    for name, gateway in gateways.items():
        count = len(gateway.tools)
        yield f"{name}: {count} tool{'s' if count != 1 else ''}, nothing is wrong with the declarations"
        for tool in gateway.tools.values():
            yield ""
            yield f"{name}__{tool.name} ({tool.classification}; needs {', '.join(tool.permissions)})"
            table = outcome_table(tool.output_policy, tool.output_schema())
            width = max((len(row.path) for row in table.rows), default=0)
            for row in table.rows:
                rule = f"  by {row.rule}" if row.rule else ""
                yield f"  {visible(row.path):<{width}}  {row.kind:<8} {row.action}{visible(rule)}"
            for warning in table.warnings():
                yield f"  note: {visible(warning)}"
            for argument in option_positions(tool):
                named = visible(argument)
                yield f'  note: the value of {named} can be taken for an option: put "--" before it'
