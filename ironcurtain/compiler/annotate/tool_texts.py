"""Findings about the texts of tools that address the model: prompt injection by a server.

Nothing here decides anything. Each finding quotes the text, so that a person reads it, and not only a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ironcurtain.servers.tools import ToolListing
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import is_hidden, quoted, visible

_MAX_DEPTH = 32
_CONTEXT = 60

# What a text does that only makes sense if a model reads it as an order; the first that fits is named.
_ADDRESSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "sets instructions aside",
        re.compile(
            r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,40}"
            r"\b(?:instruction|rule|prompt|polic|guideline|previous|above|constitution)",
            re.IGNORECASE,
        ),
    ),
    (
        "asks for secrecy",
        re.compile(
            r"\b(?:do not|don't|never|without)\b[^.]{0,20}"
            r"\b(?:tell|mention|inform|reveal|show|notify)(?:ing)?\b[^.]{0,20}\b(?:user|person|human|anyone)",
            re.IGNORECASE,
        ),
    ),
    (
        "speaks of how it should be judged",
        re.compile(
            r"\b(?:annotat(?:e|ed|ion)|mark(?:ed)?|treat(?:ed)?|classif(?:y|ied)|consider(?:ed)?)\b[^.]{0,30}"
            r"\b(?:none|contained|harmless|safe|trusted|no roles?|side.effects?)\b"
            r"|\b(?:always|must be|should be) (?:allowed|permitted|approved|trusted)\b"
            r"|\bthis tool is (?:perfectly |completely |always )?(?:safe|trusted|harmless)\b"
            r"|\bno (?:approval|permission|confirmation) (?:is )?(?:needed|required|necessary)",
            re.IGNORECASE,
        ),
    ),
    (
        "speaks to the model",
        re.compile(
            r"\byou are (?:an?|the|now)\b|\bas an AI\b|\bsystem prompt\b"
            r"|</?(?:important|system|instructions?)>"
            r"|\b(?:assistant|system|user)\s*:|-data>|\bAI (?:model|assistant)s?\b[^.]{0,20}\bmust\b",
            re.IGNORECASE,
        ),
    ),
    (
        "orders other tools about",
        re.compile(
            r"\b(?:before|after|instead of) (?:using|calling|running) (?:any|all|every|other)\b"
            r"|\b(?:must|always) (?:first )?(?:call|use|run|read|send|pass|include)\b[^.]{0,60}"
            r"(?:\b(?:content|key|password|token|secret|conversation|history)|~/\.|\.ssh\b|\.env\b)",
            re.IGNORECASE,
        ),
    ),
)


_SYMBOL = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
    "[\ufe0e\ufe0f]?"
)
# An emoji, of one symbol or of joined ones, or a keycap: what selects its form is seen in it.
_PICTURE = re.compile(rf"{_SYMBOL}(?:\u200d{_SYMBOL})*|[0-9#*]\ufe0f?\u20e3")


def text_findings(server: str, tool: ToolListing) -> list[str]:
    """Return a line for each text of a tool that addresses the model or hides characters."""
    texts = [("the description", tool.description), *_schema_texts(tool.input_schema, "the schema", 0)]
    return [
        f"{server}: {where} of {quoted(tool.name)} {what}: {excerpt}"
        for where, text in texts
        for what, excerpt in _suspicions(text)
    ]


def _suspicions(text: str) -> Iterator[tuple[str, str]]:
    shown = {at for picture in _PICTURE.finditer(text) for at in range(*picture.span())}
    suspect = (at for at, c in enumerate(text) if is_hidden(c) and c not in "\n\r\t\u00a0")
    hidden = next((at for at in suspect if at not in shown), None)
    if hidden is not None:
        yield "holds hidden characters", _excerpt(text, hidden, hidden + 1)
    for what, pattern in _ADDRESSES:
        found = pattern.search(text)
        if found:
            yield what, _excerpt(text, *found.span())
            return


def _excerpt(text: str, start: int, end: int) -> str:
    before, after = max(0, start - _CONTEXT), end + _CONTEXT
    return f'"{"…" if before else ""}{visible(text[before:after])}{"…" if after < len(text) else ""}"'


def _schema_texts(node: JsonValue, where: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield every string of a schema, names included: all of them reach the model."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, str):
        yield where, node
    elif isinstance(node, list):
        for item in node:
            yield from _schema_texts(item, where, depth + 1)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield where, key
            yield from _schema_texts(value, where, depth + 1)
