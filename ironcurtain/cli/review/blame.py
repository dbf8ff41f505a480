"""`ironcurtain blame`: the sentence, and the commit of the constitution, that first permitted a call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import CALL, bundle_argument
from ironcurtain.cli.options.options import FORMAT, PolicyOptions, policy_options
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit

if TYPE_CHECKING:
    from ironcurtain.bundle.archive import Bundle
    from ironcurtain.model.decision import Decision


@click.command()
@bundle_argument(*CALL, shown="SERVER TOOL ARGUMENTS")
@policy_options
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@click.option("--facts", metavar="JSON", help="Values of the facts that the policy declares, by name.")
@click.option("--at", metavar="TIME", help="When the call is decided, for facts: 2026-03-02T09:00:00Z.")
@FORMAT
def command(
    *,
    server: str,
    tool: str,
    arguments: str,
    bundle: str | None,
    caller: str | None,
    facts: str | None,
    at: str | None,
    format_: str,
    **deployment: Unpack[PolicyOptions],
) -> Exit:
    """Name the sentence, and the commit of the constitution, that first permitted a call.

    First means: the commit from which on the call has been permitted without a break until now, by the
    bundles that git has beside the constitution. Each is decided with on this machine, as it is now.

    \b
    Example:
      ironcurtain blame --sandbox work \\
        filesystem read_text_file '{"path": "~/Documents/a"}'

    \b
    Exit: 0 named, 1 the call is not permitted, 2 wrong options, or a bundle
    that is not committed, 3 a bundle of before cannot be used (the output
    says since when at least), no engine, no git.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.bundle_argument import caller_facts
    from ironcurtain.cli.options.stated_facts import StatedFacts, stated_facts
    from ironcurtain.cli.review.policy_argument import bundle_or_project, project_of
    from ironcurtain.decision.decide import Call
    from ironcurtain.integrations.blame.blame import blame
    from ironcurtain.integrations.blame.report import blame_lines
    from ironcurtain.policy import Policy
    from ironcurtain.system.private_runtime import private_directory

    call, stated = Call(server, tool, arguments, caller_facts(caller)), stated_facts(facts, at)
    path = bundle_or_project(bundle)

    def decided(policy: Policy, facts: StatedFacts) -> Decision:
        return policy.decide_many([facts.in_call(call, policy)])[0]

    with Policy.load(path, **deployment) as policy:
        present, now = policy.bundle, decided(policy, stated)
        # Bundles of before are judged like this one, and are others than the one that was demanded.
        deployment["protected"] = policy.loaded.deployment.protected
        deployment["expect_revision"] = deployment["verify_key"] = deployment["min_serial"] = None

    def decide(older: Bundle) -> Decision:
        if older is present:
            return now
        with private_directory("blame") as place:
            (place / "bundle.tar.gz").write_bytes(older.archive())
            with Policy.load(place / "bundle.tar.gz", **deployment) as policy:
                declared = {n: v for n, v in stated.values.items() if n in policy.loaded.facts}
                return decided(policy, StatedFacts(declared, stated.at))

    found = blame(Path(path), project_of(Path(path)).root, present, decide)
    print_result(found, blame_lines(found), format_)
    if found.since is None:
        return Exit.NO
    return Exit.NO_ANSWER if found.unknown else Exit.YES
