"""The analysis of a bundle: every tool, every cell, every path, asked once and used by every report.

analysis = analyse_policy(bundle, world, opa)
matrix_of(analysis)
find(analysis, material, opa)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironcurtain.analysis.engine.guarantee_scope import ReadGuarantee, read_guarantees
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, SharedCaches, load_policies
from ironcurtain.analysis.engine.sequence_scope import ReadSequence, read_sequences
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.structs import Struct


class PolicyAnalysis(Struct):
    """A bundle in an assumed world after OPA was asked about all of it.

    Attributes:
        policies: The policy, loaded in the world.
        tools: By server and tool, what was found.
        guarantees: The guarantees whose patterns and tests calls were told apart by, too.
        sequences: Those about sequences of calls.
        order: The ids of all guarantees in the order of their file.
    """

    policies: PoliciesUnderTest
    tools: Mapping[tuple[str, str], Examined]
    guarantees: tuple[ReadGuarantee, ...] = ()
    sequences: tuple[ReadSequence, ...] = ()
    order: tuple[str, ...] = ()

    @property
    def bundle(self) -> Bundle:
        """The bundle."""
        return self.policies[0].bundle

    @property
    def content(self) -> PolicyContent:
        """What the bundle holds."""
        return self.policies[0].content


class PlainAnalysis(PolicyAnalysis):
    """An analysis whose cells are told apart by the policy alone, as decision matrix and findings need it.

    Guarantees would tell more cells apart, so a matrix that was made with them would change with them.
    """

    guarantees: tuple[()] = ()
    sequences: tuple[()] = ()
    order: tuple[()] = ()


class _Unasked(Struct):
    """The calls of a bundle's tools told apart, before OPA is asked about them."""

    policies: PoliciesUnderTest
    spaces: tuple[CallSpace, ...]
    guarantees: tuple[ReadGuarantee, ...] = ()
    sequences: tuple[ReadSequence, ...] = ()
    order: tuple[str, ...] = ()

    def asked(self, examined: Sequence[Examined]) -> PolicyAnalysis:
        return PolicyAnalysis(self.policies, _by_tool(examined), self.guarantees, self.sequences, self.order)

    def asked_plainly(self, examined: Sequence[Examined]) -> PlainAnalysis:
        return PlainAnalysis(self.policies, _by_tool(examined))


def analyse_policy(bundle: Bundle, world: DescribedWorld, opa: OpaCommand) -> PlainAnalysis:
    """Examine a bundle in an assumed world; the result serves the matrix, findings and coverage alike.

    Args:
        bundle: The policy.
        world: Home, sandbox, domain lists and whatever else the answers shall assume.
        opa: The engine that evaluates every question.

    Raises:
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    plain = _told_apart_by_rules(bundle, world)
    return plain.asked_plainly(examine(plain.spaces, opa))


def analyse_with_guarantees(
    bundle: Bundle,
    world: DescribedWorld,
    opa: OpaCommand,
    guarantees: Guarantees | None,
    *,
    only_guaranteed: bool = False,
) -> PolicyAnalysis:
    """Examine a bundle in an assumed world, telling apart also what guarantees speak of.

    Args:
        bundle: The policy.
        world: Home, sandbox, domain lists and whatever else the answers shall assume.
        opa: The engine that evaluates every question.
        guarantees: Guarantees that will be decided or counted on the result, if there are any.
        only_guaranteed: Whether to examine only the tools that guarantees speak of.

    Raises:
        GuaranteeError: For each guarantee that names what does not exist or contradicts itself.
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    told = _told_apart_by_guarantees(bundle, world, guarantees, only_guaranteed=only_guaranteed)
    return told.asked(examine(told.spaces, opa))


def analyse_both_ways(
    bundle: Bundle, world: DescribedWorld, opa: OpaCommand, guarantees: Guarantees
) -> tuple[PlainAnalysis, PolicyAnalysis]:
    """Return what `analyse_policy` and `analyse_with_guarantees` do; OPA is asked about both in one run.

    Raises:
        IronCurtainError: As they do.
    """
    caches = SharedCaches()
    told = _told_apart_by_guarantees(bundle, world, guarantees, caches=caches)
    plain = _told_apart_by_rules(bundle, world, caches)
    examined = examine((*plain.spaces, *told.spaces), opa)
    first = len(plain.spaces)
    return plain.asked_plainly(examined[:first]), told.asked(examined[first:])


def _told_apart_by_rules(
    bundle: Bundle, world: DescribedWorld, caches: SharedCaches | None = None
) -> _Unasked:
    policies = load_policies([bundle], world, caches=caches)
    tools = PolicyContent.of(bundle).tools
    return _Unasked(policies, tuple(CallSpace(server, tool, policies) for server, tool in tools))


def _told_apart_by_guarantees(
    bundle: Bundle,
    world: DescribedWorld,
    guarantees: Guarantees | None,
    *,
    only_guaranteed: bool = False,
    caches: SharedCaches | None = None,
) -> _Unasked:
    content = PolicyContent.of(bundle)
    registry = Registry(content.annotations.roles)
    read = tuple(read_guarantees(guarantees, content, registry, world)) if guarantees else ()
    sequences = tuple(read_sequences(guarantees, content, registry, world)) if guarantees else ()
    order = tuple(each.id for each in guarantees.entries) if guarantees else ()
    told_apart = [*read, *(kind.read for each in sequences for kind in each.kinds)]
    marks: dict[str, set[str]] = {}
    for guarantee in told_apart:
        marks.setdefault(guarantee.kind, set()).update(guarantee.patterns)
    policies = load_policies([bundle], world, marks, caches)
    spaces = []
    for server, tool in content.tools:
        about = [guarantee for guarantee in told_apart if (server, tool) in guarantee.tools]
        if about or not only_guaranteed:
            more = [predicate for guarantee in about for predicate in guarantee.predicates]
            spaces.append(CallSpace(server, tool, policies, more))
    return _Unasked(policies, tuple(spaces), read, sequences, order)


def _by_tool(examined: Sequence[Examined]) -> dict[tuple[str, str], Examined]:
    return {(one.space.server, one.space.tool): one for one in examined}
