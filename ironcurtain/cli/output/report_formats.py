"""The formats of files that reports are written to, by their suffixes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ironcurtain.errors import UsageError

_SUFFIXES = {".txt": "text", ".json": "json", ".md": "markdown", ".sarif": "sarif", ".xml": "junit"}


def formats_of(paths: Sequence[str]) -> dict[Path, str]:
    """Return the format that the suffix of each file names.

    Raises:
        UsageError: If a suffix names none; it is asked before any work is done.
    """
    fields = {}
    for name in paths:
        path = Path(name)
        suffix = ".sarif" if path.name.endswith(".sarif.json") else path.suffix
        if suffix not in _SUFFIXES:
            raise UsageError(
                "the suffix of the report names no format",
                where=name,
                hint=f"There are: {', '.join(f'{s} ({f})' for s, f in _SUFFIXES.items())}.",
            )
        fields[path] = _SUFFIXES[suffix]
    return fields
