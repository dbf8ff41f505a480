"""Protected places in texts without a role, however they are spelled as URIs of files, are refused.

Node's `new URL` says what a spelling is read as. Where it reads a protected place, the call is refused
before any rule; another place, spelled in the same ways, is nobody's business.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from support.called import HOME, SANDBOX, one_tool
from support.oracles.node_urls import NODE, read_file_paths
from support.projects.policies import rule, tool

from ironcurtain.decision.canonical.paths import is_within
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.system.frozen import JsonValue

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node")

COUNT = 10_000
OWN, SECRET, INNER = f"{HOME}/.ironcurtain", f"{HOME}/my secret", f"{SANDBOX}/.env"
PROTECTED = [f"{OWN}/audit.key", f"{OWN}/approvals/a%b", OWN, SECRET, f"{SECRET}/größe", INNER]
OPEN = [f"{HOME}/notes", f"{HOME}/.ironcurtains/x", f"{SECRET}s", f"{SANDBOX}/.envs", "/etc/hosts"]
POLICY = one_tool(
    tool("t", contained=False, note=["none"], message=["commit-message"]),
    [rule("anything", "allow", server=["s"])],
    protected=(SECRET, INNER),
)
HOSTS = [
    *("//", "//", "//", "", "/", "////", "/\\", "\\\\", "\\/", "//.//..", "//localhost", "//LocalHost"),
    *("//%6cocalhost", "//local\u00adhost", "//\uff4cocalhost", "//h.example", "//localhost/x/.."),
]
SEPARATORS = ["/", "/", "/", "/", "\\", "//", "/./", "\\.\\", "/x/../", "/x/%2e%2E/", "/%2E/", "/y\\.%2e/"]
DROPPED = ["\t", "\n", "\r", "\r\n"]
AROUND = [*DROPPED, " ", "\x00", "\x1f", "\u00a0", "\ufeff", "\u3000", "\u2028"]
ENDS = ["", "", "", "?", "?a=/x", "#", "#a", "?a#b"]


def spelled(path: str, choice: random.Random) -> str:
    """Spell the URI of a file in one of the ways that the WHATWG algorithm reads, or a program that trims."""
    names = ["".join(_encoded(char, choice) for char in name) for name in path[1:].split("/")]
    text = names[0]
    for name in names[1:]:
        text += choice.choice(SEPARATORS) + name
    scheme = "".join(choice.choice([char, char.upper()]) for char in "file")
    text = f"{scheme}:{choice.choice(HOSTS)}/{text}{choice.choice(ENDS)}"
    for _ in range(choice.choice([0, 0, 1, 2, 5])):
        at = choice.randint(0, len(text))
        text = text[:at] + choice.choice(DROPPED) * choice.choice([1, 1, 1, 99]) + text[at:]
    before, after = (choice.choices(AROUND, k=choice.choice([0, 0, 1, 3])) for _ in range(2))
    return "".join([*before, text, *after])


def _encoded(char: str, choice: random.Random) -> str:
    if char in "%? #" or choice.random() < 0.15:
        return "".join(choice.choice([f"%{byte:02x}", f"%{byte:02X}"]) for byte in char.encode())
    return char


def _drawn(paths: list[str], seed: int) -> list[str]:
    choice = random.Random(seed)
    return list(dict.fromkeys(spelled(choice.choice(paths), choice) for _ in range(COUNT)))


def _refusal(argument: JsonValue) -> str | None:
    found = prepare(Call("s", "t", {"note": argument}), POLICY)
    return None if isinstance(found, Prepared) else found.rule


GIVEN: dict[str, Callable[[str], JsonValue]] = {
    "alone": lambda text: text,
    "deep": lambda text: {"a": ["b", text]},
    "key": lambda text: {text: 1},
}


@pytest.mark.parametrize("wrapped", GIVEN)
def test_a_protected_place_is_refused_however_it_is_spelled(wrapped: str) -> None:
    texts = _drawn(PROTECTED, 35)
    read = [
        text
        for text, paths in zip(texts, read_file_paths(texts, SANDBOX), strict=True)
        if any(is_within(path, place) for path in paths for place in (OWN, SECRET, INNER))
    ]
    assert len(read) > 0.8 * len(texts), "most spellings are read as what they spell"
    passed = [text for text in read if _refusal(GIVEN[wrapped](text)) != ReservedRule.PROTECTED_PATH]
    assert passed == []


def test_another_place_in_the_same_spellings_is_not() -> None:
    texts = _drawn(OPEN, 36)
    assert [text for text in texts if _refusal(text) is not None] == []
