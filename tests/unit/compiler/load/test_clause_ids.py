"""Ids of clauses: what an author changes around a clause does not change its id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fixtures.tiny_project import write_project
from unit.compiler.load.test_load import sources

from ironcurtain.compiler.load.clause_ids import KnownClauses
from ironcurtain.compiler.load.clause_record import (
    NOTED_FILE,
    forget_noted,
    id_changes,
    known_clauses,
    note_clauses,
)
from ironcurtain.compiler.load.clauses import PlacedClause, read_clauses, read_user_clauses
from ironcurtain.compiler.load.load import load_inputs, read_constitution
from ironcurtain.errors import ClauseIdError, FormatError, SeveralErrors
from ironcurtain.model.policy import Clause, CompiledPolicy
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write

READ = "The agent may read files in the Documents folder."
WRITE = "The agent must ask before it writes anywhere else."
PUSH = "Push, pull and fetch need approval."
REST = "Everything else is denied."
PAY = "The agent may pay up to 50 euros."
FOUR = (READ, WRITE, PUSH, REST)


def document(*sentences: str) -> str:
    return "# Rules\n\n" + "".join(f"- {sentence}\n" for sentence in sentences)


def after(*sentences: str, known: KnownClauses | None = None) -> dict[str, str]:
    """Read sentences after a compile of the four; return their texts by id."""
    placed = read_clauses(document(*sentences), "c.md", known or compiled(*FOUR))
    return {one.clause.id: one.clause.text for one in placed}


def compiled(*sentences: str, known: KnownClauses | None = None) -> KnownClauses:
    """Return what is known after sentences were compiled."""
    before = known or KnownClauses()
    clauses = clauses_of(read_clauses(document(*sentences), "c.md", before))
    return KnownClauses(clauses, before.gone(clauses))


def clauses_of(placed: tuple[PlacedClause, ...]) -> tuple[Clause, ...]:
    return tuple(one.clause for one in placed)


def test_at_first_clauses_are_numbered_in_the_order_of_the_document() -> None:
    assert after(*FOUR, known=KnownClauses()) == {"C1": READ, "C2": WRITE, "C3": PUSH, "C4": REST}


@pytest.mark.parametrize("place", range(5))
def test_inserting_a_clause_moves_no_id(place: int) -> None:
    """Every scenario behind the place cited another clause, and nobody said so."""
    now = [*FOUR[:place], PAY, *FOUR[place:]]
    assert after(*now) == {"C1": READ, "C2": WRITE, "C3": PUSH, "C4": REST, "C5": PAY}


def test_deleting_and_reordering_move_no_id() -> None:
    assert after(REST, READ, PUSH) == {"C4": REST, "C1": READ, "C3": PUSH}


def test_two_clauses_that_say_the_same_keep_their_order() -> None:
    known = compiled(READ, "No.", WRITE, "No.")
    assert list(after("No.", READ, "No.", WRITE, "No.", known=known)) == ["C5", "C1", "C2", "C3", "C4"]


def test_an_edited_clause_keeps_its_id() -> None:
    edited = READ.replace("may read", "must never read")
    assert after(edited, WRITE, PUSH, REST) == {"C1": edited, "C2": WRITE, "C3": PUSH, "C4": REST}


def test_of_neighbours_that_were_edited_together_each_keeps_its_own_id() -> None:
    more, less = "The agent may read and write files in the Documents folder.", "Push and pull need approval."
    assert after(more, PAY, less, REST) == {"C1": more, "C5": PAY, "C3": less, "C4": REST}


def test_a_sentence_that_shares_few_words_with_the_one_it_replaces_is_another_clause() -> None:
    assert after(READ, WRITE, PAY, REST) == {"C1": READ, "C2": WRITE, "C5": PAY, "C4": REST}


def test_the_id_of_a_clause_that_is_gone_is_given_to_no_other_one() -> None:
    gone = compiled(READ, WRITE, PUSH, known=compiled(*FOUR))
    assert [clause.id for clause in gone.former] == ["C4"]
    assert after(READ, WRITE, PUSH, PAY, known=gone) == {"C1": READ, "C2": WRITE, "C3": PUSH, "C5": PAY}


def test_a_clause_that_comes_back_has_its_id_again() -> None:
    gone = compiled(READ, WRITE, PUSH, known=compiled(*FOUR))
    back = compiled(READ, REST, WRITE, PUSH, known=gone)
    assert ([clause.id for clause in back.clauses], back.former) == (["C1", "C4", "C2", "C3"], ())


def test_another_text_altogether_takes_over_no_id() -> None:
    others = [f"Word{n} other{n} different{n}." for n in range(3)]
    assert list(after(*others)) == ["C5", "C6", "C7"]


def test_a_large_text_that_was_replaced_is_not_compared_sentence_by_sentence() -> None:
    known = compiled(*(f"Rule {n} stands here." for n in range(600)))
    now = after(*(f"Rule {n} stands here now." for n in range(600)), known=known)
    assert next(iter(now)) == "C601"


# -- ids that an author writes ------------------------------------------------------------------------

WRITTEN = """\
# Payments

