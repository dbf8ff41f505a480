"""Spellings of web addresses: what browsers, and programs that read addresses as they do, take for one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from ironcurtain.analysis.attack.spellings.spelling import BROWSERS, TOOLS, Spelling, SpellingContext

_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<host>\[[^\]]*\]|[^/?#:@\[\]]+)(?::(?P<port>\d+))?"
    r"(?P<path>[^?#]*)(?P<rest>.*)"
)
_PORTS = {"https": "443", "http": "80"}
_UNRESERVED = re.compile(r"[A-Za-z0-9]")


def respell_url(text: str, ground: SpellingContext) -> Iterator[Spelling]:
    """Yield spellings of an http or https address; what is none has no spellings."""
    match = _URL.fullmatch(text)
    if match is None or match["scheme"].lower() not in _PORTS:
        return
    scheme, host, path, rest = match["scheme"], match["host"], match["path"], match["rest"]
    port = f":{match['port']}" if match["port"] else ""
    for kind, spelled in respell_host(host):
        yield Spelling(kind, BROWSERS, f"{scheme}://{spelled}{port}{path}{rest}")
    yield from _authority(scheme, host, port, f"{path}{rest}")
    for kind, spelled in respell_url_path(path):
        yield Spelling(kind, BROWSERS, f"{scheme}://{host}{port}{spelled}{rest}")
    if host.lower() in ground.folding_hosts:
        yield Spelling("case", TOOLS, f"{scheme}://{host}{port}{path.swapcase()}{rest}")
    yield from _as_text(text, scheme, f"{host}{port}{path}{rest}")
    if "#" not in rest:
        yield Spelling("fragment", BROWSERS, f"{text}#x")


def respell_host(host: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, spelling) of a host."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        yield from _name(host)
        return
    if isinstance(address, ipaddress.IPv4Address):
        yield from _ipv4(address)
    else:
        yield "address form", f"[{address.exploded}]"
        yield "address form", f"[{address.exploded.upper()}]"


def _name(host: str) -> Iterator[tuple[str, str]]:
    yield "case", host.upper()
    yield "case", host.title()
    yield "trailing dot", f"{host}."
    yield "percent-encoding", "".join(f"%{ord(c):02x}" if c.isascii() else c for c in host)
    yield "percent-encoding", host.replace(".", "%2e")
    yield "Unicode form", host.replace(".", "\u3002")
    yield "Unicode form", "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in host)
    yield "Unicode form", f"{host[:1]}\u00ad{host[1:]}"


def _ipv4(address: ipaddress.IPv4Address) -> Iterator[tuple[str, str]]:
    parts = address.packed
    yield "address form", str(int(address))
    yield "address form", hex(int(address))
    yield "address form", ".".join(f"0{part:o}" for part in parts)
    yield "address form", ".".join(hex(part) for part in parts)
    yield "address form", f"{parts[0]}.{int(address) & 0xFFFFFF}"
    yield "address form", f"{address}."
    yield "mapped address", f"[::ffff:{address}]"
    yield "mapped address", f"[::ffff:{parts[0]:02x}{parts[1]:02x}:{parts[2]:02x}{parts[3]:02x}]"


def _authority(scheme: str, host: str, port: str, rest: str) -> Iterator[Spelling]:
    yield Spelling("user", BROWSERS, f"{scheme}://user@{host}{port}{rest}")
    yield Spelling("user", BROWSERS, f"{scheme}://example.com:x@{host}{port}{rest}")
    yield Spelling("user", BROWSERS, f"{scheme}://example.com%40x@{host}{port}{rest}")
    if not port:
        yield Spelling("port", BROWSERS, f"{scheme}://{host}:{_PORTS[scheme.lower()]}{rest}")
        yield Spelling("port", BROWSERS, f"{scheme}://{host}:0{_PORTS[scheme.lower()]}{rest}")
        yield Spelling("port", BROWSERS, f"{scheme}://{host}:{rest}")


def respell_url_path(path: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, spelling) of an address's path."""
    below = path.lstrip("/")
    yield "dot segments", f"/x/../{below}"
    yield "dot segments", f"/./{below}"
    yield "dot segments", f"/x/%2e%2e/{below}"
    yield "dot segments", f"/x/.%2E/{below}"
    yield "dot segments", f"/..\\{below}"
    if below:
        yield "percent-encoding", "/" + _UNRESERVED.sub(lambda c: f"%{ord(c[0]):02x}", below, count=1)
        yield "percent-encoding", "/" + _UNRESERVED.sub(lambda c: f"%{ord(c[0]):02X}", below)


def _as_text(text: str, scheme: str, rest: str) -> Iterator[Spelling]:
    yield Spelling("case", BROWSERS, f"{scheme.swapcase()}://{rest}")
    yield Spelling("slashes", BROWSERS, f"{scheme}:/{rest}")
    yield Spelling("slashes", BROWSERS, f"{scheme}:{rest}")
    yield Spelling("slashes", BROWSERS, f"{scheme}:///{rest}")
    yield Spelling("slashes", BROWSERS, f"{scheme}:\\\\{rest}")
    yield Spelling("slashes", BROWSERS, f"{scheme}://{rest.replace('/', chr(92))}")
    yield Spelling("spaces", BROWSERS, f" {text}")
    yield Spelling("spaces", BROWSERS, f"{text}\n")
    yield Spelling("spaces", BROWSERS, f"{text[:9]}\t{text[9:]}")
    if scheme.lower() == "https":
        yield Spelling("without a scheme", TOOLS, rest, neighbour=True)
        yield Spelling("without a scheme", TOOLS, f"//{rest}", neighbour=True)
