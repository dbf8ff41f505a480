"""Hooks in a client's settings, by which it asks the decision service before and tells it after each call.

Beside the backups of `store.py`, for the settings file:

    clients/NAME-DIGEST/hooks/hook.json  what the hook program is configured by
                              original   the file before, if there was one
                              record.json
"""

from __future__ import annotations

import difflib
import json
import os
import shlex
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

from ironcurtain.enforcement import service
from ironcurtain.errors import FormatError
from ironcurtain.integrations.clients.edit import parse
from ironcurtain.integrations.clients.report import ClientReport
from ironcurtain.integrations.clients.store import BackupStore
from ironcurtain.integrations.clients.target import ConfigScope
from ironcurtain.integrations.clients.wrap import ProxyCommand
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, load, read_bytes
from ironcurtain.system.frozen import Digest, Frozen, JsonValue
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.structs import Struct

CLIENT = "claude-code"
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd")
UNGOVERNED = (
    "ungoverned in claude-code, beside what the policy leaves open: what a permitted shell command does (no "
    "rule sees inside it), hooks and settings that others bring (managed settings, plugins, command line), "
    "and a session that was started with hooks switched off"
)
_MATCHED = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})
_PATIENCE, _STARTING = 45.0, 60.0
_LATER = 15
"""Seconds that the client waits longer than the hook, which it would not take for a refusal."""
_MAX_BYTES = 32 << 20
_MODE = 0o600


class HooksRecord(Frozen):
    """What belongs to the hooks in one file.

    Attributes:
        original: Digest of the file before; None where there was none.
        wrapped: Digest of the file after.
    """

    format: Literal["ironcurtain/hooks-record/v1"] = "ironcurtain/hooks-record/v1"
    file: str
    original: Digest | None
    wrapped: Digest
    mode: int


class HookedSettings(Struct):
    """One settings file of Claude Code."""

    path: Path

    @classmethod
    def of(cls, scope: ConfigScope) -> HookedSettings:
        """Return the file of the user, or the one of a project that is the user's own."""
        if scope == "project":
            return cls(Path.cwd() / ".claude" / "settings.local.json")
        return cls(Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "settings.json")

    @property
    def store(self) -> BackupStore:
        """Where what is kept of it lies."""
        return BackupStore.of(self.path.resolve())

    @property
    def kept(self) -> Path:
        """The directory of what is kept of its hooks."""
        return self.store.directory / "hooks"

    @property
    def is_hooked(self) -> bool:
        """Whether there is something to undo."""
        return (self.kept / "record.json").is_file()


def install(
    settings: HookedSettings, command: ProxyCommand, *, follows: bool, dry_run: bool = False
) -> ClientReport:
    """Let the client ask the service that a command starts; a second time changes nothing.

    Args:
        settings: The client's file.
        command: How the hook program starts the service.
        follows: Whether the workspace is the project in which the client works.
        dry_run: Write nothing, and report the difference.

    Raises:
        FormatError: If the file is no JSON object.
        BusyError: If somebody else is changing it.
        OSError: If something cannot be written; the settings are then as they were.
    """
    with nullcontext() if dry_run else settings.store.lock():
        before = _read(settings.path)
        text = _without(before, settings) if settings.is_hooked else (before or b"").decode()
        wrapped = _with(text, settings, follows=follows).encode()
        configuration = _configuration(settings, command)
        is_change = wrapped != before or _read(settings.kept / "hook.json") != configuration
        if is_change and not dry_run:
            _write(settings, before, wrapped, configuration)
        status: Literal["unchanged", "would-wrap", "wrapped"] = "would-wrap" if dry_run else "wrapped"
        return ClientReport(
            client=CLIENT,
            file=str(settings.path),
            status=status if is_change else "unchanged",
            notes=(UNGOVERNED,),
            diff=_diff(settings, before, wrapped) if dry_run else "",
        )


def remove(settings: HookedSettings, *, dry_run: bool = False) -> ClientReport:
    """Undo it: byte for byte, or with what others changed in the file since.

    Raises:
        FormatError: If the file was changed, and is no JSON object by now.
        BusyError: If somebody else is changing it.
    """
    with nullcontext() if dry_run else settings.store.lock():
        before = _read(settings.path)
        record = load(settings.kept / "record.json", HooksRecord)
        original = _read(settings.kept / "original") if record.original is not None else None
        is_ours = before is not None and json_text.digest_bytes(before) == record.wrapped
        plain = original if is_ours or before is None else _without(before, settings).encode()
        if not dry_run:
            if plain is None:
                settings.path.unlink(missing_ok=True)
            else:
                atomic_write(settings.path, plain, mode=record.mode)
            shutil.rmtree(settings.kept)
        return ClientReport(
            client=CLIENT,
            file=str(settings.path),
            status="would-unwrap" if dry_run else "unwrapped",
            diff=_diff(settings, before, plain or b"") if dry_run else "",
        )


