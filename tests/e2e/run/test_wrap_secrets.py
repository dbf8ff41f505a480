"""Tokens of wrapped servers: in a real key store where there is one, else in a private file."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from e2e.program import PROGRAM, ROOT, SHIPPED
from support.deployments.wrapped import ANY_SERVER

TOKEN = "ghp_sécret/0123456789abcdef"
HEADER = "Bearer 0123456789abcdef"
NEEDS_KEYRING = pytest.mark.skipif(
    not (find_spec("keyring") and shutil.which("dbus-run-session") and shutil.which("gnome-keyring-daemon")),
    reason="needs a key store: keyring, dbus-run-session and gnome-keyring-daemon",
)
# A desktop's session: a bus of its own, and a key store that the login's password has unlocked.
SESSION = (
    "dbus-run-session",
    "--",
    "sh",
    "-c",
    'printf login | gnome-keyring-daemon --unlock --components=secrets > /dev/null 2>&1; exec "$@"',
    "session",
)
START = """
import sys
from pathlib import Path
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.connect import parameters
config = load_servers(Path(sys.argv[1]))
print(parameters("hub", config).env["HUB_TOKEN"])
"""


@dataclass
class Ended:
    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a client's file; the token stands in it in two spellings of JSON, and in no order of ours."""
    (tmp_path / "home").mkdir()
    file = tmp_path / "home" / "mcp.json"
    escaped = json.dumps(TOKEN)[1:-1].replace("/", "\\/")
    file.write_bytes(
        f"""{{"mcpServers" : {{
  "hub": {{"command": "{ANY_SERVER}", "env": {{"HUB_TOKEN": "{escaped}", "HUB_HOST": "hub.example.com"}}}},
  "far": {{"url": "https://far.example/mcp", "headers": {{"Authorization": "{HEADER}"}}}},
  "own": {{"command": "{ANY_SERVER}", "env": {{"API_KEY": "none", "OTHER_TOKEN": "{TOKEN}"}}}} }} ,
  "theme":"dark"}}""".encode()
    )
    return file


