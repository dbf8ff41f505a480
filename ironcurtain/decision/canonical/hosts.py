"""Hosts: every spelling of one host becomes one name, and every name has one class (specification 1.4).

The canonical spellings are: a name in lower-case ASCII (IDNA) without a trailing dot; an IPv4 address as
four decimal numbers; an IPv6 address in brackets, compressed. An IPv6 address that maps an IPv4 one
(`::ffff:a.b.c.d`) is that IPv4 address, since the kernel connects to the same place for both.

Names are not looked up. A name may only hold letters, digits, `-` and `_`: what the WHATWG algorithm lets
through beyond that (`!`, `*`, `~`, empty labels) names no host, and programs disagree about it.
"""

from __future__ import annotations

import functools
import hashlib
import ipaddress
import re
from importlib import resources
from typing import Literal

import ada_url
from publicsuffixlist import PublicSuffixList

from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.system.structs import Struct


def is_public_suffix(domain: str) -> bool:
    """Tell whether strangers register names directly below a canonical domain.

    Private suffixes (`github.io`) count, and so does every single label that the list does not know.
    """
    return _full_list(_list_key(domain)).is_public(domain) is True


def is_icann_suffix(domain: str) -> bool:
    """Tell whether a canonical domain is a suffix of the domain name system itself (`com`, `co.uk`)."""
    return _icann_list(_list_key(domain)).is_public(domain) is True


@functools.cache
def list_digest() -> str:
    """Return the SHA-256 of the list in use, as `sha256:<hex>`, for the bundle's manifest."""
    return f"sha256:{hashlib.sha256(_list_text()).hexdigest()}"


# A rule of the list is about names that end in its last label. Encoding all ten thousand takes 90 ms, which a
# command that decides one call would wait for; so a list is made for the ends that a policy names.
_ENCODED = "xn--"


def _list_key(domain: str) -> str:
    """Return the last label of a domain; one for all that the list writes in other alphabets."""
    last = domain.rpartition(".")[2]
    return _ENCODED if last.startswith(_ENCODED) else last


@functools.cache
def _full_list(key: str) -> PublicSuffixList:
    icann, private = _rules()
    return PublicSuffixList([*icann.get(key, ()), *private.get(key, ())])


@functools.cache
def _icann_list(key: str) -> PublicSuffixList:
    icann, _ = _rules()
    return PublicSuffixList(icann.get(key, ()), accept_unknown=False)


@functools.cache
def _rules() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the rules of the domain name system, and the private ones, by the key of their domains."""
    text = _list_text().decode()
    icann, private = text.split("// ===END ICANN DOMAINS===")
    return _by_key(icann), _by_key(private)


def _by_key(section: str) -> dict[str, list[str]]:
    rules: dict[str, list[str]] = {}
    for line in section.splitlines():
        if line and not line.startswith("//"):
            last = line.partition(" ")[0].rpartition(".")[2].lower()
            rules.setdefault(_list_key(last) if last.isascii() else _ENCODED, []).append(line)
    return rules


def _list_text() -> bytes:
    return resources.files("publicsuffixlist").joinpath("public_suffix_list.dat").read_bytes()


MAX_HOST_BYTES = 253

HostKind = Literal["ip", "local", "name"]
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# `localdomain` is the suffix under which distributions list the loopback address in /etc/hosts.
_LOCAL_SUFFIXES = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "lan",
    "home.arpa",
    "corp",
    "svc",
    "cluster.local",
)
# Cloud metadata services whose names do not end in one of the suffixes above.
_METADATA_HOSTS = (
    "metadata.goog",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "api.metadata.cloud.ibm.com",
)
LOCAL_TREES = frozenset({*_LOCAL_SUFFIXES, *_METADATA_HOSTS})

_LOCAL_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::/128",
        "::1/128",
        "64:ff9b:1::/48",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")
_ISATAP_MARKS = (0x00005EFE, 0x02005EFE)

# What would end or split a host inside a URL, and what the WHATWG parser drops in silence.
_NOT_IN_A_HOST = re.compile(r"[\x00-\x20\x7f/\\?#@]")
_BARE_IPV6 = re.compile(r"[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")


class Host(Struct):
    """One host in its canonical spelling.

    Attributes:
        name: `example.com`, `127.0.0.1` or `[::1]`.
        kind: `ip` for every address; `local` for names that only mean something near this machine;
            `name` for all others.
        is_local: Whether it leads to this machine or its surroundings: every `local` name, and
            addresses that are loopback, private, link-local, carrier-grade, unspecified or embed one.
    """

    name: str
    kind: HostKind
    is_local: bool


def canonical_host(text: str) -> Host:
    """Return the host that a spelling means, as every scheme's host is read: like that of `https`.

    Args:
        text: A host alone: no port, user or scheme; IPv6 with or without brackets.

    Raises:
        UnrepresentableError: If it is no host, or one that programs read differently.
    """
    if _NOT_IN_A_HOST.search(text):
        raise UnrepresentableError("has a host with a character that no host can hold")
    spelled = f"[{text}]" if _BARE_IPV6.fullmatch(text) else text
    if ":" in spelled and not (spelled.startswith("[") and spelled.endswith("]")):
        raise UnrepresentableError("has a host that is not valid")
    try:
        parsed = ada_url.URL(f"https://{spelled}/")
    except ValueError as error:
        raise UnrepresentableError("has a host that is not valid") from error
    if parsed.host_type != ada_url.HostType.DEFAULT:
        return _address_host(ipaddress.ip_address(parsed.hostname.strip("[]")))
    return _named_host(parsed.hostname.removesuffix("."))


def _address_host(address: _Address) -> Host:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    name = str(address) if address.version == 4 else ada_url.URL(f"https://[{address}]/").hostname  # noqa: PLR2004 - IPv4
    return Host(name, "ip", _is_local_address(address))


def _is_local_address(address: _Address) -> bool:
    candidates = (address, *_embedded(address))
    return any(one in network for one in candidates for network in _LOCAL_NETWORKS)


def _embedded(address: _Address) -> tuple[ipaddress.IPv4Address, ...]:
    """Return the IPv4 addresses that gateways or tunnels would reach for an IPv6 one."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    addresses = [address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or address in _IPV4_COMPATIBLE or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP_MARKS:
        addresses.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(one for one in addresses if one is not None)


def _named_host(name: str) -> Host:
    labels = name.split(".")
    if len(name) > MAX_HOST_BYTES:
        raise UnrepresentableError(f"has a host of more than {MAX_HOST_BYTES} bytes")
    if not all(_LABEL.fullmatch(label) and _is_real_label(label) for label in labels):
        raise UnrepresentableError("has a host that is no domain name")
    local = len(labels) == 1 or any(".".join(labels[i:]) in LOCAL_TREES for i in range(len(labels)))
    return Host(name, "local" if local else "name", local)


def _is_real_label(label: str) -> bool:
    """Tell whether an encoded label stands for text; `ada-url` lets broken punycode through unchanged."""
    if not label.startswith("xn--"):
        return True
    decoded = ada_url.idna.decode(label)
    return decoded != label and ada_url.idna.encode(decoded) == label.encode()
