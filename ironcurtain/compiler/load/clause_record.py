"""The record of which clause has which id, from which the next compile continues.

The published rules hold the clauses that they were compiled from. A compile that publishes nothing, since
questions are open, notes the ids that it gave beside its questions: what people write about a new clause
meanwhile stays true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from ironcurtain.compiler.load.clause_ids import KnownClauses
from ironcurtain.compiler.rules.checks.policy import name_hint
from ironcurtain.model.policy import Clause, CompiledPolicy
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, load
from ironcurtain.system.frozen import Digest, Frozen
from ironcurtain.system.text import quoted

NOTED_FILE = "clause-ids.json"


class NotedClauses(Frozen):
    """The ids that a compile gave which published nothing.

    Attributes:
        published: Digest of what was known by the published result; a later one makes this void.
        clauses: The clauses in their order.
    """

    format: Literal["ironcurtain/clause-ids/v1"] = "ironcurtain/clause-ids/v1"
    published: Digest
    clauses: tuple[Clause, ...]


def published_policy(output: Path) -> CompiledPolicy | None:
    """Return the rules of a published directory, or None where nothing is published yet.

    Raises:
        FileError, FormatError, NewerFormatError: If the file is there and cannot be used.
    """
    path = output / "compiled-policy.json"
    return load(path, CompiledPolicy) if path.exists() else None


def known_clauses(output: Path, questions: Path | None = None) -> KnownClauses:
    """Return what ids stand for.

    Args:
        output: The published directory.
        questions: The directory of open questions; None to know what is published, and no more.

    Raises:
        FileError, FormatError, NewerFormatError: If a file is there and cannot be used.
    """
    policy = published_policy(output)
    published = KnownClauses(policy.clauses, policy.former) if policy is not None else KnownClauses()
    noted = questions / NOTED_FILE if questions is not None else None
    if noted is None or not noted.exists():
        return published
    found = load(noted, NotedClauses)
    if found.published != _digest(published):
        return published
    return KnownClauses(found.clauses, published.gone(found.clauses))


def note_clauses(output: Path, questions: Path, clauses: Sequence[Clause]) -> None:
    """Note the ids that clauses have now, where they are not those of the published result."""
    published = known_clauses(output)
    if [(clause.id, clause.text) for clause in published.clauses] == [
        (clause.id, clause.text) for clause in clauses
    ]:
        forget_noted(questions)
        return
    noted = NotedClauses(published=_digest(published), clauses=tuple(clauses))
    atomic_write(questions / NOTED_FILE, json_text.pretty(noted.model_dump(mode="json")).encode())


def forget_noted(questions: Path) -> None:
    """Drop what was noted: a published result holds it."""
    (questions / NOTED_FILE).unlink(missing_ok=True)


def with_former(policy: CompiledPolicy, published: KnownClauses) -> CompiledPolicy:
    """Return a policy with the clauses that are gone, so that no later one gets their ids."""
    gone = published.gone(policy.clauses)
    return policy.model_copy(update={"former": gone}) if gone else policy


def id_changes(before: KnownClauses, clauses: Sequence[Clause]) -> Iterator[str]:
    """Yield a line for each clause that is new, reads otherwise, or is gone; nothing on a first compile."""
    if not before.clauses:
        return
    known = {clause.id: clause.text for clause in before.clauses}
    for clause in clauses:
        if clause.id not in known:
            yield f"{clause.source}: clause {clause.id} is new: {quoted(clause.text)}"
        elif known[clause.id] != clause.text:
            yield f"{clause.source}: clause {clause.id} was edited; it said {quoted(known[clause.id])}"
    ids = {clause.id for clause in clauses}
    for clause in before.clauses:
        if clause.id not in ids:
            yield f"clause {clause.id} is gone, and no other one gets its id: {quoted(clause.text)}"


def missing_clause(id_: str, clauses: Sequence[Clause], before: KnownClauses) -> str:
    """Return what became of a clause that is cited and is not there, or the id that was meant."""
    was = next((clause.text for clause in (*before.clauses, *before.former) if clause.id == id_), None)
    if was is None:
        return name_hint(id_, [clause.id for clause in clauses]) or "`ironcurtain lint --clauses` lists them."
    now = next((clause.id for clause in clauses if clause.text == was), None)
    if now is not None:
        return f"That clause has the id {quoted(now)} now."
    return f"It was that of a clause that is gone: {quoted(was)}. `ironcurtain lint --clauses` lists all."


def _digest(known: KnownClauses) -> str:
    return json_text.digest([[clause.id, clause.text] for clause in (*known.clauses, *known.former)])
