"""The option `--caller` of the commands that decide calls."""

from __future__ import annotations

from ironcurtain.errors import UsageError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible


def caller_facts(text: str | None) -> dict[str, JsonValue] | None:
    """Read what `--caller` says.

    Raises:
        UsageError: If it is no JSON object.
    """
    if text is None:
        return None
    try:
        facts = json_text.parse(text)
    except json_text.MalformedJsonError as error:
        raise UsageError(f"--caller is not strict JSON: {visible(str(error))}") from None
    if not isinstance(facts, dict):
        raise UsageError("--caller is no JSON object")
    return facts
