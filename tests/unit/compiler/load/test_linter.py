"""The constitution linter: what it finds, what it leaves alone, and that its ids stay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.compiler.load.clauses import PlacedClause, read_clauses, read_user_clauses
from ironcurtain.compiler.load.linter import Finding, contradictions, lint, remaining
from ironcurtain.errors import ConstitutionError
from ironcurtain.model.policy import CompiledPolicy

ROOT = Path(__file__).parents[4]
LONG = (
    "The agent may read the letters and invoices that lie in the Documents folder or in one of the folders "
    "below it, and must not delete or change any of them, and needs approval to move or rename one."
)


def found(*items: str) -> list[Finding]:
    return list(lint(read_clauses("".join(f"- {item}\n" for item in items), "c.md")))


def checks(*items: str) -> list[str]:
    return [finding.check for finding in found(*items)]


@pytest.mark.parametrize("name", ["constitution.md", "examples/office/constitution.md"])
def test_shipped_constitutions_are_without_findings(name: str) -> None:
    assert lint(read_clauses((ROOT / name).read_text(), name)) == ()


@pytest.mark.parametrize(
    ("sentence", "check"),
    [
        ("Mail may be sent within 24 hours of the booking.", "needs-clock"),
        ("Recent files may be read.", "needs-clock"),
        ("Files older than 30 days may be deleted.", "needs-clock"),
        ("The agent may send mail during business hours.", "needs-clock"),
        ("Orders can be cancelled within 24 hrs of purchase.", "needs-clock"),
        ("A ticket can be reopened within 7 business days.", "needs-clock"),
        ("The agent may cancel a flight up to 2 hours before departure.", "needs-clock"),
        ("Accounts unused for more than six months may be closed.", "needs-clock"),
        ("The agent must not change anything on weekends.", "needs-clock"),
        ("Loans must not be extended outside of Monday to Friday between 8 and 20 o'clock.", "needs-clock"),
        ("Items may be exchanged on Tuesdays.", "needs-clock"),
        ("The agent may call outside of opening hours.", "needs-clock"),
        ("The agent must ask before it sends mail after it has read private notes.", "needs-state"),
        ("After reading the notes, the agent must not send mail.", "needs-state"),
        ("The agent may not send more than 5 messages per day.", "needs-state"),
        ("The agent may pay at most 3 times.", "needs-state"),
        ("The agent may delete files that it has created before.", "needs-state"),
        ("The agent may modify the items of an order only once.", "needs-state"),
        ("An item can be exchanged once.", "needs-state"),
        ("You should at most make one tool call at a time.", "needs-state"),
        ("The agent may help only one user per conversation.", "needs-state"),
        ("No transfer may exceed the account's daily limit.", "needs-state"),
        ("At the beginning of each session, the agent must authenticate the user.", "needs-state"),
        ("The agent must not modify an order unless its status is pending.", "needs-record"),
        ("An order whose status is 'delivered' may be returned.", "needs-record"),
        ("Accounts that are locked must not be unlocked.", "needs-record"),
        ("If the item is out of stock, the agent must not order it.", "needs-record"),
        ("The agent may mail people that the user named.", "needs-words"),
        ("Mail may be sent to addresses I have typed.", "needs-words"),
        ("Payments go only to accounts mentioned by the user, nothing else may be paid.", "needs-words"),
        ("Suspicious files must not be opened.", "needs-judgement"),
        ("The agent may make reasonable changes to the calendar.", "needs-judgement"),
        ("The agent must be careful with mail.", "needs-judgement"),
        ("When in doubt, the agent must ask.", "needs-judgement"),
        ("The agent may read files in `src/`.", "relative-directory"),
        ("The agent may write to ./build and below.", "relative-directory"),
        ("The agent may write to `../other`.", "relative-directory"),
        ("The agent may read ~/Documents/\u202ecod.terces.", "misleading-characters"),
        ("The agent may read ~/Doc\u200buments.", "misleading-characters"),
        ("The agent may fetch p\u0430ypal.com pages.", "misleading-characters"),
        ("The agent may do anything.", "no-resource"),
        ("Everything is allowed.", "no-resource"),
        ("Friends are Alice and Bob.", "no-verdict"),
        (LONG, "several-verdicts"),
    ],
)
def test_a_sentence_that_no_rule_can_keep(sentence: str, check: str) -> None:
    assert checks(sentence) == [check]


@pytest.mark.parametrize(
    "sentence",
    [
        "The agent may read `acme/website` and github.com/acme.",
        "The agent may read and/or list files in `~/notes/`.",
        "Sending mail needs approval each time.",
        "A mail may have at most 5 recipients.",
        "The agent may look at the calendar.",
        "What cannot be undone needs approval.",
        "The agent must not push without approval.",
        "The agent may read the reflog and the log.",
        "Files of type `text/plain` may be read.",
        "The agent may create calendar events but must not invite anyone outside the company.",
        "The agent may send mail to people on the team list.",
        "The agent may read /etc/hosts.",
        "Shipping is free for orders over 50 dollars.",
        "A reservation may have at most three passengers.",
        "The agent may book meetings between 07:00 and 22:00.",
        "The agent must not book anything after 22:00.",
        "Meetings longer than two hours need approval.",
        "Subscriptions may be created for 12 months.",
        "A loan of more than 5 years needs approval.",
        "The agent may set the status of an issue to closed.",
        "Once the customer agrees, the agent may book a room.",
        "The agent must ask the person responsible for the account.",
        "The agent must not read the Confidential folder, or anything in `~/sensitive`.",
        'Mail labelled "suspicious" may be archived.',
        "No refunds on clearance items.",
        "Clearance items are non-refundable.",
    ],
)
def test_an_ordinary_sentence_is_left_alone(sentence: str) -> None:
    assert checks(sentence) == []


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Allowed without asking", []),
        ("Never", []),
        ("Ask first", []),
        ("Must not", []),
        ("What it may do", ["no-verdict"]),
    ],
)
def test_a_heading_that_gives_the_verdict_counts_for_its_items(heading: str, expected: list[str]) -> None:
    clauses = read_clauses(f"# Rules\n\n## {heading}\n\n- Reading files in `~/notes`\n", "c.md")
    assert [finding.check for finding in lint(clauses)] == expected


def test_how_often_is_quoted_with_the_words_that_bound_it() -> None:
    (finding,) = found("The agent may retry at most twice.")
    assert '"at most twice"' in finding.what


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The agent may read files in the Documents folder.",
            "The agent must not read files in the Documents folder.",
        ),
        (
            "The agent may always read files in the Documents folder.",
            "The agent must never read files in the Documents folder.",
        ),
        ("The agent may push changes.", "Pushing changes needs approval."),
        ("The agent must ask before it deletes a file.", "The agent may delete a file."),
        ("Tags may be deleted.", "Tags must not be deleted."),
        ("Sending mail is allowed.", "Sending mail is forbidden."),
        ("The agent must not push changes without approval.", "The agent may push changes."),
    ],
)
def test_opposites_in_the_same_words_are_errors(one: str, other: str) -> None:
    (finding,) = found(one, other)
    assert (finding.check, finding.severity, finding.clause) == ("contradiction", "error", "C2")
    (error,) = contradictions([finding])
    assert isinstance(error, ConstitutionError)
    assert str(error.where) == "c.md:2"
    assert "C1" in error.what


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The agent may copy files to Documents.", "The agent must not copy files from Documents."),
        ("Tags may be listed.", "Tags must not be deleted."),
        ("The agent may read files.", "The agent must not read files outside the sandbox."),
        ("The agent must not push without approval.", "Pushing to main is forbidden."),
        ("The agent may read Documents.", "The agent may only read Documents."),
    ],
)
def test_sentences_that_differ_are_no_contradiction(one: str, other: str) -> None:
    assert checks(one, other) == []


def test_under_another_heading_the_same_words_mean_something_else() -> None:
    text = "## Downloads\n\n- Files may be deleted.\n\n## Documents\n\n- Files must not be deleted.\n"
    assert lint(read_clauses(text, "c.md")) == ()


def test_the_users_own_guidance_may_contradict_the_constitution() -> None:
    own = read_user_clauses("- The agent must not read mail.\n", "constitution-user.md")
    base = read_clauses("- The agent may read mail.\n", "constitution.md")
    assert lint((*own, *base)) == ()


def test_a_repeated_sentence_is_a_warning() -> None:
    (finding,) = found("The agent may push changes.", "Files may be read.", "Pushing changes is allowed.")
    assert (finding.check, finding.severity, finding.clause) == ("duplicate", "warning", "C3")


def test_principles_may_be_as_vague_as_they_like() -> None:
    assert lint(read_clauses("# Principles\n\n- Be careful.\n- Be careful.\n", "c.md")) == ()


def test_items_speak_with_the_line_that_introduces_them() -> None:
    text = "The agent may:\n\n- list folders\n- read files\n\nThe agent must not:\n\n- read files\n"
    assert lint(read_clauses(text, "c.md")) == ()


def test_an_exception_in_a_nested_item_is_not_what_it_stands_below() -> None:
    text = "- Documents may be read.\n  - The secret ones must not be read.\n"
    assert lint(read_clauses(text, "c.md")) == ()


def policy(clauses: Sequence[PlacedClause], condition: dict[str, Any]) -> CompiledPolicy:
    """Return a policy with one rule of each clause."""
    made = [
        {
            "name": f"r{number}",
            "clause": each.clause.id,
            "reason": "r",
            "then": "allow",
            "if": {"server": ["s"], **condition},
        }
        for number, each in enumerate(clauses)
    ]
    document = {
        "format": "ironcurtain/policy/v1",
        "clauses": [each.clause.model_dump(mode="json") for each in clauses],
        "facts": {"now": {"source": "clock", "zone": "UTC"}} if condition else {},
        "rules": made,
    }
    return CompiledPolicy.model_validate_json(json.dumps(document))


def test_of_a_clause_that_has_a_rule_nobody_says_that_it_is_no_rule() -> None:
    clauses = read_clauses(
        "- Refunds go to the card that was charged.\n- Recent files may be read.\n", "c.md"
    )
    found = lint(clauses)
    assert [finding.check for finding in found] == ["no-verdict", "needs-clock"]
    assert remaining(clauses, policy(clauses, {})) == found[1:]
    assert remaining(clauses, None) == found


def test_of_a_clause_whose_rules_test_facts_nobody_says_that_it_needs_one() -> None:
    clauses = read_clauses("- Recent files may be read.\n- Suspicious files may be read.\n", "c.md")
    found = lint(clauses)
    assert [finding.check for finding in found] == ["needs-clock", "needs-judgement"]
    compiled = policy(clauses, {"facts": [{"fact": "now", "op": "within", "value": ["mon-fri 09:00-17:00"]}]})
    assert remaining(clauses, compiled) == found[1:]
    edited = read_clauses("- Recent mails may be read.\n", "c.md")
    assert remaining(edited, compiled) == lint(edited), "its rules came of other words"


def test_an_id_stays_when_the_clause_moves() -> None:
    (before,) = found("Recent files may be read.")
    (after,) = found("Files may be written.", "Recent files may be read.")
    assert (before.id, before.clause, after.clause) == (after.id, "C1", "C2")
    assert before.line.startswith("c.md:1: warning: C1 says")


def test_hostile_text_is_shown_escaped_and_read_in_time() -> None:
    findings = found("Files in `./\u202egpj.exe` may be read.")
    assert {finding.check for finding in findings} == {"misleading-characters", "relative-directory"}
    assert all("\\u202e" in finding.what for finding in findings)
    assert not any("\u202e" in finding.what for finding in findings)
    assert isinstance(found("The agent may " + "needs a b " * 20_000), list)
