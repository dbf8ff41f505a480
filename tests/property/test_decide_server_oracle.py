"""Oracle: the file that a real filesystem server touches is the file that was judged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from support.called import ROOT, bundle, described, load
from support.projects.policies import tool

from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call, Prepared, prepare

SERVER = ROOT / "node_modules" / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
TOOLS = [
    tool("read_text_file", path=["read-path"]),
    tool("write_file", path=["write-path"], content=["none"]),
]
SPELLINGS = [
    "a", "./a", "d/../a", "d//b", "d/./b", "d/b", "link", "dir/b", "dir/../a", "dir/../d/b", "hop", "abs",
    "d/up/a", "d/up/d/up/a", "a.", "a..", " a", "a ", "...", ".hidden", "caf\u00e9", "cafe\u0301x", "\u202ea",
    "%61", "d%2fb", "~a", "$HOME", "*", "a\\b", "-rf", "CON", "\uff41", "\u00c5", "\u2126", "a:b", "#a", "?a",
]  # fmt: skip
NEW = ["new", "d/new", "dir/newer", "d/up/fresh", "n.", "n ", "n%41", "ne\u0301w", "n\\w", "n*", "ha\u0308"]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    top = tmp_path.resolve() / "tree"
    (top / "d").mkdir(parents=True)
    for name in (
        "a",
        "d/b",
        *(s for s in SPELLINGS if "/" not in s and s not in {"a", "link", "hop", "abs"}),
    ):
        (top / name).write_text(f"this is {name!a}", encoding="utf-8")
    links = {"link": "a", "dir": "d", "hop": "link", "abs": str(top / "d" / "b"), "d/up": ".."}
    for name, target in links.items():
        (top / name).symlink_to(target)
    return top


def judged(base: Path, name: str, spelled: str, **more: str) -> tuple[str, dict[str, Any]] | None:
    home = str(base.parent)
    world = described(home=home, sandbox=str(base))
    policy = load(bundle({"s": TOOLS}), world, ThisHost(home=home))
    found = prepare(Call("s", name, {"path": spelled} | more), policy)
    if not isinstance(found, Prepared):
        return None
    return found.call.resources[0].value, found.call.arguments


async def call_all(base: Path, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    parameters = StdioServerParameters(command="node", args=[str(SERVER), str(base)])
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        return [await session.call_tool(name, arguments) for name, arguments in calls]


def test_reading_touches_the_judged_file(base: Path) -> None:
    forms = [form for s in SPELLINGS for form in (s, f"{base}/{s}", f"{base}/../tree/{s}")]
    allowed = [(form, found) for form in forms if (found := judged(base, "read_text_file", form))]
    assert len(allowed) > 90
    answers = anyio.run(call_all, base, [("read_text_file", arguments) for _, (_, arguments) in allowed])
    for (form, (value, _)), answer in zip(allowed, answers, strict=True):
        content = answer.content[0].text
        kernel = form if form.startswith("/") else f"{base}/{form}"
        assert Path(value).samefile(kernel), form
        assert content == Path(kernel).read_text(encoding="utf-8"), form


def test_writing_touches_the_judged_file(base: Path) -> None:
    forms = [*NEW, "link", "dir/b", "d/up/%61"]
    found = [(form, judged(base, "write_file", form, content=f"written as {form!a}")) for form in forms]
    allowed = [(form, *judgement) for form, judgement in found if judgement]
    assert len({value for _, value, _ in allowed}) == len(allowed) > 10
    before = set(base.rglob("*"))
    answers = anyio.run(call_all, base, [("write_file", arguments) for _, _, arguments in allowed])
    for (form, value, _), answer in zip(allowed, answers, strict=True):
        assert not answer.content[0].text.startswith("Error"), (form, answer.content[0].text)
        assert Path(value).read_text(encoding="utf-8") == f"written as {form!a}"
        assert os.path.realpath(value) == value
    made = set(base.rglob("*")) - before
    assert {str(path) for path in made} <= {value for _, value, _ in allowed}
