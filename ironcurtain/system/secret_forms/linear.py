"""Patterns that are matched in time linear in the text, however many forms they join."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import re2

MOST = 20_000
"""A text with so much in it that could be secret is hidden whole: nobody's call may hold up the others."""

_OPTIONS = re2.Options()
_OPTIONS.max_mem = 64 << 20
_OPTIONS.log_errors = False


def compiled(forms: Iterable[str]) -> Any:  # noqa: ANN401 - the library has no type for a pattern
    """Return the pattern of any of several forms."""
    return re2.compile("|".join(f"(?:{form})" for form in forms), _OPTIONS)
