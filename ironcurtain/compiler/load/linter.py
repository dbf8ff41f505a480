"""Stage 1, load: warnings about a constitution that need no model.

The linter compares and counts words; it understands nothing. It therefore stays silent where it is not
sure, and never looks at guiding principles. Only a contradiction in the same words is an error.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.load.linter_words import (
    ANY_VERDICT,
    CLOCK,
    FILLER,
    HEADED,
    JUDGEMENT,
    NOISE,
    RECORD,
    SAID,
    STATE,
    UNLESS_ASKED,
    VERDICTS,
)
from ironcurtain.errors import ConstitutionError, Place
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import cut, marked, quoted

LONG_SENTENCE = 30
"""Words above which a sentence with several verdicts is a finding."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_WORD = re.compile(r"[\w@~/.*'-]*\w[\w/*-]*")
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"`[^`]+`|\"[^\"]*\"|\u201c[^\u201c\u201d]*\u201d|(?<!\S)[@~/]\S+")
"""What stands for itself, whatever words it is made of: code, quotations, lists and paths."""

_RELATIVE_CODE = re.compile(r"\.{1,2}/\S*|(?![~/])[\w.-]+(?:/[\w.-]+)*/")
_RELATIVE_PLAIN = re.compile(r"(?<![\w/.~`])\.{1,2}/\w\S*")
_SUFFIX = re.compile(r"(?:ing|ed|es|s|e)$")
_MIN_STEM = 3
_WORDS = {Verdict.ALLOW: "allowed", Verdict.DENY: "denied", Verdict.ESCALATE: "asked about"}


class Finding(Frozen):
    """One thing that the linter has to say.

    Attributes:
        id: The check, and eight digits of the digest of the clause's words: it stays when clauses move.
        clause: Id of the clause.
        source: `file:line` of the clause.
        what: What stands out, and why it matters.
        suggestion: An edit that would mend it.
    """

    id: str
    check: str
    severity: Literal["error", "warning", "note"]
    clause: str
    source: str
    what: str
    suggestion: str

    @property
    def line(self) -> str:
        """The finding in one line."""
        return f"{self.source}: {self.severity}: {self.clause} {self.what} {self.suggestion} [{self.id}]"


class LintReport(Frozen):
    """What the linter says of a constitution; `ok` is false where a finding is an error, or too grave."""

    format: Literal["ironcurtain/lint/v1"] = "ironcurtain/lint/v1"
    ok: bool
    findings: tuple[Finding, ...]


class _ReadSentence(Struct):
    """One sentence of a clause, in lower case, with the verdicts that it gives.

    Attributes:
        words: What it speaks of: stems in their order, without the words that give the verdict.
    """

    text: str
    verdicts: frozenset[Verdict]
    words: tuple[str, ...]

    @property
    def is_about_nothing(self) -> bool:
        """Whether every word is one that names nothing."""
        return not any(word not in FILLER for word in _WORD.findall(self.text))


def lint(clauses: Sequence[PlacedClause]) -> tuple[Finding, ...]:
    """Return what stands out in the clauses, in the order of the clauses.

    Guiding principles are looked at for characters that mislead a reader, and for nothing else.
    """
    read = [(placed, tuple(_sentences(placed))) for placed in clauses if not placed.clause.principle]
    findings = [finding for placed, sentences in read for finding in _alone(placed, sentences)]
    findings += _together(read)
    findings += [finding for placed in clauses for finding in _misleading(placed)]
    order = {placed.clause.id: number for number, placed in enumerate(clauses)}
    return tuple(sorted(findings, key=lambda finding: (order[finding.clause], finding.id)))


def remaining(clauses: Sequence[PlacedClause], policy: CompiledPolicy | None) -> tuple[Finding, ...]:
    """Return the findings that still hold where rules are known; all of them where there is no policy.

    A clause that rules came of is no mere explanation, and one whose rules test declared facts has what it
    needed. What is written otherwise than it was compiled has no rules yet.
    """
    rules = policy.rules if policy is not None else ()
    compiled = {(each.id, each.text) for each in policy.clauses} if policy is not None else set()
    as_compiled = {each.clause.id for each in clauses if (each.clause.id, each.clause.text) in compiled}
    implemented = {rule.clause for rule in rules} & as_compiled
    by_facts = {rule.clause for rule in rules if rule.if_.facts} & as_compiled
    return tuple(
        finding
        for finding in lint(clauses)
        if not (finding.check == "no-verdict" and finding.clause in implemented)
        and not (finding.check in NEEDS_FACT and finding.clause in by_facts)
    )


