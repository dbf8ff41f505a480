"""Strings that hold several values: decoded to leaves, judged one by one, re-encoded (specification 1.2)."""

from __future__ import annotations

import json

from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.annotations import Codec
from ironcurtain.system import json_text


def decode(codec: Codec, text: str) -> list[str]:
    """Return the values that the tool will read from the text.

    Raises:
        UnrepresentableError: If the text does not decode, or decodes to anything but non-empty strings.
    """
    if codec == "addresses":
        return _addresses(text)
    if codec == "json" or (codec == "json-or-comma" and _is_json(text)):
        return _json(text)
    return _commas(text)


def encode(codec: Codec, original: str, values: list[str]) -> str:
    """Return the text to send for the canonical values, in the form of the original text.

    Raises:
        UnrepresentableError: If the tool would read other values from it than those judged.
    """
    if codec == "addresses":
        encoded = ", ".join(values)
    elif codec == "json" or (codec == "json-or-comma" and _is_json(original)):
        single = original.lstrip().startswith('"')
        encoded = json.dumps(values[0] if single else values, ensure_ascii=False)
    else:
        encoded = ",".join(values)
    if decode(codec, encoded) != values:
        raise UnrepresentableError("holds a value that contains its own separator")
    return encoded


def _is_json(text: str) -> bool:
    """Tell whether a tool that tries JSON first would not take the text for a comma-separated list."""
    if text.lstrip().startswith(("[", '"')):
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _commas(text: str) -> list[str]:
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        raise UnrepresentableError("is a comma-separated list with an empty value")
    return values


def _json(text: str) -> list[str]:
    try:
        value = json_text.parse(text)
    except json_text.MalformedJsonError:
        raise UnrepresentableError("is no valid JSON text") from None
    values = [value] if isinstance(value, str) else value
    texts = [item for item in values if isinstance(item, str) and item] if isinstance(values, list) else []
    if not isinstance(values, list) or len(texts) != len(values):
        raise UnrepresentableError("is a JSON text of something else than strings")
    return texts


def _addresses(text: str) -> list[str]:
    """Split an address list at commas and semicolons outside quotes and angle brackets."""
    values, current, quoted, angled = [], "", False, False
    for character in text:
        if character == '"' and not angled:
            quoted = not quoted
        elif not quoted and character in "<>":
            angled = character == "<"
        if character in ",;" and not quoted and not angled:
            values.append(current.strip())
            current = ""
        else:
            current += character
    values.append(current.strip())
    if quoted or angled or not all(values):
        raise UnrepresentableError("is a list of addresses that cannot be told apart")
    return values
