"""Making a receipt: chosen lines of a log, each decision asked again, and the chain that they stand in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.engine.rules.predicates import Values
from ironcurtain.analysis.engine.rules.rules import ToolPredicates
from ironcurtain.analysis.receipts.report import (
    Receipt,
    ReceiptBundle,
    ReceiptChain,
    ReceiptRecord,
    Sentence,
)
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.revision import SIGNATURES
from ironcurtain.decision.canonical.pointers import tokens
from ironcurtain.decision.policy_input import PolicyInput, as_json
from ironcurtain.decision.refusal import Refusal
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.audit.hash_chain import SealedLine, open_line, read_head
from ironcurtain.enforcement.audit.log import stamp
from ironcurtain.enforcement.audit.log_paths import LogPaths
from ironcurtain.enforcement.audit.reader import NumberedLine, parse_line, read_lines
from ironcurtain.enforcement.audit.record_types import DecisionRecord, Head, Record
from ironcurtain.enforcement.audit.recorded_input import input_digest, recorded_input
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import AuditError, BundleIntegrityError, ReceiptError, UsageError
from ironcurtain.model.reserved_rules import is_of_engine
from ironcurtain.model.unknown_facts import Root
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.files import read_bytes
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

_ALWAYS = (
    "that facts, and what is said of the caller, were true: they are what the gateway was given",
    "that resources, and the patterns that cover them, were read rightly from the call: OPA is given them",
    "what the tool did: a decision was recorded before it",
    "that this is the log that was written, to whoever does not know the head from elsewhere",
)
_REFUSED = "that a refused call was refused rightly: the policy was not asked, or did not answer"
_RAISED = "that a structural check (`floor`) asked for a person rightly: OPA does not make these checks"
_DIGESTS = "what stands behind keyed digests and `[redacted:…]`, except what the policy tests of it"
_GAPS = "that there are no other such calls: of lines that are left out it holds digests only"


class Choice(Struct):
    """Which decisions of a log a receipt is about.

    Attributes:
        id: The id of the only one.
        clause: The sentence that decided them, by its id.
        since: The earliest time, as records have it.
        until: The time that they are before.
    """

    id: str | None = None
    clause: str | None = None
    since: str = ""
    until: str = "~"

    def takes(self, record: Record) -> bool:
        """Tell whether a record is one of them."""
        return (
            isinstance(record, DecisionRecord)
            and self.id in (None, record.id)
            and self.clause in (None, record.clause)
            and self.since <= record.time < self.until
        )

    @property
    def is_period(self) -> bool:
        """Whether all that happened in between is part of it."""
        return self.id is None and self.clause is None


class _Line(Struct):
    number: int
    sealed: SealedLine
    record: Record

    @classmethod
    def of(cls, line: NumberedLine) -> _Line:
        return cls(line.number, open_line(line.data), parse_line(line).record)


def make_receipt(
    paths: LogPaths, choice: Choice, bundle: Bundle, opa: OpaCommand, heads: Iterable[Head]
) -> Receipt:
    """Return the receipt of chosen decisions of a log that was verified.

    Args:
        paths: The log.
        choice: The decisions.
        bundle: The bundle that decided them.
        opa: The engine.
        heads: The heads that can end the chain, of this log; the earliest that is late enough does.

    Raises:
        UsageError: If the log holds no such decision.
        ReceiptError: If a record lacks what a receipt needs, or the policy does not decide as it says.
        BundleIntegrityError: If another bundle decided one of them.
        AuditError: If no head vouches for the lines.
        EngineFailedError, VerificationError: If OPA gives no answer.
    """
    lines, before, sealed = _lines(paths, choice)
    chain = _chain(lines, before, sealed, heads)
    decided = _Decided(bundle)
    records = tuple(decided.add(line) for line in lines)
    decided.check(evaluate(decided.questions, bundle, opa) if decided.questions else {})
    complete = lines[-1].number - lines[0].number + 1 == len(lines)
    return Receipt(
        session=paths.session,
        bundle=ReceiptBundle(digest=decided.digest, revision=bundle.revision, signatures=_signatures(bundle)),
        records=records,
        complete=complete,
        chain=chain,
        not_shown=tuple(_not_shown(records, [line.record for line in lines], complete=complete)),
    )


def moment(text: str) -> str:
    """Return a time that a person wrote as records have it; the ends of all time are `` and `~`.

    Raises:
        UsageError: If it is none.
    """
    if text in {"", "~"}:
        return text
    try:
        return stamp(datetime.fromisoformat(text))
    except ValueError:
        raise UsageError(
            f"{quoted(text)} is no time", hint="Write 2026-07-01 or 2026-07-01T09:00Z."
        ) from None


def heads_of(paths: LogPaths) -> list[Head]:
    """Return the head of a log.

    Raises:
        FileError: If it cannot be read; the log was verified against it.
    """
    return [read_head(read_bytes(paths.head))]


def _lines(paths: LogPaths, choice: Choice) -> tuple[list[_Line], str, list[SealedLine]]:
    """Return the chosen lines, the seal before the first, and all lines from the first to the log's end."""
    taken: list[_Line] = []
    between: list[_Line] = []
    following: list[SealedLine] = []
    for numbered in read_lines(paths):
        line = _Line.of(numbered)
        if choice.takes(line.record):
            taken += [*between, line]
            between = []
        elif taken and choice.is_period:
            between.append(line)
        if taken:
            following.append(SealedLine(line.sealed.previous, b"", line.sealed.seal, line.sealed.digest))
    if not taken:
        raise UsageError("the audit log holds no such decision", where=str(paths.path))
    return taken, taken[0].sealed.previous, following


