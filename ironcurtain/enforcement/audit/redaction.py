"""What an audit log must not hold: keys, tokens, card and social-security numbers, and what is marked.

Redaction works on the record only; what is evaluated and what is sent stays as it is. A redacted value is
shown as `[redacted:DIGEST]`, the beginning of a keyed digest, so that equal values can be told to be equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import chain, islice
from typing import Any

import re2

from ironcurtain.decision.canonical import pointers
from ironcurtain.enforcement.audit.hash_chain import keyed_digest
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResourceRecord
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import SecretStruct

# The forms of keys, tokens and passwords: the rules of a secret scanner, and what these do not know.
_SCANNER = "secret_rules.json"
"""Rules of gitleaks, with where they come from, what was changed, and their licence."""
_KEY = r"(?:BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|BEGIN SSH2 ENCRYPTED PRIVATE KEY)"
_END = r"END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
_NAMED = r"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?"
_VALUE = r"(?:\"[^\"\r\n]{4,}|'[^'\r\n]{4,}|[^&\s\"',;]{4,})"
_OWN = (
    r"(?:\b|_)sk-[A-Za-z0-9_-]{16,}",
    r"(?:\b|_)(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}",
    r"(?:\b|_)github_pat_[A-Za-z0-9_]{20,}",
    r"(?:\b|_)glpat-[A-Za-z0-9_-]{16,}",
    r"(?:\b|_)(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"(?:\b|_)(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}",
    r"(?:\b|_)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"(?:\b|_)AIza[A-Za-z0-9_-]{30,}",
    r"(?:\b|_)(?:npm|hf|pypi|rk_live|sk_live|sk_test|pk_live)[_-][A-Za-z0-9_-]{16,}",
    r"(?:\b|_)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    # A key that does not end is one up to the end of the text.
    rf"-{{4,5}} ?{_KEY} ?-{{4,5}}(?:(?s:.*?)-{{4,5}} ?{_END} ?-{{4,5}}|(?s:.*))",
    r"PuTTY-User-Key-File-[0-9](?s:.*)",
    r"(?i:\b(?:bearer|basic|negotiate)\s+)[A-Za-z0-9._~+/=-]{12,}",
    r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@\"']{0,200}:[^/\s@\"']{1,200}@",
    rf"(?i:(?:\b|_)(?:{_NAMED}|auth)=)[^&\s\"']{{4,}}",
    rf"(?i:(?:{_NAMED})[\"']?[ \t]{{0,3}}(?::=|=>|[:=])[ \t]{{0,3}}){_VALUE}",
)


def _token_pattern() -> Any:  # noqa: ANN401 - the library has no type for a pattern
    """Return the pattern of everything that is a secret by its form alone."""
    rules = json.loads(files(__package__).joinpath(_SCANNER).read_text())["rules"]
    return re2.compile("|".join(f"(?:{form})" for form in (*_OWN, *rules.values())))


def _name_pattern() -> Any:  # noqa: ANN401 - as above
    """Return the pattern of names whose values are secrets, whatever their form; it finds the end of one."""
    return re2.compile(rf"(?i:{_NAMED})(?:\0|$)")


_SHOWN = 8
_MOST = 20_000
"""A text with so much in it that could be secret is redacted whole: nobody's call may hold up the others."""
_TOKEN, _SECRET_NAME = _token_pattern(), _name_pattern()
_LEAST = 4
"""Characters that a value has at least which its name alone makes a secret, as in a text."""
_LONG, _FOURS, _UNEVEN = (
    r"[0-9]{12,18}",
    r"[0-9]{3}(?:[ -][0-9]{4}){3}",
    r"[0-9]{3}[ -][0-9]{6}[ -][0-9]{4,5}",
)
_ROW = r"(?:[ -]?[0-9]){12,18}"
"""How card numbers go on after their first digit: in groups, beside other numbers, or in any way if alone."""
_CARD_SHAPE = re2.compile(
    rf"(?:^|[^0-9])[0-9](?:{_LONG}|{_FOURS}|{_UNEVEN})(?:[^0-9]|$)"
    rf"|(?:^|[^0-9 -]|[^0-9][ -]|^[ -])[0-9]{_ROW}(?:[^0-9 -]|[ -][^0-9]|[ -]?$)"
)
_CARD_FORMS = (
    re.compile(
        rf"[0-9](?<![0-9]{{2}})(?=[0-9]{{3}})(?:(?=({_LONG})(?![0-9]))|(?=({_UNEVEN})(?![0-9]))"
        rf"|(?=({_FOURS})(?![0-9]))(?=({_FOURS}[ -][0-9]{{3}})(?![0-9]))?)"
    ),
    re.compile(rf"[0-9](?<![0-9]{{2}})(?<![0-9][ -].)({_ROW})(?![ -]?[0-9])"),
)
_ZERO = ord("0")
_DOUBLED = bytes(sum(divmod(2 * (code - _ZERO), 10)) if 0 <= code - _ZERO <= 9 else 0 for code in range(256))  # noqa: PLR2004
_DOTTED = re2.compile(r"\b[0-9]{4}\.(?:[0-9]{4}\.){2}[0-9]{1,7}\b|\b[0-9]{4}\.[0-9]{6}\.[0-9]{4,5}\b")
_SEPARATORS = {
    **dict.fromkeys(
        map(ord, "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"), " "
    ),
    **dict.fromkeys(map(ord, "\u202f\u205f\u3000\u00b7\u2022\t"), " "),
    **dict.fromkeys(map(ord, "\u00ad\u2010\u2011\u2012\u2013\u2014\u2212\u30fb"), "-"),
}
"""Other blanks and strokes that stand between the groups of a card's number."""
_SOCIAL = re2.compile(r"\b([0-9]{3})-([0-9]{2})-([0-9]{4})\b")
_NUMBERS = re2.compile(r"(?:[0-9][^0-9]?){8}[0-9]")
"""What every number of a card or of social security has: nine digits, each at most one character apart."""
_BETWEEN = "\0"
"""No letter, digit, `_` or anything that could hide what a text beside it begins or ends with."""


