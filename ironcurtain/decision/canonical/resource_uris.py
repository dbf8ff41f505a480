"""URIs of MCP resources, as the WHATWG algorithm reads them: servers of the official SDKs do.

The scheme says what a URI names: a file, a web address, or something of the server's own. A text that another
program could read under another scheme has no canonical form under any role, so it is refused.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote

import ada_url

from ironcurtain.decision.canonical.characters import BROKEN_ESCAPE, CONTROL, check_plain, trimmed
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import ESCAPE, canonical_path, decode_utf8, with_plain_escapes
from ironcurtain.system.text import quoted

_FILE = "file:"
_KINDS = {_FILE: "file", "http:": "web", "https:": "web"}
# What the algorithm rewrites in a file's URI, what ends its path, and a slash that no name can hold.
_NOT_OF_FILE = re.compile(r"[\\?#]|%2f", re.IGNORECASE)


def kind_of(uri: str) -> str:
    """Return what a URI names by its scheme: `file`, `web` or `other`."""
    return _KINDS.get(uri[: uri.find(":") + 1].lower(), "other")


def path_of(uri: str) -> str | None:
    """Return the path that a file's URI names; None where programs read another one, or none, from it."""
    url = _parsed(uri)
    is_plain = trimmed(uri) == uri and not (CONTROL.search(uri) or _NOT_OF_FILE.search(uri))
    if url is None or url.host or not is_plain or not uri[len(_FILE) :].startswith("/"):
        return None
    return unquote(url.pathname, errors="surrogateescape")


def uri_of(path: str) -> str:
    """Return the URI of a canonical path."""
    return PurePosixPath(path).as_uri()


def check_resource_uri(text: str) -> None:
    """Refuse what is no URI in its one spelling, and the URIs of files and web addresses.

    Raises:
        UnrepresentableError: If a program would read, write or decode it as something else.
    """
    url = _parsed(text)
    if url is None or " " in text or BROKEN_ESCAPE.search(text):
        raise UnrepresentableError("is no well-formed URI")
    if url.protocol in _KINDS:
        raise UnrepresentableError("is the URI of a file or of a web address")
    if (written := with_plain_escapes(url.href)) != text:
        raise UnrepresentableError(f"is a URI that programs write otherwise: {quoted(written)}")
    decoded = decode_utf8(text)
    if ESCAPE.search(decoded) or CONTROL.search(decoded):
        raise UnrepresentableError("is percent-encoded twice, or hides a control character")
    check_plain(decoded)
    if url.pathname.startswith("/"):
        canonical_path(url.pathname)


def _parsed(uri: str) -> ada_url.URL | None:
    try:
        return ada_url.URL(uri)
    except ValueError:
        return None
