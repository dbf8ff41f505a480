"""`ironcurtain serve`: serve tools of one's own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ironcurtain.cli.options.bundle_argument import EXPLICIT_BUNDLE
from ironcurtain.cli.options.options import OPA, engine_options, serving_options, trust_options
from ironcurtain.errors import Exit, GatewayError, UsageError
from ironcurtain.system.structs import replace
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.bundle.domain import Domain
    from ironcurtain.gateway.gateway import Gateway
    from ironcurtain.servers.config import ServerConfig

_ENVIRONMENTS = ("IRONCURTAIN_ENV", "ENVIRONMENT", "ENV", "APP_ENV", "PYTHON_ENV")
_DEVELOPMENT = frozenset({"development", "dev", "local", "test", "testing"})
_DEBUG = (
    "DEBUG AUDIT: the log shows the arguments of every call in clear, personal fields aside; "
    "never serve real people like this"
)


@click.command()
@click.argument("target", metavar="TOOLS.PY")
@click.option("--check", is_flag=True, help="Only check the tools, and print what leaves of their answers.")
@EXPLICIT_BUNDLE
@click.option("--permissions", metavar="FILE", help="Whom the agent acts for, and what that one may do.")
@click.option(
    "--tokens", metavar="FILE", help="With --http: the keys of signed tokens (JWT) that clients show instead."
)
@click.option(
    "--domain", metavar="FILE", help="The signed configuration of a domain: its tools and permissions alone."
)
@click.option("--domain-key", metavar="FILE", help="With --domain: the public key that it is signed with.")
@click.option(
    "--audit",
    type=click.Choice(["production", "debug"]),
    default="production",
    show_default=True,
    help="Whether the log keeps arguments: hashed, or in clear but for personal fields.",
)
@click.option("--sandbox", metavar="DIR", help="The workspace: the agent's working directory.")
@click.option("--home", metavar="DIR", help="The home directory that ~ means (default: yours).")
@click.option("--protected", metavar="PATH", multiple=True, help="A path no tool may touch; repeatable.")
@trust_options
@OPA
@engine_options
@serving_options
def command(
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
    **chosen: Any,  # noqa: ANN401 - the options of `proxy`
) -> Exit:
    """Serve tools of your own: with permissions, validation, output policies and audit, under a policy.

    TOOLS.PY declares tools with `define_tool` (`ironcurtain error gateway`); or it is an mcp-servers.json
    that names such files beside other servers. Tools are offered as GATEWAY__TOOL.

    \b
    Example:
      ironcurtain serve tools.py --check
      ironcurtain serve tools.py --bundle generated/bundle --permissions agent.json

    \b
    Exit: 0 the client has gone or a signal came, or nothing is wrong,
    2 wrong options, files or tools, 3 no engine, no intact bundle or no
    audit log.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.bundle_argument import no_bundle
    from ironcurtain.gateway.principal import read_permissions
    from ironcurtain.servers.config import load_servers

    config = load_servers(Path(target))
    gateways = _gateways(config)
    if check:
        return _checked(config, gateways)
    if bundle is None:
        raise no_bundle()
    deployed = _domain(domain, domain_key)
    sub = deployed.principal() if deployed is not None else None
    _check_identity([permissions, tokens, sub], tokens, chosen.get("http"))
    if deployed is not None:
        gateways = deployed.of(gateways, str(domain))
    # The SDK takes a second to load: --check does without.
    from ironcurtain.cli.run.proxy import options_of
    from ironcurtain.enforcement.proxy.process import say, serve
    from ironcurtain.enforcement.proxy.transport.tokens import Tokens

    if audit == "debug":
        _warn_of_debug()
        say(_DEBUG)
    known = frozenset().union(*(each.permissions for each in gateways.values()))
    principal = read_permissions(Path(permissions), known) if permissions is not None else sub
    options = options_of(
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
        verifier = Tokens(Path(tokens), say)
        verifier.read()
        for note in verifier.notes():
            say(f"note: {note}")
    serve(
        replace(
            options, principal=principal, tokens=verifier, domain=deployed, files={**options.files, **files}
        )
    )
    return Exit.YES


def _gateways(config: ServerConfig) -> dict[str, Gateway]:
    from ironcurtain.gateway.gateway import load_gateway

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
    from ironcurtain.bundle.domain import open_domain
    from ironcurtain.bundle.signing.keys import read_public_key

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
    """Refuse to show arguments where real people could be served.

    Raises:
        UsageError: If the environment says that this is something else than development.
    """
    for name in _ENVIRONMENTS:
        value = os.environ.get(name, "").strip()
        if value and value.lower() not in _DEVELOPMENT:
            raise UsageError(
                f"--audit debug is refused: {name} is {quoted(value)}, not development",
                hint="Leave the option out: arguments are then hashed.",
            )


def _checked(config: ServerConfig, gateways: Mapping[str, Gateway]) -> Exit:
    """Print what is known of tools with whose declarations nothing is wrong."""
    from ironcurtain.cli.run.declarations import declarations, proxied

    parts = [declarations(name, gateway) for name, gateway in gateways.items()]
    parts += [proxied(name, server) for name, server in config.servers.items()]
    for line in chain.from_iterable(parts):
        click.echo(line)
    return Exit.YES
