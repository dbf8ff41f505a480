"""Filling the prompts under `prompts/`: their text is part of every question's digest."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template

from ironcurtain.system import json_text
from ironcurtain.system.json_text import JsonSource

_PROMPTS = Path(__file__).parent / "prompts"


def fill(name: str, **values: str) -> str:
    """Return the prompt `prompts/<name>.md` with its `$placeholders` filled in."""
    return Template((_PROMPTS / f"{name}.md").read_text(encoding="utf-8")).substitute(values).strip()


def as_data(value: JsonSource) -> str:
    """Return JSON for a prompt: it shows invisible characters as escapes and cannot close its delimiters."""
    return _HIDDEN.sub(_escaped, json_text.pretty(value).strip())


def as_lines(values: Sequence[JsonSource]) -> str:
    """Return an array for a prompt like `as_data`, each element on one line: that is a third shorter."""
    lines = ",\n".join(json.dumps(value, sort_keys=True, ensure_ascii=False) for value in values)
    return _HIDDEN.sub(_escaped, f"[\n{lines}\n]")


_HIDDEN = re.compile(r"[^\n -;=?-~]")
"""Delimiters, and what is no visible ASCII."""


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
