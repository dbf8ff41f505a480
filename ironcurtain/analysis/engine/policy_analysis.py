"""One examination of a bundle: every tool, every cell, every path, asked once and used by every report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ironcurtain.analysis.engine.guarantee_scope import ReadGuarantee, read_guarantees
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, load_sides
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import DescribedWorld


@dataclass(frozen=True)
class PolicyAnalysis:
    """A bundle in an assumed world after OPA was asked about all of it.

    Attributes:
        sides: The policy, loaded in the world.
        tools: By server and tool, what was found.
        guarantees: The guarantees whose patterns and tests calls were told apart by, too.
    """

    sides: PoliciesUnderTest
    tools: Mapping[tuple[str, str], Examined]
    guarantees: tuple[ReadGuarantee, ...] = ()

    @property
    def bundle(self) -> Bundle:
        """The bundle."""
        return self.sides.sides[0].bundle

    @property
    def content(self) -> PolicyContent:
        """What the bundle holds."""
        return self.sides.sides[0].content


def analyse_policy(
    bundle: Bundle,
    world: DescribedWorld,
    opa: OpaCommand,
    guarantees: Guarantees | None = None,
    *,
    only_guaranteed: bool = False,
) -> PolicyAnalysis:
    """Examine a bundle in an assumed world; the result serves findings, coverage and guarantees alike.

    A decision matrix needs an examination without guarantees, since these tell more places apart.

    Args:
        bundle: The policy.
        world: Home, sandbox, domain lists and whatever else the answers shall assume.
        opa: The engine that evaluates every question.
        guarantees: Guarantees that will be decided or counted on the result.
        only_guaranteed: Whether to examine only the tools that guarantees speak of.

    Raises:
        GuaranteeError: For each guarantee that names what does not exist or contradicts itself.
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    content = PolicyContent.of(bundle)
    registry = Registry(content.annotations.roles)
    read = tuple(read_guarantees(guarantees, content, registry, world)) if guarantees else ()
    marks: dict[str, set[str]] = {}
    for each in read:
        marks.setdefault(each.kind, set()).update(each.patterns)
    sides = load_sides([bundle], world, marks)
    spaces = [
        CallSpace(
            server, tool, sides, [a for each in read if (server, tool) in each.tools for a in each.atoms]
        )
        for server, tool in _tools(content)
        if not only_guaranteed or any((server, tool) in each.tools for each in read)
    ]
    tools = {(one.space.server, one.space.tool): one for one in examine(spaces, opa)}
    return PolicyAnalysis(sides, tools, read)


def _tools(content: PolicyContent) -> list[tuple[str, str]]:
    servers = sorted(content.annotations.servers.items())
    return [(server, tool.tool) for server, annotated in servers for tool in annotated.tools]