def contradictions(findings: Sequence[Finding]) -> list[ConstitutionError]:
    """Return the findings that stop a compile, as errors."""
    return [
        ConstitutionError(f"{f.clause} {f.what}", where=_place(f.source), hint=f.suggestion)
        for f in findings
        if f.severity == "error"
    ]


def _misleading(placed: PlacedClause) -> Iterator[Finding]:
    text = re.sub(r"\s*\n\s*", " ", " ".join([*placed.headings, placed.lead, placed.clause.text]))
    shown = marked(text)
    if shown != text:
        yield _finding(
            placed,
            "misleading-characters",
            "warning",
            f"reads otherwise than it looks: {cut(shown)}",
            "Write it without invisible characters, changes of direction, and letters that look like others.",
        )


# -- one clause ---------------------------------------------------------------------------------


def _alone(placed: PlacedClause, sentences: Sequence[_ReadSentence]) -> Iterator[Finding]:
    text = _lowered(_NAME.sub(" x ", placed.clause.text))
    for check, pattern, why, edit in _UNTESTABLE:
        word = pattern.search(text)
        if word:
            yield _finding(placed, check, "warning", f"says {quoted(word[0])}: {why}", edit)
    if directory := _relative_directory(placed.clause.text):
        yield _finding(
            placed,
            "relative-directory",
            "warning",
            f"names {quoted(directory)}, which begins nowhere: rules know whole paths only.",
            "Write ~/… or an absolute path, or say that it lies in the sandbox.",
        )
    long = next((s for s in sentences if len(s.verdicts) > 1 and len(s.text.split()) > LONG_SENTENCE), None)
    if long:
        yield _finding(
            placed,
            "several-verdicts",
            "note",
            f"gives {len(long.verdicts)} verdicts in a sentence of {len(long.text.split())} words.",
            "Write one sentence, in a clause of its own, for each verdict.",
        )
    yield from _verdict_findings(placed, sentences)


def _verdict_findings(placed: PlacedClause, sentences: Sequence[_ReadSentence]) -> Iterator[Finding]:
    text = _lowered(placed.clause.text)
    if not ANY_VERDICT.search(f"{_lowered(placed.lead)} {text}"):
        if not text.endswith(":") and not any(HEADED.search(_lowered(h)) for h in placed.headings):
            yield _finding(
                placed,
                "no-verdict",
                "note",
                "has no word that allows, forbids or asks, and may be taken for an explanation.",
                "If it is a rule, say what may, must not, or needs approval; if it guides, put it below a "
                "heading called principles.",
            )
    elif not placed.lead and not text.endswith(":") and all(s.is_about_nothing for s in sentences):
        yield _finding(
            placed,
            "no-resource",
            "warning",
            "names no tool, place, person or effect.",
            "Say what it is about: files in a folder, mail to somebody, pushing.",
        )


NEEDS_WORDS = "needs-words"
NEEDS_FACT = frozenset({"needs-clock", "needs-state", "needs-record", NEEDS_WORDS})
"""What a clause needs beside a call's arguments, and a declared fact may tell."""

_UNTESTABLE = (
    (
        "needs-clock",
        CLOCK,
        "no argument of a call tells that; rules can test the time, or the age of an instant in a record.",
        "Name the zone; confirm the tool that looks up the record (`reads` in confirmations.yaml).",
    ),
    (
        "needs-state",
        STATE,
        "no argument of a call tells that; rules can test a counter of calls, or a label of the session.",
        "Say for whom it counts, and within which hour, day, week or session.",
    ),
    (
        "needs-record",
        RECORD,
        "no argument of a call tells that; rules can test a record that another tool looks up.",
        "Confirm the tool that looks it up (`reads` in confirmations.yaml), or let a person be asked.",
    ),
    (
        NEEDS_WORDS,
        SAID,
        "no argument of a call tells that; rules can test whether the user wrote an argument's value.",
        "It is known in sessions of `ironcurtain start`; behind a proxy, have a person asked.",
    ),
    (
        "needs-judgement",
        JUDGEMENT,
        "that is for somebody to judge, and a rule cannot.",
        "Name the folders, people, addresses or actions that you mean, or let a person be asked.",
    ),
)


