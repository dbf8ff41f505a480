"""Spellings of identifiers: addresses of mail, repositories, remote paths, and what a project declares."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.attack.spellings.spelling import MAIL, TOOLS, Spelling
from ironcurtain.decision.roles import Role
from ironcurtain.model.annotations import IdentifierRole


def respell_identifier(role: Role, text: str) -> Iterator[Spelling]:
    """Yield spellings of an identifier under its role."""
    if role.identifier is not None:
        yield from _declared(role.identifier, text)
    elif role.name == "recipient":
        yield from _recipient(text)
    elif role.name == "repository":
        yield from _repository(text)
    else:
        yield from _segments(text)


def _recipient(text: str) -> Iterator[Spelling]:
    local, _, domain = text.rpartition("@")
    friend = "friend@example.com"
    yield Spelling("case", MAIL, text.upper())
    yield Spelling("case", MAIL, text.swapcase())
    for named in (f"<{text}>", f"Somebody <{text}>", f'"{friend}" <{text}>', f"{friend} <{text}>"):
        yield Spelling("display name", MAIL, named)
    yield Spelling("comment", MAIL, f"{local}(x)@{domain}")
    yield Spelling("comment", MAIL, f'"{local}"@{domain}')
    yield Spelling("spaces", MAIL, f" {text} ")
    yield Spelling("trailing dot", MAIL, f"{text}.")
    yield Spelling("Unicode form", MAIL, text.replace("@", "\uff20"))
    yield Spelling("Unicode form", MAIL, f"{local}@{domain.replace('.', chr(0x3002))}")
    yield Spelling("percent-encoding", MAIL, text.replace("@", "%40"))
    yield Spelling("address form", MAIL, f"mailto:{text}")
    for joined in (f"{friend},{text}", f"{text},{friend}", f"{friend};{text}", f"{friend}\r\nBcc: {text}"):
        yield Spelling("several in one text", MAIL, joined)
    yield Spelling("route", MAIL, f"{local}%{domain}@example.com")


def _repository(text: str) -> Iterator[Spelling]:
    yield Spelling("case", TOOLS, text.upper())
    yield Spelling("case", TOOLS, text.swapcase())
    for slashed in (f"/{text}", f"{text}/", text.replace("/", "//")):
        yield Spelling("doubled slashes", TOOLS, slashed)
    for dotted in (f"./{text}", f"x/../{text}", f"{text}/.", f"x/..%2f{text}"):
        yield Spelling("dot segments", TOOLS, dotted)
    yield Spelling("percent-encoding", TOOLS, text.replace("/", "%2f"))
    yield Spelling("spaces", TOOLS, f" {text}")
    yield Spelling("address form", TOOLS, f"https://github.com/{text}")


def _segments(text: str) -> Iterator[Spelling]:
    for slashed in (f"{text}/", text.replace("/", "//"), f"/{text}"):
        yield Spelling("doubled slashes", TOOLS, slashed)
    for dotted in (f"./{text}", f"x/../{text}", f"x/%2e%2e/{text}", f"{text}/x/.."):
        yield Spelling("dot segments", TOOLS, dotted)
    if "/" in text:
        yield Spelling("percent-encoding", TOOLS, text.replace("/", "%2f"))
        yield Spelling("slashes", TOOLS, text.replace("/", "\\"))


def _declared(role: IdentifierRole, text: str) -> Iterator[Spelling]:
    if role.case == "fold":
        yield Spelling("case", TOOLS, text.upper())
        yield Spelling("case", TOOLS, text.swapcase())
    if role.decode == "percent" and text:
        yield Spelling("percent-encoding", TOOLS, "".join(f"%{byte:02x}" for byte in text.encode()))
        yield Spelling("percent-encoding", TOOLS, f"%25{ord(text[0]) % 256:02x}{text[1:]}")
    if role.numbers and text.isdecimal():
        yield Spelling("number", TOOLS, int(text))
        yield Spelling("number", TOOLS, f"0{text}")
    if role.separator:
        mark = role.separator
        for dotted in (f".{mark}{text}", f"x{mark}..{mark}{text}", f"{text}{mark}x{mark}.."):
            yield Spelling("dot segments", TOOLS, dotted)
