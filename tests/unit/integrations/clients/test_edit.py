from __future__ import annotations

import json
import random

import pytest
from support.deployments.wrapped import CORPUS, FILES, read_as_an_editor, text_of

from ironcurtain.errors import FormatError
from ironcurtain.integrations.clients.edit import MAX_DEPTH, JsonNode, parse

PIECES = [
    *'{}[],:"\\/*0-1e.x \t\n\r',
    "//",
    "/*",
    "*/",
    "true",
    "null",
    '"a"',
    "\ufeff",
    "\u2028",
    "{}",
]
TWICE = "stands twice"


def spoilt(seed: int) -> str:
    """Return a configuration with up to three characters lost, doubled or put in."""
    chance = random.Random(seed)
    text = text_of(CORPUS / chance.choice(FILES))
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(["", text[at] * 2, chance.choice(PIECES)]) + text[at + 1 :]
    return text


def ours(text: str) -> dict[str, object] | None:
    """Return what we read; None if only we refuse it, for a name that stands twice."""
    try:
        return {"value": parse(text, "f").value}
    except FormatError as error:
        return None if TWICE in error.what else {}


def test_it_reads_what_an_editor_reads() -> None:
    texts = [text_of(CORPUS / name) for name in FILES] + [spoilt(seed) for seed in range(700)]
    pairs = [(text, ours(text), theirs) for text, theirs in zip(texts, read_as_an_editor(texts), strict=True)]
    differing = [
        text for text, mine, theirs in pairs if mine is not None and mine.get("value") != theirs.get("value")
    ]
    assert differing == []
    assert sum("value" in theirs for _, _, theirs in pairs) > 200
    assert sum("errors" in theirs for _, _, theirs in pairs) > 200


@pytest.mark.parametrize("name", FILES)
def test_every_place_is_right(name: str) -> None:
    text = text_of(CORPUS / name)
    waiting = [parse(text, name)]
    while waiting:
        node: JsonNode = waiting.pop()
        assert parse(text[node.start : node.end], name).value == node.value
        for member in node.members:
            alone = parse("{" + text[member.start : member.end] + "}", name)
            assert alone.value == {member.name: member.node.value}
            assert member.comma is None or text[member.comma] == ","
            waiting.append(member.node)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("", "f:1:1", "expected a value"),
        ('{"a": 1,\n "a": 2}', "f:2:2", TWICE),
        ('{"a": {"b": 1, "\\u0062": 2}}', "f:1:16", TWICE),
        ("{'a': 1}", "f:1:2", "double quotes"),
        ('{"a": NaN}', "f:1:7", "expected a value"),
        ('{"a": 1} x', "f:1:10", "end of the file"),
        ('{"a": 1', "f:1:8", "expected }"),
        ('{"a": 1 /* }', "f:1:9", "expected }"),
        ('{"a\n": 1}', "f:1:2", "double quotes"),
        ('{"a": "\x1b[31m"}', "f:1:7", "double quotes"),
        ("[" * (MAX_DEPTH + 2), f"f:1:{MAX_DEPTH + 2}", "nested deeper"),
        ('{"a": ' + "9" * 5000 + "}", "f:1:7", "too long"),
    ],
    ids=lambda value: repr(value)[:20] if isinstance(value, str) else "",
)
def test_what_is_no_json(text: str, place: str, what: str) -> None:
    with pytest.raises(FormatError, match=what) as caught:
        parse(text, "f")
    assert str(caught.value.where) == place


def test_a_large_file_takes_no_time_to_speak_of() -> None:
    text = json.dumps({"projects": {f"/p/{n}": {"history": ["x" * 50] * 20} for n in range(1000)}}, indent=2)
    assert len(parse(text, "f").members[0].node.members) == 1000
