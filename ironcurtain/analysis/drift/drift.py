"""Drift: the tools of live servers compared with the digests that a policy's annotations are pinned to.

    report = drift(PolicyContent.of(bundle), tools, suspicions)
    report = touched(report, bundle, world, opa)    # with the rules that the changed tools concern

A server that was not read, and a tool without a digest, are reported as such, never as unchanged.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from ironcurtain.analysis.drift.report import ChangedArguments, DriftedTool, DriftReport, TouchedRule
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.matrix.matrix import tool_table
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import is_drifted
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import If
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.servers.tools import ToolListing, Tools, tool_digest
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

Reader = Callable[[str, ToolListing], Iterable[str]]
"""Says what in a tool's texts speaks to the model, given its server's name."""


def drift(content: PolicyContent, live: Tools, suspicions: Reader) -> DriftReport:
    """Compare live tools with the annotations of a policy; no engine is asked.

    Args:
        content: The policy.
        live: The tools of the servers that were read; the policy's other servers count as unread.
        suspicions: Reads the texts of tools that changed.
    """
    drifted: list[DriftedTool] = []
    unpinned: list[str] = []
    unchanged = 0
    for server, listed in sorted(live.items()):
        known = {
            name: tool for (of, name), tool in content.tools.items() if of == server and not is_reserved(tool)
        }
        now = {tool.name: tool for tool in listed}
        for name in sorted(known.keys() | now.keys()):
            drifted_tool = _compared(server, name, known.get(name), now.get(name))
            if drifted_tool is not None:
                texts = tuple(suspicions(server, now[name])) if name in now else ()
                drifted.append(drifted_tool.model_copy(update={"texts": texts}))
            elif known[name].schema_digest is None:
                unpinned.append(f"{server}/{name}")
            else:
                unchanged += 1
    return DriftReport(
        revision=content.revision,
        tools=tuple(drifted),
        unchanged=unchanged,
        unpinned=tuple(unpinned),
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


def _compared(
    server: str, name: str, known: ToolAnnotation | None, now: ToolListing | None
) -> DriftedTool | None:
    """Return how a tool changed; None if it did not, or if its annotation does not say what it was."""
    if known is None:
        return DriftedTool(server=server, tool=name, kind="added")
    if now is None:
        return DriftedTool(server=server, tool=name, kind="gone")
    if known.schema_digest is None or not is_drifted(known, tool_digest(now), now.listing_digest):
        return None
    return DriftedTool(
        server=server,
        tool=name,
        kind="changed",
        changed=tuple(_changed(known, now)),
        arguments=changed_arguments(known.input_schema or {}, now.input_schema),
    )


def _changed(
    known: ToolAnnotation, now: ToolListing
) -> Iterator[Literal["description", "schema", "listing"]]:
    """Yield what is different. The old description is not kept, but the digest tells whether it changed."""
    if tool_digest(now) == known.schema_digest:
        yield "listing"
        return
    pinned = now.model_copy(update={"input_schema": known.input_schema or {}})
    if known.input_schema is None or tool_digest(pinned) != known.schema_digest:
        yield "description"
    if known.input_schema != now.input_schema:
        yield "schema"


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
