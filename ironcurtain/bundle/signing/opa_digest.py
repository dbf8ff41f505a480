"""The digest that OPA's bundle signatures give a file: of its meaning where it is JSON, else of its bytes.

OPA hashes the value of `data.json` and `.manifest`, written with sorted keys, without white space, and with
numbers as they stand in the file. We read such files strictly first: what two parsers could read differently
(a key given twice, say) has no digest.
"""

from __future__ import annotations

import hashlib
import json
from json.encoder import encode_basestring
from pathlib import PurePosixPath

from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

_STRUCTURED = {"data.json", ".manifest"}
# Go escapes these two inside strings, Python does not.
_SEPARATORS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})


def opa_digest(name: str, content: bytes) -> str:
    """Return the SHA-256 (hex) of a file of a bundle as OPA's signatures state it.

    Raises:
        MalformedJsonError: If the file has to be JSON and is no strict JSON.
    """
    if PurePosixPath(name).name not in _STRUCTURED:
        return hashlib.sha256(content).hexdigest()
    json_text.parse(content, max_bytes=len(content), any_double=True)
    value = json.loads(content.decode(), parse_int=_Number, parse_float=_Number)
    return hashlib.sha256(_text(value).encode()).hexdigest()


class _Number(str):
    """A number as it stands in the text."""

    __slots__ = ()


def _text(value: JsonValue) -> str:
    if isinstance(value, dict):
        members = (f"{_text(key)}:{_text(value[key])}" for key in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return encode_basestring(value).translate(_SEPARATORS)
    return json.dumps(value)
