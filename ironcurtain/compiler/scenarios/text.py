"""Appending scenarios to a YAML file of people, whose text stays as it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ironcurtain.errors import FormatError
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.files import atomic_write, parse_document, read_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import is_hidden


def item_text(scenario: Scenario) -> str:
    """Return one item of a `scenarios` list, indented by two spaces."""
    call = scenario.call.model_dump(mode="json", exclude_defaults=True)
    lines = [f"  - id: {scenario.id}", f"    call: {_flow(call)}", f"    expect: {scenario.expect}"]
    if scenario.approvers is not None:
        lines.append(f"    approvers: {_flow([*scenario.approvers])}")
    if scenario.clause:
        lines.append(f"    clause: {scenario.clause}")
    if scenario.why:
        lines.append(f"    why: {_flow(scenario.why)}")
    return "\n".join([*lines, ""])


def append_scenarios(path: Path, added: Sequence[Scenario]) -> None:
    """Append handwritten scenarios to a file, all of them or none.

    Raises:
        FileError, FormatError: If the file is not one that can be appended to.
    """
    text = read_text(path)
    before = parse_document(text, str(path), Scenarios)
    appended = text.rstrip("\n") + "\n" + "".join(map(item_text, added))
    # People write this file, too: what cannot be appended to without a change in meaning stays as it is.
    if _read_back(appended, str(path)) != before.with_more(added):
        raise FormatError(
            "scenarios cannot be appended to this file",
            where=str(path),
            hint='Keep "scenarios:" as its last key, its items indented by two spaces.',
        )
    atomic_write(path, appended.encode())


def _read_back(text: str, source: str) -> Scenarios | None:
    try:
        return parse_document(text, source, Scenarios)
    except FormatError:
        return None


def _flow(value: JsonValue) -> str:
    """Return JSON that YAML reads as the same value: it knows no surrogate pairs, and refuses controls."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return "".join(f"\\U{ord(c):08x}" if is_hidden(c) else c for c in text)
