"""The leaves of a call that an attack respells, each with what its annotation says that it is."""

from __future__ import annotations

import copy
import re
import unicodedata
from collections.abc import Iterator

from ironcurtain.analysis.attack.spellings.paths import respell_path
from ironcurtain.analysis.attack.spellings.spelling import GIT, MAIL, TOOLS, Spelling, SpellingContext
from ironcurtain.analysis.attack.spellings.urls import respell_host, respell_url
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.codecs import decode, encode
from ironcurtain.decision.canonical.conditional import roles_in_call
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.decision.roles import GIT_REMOTE, Registry, Role
from ironcurtain.model.annotations import Argument, IdentifierRole, ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace

_URL = re.compile(
    r"(?P<scheme>https?|ssh|git)://(?:(?P<user>[^@/]*)@)?(?P<host>\[[^\]]*\]|[^/:@\[\]]+)(?::(?P<port>\d+))?"
    r"/(?P<path>.*)"
)
_SCP = re.compile(r"(?:(?P<user>[^@:/]*)@)?(?P<host>[^:/@\[\]]+):(?P<path>[^:].*)")
_PORTS = {"https": "443", "http": "80", "ssh": "22", "git": "9418"}

# What git takes for a host, or for a name that holds these characters.
_NOT_OF_GIT = frozenset({"file URL", "~"})


def respell_remote(text: str, ground: SpellingContext) -> Iterator[Spelling]:
    """Yield spellings of a remote: an address, git's short form of one, or a path. Names have none."""
    url = _URL.fullmatch(text)
    short = None if url else _SCP.fullmatch(text)
    if url:
        yield from _url(url)
    elif short and "://" not in text:
        yield from _of_ssh(f"{short['user']}@" if short["user"] else "", short["host"], short["path"])
    elif text.startswith(("/", "~/", "./", "../")):
        for spelling in respell_path(text, ground):
            if spelling.kind not in _NOT_OF_GIT:
                yield replace(spelling, taken_by=GIT)
        if text.startswith("/"):
            yield Spelling("file URL", GIT, f"file://{text}")
    yield Spelling("transport helper", GIT, f"ext::{text}", neighbour=True)
    yield Spelling("option", GIT, f"--upload-pack={text}", neighbour=True)


def _url(match: re.Match[str]) -> Iterator[Spelling]:
    scheme, host, path = match["scheme"], match["host"], match["path"]
    user = f"{match['user']}@" if match["user"] else ""
    port = f":{match['port']}" if match["port"] else ""
    for kind, spelled in respell_host(host):
        yield Spelling(kind, GIT, f"{scheme}://{user}{spelled}{port}/{path}")
    for kind, spelled in _repository_forms(path):
        yield Spelling(kind, GIT, f"{scheme}://{user}{host}{port}/{spelled}")
    yield Spelling("case", GIT, f"{scheme.upper()}://{user}{host}{port}/{path}")
    if not port:
        yield Spelling("port", GIT, f"{scheme}://{user}{host}:{_PORTS[scheme]}/{path}")
    if not user:
        yield Spelling("user", GIT, f"{scheme}://git@{host}{port}/{path}")
        yield Spelling("user", GIT, f"{scheme}://github.com@{host}{port}/{path}")
    if scheme == "ssh" and not port:
        yield from _of_ssh(user, host, path)
    elif scheme == "https" and not port:
        for spelling in _of_ssh("git@", host, path):
            yield replace(spelling, kind="another transport", neighbour=True)
        yield Spelling("another transport", GIT, f"http://{host}/{path}", neighbour=True)
        yield Spelling("another transport", GIT, f"git://{host}/{path}", neighbour=True)


def _of_ssh(user: str, host: str, path: str) -> Iterator[Spelling]:
    below = path.lstrip("/")
    yield Spelling("scp-like form", GIT, f"{user}{host}:{below}")
    yield Spelling("scp-like form", GIT, f"{user}{host.upper()}:{below}")
    yield Spelling("scp-like form", GIT, f"{user}[{host}]:{below}")
    yield Spelling("scp-like form", GIT, f"{user}{host}:x/../{below}")
    yield Spelling("ssh form", GIT, f"ssh://{user}{host}/{below}")
    yield Spelling("ssh form", GIT, f"ssh://{user}{host}:22/{below}")
    yield Spelling("ssh form", GIT, f"git+ssh://{user}{host}/{below}")
    yield Spelling("ssh form", GIT, f"ssh://-oX@{host}/{below}")


