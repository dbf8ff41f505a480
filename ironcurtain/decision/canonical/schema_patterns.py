"""The patterns of a tool's own JSON Schema: they come from a stranger, so they run in RE2, in linear time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from ironcurtain.system.text import quoted


class UnusableSchemaError(ValueError):
    """The schema cannot be evaluated: it is no schema, or uses what we refuse to evaluate."""


@lru_cache(maxsize=64)
def compiled_pattern(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type information
    """Return a schema's pattern, which is searched for.

    Raises:
        UnusableSchemaError: If it is outside RE2's syntax.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise UnusableSchemaError(f"the pattern {quoted(pattern)} is outside RE2's syntax") from None
