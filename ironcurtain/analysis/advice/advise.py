"""What audit logs say about a policy: its use, and sentences that would fit it better.

    advice = advise(bundle, world, opa, guarantees, Logs(names, read, replayers_of, home), Thresholds())

The logs are read twice: once for use and candidates, and once for classes that no candidate divides, on which
each is proved. The same logs and policy give the same advice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from ironcurtain.analysis.advice.candidates import Candidate
from ironcurtain.analysis.advice.narrower import MIN_CALLS, MIN_DAYS, Narrower, UsedPlaces, implied
from ironcurtain.analysis.advice.permitted import UsedClasses
from ironcurtain.analysis.advice.proofs import Prover, ReplayersOf, Screened
from ironcurtain.analysis.advice.questions import ApprovedCalls
from ironcurtain.analysis.advice.report import Advice, Proof, Proposal, Support
from ironcurtain.analysis.advice.usage import CallClass, LoggedCalls, classes_of
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis, analyse_policy
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.bundle.archive import Bundle
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import AuditError
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import counted, visible

_MAX_TRIED = 24
"""Candidates that are held against the logs; those behind them rest on fewer answers."""
_SHARE = 0.02
"""The part of all recorded questions that a sentence has to save to be worth its place."""


class Logs(Struct):
    """Audit logs.

    Attributes:
        names: Their names.
        read: Yields their calls; each time anew.
        replayers_of: What decides their calls under a bundle, where they were recorded.
        home: The home directory of their sessions.
        notes: What is known less well of them than it could be.
    """

    names: tuple[str, ...]
    read: Callable[[], LoggedCalls]
    replayers_of: ReplayersOf
    home: str
    notes: tuple[str, ...] = ()


def advise(
    bundle: Bundle, world: DescribedWorld, opa: OpaCommand, guarantees: Guarantees | None, logs: Logs
) -> Advice:
    """Return what logs say about the policy that decided their calls.

    Raises:
        AuditError: If another policy decided a call.
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    source = PolicySource.of(bundle)
    approved, places = ApprovedCalls(source, logs.home), UsedPlaces(source, logs.home)
    classes = classes_of(_watched(logs, bundle.revision, approved, places), logs.replayers_of(bundle))
    used = UsedClasses(analyse_policy(bundle, world, opa), classes)
    sparing = [*itertools.islice(approved.candidates(), _MAX_TRIED)]
    narrower = Narrower(source, classes, places)
    tighter = [*narrower.candidates()][:_MAX_TRIED]
    all_made = [*sparing, *(each for _, made in tighter for each in made)]
    refined = classes_of(logs.read(), logs.replayers_of(with_all(source, all_made))) if all_made else []
    prover = Prover(source, world, opa, guarantees, refined, logs.replayers_of)
    proposals, saved = _fewer_questions(prover, sparing)
    proposals += _tighter(prover, tighter)
    return counts(bundle.revision, logs, classes).model_copy(
        update={
            "saved": saved,
            "unplaced": used.unplaced,
            "use": used.use(),
            "proposals": tuple(proposals),
            "notes": (*logs.notes, *_notes(prover, approved, narrower)),
        }
    )


def counts(revision: str, logs: Logs, classes: Sequence[CallClass]) -> Advice:
    """Return how many calls logs hold, and which logs; nothing is proposed yet."""
    return Advice(
        revision=revision,
        logs=logs.names,
        calls=sum(each.calls for each in classes),
        days=len({day for each in classes for day in each.days}),
        questions=sum(each.asked for each in classes),
        notes=logs.notes,
    )


def use_of(bundle: Bundle, analysis: PolicyAnalysis, logs: Logs) -> Advice:
    """Return what logs used of what an analysed policy permits; calls that another one decided only count.

    Raises:
        AuditError: If a line of a log holds no record that we know.
    """
    foreign = 0

    def own() -> LoggedCalls:
        nonlocal foreign
        for log, record in logs.read():
            if record.revision == bundle.revision:
                yield log, record
            else:
                foreign += 1

    classes = classes_of(own(), logs.replayers_of(bundle))
    used = UsedClasses(analysis, classes)
    others = f"left out: {counted(foreign, 'call')} that another policy decided"
    found = counts(bundle.revision, logs, classes)
    notes = (*found.notes, *([others] if foreign else []))
    return found.model_copy(update={"unplaced": used.unplaced, "use": used.use(), "notes": notes})


def _watched(
    logs: Logs, revision: str, approved: ApprovedCalls, places: UsedPlaces
) -> Iterator[tuple[str, DecisionRecord]]:
    """Yield the calls of the logs, while what was approved and used is counted.

    Raises:
        AuditError: If another policy decided a call.
    """
    for log, record in logs.read():
        if record.revision != revision:
            raise AuditError(
                f"another policy decided the call {visible(record.id)}: revision {visible(record.revision)}",
                where=log,
                hint="Name the bundle that decided them; `ironcurtain replay` takes another one.",
            )
        approved.add(log, record)
        places.add(record)
        yield log, record


def with_all(source: PolicySource, candidates: Sequence[Candidate]) -> Bundle:
    """Return a policy that names and tests all that any candidate does, to tell calls apart by."""
    rules = {rule.name: rule for rule in source.policy.rules}
    added = [
        rule.model_copy(update={"name": f"{rule.name}-{number}"}) if rule.name in rules else rule
        for number, candidate in enumerate(candidates)
        for rule in candidate.rules
    ]
    return source.bundle_of([*rules.values(), *added], {})