def _relative_directory(text: str) -> str | None:
    """Return the first relative directory of a clause: `./x`, `../x`, or `x/` where it is written as code."""
    for code in _CODE.finditer(text):
        if _RELATIVE_CODE.fullmatch(code[1]):
            return code[1]
    plain = _RELATIVE_PLAIN.search(_CODE.sub(" ", text))
    return plain[0] if plain else None


# -- two clauses --------------------------------------------------------------------------------


def _together(read: Sequence[tuple[PlacedClause, Sequence[_ReadSentence]]]) -> Iterator[Finding]:
    """Find sentences below one heading that say the same, or the opposite, in the same words."""
    seen: dict[tuple[object, ...], tuple[PlacedClause, _ReadSentence]] = {}
    for placed, sentences in read:
        for sentence in sentences:
            if len(sentence.verdicts) != 1 or not sentence.words:
                continue
            key = (placed.headings, placed.lead, sentence.words)
            if key in seen:
                yield _pair(placed, sentence, *seen[key])
            else:
                seen[key] = (placed, sentence)


def _pair(
    placed: PlacedClause, sentence: _ReadSentence, earlier: PlacedClause, other: _ReadSentence
) -> Finding:
    (verdict,), (before,) = sentence.verdicts, other.verdicts
    if verdict is before:
        what = f"repeats what {earlier.clause.id} says."
        return _finding(placed, "duplicate", "warning", what, "Delete one of the two.")
    return _finding(
        placed,
        "contradiction",
        "error",
        f"says that this is {_WORDS[verdict]}, and {earlier.clause.id} says in the same words that it is "
        f"{_WORDS[before]}.",
        "Keep one of the two, or say in one of them what it is an exception for.",
    )


# -- words --------------------------------------------------------------------------------------


def _sentences(placed: PlacedClause) -> Iterator[_ReadSentence]:
    for text in _SENTENCE_END.split(_lowered(placed.clause.text)):
        verdicts, rest = _verdicts(text)
        if placed.lead and not verdicts:  # an item may be an exception from what introduces it
            verdicts = _verdicts(_lowered(placed.lead))[0]
        words = tuple(_stem(word) for word in _WORD.findall(rest) if word not in NOISE)
        yield _ReadSentence(text, frozenset(verdicts), words)


def _verdicts(text: str) -> tuple[set[Verdict], str]:
    """Return the verdicts of a sentence, and the sentence without the words that give them."""
    found = set()
    for verdict, pattern in VERDICTS:
        if pattern.search(text):
            found.add(verdict)
            text = pattern.sub(" ", text)
    if Verdict.DENY in found and UNLESS_ASKED.search(text):
        return found - {Verdict.DENY} | {Verdict.ESCALATE}, UNLESS_ASKED.sub(" ", text)
    return found, text


def _stem(word: str) -> str:
    word = word.rstrip(".'-")
    short = _SUFFIX.sub("", word)
    return short if len(short) >= _MIN_STEM else word


def _lowered(text: str) -> str:
    """Return a clause's text in lower case, without marks of emphasis, with plain apostrophes."""
    return text.lower().replace("\u2019", "'").replace("*", " ").replace("_", " ").strip()


def _finding(
    placed: PlacedClause,
    check: str,
    severity: Literal["error", "warning", "note"],
    what: str,
    suggestion: str,
) -> Finding:
    digest = hashlib.sha256(placed.clause.text.encode()).hexdigest()[:8]
    return Finding(
        id=f"{check}-{digest}",
        check=check,
        severity=severity,
        clause=placed.clause.id,
        source=placed.clause.source,
        what=what,
        suggestion=suggestion,
    )


def _place(source: str) -> Place:
    file, _, line = source.rpartition(":")
    return Place(file, int(line))
