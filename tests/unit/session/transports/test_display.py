"""What a person sees in terminals of any width: a row for each call, and only our words at the margin."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.cells import cell_len
from support.people.screen import shown
from support.people.terminal import converse

PROGRAM = """
import fcntl, json, struct, sys, termios
from ironcurtain.model.verdict import Verdict
from ironcurtain.session.events import CallBegan, CallEnded, TextPiece
from ironcurtain.session.transports.display import EventDisplay

display = EventDisplay(sys.stdout)
for step in json.loads(sys.argv[1]):
    match step:
        case {"say": text}:
            display.say(text)
        case {"write": text}:
            display.show(TextPiece(text))
        case {"columns": columns}:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        case {"tool": tool, "argument": argument, "text": text, **more}:
            server = more.get("server", "fix")
            display.show(CallBegan("1", server, tool, {"path": argument}))
            verdict = Verdict.DENY if text else Verdict.ALLOW
            outcome = (verdict, False, not text, None, more.get("rule"), more.get("clause"), "", 1234.5, text)
            display.show(CallEnded("1", server, tool, *outcome, more.get("sentence", "")))
display.end_text()
"""
FORGED = "x" * 40 + " approved git/git_push  0.1 s " + "y" * 400
WIDE = "長い道/" * 60


def rows(tmp_path: Path, columns: int, *steps: Mapping[str, object]) -> list[str]:
    """Return what stands in a terminal after all, row by row."""
    pieces: list[bytes] = []
    # The terminal alone says how wide it is.
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    code, printed = converse(
        [sys.executable, "-c", PROGRAM, json.dumps(steps)],
        tmp_path,
        {**environment, "PYTHONPATH": str(Path(__file__).parents[4])},
        columns=columns,
        keep=pieces.append,
    )
    assert code == 0, printed
    return [row for row in shown(b"".join(pieces).decode(), 50) if row]


def test_the_person_is_told_the_rule_and_the_sentence_of_a_refusal(tmp_path: Path) -> None:
    """Both were in the audit log alone; what the agent was told says neither."""
    policy = {"rule": "fix-never", "clause": "C6", "sentence": "The agent must not\x1b[2J delete anything."}
    step = {"tool": "fix__remove", "argument": "/a", "text": "Deleting is not permitted.", **policy}
    assert rows(tmp_path, 80, step)[1:] == [
        "    | Deleting is not permitted.",
        "  not told to the agent: fix-never, clause C6",
        "    | The agent must not\\x1b[2J delete anything.",
    ]


@pytest.mark.parametrize("columns", [80, 200])
def test_a_call_is_one_row_whatever_its_names(tmp_path: Path, columns: int) -> None:
    tools = ["fix__read", "fix__" + "a_very_long_tool_name_" * 12, "fix__道具" * 40]
    arguments = ["notes", FORGED, WIDE, "\u202e" * 30, ""]
    steps = [{"tool": tool, "argument": each, "text": ""} for tool in tools for each in arguments]
    there = rows(tmp_path, columns, *steps)
    assert len(there) == len(steps)
    for row in there:
        assert cell_len(row) <= columns
        assert row.startswith("allow    fix/")
        assert row.endswith("  1,234.5 s")
    assert there[0] == "allow    fix/read notes  1,234.5 s"


def test_a_server_whose_name_ends_in_an_underscore_is_shown_by_that_name(tmp_path: Path) -> None:
    call = {"server": "git_", "tool": "git___status", "argument": "notes", "text": ""}
    assert rows(tmp_path, 80, call) == ["allow    git_/status notes  1,234.5 s"]


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("text", [FORGED, "approved git/git_push\nallow    git/git_push", WIDE, "a\rb"])
def test_no_row_of_a_refusal_begins_at_the_margin(tmp_path: Path, columns: int, text: str) -> None:
    first, *others = rows(tmp_path, columns, {"tool": "fix__read", "argument": "notes", "text": text})
    assert first == "deny     fix/read notes  1,234.5 s"
    assert others
    for row in others:
        assert row.startswith(("    | ", "    : "))
        assert cell_len(row) <= columns


TABLE = "| a | b |\n| - | - |\n| 一 | " + "wide " * 30 + "|"
MARKDOWN = f"# 標題\n\n{'日本語 words ' * 40}\n\n{TABLE}\n\nEnd."


@pytest.mark.parametrize("columns", [80, 200])
def test_markdown_with_wide_characters_fits(tmp_path: Path, columns: int) -> None:
    pieces = [MARKDOWN[start : start + 7] for start in range(0, len(MARKDOWN), 7)]
    there = rows(tmp_path, columns, *({"write": piece} for piece in pieces))
    assert all(cell_len(row) <= columns for row in there)
    assert all(row.startswith("  ") for row in there)
    assert " ".join(there).count("words") == 40
    assert max(map(cell_len, there)) > columns - 20


@pytest.mark.parametrize(("before", "after"), [(200, 80), (80, 200), (80, 40)])
def test_an_answer_goes_on_at_the_width_that_the_window_gets(tmp_path: Path, before: int, after: int) -> None:
    first, second = "one " * 60, "two " * 60
    there = rows(
        tmp_path,
        before,
        {"write": first},
        {"columns": after},
        {"write": f"\n\n{second}"},
        {"write": "\n\nLast."},
    )
    blocks = " ".join(" ".join(there).split())
    assert blocks.endswith(f"{' '.join(first.split())} {' '.join(second.split())} Last.")
    later = [row for row in there if "two" in row]
    assert max(map(cell_len, later)) in range(after - 8, after + 1)
