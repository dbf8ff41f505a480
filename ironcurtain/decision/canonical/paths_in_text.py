"""Texts without a path role that a tool could take for a path all the same.

Nobody said that the tool does, so nothing is refused for being odd: every path that some program reads from
the text is looked up, and the structural checks refuse those that are protected.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeGuard
from urllib.parse import unquote

import ada_url

from ironcurtain.decision.canonical.characters import trimmed
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import is_ignored

_PATH = ("/", ".", "~")
# The WHATWG algorithm drops tabs and line ends wherever they stand.
_DROPPED = str.maketrans("", "", "\t\n\r")
_FILE = re.compile(r"file:(?://(?:localhost(?=/))?)?(?P<path>[^?#]*)", re.IGNORECASE)
_FILE_SCHEME = re.compile(r"[\t\n\r]*".join("file:"), re.IGNORECASE | re.ASCII)
# What a process's own links lead to is the tool's root and working directory, whatever they are for us.
_TO = r"(?:/+\.)*/+"
_PROCESS_LINK = re.compile(
    rf"(?:{_TO}proc{_TO}(?:self|thread-self|[0-9]+)(?:{_TO}task{_TO}[0-9]+)?{_TO}(?P<kind>root|cwd)(?=/|$))+"
)


def looks_like_path(value: JsonValue) -> TypeGuard[str]:
    """Tell whether a value without a path role is looked at as a path all the same."""
    if not isinstance(value, str):
        return False
    first = value[:1]
    if first in _PATH:
        return True
    if first in ("f", "F"):
        return _FILE_SCHEME.match(value) is not None
    return bool(first) and (first == " " or is_ignored(first)) and looks_like_path(trimmed(value))


def paths_in(text: str) -> Iterator[str]:
    """Yield the paths that programs read from a text that looks like one, the usual one first.

    Some programs trim it, some take its dots out by the text alone, and of a file's URI some take what the
    WHATWG algorithm takes, others what stands behind `file:` or `file://`.
    """
    text = trimmed(text)
    if not _FILE_SCHEME.match(text):
        yield text
        if not text.startswith("~"):
            yield posixpath.normpath(text)
            if link := _PROCESS_LINK.match(text):
                yield ("/" if link["kind"] == "root" else "./") + text[link.end() :].lstrip("/")
        return
    for path in _paths_of_uri(text.translate(_DROPPED)):
        yield trimmed(unquote(path, errors="surrogateescape"))


def _paths_of_uri(uri: str) -> Iterator[str]:
    with suppress(ValueError):
        yield ada_url.URL(uri).pathname
    if match := _FILE.match(uri):
        yield match["path"]
