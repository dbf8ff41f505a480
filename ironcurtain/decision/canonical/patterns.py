"""Patterns of policies: their canonical spelling, and what lies inside what (specification 1.8).

Every pattern is a node of one tree per kind, written as the chain of parts that leads to it from the root;
every resource is such a chain, too, and a pattern covers it when its own chain is a beginning of the
resource's. Patterns are therefore laminar by construction: of two chains one begins the other, or they
part and have nothing in common.

For that, a few spellings that would cut across others do not exist: path segments after a `*` host, and
`https://` or `ssh://` before a host, since a pattern without a scheme means both (the one exception is a
port that is the other scheme's default, as in `ssh://ssh.github.com:443`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from ironcurtain.decision.canonical.characters import CONTROL
from ironcurtain.decision.canonical.hosts import Host, canonical_host, is_icann_suffix, is_public_suffix
from ironcurtain.decision.canonical.identifiers import canonical_identifier
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import (
    DEFAULT_CASE_INSENSITIVE_HOSTS,
    DEFAULT_PORTS,
    Url,
    canonical_path,
)
from ironcurtain.decision.roles import Registry, Role
from ironcurtain.errors import PatternError
from ironcurtain.system.text import quoted, visible

Chain: TypeAlias = tuple[str, ...]
"""The way from the root of a kind's tree to a pattern or a resource."""

DOMAIN = "domain"
"""The kind of the members of a list of type `domain`: host patterns without scheme, port and path."""

MAX_PATH_BYTES = 4096
MAX_PATH_COMPONENTS = 128
MAX_PATTERN_BYTES = 8192

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_URL_PATTERN = re.compile(
    r"(?:(?P<scheme>[^:/]*)://)?(?P<host>\[[^\]/]*\]|[^:/\[\]]*)(?::(?P<port>[^:/]*))?(?P<path>/.*)?",
    re.DOTALL,
)
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_MAX_PORT = 65535
_HERE = "="
"""The part of a chain that ends a host: the host itself, as against its subdomains."""
_FAMILIES = {"https": "web", "ssh": "web", "http": "http", "git": "git"}


def canonical_pattern(
    kind: str,
    text: str,
    registry: Registry,
    *,
    case_insensitive_hosts: frozenset[str] = DEFAULT_CASE_INSENSITIVE_HOSTS,
) -> str:
    """Return the one spelling of a pattern.

    Two freedoms are taken: a trailing slash is removed, and under a separator other than `/` the form
    `PROJ-*` becomes `PROJ-**`. Every other spelling than the canonical one is an error.

    Args:
        kind: A `Role.pattern_kind`, or `domain` for the members of such a list.
        text: The pattern as a policy or a list has it.
        registry: The roles, for the project's identifier roles.
        case_insensitive_hosts: Hosts whose path segments are written in lower case.

    Raises:
        PatternError: If it is not canonical, covers too much, or is no pattern of that kind.
    """
    _check_text(text)
    if kind == "path" and text != text.strip():
        raise PatternError(
            f"the pattern {quoted(text)} begins or ends with a blank, so it covers nothing that is meant",
            hint=f"write {visible(text.strip())}",
        )
    try:
        canonical = _canonicaliser(kind, registry, case_insensitive_hosts)(text)
    except UnrepresentableError as error:
        raise PatternError(f"the pattern {quoted(text)} {error.reason}") from error
    if canonical not in (text, text.removesuffix("/")) and not _is_star_form(kind, text, canonical, registry):
        raise PatternError(
            f"the pattern {quoted(text)} is not in canonical form", hint=f"write {visible(canonical)}"
        )
    return canonical


def canonical_member(kind: str, text: str, registry: Registry) -> str:
    """Return the canonical spelling of a list's value, which people and models may spell otherwise.

    Raises:
        PatternError: If it is no pattern of that kind in any spelling.
    """
    _check_text(text)
    try:
        return _canonicaliser(kind, registry, DEFAULT_CASE_INSENSITIVE_HOSTS)(text)
    except UnrepresentableError as error:
        raise PatternError(f"the value {quoted(text)} {error.reason}") from error


def contains(kind: str, outer: str, inner: str, registry: Registry) -> bool:
    """Tell whether every resource that `inner` covers is covered by `outer`, too.

    Both are canonical. Directories are compared as written: `~/x` and `/home/u/x` are two trees here,
    since only a machine relates them.
    """
    chain = pattern_chain(kind, outer, registry)
    return pattern_chain(kind, inner, registry)[: len(chain)] == chain


