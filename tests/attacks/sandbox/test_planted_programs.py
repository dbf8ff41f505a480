"""Attack: write a program where we look for one by name: the sandbox, or what another user can write.

Held by: programs found once, by absolute path, where neither tools nor servers nor other users can write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene
from support.projects.policies import rule, tool, write_bundle, write_servers

from ironcurtain import Policy
from ironcurtain.enforcement.proxy.configuration import check_sandbox, places_that_run
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.errors import EngineVersionError, SandboxMissingError, ServerFailedError, UsageError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.structs import replace

PROGRAMS = ("bwrap", "git", "node", "opa", "rg", "socat", "which", "npm")


class Trap:
    """A session whose PATH begins with a directory in its sandbox, where an agent has planted programs."""

    def __init__(self, root: Path) -> None:
        self.sandbox, self.home, self.ran = root / "work", root / "home", root / "ran"
        self.bin = self.sandbox / ".venv" / "bin"
        self.ran.mkdir()
        self.home.mkdir()
        self.bin.mkdir(parents=True)
        servers = write_servers(root, {"s": {"command": "true", "sandbox": False}})
        tools = [tool("status", path={"roles": ["read-path"], "repository": True})]
        self.bundle, self.servers = write_bundle(root, {"s": tools}, []), servers

    def plant(self, *names: str) -> None:
        for name in names:
            program = self.bin / name
            real = shutil.which(name) or "/bin/false"
            program.write_text(f'#!/bin/sh\ntouch "{self.ran / name}"\nexec "{real}" "$@"\n')
            program.chmod(0o755)

    def load(self, **more: Path) -> Policy:
        own: dict[str, Any] = {"sandbox": self.sandbox, "home": self.home, "servers": self.servers}
        return Policy.load(self.bundle, **{**own, **more})

    @property
    def run(self) -> list[str]:
        return sorted(path.name for path in self.ran.iterdir())


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    made = Trap(tmp_path.resolve())
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}{os.environ['PATH']}")
    return made


def test_git_and_opa_in_an_activated_environment_of_the_sandbox_are_not_run(trap: Trap) -> None:
    trap.plant("git", "opa")
    subprocess.run(["git", "init", "-q", str(trap.sandbox)], check=True, env={"PATH": "/usr/bin:/bin"})
    with trap.load() as policy:
        decision = policy.decide("s", "status", {"path": str(trap.sandbox)})
    assert decision.verdict == "allow"
    assert trap.run == []


def test_a_git_that_is_planted_while_the_policy_is_loaded_is_not_run(trap: Trap) -> None:
    with trap.load() as policy:
        trap.plant("git")
        assert policy.decide("s", "status", {"path": str(trap.sandbox)}).verdict == "allow"
    assert trap.run == []


def test_where_git_is_only_in_the_sandbox_the_call_is_denied(
    trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    opa = Path(shutil.which("opa") or "")
    trap.plant("git")
    monkeypatch.setenv("PATH", str(trap.bin))
    with trap.load(opa=opa) as policy:
        decision = policy.decide("s", "status", {"path": str(trap.sandbox)})
    assert decision.verdict == "deny"
    assert "tools or servers can write there" in decision.reason
    assert trap.run == []


def test_an_opa_in_the_sandbox_is_refused_where_it_is_named(trap: Trap) -> None:
    trap.plant("opa")
    with pytest.raises(EngineVersionError, match="tools or servers can write there"):
        trap.load(opa=trap.bin / "opa")
    assert trap.run == []


def test_what_only_leads_into_the_sandbox_lies_in_it(trap: Trap, tmp_path: Path) -> None:
    trap.plant("git")
    (tmp_path / "bin").symlink_to(trap.bin)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "git").symlink_to(trap.bin / "git")
    for entry in ("bin", "one"):
        search = ProgramSearch(f"{tmp_path / entry}{os.pathsep}/usr/bin", (trap.sandbox,))
        assert search.find("git") == Path("/usr/bin/git")


def test_a_directory_of_path_that_others_can_write_is_passed_over(tmp_path: Path) -> None:
    place = tmp_path / "open" / "bin"
    place.mkdir(parents=True)
    (place / "git").symlink_to("/usr/bin/git")
    path = f"{place}{os.pathsep}/usr/bin"
    assert ProgramSearch(path).find("git") == place / "git"
    place.parent.chmod(0o777)
    assert ProgramSearch(path).find("git") == Path("/usr/bin/git")
    assert ProgramSearch(path).safe_path() == "/usr/bin"


def test_rules_let_no_tool_write_where_the_proxys_programs_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is planted there would be run at the next start, or has the place of what runs now."""
    home = tmp_path.resolve() / "home"
    bin_ = home / "bin"
    bin_.mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    rules = [rule("home", "allow", paths={"roles": ["write-path"], "within": ["~"]})]
    bundle = write_bundle(tmp_path, {"s": [tool("write", path=["write-path"])]}, rules)
    protected = places_that_run(str(tmp_path / "work"))
    with Policy.load(bundle, home=home, sandbox=tmp_path / "work", protected=protected) as policy:
        verdicts = [policy.decide("s", "write", {"path": f"{home}/{to}"}) for to in ("notes", "bin/git")]
    assert [each.rule for each in verdicts] == ["home", "structural-protected-path"]


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="nothing of a whole system's is ours alone")
def test_rules_let_no_tool_write_the_libraries_that_the_proxy_runs(tmp_path: Path) -> None:
    """A tool that may write the environment would write code of the next proxy."""
    prefix, library = Path(sys.prefix).resolve(), Path(pytest.__file__).resolve()
    rules = [rule("environment", "allow", paths={"roles": ["write-path"], "within": [str(prefix.parent)]})]
    bundle = write_bundle(tmp_path, {"s": [tool("write", path=["write-path"])]}, rules)
    written = [library, library.parents[1] / "planted.pth", prefix / "pyvenv.cfg", prefix / "bin" / "new"]
    with Policy.load(bundle, home=tmp_path, protected=places_that_run(None)) as policy:
        beside = policy.decide("s", "write", {"path": str(prefix.parent / "notes")})
        verdicts = [policy.decide("s", "write", {"path": str(path)}) for path in written]
    assert beside.rule == "environment"
    assert {each.rule for each in verdicts} == {"structural-protected-path"}


