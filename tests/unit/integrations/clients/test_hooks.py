"""Hooks in the settings of Claude Code: installed beside what is there, and undone byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.errors import FormatError
from ironcurtain.integrations.clients.hooks import EVENTS, HookedSettings, install, remove
from ironcurtain.integrations.clients.wrap import ProxyCommand

COMMAND = ProxyCommand(("ironcurtain", "pdp"), ("--bundle", "/b"), {"PATH": "/bin"})
OTHER = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HookedSettings:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return HookedSettings.of("user", tmp_path)


def hooks_of(settings: HookedSettings) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(settings.path.read_text())["hooks"]
    return found


@pytest.mark.parametrize(
    "before",
    [
        None,
        "",
        "{}",
        '{"model":"x"}',
        '{\n    "model": "x",\n\n  "hooks": {"Stop": []}\n}',
        json.dumps({"hooks": {"PreToolUse": [OTHER]}, "permissions": {"deny": ["Read(./x)"]}}, indent=4),
    ],
)
def test_what_was_there_stays_and_comes_back_to_the_byte(
    settings: HookedSettings, before: str | None
) -> None:
    if before is not None:
        settings.path.parent.mkdir()
        settings.path.write_text(before)
        settings.path.chmod(0o644)
    assert install(settings, COMMAND, follows=False).status == "wrapped"
    assert install(settings, COMMAND, follows=False).status == "unchanged"
    hooks = hooks_of(settings)
    assert {*EVENTS} <= {*hooks}
    own = hooks["PreToolUse"][-1]
    assert own["matcher"] == "*"
    assert own["hooks"][0]["command"].endswith(" || exit 2")
    earlier = json.loads(before) if before else {}
    for event, entries in earlier.get("hooks", {}).items():
        assert hooks[event][: len(entries)] == entries
    after = json.loads(settings.path.read_text())
    assert {name: value for name, value in after.items() if name != "hooks"} == {
        name: value for name, value in earlier.items() if name != "hooks"
    }
    assert remove(settings).status == "unwrapped"
    assert (settings.path.read_text() if settings.path.exists() else None) == before
    assert before is None or settings.path.stat().st_mode & 0o777 == 0o644
    assert not settings.is_hooked


def test_what_others_changed_meanwhile_stays(settings: HookedSettings) -> None:
    install(settings, COMMAND, follows=False)
    document = json.loads(settings.path.read_text())
    document["hooks"]["PreToolUse"].insert(0, OTHER)
    document["model"] = "y"
    settings.path.write_text(json.dumps(document))
    remove(settings)
    assert json.loads(settings.path.read_text()) == {"model": "y", "hooks": {"PreToolUse": [OTHER]}}


def test_what_others_changed_between_two_wraps_stays(settings: HookedSettings) -> None:
    settings.path.parent.mkdir()
    settings.path.write_text('{"model": "x"}')
    install(settings, COMMAND, follows=False)
    document = json.loads(settings.path.read_text())
    settings.path.write_text(json.dumps({**document, "model": "y"}))
    assert install(settings, COMMAND, follows=False).status == "wrapped"
    remove(settings)
    assert json.loads(settings.path.read_text()) == {"model": "y"}


@pytest.mark.parametrize("text", ["[]", '{"hooks": []}', "{", "\udcff"])
def test_what_is_no_settings_stays_as_it_is(settings: HookedSettings, text: str) -> None:
    settings.path.parent.mkdir()
    settings.path.write_text(text, errors="surrogateescape")
    with pytest.raises(FormatError):
        install(settings, COMMAND, follows=False)
    assert settings.path.read_text(errors="surrogateescape") == text
    assert not settings.is_hooked


def test_another_service_replaces_the_hooks_and_the_first_file_comes_back(settings: HookedSettings) -> None:
    settings.path.parent.mkdir()
    settings.path.write_text('{"a":1}')
    install(settings, COMMAND, follows=False)
    other = ProxyCommand(("ironcurtain", "pdp"), ("--bundle", "/other"))
    assert install(settings, other, follows=True).status == "wrapped"
    assert all(len(entries) == 1 for entries in hooks_of(settings).values())
    configured = json.loads((settings.kept / "hook.json").read_text())
    assert configured["command"][-1] == "/other"
    assert hooks_of(settings)["SessionEnd"][0]["hooks"][0]["command"].endswith(
        "/hooks/claude-code follow || exit 2"
    )
    remove(settings)
    assert settings.path.read_text() == '{"a":1}'


def test_a_dry_run_shows_the_change_and_makes_none(settings: HookedSettings) -> None:
    report = install(settings, COMMAND, follows=False, dry_run=True)
    assert report.status == "would-wrap"
    assert '+    "PreToolUse"' in report.diff
    assert not settings.path.exists()
    assert not settings.is_hooked
