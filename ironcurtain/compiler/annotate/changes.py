"""What changed between the published annotations and new ones: drift of tools, and weaker annotations.

An annotation is weaker than another one where it makes enforcement judge less. A model that believed what a
server wrote gives exactly such annotations, so a person has to confirm each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.decision.comparison import FATES, compare
from ironcurtain.decision.reserved_tools import RESERVED, with_listed, without_reserved
from ironcurtain.decision.roles import NONE
from ironcurtain.errors import IronCurtainError, UnconfirmedAnnotationError
from ironcurtain.model.annotations import Annotations, Argument, ToolAnnotation
from ironcurtain.servers.tools import ListedServer, Tools
from ironcurtain.system import json_text
from ironcurtain.system.files import load
from ironcurtain.system.text import quoted, visible


def with_named_tools(annotations: Annotations, clauses: Sequence[PlacedClause]) -> Annotations:
    """Return annotations in which every server has the reserved tools that clauses name."""
    texts = "\n".join(placed.clause.text for placed in clauses)
    named = [name for name in RESERVED if re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w/-])", texts)]
    return with_listed(annotations, ((server, name) for server in annotations.servers for name in named))


FILE_NAME = "tool-annotations.json"
FLAGS = ("required", "recursive", "repository")
MEANINGS = ("codec", "relative_to", "assume_scheme")
_SHOWN = 8
_CONTAINED = "it is contained now, so the sandbox excuses its paths"


def published_annotations(output: Path) -> Annotations | None:
    """Return the annotations of a published directory, or None where nothing is published yet.

    Raises:
        FileError, FormatError, NewerFormatError: If the file is there and cannot be used.
    """
    path = output / FILE_NAME
    return without_reserved(load(path, Annotations)) if path.exists() else None


def annotation_digest(tool: ToolAnnotation) -> str:
    """Return `sha256:<hex>` over what an annotation means: without comment, confirmations and the schema."""
    meaning = tool.model_dump(
        mode="json",
        by_alias=True,
        exclude_defaults=True,
        exclude={"comment", "confirmed", "input_schema", "source"},
    )
    return json_text.digest(meaning)


def drift_notes(old: Annotations, tools: Tools) -> list[str]:
    """Return a line for whatever changed since servers were annotated, and for tools that came or went."""
    notes = []
    for server in sorted(old.servers.keys() | tools.keys()):
        found = compare(old.servers.get(server), tools.get(server, ListedServer())).deviations
        for kind in ("added", "gone"):
            names = [each.name for each in found if each.kind == kind and each.what == "tool"]
            if names:
                what = "new" if kind == "added" else "gone"
                notes.append(f"{server}: tools that are {what}: {_several(names)}")
        for each in found:
            if each.what == "tool" and each.kind == "changed":
                what = " and ".join(each.changed)
                notes.append(f"{server}: the {what} of {quoted(each.name)} changed since it was annotated")
            elif each.what != "tool":
                notes.append(f"{server}: {each.shown}: {FATES[each.kind]} since the server was annotated")
    return notes


def unconfirmed_weakenings(
    old: Annotations, new: Annotations, confirmations: Confirmations
) -> list[IronCurtainError]:
    """Return an error for each annotation that is weaker than the published one and not confirmed."""
    errors: list[IronCurtainError] = []
    for server in sorted(old.servers.keys() & new.servers.keys()):
        before = _by_name(old, server)
        for tool in new.servers[server].tools:
            entries = confirmations.of_tool(server, tool.tool, tool.schema_digest)
            if tool.tool not in before or any(e.annotation == annotation_digest(tool) for e in entries):
                continue
            reasons = list(weaker(before[tool.tool], tool))
            if any(entry.contained for entry in entries):
                reasons = [reason for reason in reasons if reason != _CONTAINED]
            if reasons:
                errors.append(_error(server, tool, reasons))
    return errors


def weaker(old: ToolAnnotation, new: ToolAnnotation) -> Iterator[str]:
    """Yield each way in which the second annotation makes enforcement judge less than the first."""
    if new.contained and not old.contained:
        yield _CONTAINED
    if old.side_effects and not new.side_effects:
        yield "it has no side effects any more"
    for composite in old.composites:
        if composite not in new.composites and set(composite.join) <= set(new.argument_names):
            yield f"the {composite.role} of {visible(' and '.join(composite.join))} is not joined any more"
    for argument in old.args:
        yield from _weaker_argument(argument, new)


def _weaker_argument(old: Argument, new: ToolAnnotation) -> Iterator[str]:
    shown = f"argument {quoted(old.name)}"
    same = [argument for argument in new.args if argument.name == old.name]
    related = same or [argument for argument in new.args if argument.top_level == old.top_level]
    if not related:
        return  # the tool has no such argument any more, so nothing can be passed in it
    joined = {composite.role for composite in new.composites if old.top_level in composite.join}
    kept = {role for argument in related for role in argument.possible_roles} | joined
    lost = [role for role in old.possible_roles if role not in kept and role != NONE]
    if lost:
        yield f"{shown} loses the role {', '.join(lost)}"
    narrowed = [a for a in related if a.conditional is not None and a.conditional != old.conditional]
    if narrowed and not lost:
        yield f"{shown} carries its roles under other conditions"
    for flag in FLAGS:
        if getattr(old, flag) and not any(getattr(argument, flag) for argument in related):
            yield f"{shown} is not {flag} any more"
    for key in MEANINGS:
        was = getattr(old, key)
        if was is not None and not any(getattr(argument, key) == was for argument in related):
            yield f"{shown} has not the {key} {quoted(was)} any more"


def _error(server: str, tool: ToolAnnotation, reasons: list[str]) -> UnconfirmedAnnotationError:
    entry = {
        "server": server,
        "tool": tool.tool,
        "annotation": annotation_digest(tool),
        "schema_digest": tool.schema_digest,
        "by": "…",
        "reason": "…",
    }
    return UnconfirmedAnnotationError(
        f"the new annotation of {quoted(tool.tool)} is weaker: {'; '.join(reasons)}",
        where=server,
        hint="Correct the annotation, or confirm it in confirmations.yaml: "
        + json_text.canonical(entry).decode(),
    )


def _by_name(annotations: Annotations, server: str) -> dict[str, ToolAnnotation]:
    found = annotations.servers.get(server)
    return {tool.tool: tool for tool in found.tools} if found else {}


def _several(names: list[str]) -> str:
    shown = ", ".join(visible(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
