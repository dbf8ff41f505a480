"""Takes JSON apart step by step; a test fails where a step is not there or leads to another kind of value."""

from __future__ import annotations

from ironcurtain.system.frozen import JsonValue


def at(document: JsonValue, *steps: str | int) -> JsonValue:
    """Return what lies in a document below members (by name) and elements (by number)."""
    for step in steps:
        if isinstance(step, int):
            assert isinstance(document, list), f"no array to take {step} from: {document!r}"
            document = document[step]
        else:
            assert isinstance(document, dict), f"no object to take {step} from: {document!r}"
            document = document[step]
    return document


def object_at(document: JsonValue, *steps: str | int) -> dict[str, JsonValue]:
    """Return the object that lies there."""
    found = at(document, *steps)
    assert isinstance(found, dict), found
    return found


def array_at(document: JsonValue, *steps: str | int) -> list[JsonValue]:
    """Return the array that lies there."""
    found = at(document, *steps)
    assert isinstance(found, list), found
    return found


def text_at(document: JsonValue, *steps: str | int) -> str:
    """Return the string that lies there."""
    found = at(document, *steps)
    assert isinstance(found, str), found
    return found