def pattern_chain(kind: str, canonical: str, registry: Registry) -> Chain:
    """Return the chain of a canonical pattern; its resources are those whose chains begin with it."""
    if kind == "path":
        return path_chain(canonical)
    if kind in ("url", DOMAIN):
        return _url_pattern_chain(canonical)
    if kind == "recipient" and canonical.startswith("*@"):
        return (canonical.removeprefix("*@"),)
    if kind == "repository" and canonical.endswith("/*"):
        return (canonical.removesuffix("*"),)
    if separator(registry[kind]) and canonical.endswith("**"):
        return identifier_chain(registry[kind], canonical.removesuffix("**"))[:-1]
    return identifier_chain(registry[kind], canonical)


def path_chain(path: str) -> Chain:
    """Return the chain of a real path or of a `~` form: its root, then its components."""
    root, _, rest = path.partition("/")
    return (root, *rest.split("/")) if rest else (root,)


def url_chain(url: Url, case_insensitive_hosts: frozenset[str]) -> Chain:
    """Return the chain of a URL: scheme and port, class, host from its last label, segments."""
    segments = url.segments
    if url.host.name in case_insensitive_hosts:
        segments = tuple(segment.lower() for segment in segments)
    return (*_realm(url.scheme, url.port), *_host_parts(url.host), _HERE, *segments)


def identifier_chain(role: Role, value: str) -> Chain:
    """Return the chain of a canonical identifier: its components, each but the last with its separator."""
    if role.name == "recipient":
        local, _, domain = value.rpartition("@")
        return (domain, local)
    mark = "/" if role.name == "repository" else separator(role)
    if not mark:
        return (value,)
    *parents, last = value.split(mark)
    return (*(parent + mark for parent in parents), last)


def separator(role: Role) -> str | None:
    """Return what separates the levels of a role's identifiers, or None if they have no levels."""
    if role.identifier is not None:
        return role.identifier.separator
    return "/" if role.name == "remote-path" else None


def _check_text(text: str) -> None:
    if not text or CONTROL.search(text) or _SURROGATE.search(text):
        raise PatternError(
            f"the pattern {quoted(text)} is empty, has a control character, or is no Unicode text"
        )
    if len(text.encode()) > MAX_PATTERN_BYTES:
        raise PatternError(f"the pattern {quoted(text)} has more than {MAX_PATTERN_BYTES} bytes")


def _canonicaliser(kind: str, registry: Registry, folded: frozenset[str]) -> Callable[[str], str]:
    if kind == "path":
        return _canonical_directory
    if kind == "url":
        return lambda text: _canonical_url_pattern(text, folded)
    if kind == DOMAIN:
        return _canonical_domain
    if kind not in registry.pattern_kinds:
        raise PatternError(f"{quoted(kind)} is no kind of pattern")
    return lambda text: _canonical_identifier_pattern(registry[kind], text)


def _is_star_form(kind: str, text: str, canonical: str, registry: Registry) -> bool:
    mark = separator(registry[kind]) if kind in registry else None
    return mark not in (None, "/") and text.endswith(f"{mark}*") and f"{text}*" == canonical


def _refuse_globs(text: str, globs: str) -> None:
    if any(glob in text for glob in globs):
        raise UnrepresentableError(f"has one of {globs} where a pattern can have none")


# -- directories --------------------------------------------------------------------------------


def _canonical_directory(text: str) -> str:
    _refuse_globs(text, "*?[]{}")
    root, _, rest = text.removesuffix("/").partition("/")
    if root not in ("", "~"):
        raise UnrepresentableError("is no absolute directory, nor one that begins with `~/`")
    components = rest.split("/") if rest else []
    if any(component in ("", ".", "..") for component in components):
        raise UnrepresentableError("has a component that is empty, `.` or `..`")
    if len(components) > MAX_PATH_COMPONENTS or len(text.encode()) > MAX_PATH_BYTES:
        raise UnrepresentableError("is too long for a path")
    return "/".join((root, *components)) or "/"


# -- hosts and URLs -----------------------------------------------------------------------------


def _canonical_domain(text: str) -> str:
    if text == "*" or ":" in text or "/" in text:
        raise UnrepresentableError("is no domain: write example.com or *.example.com")
    host = _canonical_host_pattern(text)
    if _wildcard_host(host).kind == "ip":
        raise UnrepresentableError("is an address, and a list of domains holds names only")
    return host


def _canonical_host_pattern(text: str) -> str:
    """Return a host pattern other than `*` in canonical form."""
    domain = text.removeprefix("*.")
    _refuse_globs(domain, "*?{}")
    host = canonical_host(domain)
    if domain == text:
        if is_icann_suffix(host.name):
            raise UnrepresentableError("is a public suffix, which names no host")
        return host.name
    if host.kind == "ip":
        raise UnrepresentableError("is a wildcard over an address, which has no subdomains")
    if is_icann_suffix(host.name) or (host.kind == "name" and is_public_suffix(host.name)):
        raise UnrepresentableError("covers a public suffix, under which anyone can register names")
    if host.kind == "local" and canonical_host(f"x.{host.name}").kind != "local":
        raise UnrepresentableError("is a wildcard over a single name, which is no domain")
    return f"*.{host.name}"


