"""Attack: who may write in the system's temporary directory goes for what the proxy itself keeps there.

Held by: a private directory of ours whose owner and mode are checked, and locks of those who live.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.machines.contained import FOUND, NEEDS_SANDBOX, Scene
from support.projects.shipped import ROOT

from ironcurtain import Policy
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.enforcement.proxy.options import own_places
from ironcurtain.enforcement.sandbox.contained_process import contained, private_workspace
from ironcurtain.enforcement.sandbox.profile import Profile, build_profile
from ironcurtain.enforcement.sandbox.programs import Programs
from ironcurtain.errors import ServerConfigError
from ironcurtain.model.decision import Decision
from ironcurtain.servers.server_process import ServerStart
from ironcurtain.system.private_runtime import private_directory, runtime_directory

START = ServerStart(command="server")


class Aimed(Scene):
    """A scene whose server aims elsewhere."""

    targets: dict[str, Any]

    def aim(self, port: int, pid: int, marker: str) -> str:
        """Return what the server aims at."""
        return json.dumps({**json.loads(super().aim(port, pid, marker)), **self.targets})


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a directory that stands for the system's temporary one; sockets below it need a short path."""
    with tempfile.TemporaryDirectory(prefix="ic-") as name:
        monkeypatch.setattr("ironcurtain.system.private_runtime.PARENT", Path(name))
        yield Path(name)


@NEEDS_SANDBOX
def test_attack_a_server_that_may_write_tmp_rewrites_what_runs(tmp_path: Path, temporary: Path) -> None:
    """The script is run outside the sandbox, and OPA reads the policy without looking at a signature."""
    assert isinstance(FOUND.programs, Programs)
    scene = Aimed(tmp_path / "scene")
    with ExitStack() as stack:
        policy = stack.enter_context(private_directory("engine")) / "policy.tar.gz"
        policy.write_text("the policy")
        other = stack.enter_context(contained(START, Profile(), FOUND.programs)).report.parent
        before = {path: path.read_bytes() for path in (policy, *other.rglob("*")) if path.is_file()}
        scene.targets = {
            "outside": str(other / "bwrap"),
            "git": [str(policy), str(other / "bwrap"), str(other / "report")],
            "hooks": str(runtime_directory()),
            "secret": str(other / "settings.json"),
        }
        ways = ("write_outside", "git_hooks", "read_denied", "write_inside")
        told = scene.visit(*ways, sandbox={"filesystem": {"allowWrite": [str(temporary)]}})
        assert {path: path.read_bytes() for path in (policy, *other.rglob("*")) if path.is_file()} == before
    assert told.state is not None
    assert (told.state.isolation, told.answers["write_inside"]) == ("bubblewrap", "written")
    assert "renamed" not in told.answers["git_hooks"]
    assert "refused" in told.answers["read_denied"]


@pytest.mark.parametrize("key", ["allowRead", "allowWrite"])
def test_attack_a_configuration_opens_what_runs(key: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path / "scene")
    config = scene.config(sandbox={"filesystem": {key: [str(runtime_directory() / "engine-1")]}})
    with pytest.raises(ServerConfigError, match="kept from every server"):
        build_profile("escaping", config.servers["escaping"], scene.grounds(config))


def test_attack_a_tool_call_rewrites_what_runs(tmp_path: Path, temporary: Path) -> None:
    """The session may write the whole temporary directory; a link is no way around."""
    running = runtime_directory()
    (temporary / "link").symlink_to(running)
    policy = Policy.load(
        ROOT / "generated" / "bundle.tar.gz", sandbox=temporary, home=tmp_path, protected=own_places()
    )
    for path in (running / "engine-1" / "policy.tar.gz", running / "server-1" / "bwrap", temporary / "link"):
        call = Call("filesystem", "write_file", {"path": str(path), "content": "x"})
        found = prepare(call, policy.loaded)
        assert isinstance(found, Decision)
        assert (found.verdict, found.rule) == ("deny", "structural-protected-path")
    beside = Call("filesystem", "write_file", {"path": str(temporary / "beside"), "content": "x"})
    assert isinstance(prepare(beside, policy.loaded), Prepared)


def test_attack_a_forged_list_of_stand_ins_has_a_users_file_removed(tmp_path: Path, temporary: Path) -> None:
    """Whoever may write the temporary directory makes one that looks as if a dead server had left it."""
    kept = tmp_path / "the-users-empty-file"
    kept.touch()
    for name in ("ironcurtain-server-dead", "server-dead", f"{runtime_directory().name}-server-dead"):
        (temporary / name).mkdir(mode=0o700)
        (temporary / name / "absent.json").write_text(json.dumps([str(kept)]))
    with private_workspace([tmp_path / "absent.yaml"]):
        assert kept.exists()
    assert kept.exists()
    assert not (tmp_path / "absent.yaml").exists()