def _write(settings: HookedSettings, before: bytes | None, wrapped: bytes, configuration: bytes) -> None:
    """Write what is kept first: whichever state a crash leaves the settings in can be undone."""
    settings.kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = settings.path.stat().st_mode & 0o777 if before is not None else _MODE
    original = None if before is None else json_text.digest_bytes(before)
    if settings.is_hooked:
        earlier = load(settings.kept / "record.json", HooksRecord)
        original, mode = earlier.original, earlier.mode
    elif before is not None:
        atomic_write(settings.kept / "original", before, mode=_MODE)
    record = HooksRecord(
        file=str(settings.path), original=original, wrapped=json_text.digest_bytes(wrapped), mode=mode
    )
    atomic_write(settings.kept / "hook.json", configuration, mode=_MODE)
    text = json_text.pretty(record.model_dump(mode="json"))
    atomic_write(settings.kept / "record.json", text.encode(), mode=_MODE)
    settings.path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(settings.path, wrapped, mode=mode)


def _configuration(settings: HookedSettings, command: ProxyCommand) -> bytes:
    """Return how the hook program starts the service."""
    document: dict[str, JsonValue] = {
        "command": [*command.program, *command.options],
        "environment": {**command.environment},
        "directory": str(Path.home()),
        "log": str(settings.kept / "pdp.log"),
    }
    return json_text.pretty(document).encode()


def _command(settings: HookedSettings, *, follows: bool) -> str:
    """Return what the client's shell runs: whatever keeps the program from ending as it should, it blocks."""
    program = Path(service.__file__).with_name("hook_program.py")
    socket = runtime_directory() / f"pdp-{settings.store.directory.name[-12:]}.sock"
    words = [sys.executable, "-I", "-S", str(program), str(settings.kept / "hook.json"), str(socket)]
    words += [f"{_PATIENCE + _STARTING:g}", f"/hooks/{CLIENT}", *(["follow"] if follows else [])]
    return f"{shlex.join(words)} || exit 2"


def _with(text: str, settings: HookedSettings, *, follows: bool) -> str:
    """Return the text of settings with our hooks behind those that are there."""
    root = parse(text, str(settings.path)) if text.strip() else None
    value = _object(root.value if root is not None else {}, settings)
    hooks = dict(json_text.members(value.get("hooks")))
    for event in EVENTS:
        one: dict[str, JsonValue] = {
            "hooks": [
                {
                    "type": "command",
                    "command": _command(settings, follows=follows),
                    "timeout": int(_PATIENCE + _STARTING) + _LATER,
                }
            ]
        }
        others = hooks.get(event)
        matcher: dict[str, JsonValue] = {"matcher": "*"} if event in _MATCHED else {}
        hooks[event] = [*(others if isinstance(others, list) else []), {**matcher, **one}]
    if root is None or not root.members:
        return json.dumps({**value, "hooks": hooks}, indent=2, ensure_ascii=False) + "\n"
    written = json.dumps(hooks, indent=2, ensure_ascii=False).replace("\n", "\n  ")
    if (member := root.member("hooks")) is not None:
        return text[: member.node.start] + written + text[member.node.end :]
    first = root.members[0].start
    return f'{text[:first]}"hooks": {written},\n  {text[first:]}'


def _without(data: bytes | None, settings: HookedSettings) -> str:
    """Return the text of settings without our hooks: the original where nothing else has changed."""
    record = load(settings.kept / "record.json", HooksRecord)
    if data is None or json_text.digest_bytes(data) == record.wrapped:
        return (_read(settings.kept / "original") or b"").decode() if record.original is not None else ""
    value = _object(parse(data.decode(), str(settings.path)).value, settings)
    hooks = {
        event: [one for one in given if _mark(settings) not in json.dumps(one)]
        for event, given in json_text.members(value.get("hooks")).items()
        if isinstance(given, list)
    }
    left: dict[str, JsonValue] = {event: [*given] for event, given in hooks.items() if given}
    rest = {name: each for name, each in value.items() if name != "hooks"}
    return json.dumps({**rest, **({"hooks": left} if left else {})}, indent=2, ensure_ascii=False) + "\n"


def _mark(settings: HookedSettings) -> str:
    return json.dumps(str(settings.kept / "hook.json"))[1:-1]


def _object(value: JsonValue, settings: HookedSettings) -> dict[str, JsonValue]:
    if not isinstance(value, dict) or not isinstance(value.get("hooks", {}), dict):
        raise FormatError("the settings, and the hooks in them, are objects", where=str(settings.path))
    return value


def _read(path: Path) -> bytes | None:
    return read_bytes(path, max_bytes=_MAX_BYTES) if path.exists() else None


def _diff(settings: HookedSettings, before: bytes | None, after: bytes) -> str:
    old, new = ((each or b"").decode().splitlines(keepends=True) for each in (before, after))
    return "".join(difflib.unified_diff(old, new, str(settings.path), str(settings.path)))
