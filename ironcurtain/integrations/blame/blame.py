"""Walking the history of a bundle back, from now to where the call was not permitted.

A binary search would be wrong: permission can come and go. Each distinct bundle is decided with once. At a
merge the walk goes on at the first side that permits the call, so the commit is the one that brought it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.errors import IronCurtainError, UsageError
from ironcurtain.integrations.blame.report import Blame, Outcome
from ironcurtain.integrations.gate.git import Change, Commit
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import visible


class _UnusableError(Exception):
    """A bundle of the history cannot be decided with; the message says which and why."""


def blame(place: Path, root: Path, present: Bundle, decide: Callable[[Bundle], Decision]) -> Blame:
    """Return since when a call has been permitted without a break, and by which sentence.

    Args:
        place: The bundle's place in the working tree.
        root: The directory that the places of clauses are relative to.
        present: The bundle that lies there.
        decide: Decides the call with a bundle.

    Raises:
        UsageError: If the bundle is not that of the newest commit.
        SystemFailedError: If git does not run; others as `decide` with the present bundle.
    """
    head = Commit.of("HEAD", place.absolute().parent)
    if head.bundle(place).revision != present.revision:
        raise UsageError(
            "the bundle is not the committed one, so no commit can be named for what it permits",
            where=str(place),
            hint="Commit it, or check out generated/ as it was committed.",
        )
    decision = decide(present)
    now = _outcome(decision, present)
    found = Blame(server=decision.server, tool=decision.tool, now=now)
    if now.verdict is not Verdict.ALLOW:
        return found
    decided = _Decided(head, place, decide, {present.revision: now})
    history = head.history(place)
    since, unknown = history[0], ""
    try:
        for since in _back(history, decided.permits):  # noqa: B007 - the last one is wanted
            pass
    except _UnusableError as error:
        unknown = str(error)
    if not since.parents and head.is_shallow:
        unknown = "what was before: the clone is shallow (`git fetch --unshallow` fetches the rest)"
    after = decided.of(since.commit) or now
    is_known = since.parents and not unknown
    return found.model_copy(
        update={
            "since": since,
            "after": after,
            "before": decided.of(since.parents[0]) if is_known else None,
            "sentence_before": decided.words(since.parents[0], after.clause) if is_known else None,
            "written": _written(head.at(since.commit), root, after),
            "unknown": unknown,
        }
    )


def _back(history: Sequence[Change], holds: Callable[[Change], bool]) -> Iterator[Change]:
    """Yield the changes at which something has held without a break, from the newest on; it holds there."""
    by_name = {each.commit: each for each in history}
    at: Change | None = history[0]
    while at is not None:
        yield at
        at = next((by_name[each] for each in at.parents if holds(by_name[each])), None)


class _Decided:
    """How the bundles of a history decide the call; each distinct one is asked once."""

    def __init__(
        self, head: Commit, place: Path, decide: Callable[[Bundle], Decision], known: dict[str, Outcome]
    ) -> None:
        self._head, self._place, self._decide, self._by_revision = head, place, decide, known

    def permits(self, change: Change) -> bool:
        """Tell whether the bundle of a commit permits the call; a commit without one does not."""
        outcome = self.of(change.commit)
        return outcome is not None and outcome.verdict is Verdict.ALLOW

    def of(self, commit: str) -> Outcome | None:
        """Return how the bundle of a commit decides the call; None where it has none."""
        try:
            bundle = self._head.at(commit).find_bundle(self._place)
            if bundle is not None and bundle.revision not in self._by_revision:
                self._by_revision[bundle.revision] = _outcome(self._decide(bundle), bundle)
        except IronCurtainError as error:
            raise _UnusableError(
                f"what the bundle of {commit[:12]} decides: {visible(error.what)}"
            ) from error
        return None if bundle is None else self._by_revision[bundle.revision]

    def words(self, commit: str, clause: str | None) -> str | None:
        """Return the words of a sentence in the bundle of a commit, None if it has it not."""
        bundle = self._head.at(commit).find_bundle(self._place)
        return PolicyContent.of(bundle).clauses.get(clause or "") if bundle is not None else None


def _outcome(decision: Decision, bundle: Bundle) -> Outcome:
    return Outcome(
        verdict=decision.verdict,
        rule=decision.rule,
        clause=decision.clause,
        text=decision.clause_text or "",
        source=PolicyContent.of(bundle).sources.get(decision.clause or "", ""),
    )


def _written(at: Commit, root: Path, outcome: Outcome) -> Change | None:
    """Return from which commit on, up to one, the constitution has had a sentence."""
    file, sentence = root / outcome.source.rpartition(":")[0], " ".join(outcome.text.split())

    def has(commit: str) -> bool:
        text = at.at(commit).file(file) or b""
        return sentence in " ".join(text.decode("utf-8", "replace").split())

    if not sentence or not outcome.source or not has(at.digest):
        return None
    return list(_back(at.history(file), lambda change: has(change.commit)))[-1]
