"""What an audit log must not hold: keys, tokens, card and social-security numbers, and what is marked.

Redaction works on the record only; what is evaluated and what is sent stays as it is. A redacted value is
shown as `[redacted:DIGEST]`, the beginning of a keyed digest, so that equal values can be told to be equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from ironcurtain.decision.canonical import pointers
from ironcurtain.enforcement.audit.hash_chain import keyed_digest
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResourceRecord
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.secret_forms.hiding import hide, is_named_by, suspicious
from ironcurtain.system.secret_forms.names import names_a_secret, names_secrets
from ironcurtain.system.structs import SecretStruct, Struct

_SHOWN = 8
_LEAST = 4
"""Characters that a value has at least which its name alone makes a secret, as in a text."""
_BETWEEN = "\0"
"""No letter, digit, `_` or anything that could hide what a text beside it begins or ends with."""
_NAMING, _NAMED = ("name", "key", "variable"), "value"
"""How a list of named values, as of headers or variables, has each name and its value."""


class _Hidden(Struct):
    """What is redacted whole, with all below it.

    Attributes:
        patterns: Pointer patterns, a few of each tool.
        places: Places of one call; it can have as many as it has values, so they are looked up.
    """

    patterns: tuple[tuple[str, ...], ...] = ()
    places: AbstractSet[tuple[str, ...]] = frozenset()

    def covers(self, steps: tuple[str, ...]) -> bool:
        """Tell whether a place is redacted."""
        return any(pointers.covers(each, steps) for each in self.patterns) or (
            bool(self.places) and any(steps[:end] in self.places for end in range(1, len(steps) + 1))
        )


_NOTHING = _Hidden()


class Redaction(SecretStruct):
    """What is redacted, beside keys, tokens, card and social-security numbers.

    Attributes:
        key: The key of the digests that stand for what is redacted.
        roles: Arguments under one of these roles are redacted whole.
    """

    secret_fields = frozenset({"key"})

    key: bytes
    roles: frozenset[str] = frozenset()

    def text(self, text: str) -> str:
        """Return a text without what looks like a secret."""
        return hide(text, self.mark)

    def mark(self, text: str) -> str:
        """Return what stands for a redacted text."""
        digest = keyed_digest(text.encode(), self.key, "redaction").partition(":")[2]
        return f"[redacted:{digest[:_SHOWN]}]"

    def keep(self, record: DecisionRecord, tool: ToolAnnotation | None) -> DecisionRecord:
        """Return a decision's record redacted."""
        hidden = _Hidden(tuple(self._of_tool(tool)) if tool is not None else (), {*_beside(record.arguments)})
        texts = _BETWEEN.join(_texts_of(record))
        if not (hidden.patterns or hidden.places or self.roles) and suspicious().search(texts) is None:
            return record
        secrets: list[str] = []
        arguments = None
        if record.arguments is not None:
            arguments = self._object(record.arguments, ("arguments",), hidden, secrets)
        meta = self._object(record.meta, ("meta",), _Hidden((), {*_beside(record.meta)}), secrets)
        caller = self._object(record.caller, ("caller",), _NOTHING, secrets)
        facts = record.facts
        if facts is not None:
            values = self._object(facts.values, ("facts",), _NOTHING, secrets)
            facts = facts.model_copy(update={"values": values})
        resources = tuple(self._subject(each, hidden) for each in record.subjects)
        return record.model_copy(
            update={
                "arguments": arguments,
                "meta": meta,
                "caller": caller,
                "facts": facts,
                "redacted": tuple(secrets),
                "subjects": resources,
                "reason": self._reason(record, resources),
                "tool": self.text(record.tool),
                "server": self.text(record.server),
            }
        )

    def _of_tool(self, tool: ToolAnnotation) -> Iterator[tuple[str, ...]]:
        """Yield the arguments that are redacted whole, as pointer patterns."""
        for argument in tool.args:
            if argument.pii or self.roles & set(argument.possible_roles):
                yield pointers.tokens(pointers.of_name(argument.name))
        for composite in tool.composites:
            if composite.role in self.roles:
                yield from (pointers.tokens(pointers.of_name(name)) for name in composite.join)

    def _reason(self, record: DecisionRecord, resources: tuple[ResourceRecord, ...]) -> str:
        reason = self.text(record.reason)
        for before, after in zip(record.subjects, resources, strict=True):
            if before.value and after.redacted:
                reason = reason.replace(before.value, after.value or "")
        return reason

    def _subject(self, resource: ResourceRecord, hidden: _Hidden) -> ResourceRecord:
        if resource.value is None:
            return resource
        places = [pointers.tokens(place) for place in (resource.at, *resource.also_at)]
        is_hidden = (
            resource.role in self.roles
            or any(map(hidden.covers, places))
            or any(_is_named_a_secret(place, resource.value) for place in places)
        )
        value = self.mark(resource.value) if is_hidden else self.text(resource.value)
        return resource.model_copy(update={"value": value, "redacted": value != resource.value})

    def _object(
        self, value: JsonValue, steps: tuple[str, ...], hidden: _Hidden, found: list[str]
    ) -> JsonValue:
        """Return a value redacted; the pointers of what is redacted are added to `found`."""
        if isinstance(value, dict):
            members = {}
            for name, below in value.items():
                shown = self.text(name)
                if shown != name:
                    found.append(pointers.join((*steps, shown)))
                members[shown] = self._object(below, (*steps, name), hidden, found)
            return members
        if isinstance(value, list):
            return [self._object(one, (*steps, str(n)), hidden, found) for n, one in enumerate(value)]
        is_hidden = hidden.covers(steps[1:]) or _is_named_a_secret(steps[1:], value)
        redacted = self._scalar(value, is_hidden=is_hidden)
        if redacted != value:
            found.append(self.text(pointers.join(steps)))
        return redacted

    def _scalar(self, value: JsonValue, *, is_hidden: bool) -> JsonValue:
        if value is None or isinstance(value, bool):
            return value
        text = value if isinstance(value, str) else str(value)
        redacted = self.mark(text) if is_hidden else self.text(text)
        return redacted if redacted != text else value


