"""What happens where a machine cannot contain servers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.machines.contained import Scene, Told

from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.programs import INSTALL, survey
from ironcurtain.errors import SandboxMissingError

NOTE = "server escaping is NOT CONTAINED: "


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path.resolve() / "scene")


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Set a PATH with everything but bubblewrap."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("socat", "rg", "node", "sh", "git"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/true")
    monkeypatch.setenv("PATH", str(programs))


def notes(scene: Scene, **server: object) -> list[str]:
    config = scene.config(**server)
    return SandboxLauncher.open(config, scene.grounds(config)).notes()


@pytest.mark.usefixtures("without_bubblewrap")
def test_enforce_is_the_default_and_refuses_in_one_sentence(scene: Scene) -> None:
    with pytest.raises(SandboxMissingError) as error:
        notes(scene)
    assert error.value.what.startswith(
        "servers cannot be contained on this machine: bubblewrap (bwrap) is not installed"
    )
    assert '"policy": "warn"' in error.value.hint


@pytest.mark.usefixtures("without_bubblewrap")
def test_a_server_that_is_opted_out_needs_no_sandbox_but_is_named(scene: Scene) -> None:
    (note,) = notes(scene, sandbox=False)
    assert note.startswith(f"{NOTE}the configuration says so")


@pytest.mark.usefixtures("without_bubblewrap")
def test_warn_says_so_loudly_and_skip_does_not(scene: Scene) -> None:
    (note,) = notes(scene, defaults={"policy": "warn"})
    assert note.startswith(f"{NOTE}servers cannot be contained on this machine: bubblewrap")
    assert notes(scene, defaults={"policy": "skip"}) == []


@pytest.mark.usefixtures("without_bubblewrap")
@pytest.mark.parametrize("policy", ["warn", "skip"])
def test_both_start_it_and_tell_what_was_observed(scene: Scene, policy: str) -> None:
    told: Told = scene.visit("write_outside", defaults={"policy": policy})
    assert told.answers["write_outside"] == "written"
    assert told.state is not None
    assert told.state.isolation == "none"
    assert "bubblewrap (bwrap) is not installed" in told.state.observed
    assert [seen.kind for seen in told.seen] == ["uncontained"]


@pytest.mark.usefixtures("without_bubblewrap")
@pytest.mark.parametrize(
    "name", ["SANDBOX", "SANDBOX_POLICY", "SANDBOX_PROGRAM", "PROXY_SANDBOX", "NO_SANDBOX"]
)
def test_no_environment_variable_weakens_it(scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for value in ("false", "skip", "0"):
        monkeypatch.setenv(f"IRONCURTAIN_{name}", value)
        with pytest.raises(SandboxMissingError):
            notes(scene)


def test_all_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = survey("no-such-runtime")
    assert found.programs is None
    for name in ("bubblewrap", "socat", "ripgrep", "Node.js", "no-such-runtime"):
        assert name in found.sentence
    assert "\n" not in found.sentence


def test_a_bubblewrap_that_may_do_nothing_counts_as_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bwrap = tmp_path / "bwrap"
    bwrap.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    bwrap.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    sentence = survey().sentence
    assert "may not make namespaces here (No permissions to create a new namespace)" in sentence


def test_a_named_runtime_that_is_not_the_package_is_missing(tmp_path: Path) -> None:
    other = tmp_path / "srt"
    other.write_text('#!/bin/sh\nexec "$@"\n')
    other.chmod(0o755)
    assert "of @anthropic-ai/sandbox-runtime is not installed" in survey(str(other)).sentence


@pytest.mark.parametrize(
    ("version", "taken"), [("0.0.78", False), ("0.0.83", True), ("0.0.84-beta.1", True), ("1.0.0", True)]
)
def test_a_runtime_that_refuses_our_settings_is_told_by_its_version(
    version: str, taken: bool, tmp_path: Path
) -> None:
    command = tmp_path / "dist" / "srt"
    command.parent.mkdir()
    command.write_text("#!/usr/bin/env node\n")
    command.chmod(0o755)
    command.with_name("index.js").write_text("export {}\n")
    (tmp_path / "package.json").write_text(json.dumps({"version": version}))
    sentence = survey(str(command)).sentence
    told = f"version {version} is too old: `npm install -g @anthropic-ai/sandbox-runtime@0.0.83`"
    assert (told in sentence) is not taken


def test_each_page_installs_the_runtime_that_this_version_was_written_for() -> None:
    root = Path(__file__).parents[4]
    locked = json.loads((root / "package.json").read_text())["devDependencies"][
        "@anthropic-ai/sandbox-runtime"
    ]
    assert f"npm install -g @anthropic-ai/sandbox-runtime@{locked}" == INSTALL
    for page in ("docs/install.md", "docs/sandbox.md", "docs/errors/IC3202.md"):
        assert f"`{INSTALL}`" in (root / page).read_text()


def test_a_runtime_that_an_agent_could_have_planted_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    planted = tmp_path / "node_modules" / ".bin"
    planted.mkdir(parents=True)
    for name in ("srt", "index.js"):
        (planted / name).write_text("#!/bin/sh\n")
        (planted / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    found = survey(near=tmp_path)
    assert found.programs is None or str(tmp_path) not in found.programs.library