def _notes(prover: Prover, approved: ApprovedCalls, narrower: Narrower) -> Iterator[str]:
    for reason, count in sorted(approved.left_out.items()):
        yield f"left out: {counted(count, 'approved call')}: {reason}"
    yield from unspared(prover)
    if narrower.too_little:
        clauses = ", ".join(map(visible, narrower.too_little))
        yield (
            f"too little is known to narrow {clauses}: fewer than {MIN_CALLS} calls or {MIN_DAYS} days, "
            "or new kinds of calls until the end"
        )


# -- fewer questions -------------------------------------------------------------------------------


def unspared(prover: Prover) -> Iterator[str]:
    """Yield why no question may be spared at all: the guarantees that are not proved as it is."""
    for each in prover.demanded:
        if each.status != "proved":
            yield f"no question is spared: the guarantee {visible(each.id)} is {each.status}"


def _fewer_questions(prover: Prover, candidates: Sequence[Candidate]) -> tuple[list[Proposal], int]:
    """Return the sentences that save most questions, none that saves few beside the others; and how many."""
    if [*unspared(prover)]:
        return [], 0
    tried = [(each, prover.screened([each])) for each in candidates]
    possible = [(each, screened) for each, screened in tried if isinstance(screened, Screened)]
    asked = sum(each.asked for each in prover.classes)
    least = max(1.0, asked * _SHARE)
    # What names more than was asked about comes last: it is taken only for what it saves beside the others.
    possible.sort(
        key=lambda pair: (
            pair[0].is_wide,
            -_asked(prover.classes, pair[1].saved),
            pair[0].breadth,
            pair[0].rules[0].name,
        )
    )
    taken: list[Candidate] = []
    together = frozenset[int]()
    found: list[Proposal] = []
    for candidate, screened in possible:
        if _asked(prover.classes, screened.saved - together) < least:
            continue
        proof = prover.proof(screened, candidate)
        if not isinstance(proof, Proof):
            continue
        union = prover.screened([*taken, candidate])
        # Each by itself turns questions about resources into decisions, so all together do nothing else; what
        # they do to whole calls and sessions is for guarantees and logs to show.
        if not isinstance(union, Screened) or (taken and prover.lost(prover.decided(union.bundle))):
            continue
        taken.append(candidate)
        together = union.saved
        found.append(spared(prover, candidate, screened, proof))
    return found, _asked(prover.classes, together)


def spared(prover: Prover, candidate: Candidate, screened: Screened, proof: Proof) -> Proposal:
    """Return the proposal of a sentence that spares questions, with what it opens and rests on."""
    analysis = analyse_policy(screened.bundle, prover.world, prover.opa)
    _, opens = UsedClasses(analysis, prover.classes).unused(candidate.rules[0].name)
    own = [prover.classes[number] for number in screened.saved]
    return Proposal(
        kind=candidate.kind,
        sentence=candidate.sentence(prover.source),
        rules=candidate.rules,
        before=candidate.before,
        saves=_asked(prover.classes, screened.saved),
        opens=opens,
        support=Support(
            calls=sum(each.calls for each in own),
            days=len({day for each in own for day in each.days}),
            callers=len({caller for each in own for caller in each.callers}),
            answers=candidate.answers,
        ),
        proof=proof,
    )


def _asked(classes: Sequence[CallClass], numbers: frozenset[int]) -> int:
    return sum(classes[number].asked for number in numbers)


# -- tighter sentences -----------------------------------------------------------------------------


def _tighter(prover: Prover, clauses: Sequence[tuple[Support, Sequence[Candidate]]]) -> list[Proposal]:
    """Return, for each clause, the tightest sentence that is proved, if it holds together with the others."""
    proved: list[tuple[Candidate, Proposal]] = []
    for support, candidates in clauses:
        for candidate in candidates:
            if (proposal := _narrowed(prover, candidate, support)) is not None:
                proved.append((candidate, proposal))
                break
    if not proved[1:] or prover.holds([candidate for candidate, _ in proved]):
        return [proposal for _, proposal in proved]
    taken = proved[:1]
    for pair in proved[1:]:
        if prover.holds([*(candidate for candidate, _ in taken), pair[0]]):
            taken.append(pair)
    return [proposal for _, proposal in taken]


def _narrowed(prover: Prover, candidate: Candidate, support: Support) -> Proposal | None:
    screened = prover.screened([candidate])
    proof = prover.proof(screened, candidate) if isinstance(screened, Screened) else screened
    if not isinstance(screened, Screened) or not isinstance(proof, Proof) or candidate.replaces is None:
        return None
    promised = implied(prover.source, candidate)
    now = prover.decided(prover.source.bundle, promised) if promised.entries else ()
    before = {each.id: each.status for each in (*prover.demanded, *now)}
    after = (*proof.guarantees, *(prover.decided(screened.bundle, promised) if promised.entries else ()))
    return Proposal(
        kind=candidate.kind,
        sentence=candidate.sentence(prover.source),
        replaces=candidate.replaces,
        replaced=prover.source.content.clauses.get(candidate.replaces, ""),
        rules=candidate.rules,
        guarantees=tuple(
            each for each in after if each.status == "proved" and before.get(each.id) != "proved"
        ),
        support=support,
        proof=proof,
    )
