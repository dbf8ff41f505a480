"""Options that several commands share, each declared once.

Options that the gates share: `verify` and `diff`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypedDict, TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])

ARGUMENTS = "ironcurtain.arguments"
"""Where a context's `meta` holds the arguments of the whole command line."""


class Number(click.FloatRange):
    """A number within bounds; what is none, or has no end, is within no bounds."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number.

        Raises:
            click.BadParameter: If it is none, or out of bounds.
        """
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class _Options:
    """A decorator that adds several options, in their order in the help."""

    def __init__(self, *options: Callable[[F], F]) -> None:
        self._options = options

    def __call__(self, command: F) -> F:
        for option in reversed(self._options):
            command = option(command)
        return command


def format_option(*formats: str, text: str = "How to print the result.") -> Callable[[F], F]:
    """Return the option `--format` of some formats, the first by default; its value is `format_`."""
    choice = click.Choice(formats)
    return click.option("--format", "format_", type=choice, default=formats[0], show_default=True, help=text)


OPA = click.option("--opa", metavar="PATH", help="The OPA executable (default: see `ironcurtain opa which`).")
FORMAT = format_option("text", "json")
MARKDOWN_FORMAT = format_option("text", "json", "markdown")
REPORT_FORMAT = format_option(
    "text", "json", "markdown", "sarif", "junit", "github", text="How to print the report."
)
SCENARIOS = click.option(
    "--scenarios",
    metavar="FILE",
    help="The scenarios, and the world to assume (default: test-scenarios.json beside the bundle).",
)
WORLD = click.option(
    "--scenarios",
    metavar="FILE",
    help="Assume the world of FILE (default: test-scenarios.json beside the bundle).",
)
CONFIG = click.option(
    "--config",
    metavar="FILE",
    envvar="IRONCURTAIN_CONFIG",
    help="The project's settings (default: the nearest ironcurtain.toml upwards).",
)
MODEL = click.option(
    "--model",
    metavar="ID",
    envvar="IRONCURTAIN_MODEL",
    help="The model that answers, or manual (default: from the settings).",
)
KEY = click.option(
    "--key", metavar="FILE", help="The key's PEM file (default: ~/.ironcurtain/signing-key.pem)."
)
SIGN = click.option(
    "--sign", is_flag=True, help="Sign the bundle, so that OPA and others can verify who released it."
)
MAX_COST = click.option(
    "--max-cost",
    type=Number(min=0),
    metavar="USD",
    envvar="IRONCURTAIN_MAX_COST",
    help="Stop before a model call that could exceed this cost.",
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
EXPECT_REVISION = click.option(
    "--expect-revision", metavar="R", help="Refuse a bundle of any other revision."
)
OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    multiple=True,
    help="Write the report to FILE, too: .txt, .json, .md, .sarif or .xml (JUnit); repeatable.",
)
APPROVALS = click.option(
    "--approvals",
    metavar="FILE",
    help="Changes that people approved (default: diff-approvals.yaml of the project, if it is there).",
)
SETTINGS = click.option(
    "--config",
    metavar="FILE",
    help="The project's settings (default: the ironcurtain.toml above the bundle).",
)

registry_options = _Options(
    click.option("--token-file", metavar="FILE", help="A file that holds the bearer token of the server."),
    click.option(
        "--credentials-file",
        metavar="FILE",
        help="Registry: a file that holds user:password (default: what `docker login` left).",
    ),
    click.option(
        "--plain-http", is_flag=True, help="Registry: connect without TLS, and send no credentials."
    ),
)
"""Who we are to a registry: see `RegistryAccess.of`."""

trust_options = _Options(
    EXPECT_REVISION,
    click.option("--verify-key", metavar="FILE", help="Public key: refuse a bundle that it did not sign."),
    click.option(
        "--min-serial",
        type=click.IntRange(min=0),
        metavar="N",
        help="With --verify-key: refuse a bundle of a lower serial number.",
    ),
)
"""Which bundle is the right one: see `Trust.of`."""

policy_options = _Options(
    click.option("--sandbox", metavar="DIR", help="The workspace: the agent's working directory."),
    click.option("--home", metavar="DIR", help="The home directory that ~ means (default: yours)."),
    click.option("--protected", metavar="PATH", multiple=True, help="A path no tool may touch; repeatable."),
    click.option("--servers", metavar="FILE", help="mcp-servers.json: working roots and domain lists."),
    trust_options,
    OPA,
)
"""Where a bundle is enforced, and which is the right one: see `Policy.load`."""

engine_options = _Options(
    click.option(
        "--engine",
        metavar="URL",
        multiple=True,
        help="Use this remote OPA, which serves the bundle; repeatable.",
    ),
    click.option("--engine-ca", metavar="FILE", help="With --engine: CA certificates to trust (PEM)."),
    click.option("--engine-token-file", metavar="FILE", help="With --engine: a file with its bearer token."),
)
"""Who decides, if not an OPA of our own: see `Policy.load`."""

STATE = click.option(
    "--state",
    metavar="FILE|URL",
    envvar="IRONCURTAIN_STATE",
    help="Where totals per caller are kept: a file, or for several machines redis://HOST:PORT.",
)
"""Where counters per caller are kept: see `StorePlace`."""

serving_options = _Options(
    STATE,
    click.option(
        "--session", metavar="NAME", help="Name of the session and its audit log (default: made up)."
    ),
    click.option(
        "--http",
        metavar="HOST:PORT|unix:PATH",
        help="Serve Streamable HTTP there instead of stdin and stdout.",
    ),
    click.option(
        "--http-clients",
        metavar="FILE",
        help="The clients' tokens (default: ~/.ironcurtain/http-clients.json, made where it is missing).",
    ),
    click.option(
        "--http-anywhere", is_flag=True, help="Let --http be an address that other machines can reach."
    ),
    click.option(
        "--patience",
        type=Number(0, 3600),
        default=45.0,
        show_default=True,
        metavar="SECONDS",
        help="How long a call is held while a person decides; keep it below the client's own limit.",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(0),
        default=20,
        show_default=True,
        metavar="N",
        help="Stop a call that came N times within a minute with the same answer; 0 for never.",
    ),
    click.option("--no-approver", is_flag=True, help="Ask nobody: what the policy escalates is refused."),
    click.option(
        "--approver",
        "approvers",
        metavar="NAME=PERSON",
        multiple=True,
        help="Who the rules' approver NAME is: account (who answers with `ironcurtain approvals`), client "
        "(the person at the client), or the file of a public key; repeatable.",
    ),
    click.option(
        "--on-approval",
        metavar="COMMAND",
        help="Run this, without a shell, for each call that waits for a person; see "
        "`ironcurtain error approvals`.",
    ),
    click.option(
        "--witness",
        metavar="FILE",
        help="Append there, outside the log's directory, how far the log has come.",
    ),
)
"""How one client is served or, with --http, several."""


class TrustOptions(TypedDict):
    """The values of `trust_options`."""

    expect_revision: str | None
    verify_key: str | None
    min_serial: int | None


class DeploymentOptions(TrustOptions):
    """Which bundle is enforced, where and by which OPA."""

    sandbox: str | None
    home: str | None
    protected: tuple[str, ...]
    opa: str | None


class PolicyOptions(DeploymentOptions):
    """The values of `policy_options`."""

    servers: str | None


class EngineOptions(TypedDict):
    """The values of `engine_options`."""

    engine: tuple[str, ...]
    engine_ca: str | None
    engine_token_file: str | None


class EnforcementOptions(PolicyOptions, EngineOptions):
    """The values of `policy_options` and `engine_options`: what `Policy.load` takes."""
