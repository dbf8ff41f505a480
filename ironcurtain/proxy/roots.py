"""The directories that servers are told to work in, where the client names none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import mcp_types as types

from ironcurtain.bundle.content import RuleText
from ironcurtain.canonical.paths import Resolver
from ironcurtain.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.verdict import Verdict


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
