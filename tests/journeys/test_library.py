"""A program with the library: tests/journeys/library.md."""

from __future__ import annotations

from collections.abc import Callable

from support.machines.journey import Journey

SAID = """\
A program of one's own asks before it calls a tool. The policy is that of the first
journey."""
PROGRAM = """\
from ironcurtain import Call, Policy

CALLS = [
    Call("filesystem", "read_text_file", {"path": "~/Documents/letter.txt"}),
    Call("filesystem", "write_file", {"path": "~/Documents/letter.txt", "content": "x"}),
    Call("filesystem", "create_directory", {"path": "~/new"}),
    Call("filesystem", "launch_missiles", {}),
    Call("filesystem", "read_text_file", {"paht": "~/Documents/letter.txt"}),
]

with Policy.load("generated/bundle", sandbox="../work") as policy:
    for call, decision in zip(CALLS, policy.decide_many(CALLS)):
        print(call.tool, decision.verdict, decision.rule)
        if decision.allowed:
            print("  send", decision.arguments)
"""
ASYNC = """\
import asyncio

from ironcurtain import IronCurtainError, Policy


async def main():
    with Policy.load("generated/bundle", sandbox="../work") as policy:
        decision = await policy.adecide("filesystem", "read_text_file", {"path": "notes.txt"})
        print(decision.verdict, "-", decision.reason)
        try:
            if decision:
                print("never")
        except TypeError as error:
            print(error)
    try:
        Policy.load("no/such/bundle")
    except IronCurtainError as error:
        print(error)


asyncio.run(main())
"""
VERDICTS = ["allow", "deny", "escalate", "deny", "deny"]


def test_a_program_with_the_library(agent: Callable[..., Journey]) -> None:
    you = agent("library", "A program with the library", SAID)
    (you.home / "work").mkdir()
    you.say("Ask, then call")
    you.write("program.py", PROGRAM)
    you.type("cat program.py")
    printed = you.type("python program.py")
    assert [line.split()[1] for line in printed.splitlines() if not line.startswith(" ")] == VERDICTS
    you.say("In an event loop")
    you.write("loop.py", ASYNC)
    you.type("cat loop.py")
    assert "no/such/bundle" in you.type("python loop.py")
    you.transcript.check()
