"""URLs and git remote URLs: from a spelling to the place it names, and to the spelling that is sent.

Both parsers are strict where programs differ: what the WHATWG algorithm would drop, guess or rewrite into
something else (tabs, backslashes, missing slashes, dot segments, user names) is unrepresentable. What
stays is spelled in one way, so the program that gets `Url.text` reaches what was judged.
"""

from __future__ import annotations

import re
import string
from urllib.parse import unquote_to_bytes

import ada_url

from ironcurtain.decision.canonical.characters import BROKEN_ESCAPE, CONTROL, check_text
from ironcurtain.decision.canonical.hosts import Host, canonical_host
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.reasons import Reason, ReasonCode
from ironcurtain.system.structs import Struct

MAX_URL_BYTES = 8192
MAX_SEGMENTS = 64

ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")

DEFAULT_CASE_INSENSITIVE_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org"})
DEFAULT_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418}

_FETCH_SCHEMES = ("https", "http")
_MAX_PORT = 65535
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_PARTS = re.compile(r"(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<rest>.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
_TRANSPORT_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
_PLAIN_PATH = re.compile(r"/|~|\.\.?(?:/|$)")
_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_SCP_LIKE = re.compile(r"(?:(?P<user>[^@:/\[\]]*)@)?(?P<host>\[[^\]]*\]|[^:/@\[\]]+):(?P<path>.*)", re.DOTALL)


class Url(Struct):
    """One place on the network.

    Attributes:
        scheme: `https`, `http`, `ssh` or `git`.
        host: The canonical host.
        port: The port, or None for the scheme's default one.
        segments: The path, canonically percent-encoded, without empty parts; for a git remote without
            the `.git` of its last segment.
        text: The spelling that is sent.
    """

    scheme: str
    host: Host
    port: int | None
    segments: tuple[str, ...]
    text: str


def parse_fetch_url(text: str, *, assume_scheme: str | None = None) -> Url:
    """Return the place that an `http` or `https` URL names.

    Args:
        text: The URL; its query and fragment are sent but name no other place.
        assume_scheme: The scheme that the tool itself puts before a URL without one.

    Raises:
        UnrepresentableError: If it is no such URL, carries credentials, or can be read in two ways.
    """
    check_text(text, MAX_URL_BYTES)
    if text != text.strip(" "):
        raise UnrepresentableError("begins or ends with a space")
    scheme, rest = _split_scheme(text, assume_scheme)
    if scheme not in _FETCH_SCHEMES:
        raise UnrepresentableError("is no http or https URL")
    parts = _match(_PARTS, rest)
    host, port = _authority(scheme, parts["authority"])
    path = canonical_path(parts["path"])
    sent = f"{scheme}://{_netloc(host, port)}{path or '/'}{parts['rest']}"
    return _url(scheme, host, port, path, ada_url.URL(sent).href)


def parse_remote_url(text: str) -> Url:
    """Return the place that a git remote URL names: https, http, ssh, git, or scp-like `user@host:path`.

    Names of remotes and local paths are no URLs; ask `is_local_remote` first.

    Raises:
        UnrepresentableError: If git would run a helper for it, it carries a password, or is no such URL.
    """
    check_remote_text(text)
    if not _is_git_url(text):
        raise UnrepresentableError("is a path or a name, no git URL")
    # ssh takes them as part of the path, but https ends or continues the path there.
    if "?" in text or "#" in text or text != text.strip(" "):
        raise UnrepresentableError("is a git URL with a `?` or `#`, or with spaces around it")
    if "://" not in text:
        return _scp_like(text)
    scheme, rest = _split_scheme(text, None)
    if scheme not in DEFAULT_PORTS:
        raise UnrepresentableError("is a git URL of a scheme other than https, http, ssh and git")
    parts = _match(_PARTS, rest)
    user, authority = _split_user(scheme, parts["authority"])
    host, port = _authority(scheme, authority)
    path = canonical_path(parts["path"])
    return _remote(_url(scheme, host, port, path, f"{scheme}://{user}{_netloc(host, port)}{path or '/'}"))


def check_remote_text(text: str) -> None:
    """Refuse what no git remote may hold, be it a URL, a path or a name.

    Raises:
        UnrepresentableError: For transport helpers (`ext::`), a leading `-`, control characters, an
            empty or an overlong text.
    """
    check_text(text, MAX_URL_BYTES)
    if not text:
        raise UnrepresentableError("is empty")
    if text.startswith("-"):
        raise UnrepresentableError("begins with `-`, which git would read as an option")
    if _TRANSPORT_HELPER.match(text):
        raise UnrepresentableError("asks git to run a transport helper")


def is_local_remote(text: str) -> str | None:
    """Return the path that a remote's text plainly is, or None: then it is a URL, or a name to ask git for.

    A path is a `file://` URL, or what git takes for no URL and what begins with `/`, `~`, `./` or `../`
    (`~` is not expanded). `team/origin` may be the name of a remote or a relative path: only git can say.

    Raises:
        UnrepresentableError: If a `file://` URL names a host or is not well-formed.
    """
    if text[:7].lower() == "file://":
        path = text[7:]
        if not path.startswith("/") or BROKEN_ESCAPE.search(path):
            raise UnrepresentableError("is a file URL without a plain absolute path")
        return decode_utf8(path)
    return text if not _is_git_url(text) and _PLAIN_PATH.match(text) else None


def canonical_path(path: str) -> str:
    """Return a URL's path in its one spelling: unreserved characters plain, other escapes in upper case.

    Args:
        path: Empty, or beginning with `/`; a trailing slash is kept.

    Raises:
        UnrepresentableError: If it has an inner empty segment, a dot segment, an encoded slash, an
            encoded control character, a broken escape, a backslash, or too many segments.
    """
    if "\\" in path:
        raise UnrepresentableError("has a backslash, which programs read in different ways")
    if BROKEN_ESCAPE.search(path):
        raise UnrepresentableError("has a `%` that begins no percent-escape")
    segments = path.split("/")[1:]
    if segments and not segments[-1]:
        segments.pop()
    if len(segments) > MAX_SEGMENTS:
        raise UnrepresentableError(f"has more than {MAX_SEGMENTS} segments")
    for segment in segments:
        decoded_segment(segment)
    # The checks come first: the WHATWG algorithm resolves dot segments away.
    encoded = ada_url.URL("https://host" + path).pathname if path else ""
    return with_plain_escapes(encoded)


def with_plain_escapes(text: str) -> str:
    """Return a text without escapes of unreserved characters, and with all others in upper case."""
    return ESCAPE.sub(_plain_escape, text)


def decoded_segment(segment: str) -> str:
    """Return a path segment decoded, and refuse one that some program would read as another place.

    Escapes are followed to any depth, since gateways and servers may each decode once.

    Raises:
        UnrepresentableError: If it is empty, `.` or `..`, or decodes to that or to something with a
            slash, a backslash, a control character or no UTF-8.
    """
    if not segment:
        raise UnrepresentableError("has an empty path segment")
    while True:
        if CONTROL.search(segment):
            raise UnrepresentableError("has a control character in its path")
        if "/" in segment or "\\" in segment:
            raise UnrepresentableError("has an encoded slash in its path")
        # Some servers cut parameters off first: `..;x` is `..` to them.
        if segment.partition(";")[0] in {".", ".."}:
            raise UnrepresentableError("has a `.` or `..` segment in its path")
        # Overlong forms of a slash or a dot end here, too.
        decoded = decode_utf8(segment)
        if decoded == segment:
            return segment
        segment = decoded


def _is_git_url(text: str) -> bool:
    """Tell a URL or scp-like form from a path or a name by git's own rule: a colon before any slash."""
    before, colon, _ = text.partition(":")
    return bool(colon) and "/" not in before


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise UnrepresentableError("is no well-formed URL")
    return match


def _split_scheme(text: str, assumed: str | None) -> tuple[str, str]:
    match = _SCHEME.match(text)
    if match:
        return match[1].lower(), text[match.end() :]
    if assumed is None:
        text = "is a URL without a scheme"
        raise UnrepresentableError(Reason(ReasonCode.NO_SCHEME, text, text))
    return assumed.lower(), text


def _authority(scheme: str, authority: str) -> tuple[Host, int | None]:
    if "@" in authority:
        raise UnrepresentableError("carries a user name or a password")
    match = _match(_AUTHORITY, authority)
    port = int(match["port"]) if match["port"] else DEFAULT_PORTS[scheme]
    if not 0 < port <= _MAX_PORT:
        raise UnrepresentableError("has a port that does not exist")
    return canonical_host(match["host"]), None if port == DEFAULT_PORTS[scheme] else port


def _split_user(scheme: str, authority: str) -> tuple[str, str]:
    """Return an ssh URL's user with its `@`, or nothing, and the authority without it."""
    user, at, rest = authority.rpartition("@")
    if not at or scheme != "ssh":
        return "", authority
    return _checked_user(user), rest


def _checked_user(user: str) -> str:
    if not _USER.fullmatch(user):
        raise UnrepresentableError("carries a password, or a user name that is none")
    return f"{user}@"


def _scp_like(text: str) -> Url:
    match = _match(_SCP_LIKE, text)
    user = "" if match["user"] is None else _checked_user(match["user"])
    if ESCAPE.search(match["host"]):
        raise UnrepresentableError("has an escaped host, which ssh does not decode")
    host = canonical_host(match["host"])
    path = match["path"]
    if not path or path.startswith("-"):
        raise UnrepresentableError("is a git remote with an empty path or one that begins with `-`")
    # ssh takes this path literally: escape its `%` so that segments mean the same as in a URL.
    literal = path.replace("%", "%25").removeprefix("/")
    return _remote(_url("ssh", host, None, canonical_path("/" + literal), f"{user}{host.name}:{path}"))


def _netloc(host: Host, port: int | None) -> str:
    return host.name if port is None else f"{host.name}:{port}"


def _url(scheme: str, host: Host, port: int | None, path: str, text: str) -> Url:
    if len(text.encode()) > MAX_URL_BYTES:
        raise UnrepresentableError(f"has more than {MAX_URL_BYTES} bytes")
    return Url(scheme, host, port, tuple(part for part in path.split("/") if part), text)


def _remote(url: Url) -> Url:
    if not url.segments or url.segments[-1] == ".git":
        return url
    last = url.segments[-1].removesuffix(".git")
    return Url(url.scheme, url.host, url.port, (*url.segments[:-1], last), url.text)


def _plain_escape(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def decode_utf8(text: str) -> str:
    """Return a text with its percent-escapes decoded.

    Raises:
        UnrepresentableError: If they are no valid UTF-8.
    """
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise UnrepresentableError("has percent-escapes that are no valid UTF-8") from error