@pytest.fixture
def run(tmp_path: Path) -> Run:
    home = tmp_path / "home"
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "XDG_RUNTIME_DIR": str(tmp_path),
    }

    def run(*command: str, session: bool = True) -> Ended:
        ended = subprocess.run(
            [*(SESSION if session else ()), *command],
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=120,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run


def generation(tmp_path: Path) -> Path:
    (servers,) = (tmp_path / "home" / ".ironcurtain" / "clients").glob("*/*/mcp-servers.json")
    return servers.parent


def everything_below(directory: Path) -> bytes:
    """Return all that our files hold, as text and as JSON writes it."""
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def holds_a_secret(content: bytes) -> bool:
    spellings = {TOKEN, json.dumps(TOKEN)[1:-1], json.dumps(TOKEN)[1:-1].replace("/", "\\/"), HEADER}
    return any(each.encode() in content for each in spellings)


@NEEDS_KEYRING
def test_secrets_are_in_the_key_store_and_in_no_file_of_ours_until_unwrapped(
    file: Path, run: Run, tmp_path: Path
) -> None:
    before = file.read_bytes()
    wrapped = run(*PROGRAM, "wrap", str(file), "--bundle", str(SHIPPED), "--yes")
    assert wrapped.code == 0, wrapped.err
    assert (
        "2 secrets (hub HUB_TOKEN, far Authorization): in the system's key store, and in no file"
        in wrapped.err
    )
    ours = generation(tmp_path)
    assert not holds_a_secret(everything_below(tmp_path / "home" / ".ironcurtain"))
    servers = json.loads((ours / "mcp-servers.json").read_text())["mcpServers"]
    assert servers["hub"]["env"]["HUB_TOKEN"].startswith("${keyring:")
    assert servers["hub"]["env"]["HUB_HOST"] == "hub.example.com"
    assert servers["own"]["env"]["OTHER_TOKEN"] == servers["hub"]["env"]["HUB_TOKEN"]
    assert servers["own"]["env"]["API_KEY"] == "none"
    assert "DBUS_SESSION_BUS_ADDRESS" in json.loads(file.read_bytes())["mcpServers"]["ironcurtain"]["env"]

    started = run(sys.executable, "-c", START, str(ours / "mcp-servers.json"))
    assert started.out.strip() == TOKEN, started.err
    lost = run(sys.executable, "-c", START, str(ours / "mcp-servers.json"), session=False)
    assert lost.code != 0
    assert "cannot be read" in lost.err

    names = json.loads((ours / "record.json").read_text())["secrets"]
    assert len(names) == 2
    refused = run(*PROGRAM, "unwrap", str(file), session=False)
    assert refused.code != 0
    assert "key store" in refused.err
    unwrapped = run(*PROGRAM, "unwrap", str(file))
    assert unwrapped.code == 0, unwrapped.err
    assert file.read_bytes() == before
    code = "import keyring, sys; print([keyring.get_password('ironcurtain', n) for n in sys.argv[1:]])"
    assert run(sys.executable, "-c", code, *names).out.strip() == "[None, None]"


@NEEDS_KEYRING
def test_a_server_that_is_added_to_a_wrapped_file_keeps_the_secrets_of_the_others(
    file: Path, run: Run, tmp_path: Path
) -> None:
    wrap = (*PROGRAM, "wrap", str(file), "--bundle", str(SHIPPED), "--yes")
    assert run(*wrap).code == 0
    document = json.loads(file.read_text())
    document["mcpServers"]["late"] = {"command": ANY_SERVER, "env": {"LATE_SECRET": "late-0123456789"}}
    file.write_text(json.dumps(document))
    again = run(*wrap)
    assert again.code == 0, again.err
    ours = generation(tmp_path)
    assert not holds_a_secret(everything_below(ours))
    assert b"late-0123456789" not in everything_below(ours)
    assert run(sys.executable, "-c", START, str(ours / "mcp-servers.json")).out.strip() == TOKEN
    unwrapped = run(*PROGRAM, "unwrap", str(file))
    assert unwrapped.code == 0, unwrapped.err
    restored = json.loads(file.read_text())["mcpServers"]
    assert restored["hub"]["env"]["HUB_TOKEN"] == TOKEN
    assert restored["late"]["env"]["LATE_SECRET"] == "late-0123456789"


def test_without_a_key_store_secrets_are_in_a_file_for_the_user_alone_and_that_is_said(
    file: Path, run: Run, tmp_path: Path
) -> None:
    before = file.read_bytes()
    wrapped = run(*PROGRAM, "wrap", str(file), "--bundle", str(SHIPPED), "--yes", session=False)
    assert wrapped.code == 0, wrapped.err
    servers = generation(tmp_path) / "mcp-servers.json"
    told = "2 secrets (hub HUB_TOKEN, far Authorization): in "
    assert told in wrapped.err
    assert "which you alone can read (0600): there is no key store here that can be used" in wrapped.err
    assert stat.S_IMODE(servers.stat().st_mode) == 0o600
    assert stat.S_IMODE(servers.parent.stat().st_mode) == 0o700
    assert json.loads(servers.read_text())["mcpServers"]["hub"]["env"]["HUB_TOKEN"] == TOKEN
    assert run(sys.executable, "-c", START, str(servers), session=False).out.strip() == TOKEN
    assert run(*PROGRAM, "unwrap", str(file), session=False).code == 0
    assert file.read_bytes() == before


def test_a_clients_file_that_names_a_secret_of_another_server_does_not_get_it(
    file: Path, run: Run, tmp_path: Path
) -> None:
    """A file can come with a project, from anybody, and the names of secrets can be computed."""
    servers = {
        "thief": {
            "command": ANY_SERVER,
            "env": {"LOOT": "${keyring:mcp-json-0123456789ab/0123456789ab/hub/HUB_TOKEN}"},
        },
        "own": {"command": ANY_SERVER},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    wrapped = run(*PROGRAM, "wrap", str(file), "--bundle", str(SHIPPED), "--yes", session=False)
    assert "OUTSIDE the policy: thief: it names a secret of the key store" in wrapped.err
    assert "thief" not in (generation(tmp_path) / "mcp-servers.json").read_text()
