"""Narrowing: of each tool's input schema, what a policy could allow or escalate.

    narrowed = narrowing(bundle, described_deployment(deployment), opa)
    narrowed.find("git", "git_push").input_schema

- It is never too strict: every call that is decided allow or escalate is valid under the narrowed schema.
- Where JSON Schema cannot express a test, the schema stays as wide as the server's, and `reasons` says so.
- It only helps agents to make valid calls. What is permitted is decided call by call, as ever.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from ironcurtain.analysis.engine.evaluate import decide_prepared, prepare_scenarios
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, load_policies
from ironcurtain.analysis.engine.rules.diagram import MAX_PATHS
from ironcurtain.analysis.engine.rules.rules import rules_of_tool
from ironcurtain.analysis.engine.space.call_space import CUSTOM_MODULES, CallSpace
from ironcurtain.analysis.narrowing.live import LiveTool
from ironcurtain.analysis.narrowing.report import NarrowedTool, Narrowing
from ironcurtain.analysis.narrowing.schema import narrowed_schema
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.loaded_policy import Deployment
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
            sandbox can mean another policy, so they must be the real ones (`described_deployment`).
        opa: The engine that evaluates every question.
        scenarios: Calls that overrule a proof: a tool of which one is permitted is not hidden.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    policies = load_policies([bundle], world)
    annotated = [(server, tool) for (server, _), tool in policies[0].content.tools.items()]
    spaces = {(server, tool.tool): _space(server, tool, policies) for server, tool in annotated}
    to_examine = [space for space in spaces.values() if isinstance(space, CallSpace)]
    examined = {(tool.space.server, tool.space.tool): tool for tool in examine(to_examine, opa)}
    narrowed: list[NarrowedTool] = []
    for server, tool in annotated:
        space = spaces[server, tool.tool]
        if isinstance(space, CallSpace):
            narrowed.append(_narrowed(server, tool, policies, examined[server, tool.tool]))
        else:
            narrowed.append(_not_followed(server, tool, policies, (space,)))
    permitted = _permitted([tool for tool in narrowed if not tool.reachable], scenarios, policies, opa)
    schemas = {(server, tool.tool): tool.input_schema for server, tool in annotated}
    tools = (
        _unhidden(tool, schemas[tool.server, tool.tool], permitted.get((tool.server, tool.tool)))
        for tool in narrowed
    )
    return Narrowing(revision=bundle.revision, tools=tuple(tools))


def _permitted(
    hidden: Collection[NarrowedTool],
    scenarios: Collection[Scenario],
    policies: PoliciesUnderTest,
    opa: OpaCommand,
) -> dict[tuple[str, str], str]:
    """Return by hidden tool the first scenario whose call is permitted all the same."""
    tools = {(tool.server, tool.tool) for tool in hidden}
    concerned = [scenario for scenario in scenarios if (scenario.call.server, scenario.call.tool) in tools]
    if not concerned:
        return {}
    side = policies[0]
    decisions = decide_prepared(prepare_scenarios(concerned, side.policy), side.bundle, side.policy, opa)
    permitted: dict[tuple[str, str], str] = {}
    for scenario in concerned:
        if decisions[scenario.id].verdict is not Verdict.DENY:
            permitted.setdefault((scenario.call.server, scenario.call.tool), scenario.id)
    return permitted


def _unhidden(tool: NarrowedTool, schema: dict[str, JsonValue] | None, scenario: str | None) -> NarrowedTool:
    """Return a tool, with the server's schema if it was hidden and a scenario's call of it is permitted."""
    if scenario is None:
        return tool
    reasons = (*tool.reasons, f"the call of the scenario {scenario} is permitted")
    return NarrowedTool(
        server=tool.server, tool=tool.tool, reachable=True, input_schema=schema, reasons=reasons
    )


def described_deployment(deployment: Deployment) -> DescribedWorld:
    """Return a deployment as the world that evidence about it speaks of.

    A place that is named by `..` is where the kernel finds it: a described world has no `..`.
    """

    def plain(path: str) -> str:
        whole = deployment.home + path[1:] if path == "~" or path.startswith("~/") else path
        return os.path.realpath(whole) if ".." in whole.split("/") else path

    return DescribedWorld(
        home=plain(deployment.home),
        sandbox=plain(deployment.sandbox) if deployment.sandbox is not None else None,
        protected=tuple(map(plain, deployment.protected)),
        working_roots={server: plain(root) for server, root in deployment.working_roots.items()},
        domains=dict(deployment.domains),
    )


def _space(server: str, tool: ToolAnnotation, policies: PoliciesUnderTest) -> CallSpace | str:
    """Return the calls of a tool as equivalence classes, or why they cannot be examined."""
    try:
        space = CallSpace(server, tool.tool, policies)
        if sum(space.diagrams.of(cell).paths for cell in space.cells.values()) > MAX_PATHS:
            raise space.diagrams.too_many()
    except EvidenceError as error:
        return str(error)
    return space


def _narrowed(
    server: str, tool: ToolAnnotation, policies: PoliciesUnderTest, examined: Examined
) -> NarrowedTool:
    # Custom modules are no reason: they can only make a verdict more severe.
    reasons = tuple(sorted(examined.gaps - {CUSTOM_MODULES}))
    if reasons:
        return _not_followed(server, tool, policies, reasons)
    live = LiveTool(examined)
    if not live.possible():
        return NarrowedTool(server=server, tool=tool.tool, reachable=False)
    schema = narrowed_schema(tool, examined.space, live)
    return NarrowedTool(server=server, tool=tool.tool, reachable=True, input_schema=schema)


def _not_followed(
    server: str, tool: ToolAnnotation, policies: PoliciesUnderTest, reasons: tuple[str, ...]
) -> NarrowedTool:
    """Return a tool whose tests cannot be followed: hidden only where no rule could permit a call of it."""
    side = policies[0]
    rules = rules_of_tool(side.content, server, tool, side.tokens)
    roles = {role for argument in tool.args for role in argument.possible_roles}
    contained = tool.contained and any(policies.registry[role].containable for role in roles)
    if not contained and all(rule.then is Verdict.DENY for rule in rules):
        return NarrowedTool(server=server, tool=tool.tool, reachable=False, reasons=reasons)
    return NarrowedTool(
        server=server, tool=tool.tool, reachable=True, input_schema=tool.input_schema, reasons=reasons
    )
