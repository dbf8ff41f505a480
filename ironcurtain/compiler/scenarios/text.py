"""Appending scenarios to a YAML file of people, whose text stays as it is."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path

from ironcurtain.errors import FileError, FormatError, ScenarioError
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.files import atomic_write, parse_document, read_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.locks import directory_lock
from ironcurtain.system.text import is_hidden, quoted


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

    Whoever else appends waits; the file keeps its permissions.

    Raises:
        ScenarioError: If an id is taken.
        FileError, FormatError: If the file is not one that can be appended to.
        OSError: If it cannot be written; it is then untouched.
    """
    with directory_lock(path.parent):
        _append(path, added)


def _append(path: Path, added: Sequence[Scenario]) -> None:
    text = read_text(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & stat.S_IWUSR:  # to put another file in its place needs no leave to write it
        raise FileError("the file is read-only", where=str(path))
    before = parse_document(text, str(path), Scenarios)
    taken = {each.id for each in (*before.entries, *before.calls)}
    if (twice := next((each.id for each in added if each.id in taken), None)) is not None:
        raise ScenarioError(f"there is a scenario {quoted(twice)} already", where=str(path))
    appended = text.rstrip("\n") + "\n" + "".join(map(item_text, added))
    # People write this file, too: what cannot be appended to without a change in meaning stays as it is.
    if _read_back(appended, str(path)) != before.with_more(added):
        raise FormatError(
            "scenarios cannot be appended to this file",
            where=str(path),
            hint='Keep "scenarios:" as its last key, its items indented by two spaces.',
        )
    atomic_write(path, appended.encode(), mode=mode)


def _read_back(text: str, source: str) -> Scenarios | None:
    try:
        return parse_document(text, source, Scenarios)
    except FormatError:
        return None


def _flow(value: JsonValue) -> str:
    """Return JSON that YAML reads as the same value: it knows no surrogate pairs, and refuses controls."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return "".join(f"\\U{ord(c):08x}" if is_hidden(c) else c for c in text)