def _canonical_url_pattern(text: str, folded: frozenset[str]) -> str:
    match = _URL_PATTERN.fullmatch(text)
    if match is None or any(mark in text for mark in "?#@"):
        raise UnrepresentableError("is not [scheme://]host[:port][/segment…] with any IPv6 host in brackets")
    host = "*" if match["host"] == "*" else _canonical_host_pattern(match["host"])
    scheme, port = _canonical_scheme(match["scheme"], host), _canonical_port(match["port"])
    prefix = _realm_prefix(scheme, port, host)
    path = canonical_path(match["path"] or "").removesuffix("/")
    if path and host.startswith("*"):
        raise UnrepresentableError("has a path after a wildcard host; name the host exactly")
    _refuse_globs(path, "*")
    if path.endswith(".git") and not path.endswith("/.git"):
        raise UnrepresentableError("ends in `.git`, which patterns leave out")
    return prefix + (path.lower() if host in folded else path)


def _canonical_scheme(scheme: str | None, host: str) -> str | None:
    if scheme is None:
        return None
    if scheme.lower() not in _FAMILIES:
        raise UnrepresentableError(f"has a scheme other than http and git; write {host} for https and ssh")
    return scheme.lower()


def _canonical_port(port: str | None) -> int | None:
    if port is None:
        return None
    if not _PORT.fullmatch(port) or int(port) > _MAX_PORT:
        raise UnrepresentableError("has a port that is no number from 1 to 65535")
    return int(port)


def _realm_prefix(scheme: str | None, port: int | None, host: str) -> str:
    """Return `[scheme://]host[:port]` in the one spelling of its set of schemes and ports."""
    family = _FAMILIES[scheme or "https"]
    if family != "web":
        plain = port is None or port == DEFAULT_PORTS[family]
        return f"{scheme}://{host}" if plain else f"{scheme}://{host}:{port}"
    if port not in (DEFAULT_PORTS["https"], DEFAULT_PORTS["ssh"]):
        return host if port is None else f"{host}:{port}"
    default_of, other = ("https", "ssh") if port == DEFAULT_PORTS["https"] else ("ssh", "https")
    if scheme == other:
        return f"{other}://{host}:{port}"
    raise UnrepresentableError(
        f"names the default port of {default_of}; write {host}, or {other}://{host}:{port} for {other} there"
    )


def _url_pattern_chain(canonical: str) -> Chain:
    scheme, mark, rest = canonical.rpartition("://")
    authority, slash, path = rest.partition("/")
    host, colon, port = authority.rpartition(":")
    if not colon or "]" in port:
        host, port = authority, ""
    realm = _realm(scheme if mark else "https", int(port) if port else None)
    segments = tuple(path.split("/")) if slash else ()
    if host == "*":
        return (*realm, "name")
    parts = _host_parts(_wildcard_host(host))
    return (*realm, *parts) if host.startswith("*.") else (*realm, *parts, _HERE, *segments)


def _wildcard_host(pattern: str) -> Host:
    return canonical_host(pattern.removeprefix("*."))


def _realm(scheme: str, port: int | None) -> Chain:
    return (_FAMILIES[scheme], str(port or ""))


def _host_parts(host: Host) -> Chain:
    labels = (host.name,) if host.kind == "ip" else reversed(host.name.split("."))
    return (host.kind, *labels)


# -- identifiers --------------------------------------------------------------------------------


def _canonical_identifier_pattern(role: Role, text: str) -> str:
    if role.name == "recipient" and text.startswith("*@"):
        return f"*@{canonical_identifier(role, f'x{text[1:]}').removeprefix('x@')}"
    if role.name == "repository" and text.endswith("/*"):
        return f"{canonical_identifier(role, f'{text[:-1]}x').removesuffix('/x')}/*"
    mark = separator(role)
    if mark and text.endswith(f"{mark}**"):
        return _canonical_prefix(role, text.removesuffix("**"), mark)
    if mark and mark != "/" and text.endswith(f"{mark}*"):
        return _canonical_prefix(role, text.removesuffix("*"), mark)
    _refuse_globs(text, "*?")
    return canonical_identifier(role, text.removesuffix("/") if mark == "/" else text)


def _canonical_prefix(role: Role, prefix: str, mark: str) -> str:
    """Return `prefix**` canonical; the prefix ends in the separator and is judged as a value's beginning."""
    _refuse_globs(prefix, "*?")
    if prefix == mark:
        raise UnrepresentableError("has nothing before its separator")
    return f"{canonical_identifier(role, f'{prefix}x')[:-1]}**"
