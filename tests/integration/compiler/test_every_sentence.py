"""Every sentence of a constitution is told with its outcome, whatever form the text has."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any

import pytest
from fixtures.tiny_project import SCENARIOS
from support.documentation.transcript import Transcript
from support.projects.modelled import Place
from support.projects.notes_project import COMPILE, Notes

NOTES = {"tool": ["read_note"], "paths": [{"roles": ["read-path"], "within": ["~/notes"]}]}
DRAFTS = {"tool": ["read_note"], "paths": [{"roles": ["read-path"], "within": ["~/drafts"]}]}
TAGS = {"tool": ["list_tags"]}
KEY = "{server: notes, tool: read_note, arguments: {path: /home/user/.ironcurtain/key}}"
PARAGRAPHS = """\
Notes in `~/notes` may be read. Tags may be listed. A draft is read only if its author would agree, so a
person is asked about those in `~/drafts`.

Nobody reads the keys of this program. Notes are read within a day of being written. Whoever may read notes
may read those in `~/notes/old`.
"""
LISTS = """\
- Notes:
  - in `~/notes` they may be read,
  - in `~/drafts` a person is asked.
- Tags may be listed.
- Mail is none of our business.
"""
HEADINGS = """\
# Principles

Least privilege.

# Notes

## Reading

Notes in `~/notes` may be read.

## No note is ever changed

# Tags

Tags may be listed, if somebody asked for them today.

