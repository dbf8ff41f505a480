"""Bound what a log keeps of calls that did not happen, and of what others say.

A call that is refused costs who made it nothing, so its record is small whatever it holds: of long values,
and of a call that is large nevertheless, only digest and size are kept.
"""

from __future__ import annotations

from collections.abc import Callable

from ironcurtain.decision.canonical import pointers
from ironcurtain.enforcement.audit.hash_chain import record_bytes
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.system.frozen import JsonValue

MOST_OF_A_VALUE = 1 << 10
"""Characters of a value of a refused call that are kept."""
MOST_OF_A_CALL = 16 << 10
"""Bytes that the record of a refused call has at most."""
MOST_SAID = 4 << 10
"""Characters that are kept of a reason, an error, or a text of an event."""

Mark = Callable[[str], str]


def bounded(record: DecisionRecord, size: int, mark: Mark) -> DecisionRecord:
    """Return the record of a call that is not sent, of bounded size.

    Args:
        record: The record, without secrets.
        size: How many bytes the arguments had as they arrived.
        mark: Returns what stands for a value: its digest.
    """
    if len(record_bytes(record)) <= MOST_OF_A_CALL:
        return record
    kept = _with_short_values(record, mark)
    if len(record_bytes(kept)) <= MOST_OF_A_CALL:
        return kept
    facts = kept.facts.model_copy(update={"values": None}) if kept.facts is not None else None
    nothing: dict[str, object] = {"arguments": None, "abstract": None, "meta": {}, "facts": facts}
    return kept.model_copy(update={**nothing, "redacted": (), "subjects": (), "omitted": size})


def shortened(text: str) -> str:
    """Return as much of a text as is kept of what others say."""
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}… ({len(text):,} characters)"


def _with_short_values(record: DecisionRecord, mark: Mark) -> DecisionRecord:
    places = list(record.redacted)

    def short(text: str) -> str:
        return text if len(text) <= MOST_OF_A_VALUE else f"{mark(text)[:-1]}, {len(text):,} characters]"

    def below(value: JsonValue, steps: tuple[str, ...]) -> JsonValue:
        if isinstance(value, dict):
            return {short(name): below(one, (*steps, short(name))) for name, one in value.items()}
        if isinstance(value, list):
            return [below(one, (*steps, str(number))) for number, one in enumerate(value)]
        if isinstance(value, str) and short(value) != value:
            places.append(pointers.join(steps))
            return short(value)
        return value

    changed: dict[str, object] = {
        name: below(getattr(record, name), (name,)) for name in ("arguments", "meta", "caller")
    }
    subjects = tuple(
        each.model_copy(update={"value": short(each.value), "redacted": True})
        if each.value is not None and len(each.value) > MOST_OF_A_VALUE
        else each
        for each in record.subjects
    )
    more = {"server": short(record.server), "tool": short(record.tool), "reason": shortened(record.reason)}
    return record.model_copy(update={**changed, **more, "subjects": subjects, "redacted": tuple(places)})
