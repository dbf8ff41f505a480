"""A reviewer's hour: docs/transcripts/reviewers-hour.md."""

from __future__ import annotations

import re
from collections.abc import Callable

from support.machines.journey import Journey

SAID = """\
Somebody gets the project of [the first journey](first-policy.md) to review, and has not written it."""
GUARANTEES = """\
format: ironcurtain/guarantees/v1
guarantees:
  - id: documents-are-never-changed
    never: allow
    when: {roles: [write-path, delete-path], within: [~/Documents]}
  - id: no-read-unasked
    never: allow
    when: {roles: [read-path], within: [/etc]}
"""


def test_a_reviewers_hour(agent: Callable[..., Journey]) -> None:
    you = agent("reviewers-hour", "A reviewer's hour", SAID)
    you.say("What does it decide?")
    you.type("ironcurtain matrix | head -n 8")
    you.say("What can it never do?")
    you.run("ironcurtain guarantees", 2)
    you.write("guarantees.yaml", GUARANTEES)
    you.type("cat guarantees.yaml")
    printed = you.type("ironcurtain guarantees")
    assert printed.count("never allow, proved") == 2
    you.say("What stands out?")
    you.type("ironcurtain findings --fail-on note")
    you.say("Why?")
    call = """filesystem move_file '{"source": "~/Documents/a.txt", "destination": "~/work/a.txt"}'"""
    assert "DENY  filesystem/move_file" in you.type(f"ironcurtain explain --sandbox ~/work {call}")
    you.type("ironcurtain explain --clause C6")
    you.say("What of it is tested?")
    you.type("ironcurtain coverage | grep -v '^not reached'")
    printed = you.type("ironcurtain mutation")
    assert "1 survived" in printed
    you.say("A scenario more", "The one that is missing, as it is printed.")
    (missing,) = re.findall(r"(?ms)^  - id: mutant.*?^    why: [^\n]*$", printed)
    you.write("scenarios.yaml", f"{you.read('scenarios.yaml')}\n{missing}\n")
    you.type("ironcurtain compile --locked --saved-tools --quiet")
    assert "mutation score: 100 %" in you.type("ironcurtain mutation | head -n 2")
    you.transcript.check()