[guide]: https://example.com/guide
"""


def rule(name: str, clause: str, condition: Any, then: str = "allow") -> dict[str, Any]:
    return {
        "name": f"notes-{name}",
        "description": "",
        "clause": clause,
        "if": condition,
        "then": then,
        "reason": "So the constitution says.",
    }


def reason(clause: str, kind: str, said: str, **more: Any) -> dict[str, Any]:
    return {"clause": clause, "kind": kind, "reason": said, **more}


def answer(rules: Iterable[dict[str, Any]], *reasons: dict[str, Any]) -> dict[str, Any]:
    return {"rules": list(rules), "not_enforceable": list(reasons)}


FORMS = {
    "Paragraphs": (
        PARAGRAPHS,
        answer(
            [
                rule("allow-read", "C1", NOTES),
                rule("allow-tags", "C2", TAGS),
                rule("ask-drafts", "C3", DRAFTS, "escalate"),
            ],
            reason("C3", "judgement", "nobody but the author can tell", tools=["read_note"]),
            reason("C4", "structural", "the program's own files are protected"),
            reason("C5", "clock", "a rule reads no clock"),
            reason("C6", "merged", "it lies in the notes", into=["C1"]),
        ),
        [
            "C1 is enforced by notes-allow-read",
            "C2 is enforced by notes-allow-tags",
            (
                "C3 is not enforceable on arguments, and asked about in part; a person is asked about "
                "notes/read_note where read-path is in ~/drafts; reason given: nobody but the author can tell"
            ),
            (
                "C4 holds by structure in its scenarios (structural-protected-path); reason given: the "
                "program's own files are protected"
            ),
            (
                "C5 is not enforceable on arguments, and asked about in part; a person is asked about "
                "notes/read_note where read-path is in ~/drafts; reason given: a rule reads no clock"
            ),
            "C6 is said to be kept by the rules of C1; reason given: it lies in the notes",
        ],
    ),
    "Nested lists": (
        LISTS,
        answer(
            [
                rule("allow-read", "C2", NOTES),
                rule("ask-drafts", "C3", DRAFTS, "escalate"),
                rule("allow-tags", "C4", TAGS),
            ],
            reason("C1", "merged", "it introduces the two below it", into=["C2", "C3"]),
            reason("C5", "not-here", "no tool of this server sends mail"),
        ),
        [
            "C1 is said to be kept by the rules of C2, C3; reason given: it introduces the two below it",
            "C2 is enforced by notes-allow-read",
            "C3 is enforced by notes-ask-drafts",
            "C4 is enforced by notes-allow-tags",
            "C5 concerns no tool that is here; reason given: no tool of this server sends mail",
        ],
    ),
    "Headings": (
        HEADINGS,
        answer(
            [rule("allow-read", "C2", NOTES), rule("ask-tags", "C3", TAGS, "escalate")],
            reason("C3", "state", "nobody remembers who asked", tools=["list_tags"]),
        ),
        [
            "C1 is a principle, which no rule needs to implement",
            "C2 is enforced by notes-allow-read",
            (
                "C3 is not enforceable on arguments, and what it is claimed for is asked about or denied; "
                "every call of notes/list_tags is asked about; reason given: nobody remembers who asked"
            ),
        ],
    ),
}
UNREAD = (
    '"## No note is ever changed" is no clause: it is a heading, and no sentence stands below it',
    '"[guide]: https://example.com/guide" is no clause: it is not read as text',
)


def write(project: Notes, form: str) -> list[str]:
    """Write a constitution in one form and its answer; return what has to be told."""
    text, answered, told = FORMS[form]
    (project.directory / "constitution.md").write_text(text)
    scenarios = SCENARIOS
    if form == "Paragraphs":
        scenarios += f"  - {{id: key, call: {KEY}, expect: deny, clause: C4}}\n"
    elif form == "Headings":
        scenarios = scenarios.replace("{}}, expect: allow", "{}}, expect: escalate")
    (project.directory / "scenarios.yaml").write_text(scenarios)
    project.answers["rules"] = [answered]
    project.start_over("rules")
    return told


@pytest.mark.parametrize("form", FORMS)
def test_the_report_names_every_sentence_with_its_outcome(place: Place, form: str) -> None:
    project = Notes(place)
    told = write(project, form)
    result = project.compile()
    assert result.code == 0, result.err
    lines = [line for line in result.err.splitlines() if line.startswith("clause: ")]
    assert [line.split(": ", 2)[2] for line in lines] == told
    explained = project.run("explain", "--bundle", "generated/bundle", "--clause", "all").out
    for outcome in told:
        assert outcome in explained
    published = project.published("verification.json")["clauses"]
    words = " ".join(clause["clause"]["text"] for clause in published)
    sentences = " ".join(FORMS[form][0].replace("- ", " ").replace("\n", " ").split())
    for each in published:
        sentences = sentences.replace(each["clause"]["text"], "")
    assert words
    left = [word for word in sentences.split() if word not in ("#", "##")]
    assert left == (
        [
            "Principles",
            "Notes",
            "Reading",
            "No",
            "note",
            "is",
            "ever",
            "changed",
            "Tags",
            "[guide]:",
            "https://example.com/guide",
        ]
        if form == "Headings"
        else []
    )
    for said in UNREAD if form == "Headings" else ():
        assert said in result.err
        assert any(said in warning for warning in project.published("verification.json")["warnings"])
    assert project.run("verify", "generated/bundle").code == 0


def test_a_claim_that_does_not_hold_publishes_nothing(place: Place) -> None:
    project = Notes(place)
    write(project, "Headings")
    (project.directory / "scenarios.yaml").write_text(SCENARIOS)
    rules = [rule("allow-read", "C2", NOTES), rule("ask-tags", "C3", {"tool": ["list_tags"]}, "escalate")]
    # It asks about what another clause allows before it.
    project.answers["rules"] = [
        answer(
            [rule("allow-tags", "C2", TAGS), *rules],
            reason("C3", "state", "nobody remembers who asked", tools=["list_tags"]),
        )
    ]
    result = project.compile()
    assert result.code == 1
    assert "calls of notes/list_tags are said to be asked about because of the clause C3" in result.err
    assert not (project.directory / "generated").exists()


def test_the_transcript_of_three_forms(place: Place) -> None:
    project = Notes(place)
    transcript = Transcript(
        "every-sentence",
        "What becomes of every sentence",
        "A text of plain paragraphs, one of nested lists and one with headings, each compiled by a model that"
        " answers as it should. The report names every sentence with what was checked of it.",
    )
    for form, (text, _, _) in FORMS.items():
        shutil.rmtree(project.directory / "generated", ignore_errors=True)  # each is a first compile
        write(project, form)
        transcript.say(form)
        transcript.show(text, "markdown")
        transcript.ran(project, *COMPILE, ends=0)
        transcript.ran(project, "explain", "--bundle", "generated/bundle", "--clause", "all", ends=0)
    transcript.check()
