"""Identifiers: recipients, repositories, remote paths and the identifiers of roles that a project adds.

Each has one canonical spelling, which is both judged and sent (specification 1.7). Servers trim and normalise
what they are given, so a text that is not its own plain form has none.
"""

from __future__ import annotations

import copy
import re
import unicodedata
from collections.abc import Mapping

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.characters import BROKEN_ESCAPE, check_plain, check_text
from ironcurtain.decision.canonical.hosts import canonical_host
from ironcurtain.decision.canonical.resource_uris import check_resource_uri
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import decode_utf8, decoded_segment
from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.decision.roles import NO_BRANCH, Registry, Role
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.system.frozen import JsonValue

MAX_IDENTIFIER_BYTES = 1024

# Without `%` and `!`, with which a local part can hold a route to another host.
_ADDRESS = re.compile(r"(?P<local>[A-Za-z0-9#$&'*+/=?^_`{|}~.-]+)@(?P<domain>[^\s@%<>]+)")
# A display name may hold nothing that could begin, end or join addresses.
_NAMED_ADDRESS = re.compile(r'(?:"[^"<>@,;:\\()\[\]]*" *|[^"<>@,;:\\()\[\]]*)<(?P<address>[^<>]*)>')
_REPOSITORY_PART = re.compile(r"[A-Za-z0-9._-]+")
_NO_BRANCH = re.compile(NO_BRANCH)


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
        return _added(role, role.identifier, value)
    return {"recipient": _recipient, "repository": _repository, "remote-path": _remote_path}[role.name](value)


def check_branch_name(text: str) -> None:
    """Refuse what git takes for no branch, or for more than one: an option, a refspec, a forced push.

    Raises:
        UnrepresentableError: If it breaks git's rules for branch names, begins with `-`, `+` or a folder
            of references (`refs/`, `heads/`), holds a `:`, or is not its own plain form.
    """
    _check_text(text)
    check_plain(text)
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
    check_plain(match["domain"])
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
    decoded = [decoded_segment(segment) for segment in text.split("/")]
    check_plain("/".join(decoded))
    _check_components(decoded, "/")
    return text


def _added(role: Role, declared: IdentifierRole, text: str) -> str:
    if declared.decode == "percent":
        text = _percent_decoded(text)
    check_plain(text)
    if role.name == RESOURCE_URI.name:
        check_resource_uri(text)
    if declared.case == "fold":
        # Lower case can take a letter's accents apart.
        text = unicodedata.normalize("NFKC", text.casefold())
    _check_text(text)
    if declared.separator:
        _check_components(text.split(declared.separator), declared.separator)
    return text


def _check_components(components: list[str], separator: str) -> None:
    if any(component in {".", ".."} for component in components):
        raise UnrepresentableError("has a component `.` or `..`")
    if separator == "/" and "" in components:
        raise UnrepresentableError("has an empty component")
    if any(component != component.strip(" ") for component in components):
        raise UnrepresentableError(f"has a blank beside a `{separator}`")


def _percent_decoded(text: str) -> str:
    if BROKEN_ESCAPE.search(text):
        raise UnrepresentableError("has a `%` that begins no percent-escape")
    decoded = decode_utf8(text)
    # The decoded form is what is sent, and the tool will decode it again.
    if "%" in decoded:
        raise UnrepresentableError("is percent-encoded twice")
    return decoded


# -- caller facts ----------------------------------------------------------------------------------


def identifying(declared: Mapping[str, CallerFact]) -> dict[tuple[str, ...], str]:
    """Return where the facts stand that are identifiers, each with its role."""
    return {pointers.steps_of(key): fact.role for key, fact in declared.items() if fact.role is not None}


def canonical_caller(
    caller: dict[str, JsonValue], identifiers: Mapping[tuple[str, ...], str], registry: Registry
) -> dict[str, JsonValue]:
    """Return caller facts with each identifier in the canonical form of its role.

    One that has none is null, which counts as not known; of a list that holds such a one nothing is known.

    Args:
        caller: The facts as they were given.
        identifiers: What `identifying` returns.
        registry: The roles.
    """
    if not identifiers:
        return caller
    made = copy.deepcopy(caller)
    for steps, role in identifiers.items():
        for place, value in [*pointers.matches(caller, steps)]:
            pointers.assign(made, place, _canonical(registry[role], value))
    return made


def _canonical(role: Role, value: JsonValue) -> JsonValue:
    listed = value if isinstance(value, list) else [value]
    try:
        found: list[JsonValue] = [
            canonical_identifier(role, each) for each in listed if isinstance(each, str | int)
        ]
    except UnrepresentableError:
        return None
    if len(found) < len(listed):
        return None
    return found if isinstance(value, list) else found[0]
