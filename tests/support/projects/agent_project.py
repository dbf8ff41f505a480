"""The project that `init` writes, and a person's answers to the questions of its compile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.machines.journey import Journey

PATHS: dict[str, tuple[str, ...]] = {
    "read_file": ("read-path",),
    "read_text_file": ("read-path",),
    "read_media_file": ("read-path",),
    "write_file": ("write-path",),
    "edit_file": ("read-path", "write-path"),
    "create_directory": ("write-path",),
    "list_directory": ("read-path",),
    "list_directory_with_sizes": ("read-path",),
    "directory_tree": ("read-path",),
    "search_files": ("read-path",),
    "get_file_info": ("read-path",),
}
OTHERS: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "read_multiple_files": [("paths", ("read-path",))],
    "move_file": [("source", ("read-path", "delete-path")), ("destination", ("write-path",))],
    "list_allowed_directories": [],
}
COMPILE = "ironcurtain compile --saved-tools"


def annotations_of(project: Path) -> dict[str, Any]:
    """Annotate every tool of the saved list; arguments that are no paths are nothing."""
    listed = json.loads((project / "tools" / "filesystem.json").read_text())["tools"]
    tools = []
    for tool in listed:
        roles = dict(OTHERS.get(tool["name"], [("path", PATHS.get(tool["name"], ()))]))
        args = [
            {"name": name, "roles": list(roles.get(name, ())) or ["none"]}
            for name in tool["inputSchema"].get("properties", {})
        ]
        tools.append(
            {
                "tool": tool["name"],
                "side_effects": bool(args),
                "contained": bool(args),
                "comment": "",
                "args": args,
            }
        )
    return {"tools": tools}


def rules(*readable: str, writing: str = "escalate") -> dict[str, Any]:
    """Return rules for the constitution that `init` writes.

    Args:
        readable: Directories that may be read beside the Documents folder.
        writing: What becomes of writing elsewhere.
    """

    def rule(name: str, clause: str, then: str, reason: str, **condition: Any) -> dict[str, Any]:
        named = {"name": f"filesystem-{name}", "description": "", "clause": clause}
        return {**named, "if": condition, "then": then, "reason": reason}

    documents = "~/Documents"
    changed = [{"roles": ["write-path", "delete-path"], "within": [documents]}]
    read = [{"roles": ["read-path"], "within": [documents, *readable]}]
    folders = "It only tells which folders can be reached."
    return {
        "rules": [
            rule("reachable", "C3", "allow", folders, tool=["list_allowed_directories"]),
            rule("read-documents", "C5", "allow", "Documents may be read.", paths=read),
            rule("documents-stay", "C6", "deny", "Documents stay as they are.", paths=changed),
            rule("nothing-away", "C9", "deny", "Nothing is moved away.", roles=["delete-path"]),
            rule("ask-reading", "C7", "escalate", "A person decides what is read.", roles=["read-path"]),
            rule("ask-writing", "C8", writing, "A person decides what is written.", roles=["write-path"]),
        ],
        "not_enforceable": [
            {"clause": "C4", "kind": "structural", "reason": "The sandbox is excused before any rule."}
        ],
    }


def compile_by_hand(
    you: Journey,
    answers: Mapping[str, Any],
    command: str = COMPILE,
    *,
    told: bool = True,
    shown: bool = False,
) -> str:
    """Compile until no question waits; give each its answer. Return what the last compile printed.

    Args:
        you: Who compiles, in the project.
        answers: By question, what is answered if it is asked.
        command: How is compiled.
        told: Whether it is written down.
        shown: Whether the answers are written down with it.
    """
    given = dict(answers)
    while True:
        code, printed = you.attempt(command, told=told)
        if code == 0:
            return printed
        waiting = [key for key in given if key in printed]
        assert (code, len(waiting)) == (4, 1), printed
        if told:
            you.transcript.remark(f"The answer goes to `questions/{waiting[0]}.answer.json`.")
        answer = given.pop(waiting[0])
        if shown:
            you.shows(_line_by_line(answer))
        you.answer(waiting[0], answer)


def _line_by_line(answer: Mapping[str, list[Any]]) -> str:
    """Return an answer of lists as JSON, an element a line."""
    lists = []
    for key, elements in answer.items():
        lines = ",\n".join(f"    {json.dumps(each)}" for each in elements)
        lists.append(f"  {json.dumps(key)}: [\n{lines}\n  ]")
    return "{\n" + ",\n".join(lists) + "\n}"
