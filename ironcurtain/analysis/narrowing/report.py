"""What a policy leaves of each tool's input schema (`ironcurtain/narrowing/v1`), and its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from ironcurtain.analysis.narrowing.keywords import properties, required
from ironcurtain.model.annotations import Annotations
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Digest, Frozen, JsonValue, ServerName
from ironcurtain.system.text import cut, visible


class NarrowedTool(Frozen):
    """One tool as an agent may be shown it.

    Attributes:
        reachable: Whether some call of it could be allowed or escalated; if not, the tool can be hidden.
        input_schema: The server's schema, reduced to what could be allowed or escalated. Every call that is
            is valid under it. None where the tool has no schema or is not reachable.
        reasons: Why the schema may be wider than the policy; empty where every test was followed.
    """

    server: ServerName
    tool: str
    reachable: bool
    input_schema: dict[str, JsonValue] | None = None
    reasons: tuple[str, ...] = ()


class Narrowing(Frozen):
    """Every annotated tool under one policy.

    Attributes:
        revision: The bundle's revision.
        tools: In order of server and annotation.
    """

    format: Literal["ironcurtain/narrowing/v1"] = "ironcurtain/narrowing/v1"
    revision: Digest
    tools: tuple[NarrowedTool, ...] = Field(default=())

    def find(self, server: str, tool: str) -> NarrowedTool | None:
        """Return a tool, or None if it is not annotated."""
        return next((t for t in self.tools if (t.server, t.tool) == (server, tool)), None)


def text_lines(narrowed: Narrowing, annotations: Annotations) -> Iterator[str]:
    """Yield, tool by tool, what differs from the server's own schema."""
    for tool in narrowed.tools:
        name = f"{visible(tool.server)}/{visible(tool.tool)}"
        annotated = annotations.find(tool.server, tool.tool)
        if not tool.reachable:
            yield f"{name}: hidden, no call of it can be permitted"
            continue
        published = annotated.input_schema if annotated is not None else None
        lines = list(_differences(published or {}, tool.input_schema or {}))
        yield f"{name}: {'narrowed' if lines else 'as the server says'}"
        yield from (f"  {line}" for line in lines)
        yield from (f"  not followed: {visible(reason)}" for reason in tool.reasons)


def _differences(published: Mapping[str, JsonValue], narrowed: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield what differs between two schemas of a tool: arguments that are required, changed or gone."""
    known = required(published)
    added = [name for name in required(narrowed) if name not in known]
    if added:
        yield f"required: {', '.join(map(visible, added))}"
    before, after = properties(published), properties(narrowed)
    for name, old in before.items():
        if name not in after:
            yield f"{visible(name)}: cannot be given"
        elif after[name] != old:
            yield from (f"{visible(name)}: {line}" for line in _changed(old, after[name]))


def _changed(old: JsonValue, new: JsonValue) -> Iterator[str]:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return
    for key in dict.fromkeys((*old, *new)):
        if key == "description" and new.get(key) != old.get(key):
            yield visible(str(new[key]).removeprefix(str(old.get(key, ""))).strip())
        elif key not in new:
            yield f"no {visible(key)}"
        elif new[key] != old.get(key):
            yield f"{visible(key)} {cut(json_text.shown(new[key]), 300)}"