@NEEDS_SANDBOX
def test_what_a_contained_server_plants_does_not_make_the_next_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path / "scene")
    bin_ = scene.inside / "node_modules" / ".bin"
    bin_.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
    ran = tmp_path / "ran"
    plant = "".join(
        f"printf '#!/bin/sh\\ntouch {ran}\\nexec {shutil.which(name)} \"$@\"\\n' > {bin_}/{name}; "
        f"chmod 755 {bin_}/{name}; "
        for name in PROGRAMS
        if shutil.which(name)
    )
    scene.run(f"{plant} echo planted >&2")
    assert {path.name for path in bin_.iterdir()} >= {"bwrap", "node", "rg", "socat"}
    assert scene.run("echo again >&2") == ["again"]
    assert not ran.exists()


class KeptHomes(Scene):
    """The same, where each server has a data directory that stays."""

    def grounds(self, config: ServerConfig) -> SandboxInputs:
        return replace(super().grounds(config), data=lambda name: self.home / ".ironcurtain" / "data" / name)


@NEEDS_SANDBOX
def test_a_git_of_the_sandbox_is_not_asked_who_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, ran = KeptHomes(tmp_path / "scene"), tmp_path / "ran"
    (scene.home / ".gitconfig").write_text("[user]\n\tname = Ann\n")
    planted = scene.inside / "git"
    planted.write_text(f'#!/bin/sh\ntouch {ran}\nexec {shutil.which("git")} "$@"\n')
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{scene.inside}{os.pathsep}{os.environ['PATH']}")
    assert 'name = "Ann"' in scene.run('cat "$HOME/.gitconfig" >&2')
    assert not ran.exists()


@NEEDS_SANDBOX
def test_the_sandbox_is_not_made_with_programs_of_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path / "scene")
    (scene.inside / "bwrap").symlink_to(shutil.which("bwrap") or "")
    for name in ("node", "socat", "rg"):
        (scene.home / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", f"{scene.inside}{os.pathsep}{scene.home}")
    config = scene.config()
    with pytest.raises(SandboxMissingError, match=r"bubblewrap \(bwrap\) is passed over .*can write there"):
        SandboxLauncher.open(config, scene.grounds(config))


@pytest.mark.parametrize("command", ["git", "/bin/sh"])
def test_an_uncontained_server_runs_nothing_of_the_sandbox_by_name(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that may write files there would run programs as the user at the server's next look-up."""
    scene = Scene(tmp_path / "scene")
    planted = scene.inside / "git"
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{scene.inside}{os.pathsep}{os.environ['PATH']}")
    args = ["--version"] if command == "git" else ["-c", "git --version >&2"]
    scene.run("", command=command, args=args, sandbox=False)
    assert not (tmp_path / "ran").exists()


def test_an_uncontained_server_whose_program_is_only_in_the_sandbox_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path / "scene")
    (scene.inside / "own-server").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{scene.inside}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ServerFailedError, match="tools or servers can write there"):
        scene.run("", command="own-server", args=[], sandbox=False)


def test_a_proxy_that_lies_in_its_own_sandbox_does_not_start(trap: Trap) -> None:
    around = Path(sys.prefix).resolve().parent
    policy = Policy.load(trap.bundle, home=trap.home, sandbox=around, engine="http://127.0.0.1:1")
    with pytest.raises(UsageError, match="IronCurtain is installed in"):
        check_sandbox(policy)
