"""Variables in entries are filled in when a server is started, and nothing is put together from them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from ironcurtain.errors import ServerConfigError
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.permitted import needs
from ironcurtain.servers.server_process import ServerStart


def started(directory: Path, **entry: object) -> ServerStart:
    file = directory / "mcp-servers.json"
    file.write_text(json.dumps({"mcpServers": {"hub": {"command": sys.executable, **entry}}}))
    config = load_servers(file)
    before = file.read_bytes()
    start = parameters("hub", config)
    assert file.read_bytes() == before
    assert "a-secret" not in repr(config)
    return start


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = {"ODD": "${keyring:x} ${HUB_TOKEN}", "SELF": "${env:SELF}"}
    for name, value in {"HUB_TOKEN": "a-secret", "EMPTY": "", **odd}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NOBODYS", raising=False)


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Bearer ${HUB_TOKEN}!", "Bearer a-secret!"),
        ("${env:HUB_TOKEN}", "a-secret"),
        ("${HUB_TOKEN:-other}", "a-secret"),
        ("${NOBODYS:-other one}", "other one"),
        ("${EMPTY:-other}", "other"),
        ("${NOBODYS:-}", ""),
        ("${EMPTY}", ""),
        ("${SELF:-other}", "other"),
        ("${ODD}", "${keyring:x} ${HUB_TOKEN}"),  # what is filled in is not read again
        ("$HUB_TOKEN ${} ${input:x} ${1}", "$HUB_TOKEN ${} ${input:x} ${1}"),
        ("${NOBODYS:-${EMPTY}", "${NOBODYS:-"),
    ],
)
def test_a_variable_is_filled_in(text: str, filled: str, tmp_path: Path) -> None:
    start = started(tmp_path, args=["--x", text], env={"A": text})
    assert start.env is not None
    assert (start.args[-1], start.env["A"]) == (filled, filled)
    assert "HUB_TOKEN" not in start.env


@pytest.mark.usefixtures("variables")
def test_what_is_not_set_in_the_line_of_a_shell_is_left_to_the_shell(tmp_path: Path) -> None:
    line = "for NOBODYS in a b; do echo ${NOBODYS} ${HUB_TOKEN}; done"
    start = started(tmp_path, command="bash", args=["-lc", line])
    assert start.args[-1] == "for NOBODYS in a b; do echo ${NOBODYS} a-secret; done"


@pytest.mark.usefixtures("variables")
def test_command_and_directory_are_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLS", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "hub").symlink_to(sys.executable)
    start = started(tmp_path, command="${TOOLS}/bin/hub", cwd="${TOOLS}/bin")
    assert (start.command, start.cwd) == (str(tmp_path / "bin" / "hub"), tmp_path / "bin")


@pytest.mark.usefixtures("variables")
def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerConfigError, match='the variable "NOBODYS" is not set') as caught:
        started(tmp_path, env={"A": "${NOBODYS}"})
    assert "${NOBODYS:-VALUE}" in caught.value.hint


@pytest.mark.usefixtures("variables")
def test_a_reference_to_the_key_store_cannot_be_put_together(tmp_path: Path) -> None:
    start = started(tmp_path, env={"A": "${NOBODYS:-$}{keyring:x}", "B": "${NOBODYS:-${EMPTY}ring:x}"})
    assert start.env is not None
    assert start.env["A"] == "${keyring:x}"
    assert "ring:x}" in start.env["B"]


def test_a_project_needs_a_permission_to_be_given_variables(tmp_path: Path) -> None:
    file = tmp_path / "mcp-servers.json"
    entry = {"command": "x", "args": ["${HOME}/a"], "env": {"A": "${HUB_TOKEN}"}}
    file.write_text(json.dumps({"mcpServers": {"hub": entry}}))
    config = load_servers(file)
    found = needs(config, config.servers["hub"])
    assert found == ("it is given the variable HUB_TOKEN of your environment",)
    assert "HOME" in os.environ
