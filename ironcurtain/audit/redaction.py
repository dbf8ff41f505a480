"""What an audit log must not hold: keys, tokens, card and social-security numbers, and what is marked.

Redaction works on the record only; what is judged and what is sent stays as it is. A redacted value is shown
as `[redacted:DIGEST]`, the beginning of a keyed digest, so that equal values can be told to be equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import re2

from ironcurtain.audit.seal import keyed_digest
from ironcurtain.canonical import pointers
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.audit import DecisionRecord, SubjectRecord
from ironcurtain.model.base import Json

_SHOWN = 8
_CARD_DIGITS = range(13, 20)
_TOKENS = (
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\b(?:npm|hf|pypi|rk_live|sk_live|sk_test|pk_live)[_-][A-Za-z0-9_-]{16,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]*-----END [A-Z ]*PRIVATE KEY-----|[^-]*)",
    r"(?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}",
    r"(?i:\b(?:password|passwd|secret|token|api_?key|access_?key|auth)=)[^&\s\"']{4,}",
)
_TOKEN = re2.compile("|".join(f"(?:{one})" for one in _TOKENS))
_CARD = re2.compile(r"[0-9](?:[ -]?[0-9]){12,18}")
_SOCIAL = re2.compile(r"\b([0-9]{3})-([0-9]{2})-([0-9]{4})\b")


@dataclass(frozen=True)
class Redaction:
    """What is redacted, beside keys, tokens, card and social-security numbers.

    Attributes:
        key: The key of the digests that stand for what is redacted.
        roles: Arguments under one of these roles are redacted whole.
    """

    key: bytes = field(repr=False)
    roles: frozenset[str] = frozenset()

    def text(self, text: str) -> str:
        """Return a text without what looks like a secret."""
        for pattern, replace in (
            (_TOKEN, lambda found: self.mark(found.group())),
            (_SOCIAL, self._social),
            (_CARD, self._card),
        ):
            text = pattern.sub(replace, text)
        return text

    def mark(self, text: str) -> str:
        """Return what stands for a redacted text."""
        digest = keyed_digest(text.encode(), self.key, "redaction").partition(":")[2]
        return f"[redacted:{digest[:_SHOWN]}]"

    def keep(self, record: DecisionRecord, tool: ToolAnnotation | None) -> DecisionRecord:
        """Return a decision's record redacted.

        Args:
            record: The record with everything in it.
            tool: The tool's annotation: it says what is marked as personal.
        """
        hidden = tuple(self._hidden(tool)) if tool is not None else ()
        found: list[str] = []
        arguments = None
        if record.arguments is not None:
            arguments = self._object(record.arguments, ("arguments",), hidden, found)
        caller = self._object(record.caller, ("caller",), (), found)
        subjects = tuple(self._subject(each, hidden) for each in record.subjects)
        return record.model_copy(
            update={
                "arguments": arguments,
                "caller": caller,
                "redacted": tuple(found),
                "subjects": subjects,
                "reason": self._reason(record, subjects),
                "tool": self.text(record.tool),
                "server": self.text(record.server),
            }
        )

    def _hidden(self, tool: ToolAnnotation) -> Iterator[tuple[str, ...]]:
        """Yield the places that are redacted whole."""
        for argument in tool.args:
            if argument.pii or self.roles & set(argument.possible_roles):
                yield pointers.tokens(pointers.of_name(argument.name))
        for composite in tool.composites:
            if composite.role in self.roles:
                yield from (pointers.tokens(pointers.of_name(name)) for name in composite.join)

    def _reason(self, record: DecisionRecord, subjects: tuple[SubjectRecord, ...]) -> str:
        reason = self.text(record.reason)
        for before, after in zip(record.subjects, subjects, strict=True):
            if before.value and after.redacted:
                reason = reason.replace(before.value, after.value or "")
        return reason

    def _subject(self, subject: SubjectRecord, hidden: tuple[tuple[str, ...], ...]) -> SubjectRecord:
        if subject.value is None:
            return subject
        places = [pointers.tokens(place) for place in (subject.at, *subject.also_at)]
        is_hidden = subject.role in self.roles or any(
            pointers.covers(one, place) for one in hidden for place in places
        )
        value = self.mark(subject.value) if is_hidden else self.text(subject.value)
        return subject.model_copy(update={"value": value, "redacted": value != subject.value})

    def _object(
        self, value: Json, steps: tuple[str, ...], hidden: tuple[tuple[str, ...], ...], found: list[str]
    ) -> Json:
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
        is_hidden = steps[0] == "arguments" and any(pointers.covers(one, steps[1:]) for one in hidden)
        redacted = self._scalar(value, is_hidden=is_hidden)
        if redacted != value:
            found.append(self.text(pointers.join(steps)))
        return redacted

    def _scalar(self, value: Json, *, is_hidden: bool) -> Json:
        if value is None or isinstance(value, bool):
            return value
        text = value if isinstance(value, str) else str(value)
        redacted = self.mark(text) if is_hidden else self.text(text)
        return redacted if redacted != text else value

    def _card(self, found: Any) -> str:  # noqa: ANN401 - re2 has no type information
        text: str = found.group()
        digits = [int(character) for character in text if character.isdigit()]
        return self.mark(text) if len(digits) in _CARD_DIGITS and _luhn(digits) else text

    def _social(self, found: Any) -> str:  # noqa: ANN401 - as above
        area, group, serial = found.groups()
        never = area in {"000", "666"} or area.startswith("9") or group == "00" or serial == "0000"
        text: str = found.group()
        return text if never else self.mark(text)


def _luhn(digits: list[int]) -> bool:
    """Tell whether the digits end in the right check digit."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return any(digits) and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
