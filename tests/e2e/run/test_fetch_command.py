"""Servers whose command fetches them: fetched outside the sandbox, pinned, and run as what was installed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended, Inside, assert_clear, in_process
from support.machines.contained import NEEDS_SANDBOX
from support.projects.policies import rule, tool, write_bundle
from support.services.registry import NEEDS_NPM, TOOL, Packages, write_wheel

from ironcurtain.servers.tools import ToolListing, tool_digest

NPX = {"command": "npx", "args": ["-y", "@tests/teller", "from npm"]}
UVX = {"command": "uvx", "args": ["py-teller", "from python"]}
BOTH = {"mcpServers": {"js": NPX, "py": UVX}}
pytestmark = NEEDS_NPM


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    for name in ("IRONCURTAIN_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = Packages(tmp_path, monkeypatch)
    yield found
    found.npm.close()


@pytest.fixture
def servers(tmp_path: Path, packages: Packages) -> Path:  # noqa: ARG001 - the packages are fetched from there
    file = tmp_path / "agent" / "mcp-servers.json"
    file.parent.mkdir()
    file.write_text(json.dumps(BOTH))
    return file


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[str]]:
    """Return the lock of both servers and the names of what was installed, on a machine that fetched them."""
    root = tmp_path_factory.mktemp("fetched")
    (root / "mcp-servers.json").write_text(json.dumps(BOTH))
    with pytest.MonkeyPatch.context() as patch:
        packages = Packages(root, patch)
        ended = in_process("servers", "fetch", cwd=root)
        packages.npm.close()
    assert ended.code == 0, ended.err
    return (root / "mcp-servers.lock.json").read_bytes(), [path.name for path in packages.installed]


def lock(file: Path) -> Any:
    return json.loads(file.with_suffix(".lock.json").read_text())["servers"]


def test_servers_are_fetched_once_and_pinned(inside: Inside, servers: Path, packages: Packages) -> None:
    def fetch(*more: str) -> Ended:
        return inside("servers", "fetch", *more, cwd=servers.parent)

    first = fetch()
    assert first.code == 0, first.err
    assert first.out.startswith("js: @tests/teller 1.0.0\npy: py-teller 1.0.0\npinned in ")
    assert first.err.count("fetching: ") == 2
    pinned = servers.with_suffix(".lock.json").read_bytes()
    assert packages.npm.url.encode() not in pinned, "the lock names no registry"
    files = {path: path.stat().st_mtime_ns for path in packages.data.rglob("*")}
    packages.npm.publish("@tests/teller", "1.1.0")
    write_wheel(packages.wheels, "py-teller", "1.1.0")
    again = fetch()
    assert (again.code, again.err) == (0, "")
    assert servers.with_suffix(".lock.json").read_bytes() == pinned
    assert {path: path.stat().st_mtime_ns for path in packages.data.rglob("*")} == files
    updated = fetch("py", "--update", "--format", "json")
    assert json.loads(updated.out)["servers"]["py"]["version"] == "1.1.0"
    assert {name: each["version"] for name, each in lock(servers).items()} == {"js": "1.0.0", "py": "1.1.0"}


def test_another_machine_fetches_the_same_by_the_lock(
    inside: Inside, servers: Path, packages: Packages, fetched: tuple[bytes, list[str]]
) -> None:
    pinned, names = fetched
    servers.with_suffix(".lock.json").write_bytes(pinned)
    packages.npm.publish("@tests/teller", "1.1.0")
    write_wheel(packages.wheels, "py-teller", "1.1.0")
    assert inside("servers", "fetch", cwd=servers.parent).code == 0
    assert [path.name for path in packages.installed] == names


@pytest.mark.parametrize(
    ("words", "code", "error", "said"),
    [
        (["nobody"], 2, "IC1001", "there is no server"),
        (["plain"], 2, "IC1001", "fetches nothing"),
        (["gone"], 3, "IC3203", "npm cannot fetch no-such-package"),
        (["git"], 2, "IC1005", "is no package of a registry"),
        (["other"], 3, "IC3203", 'has no program "x"'),
    ],
)
def test_what_cannot_be_fetched_says_why(
    words: list[str], code: int, error: str, said: str, inside: Inside, servers: Path
) -> None:
    more = {
        "plain": {"command": "true"},
        "gone": {"command": "npx", "args": ["no-such-package"]},
        "git": {"command": "uvx", "args": ["--from", "git+https://example.com/x", "x"]},
        "other": {"command": "uvx", "args": ["--from", "py-teller", "x"]},
    }
    servers.write_text(json.dumps({"mcpServers": {**BOTH["mcpServers"], **more}}))
    ended = inside("servers", "fetch", *words, cwd=servers.parent)
    assert_clear(ended, code, error)
    assert said in ended.err
    assert not servers.with_suffix(".lock.json").exists()


@NEEDS_SANDBOX
def test_a_server_is_added_by_the_command_that_everybody_has(
    inside: Inside, servers: Path, packages: Packages
) -> None:
    servers.write_text(json.dumps({"mcpServers": {"py": UVX}}))
    added = inside("servers", "add", "js", "--", "npx", "-y", "@tests/teller", cwd=servers.parent)
    assert (added.code, added.codes) == (4, ["IC4001"]), added.err
    assert "fetched: js: @tests/teller 1.0.0\nread: 1 tool of js\n" in added.err
    entry = json.loads(servers.read_text())["mcpServers"]["js"]
    assert entry == {"command": "npx", "args": ["-y", "@tests/teller"]}
    assert [*lock(servers)] == ["js"]
    assert len(packages.installed) == 1
    assert inside("servers", "remove", "js", cwd=servers.parent).code == 0
    assert lock(servers) == {}


class Desktop:
    """A desktop client's configuration, and a policy about its servers."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.config = self.home / ".config" / "Claude" / "claude_desktop_config.json"
        self.config.parent.mkdir(parents=True)
        self.write(BOTH)
        (root / "work").mkdir()
        listed = ToolListing.of(TOOL)
        schema = {"schema_digest": tool_digest(listed), "input_schema": listed.input_schema}
        known = {name: [{**tool("tell"), **schema}] for name in ("js", "py")}
        bundle = write_bundle(root, known, [rule("telling", "allow", tool=["tell"])])
        self.wrap = ("wrap", "claude-desktop", "--bundle", str(bundle), "--sandbox", str(root / "work"))

    def write(self, value: Any) -> None:
        self.config.write_text(json.dumps(value, indent=2))

    @property
    def servers(self) -> Path:
        (file,) = self.home.glob(".ironcurtain/clients/*/*/mcp-servers.json")
        return file


