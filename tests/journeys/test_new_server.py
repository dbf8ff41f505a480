"""A server never seen: tests/journeys/new-server.md."""

from __future__ import annotations

from collections.abc import Callable

from support.machines.contained import NEEDS_SANDBOX
from support.machines.journey import Journey
from support.projects.agent_project import compile_by_hand, rules
from support.services.registry import NEEDS_NPM, Packages

SAID = """\
The project of the first journey gets a server that nobody there has seen: a package of
Python, started as its maker says. Its tool is in no collection, so a person says what it does."""
KNOWN = {
    "tools": [{"tool": "tell", "side_effects": False, "contained": False, "comment": "", "args": []}],
}
CLAUSE = "\n## The teller\n\n- The agent may ask the teller what it is.\n"
FILES = ("C3", "C4", "C5", "C6", "C7", "C8", "C9")
CONCERNS = {
    "clauses": [
        *({"clause": clause, "servers": ["filesystem"]} for clause in FILES),
        {"clause": "C10", "servers": ["teller"]},
    ]
}
TOLD = {
    "rules": [
        {
            "name": "teller-allow",
            "description": "",
            "clause": "C10",
            "if": {"tool": ["tell"]},
            "then": "allow",
            "reason": "It only says what it is.",
        }
    ],
    "not_enforceable": [],
}
ASK = "ironcurtain decide --bundle generated/bundle --sandbox ~/work teller tell '{}'"


@NEEDS_NPM
@NEEDS_SANDBOX
def test_a_server_never_seen(agent: Callable[..., Journey], packages: Packages) -> None:
    you = agent("new-server", "A server never seen", SAID, **packages.environment)
    you.type(ASK, 1)
    you.say(
        "Added", "It is fetched, pinned, started in a sandbox that opens nothing to it, and lists its tools."
    )
    add = "ironcurtain servers add teller"
    code, printed = you.attempt(f"{add} -- uvx py-teller")
    assert (code, "read: 1 tool" in printed) == (4, True), printed
    you.transcript.remark("A person reads the question and answers it.")
    you.answer(next(path.stem for path in (you.here / "questions").glob("annotate-teller*.md")), KNOWN)
    assert "uncovered" in you.type(add)
    you.type("ironcurtain servers list")
    you.say("Allowed", "Until the constitution says so, every call is denied.")
    you.write("constitution.md", you.read("constitution.md") + CLAUSE)
    you.type("tail -n 3 constitution.md")
    given = {"clauses": CONCERNS, "rules-filesystem": rules(), "rules-teller": TOLD}
    assert "published generated" in compile_by_hand(you, given)
    assert "ALLOW  teller/tell" in you.type(ASK)
    you.transcript.check()