- The agent may pay up to 50 euros. {#small}
- Payments above that need
  approval. {#large} Refunds are made by people. Nothing else is paid.
  {#rest}
- Write `{#none}` behind a sentence.
"""


def test_an_author_may_write_the_id_behind_a_sentence() -> None:
    clauses = clauses_of(read_clauses(WRITTEN, "c.md"))
    assert [(clause.id, clause.text, clause.source) for clause in clauses] == [
        ("small", "The agent may pay up to 50 euros.", "c.md:3"),
        ("large", "Payments above that need approval.", "c.md:4"),
        ("C3", "Refunds are made by people.", "c.md:5"),
        ("rest", "Nothing else is paid.", "c.md:5"),
        ("C5", "Write `{#none}` behind a sentence.", "c.md:7"),
    ]


def test_a_written_id_stays_through_every_edit_and_when_it_is_no_longer_written() -> None:
    known = compiled(f"{PAY} {{#pay}}", *FOUR)
    assert after(*FOUR, "Nobody buys. {#pay}", known=known)["pay"] == "Nobody buys."
    assert after(*FOUR, PAY, known=known)["pay"] == PAY


def test_a_clause_that_gets_a_written_id_leaves_its_number_to_nobody() -> None:
    known = compiled(READ, WRITE, f"{PUSH} {{#push}}", REST, known=compiled(*FOUR))
    assert [clause.id for clause in known.clauses] == ["C1", "C2", "push", "C4"]
    assert [clause.id for clause in known.former] == ["C3"]


def test_a_written_number_is_no_other_clauses() -> None:
    text = document(READ, WRITE, f"{PUSH} {{#C1}}", REST)
    assert [clause.id for clause in clauses_of(read_clauses(text, "c.md"))] == ["C5", "C2", "C1", "C4"]


@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        (
            (f"{READ} {{#one}}", f"{WRITE} {{#one}}"),
            r"have the id \"one\"; the other one is at c.md:3",
        ),
        ((f"{READ} {{#1st}}",), r"\"1st\" cannot be the id of a clause"),
        ((f"{READ} {{#a}} {{#b}}",), r"\"\{#b\}\" stands behind no sentence"),
        (("{#a}",), r"\"\{#a\}\" stands behind no sentence"),
        ((READ, WRITE, f"{PAY} {{#C1}}"), r"\"C1\" is the id of the clause at c.md:3"),
    ],
)
def test_what_is_written_and_cannot_be_an_id_is_refused_at_its_line(
    sentences: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ClauseIdError, match=said) as raised:
        after(*sentences)
    assert str(raised.value.where).startswith("c.md:")


def test_two_clauses_that_are_edited_a_little_do_not_exchange_their_ids() -> None:
    with pytest.raises(SeveralErrors) as raised:
        after(f"{READ[:-1]} now. {{#C2}}", f"{WRITE[:-1]} now. {{#C1}}", PUSH, REST)
    assert [str(each.where) for each in raised.value.errors] == ["c.md:3", "c.md:4"]
    assert all(
        re.search(r"is the id of the clause at .*, which was edited", str(e)) for e in raised.value.errors
    )
    kept = after(f"{READ[:-1]} now. {{#C1}}", f"{WRITE[:-1]} now.", PUSH, REST)
    assert (kept["C1"], kept["C2"]) == (f"{READ[:-1]} now.", f"{WRITE[:-1]} now.")


def test_a_written_id_is_not_that_of_a_clause_that_is_gone() -> None:
    gone = compiled(*FOUR, known=compiled(f"{PAY} {{#pay}}", *FOUR))
    with pytest.raises(ClauseIdError, match='"pay" is the id of a clause that is gone'):
        after(*FOUR, "Nobody reads mail. {#pay}", known=gone)
    assert after(*FOUR, f"{PAY} {{#pay}}", known=gone)["pay"] == PAY


# -- the user's own guidance --------------------------------------------------------------------------


def test_the_users_own_clauses_keep_ids_of_their_own(tmp_path: Path) -> None:
    base, user = tmp_path / "c.md", tmp_path / "own.md"
    base.write_text(document(*FOUR))
    user.write_text(document(PAY))
    known = KnownClauses(clauses_of(read_constitution(base, user, tmp_path)[1]))
    base.write_text(document(PAY, *FOUR))
    user.write_text(document("Nobody reads mail.", PAY))
    now = clauses_of(read_constitution(base, user, tmp_path, known)[1])
    assert [clause.id for clause in now] == ["U2", "U1", "C5", "C1", "C2", "C3", "C4"]


def test_one_id_is_not_written_in_both_files(tmp_path: Path) -> None:
    base, user = tmp_path / "c.md", tmp_path / "own.md"
    base.write_text(document(f"{READ} {{#read}}"))
    user.write_text(document(f"{PAY} {{#read}}"))
    with pytest.raises(ClauseIdError, match="the other one is in the user's own guidance"):
        read_constitution(base, user, tmp_path)
    assert [clause.id for clause in clauses_of(read_user_clauses(user.read_text(), "own.md"))] == ["read"]


# -- where it is recorded -----------------------------------------------------------------------------


def publish(root: Path, known: KnownClauses) -> None:
    policy = CompiledPolicy(
        format="ironcurtain/policy/v1", clauses=known.clauses, rules=(), former=known.former
    )
    document_ = policy.model_dump(mode="json", by_alias=True, exclude_unset=True)
    atomic_write(root / "generated" / "compiled-policy.json", json_text.pretty(document_).encode())


def ids(root: Path) -> list[str]:
    return [placed.clause.id for placed in load_inputs(sources(root)).clauses]


def test_a_compile_goes_on_from_the_published_ids(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    publish(root, KnownClauses(clauses_of(load_inputs(sources(root)).clauses)))
    constitution = root / "constitution.md"
    constitution.write_text(constitution.read_text().replace("- Tags", f"- {PAY}\n- Tags"))
    assert ids(root) == ["C1", "C2", "C5", "C3", "C4"]


def test_ids_stay_before_anything_is_published(tmp_path: Path) -> None:
    """Who waits for answers writes scenarios meanwhile, and goes on writing the constitution."""
    root = write_project(tmp_path)
    output, questions, constitution = root / "generated", root / "questions", root / "constitution.md"
    note_clauses(output, questions, clauses_of(load_inputs(sources(root)).clauses))
    constitution.write_text(constitution.read_text().replace("- Notes in", f"- {PAY}\n- Notes in"))
    assert ids(root) == ["C1", "C5", "C2", "C3", "C4"]
    forget_noted(questions)
    assert ids(root) == ["C1", "C2", "C3", "C4", "C5"]


def test_what_was_noted_before_another_result_was_published_counts_for_nothing(tmp_path: Path) -> None:
    """Somebody else's result, taken over, gives the number that was noted here to a clause of theirs."""
    root, first = write_project(tmp_path), compiled(*FOUR)
    publish(root, first)
    mine = clauses_of(read_clauses(document(*FOUR, PAY), "c.md", first))
    note_clauses(root / "generated", root / "questions", mine)
    assert known_clauses(root / "generated", root / "questions").clauses == mine
    theirs = compiled(*FOUR, "Nobody reads mail.", known=first)
    publish(root, theirs)
    assert known_clauses(root / "generated", root / "questions").clauses == theirs.clauses


def test_nothing_is_noted_where_the_published_ids_hold(tmp_path: Path) -> None:
    root, known = write_project(tmp_path), compiled(*FOUR)
    publish(root, known)
    moved = clauses_of(read_clauses("\n\n" + document(*FOUR), "c.md", known))
    note_clauses(root / "generated", root / "questions", moved)
    assert not (root / "questions").exists()


def test_a_note_that_is_damaged_is_refused(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    atomic_write(root / "questions" / NOTED_FILE, b'{"clauses": []}')
    with pytest.raises(FormatError):
        load_inputs(sources(root))


def test_one_id_for_two_clauses_is_no_valid_record() -> None:
    twice = Clause(id="C1", text=READ)
    with pytest.raises(ValueError, match="same id"):
        CompiledPolicy(format="ironcurtain/policy/v1", clauses=(twice,), rules=(), former=(twice,))


def test_a_person_is_told_what_became_of_the_ids() -> None:
    before = compiled(*FOUR)
    edited = READ.replace("may read", "must never read")
    now = clauses_of(read_clauses(document(edited, PAY, PUSH, REST), "c.md", before))
    assert [*id_changes(before, now)] == [
        f'c.md:3: clause C1 was edited; it said "{READ}"',
        f'c.md:4: clause C5 is new: "{PAY}"',
        f'clause C2 is gone, and no other one gets its id: "{WRITE}"',
    ]
    assert [*id_changes(KnownClauses(), now)] == []
