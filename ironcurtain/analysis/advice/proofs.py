"""Proving a candidate: over all calls by difference and guarantees, over the logs by replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TypeAlias

from ironcurtain.analysis.advice.candidates import Candidate, changed
from ironcurtain.analysis.advice.report import Proof
from ironcurtain.analysis.advice.usage import DAY, CallClass, ReplayerOf
from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Change
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.bundle.archive import Bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.guarantees import GuaranteeResult, Guarantees
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

ReplayersOf: TypeAlias = Callable[[Bundle], ReplayerOf]
"""Returns, for a bundle, what decides a recorded call where it was recorded."""


class Unproved(Struct):
    """Why a candidate is not proposed, in words that are safe to show."""

    why: str


class Screened(Struct):
    """A policy with candidates that no recorded call speaks against.

    Attributes:
        saved: The recorded classes that are allowed with it, and were escalated.
        unknown: The recorded classes whose records do not hold enough to decide them again.
    """

    bundle: Bundle
    saved: frozenset[int]
    unknown: frozenset[int]


class Prover(Struct):
    """Proves candidates about one policy and its logs.

    Attributes:
        guarantees: What the project demands; None where it demands nothing.
        classes: The recorded calls, by classes that no candidate divides.
        replayers_of: What decides recorded calls under another bundle.
    """

    source: PolicySource
    world: DescribedWorld
    opa: OpaCommand
    guarantees: Guarantees | None
    classes: Sequence[CallClass]
    replayers_of: ReplayersOf

    @cached_property
    def demanded(self) -> tuple[GuaranteeResult, ...]:
        """The guarantees about the policy as it is."""
        return self.decided(self.source.bundle)

    def screened(self, candidates: Sequence[Candidate]) -> Screened | Unproved:
        """Build the policy with some candidates, and hold it against every recorded call.

        Unproved is what cannot be built, where a call is decided otherwise than it may be, or where nobody
        can tell how one that matters is decided.
        """
        bundle = changed(self.source, candidates)
        if bundle is None:
            return Unproved("No policy can be built with it.")
        loosens = all(candidate.kind == "fewer-questions" for candidate in candidates)
        concerned = {tool for candidate in candidates for tool in candidate.tools}
        saved = set()
        verdicts = self._replayed(bundle)
        for number, (each, verdict) in enumerate(zip(self.classes, verdicts, strict=True)):
            record = each.example
            if verdict is record.verdict or (record.server, record.tool) not in concerned:
                continue
            is_asked = record.verdict is Verdict.ESCALATE
            if verdict is None and (loosens or record.verdict is Verdict.DENY) and not each.denied:
                # What is proved over all calls holds of it, too, whatever it was.
                continue
            if loosens and each.denied and verdict is Verdict.DENY:
                # Another policy asked about it; this one denies it with the candidate or without.
                continue
            if not loosens or each.denied or not is_asked or verdict is not Verdict.ALLOW:
                return Unproved(_objection(each, verdict))
            saved.add(number)
        unknown = frozenset(number for number, verdict in enumerate(verdicts) if verdict is None)
        return Screened(bundle, frozenset(saved), unknown)

    def proof(self, screened: Screened, candidate: Candidate) -> Proof | Unproved:
        """Prove over all calls that a candidate does what it may, and nothing else."""
        found = difference(self.source.bundle, screened.bundle, self.world, self.opa, only=candidate.tools)
        if candidate.kind == "fewer-questions":
            is_right = all(map(_is_answered, found.changes))
        else:
            is_right = all(change.direction == "tightened" for change in found.changes)
        if found.exactness != "exact":
            return Unproved("Not every kind of call could be compared.")
        if not found.changes or not is_right:
            return Unproved("It changes other decisions than it may, or none.")
        guarantees = self.decided(screened.bundle)
        if lost := self.lost(guarantees):
            return Unproved(" ".join(f"The guarantee {visible(e.id)} is {e.status} with it." for e in lost))
        return Proof(
            difference=found,
            guarantees=guarantees,
            replayed=sum(each.calls for each in self.classes),
            unknown=self._calls(screened.unknown),
            changed=self._calls(screened.saved),
        )

    def holds(self, candidates: Sequence[Candidate]) -> bool:
        """Tell whether no recorded call and no guarantee speaks against several candidates together."""
        screened = self.screened(candidates)
        return isinstance(screened, Screened) and not self.lost(self.decided(screened.bundle))

    def lost(self, guarantees: Sequence[GuaranteeResult]) -> list[GuaranteeResult]:
        """Return the guarantees that are proved about the policy as it is, and not here."""
        proved = {each.id for each in self.demanded if each.status == "proved"}
        return [each for each in guarantees if each.id in proved and each.status != "proved"]

    def decided(self, bundle: Bundle, demanded: Guarantees | None = None) -> tuple[GuaranteeResult, ...]:
        """Return what is known of guarantees, or else of those of the project, about a bundle."""
        demanded = demanded or self.guarantees
        if demanded is None or not demanded.entries:
            return ()
        return check_guarantees(bundle, demanded, self.world, self.opa).results

    def _calls(self, classes: Iterable[int]) -> int:
        return sum(self.classes[number].calls for number in classes)

    def _replayed(self, bundle: Bundle) -> list[Verdict | None]:
        """Decide one call of each class under a bundle."""
        replayer_of = self.replayers_of(bundle)
        by_replayer: dict[int, tuple[Replayer, list[int]]] = {}
        for number, each in enumerate(self.classes):
            replayer = replayer_of(each.example)
            by_replayer.setdefault(id(replayer), (replayer, []))[1].append(number)
        verdicts: dict[int, Verdict | None] = {}
        for replayer, numbers in by_replayer.values():
            replayed = replayer.replay([self.classes[number].example for number in numbers])
            verdicts |= {n: each.verdict for n, each in zip(numbers, replayed, strict=True)}
        return [verdicts[number] for number in range(len(self.classes))]


def _objection(each: CallClass, verdict: Verdict | None) -> str:
    """Return what a recorded call says against a candidate that decides it so."""
    call = f"{visible(each.example.id)} of {each.last[:DAY]}"
    if verdict is None:
        return f"Nobody can tell what it does to the call {call}, whose record does not hold enough."
    if each.denied:
        return f"A person denied the call {call}, which it would allow."
    return f"The call {call} would be decided {verdict}."


def _is_answered(change: Change) -> bool:
    """Tell whether a change is that what was escalated is allowed, and nothing else."""
    return change.old is Verdict.ESCALATE and change.new is Verdict.ALLOW
