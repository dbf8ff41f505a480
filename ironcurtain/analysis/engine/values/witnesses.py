"""Witnesses: for each pattern one value inside it, and values outside them all.

A witness is only a proposal. What it is, which patterns cover it and whether it is discharged is said by
the canonicaliser and the structural checks when the witness goes through them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from ironcurtain.decision.canonical.paths import ancestors, is_within
from ironcurtain.decision.canonical.patterns import (
    Chain,
    canonical_member,
    path_chain,
    pattern_chain,
    separator,
)
from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.decision.roles import Registry, Role
from ironcurtain.errors import PatternError
from ironcurtain.system.structs import Struct

SANDBOX = "the sandbox"
SECOND_NAME = "files in the sandbox that have a second name"
OUTSIDE = "everything else"

_ADDRESSES = ("192.0.2.1", "198.51.100.1", "203.0.113.1")


class PatternWitness(Struct):
    """Values to try for one region of a kind.

    Attributes:
        kind: `path`, `url` or an identifier role.
        label: The region as people call it: a pattern, `@list`, or one of the names above.
        chain: The way to the region in the kind's tree; `()` for what lies outside all patterns.
        values: Values that should lie in it, the preferred one first.
        whole: For paths, whether the value is a directory above patterns, for tools that act on a tree.
    """

    kind: str
    label: str
    chain: Chain
    values: tuple[str, ...]
    whole: bool = False


def fresh_words(texts: Iterable[str]) -> tuple[str, str]:
    """Return two readable words that none of the texts contains."""
    joined = "\n".join(texts).casefold()
    words = (f"{word}{number}" for number in ("", *range(1, 10_000)) for word in ("other", "further"))
    free = (word for word in words if word not in joined)
    first = next(free)
    return first, next(word for word in free if not word.startswith(first[:5]))


def pattern_witnesses(
    kind: str, patterns: Iterable[str], registry: Registry, fresh: str, directories: Mapping[str, str]
) -> list[PatternWitness]:
    """Return a witness for every pattern of a kind.

    Args:
        kind: The kind of the patterns.
        patterns: Patterns as a policy writes them.
        registry: The roles.
        fresh: A word that no pattern contains.
        directories: The real directory of each path pattern.
    """
    return [
        _witness(kind, pattern, pattern, registry, fresh, directories) for pattern in sorted(set(patterns))
    ]


def list_witnesses(
    name: str, kind: str, values: Iterable[str], registry: Registry, fresh: str
) -> list[PatternWitness]:
    """Return a witness for every member of a named list."""
    found = []
    for value in sorted(set(values)):
        try:
            member = canonical_member(kind, value, registry)
        except PatternError:
            member = canonical_member("domain", value, registry)
        found.append(_witness(kind, member, f"@{name}", registry, fresh, {}))
    return found


def outside_witnesses(
    kind: str, registry: Registry, fresh: str, named: Iterable[str] = ()
) -> list[PatternWitness]:
    """Return what probably lies outside all patterns of a kind, `named` among them."""
    if kind == "url":
        return [
            PatternWitness(kind, label, (), (text,))
            for label, texts in _outside_urls(fresh).items()
            for text in texts
        ]
    role = next(role for role in registry.resources if role.pattern_kind == kind)
    plain = f"{fresh}:{fresh}" if kind == RESOURCE_URI.name else role.valid(fresh)
    texts = [plain, *(_fresh_numbers(named) if _takes_numbers(role) else ())]
    return [PatternWitness(kind, OUTSIDE, (), tuple(texts))]


def sandbox_witnesses(sandbox: str, fresh: str, second_name: str) -> list[PatternWitness]:
    """Return a plain place in the sandbox, and a file there that has a second name elsewhere."""
    chain = path_chain(sandbox)
    return [
        PatternWitness("path", SANDBOX, chain, (f"{sandbox}/{fresh}",)),
        PatternWitness("path", SECOND_NAME, path_chain(second_name), (second_name,)),
    ]


def above_witnesses(directories: Iterable[str]) -> list[PatternWitness]:
    """Return every directory that contains, or is, a policy's directory, for tools that act on trees."""
    places = {place for directory in directories for place in ancestors(directory)}
    return [
        PatternWitness("path", place, path_chain(place), (place,), whole=True) for place in sorted(places)
    ]


def shorter_paths(paths: Iterable[str], home: str, root: str | None) -> Iterator[str]:
    """Yield shorter spellings of paths, for schemas that bound their length."""
    for path in paths:
        if is_within(path, home):
            yield f"~{path.removeprefix(home)}"
        if root is not None and is_within(path, root):
            yield path.removeprefix(root).removeprefix("/") or "."


def _witness(
    kind: str, pattern: str, label: str, registry: Registry, fresh: str, directories: Mapping[str, str]
) -> PatternWitness:
    if kind == "path":
        real = directories[pattern]
        inside = f"{real.rstrip('/')}/{fresh}"
        return PatternWitness(kind, label, path_chain(real), (inside, real))
    chain = pattern_chain(kind, pattern, registry)
    values = (
        _url_values(pattern, fresh) if kind == "url" else _identifier_values(kind, pattern, registry, fresh)
    )
    return PatternWitness(kind, label, chain, values)


def _url_values(pattern: str, fresh: str) -> tuple[str, ...]:
    scheme, mark, rest = pattern.rpartition("://")
    host, slash, path = rest.partition("/")
    if host == "*" or host.startswith("*:"):
        host = f"{fresh}.example" + host[1:]
    elif host.startswith("*."):
        host = fresh + host[1:]
    tail = f"/{path}/{fresh}" if slash else f"/{fresh}"
    schemes = (scheme,) if mark else ("https", "ssh")
    bare = f"/{path}" if slash else "/"
    return tuple(f"{s}://{host}{end}" for end in (tail, bare) for s in schemes)


def _identifier_values(kind: str, pattern: str, registry: Registry, fresh: str) -> tuple[str, ...]:
    if kind == "recipient" and pattern.startswith("*@"):
        return (fresh + pattern[1:],)
    if kind == "repository" and pattern.endswith("/*"):
        return (pattern[:-1] + fresh,)
    if separator(registry[kind]) and pattern.endswith("**"):
        return (pattern.removesuffix("**") + fresh, pattern.removesuffix("**") + "7")
    return (pattern,)


def _outside_urls(fresh: str) -> dict[str, tuple[str, ...]]:
    return {
        "all other names": (f"https://{fresh}.example/{fresh}", f"ssh://git@{fresh}.example/{fresh}"),
        "all other addresses": tuple(f"https://{address}/{fresh}" for address in _ADDRESSES),
        "all other local hosts": (f"https://{fresh}.internal/{fresh}",),
        "all other schemes and ports": (f"http://{fresh}.example/", f"https://{fresh}.example:8443/"),
    }


def _fresh_numbers(named: Iterable[str]) -> Iterator[str]:
    """Yield numbers of several lengths that no pattern names: schemas bound numbers."""
    taken = set(named)
    for start in (7, 77, 7_777, 777_777, 777_777_777):
        yield next(text for number in itertools.count(start) if (text := str(number)) not in taken)


def _takes_numbers(role: Role) -> bool:
    return role.identifier is not None and role.identifier.numbers
