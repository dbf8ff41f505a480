"""What a language model (or a person in its place) is asked, and how its answer is kept.

1. A question is data. Its digest is the key under which its answer is kept: the text of the prompt, the
   schema and every input that appears in them are part of it.
2. What only helps to answer (which lists exist, the answer of the last compile) is sent with the prompt and
   is no part of the digest.
3. An answer is used only if it fits the schema and the question's own `check` finds no mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from pydantic import Field

from ironcurtain.decision.canonical.plain_values import definitions_of, fits_plainly
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Digest, Frozen, JsonValue
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import visible

_SIMILAR = 0.6


class Earlier(Frozen):
    """An answer to an earlier form of a question.

    Attributes:
        content: What was answered.
        told: What that form told, by name.
    """

    content: JsonValue
    told: dict[str, str] = Field(default_factory=dict)


class Changes(Struct):
    """What a question tells now and did not tell in the same words before.

    Attributes:
        names: The name that each text has now, by the name that it had; without texts that are gone.
        edited: Old and new words, by the new name.
        added: Texts that are new, by name.
        removed: Texts that are gone, by the name that they had.
    """

    names: Mapping[str, str]
    edited: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    added: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[str, ...]:
        """The changes as lines of a difference: `- C7: old words`, `+ C7: new words`."""
        was = {new: old for old, new in self.names.items()}
        lines = [
            line
            for name, (old, new) in self.edited.items()
            for line in (f"- {was[name]}: {visible(old)}", f"+ {name}: {visible(new)}")
        ]
        lines += [f"- {name}: {visible(text)}" for name, text in self.removed.items()]
        return tuple(lines + [f"+ {name}: {visible(text)}" for name, text in self.added.items()])


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> Changes:
    """Return what changed between two tellings, each text by its name.

    A text is the same one if its words are the same, else if at least 60 of 100 of its characters are.
    """
    old, new = dict(then), dict(now)
    names: dict[str, str] = {}
    for name in list(old):
        same = name if new.get(name) == old[name] else next((n for n in new if new[n] == old[name]), None)
        if same is not None:
            names[name] = same
            del old[name], new[same]
    edited = {}
    for name, text in list(old.items()):
        near = _nearest(text, new)
        if near is not None:
            names[name] = near
            edited[near] = (text, new.pop(near))
            del old[name]
    return Changes(names, edited, added=new, removed=old)


def _nearest(text: str, candidates: Mapping[str, str]) -> str | None:
    """Return the name of the text that is most like this one, if one is like it at all."""
    ratios = {name: SequenceMatcher(None, text, other).ratio() for name, other in candidates.items()}
    best = max(ratios, key=lambda name: ratios[name], default=None)
    return best if best is not None and ratios[best] >= _SIMILAR else None


AnswerCheck: TypeAlias = Callable[[JsonValue], list[str]]
"""Returns the mistakes of an answer that already fits its schema, one sentence each; empty if none."""

Rename: TypeAlias = Callable[[JsonValue, Mapping[str, str]], JsonValue]
"""Returns an answer's content with the names of what its question told exchanged for those of the mapping;
what is about a name that is not there is left out."""

MANUAL = "manual"
"""The provider of answers that a person gives."""

MAX_MISTAKE_LINES = 1000
"""The most lines of mistakes that are sent back; no answer of the longest permitted length holds more."""

_MISTAKE_CHARACTERS = 600


def _as_it_is(content: JsonValue, _: Mapping[str, str]) -> JsonValue:
    return content


class Question(Struct):
    """One question.

    Attributes:
        stage: The stage that asks: `annotate`, `rules`.
        key: Readable and unique within a compile: `annotate-filesystem-1`. Not part of the digest.
        system: The standing instruction.
        prompt: The request with its data.
        schema: JSON Schema (2020-12) of the answer.
        check: What the schema cannot say; not part of the digest.
        beside: Told behind the prompt; not part of the digest, so a kept answer outlives a change of it.
        previous: Told behind that: what was answered to an earlier form of the question. Independent runs
            and a second opinion do not see it.
        told: What of the prompt people know by name: the text of each clause by its id. It is kept with
            the answer, so that a later form of the question can say what changed.
        rename: Exchanges those names in an answer.
        about: What is asked, as a list of open questions says it.
        earlier: The last answer to an earlier form of the question.
        parts: Of a joint question, the digests of those that it stands for.
    """

    stage: str
    key: str
    system: str
    prompt: str
    schema: dict[str, JsonValue]
    check: AnswerCheck
    beside: str = ""
    previous: str = ""
    told: Mapping[str, str] = field(default_factory=dict)
    rename: Rename = _as_it_is
    about: str = ""
    earlier: Earlier | None = None
    parts: tuple[Digest, ...] = ()

    @property
    def text(self) -> str:
        """The whole request, as who answers reads it."""
        return "\n\n".join(part for part in (self.prompt, self.beside, self.previous) if part)

    @cached_property
    def digest(self) -> str:
        """`sha256:<hex>` over all that the answer depends on."""
        return json_text.digest(
            {"stage": self.stage, "system": self.system, "prompt": self.prompt, "schema": self.schema}
        )

    def mistakes(self, content: JsonValue) -> list[str]:
        """Return every mistake of an answer, safe to show and to send back; empty if it is valid."""
        return self._misfits(content) or self.check(content)

    def _misfits(self, content: JsonValue) -> list[str]:
        """Return where an answer does not fit the schema. The library says it, and is slow to say nothing."""
        if fits_plainly(content, [self.schema], definitions_of(self.schema)):
            return []
        errors = map(closest, Draft202012Validator(self.schema).iter_errors(content))
        return [visible(f"{error.json_path}: {_cut(error.message)}") for error in errors]


def closest(error: ValidationError) -> ValidationError:
    """Return what is wrong with a value of none of several forms, by the form that it comes closest to.

    The error about all the forms quotes the whole value and names no mistake in it.
    """
    return best_match([error]) or error


def grouped(mistakes: Sequence[str]) -> list[str]:
    """Return all mistakes, those of one kind on one line: `rule "a", rule "b": it has no condition`.

    Beyond `MAX_MISTAKE_LINES` the last line counts what is left out.
    """
    places: dict[str, dict[str, None]] = {}
    for mistake in mistakes:
        place, colon, what = mistake.partition(": ")
        places.setdefault(what if colon else mistake, {})[place if colon else ""] = None
    lines = [f"{', '.join(where)}: {what}" if any(where) else what for what, where in places.items()]
    more = len(lines) - MAX_MISTAKE_LINES
    return [*lines[:MAX_MISTAKE_LINES], f"and {more} more"] if more > 0 else lines


def _cut(message: str) -> str:
    """Shorten a message that quotes a whole part of the answer."""
    return message if len(message) <= _MISTAKE_CHARACTERS else f"{message[:_MISTAKE_CHARACTERS]}…"


class Answer(Frozen):
    """An answer that was used, as `answers/` keeps it (`ironcurtain/answer/v1`).

    Attributes:
        question: Digest of the question.
        provider: Who gave it: `anthropic`, or `manual` for a person (or a chat that a person used).
        model: The model's id; None for `manual`.
        as_given: Digest of what was asked, who answered and what: a file that was edited does not fit it.
        told: What the question told, as `Question.told`.
    """

    format: Literal["ironcurtain/answer/v1"] = "ironcurtain/answer/v1"
    question: Digest
    stage: str
    key: str
    provider: str
    model: str | None = None
    content: JsonValue
    as_given: Digest
    told: dict[str, str] = Field(default_factory=dict)

    @property
    def is_as_given(self) -> bool:
        """Whether nobody changed the answer since it was given; a slip is noticed, a forger is not."""
        return self.as_given == _given(self.question, self.provider, self.model, self.content)

    def by_a_person(self) -> Answer:
        """Return the answer as one that a person gave, whoever gave it first."""
        given = _given(self.question, MANUAL, None, self.content)
        return self.model_copy(update={"provider": MANUAL, "model": None, "as_given": given})

    @property
    def file_name(self) -> str:
        """`<key>-<first 12 digits of the question's digest>.json`."""
        return f"{self.key}-{self.question.removeprefix('sha256:')[:12]}.json"


Keep: TypeAlias = Callable[[Answer], None]
"""Called with each answer as soon as it is there, so that an interruption loses none that was paid for."""


class EarlierAnswer(Struct):
    """An answer to a joint question that was asked before, whether or not it would be asked so again.

    Attributes:
        path: The file that holds it.
        parts: The digests of the questions that it answers.
        content: The answer; None if it is not valid JSON.
        mistakes: Why it is none.
    """

    path: Path
    parts: tuple[Digest, ...]
    content: JsonValue
    mistakes: tuple[str, ...] = ()


class Provider(Protocol):
    """Whoever answers questions. One file in this package for each."""

    def given(self) -> Sequence[EarlierAnswer]:
        """Return the answers to joint questions that lie there from earlier runs."""
        ...

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        """Return a valid answer to each question, in their order.

        Raises:
            ModelFailedError: If a model gives none.
            OpenQuestionError, BadAnswerError: If a person has to act.
        """
        ...

    def published(self) -> None:
        """Hear that the result of all answers is published, so that working files can go."""
        ...


def answer_to(question: Question, content: JsonValue, *, provider: str, model: str | None = None) -> Answer:
    """Make the record of an answer."""
    return Answer(
        question=question.digest,
        stage=question.stage,
        key=question.key,
        provider=provider,
        model=model,
        content=content,
        as_given=_given(question.digest, provider, model, content),
        told=dict(question.told),
    )


def _given(question: Digest, provider: str, model: str | None, content: JsonValue) -> Digest:
    given = {"question": question, "provider": provider, "model": model, "content": content}
    return json_text.digest(given)


def schema_text(schema: dict[str, JsonValue]) -> str:
    """Return a schema with one line for each member and definition; indented in full it is thrice as long."""
    members = [
        f'"{key}": {_lines(value) if key == "$defs" else _line(value)}'
        for key, value in sorted(schema.items())
    ]
    return "{" + ",\n".join(members) + "}"


def _lines(definitions: JsonValue) -> str:
    if not isinstance(definitions, dict):
        return _line(definitions)
    return "{" + ",\n".join(f'"{name}": {_line(each)}' for name, each in definitions.items()) + "}"


def _line(value: JsonValue) -> str:
    return json_text.canonical(value).decode()