@cache
def suspicious() -> Any:  # noqa: ANN401 - as above
    """Return what every text has that is or names a secret: most have nothing, and are looked at once."""
    # Only decisions need it, so it is compiled for the first of them, or shortly after the start.
    return re2.compile("|".join(f"(?:{each.pattern})" for each in (_TOKEN, _SECRET_NAME, _NUMBERS)))


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
        if not _may_hold_a_secret(text):
            return text
        shown, tokens = _TOKEN.subn(lambda found: self.mark(found.group()), text, _MOST)
        shown, socials = _SOCIAL.subn(self._social, shown, _MOST)
        cards = _card_places(_plainly(shown))
        if cards is None or max(tokens, socials) >= _MOST:
            return self.mark(text)
        parts, at = [], 0
        for start, end in cards:
            parts += [shown[at:start], self.mark(shown[start:end])]
            at = end
        return "".join([*parts, shown[at:]])

    def mark(self, text: str) -> str:
        """Return what stands for a redacted text."""
        digest = keyed_digest(text.encode(), self.key, "redaction").partition(":")[2]
        return f"[redacted:{digest[:_SHOWN]}]"

    def keep(self, record: DecisionRecord, tool: ToolAnnotation | None) -> DecisionRecord:
        """Return a decision's record redacted."""
        hidden = tuple(self._hidden(tool)) if tool is not None else ()
        texts = _BETWEEN.join(_texts_of(record))
        if not (hidden or self.roles) and _is_harmless(texts):
            return record
        secrets: list[str] = []
        arguments = None
        if record.arguments is not None:
            arguments = self._object(record.arguments, ("arguments",), hidden, secrets)
        meta = self._object(record.meta, ("meta",), (), secrets)
        caller = self._object(record.caller, ("caller",), (), secrets)
        facts = record.facts
        if facts is not None:
            values = self._object(facts.values, ("facts",), (), secrets)
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

    def _hidden(self, tool: ToolAnnotation) -> Iterator[tuple[str, ...]]:
        """Yield the places that are redacted whole."""
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

    def _subject(self, resource: ResourceRecord, hidden: tuple[tuple[str, ...], ...]) -> ResourceRecord:
        if resource.value is None:
            return resource
        places = [pointers.tokens(place) for place in (resource.at, *resource.also_at)]
        is_hidden = (
            resource.role in self.roles
            or any(pointers.covers(one, place) for one in hidden for place in places)
            or any(_is_named_a_secret(place, resource.value) for place in places)
        )
        value = self.mark(resource.value) if is_hidden else self.text(resource.value)
        return resource.model_copy(update={"value": value, "redacted": value != resource.value})

    def _object(
        self, value: JsonValue, steps: tuple[str, ...], hidden: tuple[tuple[str, ...], ...], found: list[str]
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
        is_hidden = steps[0] == "arguments" and any(pointers.covers(one, steps[1:]) for one in hidden)
        is_hidden = is_hidden or _is_named_a_secret(steps[1:], value)
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

    def _social(self, found: Any) -> str:  # noqa: ANN401 - as above
        area, group, serial = found.groups()
        never = area in {"000", "666"} or area.startswith("9") or group == "00" or serial == "0000"
        text: str = found.group()
        return text if never else self.mark(text)


def _is_named_a_secret(steps: tuple[str, ...], value: JsonValue) -> bool:
    """Tell whether a value is a secret by the name that it stands under; elements of a list have its name."""
    name = next((step for step in reversed(steps) if not step.isdecimal()), "")
    return len(str(value)) >= _LEAST and _SECRET_NAME.search(name) is not None


def _is_harmless(texts: str) -> bool:
    """Tell whether no text of a record, and no name, is one of a secret."""
    return suspicious().search(texts) is None or not (_SECRET_NAME.search(texts) or _may_hold_a_secret(texts))


def _may_hold_a_secret(text: str) -> bool:
    """Tell whether anything in a text has the form of a secret."""
    if _TOKEN.search(text) is not None:
        return True
    if _NUMBERS.search(text) is None:
        return False
    plain = _plainly(text)
    return any(form.search(plain) is not None for form in (_CARD_SHAPE, _SOCIAL))


def _plainly(text: str) -> str:
    """Return a text, of the same length, with plain blanks and hyphens between the groups of card numbers."""
    plain = text if text.isascii() else text.translate(_SEPARATORS)
    return _DOTTED.sub(lambda found: found.group().replace(".", "-"), plain) if "." in plain else plain


def _card_places(text: str) -> list[tuple[int, int]] | None:
    """Return where card numbers stand; overlapping ones are one place. None: too many to look at them all."""
    if _CARD_SHAPE.search(text) is None:
        return []
    matches = islice(chain.from_iterable(form.finditer(text) for form in _CARD_FORMS), _MOST)
    spans = [(m.start(), m.end(n)) for m in matches for n, one in enumerate(m.groups(), 1) if one]
    if len(spans) >= _MOST:
        return None
    places: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if _luhn(text[start:end].replace(" ", "").replace("-", "").encode()):
            overlaps = bool(places) and start < places[-1][1]
            before = places.pop() if overlaps else (start, end)
            places.append((before[0], max(before[1], end)))
    return places


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


def _luhn(digits: bytes) -> bool:
    """Tell whether the digits, not all of them 0, end in the right check digit."""
    kept, doubled = digits[-1::-2], digits[-2::-2].translate(_DOUBLED)
    total = sum(kept) - len(kept) * _ZERO + sum(doubled)
    return total % 10 == 0 and bool(digits.strip(b"0"))
