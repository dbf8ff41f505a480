"""Attack: a client's configuration that came from somebody else, as one of a project, is wrapped.

It may not speak for itself about its sandbox, hold up or end the command, style the terminal, or reach files.

Held by: reading strictly, with bounds; our own settings count in our own file alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.deployments.wrapped import COMMAND, client_file

from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.clients.report import ClientReport
from ironcurtain.integrations.clients.wrap import wrap

PLAIN = '{"mcpServers": {"a": {"command": "/bin/sh"}}}'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "mcp.json"


def wrapped(file: Path) -> ClientReport:
    return wrap(client_file(file, variables=True), COMMAND, search_path="/usr/bin:/bin")


def servers(report: ClientReport) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(report.servers or "").read_text())
    return document


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sandbox", False),
        ("sandbox", {"filesystem": {"allowWrite": ["/"]}, "network": {"allowedDomains": ["*"]}}),
        ("passMeta", ["anything"]),
        ("workingRoot", "/"),
        ("tools", "/etc/passwd"),
    ],
)
def test_a_server_says_itself_how_it_is_contained(file: Path, key: str, value: Any) -> None:
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "/bin/sh", key: value}}}))
    report = wrapped(file)
    assert servers(report)["mcpServers"]["a"].keys() == {"command", "env", "cwd"}
    assert any(key in note for note in report.notes)


def test_the_file_says_how_all_servers_are_contained(file: Path) -> None:
    file.write_text(PLAIN[:-1] + ', "sandbox": {"policy": "skip"}}')
    assert servers(wrapped(file)).keys() == {"mcpServers"}


def a_pipe(file: Path) -> None:
    os.mkfifo(file)


def a_device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def links_in_a_circle(file: Path) -> None:
    file.symlink_to(file)


def more_bytes_than_anybody_needs(file: Path) -> None:
    file.write_bytes(b" " * (33 << 20))


def state(file: Path) -> tuple[int, ...]:
    """Return what a change of a file changes; reading it changes when it was read last."""
    status = file.lstat()
    return (
        status.st_mode,
        status.st_ino,
        status.st_nlink,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def deep_nesting(file: Path) -> None:
    file.write_text('{"x": ' + "[" * 100_000)


def deep_nesting_in_a_server(file: Path) -> None:
    file.write_text('{"mcpServers": {"a": ' + '{"env": ' * 5000 + "1" + "}" * 5002)


def more_servers_than_anybody_has(file: Path) -> None:
    file.write_text(json.dumps({"mcpServers": {f"s{n}": {"command": "sh"} for n in range(20_000)}}))


def two_lists_of_servers(file: Path) -> None:
    file.write_text('{"mcpServers": {"a": {"command": "sh"}}, "mcpServers": {"b": {"command": "sh"}}}')


def two_servers_of_one_name(file: Path) -> None:
    file.write_text('{"mcpServers": {"a": {"command": "sh"}, "\\u0061": {"command": "/bin/false"}}}')


def two_programs_of_one_server(file: Path) -> None:
    file.write_text('{"mcpServers": {"a": {"command": "sh", "command": "/bin/false"}}}')


def a_number_that_never_ends(file: Path) -> None:
    file.write_text('{"mcpServers": {"a": {"command": "sh", "x": ' + "9" * 10_000 + "}}}")


def a_name_that_is_a_path(file: Path) -> None:
    file.write_text(PLAIN.replace('"a"', '"../../a"'))


def a_name_that_is_a_command(file: Path) -> None:
    file.write_text(PLAIN.replace('"a"', '"a; touch $(touch planted)"'))


def a_name_that_clears_the_terminal(file: Path) -> None:
    file.write_text(PLAIN.replace('"a"', r'"\u001b[2J\u202ea\nb"'))


def our_own_name(file: Path) -> None:
    file.write_text(PLAIN.replace('"a"', '"ironcurtain"'))


@pytest.mark.parametrize(
    "make",
    [
        a_pipe,
        a_device,
        links_in_a_circle,
        more_bytes_than_anybody_needs,
        deep_nesting,
        deep_nesting_in_a_server,
        more_servers_than_anybody_has,
        two_lists_of_servers,
        two_servers_of_one_name,
        two_programs_of_one_server,
        a_number_that_never_ends,
        a_name_that_is_a_path,
        a_name_that_is_a_command,
        a_name_that_clears_the_terminal,
        our_own_name,
    ],
)
def test_it_is_refused_in_a_sentence_and_left_as_it_is(file: Path, make: Callable[[Path], None]) -> None:
    make(file)
    before = state(file)
    with pytest.raises(IronCurtainError) as refused:
        wrapped(file)
    assert f"{refused.value.what}{refused.value.hint or ''}".isprintable()
    assert state(file) == before
    assert not list(file.parent.rglob("planted"))


@pytest.mark.parametrize("whose", ["file", "directory"])
def test_another_user_can_change_it(file: Path, whose: str) -> None:
    """What is written into our own file then passes for ours: it is said whose it may be."""
    file.write_text(PLAIN)
    assert not wrapped(file).notes
    place = file if whose == "file" else file.parent
    place.chmod(0o777)
    assert any("another user can say what these servers are" in note for note in wrapped(file).notes)
