"""Clients that write servers in other formats and other words: wrapped, changed by others, and unwrapped."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.errors import FormatError, UsageError
from ironcurtain.integrations.clients import edit
from ironcurtain.integrations.clients.known_clients import CLIENTS, user_files
from ironcurtain.integrations.clients.report import ClientReport
from ironcurtain.integrations.clients.target import ConfigLocation, places, read_target
from ironcurtain.integrations.clients.unwrap import unwrap
from ironcurtain.integrations.clients.wrap import ProxyCommand, wrap
from ironcurtain.servers.config import load_servers
from ironcurtain.system import yaml_text

CORPUS = Path(__file__).parents[3] / "fixtures" / "client_formats"
FILES = {
    "codex": "codex.toml",
    "goose": "goose.yaml",
    "continue": "continue.yaml",
    "opencode": "opencode.jsonc",
    "zed": "zed.json",
    "gemini": "gemini.json",
    "qwen": "gemini.json",
    "cline": "cline.json",
}
COMMAND = ProxyCommand(("/opt/bin/ironcurtain", "proxy"), ("--bundle", "/etc/päckchen"), {"PATH": "/bin"})
TOOLS = {"files": ("read_file", "list", "remove"), "git": ("status", "push")}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "home"
    found.mkdir()
    monkeypatch.setenv("HOME", str(found))
    for name in ("IRONCURTAIN_HOME", "XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return found


def placed(client: str, text: str | None = None) -> ConfigLocation:
    """Write a client's file where the client has it."""
    path = next(path for path in user_files(CLIENTS[client]) if path.suffix == Path(FILES[client]).suffix)
    path.parent.mkdir(parents=True)
    path.write_bytes((CORPUS / FILES[client]).read_bytes() if text is None else text.encode())
    return next(place for place in places(client, "user", Path.cwd()) if place.path == path)


def wrapped(place: ConfigLocation, **more: Any) -> ClientReport:
    return wrap(place, COMMAND, search_path="/usr/bin:/bin", tools=TOOLS, **more)


@pytest.mark.parametrize("client", FILES)
def test_the_servers_move_and_come_back_byte_for_byte(client: str) -> None:
    place = placed(client)
    before, original = read_target(place).document, place.path.read_bytes()
    report = wrapped(place)
    after = read_target(place).document
    assert {"files", "git"} <= {*report.moved}
    left = {name: value for name, value in before.entries.items() if name not in report.moved}
    assert {name: value for name, value in after.entries.items() if name != "ironcurtain"} == left
    entry: Any = after.entries["ironcurtain"]
    assert (entry["command"], entry["args"][0]) == ("/opt/bin/ironcurtain", "proxy")
    assert entry["env"] == {"PATH": "/bin"}
    moved = load_servers(Path(report.servers or "")).servers
    assert {*moved} == {*report.moved}
    assert Path(moved["files"].command or "").name == "mcp-files"
    assert wrapped(place).status == "unchanged"
    unwrap(place)
    assert place.path.read_bytes() == original


@pytest.mark.parametrize("client", FILES)
def test_all_else_stays_to_the_letter(client: str) -> None:
    place = placed(client)
    lines = place.path.read_text().splitlines()
    wrapped(place)
    after = place.path.read_text().splitlines()
    assert [line for line in after if line in lines]
    for comment in (
        "# What the projects",
        "# the end",
        "# goose's own",
        "# after it",
        "# a part",
        "// Zed's",
    ):
        assert [line for line in lines if comment in line] == [line for line in after if comment in line]


@pytest.mark.parametrize("client", FILES)
def test_what_others_change_elsewhere_stays_when_the_servers_come_back(client: str) -> None:
    place = placed(client)
    before = read_target(place).document.entries
    wrapped(place)
    text = place.path.read_text()
    changed = text.replace("dark", "light").replace("smart_approve", "auto").replace("ollama", "openai")
    place.path.write_text(
        changed.replace(": 16", ": 17").replace(": 30", ": 31") if client == "zed" else changed
    )
    unwrap(place)
    assert read_target(place).document.entries == before
    assert "smart_approve" not in place.path.read_text()
    assert "dark" not in place.path.read_text()


@pytest.mark.parametrize("client", FILES)
def test_line_ends_of_windows_stay(client: str) -> None:
    text = (CORPUS / FILES[client]).read_text().replace("\n", "\r\n")
    place = placed(client, text)
    wrapped(place)
    data = place.path.read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    unwrap(place)
    assert place.path.read_bytes() == text.encode()


def test_the_entry_is_in_the_words_of_its_client() -> None:
    places_of = {client: placed(client) for client in ("codex", "goose", "continue", "opencode", "zed")}
    for place in places_of.values():
        wrapped(place)
    texts = {client: place.path.read_text() for client, place in places_of.items()}
    assert tomllib.loads(texts["codex"])["mcp_servers"]["ironcurtain"]["command"] == "/opt/bin/ironcurtain"
    goose: Any = yaml_text.parse(texts["goose"], "goose")
    assert goose["extensions"]["ironcurtain"]["cmd"] == "/opt/bin/ironcurtain"
    assert goose["extensions"]["ironcurtain"]["name"] == "ironcurtain"
    listed: Any = yaml_text.parse(texts["continue"], "continue")
    assert [server.get("name") for server in listed["mcpServers"]] == ["ironcurtain", None]
    opencode: Any = edit.parse(texts["opencode"], "opencode").fields["mcp"]
    assert opencode["ironcurtain"]["command"][:2] == ["/opt/bin/ironcurtain", "proxy"]
    assert opencode["ironcurtain"]["environment"] == {"PATH": "/bin"}
    assert '"source": "custom"' in texts["zed"]


