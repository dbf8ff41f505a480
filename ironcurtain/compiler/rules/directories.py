"""The directories that a constitution mentions, with their paths, as a model is told them.

These are the usual folders of a home directory and the directories that the configuration names, each only
if the constitution mentions it, and every path that the constitution writes out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.decision.canonical.patterns import canonical_pattern
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import PatternError, raise_all
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.settings import FILE_NAME
from ironcurtain.system.text import quoted, visible

USUAL = {
    name: f"~/{name}"
    for name in ("Desktop", "Documents", "Downloads", "Music", "Pictures", "Public", "Templates", "Videos")
}
"""The folders that desktops make in a home directory."""

_WRITTEN = re.compile(r"(?<![\w/.:~])(?:~/|/)[\w.@+-]+(?:/[\w.@+-]+)*")


def mentioned_directories(
    clauses: Sequence[PlacedClause], configured: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the directories of a constitution by the name under which it speaks of them.

    Args:
        clauses: The clauses, principles included.
        configured: Directories that the configuration names, `~/…` or absolute, which replace usual ones.
    """
    text = "\n".join("\n".join((*placed.headings, placed.clause.text)) for placed in clauses)
    named = {**USUAL, **(configured or {})}
    found = {
        name: path
        for name, path in named.items()
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    }
    written = {path.rstrip(".") for path in _WRITTEN.findall(text)}
    return dict(sorted({**{path: path for path in written}, **found}.items()))


def unknown_directories(policy: CompiledPolicy, known: Mapping[str, str]) -> list[str]:
    """Return a line for each rule that names a directory which lies in none that the model was told of."""
    return [
        f"rule {quoted(rule.name)} names {quoted(pattern)}, which neither the constitution nor the "
        "configuration names"
        for rule in policy.rules
        for condition in rule.if_.paths or ()
        for pattern in condition.within
        if not any(pattern == path or pattern.startswith(f"{path}/") for path in known.values())
    ]


def canonical_directories(configured: Mapping[str, str], registry: Registry) -> dict[str, str]:
    """Return configured directories in the spelling that rules use.

    Raises:
        PatternError: For each that is neither absolute nor begins with `~/`, or names no one directory.
    """
    found: dict[str, str] = {}
    problems = []
    for name, text in configured.items():
        try:
            found[name] = canonical_pattern("path", text, registry)
        except PatternError as error:
            problems.append(PatternError(f"directories.{visible(name)}: {error.what}", where=FILE_NAME))
    raise_all([*problems])
    return found