def _chain(
    lines: Sequence[_Line], before: str, sealed: Sequence[SealedLine], heads: Iterable[Head]
) -> ReceiptChain:
    first, last = lines[0].number, lines[-1].number
    late = [head for head in heads if last <= head.count < first + len(sealed)]
    if not late:
        raise AuditError(
            f"no head vouches for line {last} of the log",
            hint="Wait until the head is written, or name the --witness that was told of it.",
        )
    head = min(late, key=lambda each: each.count)
    digests = []
    for number, line in enumerate(sealed[: head.count - first + 1], first):
        if line.digest is None:
            raise ReceiptError(
                f"line {number} of the log was sealed by an older version: whoever is to follow the chain "
                "would have to see the whole line",
                hint="Lines from this version on can be shown; name a --witness that was told before it.",
            )
        digests.append(line.digest)
    if sealed[len(digests) - 1].seal != head.seal:
        raise AuditError(f"line {head.count} of the log is not the one that the head knows")
    return ReceiptChain(first=first, before=before, digests=tuple(digests), head=head)


class _Decided:
    """What OPA is asked again of chosen records, and what it has to say."""

    def __init__(self, bundle: Bundle) -> None:
        self._content, self._has_custom = PolicyContent.of(bundle), bool(bundle.custom_modules)
        self._roles = Registry(self._content.annotations.roles)
        self._predicates = ToolPredicates(self._content)
        self.digest = json_text.digest_bytes(bundle.archive())
        self.questions: dict[str, PolicyInput] = {}
        self._records: dict[str, DecisionRecord] = {}

    def add(self, line: _Line) -> ReceiptRecord:
        """Return a line as a receipt shows it."""
        shown: dict[str, JsonValue] = json.loads(line.sealed.record)
        record = line.record
        if not isinstance(record, DecisionRecord):
            return ReceiptRecord(line=line.number, kind="other", record=shown)
        if not is_of_engine(record.rule):
            return ReceiptRecord(line=line.number, kind="refused", record=shown)
        question = self._question(record)
        id_ = f"{line.number:012d}"
        self.questions[id_], self._records[id_] = question, record
        text = self._content.clauses.get(record.clause or "")
        return ReceiptRecord(
            line=line.number,
            kind="decided",
            record=shown,
            input=json_text.members(json_text.plain(as_json(question))),
            sentence=Sentence(clause=record.clause, text=text) if record.clause and text else None,
        )

    def check(self, answers: dict[str, JsonValue]) -> None:
        """See that the policy decides each as recorded.

        Raises:
            ReceiptError: At the first that it does not.
        """
        for id_, answer in answers.items():
            record, said = self._records[id_], json_text.members(answer)
            floors = [each.floor for each in record.subjects if each.floor is not None]
            now = (said.get("verdict"), said.get("rule"))
            if floors and now[0] == Verdict.ALLOW:
                now = (Verdict.ESCALATE, floors[0])
            if now != (record.verdict, record.rule):
                raise ReceiptError(
                    f"the bundle does not decide {visible(record.id)} as recorded: "
                    f"it was {record.verdict} by {visible(record.rule)}, "
                    f"and is {now[0]} by {visible(str(now[1]))}",
                    hint="Run `ironcurtain explain --id` on it.",
                )

    def _question(self, record: DecisionRecord) -> PolicyInput:
        if record.bundle not in (None, self.digest):
            raise BundleIntegrityError(
                f"{visible(record.id)} was decided by the bundle {record.bundle}; this is {self.digest}",
                hint="Give the bundle of then; one receipt is of one bundle: see --since and --until.",
            )
        if lacking := self._lacking(record):
            raise ReceiptError(
                f"the record {visible(record.id)} cannot be decided again by others: {lacking}",
                hint="Nothing was written. `ironcurtain audit show` prints what the record holds.",
            )
        tool = self._content.tools[record.server, record.tool]
        try:
            question = recorded_input(record, tool, self._content, self._roles)
        except Refusal as refusal:
            raise ReceiptError(f"the record {visible(record.id)}: {refusal.reason}") from None
        if input_digest(question) != record.input_digest:
            raise ReceiptError(f"the record {visible(record.id)} is not what its own digest of it says")
        return question

    def _lacking(self, record: DecisionRecord) -> str:
        """Return what a record lacks; nothing if OPA can be asked again."""
        if record.omitted:
            return f"the call was refused, and its {record.omitted:,} bytes are too large to be in the log"
        if record.input_digest is None:
            return "it was written by an older version, which did not record what OPA was asked"
        if record.bundle is None:
            return "it does not say which bundle decided it"
        if self._has_custom and _has_digests(record):
            return "the policy has modules of its own, which could ask for a value that is not there"
        tested = next(self._untestable(record), None)
        if tested is None:
            return ""
        return f"the policy tests {visible(tested)}, and a digest cannot stand in for the value"

    def _untestable(self, record: DecisionRecord) -> Iterator[str]:
        """Yield what the policy tests, and could find otherwise in the record than it was."""
        roots: dict[str, Root] = {"arguments": "args", "caller": "caller", "facts": "facts"}
        redacted = {(roots[s[0]], s[1]) for s in map(tokens, record.redacted) if s[0] in roots}
        has_facts = record.facts is not None and record.facts.values is not None
        tool = self._content.tools[record.server, record.tool]
        for predicate in self._predicates.of(record.server, tool):
            if record.abstract is not None:
                held: Values = {"args": record.abstract.args, "caller": record.abstract.caller, "facts": {}}
                is_as_it_was = predicate.holds(held) is record.abstract.tests.get(predicate.key)
            else:
                roots_tested = {root for root, _ in predicate.places}
                is_as_it_was = not redacted & {*predicate.places} and (
                    has_facts or "facts" not in roots_tested
                )
            if not is_as_it_was:
                yield "/".join(predicate.path)


def _has_digests(record: DecisionRecord) -> bool:
    return record.abstract is not None or bool(record.redacted) or any(s.redacted for s in record.subjects)


def _not_shown(
    records: Iterable[ReceiptRecord], recorded: Sequence[Record], *, complete: bool
) -> Iterator[str]:
    yield from _ALWAYS
    decisions = [each for each in recorded if isinstance(each, DecisionRecord)]
    if any(each.kind == "refused" for each in records):
        yield _REFUSED
    if any(subject.floor for each in decisions for subject in each.subjects):
        yield _RAISED
    if any(map(_has_digests, decisions)):
        yield _DIGESTS
    if not complete:
        yield _GAPS


def _signatures(bundle: Bundle) -> tuple[str, ...]:
    document = json_text.members(json_text.parse(bundle.files.get(SIGNATURES, b"{}")))
    found = document.get("signatures")
    return tuple(map(str, found)) if isinstance(found, list) else ()
