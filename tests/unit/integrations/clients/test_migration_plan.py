"""What a client's server becomes behind the proxy, and what has to stay with the client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.documents import text_at

from ironcurtain.errors import ServerConfigError
from ironcurtain.integrations.clients.migration_plan import Sorted, handed_on, sort
from ironcurtain.integrations.clients.ready import check_runnable
from ironcurtain.integrations.clients.target import places

NAME = "a policy cannot have its name"
STAYS: list[tuple[str, dict[str, Any], str, bool]] = [
    ("a", {"command": "x", "disabled": True}, "switched off", False),
    ("a", {"command": "x", "enabled": False}, "switched off", False),
    ("a", {"command": "x", "args": ["${input:key}"]}, "variables", True),
    ("a", {"command": "x", "args": ["${workspaceFolderBasename}"]}, "variables", True),
    ("a", {"command": "x", "args": ["${fileDirname}"]}, "variables", True),
    ("a", {"url": "https://${K}/mcp", "headers": {"A": "${command:x}"}}, "variables", True),
    ("a", {"command": "x", "env": {"K": "${K:-${keyring:a}}"}}, "key store", True),
    ("a", {"command": "x", "envFile": ".env"}, "envFile", True),
    ("a", {"url": "https://h/mcp", "headersHelper": "x"}, "headersHelper", True),
    ("a", {"url": "https://h/mcp", "oauth": {}}, "oauth", True),
    ("a", {"type": "sse", "url": "https://h/sse"}, 'transport, "sse"', True),
    ("a", {"type": "\x1b[2J", "url": "https://h"}, r"transport, \"\x1b[2J\"".replace('\\"', '"'), True),
    ("my server", {"command": "x"}, NAME, True),
    ("a__b", {"command": "x"}, NAME, True),
    ("a" * 64, {"command": "x"}, NAME, True),
    ("../a", {"command": "x"}, NAME, True),
    ("a", {"serverUrl": "https://h"}, "give command, url, tools, gateway or builtin", True),
    ("a", {"command": "x", "url": "https://h"}, "not both", True),
    ("a", {"command": "x", "args": "y"}, "/args", True),
    ("a", {"command": ["x"]}, "/command", True),
    ("a", {"command": "x", "env": {"K": 1}}, "/env/K", True),
    ("a", {"command": "x", "env": ["K"]}, "/env", True),
    ("a", {"command": "x", "arg": []}, 'nearly "args"', True),
    ("a", {"command": "x", "args": ["\ud800"]}, "surrogate", True),
]


def sorted_(client: str, name: str, server: dict[str, Any], cwd: Path) -> Sorted:
    return sort({name: server}, places(client, None, cwd)[0], (), "/usr/bin:/bin")


@pytest.mark.parametrize(
    ("name", "server", "reason", "outside"),
    STAYS,
    ids=[f"{n}-{each[2][:12]}" for n, each in enumerate(STAYS)],
)
def test_what_stays(name: str, server: dict[str, Any], reason: str, outside: bool, tmp_path: Path) -> None:
    found = sorted_("cursor", name, server, tmp_path)
    assert found.moved == {}
    (left,) = found.left
    assert reason in left.reason
    assert left.outside is outside


def test_programs_and_directories_are_absolute(tmp_path: Path) -> None:
    server = {"command": "sh", "args": ["-c", "x"], "alwaysAllow": ["t"]}
    moved = sorted_("cursor", "a", server, tmp_path).moved["a"]
    assert Path(text_at(moved.pop("command"))) in {Path("/bin/sh"), Path("/usr/bin/sh")}
    path = {"PATH": "/usr/bin:/bin"}
    assert moved == {"args": ["-c", "x"], "cwd": str(tmp_path), "env": path}
    relative = {"command": "./bin/../s", "cwd": "sub/.", "env": {"PATH": "/opt", "K": "v"}}
    moved = sorted_("cursor", "a", relative, tmp_path).moved["a"]
    assert moved == {
        "command": str(tmp_path / "sub" / "s"),
        "cwd": str(tmp_path / "sub"),
        "env": {"PATH": "/opt", "K": "v"},
    }


def test_known_variables_are_filled_in_and_a_desktop_client_knows_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    server = {"command": "/x", "args": ["${userHome}/a", "${workspaceFolder}/b"]}
    assert sorted_("vscode", "a", server, tmp_path).moved["a"]["args"] == ["/home/ann/a", f"{tmp_path}/b"]
    literal = {"command": "/x", "args": ["${userHome}"]}
    assert sorted_("claude-desktop", "a", literal, tmp_path).moved["a"]["args"] == ["${userHome}"]


@pytest.mark.parametrize("client", ["cursor", "claude-code", "claude-desktop"])
def test_variables_of_the_environment_move_unfilled_and_the_client_hands_them_on(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "a-secret-of-the-user")
    server = {
        "command": "/x",
        "args": ["--token=${HUB_TOKEN}", "${LD_PRELOAD:-/tmp/evil.so}", "${IRONCURTAIN_HOME:-/tmp}"],
        "env": {"A": "${env:HUB_TOKEN}", "PATH": "${PATH}"},
    }
    moved = sorted_(client, "a", server, tmp_path).moved
    assert (moved["a"]["args"], moved["a"]["env"]) == (server["args"], server["env"])
    given = handed_on(moved, places(client, None, tmp_path)[0])
    assert (
        given
        == {
            "cursor": {"HUB_TOKEN": "${env:HUB_TOKEN}", "LD_PRELOAD": "${env:LD_PRELOAD}"},
            "claude-code": {"HUB_TOKEN": "${env:HUB_TOKEN}", "LD_PRELOAD": "${LD_PRELOAD:-}"},
            "claude-desktop": {},
        }[client]
    )


def test_remote_servers_move_as_they_are(tmp_path: Path) -> None:
    server = {"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}}
    found = sorted_("claude-code", "a", server, tmp_path)
    assert (found.moved, found.notes) == ({"a": server}, ())
    bare = sorted_("claude-code", "a", {"url": "https://h/mcp"}, tmp_path)
    assert "OAuth" in bare.notes[0]


NEVER_RUN = {
    "no program": ({"command": "no-such-program"}, 'the command "no-such-program" was not found'),
    "a container": ({"command": "docker", "args": ["run", "x"]}, '"docker" needs a socket'),
    "no registry": ({"command": "npx", "args": ["git+https://x/y"]}, "is no package of a registry"),
}


@pytest.mark.parametrize(("server", "reason"), NEVER_RUN.values(), ids=NEVER_RUN)
def test_what_would_not_run_is_refused_with_what_helps(
    server: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    place = places("cursor", None, tmp_path)[0]
    servers = {"fine": {"command": "sh"}, "a": server}
    moved = sort(servers, place, (), "/usr/bin:/bin").moved
    with pytest.raises(ServerConfigError) as refused:
        check_runnable(moved, place)
    assert refused.value.what.startswith("a would not run behind the proxy: ")
    assert reason in refused.value.what
    assert "`ironcurtain wrap cursor --only fine …`" in refused.value.hint
    check_runnable({"a": {**moved["a"], "command": "/bin/sh", "args": []}}, place)