@pytest.fixture
def desktop(tmp_path: Path, packages: Packages) -> Desktop:  # noqa: ARG001 - its home
    return Desktop(tmp_path)


def test_wrap_says_what_it_would_fetch_and_without_a_terminal_fetches_nothing(
    inside: Inside, desktop: Desktop, packages: Packages
) -> None:
    before = desktop.config.read_bytes()
    shown = inside(*desktop.wrap)
    assert (shown.code, desktop.config.read_bytes(), packages.installed) == (1, before, []), shown.err
    assert "note: js: @tests/teller will be fetched and pinned" in shown.err
    assert "nothing was changed" in shown.err


def test_wrap_changes_nothing_where_a_server_cannot_be_fetched(inside: Inside, desktop: Desktop) -> None:
    desktop.write({"mcpServers": {**BOTH["mcpServers"], "gone": {"command": "npx", "args": ["no-such"]}}})
    before = desktop.config.read_bytes()
    ended = inside(*desktop.wrap, "--yes")
    assert_clear(ended, 3, "IC3203")
    assert "gone would not run behind the proxy: npm cannot fetch no-such" in ended.err
    assert desktop.config.read_bytes() == before
    assert not list(desktop.home.glob(".ironcurtain/clients/*/*"))


@NEEDS_SANDBOX
def test_wrap_takes_what_the_policys_project_has_pinned(
    inside: Inside, desktop: Desktop, packages: Packages, tmp_path: Path
) -> None:
    (tmp_path / "mcp-servers.json").write_text(json.dumps(BOTH))
    assert inside("servers", "fetch", "--servers", "mcp-servers.json", cwd=tmp_path).code == 0
    packages.npm.publish("@tests/teller", "1.1.0")
    write_wheel(packages.wheels, "py-teller", "1.1.0")
    wrapped = inside(*desktop.wrap, "--yes")
    assert wrapped.code == 0, wrapped.err
    assert "fetching: " not in wrapped.err
    assert {name: each["version"] for name, each in lock(desktop.servers).items()} == {
        "js": "1.0.0",
        "py": "1.0.0",
    }


def _gone(_: Desktop, packages: Packages) -> None:
    shutil.rmtree(packages.data)


def _changed(_: Desktop, packages: Packages) -> None:
    next(packages.data.rglob("server.js")).write_text("evil")


def _another_version(desktop: Desktop, _: Packages) -> None:
    desktop.servers.write_text(desktop.servers.read_text().replace("@tests/teller", "@tests/teller@1.1.0"))


HAPPENS: list[tuple[Callable[[Desktop, Packages], None], str]] = [
    (_gone, "is in the lock, version 1.0.0, and is not installed here"),
    (_changed, "was changed on disk"),
    (_another_version, 'the configuration asks for "@tests/teller@1.1.0"'),
]


def test_doctor_names_wrapped_servers_that_cannot_run_also_outside_a_project(
    inside: Inside, desktop: Desktop, packages: Packages, tmp_path: Path
) -> None:
    assert inside(*desktop.wrap, "--yes").code == 0
    packages.npm.publish("@tests/teller", "1.1.0")

    def doctor() -> dict[str, Any]:
        report: dict[str, Any] = json.loads(inside("doctor", "--format", "json", cwd=tmp_path / "work").out)
        return report

    well = doctor()
    assert well["ok"] is True
    (skipped,) = [each for each in well["checks"] if each["name"] == "project"]
    assert skipped["status"] == "skip"
    assert "is in no project" in skipped["what"]
    assert not {"bundle", "servers", "engine"} & {each["name"] for each in well["checks"]}
    command = f"ironcurtain servers fetch js --servers {desktop.servers}"
    for happens, said in HAPPENS:
        happens(desktop, packages)
        (found, *_) = [each for each in doctor()["checks"] if each["status"] == "fail"]
        assert (found["name"], found["code"]) == ("client/claude-desktop", "IC3203"), happens
        assert "behind the proxy, js cannot run: " in found["what"]
        assert said in found["what"]
        assert command in found["fix"]
        shutil.rmtree(tmp_path / "npm-cache", ignore_errors=True)
        assert inside(*command.split()[1:]).code == 0
        assert inside("servers", "fetch", "--servers", str(desktop.servers)).code == 0
        assert doctor()["ok"] is True, happens


@NEEDS_SANDBOX
def test_drift_says_that_a_server_is_not_fetched(inside: Inside, project: Path, packages: Packages) -> None:
    """The project is one with a policy; `packages` gives it a home of its own."""
    assert packages.installed == []
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": NPX}}))
    ended = inside("drift", cwd=project)
    assert (ended.code, ended.codes) == (3, ["IC3203"]), ended.err
    assert "is not fetched yet" in ended.err
    assert "ironcurtain servers fetch notes" in ended.err
