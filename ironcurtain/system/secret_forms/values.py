"""Values that a text gives to the name of a secret.

A value stands behind its name in configuration, JSON (also as a string in a string), YAML, XML, HTTP headers,
command lines, assignments of programming languages and netrc files. What stands for a value, as `${TOKEN}`
or `<your password>` does, is none. Names are found in one pass over the text; what stands behind one is
looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from ironcurtain.system.secret_forms.linear import MOST, compiled
from ironcurtain.system.secret_forms.names import names_a_secret, names_in_text

_QUOTE = r"\\{0,8}[\"'`]"
_QUOTED = (
    r"(?:\\{1,8}[\"'][^\"'\r\n]{4,}|\"\"\"[^\"]{4,}|'''[^']{4,}|\"(?:[^\"\\\r\n]|\\.){4,}"
    r"|'(?:[^'\\\r\n]|\\.){4,}|`[^`]{4,})"
)
_BARE = r"(?:(?:[^&\s\"'`,;<>|]|,[^\s\"'`])(?:[^&\s\"'`,;]|,[^\s\"'`]){3,})"
_BLOCK = r"(?:[|>][+-]?[ \t]{0,8}\r?\n[ \t]{1,40}[^\r\n]{4,})"
_ANY = rf"(?:{_BLOCK}|{_QUOTED}|{_BARE})"
_SCHEME = "(?:basic|bearer|digest|negotiate|ntlm|token|api-?key|hawk|oauth|dpop|ssws|aws4-hmac-sha256)"
_TYPE = r"(?:[ \t]{0,4}:?[ \t]{0,4}&?(?:string|str)\b(?=[ \t]{0,40}=))?"
_SIGN = r"(?::{0,3}=|=>|\?\??=|[.+]=|\|\|:|:)"
_PAIR = rf"(?:{_QUOTE})?[\s,/>]{{1,40}}(?:{_QUOTE})?value(?:{_QUOTE})?\s{{0,8}}[:=]\s{{0,8}}"

# What may stand behind the name of a secret. `sure` values are secrets whatever they look like; `likely` ones
# stand where ordinary text goes on, too, and must look like one.
_SCHEMED = re.compile(
    rf"(?:{_QUOTE})?[ \t]{{0,4}}[:=,][ \t]{{0,4}}(?:{_QUOTE})?{_SCHEME}[ \t]+(?P<sure>[^\r\n`]{{4,}})",
    re.IGNORECASE,
)
_CRUMBS = re.compile(
    rf"(?:{_QUOTE})?[ \t]{{0,4}}[:=,][ \t]{{0,4}}(?:{_QUOTE})?"
    r"(?P<sure>[^\s\"'=;]{1,100}=[^\r\n\"'\\]{4,})"
)
_BEHIND = re.compile(
    rf"(?:{_QUOTE})?\]?{_TYPE}[ \t]{{0,40}}{_SIGN}[ \t]{{0,40}}(?:\\\r?\n[ \t]{{0,40}})?(?P<sure>{_ANY})"
    rf"|>\s{{0,80}}(?P<element>[^<>\s]{{4,}})"
    rf"|{_PAIR}(?P<pair>{_ANY})"
    rf"|{_QUOTE}[ \t]{{0,4}},[ \t]{{0,4}}(?P<likely>{_QUOTED})"
    rf"|[ \t]+(?:is|was)[ \t]{{0,4}}:?[ \t]{{1,4}}(?P<said>{_ANY})",
)
_ARGUMENT = re.compile(rf"[ \t]+(?P<likely>{_ANY})")
_FLAG = re.compile(r"(?:^|[\s\"'`=\[(])--?[A-Za-z0-9_-]*$")
_VARIABLE = re.compile(r"\b(?:ENV|ARG|set(?:x|[ \t]+-[A-Za-z]+))[ \t]+[A-Za-z0-9_]*$", re.IGNORECASE)
_LOGIN = re.compile(r"\s+(?P<sure>\S{4,})")
_MACHINE = re.compile(r"(?:\bmachine\s+\S+|\bdefault)(?:\s+(?:login|account)\s+\S+){0,2}\s+$")
_BEFORE = 300
"""Characters before a name that say how its value follows."""

_ASKING = (
    "sshpass|mysql[a-z]*|mariadb[a-z-]*|mongo[a-z]*"
    r"|(?:docker|podman|helm|oras|skopeo|crane)[^|;&\n]{0,40}login"
)
_USER = rf"(?:{_QUOTE})?[^\s:\"'`/%]{{1,80}}[:%][^\s\"'/]{{4,}}"
_UNNAMED = (
    r"\S:(?:5432|5433|6432|\*):[^\s:]{1,80}:[^\s:]{1,80}:([^\s:]{4,})",
    rf"(?i:\b(?:{_ASKING})\b[^|;&\n]{{0,100}}?[ \t]-p[ \t]{{0,4}})({_ANY})",
    rf"(?i:\b(?:redis-cli|ldap[a-z]+)\b[^|;&\n]{{0,100}}?[ \t]-[aw][ \t]{{0,4}})({_ANY})",
    rf"(?:^|[\s\"'`])(?:-[uU]|--(?:proxy-)?user)[ \t=]{{0,4}}({_USER})",
    rf"\b[A-Z][A-Z0-9_]{{0,60}}_(?:KEY|PAT|DSN)[ \t]{{0,4}}[:=][ \t]{{0,4}}({_QUOTED}|{_BARE})",
)
_SURE_UNNAMED = 3
"""So many of the forms above are sure."""

_STAND_IN = re.compile(
    r"\[redacted(?::[0-9a-f]{8})?\]|\$[A-Z_][A-Z0-9_]*|\$[{(].*|%[A-Z_]+%|%\(?\w*\)?[sd]|<[\w .-]*>?"
    r"|\{[\w. ]*\}|\{\{.*|\*+|x{3,}|\.{3,}|(?:null|none|true|false|undefined|string|str|text|bytes|number"
    r"|integer|bool(?:ean)?)[]),;:}]*"
    r"|[=^~]{1,2}[0-9.]+|optional\b.*|required|object|(?:process\.env|import\.meta\.env|os\.environ|os\.getenv|System\.getenv)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(r"-.*|(?:[A-Z]?[a-z]+|[A-Z]+)[.:!?)]?", re.DOTALL)
_NUMBERS_ONLY = re.compile(r"[0-9]+[:%][0-9]+")
_EDGES = "\"'`\\"

Place = tuple[int, int]


@cache
def unnamed_pattern() -> Any:  # noqa: ANN401 - the library has no type for a pattern
    """Return the pattern of values that their place alone makes secrets."""
    return compiled(_UNNAMED)


def value_places(text: str) -> list[Place] | None:
    """Return where such values stand, in their order; None if there are too many to look at them all."""
    names = list(islice(names_in_text().finditer(text), MOST))
    others = list(islice(unnamed_pattern().finditer(text), MOST))
    if max(len(names), len(others)) >= MOST:
        return None
    return sorted({*_named(text, names), *filter(None, map(_unnamed, others))})


def _named(text: str, names: list[Any]) -> Iterator[Place]:
    end = 0
    for name in names:
        # What stands in the value of the name before is hidden with it.
        if (
            name.start() >= end
            and names_a_secret(name.group())
            and (match := _behind(text, name)) is not None
        ):
            end = match.end()
            kind: str = match.lastgroup or "sure"
            place = _place(match, kind, likely=kind in {"likely", "said"})
            if place is not None:
                yield place


def _behind(text: str, name: Any) -> re.Match[str] | None:  # noqa: ANN401 - as above
    """Return what gives a name its value, if something does."""
    word, end = name.group().lower(), name.end()
    if word.endswith("authorization") and (header := _SCHEMED.match(text, end)):
        return header
    if word.endswith("cookie") and (header := _CRUMBS.match(text, end)):
        return header
    before = text[max(0, name.start() - _BEFORE) : name.start()]
    if word == "password" and _MACHINE.search(before) and (entry := _LOGIN.match(text, end)):
        return entry
    if _FLAG.search(before) or _VARIABLE.search(before):
        argument = _ARGUMENT.match(text, end)
        if argument is not None:
            return argument
    return _BEHIND.match(text, end)


def _unnamed(match: Any) -> Place | None:  # noqa: ANN401 - as above
    return _place(match, match.lastindex, likely=match.lastindex > _SURE_UNNAMED)


def _place(match: Any, group: str | int, *, likely: bool) -> Place | None:  # noqa: ANN401 - as above
    """Return where a value stands; None where it stands for one, or is how ordinary text goes on."""
    text: str = match[group]
    value = text.strip(_EDGES)
    if _STAND_IN.fullmatch(value) or (likely and (_WORD.fullmatch(value) or _NUMBERS_ONLY.fullmatch(value))):
        return None
    start = match.start(group) + len(text) - len(text.lstrip(_EDGES))
    return start, start + len(value)
