"""Edit a clause: tests/journeys/edit-a-clause.md."""

from __future__ import annotations

from collections.abc import Callable

from support.machines.journey import Journey
from support.projects.agent_project import compile_by_hand, rules

SAID = """\
The project of the first journey is compiled and committed. Now the agent is to
read Downloads, too."""


def test_editing_a_clause(agent: Callable[..., Journey]) -> None:
    you = agent("edit-a-clause", "Edit a clause", SAID)
    you.commits("The policy")
    you.say("The edit")
    old = "The agent may read files in the Documents folder."
    you.replace(
        "constitution.md",
        old,
        "The agent may read files in the Documents folder and in the Downloads folder.",
    )
    you.say(
        "What is published says something else",
        "`verify` compares the sources with those that the bundle was made from.",
    )
    printed = you.type("ironcurtain verify", 1)
    assert "FAIL  sources: " in printed
    assert "constitution.md" in printed
    you.say("Compiled again")
    compile_by_hand(you, {"rules-filesystem": rules("~/Downloads")})
    assert you.type("ironcurtain verify").splitlines()[-1].startswith("verified")
    you.say("What the edit changes")
    you.type("git diff --unified=0 generated/decision-matrix.json | grep '^[-+] '")
    you.type("git show HEAD:generated/bundle.tar.gz > ../before.tar.gz")
    you.type("ironcurtain diff ../before.tar.gz generated/bundle", 1)
    call = """filesystem read_text_file '{"path": "~/Downloads/ticket.pdf"}'"""
    you.type(f"ironcurtain decide --bundle ../before.tar.gz --sandbox ~/work {call}", 4)
    you.type(f"ironcurtain decide --bundle generated/bundle --sandbox ~/work {call}")
    you.transcript.check()
