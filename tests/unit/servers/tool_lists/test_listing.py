"""Reading tool lists from real servers, good and faulty ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fixtures import plain_server
from support.generators.bad_entries import BAD_TOOLS, OBJECT, answering, listing, server_of

from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.errors import IronCurtainError, ServerConfigError, ServerFailedError, SeveralErrors
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.servers.tool_lists.listing import list_tools as list_tools_of
from ironcurtain.servers.tools import Tools, left_out, saved_document, tool_digest

SERVER = Path(__file__).parents[3] / "fixtures" / "tiny_server.py"


def entry(mode: str, **more: object) -> dict[str, object]:
    return {"command": sys.executable, "args": [str(SERVER), mode], "sandbox": False, **more}


def config(directory: Path, **servers: Mapping[str, object]) -> ServerConfig:
    path = directory / "mcp-servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return load_servers(path)


def list_tools(servers: ServerConfig, **how: Any) -> Tools:
    return list_tools_of(servers, contained_launcher(lambda _: None), **how)


def test_several_live_servers_are_listed(tmp_path: Path) -> None:
    tools = list_tools(config(tmp_path, one=entry("good"), two=entry("changed")))
    assert [tool.name for tool in tools["one"]] == ["read_note", "list_tags"]
    first, second = tools["one"][0], tools["two"][0]
    assert tool_digest(first) != tool_digest(second)
    assert tool_digest(tools["one"][1]) == tool_digest(tools["two"][1])


@pytest.mark.parametrize("more", [{}, {"tools": "saved.json"}])
def test_a_faulty_server_says_how_to_compile_without_it(tmp_path: Path, more: dict[str, object]) -> None:
    with pytest.raises(ServerFailedError) as caught:
        list_tools(config(tmp_path, notes=entry("dies", **more)), timeout=30)
    assert "--saved-tools" in caught.value.hint
    assert ("saved.json" in caught.value.hint) == bool(more)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("dies", "failed"),
        ("not-mcp", "failed"),
    ],
)
def test_a_faulty_server_is_one_clear_error(tmp_path: Path, mode: str, said: str) -> None:
    with pytest.raises(ServerFailedError) as caught:
        list_tools(config(tmp_path, notes=entry(mode)), timeout=30)
    assert said in caught.value.what
    assert str(caught.value.where) == "notes"


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("bad-schema", 'the tool "broken" is left out: its input schema is no usable JSON Schema'),
        ("remote-ref", "outside the document"),
        ("bad-name", "read\\u202enote"),
    ],
)
def test_a_bad_tool_is_named_escaped(tmp_path: Path, mode: str, problem: str) -> None:
    (said,) = left_out(list_tools(config(tmp_path, notes=entry(mode))))
    assert said.startswith("server notes: ")
    assert problem in said


def test_a_tool_that_is_listed_twice_is_one_tool_if_it_is_the_same(tmp_path: Path) -> None:
    tools = list_tools(config(tmp_path, notes=entry("duplicate")))
    assert ([tool.name for tool in tools["notes"]], left_out(tools)) == (["read_note"], [])


def test_a_bad_entry_costs_itself_whatever_is_wrong_with_it(tmp_path: Path) -> None:
    good = {"name": "good", "inputSchema": OBJECT}
    last = {"name": "last", "inputSchema": OBJECT}
    servers = {
        name: server_of(listing(tmp_path, name, good, bad, last)) for name, (bad, _) in BAD_TOOLS.items()
    }
    found = list_tools(config(tmp_path, **servers))
    for name, (_, said) in BAD_TOOLS.items():
        assert [tool.name for tool in found[name]] == ["good", "last"], name
        (problem,) = found[name].problems
        assert problem.startswith(said)


def test_bad_prompts_cost_themselves(tmp_path: Path) -> None:
    prompts = [{"name": "good"}, {"title": "x"}, {"name": "bad", "arguments": 5}, {"name": "last"}]
    results: dict[str, list[Any]] = {"tools/list": [{"tools": []}], "prompts/list": [{"prompts": prompts}]}
    found = list_tools(config(tmp_path, notes=server_of(answering(tmp_path, "notes", results))))["notes"]
    assert found.beside is not None
    assert [prompt["name"] for prompt in found.beside.prompts] == ["good", "last"]
    assert [problem.partition(" is left out")[0] for problem in found.problems] == [
        "the prompt at place 2",
        'the prompt "bad"',
    ]


def test_tools_that_are_listed_only_to_capable_clients_are_read(tmp_path: Path) -> None:
    arguments = [plain_server.__file__, "--choosy"]
    found = list_tools(config(tmp_path, notes=server_of(arguments)))["notes"]
    assert len(found) == len(plain_server.TOOLS)


def pages(*cursors: Any) -> list[dict[str, Any]]:
    """Return pages of one tool each, with what each names as the next one."""
    return [
        {"tools": [{"name": f"t{number}", "inputSchema": OBJECT}], "nextCursor": cursor}
        for number, cursor in enumerate(cursors)
    ]


@pytest.mark.parametrize(
    ("cursors", "said"),
    [
        (["", "a", None], []),  # a text that is there names a page, however long it is
        ([*map(str, range(149)), None], []),
        (["a", "b", "a"], ['tools/list names the cursor "a" a second time: what comes after it is left out']),
        (["a", "b", 5], ["tools/list names a cursor that is no text: what comes after it is left out"]),
        (
            [*map(str, range(1_200))],
            ["tools/list has more than 1,000 pages: what comes after it is left out"],
        ),
    ],
)
def test_pages_are_read_to_their_end_or_the_end_is_named(
    tmp_path: Path, cursors: list[Any], said: list[str]
) -> None:
    arguments = answering(tmp_path, "notes", {"tools/list": pages(*cursors)})
    found = list_tools(config(tmp_path, notes=server_of(arguments)))["notes"]
    assert len(found) == min(len(cursors), 1_000)
    assert [*found.problems] == said


def test_the_last_words_of_a_dead_server_are_shown_escaped(tmp_path: Path) -> None:
    with pytest.raises(ServerFailedError) as caught:
        list_tools(config(tmp_path, notes=entry("dies")), timeout=30)
    assert "\\x1b[31mcannot open the database" in caught.value.hint


def test_a_server_that_hangs_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(ServerFailedError, match="gave no tool list within 3 seconds"):
        list_tools(config(tmp_path, notes=entry("hangs")), timeout=3)


def test_a_missing_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerFailedError, match="no-such-program-here"):
        list_tools(config(tmp_path, notes={"command": "no-such-program-here", "sandbox": False}))


def test_all_failing_servers_are_reported_together(tmp_path: Path) -> None:
    servers = config(tmp_path, a=entry("dies"), b=entry("good"), c=entry("not-mcp"))
    with pytest.raises(SeveralErrors) as caught:
        list_tools(servers)
    assert [str(error.where) for error in caught.value.errors] == ["a", "c"]


def test_a_server_sees_a_minimal_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_ANOTHER_PROGRAM", "x")
    tools = list_tools(config(tmp_path, notes=entry("environment", env={"NAMED": "1"})))
    seen = tools["notes"][0].description.split()
    assert "NAMED" in seen
    assert "PATH" in seen
    assert "SECRET_OF_ANOTHER_PROGRAM" not in seen


def test_a_saved_list_stands_for_its_server(tmp_path: Path) -> None:
    live = list_tools(config(tmp_path, notes=entry("good")))
    (tmp_path / "notes.json").write_text(json.dumps(saved_document(live["notes"])))
    saved = list_tools(config(tmp_path, notes={"tools": "notes.json"}))
    assert saved_document(saved["notes"]) == saved_document(live["notes"])
    unstartable = {"command": "no-such-program-here", "tools": "notes.json"}
    assert list_tools(config(tmp_path, notes=unstartable), saved=True) == saved


def test_a_bare_result_of_another_program_can_be_used(tmp_path: Path) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
    (tmp_path / "t.json").write_text(json.dumps({"tools": [tool]}))
    tools = list_tools(config(tmp_path, notes={"tools": "t.json"}))
    assert tools["notes"][0].name == "t"


def test_two_servers_whose_face_names_collide_are_refused(tmp_path: Path) -> None:
    for name, tool in (("a", "_b"), ("b", "b")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"tools": [{"name": tool, "inputSchema": {}}]}))
    with pytest.raises(ServerConfigError, match="a___b"):
        list_tools(config(tmp_path, a={"tools": "a.json"}, a_={"tools": "b.json"}))


@pytest.mark.parametrize("servers", [{"url": "https://example.com/mcp"}])
def test_a_remote_server_needs_a_saved_list(tmp_path: Path, servers: dict[str, object]) -> None:
    with pytest.raises(ServerConfigError, match="over stdio only"):
        list_tools(config(tmp_path, notes=servers))


def test_an_unknown_server_is_named(tmp_path: Path) -> None:
    with pytest.raises(IronCurtainError, match="nots"):
        list_tools(config(tmp_path, notes=entry("good")), only=["nots"])
