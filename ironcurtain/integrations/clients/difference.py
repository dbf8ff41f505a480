"""The change of a file, as people read it."""

from __future__ import annotations

import difflib

from ironcurtain.integrations.clients.target import ClientDocument, Target

_NO_NEWLINE = "\n\\ No newline at end of file\n"


def unified(target: Target, document: ClientDocument) -> str:
    """Return the unified diff from what a file holds to what it would hold; empty if that is the same."""
    old, new = (_lines(each.text) for each in (target.document, document))
    lines = difflib.unified_diff(old, new, target.source, target.source)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def _lines(text: str) -> list[str]:
    # Not splitlines: it also splits at characters that may stand in a string.
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]
