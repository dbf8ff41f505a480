"""Narrowing: of each tool's input schema, what a policy could allow or escalate.

It is sound and never too strict: every call that is decided allow or escalate is valid under the narrowed
schema. Where a test cannot be followed in the schema's words, the schema stays as wide as the server's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ironcurtain.analysis.engine.evaluate import decide_prepared, prepare_scenarios
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, load_sides
from ironcurtain.analysis.engine.rules.rules import rules_of_tool
from ironcurtain.analysis.engine.space.call_space import CUSTOM_MODULES, CallSpace
from ironcurtain.analysis.engine.too_many import MAX_PATHS
from ironcurtain.analysis.narrowing.live import Live
from ironcurtain.analysis.narrowing.report import NarrowedTool, Narrowing
from ironcurtain.analysis.narrowing.schema import narrowed_schema
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.deployment import Deployment
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import EvidenceError
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.scenarios import DescribedWorld, Scenario
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue


def narrowing(
    bundle: Bundle, world: DescribedWorld, opa: OpaCommand, scenarios: Collection[Scenario] = ()
) -> Narrowing:
    """Return what a policy leaves of every annotated tool.

    Args:
        bundle: The policy.
        world: Home, sandbox, working roots and domain lists of the place where it is enforced; another
            sandbox can mean another policy, so they must be the real ones (`described_site`).
        opa: The engine that evaluates every question.
        scenarios: Calls that overrule a proof: a tool of which one is permitted is not hidden.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    sides = load_sides([bundle], world)
    places = [
        (server, tool)
        for server, annotated in sides.sides[0].content.annotations.servers.items()
        for tool in annotated.tools
    ]
    spaces = {(server, tool.tool): _space(server, tool, sides) for server, tool in places}
    followed = [space for space in spaces.values() if isinstance(space, CallSpace)]
    examined = {(one.space.server, one.space.tool): one for one in examine(followed, opa)}
    tools: list[NarrowedTool] = []
    for server, tool in places:
        one = examined.get((server, tool.tool))
        if one is not None and not (reasons := tuple(_reasons(one))):
            tools.append(_narrowed(server, tool, one))
            continue
        why = spaces[server, tool.tool] if one is None else reasons
        tools.append(_open(server, tool, sides, why))  # type: ignore[arg-type]
    permitted = _permitted([tool for tool in tools if not tool.reachable], scenarios, sides, opa)
    schemas = {(server, tool.tool): tool.input_schema for server, tool in places}
    shown = (
        _shown(tool, schemas[tool.server, tool.tool], permitted.get((tool.server, tool.tool)))
        for tool in tools
    )
    return Narrowing(revision=bundle.revision, tools=tuple(shown))


def _permitted(
    hidden: Collection[NarrowedTool],
    scenarios: Collection[Scenario],
    sides: PoliciesUnderTest,
    opa: OpaCommand,
) -> dict[tuple[str, str], str]:
    """Return by hidden tool the first scenario of which the call is permitted all the same."""
    places = {(tool.server, tool.tool) for tool in hidden}
    about = [each for each in scenarios if (each.call.server, each.call.tool) in places]
    if not about:
        return {}
    side = sides.sides[0]
    decisions = decide_prepared(prepare_scenarios(about, side.policy), side.bundle, side.policy, opa)
    found: dict[tuple[str, str], str] = {}
    for each in about:
        if decisions[each.id].verdict is not Verdict.DENY:
            found.setdefault((each.call.server, each.call.tool), each.id)
    return found


def _shown(tool: NarrowedTool, schema: dict[str, JsonValue] | None, scenario: str | None) -> NarrowedTool:
    """Return a tool that was hidden as the server says it, where a scenario shows that it must not be."""
    if scenario is None:
        return tool
    reasons = (*tool.reasons, f"the call of the scenario {scenario} is permitted")
    return NarrowedTool(
        server=tool.server, tool=tool.tool, reachable=True, input_schema=schema, reasons=reasons
    )


def described_site(site: Deployment) -> DescribedWorld:
    """Return the world that a place of enforcement amounts to, for evidence about it."""
    return DescribedWorld(
        home=site.home,
        sandbox=site.sandbox,
        protected=site.protected,
        working_roots=dict(site.working_roots),
        domains=dict(site.domains),
    )


def _space(server: str, tool: ToolAnnotation, sides: PoliciesUnderTest) -> CallSpace | tuple[str, ...]:
    """Return the space of a tool, or why it cannot be examined."""
    try:
        space = CallSpace(server, tool.tool, sides)
        if sum(space.diagram(cell).paths for cell in space.cells.values()) > MAX_PATHS:
            raise space.too_many()
    except EvidenceError as error:
        return (str(error),)
    return space


def _reasons(one: Examined) -> Iterator[str]:
    """Yield why a tool was not followed in full; a project's own modules only ever tighten."""
    yield from (reason for reason in sorted(one.gaps) if reason != CUSTOM_MODULES)


def _narrowed(server: str, tool: ToolAnnotation, one: Examined) -> NarrowedTool:
    live = Live(one)
    if not live.possible():
        return NarrowedTool(server=server, tool=tool.tool, reachable=False)
    schema = narrowed_schema(tool, one.space, live)
    return NarrowedTool(server=server, tool=tool.tool, reachable=True, input_schema=schema)


def _open(
    server: str, tool: ToolAnnotation, sides: PoliciesUnderTest, reasons: tuple[str, ...]
) -> NarrowedTool:
    """Return a tool whose tests could not be followed: hidden only where no rule could permit it at all."""
    side = sides.sides[0]
    rules = rules_of_tool(side.content, server, tool, side.tokens)
    roles = {role for argument in tool.args for role in argument.possible_roles}
    contained = tool.contained and any(sides.registry[role].containable for role in roles)
    if not contained and all(rule.then is Verdict.DENY for rule in rules):
        return NarrowedTool(server=server, tool=tool.tool, reachable=False, reasons=reasons)
    return NarrowedTool(
        server=server, tool=tool.tool, reachable=True, input_schema=tool.input_schema, reasons=reasons
    )