def _repository_forms(path: str) -> Iterator[tuple[str, str]]:
    plain = path.rstrip("/").removesuffix(".git")
    if not plain:
        return
    for spelled in (plain, f"{plain}.git", f"{plain}/", f"{plain}.git/"):
        if spelled != path:
            yield "suffix", spelled
    yield "dot segments", f"x/../{path}"
    yield "dot segments", f"./{path}"
    yield "dot segments", f"x/%2e%2e/{path}"
    yield "doubled slashes", f"/{path}"
    yield "percent-encoding", f"%{ord(path[0]) % 256:02x}{path[1:]}"


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
    if role.name == RESOURCE_URI.name:
        yield from _uri(text)
    if role.name != "recipient":
        yield from _of_servers_that_tidy(text)


def _of_servers_that_tidy(text: str) -> Iterator[Spelling]:
    """Yield what servers that trim, drop what is invisible, or normalise, take for the identifier."""
    for blank in (" ", "\u00a0", "\u3000", "\ufeff", "\u200b"):
        yield Spelling("spaces", TOOLS, f"{blank}{text}")
        yield Spelling("spaces", TOOLS, f"{text}{blank}")
    for hidden in ("\u00ad", "\u200b", "\u034f"):
        yield Spelling("invisible characters", TOOLS, f"{text[:1]}{hidden}{text[1:]}")
    yield Spelling(
        "Unicode form", TOOLS, "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    )
    if (apart := unicodedata.normalize("NFD", text)) != text:
        yield Spelling("Unicode form", TOOLS, apart)


def _uri(text: str) -> Iterator[Spelling]:
    scheme, colon, rest = text.partition(":")
    yield Spelling("case", TOOLS, f"{scheme.swapcase()}{colon}{rest}")
    yield Spelling("spaces", TOOLS, f"{scheme[:1]}\t{scheme[1:]}{colon}{rest}")
    if rest[-1:].isalnum() and rest.isascii():
        yield Spelling("percent-encoding", TOOLS, f"{text[:-1]}%{ord(text[-1]):02X}")


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


class ResourceLeaf(Struct):
    """One value of a call under the roles of a resource; of a list in one string, one of its parts.

    Attributes:
        steps: Its place in the arguments.
        text: The value.
        part: Which part of the string it is, where the argument has a codec.
    """

    steps: tuple[str, ...]
    text: str
    argument: Argument
    roles: tuple[Role, ...]
    part: int | None = None

    @property
    def is_path(self) -> bool:
        """Whether it is decided as a path."""
        return self.roles[0].category == "path"

    def spellings(self, ground: SpellingContext) -> Iterator[Spelling]:
        """Yield the other spellings of the value."""
        role = self.roles[0]
        if any(other.name == GIT_REMOTE for other in self.roles):
            spellings = respell_remote(self.text, ground)
        elif role.category == "path":
            spellings = respell_path(self.text, ground)
        elif role.category == "url":
            spellings = respell_url(self.text, ground)
        else:
            spellings = respell_identifier(role, self.text)
        return (spelling for spelling in spellings if spelling.value != self.text)

    def with_value(self, arguments: dict[str, JsonValue], value: JsonValue) -> dict[str, JsonValue] | None:
        """Return the call's arguments with another value in its place; None where that cannot be written."""
        changed = copy.deepcopy(arguments)
        if self.part is not None:
            if self.argument.codec is None or not isinstance(value, str):
                return None
            original = next(
                v for s, v in pointers.leaves(arguments) if s == self.steps and isinstance(v, str)
            )
            parts = decode(self.argument.codec, original)
            parts[self.part] = value
            try:
                value = encode(self.argument.codec, original, parts)
            except UnrepresentableError:
                return None
        pointers.assign(changed, self.steps, value)
        return changed


def resource_leaves(
    tool: ToolAnnotation, arguments: dict[str, JsonValue], registry: Registry
) -> list[ResourceLeaf]:
    """Return the texts of a call that stand for resources."""
    leaves: list[ResourceLeaf] = []
    for argument in tool.args:
        roles = tuple(registry[name] for name in roles_in_call(argument, arguments))
        resources = tuple(role for role in roles if role.resource)
        if not resources:
            continue
        for steps, value in pointers.matches(arguments, pointers.steps_of(argument.name)):
            for below, text in pointers.leaves(value):
                if isinstance(text, str) and text:
                    leaves += _parts((*steps, *below), text, argument, resources)
    return leaves


def _parts(
    steps: tuple[str, ...], text: str, argument: Argument, roles: tuple[Role, ...]
) -> Iterator[ResourceLeaf]:
    if argument.codec is None:
        yield ResourceLeaf(steps, text, argument, roles)
        return
    try:
        parts = decode(argument.codec, text)
    except UnrepresentableError:
        return
    yield from (ResourceLeaf(steps, text, argument, roles, part) for part, text in enumerate(parts))
