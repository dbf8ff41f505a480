"""Attack: files and variables that make the programs around a server's sandbox run somebody else's code.

Held by: an environment of ours for all that starts a server, and a shell that reads no start-up file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene

STARTUP = (".bashrc", ".bash_profile", ".profile", ".shrc", ".zshenv")
EXPORTED = "exported-by-a-start-up-file"


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene(tmp_path / "scene")
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("SHLVL", "BASH_ENV", "ENV"):
        monkeypatch.delenv(name, raising=False)
    return made


@pytest.fixture
def ran(scene: Scene, tmp_path: Path) -> Path:
    """Return what is there when a start-up file in the home, or another planted script, was run outside."""
    place = tmp_path / "ran"
    for name in STARTUP:
        (scene.home / name).write_text(f"touch {place}; export LEAKED={EXPORTED}\n")
    return place


@NEEDS_SANDBOX
def test_bashrc_runs_at_no_contained_start_and_reaches_no_server(scene: Scene, ran: Path) -> None:
    said = scene.run("echo ready >&2; env >&2")
    assert said[0] == "ready"
    assert not ran.exists()
    assert EXPORTED not in "".join(said)


def test_bash_as_an_uncontained_server_does_not_take_itself_for_a_remote_shell(
    scene: Scene, ran: Path
) -> None:
    said = scene.run("", command="/bin/bash", args=["-c", "echo ready $LEAKED >&2"], sandbox=False)
    assert said == ["ready"]
    assert not ran.exists()


@NEEDS_SANDBOX
def test_a_home_in_the_sandbox_where_a_server_planted_a_bashrc(scene: Scene, ran: Path) -> None:
    env = {"HOME": str(scene.inside)}
    scene.run(f"echo 'touch {ran}; export LEAKED={EXPORTED}' > $HOME/.bashrc", env=env)
    assert (scene.inside / ".bashrc").exists()
    assert EXPORTED not in "".join(scene.run("env >&2", env=env))
    assert not ran.exists()


@NEEDS_SANDBOX
@pytest.mark.parametrize(
    ("name", "value"),
    [("NODE_OPTIONS", "--require={}"), ("BASH_ENV", "{}"), ("ENV", "{}")],
)
def test_a_variable_of_a_server_starts_nothing_outside(
    name: str, value: str, scene: Scene, tmp_path: Path
) -> None:
    """The server itself is given it: in there it does no harm."""
    planted, ran = scene.inside / "planted.js", tmp_path / "ran"
    js = f"require('fs').writeFileSync('{ran}', '')"
    planted.write_text(js if "NODE" in name else f"touch {ran}\n")
    said = scene.run(f'echo "${name}" >&2', env={name: value.format(planted)})
    assert said[-1] == value.format(planted)
    assert not ran.exists()


@NEEDS_SANDBOX
def test_a_server_has_its_own_variables_and_the_sandbox_its_own(scene: Scene) -> None:
    env = {
        "TOKEN": "a 'b\"\nc",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": "/dev/null",
        "TMPDIR": "/elsewhere",
        "PATH": "/usr/bin:/bin:/own",
    }
    said = scene.run('printf "%s|%s|%s|" "$TOKEN" "$PATH" "$TMPDIR" >&2; git config --list >&2', env=env)
    text = "\n".join(said)
    assert text.startswith("a 'b\"\nc|/usr/bin:/bin:/own|")
    assert "/elsewhere" not in text
    assert "core.hookspath=/dev/null" in text
