"""The patterns of one policy, indexed: which cover a resource, at a cost that does not grow with them."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from ironcurtain.decision.canonical.patterns import (
    DOMAIN,
    canonical_member,
    canonical_pattern,
    identifier_chain,
    pattern_chain,
    url_chain,
)
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import Url
from ironcurtain.decision.roles import Registry, Role
from ironcurtain.errors import PatternError
from ironcurtain.system.text import quoted

_DIRECTORIES = 256
"""Directories of which it is remembered what covers them."""


@dataclass
class _Node:
    """One place in a kind's tree.

    Attributes:
        names: What the policy calls it.
        covering: These and the names of every place above it, sorted; known when the tree is whole.
    """

    names: set[str] = field(default_factory=set)
    children: dict[str, _Node] = field(default_factory=dict)
    covering: tuple[str, ...] = ()


class PatternIndex:
    """What a policy's patterns cover. Built once at load; reads nothing afterwards.

    A resource's chain is walked through the tree of its kind, so a look-up costs the resource's depth.

    Args:
        named: The patterns that rules name, by pattern kind (`path`, `url`, an identifier role's name).
        lists: The named lists: list name (without `@`) to its type and its values.
        registry: The roles.
        home: The real home directory that `~` stands for.
        resolve_directory: Resolves an absolute directory to its real path.
        case_insensitive_hosts: Hosts whose path segments compare case-folded.

    Raises:
        PatternError: If a pattern is not canonical, a list's value is none of its type, or a directory
            cannot be resolved.
    """

    def __init__(
        self,
        named: Mapping[str, Iterable[str]],
        lists: Mapping[str, tuple[str, Iterable[str]]],
        *,
        registry: Registry,
        home: str,
        resolve_directory: Callable[[str], str],
        case_insensitive_hosts: frozenset[str],
    ) -> None:
        self._registry = registry
        self._home = home
        self._resolve = resolve_directory
        self._case_insensitive_hosts = case_insensitive_hosts
        self._roots: dict[str, _Node] = {}
        self._directories: dict[str, str] = {}
        for kind, patterns in named.items():
            for pattern in patterns:
                self._add(kind, pattern)
        for name, (kind, values) in lists.items():
            for value in values:
                self._add_member(name, kind, value)
        for root in self._roots.values():
            _gather(root)
        # Many paths of one call lie in few directories, and the way to each of them is walked once.
        self._directory = lru_cache(maxsize=_DIRECTORIES)(self._walk_to)
        self._real_directories = sorted({_with_slash(real) for real in self._directories.values()})

    @property
    def directories(self) -> Mapping[str, str]:
        """The path patterns, as the policy writes them, with their real paths."""
        return MappingProxyType(self._directories)

    def directories_inside(self, path: str) -> tuple[str, ...]:
        """Return the real directories of path patterns that lie strictly inside a real path, sorted."""
        start = _with_slash(path)
        first = bisect.bisect_right(self._real_directories, start)
        directories = []
        for directory in self._real_directories[first:]:
            if not directory.startswith(start):
                break
            directories.append(directory.removesuffix("/"))
        return tuple(sorted(directories))

    def covering(self, role: Role, resource: str | Url) -> tuple[str, ...]:
        """Return the patterns and `@lists` that cover a resource, as the policy writes them, sorted.

        Args:
            role: The resource's role.
            resource: Its canonical value: a real absolute path, a `Url`, or a canonical identifier.
        """
        root = self._roots.get(role.pattern_kind)
        if root is None:
            return ()
        if isinstance(resource, Url):
            node, _ = _deepest(root, url_chain(resource, self._case_insensitive_hosts))
        elif role.category == "path":
            end = resource.rindex("/")  # a path is absolute
            node, is_whole = self._directory(role.pattern_kind, resource[:end])
            node = node.children.get(resource[end + 1 :], node) if is_whole else node
        else:
            node, _ = _deepest(root, identifier_chain(role, resource))
        return node.covering

    def _walk_to(self, kind: str, directory: str) -> tuple[_Node, bool]:
        return _deepest(self._roots[kind], directory.split("/"))

    def _add(self, kind: str, pattern: str) -> None:
        canonical = canonical_pattern(
            kind, pattern, self._registry, case_insensitive_hosts=self._case_insensitive_hosts
        )
        if kind == "path":
            canonical = self._directories[pattern] = self._real_directory(canonical)
        self._name(kind, canonical, pattern)

    def _add_member(self, name: str, kind: str, value: str) -> None:
        canonical = canonical_member(kind, value, self._registry)
        self._name("url" if kind == DOMAIN else kind, canonical, f"@{name}")

    def _name(self, kind: str, canonical: str, name: str) -> None:
        node = self._roots.setdefault(kind, _Node())
        for part in pattern_chain(kind, canonical, self._registry):
            node = node.children.setdefault(part, _Node())
        node.names.add(name)

    def _real_directory(self, pattern: str) -> str:
        absolute = self._home + pattern[1:] if pattern.startswith("~") else pattern
        try:
            return self._resolve(absolute)
        except UnrepresentableError as error:
            raise PatternError(
                f"the directory {quoted(pattern)} cannot be resolved: it {error.reason}"
            ) from error


def _deepest(node: _Node, chain: Sequence[str]) -> tuple[_Node, bool]:
    """Return the deepest place on a chain that patterns know, and whether that is its end."""
    for part in chain:
        below = node.children.get(part)
        if below is None:
            return node, False
        node = below
    return node, True


def _gather(root: _Node) -> None:
    """Say of every place in a tree what covers it."""
    waiting: list[tuple[_Node, tuple[str, ...]]] = [(root, ())]
    while waiting:
        node, above = waiting.pop()
        node.covering = tuple(sorted({*above, *node.names})) if node.names else above
        waiting += [(child, node.covering) for child in node.children.values()]


def _with_slash(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
