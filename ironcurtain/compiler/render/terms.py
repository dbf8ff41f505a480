"""Text into Rego: strings, terms, references and METADATA values that no content can break out of.

Names, patterns and values come from models and people. Every character that could be overlooked is
written as an escape, so what a reader of the Rego sees is all there is. The layout is that of `opa fmt`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.text import is_hidden

MAX_LINE = 110
TAB = "\t"
_TAB_WIDTH = 4

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = frozenset(
    [
        "as",
        "contains",
        "default",
        "else",
        "every",
        "false",
        "if",
        "import",
        "in",
        "not",
        "null",
        "package",
        "some",
        "true",
        "with",
    ]
)
_PLAIN_YAML = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
_LAST_SHORT_ESCAPE = 0xFFFF


def string(text: str) -> str:
    """Return the text as a Rego string literal in double quotes."""
    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isascii() and quoted.isprintable():
        return quoted
    return "".join(map(_rego_character, quoted))


def term(value: JsonSource) -> str:
    """Return a JSON value as a Rego term on one line, object keys sorted."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{string(key)}: {term(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(term(item) for item in value) + "]"
    return json.dumps(value)


def reference(root: str, keys: Iterable[str]) -> str:
    """Return a reference such as `input.args["dry run"].mode`."""
    return root + "".join(_step(key) for key in keys)


def collection(items: Iterable[str], brackets: str, *, used: int, depth: int = 1) -> str:
    """Return rendered terms in brackets, on one line where they fit, else one a line.

    Args:
        items: Terms, already rendered, in their order.
        brackets: The opening and the closing bracket, as in `{}`.
        used: Columns of the line that are taken by what stands before and after.
        depth: How far the line that opens the bracket is indented, in tabs.
    """
    terms = list(items)
    line = brackets[0] + ", ".join(terms) + brackets[1]
    if used + len(line) <= MAX_LINE or len(terms) == 1:
        return line
    inner = TAB * (depth + 1)
    return f"{brackets[0]}\n" + "".join(f"{inner}{item},\n" for item in terms) + TAB * depth + brackets[1]


def literal(value: JsonSource, *, used: int = 0, depth: int = 1) -> str:
    """Return a JSON value as a Rego term: each object and array on one line where it fits, else one a line.

    Args:
        value: The value.
        used: Columns of the first line that are taken by what stands before and after.
        depth: How far that line is indented, in tabs.
    """
    if not isinstance(value, dict | list | tuple) or used + len(term(value)) <= MAX_LINE:
        return term(value)
    inside = (depth + 1) * _TAB_WIDTH + 1
    if isinstance(value, dict):
        keys = {key: f"{string(key)}: " for key in sorted(value)}
        items = [
            key + literal(value[name], used=inside + len(key), depth=depth + 1) for name, key in keys.items()
        ]
        return collection(items, "{}", used=MAX_LINE, depth=depth)
    items = [literal(item, used=inside, depth=depth + 1) for item in value]
    return collection(items, "[]", used=MAX_LINE, depth=depth)


def match_head(order: str, rule: str, verdict: str) -> str:
    """Return the head of a rule that adds a match of resources `ids`; `order` and `rule` are terms."""
    members = [f'"order": {order}', f'"rule": {rule}', f'"verdict": {string(verdict)}', '"subjects": ids']
    match = collection(members, "{}", used=len("matches contains  if {"), depth=0)
    return f"matches contains {match} if {{\n"


def raw_string(text: str) -> str:
    """Return a regular expression as a raw string where it can be one, else as an ordinary string."""
    if "`" in text or any(is_hidden(character) for character in text):
        return string(text)
    return f"`{text}`"


def metadata(value: JsonSource) -> str:
    """Return a value for a METADATA comment: JSON on one line, which is YAML too."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return "".join(_yaml_character(character) for character in text)


def metadata_title(name: str) -> str:
    """Return a name for a METADATA title, without quotes where YAML can only read it as this string."""
    return name if _PLAIN_YAML.fullmatch(name) else metadata(name)


def _step(key: str) -> str:
    if _IDENTIFIER.fullmatch(key) and key not in _KEYWORDS:
        return f".{key}"
    return f"[{string(key)}]"


def _rego_character(character: str) -> str:
    if not is_hidden(character):
        return character
    return json.dumps(character)[1:-1]


def _yaml_character(character: str) -> str:
    if not is_hidden(character):
        return character
    # OPA's YAML reader refuses the surrogate pairs that JSON would write here.
    if ord(character) > _LAST_SHORT_ESCAPE:
        return f"\\U{ord(character):08x}"
    return json.dumps(character)[1:-1]
