"""What an editor shows where the cursor is: of a clause, a rule, a tool; and what could be typed there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.editor.places import Span, line_at
from ironcurtain.integrations.editor.project import EditedProject
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import cut, printable, visible

_KEYED = re.compile(r'(?P<key>clause|rule|tool|server|expect)["\']?\s*:\s*["\']?(?P<word>[\w.@/-]*)')
_SERVER = re.compile(r'\bserver["\']?\s*:\s*["\']?(?P<server>[\w.-]+)')


class Hover(Struct):
    """A text about a part of a document, and where its definition stands."""

    span: Span
    text: str
    definition: tuple[Path, Span] | None = None


class Offered(Struct):
    """What could be typed: the word, and what it means."""

    word: str
    meaning: str


def shown_at(path: Path, offset: int, project: EditedProject) -> Hover | None:
    """Return what is known of what stands at an offset; None if that is nothing."""
    if path in (project.constitution, project.guidance):
        return _clause_at(path, offset, project)
    keyed = _keyed_at(project.texts.shown(path), offset)
    if keyed is None or path not in (project.scenarios, project.answers):
        return None
    match, span = keyed
    return {"clause": _clause, "rule": _rule, "tool": _tool}.get(match["key"], _nothing)(match, span, project)


def offered_at(path: Path, offset: int, project: EditedProject) -> list[Offered]:
    """Return what could be typed at an offset of scenarios or answers."""
    if path not in (project.scenarios, project.answers):
        return []
    text = project.texts.shown(path)
    begin = line_at(text, offset).start
    keys = [match for match in _KEYED.finditer(text[begin:offset]) if match.end() == offset - begin]
    return [*_words_for(keys[-1]["key"], _server_of(text, offset), project)] if keys else []


def _words_for(key: str, server: str | None, project: EditedProject) -> Iterator[Offered]:
    """Yield the values that a key can have; `server` is the one whose tools are meant, if one is named."""
    if key == "clause":
        yield from (Offered(each.clause.id, printable(each.clause.text)) for each in _clauses(project))
    elif key == "expect":
        yield from (Offered(verdict.value, "") for verdict in Verdict)
    elif key == "rule":
        yield from (Offered(rule.name, _rule_words(rule)) for rule in _rules(project))
    elif key == "server":
        yield from (Offered(name, "") for name in dict.fromkeys(name for name, _ in _tools(project)))
    else:
        tools = [(name, tool) for name, tool in _tools(project) if server in (None, name)]
        yield from (Offered(tool.tool, _roles(name, tool)) for name, tool in tools)


def _clause_at(path: Path, offset: int, project: EditedProject) -> Hover | None:
    for placed in _clauses(project):
        where, span = project.place_of(placed)
        if where == path and span.start <= offset <= span.end:
            return Hover(span, _clause_words(placed, project))
    return None


def _clause(keyed: re.Match[str], span: Span, project: EditedProject) -> Hover | None:
    placed = project.clause(keyed["word"])
    if placed is None:
        return None
    return Hover(span, _clause_words(placed, project), project.place_of(placed))


def _rule(keyed: re.Match[str], span: Span, project: EditedProject) -> Hover | None:
    rule = next((rule for rule in _rules(project) if rule.name == keyed["word"]), None)
    if rule is None:
        return None
    placed = project.clause(rule.clause)
    return Hover(span, _rule_words(rule), project.place_of(placed) if placed else None)


def _tool(keyed: re.Match[str], span: Span, project: EditedProject) -> Hover | None:
    server = _server_of(keyed.string, span.start)
    known = [(name, tool) for name, tool in _tools(project) if tool.tool == keyed["word"]]
    texts = [_tool_words(name, tool) for name, tool in known if server in (None, name)]
    return Hover(span, "\n\n".join(texts)) if texts else None


def _nothing(_found: re.Match[str], _span: Span, _project: EditedProject) -> Hover | None:
    return None


def _keyed_at(text: str, offset: int) -> tuple[re.Match[str], Span] | None:
    line = line_at(text, offset)
    for match in _KEYED.finditer(text, line.start, line.end):
        span = Span(*match.span("word"))
        if span.start <= offset <= span.end:
            return match, span
    return None


def _server_of(text: str, offset: int) -> str | None:
    """Return the server that is named last before an offset, or behind it in the same line."""
    line = line_at(text, offset)
    named = [match["server"] for match in _SERVER.finditer(text, line.start, line.end)]
    before = [match["server"] for match in _SERVER.finditer(text, 0, line.start)]
    return (named or before[-1:] or [None])[0]


def _clause_words(placed: PlacedClause, project: EditedProject) -> str:
    clause = placed.clause
    rules = [rule for rule in _rules(project) if rule.clause == clause.id]
    lines = [f"{clause.id}  {printable(clause.text)}"]
    if clause.principle:
        lines.append("A guiding principle, which no single rule has to implement.")
    elif project.policy is None:
        lines.append("No compile has published rules yet.")
    elif not rules:
        lines.append("The last compile made no rule of it.")
    return "\n".join([*lines, *(f"{rule.then}: {_rule_words(rule)}" for rule in rules)])


def _rule_words(rule: Rule) -> str:
    return visible(f"{rule.name} ({rule.clause}): {rule.description or rule.reason}")


def _tool_words(server: str, tool: ToolAnnotation) -> str:
    arguments = (f"  {each.name}: {', '.join(each.possible_roles) or 'none'}" for each in tool.args)
    lines = (f"{server} {tool.tool}", *arguments, *([cut(tool.comment, 400)] if tool.comment else []))
    return "\n".join(map(visible, lines))


def _roles(server: str, tool: ToolAnnotation) -> str:
    roles = dict.fromkeys(role for argument in tool.args for role in argument.possible_roles)
    return visible(f"{server}: {', '.join(roles) or 'no arguments'}")


def _clauses(project: EditedProject) -> tuple[PlacedClause, ...]:
    try:
        return project.clauses
    except IronCurtainError:
        return ()


def _rules(project: EditedProject) -> tuple[Rule, ...]:
    return project.policy.rules if project.policy is not None else ()


def _tools(project: EditedProject) -> Iterator[tuple[str, ToolAnnotation]]:
    servers = project.annotations.servers if project.annotations is not None else {}
    for name, server in servers.items():
        for tool in server.tools:
            yield name, tool
