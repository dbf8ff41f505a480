"""The directories that servers are told to work in, and the time that they have to understand that."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import anyio
import mcp_types as types

from ironcurtain.bundle.content import RuleText
from ironcurtain.canonical.paths import Resolver
from ironcurtain.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.verdict import Verdict

_READING = 1.0
_MOMENT = 0.2
_LOOK = 0.05


class RootsTold:
    """When a server that was told of new roots has had the time to understand them."""

    def __init__(self) -> None:
        self._end = -math.inf

    def told(self) -> None:
        """Begin to wait: the server was told that they changed."""
        self._end = anyio.current_time() + _READING

    def read(self) -> None:
        """Wait a moment only: the server has read them."""
        self._end = min(self._end, anyio.current_time() + _MOMENT)

    async def understood(self) -> None:
        """Wait until the server has read them and a moment longer; bounded."""
        while (left := self._end - anyio.current_time()) > 0:  # noqa: ASYNC110 - the end can come nearer
            await anyio.sleep(min(left, _LOOK))


def policy_roots(
    rules: Mapping[str, RuleText], server: str, sandbox: str | None, resolver: Resolver
) -> types.ListRootsResult:
    """Return the sandbox first, then every directory in which a rule may let the server do something.

    Directories are real ones, each once; a rule that denies, speaks of another server or names no directory
    gives none. They are a help for servers that serve nothing outside their roots, no permission.
    """
    named = [sandbox, *_named(rules, server)]
    real: dict[str, None] = {}
    for path in named:
        if path is None:
            continue
        try:
            real.setdefault(resolver.resolve(path, None))
        except UnrepresentableError:
            continue
    roots = [types.Root(uri=PurePosixPath(path).as_uri(), name=path) for path in real]
    return types.ListRootsResult(roots=roots)


def _named(rules: Mapping[str, RuleText], server: str) -> Iterator[str]:
    for rule in sorted(rules.values(), key=lambda each: each.order):
        conditions = rule.if_
        if rule.then is Verdict.DENY or conditions is None:
            continue
        if conditions.server is not None and server not in conditions.server:
            continue
        for condition in conditions.paths or ():
            yield from condition.within