def _is_named_a_secret(steps: tuple[str, ...], value: JsonValue) -> bool:
    """Tell whether a value is a secret by the names above it; elements of a list have the list's."""
    if len(str(value)) < _LEAST:
        return False
    *above, name = [step for step in steps if not step.isdecimal()] or [""]
    return names_a_secret(name) or any(map(names_secrets, above))


def _beside(value: JsonValue, steps: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the places of values that what stands beside them makes secrets: a flag, or a name."""
    if isinstance(value, dict):
        names = [one for name, one in value.items() if name.lower() in _NAMING and isinstance(one, str)]
        for name, below in value.items():
            if name.lower() == _NAMED and any(map(names_a_secret, names)):
                yield (*steps, name)
            yield from _beside(below, (*steps, name))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            if number and _is_told(value[number - 1], below):
                yield (*steps, str(number))
            yield from _beside(below, (*steps, str(number)))


def _is_told(flag: JsonValue, word: JsonValue) -> bool:
    """Tell whether a word of a command line is a secret by the flag before it."""
    are_words = isinstance(flag, str) and isinstance(word, str) and len(word) >= _LEAST
    return are_words and is_named_by(str(flag), str(word))


def _texts_of(record: DecisionRecord) -> Iterator[str]:
    """Yield every text of a record that is looked at for secrets."""
    yield from (record.server, record.tool, record.reason)
    yield from (resource.value for resource in record.subjects if resource.value is not None)
    yield from _texts(record.arguments)
    yield from _texts(record.meta)
    yield from _texts(record.caller)
    if record.facts is not None:
        yield from _texts(record.facts.values)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for below in value.values():
            yield from _texts(below)
    elif isinstance(value, list):
        for below in value:
            yield from _texts(below)
    elif value is not None:
        yield str(value)
