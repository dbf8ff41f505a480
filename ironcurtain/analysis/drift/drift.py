"""Drift: the tools of live servers compared with the digests that a policy's annotations are pinned to.

    report = drift(PolicyContent.of(bundle), tools, suspicions)
    report = touched(report, bundle, world, opa)    # with the rules that the changed tools concern

A server that was not read, and a tool without a digest, are reported as such, never as unchanged.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

from ironcurtain.analysis.drift.report import (
    ChangedArguments,
    DriftedText,
    DriftedTool,
    DriftReport,
    TouchedRule,
)
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.matrix.matrix import tool_table
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.comparison import Deviation, compare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.conditions import If
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.servers.tools import ToolListing, Tools
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

Reader = Callable[[str, ToolListing], Iterable[str]]
"""Says what in a tool's texts speaks to the model, given its server's name."""


def drift(
    content: PolicyContent, live: Tools, suspicions: Reader, recorded: Tools | None = None
) -> DriftReport:
    """Compare live servers with the annotations of a policy; no engine is asked.

    Args:
        content: The policy.
        live: The servers that were read; the policy's other servers count as unread.
        suspicions: Reads the texts of tools that changed.
        recorded: What the servers listed when they were annotated, to quote from.
    """
    drifted: list[DriftedTool] = []
    beside: list[DriftedText] = []
    undigested: list[str] = []
    unpinned: list[str] = []
    unchanged = 0
    for server, listed in sorted(live.items()):
        annotated = content.annotations.servers.get(server)
        found = compare(annotated, listed, (recorded or {}).get(server))
        now = {tool.name: tool for tool in listed}
        for each in found.deviations:
            if each.what == "tool":
                texts = tuple(suspicions(server, now[each.name])) if each.name in now else ()
                drifted.append(_drifted(server, each, content, now.get(each.name), texts))
            else:
                beside.append(DriftedText(server=server, deviation=each))
        undigested += [f"{server}/{each.name}" for each in found.undigested]
        unpinned += [f"{server}/{what}" for what in found.unpinned]
        unchanged += found.unchanged
    return DriftReport(
        revision=content.revision,
        tools=tuple(drifted),
        unchanged=unchanged,
        beside=tuple(beside),
        unpinned=tuple(undigested),
        unpinned_beside=tuple(unpinned),
        unread=tuple(sorted(content.annotations.servers.keys() - live.keys())),
    )


def touched(report: DriftReport, bundle: Bundle, world: DescribedWorld, opa: OpaCommand) -> DriftReport:
    """Add to each tool that changed the rules and cells that concern it; only these tools are examined.

    Raises:
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    content = PolicyContent.of(bundle)
    annotated = [(tool.server, tool.tool) for tool in report.tools if tool.kind != "added"]
    policies = load_policies([bundle], world, {})
    spaces = [CallSpace(server, tool, policies) for server, tool in annotated]
    examined = {(tool.space.server, tool.space.tool): tool for tool in examine(spaces, opa)}
    tools = tuple(_touched(tool, content, examined) for tool in report.tools)
    return report.model_copy(update={"tools": tools})


def _drifted(
    server: str, found: Deviation, content: PolicyContent, now: ToolListing | None, texts: tuple[str, ...]
) -> DriftedTool:
    assert found.kind != "undigested"  # noqa: S101 - these are told apart
    known = content.annotations.find(server, found.name)
    arguments = ChangedArguments()
    if found.kind == "changed" and known is not None and now is not None:
        arguments = changed_arguments(known.input_schema or {}, now.input_schema)
    return DriftedTool(
        server=server,
        tool=found.name,
        kind=found.kind,
        changed=found.changed,
        difference=found.difference,
        varying=found.varying,
        arguments=arguments,
        texts=texts,
    )


def changed_arguments(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> ChangedArguments:
    """Return what became of the top-level arguments between two input schemas."""
    before, after = json_text.members(old.get("properties")), json_text.members(new.get("properties"))
    added, gone = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    renamed: dict[str, str] = {}
    if len(added) == len(gone) == 1 and _shape(before[gone[0]]) == _shape(after[added[0]]):
        renamed, added, gone = {gone[0]: added[0]}, [], []
    same = sorted(before.keys() & after.keys())
    changed = tuple(name for name in same if before[name] != after[name])
    return ChangedArguments(added=tuple(added), gone=tuple(gone), renamed=renamed, schema_changed=changed)


def _shape(schema: JsonValue) -> JsonValue:
    """Return a schema without its descriptions and titles."""
    if not isinstance(schema, dict):
        return schema
    return {key: value for key, value in schema.items() if key not in {"title", "description"}}


def _touched(
    tool: DriftedTool, content: PolicyContent, examined: Mapping[tuple[str, str], Examined]
) -> DriftedTool:
    of_tool = examined.get((tool.server, tool.tool))
    if of_tool is None:
        names = {name for name, rule in content.rules.items() if _would_judge(rule.if_, tool)}
    else:
        answers = itertools.chain.from_iterable(of_tool.answers.values())
        names = {outcome.rule for answered in answers for outcome in answered.outcomes if outcome is not None}
    rules = sorted((rule.order, name, rule) for name, rule in content.rules.items() if name in names)
    return tool.model_copy(
        update={
            "rules": tuple(TouchedRule(rule=n, clause=rule.clause, then=rule.then) for _, n, rule in rules),
            "rows": tool_table(of_tool).rows if of_tool is not None else (),
        }
    )


def _would_judge(condition: If | None, tool: DriftedTool) -> bool:
    """Tell whether a rule could speak of a tool of which only the name is known."""
    return condition is not None and condition.is_about(tool.server, tool.tool)
