"""Uninstalling without a trace: tests/journeys/uninstall.md."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from support.documentation.transcript import ROOT
from support.machines.installed import installed
from support.machines.journey import Journey
from support.projects.policies import rule, tool, write_bundle
from support.services.registry import NEEDS_NPM, Packages

SAID = """\
IronCurtain was used: it fetched a server, put the proxy in front of a desktop client, and made a key. Then it
goes, by the commands of docs/uninstall.md."""
PAGE = (ROOT / "docs" / "uninstall.md").read_text()
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0].splitlines()
CLIENT = ".config/Claude/claude_desktop_config.json"
USED = {"mcpServers": {"teller": {"command": "npx", "args": ["-y", "@tests/teller"]}}}


def files(home: Path) -> dict[str, bytes]:
    """Return the files of a home, but the engine that each is given, and what pip's look at Rust leaves."""
    found = {path.relative_to(home).as_posix(): path for path in home.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if not name.startswith((".cache/", ".rustup/"))
    }


@NEEDS_NPM
def test_uninstalling_without_a_trace(
    journey: Callable[..., Journey], packages: Packages, tmp_path: Path
) -> None:
    own = installed(tmp_path, ["mcp"], beside=["pip"])
    you = journey("uninstall", "Uninstalling without a trace", SAID, installed=own, **packages.environment)
    write_bundle(you.home, {"teller": [tool("tell")]}, [rule("telling", "allow", tool=["tell"])])
    you.write(CLIENT, json.dumps(USED, indent=2))
    (you.home / "work").mkdir()
    before = files(you.home)
    you.say("Used")
    you.type("ironcurtain wrap claude-desktop --bundle bundle.tar.gz --sandbox ~/work --yes 2> /dev/null")
    you.type("ironcurtain key new")
    assert files(you.home)[CLIENT] != before[CLIENT]
    you.say("What lies where")
    printed = you.type("ironcurtain doctor 2> /dev/null | grep -E ' (place|client)'")
    assert f"{you.home}/.ironcurtain: keys" in printed
    assert f"{you.home}/.local/share/ironcurtain: fetched" in printed
    you.say("Gone")
    for command in COMMANDS:
        you.type(command, 1 if command == "ironcurtain status" else 0)
    you.type("ironcurtain --version", 127)
    assert not you.type(f"find ~ {own.program.parents[1]} -iname '*ironcurtain*'")
    assert files(you.home) == before
    you.transcript.check()
    shutil.rmtree(own.program.parents[1])
