"""A client's configuration, wrapped on the command line and used as a client uses it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest
from e2e.program import PROGRAM, ROOT, SHIPPED, Ended, Inside, assert_clear, environment, program
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from support.deployments.named import NamedTools
from support.deployments.proxied import LEGACY, Place, text_of
from support.deployments.wrapped import ANY_SERVER, read_as_an_editor
from support.people.terminal import in_terminal

from ironcurtain.servers.endpoint_names import endpoint_name

Run: TypeAlias = Callable[..., Ended]
CORPUS = ROOT / "tests" / "fixtures" / "clients"
# With programs that are there: what is fetched has tests of its own (test_fetch_command.py).
TWO = re.sub(
    rb'"(npx|uvx)"', json.dumps(ANY_SERVER).encode(), (CORPUS / "claude-desktop-two.json").read_bytes()
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for folder in (".config/Claude", ".cursor"):
        (home / folder).mkdir(parents=True)
    return home


@pytest.fixture
def run(inside: Inside, home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "IRONCURTAIN_HOME"):
        monkeypatch.delenv(name, raising=False)
    return lambda *arguments, cwd=None: inside(*arguments, cwd=cwd or home)


@pytest.fixture
def wrap(run: Callable[..., Ended]) -> Callable[..., Ended]:
    given = ("--bundle", str(SHIPPED), "--yes")
    return lambda client, *more, cwd=None: run("wrap", client, *given, *more, cwd=cwd)


def test_a_sandbox_that_is_not_there_leaves_no_client_with_a_dead_proxy(
    wrap: Callable[..., Ended], home: Path
) -> None:
    config = home / ".config" / "Claude" / "claude_desktop_config.json"
    config.write_bytes(TWO)
    ended = wrap("claude-desktop", "--sandbox", "no where")
    assert_clear(ended, 2, "IC1001")
    assert f"make it: `mkdir -p '{home / 'no where'}'`" in ended.err
    assert config.read_bytes() == TWO
    (home / "no where").mkdir()
    assert wrap("claude-desktop", "--sandbox", "no where").code == 0


def test_a_desktop_client_with_almost_no_environment_uses_its_servers(tmp_path: Path) -> None:
    place = Place(tmp_path)
    config = place.home / ".config" / "Claude" / "claude_desktop_config.json"
    config.parent.mkdir(parents=True)
    server = {"command": sys.executable, "args": LEGACY, "env": {"FIXTURE_JOURNAL": str(place.journal)}}
    written = json.dumps({"mcpServers": {"fix": server}}, indent=2)
    config.write_text(written)
    options = ("--bundle", "bundle.tar.gz", "--yes", "--format", "json", "--", "--no-approver")
    ended = program(
        "wrap", "claude-desktop", *options, cwd=tmp_path, HOME=str(place.home), XDG_CONFIG_HOME=""
    )
    assert ended.code == 0, ended.err
    entry = json.loads(config.read_text())["mcpServers"]["ironcurtain"]
    assert entry == json.loads(ended.out)["entry"]
    # This server shall write its journal where it likes, and only our own file can say so.
    own = Path(json.loads(ended.out)["servers"])
    own.write_text(own.read_text().replace('"command"', '"sandbox": false, "command"', 1))
    small = ["-i", f"HOME={place.home}", "PATH=/usr/bin:/bin"]
    started = StdioServerParameters(
        command="/usr/bin/env", args=[*small, entry["command"], *entry["args"]], cwd="/"
    )

    async def use() -> None:
        with anyio.fail_after(200), (tmp_path / "stderr").open("w") as stderr:
            async with Client(stdio_client(started, errlog=stderr), mode="legacy", cache=None) as client:
                # On a busy machine the server may still be starting.
                while "fix__echo" not in {tool.name for tool in (await client.list_tools()).tools}:  # noqa: ASYNC110
                    await anyio.sleep(0.2)
                allowed = await client.call_tool("fix__echo", {"path": "hello"})
                assert not allowed.is_error, text_of(allowed)
                denied = await client.call_tool("fix__read", {"path": str(config)})
                assert denied.is_error
                secret = await client.call_tool("fix__read", {"path": str(place.home / ".ironcurtain")})
                assert secret.is_error

    try:
        anyio.run(use)
    finally:
        sys.stdout.write((tmp_path / "stderr").read_text())
    assert len(place.sent()) == 1
    assert program("unwrap", str(config), HOME=str(place.home)).code == 0
    assert config.read_text() == written


def test_the_whole_way_is_told(home: Path, run: Run, wrap: Run) -> None:
    path = home / ".config" / "Claude" / "claude_desktop_config.json"
    path.write_bytes(TWO)
    shown = wrap("claude-desktop", "--dry-run")
    assert (shown.code, path.read_bytes()) == (0, TWO)
    assert shown.out.startswith("--- ")
    assert re.search(r'^\+ +"ironcurtain": \{$', shown.out, re.MULTILINE)
    done = wrap("claude-desktop")
    assert done.out.startswith("wrapped: ")
    assert "behind the proxy: filesystem, git" in done.out
    wrapped = path.read_bytes()
    again = wrap("claude-desktop")
    assert again.out.startswith("unchanged: ")
    assert (again.code, path.read_bytes()) == (0, wrapped)
    entry = json.loads(wrapped)["mcpServers"]["ironcurtain"]
    words = [entry["command"], *(word for word in entry["args"] if word.startswith("/"))]
    assert len(words) >= 5
    assert all(Path(word).is_absolute() and Path(word).exists() for word in words)
    assert run("unwrap", "claude-desktop", "--dry-run").out.startswith("--- ")
    undone = run("unwrap", "claude-desktop", "--format", "json")
    assert json.loads(undone.out)["moved"] == ["filesystem", "git"]
    assert path.read_bytes() == TWO
    assert "it is not wrapped" in run("unwrap", "claude-desktop").err


def test_the_entry_alone(home: Path, run: Run, wrap: Run) -> None:
    path = home / ".config" / "Claude" / "claude_desktop_config.json"
    path.write_bytes(TWO)
    printed = wrap("claude-desktop", "--print")
    assert (printed.code, path.read_bytes(), list(home.glob(".ironcurtain/**/*"))) == (0, TWO, [])
    assert "mcp-servers.json is not there: `ironcurtain wrap` writes it" in printed.err
    wrap("claude-desktop")
    assert "is not there" not in wrap("claude-desktop", "--print").err
    assert json.loads(printed.out) == json.loads(path.read_text())["mcpServers"]
    servers = home / "mine.json"
    servers.write_text(json.dumps({"mcpServers": {"git": {"command": ANY_SERVER}}}))
    for_any = run(
        "wrap", "--print", "--servers", "mine.json", "--bundle", str(SHIPPED), "--", "--no-approver"
    )
    assert for_any.err == ""
    entry = json.loads(for_any.out)["ironcurtain"]
    assert entry["args"][-3:] == ["--no-approver", "--servers", str(servers)]
    assert entry["env"]["PATH"]


def test_without_a_name_it_says_what_it_finds(home: Path, run: Run) -> None:
    (home / ".cursor" / "mcp.json").write_bytes(TWO)
    ended = run("wrap")
    assert_clear(ended, 2, "IC1001")
    assert f"Found: cursor ({home / '.cursor' / 'mcp.json'})." in ended.err


@pytest.mark.parametrize(("said", "code"), [("yes", 1), ("", 1)], ids=["yes", "nothing"])
def test_on_a_terminal_it_shows_the_change_and_asks(said: str, code: int, tmp_path: Path) -> None:
    """One server stays outside, so that even a wrap ends with 1."""
    path = tmp_path / "mcp.json"
    path.write_text(
        '{"mcpServers": {"git": {"command": "ANY"}, "b": {"command": "x", "args": ["${input:K}"]}}}'.replace(
            "ANY", ANY_SERVER
        )
    )
    before = path.read_bytes()
    words = [*PROGRAM, "wrap", "mcp.json", "--bundle", str(SHIPPED), "--format", "json"]
    command = ["sh", "-c", 'exec "$0" "$@" > result', *words]
    ended, printed = in_terminal(command, tmp_path, environment(HOME=str(tmp_path)), f"{said}\n")
    assert ended == code, printed
    assert re.search(r'^\+.*"ironcurtain": ', printed, re.MULTILINE)
    assert printed.count("OUTSIDE the policy: b") == 1
    assert ("nothing was changed" in printed, path.read_bytes() == before) == (not said, not said)
    result = (tmp_path / "result").read_text()
    assert (json.loads(result)["status"] == "wrapped") if said else (result == "")


def test_a_closed_standard_input_is_no_terminal(
    home: Path, run: Run, wrap: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "mcp.json").write_bytes(TWO)
    monkeypatch.setattr(sys, "stdin", None)  # as Python itself does where it is closed
    ended = run("wrap", "mcp.json", "--bundle", str(SHIPPED))
    assert (ended.code, (home / "mcp.json").read_bytes()) == (1, TWO)
    assert "nothing was changed: nobody is there to be asked, and --yes was not given" in ended.err
    assert wrap("mcp.json").code == 0
    assert run("wrap", "mcp.json", "--bundle", str(SHIPPED)).code == 0, "nothing is left to be done"
    assert_clear(run("customize", "x"), 2, "IC1001")


def test_servers_that_stay_outside_are_told_and_are_no_success(home: Path, wrap: Run) -> None:
    text = (
        '{"mcpServers": {"git": {"command": "ANY"}, "b": {"command": "x", "args": ["${input:K}"]}}} '
        "// \x1b[2J".replace("ANY", ANY_SERVER)
    )
    (home / ".cursor" / "mcp.json").write_text(text.replace("\x1b", "e"))
    ended = wrap("cursor")
    assert ended.code == 1
    assert "OUTSIDE the policy: b: it uses variables" in ended.err
    meant = wrap("cursor", "--only", "git")
    assert (meant.code, "left alone: b" in meant.err) == (0, True)
    printed = wrap("cursor", "--print")
    assert (printed.code, "OUTSIDE the policy: b" in printed.err) == (1, True)


def test_a_server_that_the_policy_does_not_know_is_named(home: Path, wrap: Run) -> None:
    servers = {"weather": {"command": ANY_SERVER}}
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    assert "note: weather: the policy knows no tool of it" in wrap("cursor").err


def test_a_tool_that_clients_see_under_another_name_is_told(tmp_path: Path) -> None:
    """By `wrap`, and by `doctor` of the servers that it put behind the proxy."""
    tool = "list_" + "all_of_the_" * 7 + "invoices"
    place = NamedTools(tmp_path, {"fix": [tool, "short"]})
    client = tmp_path / "client.json"
    client.write_bytes(place.servers.read_bytes())
    run = partial(program, cwd=tmp_path, HOME=str(place.home))
    wrapped = run("wrap", str(client), "--bundle", "bundle.tar.gz", "--yes", "--format", "json")
    assert wrapped.code == 0, wrapped.err
    report = json.loads(wrapped.out)
    (told,) = (note for note in report["notes"] if "is called" in note)
    assert told.startswith(f"fix/{tool} is called {endpoint_name('fix', tool)}: ")
    asked = ("doctor", "--bundle", "bundle.tar.gz", "--servers", report["servers"], "--format", "json")
    examined = json.loads(run(*asked).out)
    assert told in [each["what"] for each in examined["checks"]], examined


def test_user_and_project(home: Path, tmp_path: Path, run: Run, wrap: Run) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (home / ".claude.json").write_text('{"numStartups": 3}')
    neither = wrap("claude-code", cwd=project)
    assert_clear(neither, 2, "IC1002")
    assert "no configuration of claude-code has servers: looked at" in neither.err
    (project / ".mcp.json").write_bytes(TWO)
    assert wrap("claude-code", cwd=project).code == 0
    assert b"ironcurtain" in (project / ".mcp.json").read_bytes()
    (home / ".claude.json").write_bytes(TWO)
    assert_clear(wrap("claude-code", cwd=project), 2, "IC1001")
    assert wrap("claude-code", "--scope", "user", cwd=project).code == 0
    assert_clear(run("unwrap", "claude-code", cwd=project), 2, "IC1001")
    for scope, path in (("user", home / ".claude.json"), ("project", project / ".mcp.json")):
        assert run("unwrap", "claude-code", "--scope", scope, cwd=project).code == 0
        assert path.read_bytes() == TWO
    again = run("unwrap", "claude-code", cwd=project)
    assert_clear(again, 2, "IC1002")
    assert "no configuration of claude-code is wrapped: looked at" in again.err


BAD = [
    (("mcp.json", "--bundle", str(SHIPPED), "--servers", "mcp.json"), 2, "IC1001"),
    (("--print", "--bundle", str(SHIPPED)), 2, "IC1001"),
    (("mcp.json",), 2, "IC1001"),
    (("--print", "--yes", "--servers", "mcp.json", "--bundle", str(SHIPPED)), 2, "IC1001"),
    (("--print", "--only", "git", "--servers", "mcp.json", "--bundle", str(SHIPPED)), 2, "IC1001"),
    (("--print", "--servers", "no.json", "--bundle", str(SHIPPED)), 2, "IC1002"),
    (("no-such.json", "--bundle", str(SHIPPED)), 2, "IC1002"),
    (("mcp.json", "--bundle", "nowhere"), 3, "IC3101"),
    (("mcp.json", "--bundle", str(SHIPPED), "--", "--no-such"), 2, "IC1001"),
    (("mcp.json", "--bundle", str(SHIPPED), "--", "stray"), 2, "IC1001"),
    (("mcp.json", "--bundle", str(SHIPPED), "--", "--patience", "many"), 2, "IC1001"),
    (("mcp.json", "--bundle", str(SHIPPED), "--", "--servers", "mine.json"), 2, "IC1001"),
    (("mcp.json", "--bundle", str(SHIPPED), "--", "--bundle", "other"), 2, "IC1001"),
    (("mcp.json", "--bundle", str(SHIPPED), "--", "--http", "127.0.0.1:80"), 2, "IC1001"),
    (("mcp.json", "--bundle", str(SHIPPED), "--only", "no"), 2, "IC1001"),
    (("mcp.json", "--bundle", str(SHIPPED), "--opa", "/nowhere/opa"), 3, "IC3001"),
    (("mcp.json", "--bundle", str(SHIPPED), "--expect-revision", "0"), 3, "IC3101"),
    (("vscode", "--bundle", str(SHIPPED)), 2, "IC1002"),
    (("claude-desktop", "--scope", "project", "--bundle", str(SHIPPED)), 2, "IC1001"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    BAD,
    ids=[
        " ".join(each[0][2:])[:40] or each[0][0]
        for each in [(tuple(w.replace(str(SHIPPED), "B") for w in a),) for a, _, _ in BAD]
    ],
)
def test_what_cannot_work_changes_nothing(
    arguments: tuple[str, ...], code: int, error: str, home: Path, run: Run
) -> None:
    (home / "mcp.json").write_bytes(TWO)
    assert_clear(run("wrap", *arguments), code, error)
    assert (home / "mcp.json").read_bytes() == TWO
    assert not list(home.glob(".ironcurtain/clients/*/*"))


def test_what_the_page_tells_people_to_type(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "clients.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (configuration,) = [text for language, text in blocks if language == "jsonc"]
    project = home / "project"
    (project / ".vscode").mkdir(parents=True)
    for name in ("generated", "mcp-servers.json"):
        (project / name).symlink_to(ROOT / name)
    path = project / ".vscode" / "mcp.json"
    path.write_text(configuration)
    (home / "work").mkdir()
    (home / "bin").mkdir()
    for name in ("mcp-server-filesystem", "git-mcp-server"):
        (home / "bin" / name).symlink_to(ANY_SERVER)
    monkeypatch.setenv("PATH", f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}")
    states = []
    for text in [text for language, text in blocks if language == "sh"]:
        for line in text.splitlines():
            command, *words = [os.path.expanduser(word) for word in shlex.split(line)]  # noqa: PTH111 - as a shell
            ended = run(*words, cwd=project)
            assert (command, ended.code, ended.codes) == ("ironcurtain", 0, []), ended.err
        states.append(path.read_text())
    assert [text == configuration for text in states] == [True, False, True, True]
    (found,) = read_as_an_editor([states[1]])
    assert list(found["value"]["servers"]) == ["ironcurtain"]
    assert "// the file server of this project" in states[1]


def test_servers_of_the_collection_are_named_where_the_policy_knows_no_tool_of_them(
    run: Callable[..., Ended], tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    package = "@modelcontextprotocol/server-github"
    servers = {
        "hub": {"command": "npx", "args": ["-y", f"{package}@2025.4.8"]},
        "repo": {"command": "uvx", "args": ["mcp-server-git>=2026"]},
        "own": {"command": "node", "args": ["github.js"]},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    ended = run("wrap", str(file), "--bundle", str(SHIPPED), "--dry-run")
    told = {line.split(":")[1].strip(): line for line in ended.err.splitlines() if "knows no tool" in line}
    assert f"the tools of {package} are annotated by the collection" in told["hub"]
    assert "`ironcurtain servers add hub -- COMMAND`" in told["hub"]
    assert "the tools of mcp-server-git are annotated" in told["repo"]
    assert told["own"].endswith("every call is denied")
