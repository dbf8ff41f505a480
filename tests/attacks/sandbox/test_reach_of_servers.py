"""Attack: a server that somebody has taken over reads and writes what no rule gives to it.

Held by: mounts that are made from the rules, without what nothing opens: keys, sign-ins, project, programs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.sandbox.profile import SandboxInputs, build_profile
from ironcurtain.enforcement.sandbox.reach.reach import NOTHING, Reach, reach_of
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.system.structs import replace

MARK = "a-file-of-the-home"
TOOLS = {
    "clock": [tool("now", contained=False, zone=["none"])],
    "files": [tool("read", path=["read-path"]), tool("write", path=["write-path", "delete-path"])],
}
RULES = [
    rule("clock", "allow", server=["clock"]),
    rule("no-documents", "deny", paths={"roles": ["write-path", "delete-path"], "within": ["~/Documents"]}),
    rule("files", "escalate", roles=["read-path", "write-path", "delete-path"], server=["files"]),
]


class Home(Scene):
    """A home with files in many places, a policy's project and another server's program."""

    reach: Reach = NOTHING

    def fill(self) -> None:
        for place in ("Documents", "notes", ".config/app", ".cache", "policy/generated", "apps/other"):
            (self.home / place).mkdir(parents=True)
            (self.home / place / "file").write_text(MARK)
        (self.home / ".bashrc").write_text(MARK)
        (self.home / "policy" / "constitution.md").write_text(MARK)
        (self.home / "policy" / "mcp-servers.json").write_text(MARK)
        (self.home / "apps" / "other" / "server.py").write_text(MARK)
        (self.home / "apps" / "other" / "pyproject.toml").write_text("")

    def config(self, **server: Any) -> ServerConfig:
        made = super().config(**server)
        other = {"command": "python3", "args": [str(self.home / "apps" / "other" / "server.py")]}
        return replace(made, servers={**made.servers, "other": Server.model_validate_json(json.dumps(other))})

    def grounds(self, config: ServerConfig) -> SandboxInputs:
        project = self.home / "policy"
        return replace(
            super().grounds(config),
            configuration=(project / "mcp-servers.json", project / "constitution.md", project / "lists"),
            reaches={"escaping": self.reach},
        )


@pytest.fixture
def scene(tmp_path: Path) -> Home:
    made = Home(tmp_path / "scene")
    made.fill()
    return made


@pytest.fixture
def reaches(tmp_path: Path) -> dict[str, Reach]:
    content = PolicyContent.of(Bundle.read(write_bundle(tmp_path, TOOLS, RULES)))
    return {name: reach_of(content, name) for name in TOOLS}


def tried(paths: list[Path]) -> str:
    """Return a script that tries to write files and tells which it could."""
    return "; ".join(f"echo {MARK} 2>/dev/null > {path} && echo {path} >&2" for path in paths) + "; true"


@NEEDS_SANDBOX
def test_a_clock_sees_nothing_of_the_home(scene: Home, reaches: dict[str, Reach]) -> None:
    scene.reach = reaches["clock"]
    look = f"ls -A {scene.home} >&2; grep -rsl {MARK} {scene.home} {scene.inside} >&2; echo looked >&2"
    assert scene.run(look) == ["looked"]


@NEEDS_SANDBOX
def test_a_clock_leaves_nothing_in_the_home_and_the_sandbox(scene: Home, reaches: dict[str, Reach]) -> None:
    scene.reach = reaches["clock"]
    before = sorted(scene.root.rglob("*"))
    scene.run(tried([scene.home / "Documents" / "new", scene.home / ".profile", scene.inside / "new"]))
    assert sorted(scene.root.rglob("*")) == before


@NEEDS_SANDBOX
def test_a_server_that_may_be_asked_to_write_anywhere_plants_no_program(
    scene: Home, reaches: dict[str, Reach]
) -> None:
    scene.reach = reaches["files"]
    home = scene.home
    wanted = [home / "notes" / "new", home / "apps" / "new"]
    refused = [
        *(home / name for name in (".bashrc", ".bash_profile", ".config/app/file", "new")),
        home / "Documents" / "new",
        home / "policy" / "constitution.md",
        home / "policy" / "lists",
        home / "policy" / "scenarios.yaml",
        home / "apps" / "other" / "server.py",
        scene.outside / "new",
    ]
    assert scene.run(tried([*wanted, *refused])) == [str(path) for path in wanted]
    assert not (home / "policy" / "lists").exists(), "nothing stands in where the project is held as a whole"
    assert (home / "apps" / "other" / "server.py").read_text() == MARK


@NEEDS_SANDBOX
def test_it_reads_neither_the_projects_configuration_nor_sign_ins(
    scene: Home, reaches: dict[str, Reach]
) -> None:
    scene.reach = reaches["files"]
    (scene.home / ".claude.json").write_text(MARK)
    found = scene.run(f"grep -rsl {MARK} {scene.home} >&2; true")
    kept = {".claude.json", "mcp-servers.json", "constitution.md"}
    assert not {Path(path).name for path in found} & kept
    assert str(scene.home / "notes" / "file") in found


@pytest.mark.parametrize(
    "place", ["~/.ssh", "~/.ssh/id_ed25519", "~/.ironcurtain", "~/policy/constitution.md"]
)
def test_no_rule_opens_keys_and_the_project(scene: Home, tmp_path: Path, place: str) -> None:
    within = {"roles": ["read-path", "write-path", "delete-path"], "within": [place]}
    content = PolicyContent.of(
        Bundle.read(write_bundle(tmp_path, TOOLS, [rule("one", "allow", paths=within)]))
    )
    scene.reach = reach_of(content, "files")
    config = scene.config()
    made = build_profile("escaping", config.servers["escaping"], scene.grounds(config))
    named = str(scene.home.resolve() / place[2:])
    opened = {str(path) for path in (*made.allow_read, *made.allow_write)}
    assert not any(path.startswith(named) or named.startswith(f"{path}/") for path in opened - {"/"})


def test_a_configuration_takes_away_from_what_rules_open(scene: Home, reaches: dict[str, Reach]) -> None:
    scene.reach = reaches["files"]
    config = scene.config(sandbox={"filesystem": {"denyWrite": ["~"]}})
    made = build_profile("escaping", config.servers["escaping"], scene.grounds(config))
    assert made.allow_write == (scene.inside.resolve(),)
