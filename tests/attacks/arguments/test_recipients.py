"""Attack: reach a second recipient, or another one than the policy saw.

Held by: every recipient is a subject of its own, in one canonical form.
"""

# ruff: noqa: RUF001 - look-alikes are the point

from __future__ import annotations

import pytest

from ironcurtain.decision.canonical.identifiers import canonical_identifier
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.roles import Registry

RECIPIENT = Registry()["recipient"]


@pytest.mark.parametrize(
    "text",
    [
        "alice@example.com,evil@evil.com",
        "alice@example.com, evil@evil.com",
        "alice@example.com;evil@evil.com",
        "alice@example.com evil@evil.com",
        "alice@example.com\nBcc: evil@evil.com",
        "alice@example.com\r\nBcc: evil@evil.com",
        "alice@example.com\x00evil@evil.com",
        "alice@example.com\tevil@evil.com",
        "alice@example.com <evil@evil.com>",
        "evil@evil.com <alice@example.com>",
        '"alice@example.com" <evil@evil.com>',
        "Alice, evil@evil.com <alice@example.com>",
        '"Alice, evil" <alice@example.com>',
        "Alice <alice@example.com> <evil@evil.com>",
        "Alice <alice@example.com>, evil@evil.com",
        "Alice <alice@example.com>evil@evil.com",
        "<alice@example.com><evil@evil.com>",
        "Team: alice@example.com, evil@evil.com;",
        "undisclosed:;",
        "<@evil.com:alice@example.com>",
        "@evil.com:alice@example.com",
        "alice%evil.com@example.com",
        "evil.com!alice@example.com",
        '"alice@evil.com"@example.com',
        '"alice"@example.com',
        '"a b"@example.com',
        "alice(evil@evil.com)@example.com",
        "(evil@evil.com)alice@example.com",
        "alice@example.com(comment)",
        "alice@@example.com",
        "alice@evil.com@example.com",
        "alice@",
        "@example.com",
        "alice",
        "alice@[127.0.0.1]",
        "alice@[IPv6:::1]",
        "alice@127.0.0.1",
        "alice@0x7f.1",
        "alice@example..com",
        "alice@*.example.com",
        "alice@ex%61mple.com",
        "alice@example.com:25",
        "alice@example.com/evil",
        ".alice@example.com",
        "alice.@example.com",
        "al..ice@example.com",
        "-f@example.com",
        "mailto:alice@example.com",
        "alice@example.com?bcc=evil@evil.com",
        "аlice@example.com",
        "alice\u202e@example.com",
        "alice\u200b@example.com",
        "alice＠example.com",
        "alice\\@evil.com@example.com",
        "a" * 1013 + "@example.com",
    ],
)
def test_anything_but_one_plain_address(text: str) -> None:
    with pytest.raises(UnrepresentableError) as caught:
        canonical_identifier(RECIPIENT, text)
    assert "evil" not in caught.value.reason


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("alice@exаmple.com", "alice@xn--exmple-4nf.com"),
        ("Alice <ALICE@example.com>", "alice@example.com"),
        ("=?utf-8?q?Alice?= <alice@example.com>", "alice@example.com"),
    ],
)
def test_what_is_sent_is_the_address_that_was_judged(text: str, address: str) -> None:
    assert canonical_identifier(RECIPIENT, text) == address
