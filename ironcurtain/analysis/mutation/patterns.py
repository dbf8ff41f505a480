"""The parent and a child of a policy pattern: what it is widened and narrowed to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ironcurtain.decision.canonical.patterns import DOMAIN, canonical_pattern, contains, separator
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import PatternError


def parent(kind: str, pattern: str, registry: Registry) -> str | None:
    """Return the next wider pattern that a policy can name, None if there is none."""
    if pattern.startswith("@"):
        return None
    return _first(kind, _wider(kind, pattern, registry), registry)


def child(kind: str, pattern: str, others: Iterable[str], fresh: str, registry: Registry) -> str | None:
    """Return a narrower pattern, None if there is none: one that the policy names, or a new one.

    Args:
        kind: The kind of pattern.
        pattern: The pattern.
        others: Other patterns of the kind; the shortest one inside is preferred.
        fresh: A word that the policy does not contain.
        registry: The roles.
    """
    if pattern.startswith("@"):
        return None
    named = sorted((p for p in others if not p.startswith("@") and p != pattern), key=lambda p: (len(p), p))
    inside = next((p for p in named if contains(kind, pattern, p, registry)), None)
    return inside or _first(kind, _narrower(kind, pattern, fresh, registry), registry)


def nobody(list_type: str, fresh: str, registry: Registry) -> str | None:
    """Return a value for a list of some type that no call has."""
    kind = DOMAIN if list_type == "domain" else list_type
    spellings = (fresh, f"{fresh}.invalid", f"{fresh}@{fresh}.invalid", f"{fresh}/{fresh}")
    return _first(kind, iter(spellings), registry)


def _wider(kind: str, pattern: str, registry: Registry) -> Iterator[str]:
    if kind == "path":
        yield pattern.rpartition("/")[0]
    elif kind == "url":
        scheme, mark, rest = pattern.rpartition("://")
        authority, slash, path = rest.partition("/")
        if slash:
            yield f"{scheme}{mark}{authority}/{path}".rpartition("/")[0]
            return
        _, _, domain = authority.removeprefix("*.").partition(".")
        yield from (f"{scheme}{mark}*.{domain}", f"{scheme}{mark}*")
    elif kind == "recipient":
        yield f"*@{pattern.rpartition('@')[2]}"
    elif kind == "repository":
        yield f"{pattern.rpartition('/')[0]}/*"
    elif level := separator(registry[kind]):
        head = pattern.removesuffix("**").removesuffix(level).rpartition(level)[0]
        if head:
            yield f"{head}{level}**"


def _narrower(kind: str, pattern: str, fresh: str, registry: Registry) -> Iterator[str]:
    if kind == "path":
        yield f"{pattern.removesuffix('/')}/{fresh}"
    elif kind == "url":
        scheme, mark, rest = pattern.rpartition("://")
        if rest == "*":
            yield f"{scheme}{mark}{fresh}.example"
        elif rest.startswith("*."):
            yield f"{scheme}{mark}{fresh}.{rest.removeprefix('*.')}"
        else:
            yield f"{pattern}/{fresh}"
    elif kind == "recipient" and pattern.startswith("*@"):
        yield f"{fresh}{pattern.removeprefix('*')}"
    elif kind == "repository" and pattern.endswith("/*"):
        yield f"{pattern.removesuffix('*')}{fresh}"
    elif kind not in ("recipient", "repository") and pattern.endswith("**") and separator(registry[kind]):
        yield f"{pattern.removesuffix('**')}{fresh}"


def _first(kind: str, spellings: Iterator[str], registry: Registry) -> str | None:
    """Return the first spelling that a policy could name."""
    for spelling in spellings:
        try:
            if canonical_pattern(kind, spelling, registry) == spelling:
                return spelling
        except PatternError:
            continue
    return None
