"""`ironcurtain publish`: put a signed bundle where OPA can fetch it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, SETTINGS, registry_options
from ironcurtain.errors import Exit, UsageError, VerificationError
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.bundle.archive import Bundle
    from ironcurtain.engine.locate import Opa
    from ironcurtain.integrations.gate.inputs import GateInputs
    from ironcurtain.system.frozen import JsonValue

_SCHEMES = ("http://", "https://")


@click.command()
@bundle_argument("target", shown="DIR|URL|oci://…")
@click.option(
    "--scenarios", metavar="FILE", help="Scenarios (default: test-scenarios.json beside the bundle)."
)
@SETTINGS
@click.option(
    "--verify-key", metavar="FILE", help="The public key (default: ~/.ironcurtain/signing-key.pub.pem)."
)
@click.option(
    "--name",
    metavar="NAME",
    default="bundle.tar.gz",
    show_default=True,
    help="The file's name in a directory.",
)
@registry_options
@OPA
@FORMAT
def command(
    *,
    target: str,
    bundle: str | None,
    scenarios: str | None,
    config: str | None,
    verify_key: str | None,
    opa: str | None,
    name: str,
    token_file: str | None,
    credentials_file: str | None,
    plain_http: bool,
    format_: str,
) -> Exit:
    """Put a signed bundle into a directory, to a URL with HTTP PUT, or into an OCI registry.

    The signature is checked first, then all checks of `ironcurtain verify` run. An existing bundle is
    replaced atomically, and only by one of a higher serial number; the same bundle again changes nothing.
    A server must answer with a strong ETag, so that a newer bundle is never overwritten.

    \b
    Examples:
      ironcurtain publish /srv/policy
      ironcurtain publish https://policy.example/bundle.tar.gz --token-file token
      ironcurtain publish oci://registry.example/policies/agents:stable

    \b
    Exit: 0 published, or already there; 1 verification fails; 2 wrong options or files;
    3 the signature is not valid, a newer bundle is there, or it could not be written.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.bundle.oci.access import RegistryAccess
    from ironcurtain.bundle.oci.client import push
    from ironcurtain.bundle.oci.layout import SCHEME, Reference
    from ironcurtain.bundle.opening import Trust, open_bundle
    from ironcurtain.bundle.published import SIGNED_ARCHIVE
    from ironcurtain.bundle.publishing.to_directory import publish_to_directory
    from ironcurtain.bundle.publishing.to_server import publish_to_server
    from ironcurtain.cli.options.signing import default_key, public_beside
    from ironcurtain.cli.review.policy_argument import bundle_or_project, path_or_none
    from ironcurtain.engine.command import OpaCommand
    from ironcurtain.engine.locate import find
    from ironcurtain.integrations.gate.inputs import GateInputs
    from ironcurtain.system.files import read_token

    key = Path(verify_key) if verify_key is not None else public_beside(default_key())
    path = Path(bundle_or_project(bundle, config, name=SIGNED_ARCHIVE))
    trust = Trust.of(verify_key=key)
    signed = open_bundle(path, trust)
    given = GateInputs(bundle=path, config=path_or_none(config), scenarios=path_or_none(scenarios))
    engine = find(path_or_none(opa))
    # Nodes take any built-in: `opa run` knows no list of those that a policy may use.
    OpaCommand(engine).check_built_ins(signed.archive())
    _require_accepted(signed, given, engine)
    facts: dict[str, JsonValue] = {}
    if target.lower().startswith(SCHEME):
        reference = Reference.parse(target)
        access = RegistryAccess.of(
            reference, token_file=token_file, credentials_file=credentials_file, plain_http=plain_http
        )
        facts["digest"], changed = push(signed.archive(), reference, access)
    elif credentials_file is not None or plain_http:
        raise UsageError("--credentials-file and --plain-http are for a registry", where=target)
    elif target.lower().startswith(_SCHEMES):
        token = read_token(Path(token_file)) if token_file is not None else None
        changed = publish_to_server(signed.archive(), target, token)
    elif token_file is not None:
        raise UsageError("a directory takes no token")
    else:
        changed = publish_to_directory(signed.archive(), Path(target), name)
    if format_ == "json":
        told = {"published": changed, "revision": signed.revision, "serial": signed.serial}
        click.echo(json.dumps({**told, "target": target, **facts}))
    else:
        done = "published" if changed else "already there:"
        click.echo(f"{done} serial {signed.serial}, revision {signed.revision}")
        click.echo(f"  verified, {trust.signature_words(signed)}")
        click.echo(f"  to {visible(target)}")
        if facts:
            click.echo(f"  digest {facts['digest']}")
    return Exit.YES


def _require_accepted(bundle: Bundle, given: GateInputs, opa: Opa) -> None:
    """Refuse what `ironcurtain verify` refuses, by the same checks."""
    from ironcurtain.cli.options.signing import with_tests_beside
    from ironcurtain.integrations.gate.checks.all_checks import run_published
    from ironcurtain.integrations.gate.reading import read_policy_under_review
    from ironcurtain.integrations.gate.report import gate_report

    evaluated = with_tests_beside(bundle, given.bundle)
    report = gate_report(
        "verify",
        evaluated,
        opa,
        run_published(read_policy_under_review(evaluated, given, opa, datetime.now(UTC).date())),
    )
    if not report.ok:
        failed = [each for each in report.checks if each.status == "failed"]
        lacking = [each for each in report.checks if each.status == "unexamined"]
        said = [f"{each.name} ({each.summary})" for each in failed or lacking]
        raise VerificationError(
            f"the bundle does not verify: {', '.join(said)}",
            where=str(given.bundle),
            hint="Nothing was published. `ironcurtain verify` with the same bundle shows each problem.",
        )
