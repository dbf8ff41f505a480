"""Whether a JSON Schema is one, by the meta-schema of its dialect."""

from __future__ import annotations

import json
from functools import lru_cache

from ironcurtain.model.plain_schemas import is_plainly_a_schema
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

_MAX_WORDS = 200
# What is longer is rare, and would fill the memory of a long run.
_LONGEST_KEPT = 1 << 14


def schema_fault(schema: JsonValue) -> str | None:
    """Say in plain words why a value is no schema of the dialect that it names (2020-12 by default).

    Checking one takes milliseconds and is asked for the same tools again and again; so what was found is
    remembered by content.
    """
    if is_plainly_a_schema(schema):
        return None
    text = json.dumps(schema, sort_keys=True)
    return _remembered(text) if len(text) <= _LONGEST_KEPT else _fault(text)


def _fault(text: str) -> str | None:
    # It takes longer to load than all else that decides, and few schemas need it.
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - as above
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415
    from jsonschema.validators import validator_for  # noqa: PLC0415

    schema = json.loads(text)
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return f"{visible(error.message)[:_MAX_WORDS]} (at {visible(error.json_path)})"
    except RecursionError:
        return "it is nested too deeply"
    return None


_remembered = lru_cache(maxsize=1024)(_fault)
