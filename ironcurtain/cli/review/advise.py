"""`ironcurtain advise`: use beside permission, and sentences that would fit better, each proved."""

from __future__ import annotations

from typing import Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, TrustOptions, trust_options
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit, UsageError


@click.command()
@bundle_argument()
@click.option("--audit", metavar="LOG", multiple=True, help="An audit log, by file or session; repeatable.")
@click.option("--guarantees", metavar="FILE", help="What must stay proved (default: the project's).")
@click.option(
    "--scenarios", metavar="FILE", help="Assume the world of FILE (default: test-scenarios.json beside B)."
)
@click.option("--sandbox", metavar="DIR", help="The sandbox of the recorded sessions.")
@click.option("--home", metavar="DIR", help="The home of the recorded sessions (default: yours).")
@click.option("--directory", metavar="DIR", help="Where logs lie by name (default: ~/.ironcurtain/audit).")
@click.option("--key", metavar="FILE", help="The logs' key (default: your own, for logs in its directory).")
@trust_options
@OPA
@FORMAT
def command(
    *,
    bundle: str | None,
    audit: tuple[str, ...],
    guarantees: str | None,
    scenarios: str | None,
    sandbox: str | None,
    home: str | None,
    directory: str | None,
    key: str | None,
    opa: str | None,
    format_: str,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Show what audit logs used of what is permitted, and propose sentences, each proved.

    \b
    Example:
      ironcurtain advise --audit work --audit mail

    \b
    Exit: 0 advice was given, with proposals or none, 2 wrong options or files, 3 no answer:
    another policy decided the calls, a log is not intact or of another key, no engine.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.advice.advise import advise
    from ironcurtain.analysis.advice.text import text_lines
    from ironcurtain.cli.review.logged_calls import logs_of
    from ironcurtain.cli.review.policy_argument import opa_command, read_policy
    from ironcurtain.model.guarantees import Guarantees

    if not audit:
        raise UsageError("no audit log is given", hint="Name at least one: --audit LOG.")
    policy = read_policy(bundle, None, scenarios, **trust)
    demanded = policy.beside(guarantees, policy.project.settings.guarantees, Guarantees)
    engine = opa_command(opa)
    logs = logs_of(audit, directory=directory, key=key, home=home, sandbox=sandbox, opa=engine)
    advice = advise(policy.bundle, policy.world, engine, demanded, logs)
    print_result(advice, text_lines(advice), format_)
    return Exit.YES
