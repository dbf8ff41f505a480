"""Attack: a contained server reads the sign-ins of the home, and other servers' secrets.

Held by: a maintained list of places that no sandbox shows, and the configuration itself.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene

from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.reach.sign_ins import sign_ins
from ironcurtain.errors import ServerConfigError
from ironcurtain.integrations.doctor.servers import what_stands_open
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.system.structs import replace

SECRET = "a-sign-in-of-the-home"
FILES = {".claude.json", ".netrc", ".npmrc", ".pgpass", ".vault-token", ".terraformrc"}


class Home(Scene):
    """A scene whose home has every sign-in, and whose configuration has another server's token."""

    configuration: Path

    def fill(self) -> None:
        self.configuration = self.root / "mcp-servers.json"
        self.configuration.write_text(json.dumps({"TOKEN": SECRET}))
        for place in sign_ins(self.home):
            if place.name in FILES:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(SECRET)
            else:
                place.mkdir(parents=True, exist_ok=True)
                (place / "token").write_text(SECRET)

    def grounds(self, config: ServerConfig) -> SandboxInputs:
        return replace(super().grounds(config), configuration=(self.configuration,))


@pytest.fixture
def scene(tmp_path: Path) -> Home:
    made = Home(tmp_path / "scene")
    made.fill()
    return made


@NEEDS_SANDBOX
def test_a_contained_server_reads_no_sign_in_and_no_other_servers_secret(scene: Home) -> None:
    (scene.home / "notes").write_text("what is no secret\n")
    look = f"grep -rsl {SECRET} {scene.home} {scene.configuration} >&2; cat {scene.home}/notes >&2"
    assert scene.run(look) == ["what is no secret"]
    assert len(scene.run(look, sandbox=False)) > len(FILES)


@NEEDS_SANDBOX
def test_a_configuration_that_lies_in_the_sandbox_is_not_read_either(scene: Home) -> None:
    scene.configuration = scene.inside / "mcp-servers.json"
    scene.configuration.write_text(SECRET)
    said = scene.run(
        f"grep -rs {SECRET} {scene.inside} >&2; echo more > {scene.inside}/file; echo looked >&2"
    )
    assert said == ["looked"]
    assert (scene.inside / "file").exists()


@NEEDS_SANDBOX
@pytest.mark.parametrize("key", ["allowRead", "allowWrite"])
def test_no_configuration_shows_itself(key: str, scene: Home) -> None:
    with pytest.raises((ServerConfigError, ExceptionGroup)):
        scene.run("true", sandbox={"filesystem": {key: [str(scene.configuration)]}})


def test_doctor_tells_what_a_configuration_shows(scene: Home) -> None:
    shown = {"filesystem": {"allowRead": ["~/.ssh/known_hosts"], "allowWrite": ["~/.config/rclone"]}}
    servers = {"one": {"command": "x", "sandbox": shown}, "two": {"command": "x"}}
    scene.configuration.write_text(json.dumps({"mcpServers": servers}))
    warned, told = what_stands_open(load_servers(scene.configuration), scene.home)
    assert warned.what == (
        f"server one can read keys or sign-ins: {scene.home}/.config/rclone, {scene.home}/.ssh/known_hosts"
    )
    assert (told.status, "are hidden from every server" in told.what) == ("ok", True)
