"""Identifiers: recipients, repositories, remote paths and the identifiers of roles that a project adds.

Each has one canonical spelling, which is both judged and sent (specification 1.7).
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from ironcurtain.decision.canonical.characters import BROKEN_ESCAPE, check_text
from ironcurtain.decision.canonical.hosts import canonical_host
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import check_segment
from ironcurtain.decision.roles import Role
from ironcurtain.model.annotations import IdentifierRole

MAX_IDENTIFIER_BYTES = 1024

# Without `%` and `!`, with which a local part can hold a route to another host.
_ADDRESS = re.compile(r"(?P<local>[A-Za-z0-9#$&'*+/=?^_`{|}~.-]+)@(?P<domain>[^\s@%<>]+)")
# A display name may hold nothing that could begin, end or join addresses.
_NAMED_ADDRESS = re.compile(r'(?:"[^"<>@,;:\\()\[\]]*" *|[^"<>@,;:\\()\[\]]*)<(?P<address>[^<>]*)>')
_REPOSITORY_PART = re.compile(r"[A-Za-z0-9._-]+")
# git-check-ref-format(1), rules 1 to 9, and `HEAD`, which git refuses as a branch.
_NO_BRANCH = re.compile(
    r"(?:^|/)\.|\.\.|[\x00-\x20\x7f~^:?*\[\\]|^/|/$|//|\.$|@\{|^@$|\.lock(?:/|$)|^[-+]|^HEAD$|^$"
)


def canonical_identifier(role: Role, value: str | int) -> str:
    """Return the canonical spelling of a value under an identifier role.

    Args:
        role: A role of the category `identifier`.
        value: A string, or an integer where the role takes numbers (judged in its decimal form).

    Raises:
        UnrepresentableError: If the value names nothing, or more than one thing, of that role.
    """
    if isinstance(value, int):
        if isinstance(value, bool) or role.identifier is None or not role.identifier.numbers:
            raise UnrepresentableError("must be a string")
        value = str(value)
    _check_text(value)
    if role.identifier is not None:
        return _added(role.identifier, value)
    return {"recipient": _recipient, "repository": _repository, "remote-path": _remote_path}[role.name](value)


def check_branch_name(text: str) -> None:
    """Refuse what git takes for no branch, or for more than one: an option, a refspec, a forced push.

    Raises:
        UnrepresentableError: If it breaks git's rules for branch names, begins with `-` or `+`, or
            holds a `:`.
    """
    _check_text(text)
    if _NO_BRANCH.search(text):
        raise UnrepresentableError("is no valid name of a git branch")


def _check_text(text: str) -> None:
    if not text:
        raise UnrepresentableError("is empty")
    check_text(text, MAX_IDENTIFIER_BYTES)


def _recipient(text: str) -> str:
    named = _NAMED_ADDRESS.fullmatch(text.strip(" "))
    match = _ADDRESS.fullmatch(named["address"] if named else text.strip(" "))
    if match is None:
        raise UnrepresentableError("is not exactly one e-mail address")
    local = match["local"]
    if local.startswith((".", "-")) or local.endswith(".") or ".." in local:
        raise UnrepresentableError("is an e-mail address with a misplaced dot or hyphen")
    host = canonical_host(match["domain"])
    if host.kind == "ip":
        raise UnrepresentableError("is an e-mail address at an IP address")
    return f"{local.lower()}@{host.name}"


def _repository(text: str) -> str:
    parts = text.split("/")
    if len(parts) != 2 or not all(_REPOSITORY_PART.fullmatch(p) and p not in {".", ".."} for p in parts):  # noqa: PLR2004 - owner and name
        raise UnrepresentableError("is no repository of the form owner/name")
    return text.lower()


def _remote_path(text: str) -> str:
    for segment in text.split("/"):
        check_segment(segment)
    return text


def _added(declared: IdentifierRole, text: str) -> str:
    if declared.decode == "percent":
        text = _percent_decoded(text)
    if declared.case == "fold":
        text = text.casefold()
    _check_text(text)
    if declared.separator:
        _check_components(text.split(declared.separator), declared.separator)
    return text


def _check_components(components: list[str], separator: str) -> None:
    if any(component in {".", ".."} for component in components):
        raise UnrepresentableError("has a component `.` or `..`")
    if separator == "/" and "" in components:
        raise UnrepresentableError("has an empty component")


def _percent_decoded(text: str) -> str:
    if BROKEN_ESCAPE.search(text):
        raise UnrepresentableError("has a `%` that begins no percent-escape")
    try:
        decoded = unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise UnrepresentableError("has percent-escapes that are no valid UTF-8") from error
    # The decoded form is what is sent, and the tool will decode it again.
    if "%" in decoded:
        raise UnrepresentableError("is percent-encoded twice")
    return decoded