SETTINGS: dict[str, dict[str, Any]] = {
    "codex": {
        "disabled_tools": ["files__remove", "git__push"],
        "startup_timeout_sec": 20,
    },
    "goose": {"available_tools": ["files__read_file", "git__status", "git__push"], "timeout": 600},
    "gemini": {"excludeTools": ["files__list", "files__remove", "git__push"], "timeout": 600_000},
    "cline": {
        "autoApprove": ["files__read_file", "files__list"],
        "alwaysAllow": ["git__status"],
        "timeout": 60,
    },
    "opencode": {"timeout": 9000},
}


@pytest.mark.parametrize("client", SETTINGS)
def test_filters_and_settings_are_carried_over(client: str) -> None:
    place = placed(client)
    report = wrapped(place, dry_run=True)
    notes, expected = "\n".join(report.notes), SETTINGS[client]
    for key, value in expected.items():
        assert (report.entry or {})[key] == value
        assert f"{key} is carried over" in notes
        assert key in report.diff
    assert ("trust of files is lost" in notes) == (client == "gemini")
    assert "trust" not in (report.entry or {})


def test_trust_holds_where_every_server_had_it() -> None:
    place = placed("gemini", '{"mcpServers": {"files": {"command": "mcp-files", "trust": true}}}')
    assert (wrapped(place).entry or {})["trust"] is True


def test_servers_of_the_client_itself_are_left_to_it() -> None:
    left = {
        client: wrapped(placed(client)).left for client in ("codex", "goose", "zed", "gemini", "continue")
    }
    reasons = {
        client: [(each.name, each.reason, each.outside) for each in found] for client, found in left.items()
    }
    assert reasons["goose"] == [("developer", "it is a part of the client, and no MCP server", False)]
    assert reasons["zed"] == [("mcp-server-postgres", "it is a part of the client, and no MCP server", False)]
    assert reasons["codex"] == [("off", "it is switched off", False)]
    assert [(name, outside) for name, _, outside in reasons["gemini"]] == [("events", True)]
    assert [outside for _, _, outside in reasons["continue"]] == [True]


@pytest.mark.parametrize(
    ("client", "text", "entry"),
    [
        (
            "codex",
            '[mcp_servers]\nfiles = { command = "mcp-files" }\n',
            'ironcurtain = { command = "',
        ),
        ("codex", 'mcp_servers.files.command = "mcp-files"\n', 'ironcurtain = { command = "'),
        (
            "goose",
            "extensions: {files: {type: stdio, name: files, cmd: mcp-files}}\n",
            'ironcurtain: {"type": "stdio"',
        ),
        ("continue", "mcpServers: [{name: files, command: mcp-files}]\n", '- {"name": "ironcurtain"'),
        (
            "goose",
            "extensions:\n  files: &f\n    type: stdio\n    cmd: mcp-files\nother: *f\n",
            'ironcurtain: {"type": "stdio"',
        ),
    ],
)
def test_what_cannot_be_replaced_is_an_error_with_the_entry(client: str, text: str, entry: str) -> None:
    place = placed(client, text)
    with pytest.raises(UsageError, match="cannot be replaced") as caught:
        wrapped(place)
    assert entry in caught.value.hint
    assert "/opt/bin/ironcurtain" in caught.value.hint
    assert place.path.read_text() == text


@pytest.mark.parametrize(("client", "name"), [("codex", "TOML"), ("goose", "YAML"), ("zed", "JSON")])
def test_a_broken_file_is_called_by_its_own_format(client: str, name: str) -> None:
    place = placed(client, "{[: broken")
    with pytest.raises(FormatError, match=f"not valid {name}"):
        wrapped(place)


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("codex", ".codex/config.toml"),
        ("continue", ".continue/config.yaml"),
        ("gemini", ".gemini/settings.json"),
        ("goose", ".config/goose/config.yaml"),
        ("opencode", ".config/opencode/opencode.json"),
        ("qwen", ".qwen/settings.json"),
        ("zed", ".config/zed/settings.json"),
    ],
)
def test_a_file_is_known_by_its_name_too(client: str, path: str, home: Path) -> None:
    assert [place.client for place in places(str(home / path), None, home)] == [client]
    assert user_files(CLIENTS[client], "linux")[0] == home / path


def test_what_codex_takes_from_its_environment_goes_through_the_proxy() -> None:
    text = """\
[mcp_servers.files]
command = "mcp-files"
env_vars = ["FILES_TOKEN", "HOME"]

[mcp_servers.web]
url = "https://web.example/mcp"
bearer_token_env_var = "WEB_TOKEN"
env_http_headers = { "X-Team" = "TEAM" }
"""
    place = placed("codex", text)
    report = wrapped(place)
    assert (report.entry or {})["env_vars"] == ["FILES_TOKEN", "TEAM", "WEB_TOKEN"]
    servers = load_servers(Path(report.servers or "")).servers
    assert servers["files"].env["FILES_TOKEN"] == "${FILES_TOKEN}"
    assert servers["web"].headers == {"Authorization": "Bearer ${WEB_TOKEN}", "X-Team": "${TEAM}"}
    unwrap(place)
    assert place.path.read_text() == text
