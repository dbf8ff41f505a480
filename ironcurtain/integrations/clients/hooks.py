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
        command: What each of them runs.
        wrapped: Digest of the file after.
        mode: The file's permissions.
    """

    format: Literal["ironcurtain/hooks-record/v1"] = "ironcurtain/hooks-record/v1"
    command: str
    wrapped: Digest
    mode: int


class HookConfiguration(Frozen):
    """How the hook program starts the service.

    Attributes:
        command: The service's command line, but for its socket.
        environment: Variables that it gets beside those of the hook.
        directory: Where it is started, unless it follows the project.
        log: What it prints to.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    log: str


class HookedSettings(Struct):
    """One settings file of Claude Code."""

    path: Path

    @classmethod
    def of(cls, scope: ConfigScope, project: Path) -> HookedSettings:
        """Return the file of the user, or the one of a project that is the user's own."""
        if scope == "project":
            return cls(project / ".claude" / "settings.local.json")
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

    def record(self) -> HooksRecord:
        """Read what belongs to its hooks.

        Raises:
            IronCurtainError: If it is not there or not ours.
        """
        return load(self.kept / "record.json", HooksRecord)

    def read(self) -> tuple[bytes | None, dict[str, JsonValue]]:
        """Return the file as it is, None where there is none, and the settings in it.

        Raises:
            FormatError: If they, or the hooks in them, are no object.
        """
        data = _read(self.path)
        try:
            value = parse(data.decode(), str(self.path)).value if data and data.strip() else {}
        except UnicodeDecodeError:
            raise FormatError("the settings are not UTF-8", where=str(self.path)) from None
        if not isinstance(value, dict) or not isinstance(value.get("hooks", {}), dict):
            raise FormatError("the settings, and the hooks in them, are objects", where=str(self.path))
        return data, value

    def is_ours(self, entry: JsonValue) -> bool:
        """Tell whether an entry among hooks is one of ours, however it was changed."""
        return json.dumps(str(self.kept / "hook.json"))[1:-1] in json.dumps(entry)


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
        before, _ = settings.read()
        plain = _plain(settings)
        run = _command(settings, follows=follows)
        wrapped = _with((plain or b"").decode(), settings, run).encode()
        configuration = _configuration(settings, command)
        is_change = wrapped != before or _read(settings.kept / "hook.json") != configuration
        if is_change and not dry_run:
            _write(settings, run, plain, wrapped, configuration)
        status: Literal["unchanged", "would-wrap", "wrapped"] = "would-wrap" if dry_run else "wrapped"
        return ClientReport(
            client=CLIENT,
            file=str(settings.path),
            status=status if is_change else "unchanged",
            notes=(UNGOVERNED,),
            diff=_diff(settings, before, wrapped) if dry_run else "",
        )


def remove(settings: HookedSettings, *, dry_run: bool = False, discard_edits: bool = False) -> ClientReport:
    """Undo it: byte for byte, or with what others changed in the file since, unless that is discarded.

    Raises:
        FormatError: If the file was changed, and is no JSON object by now.
        BusyError: If somebody else is changing it.
    """
    with nullcontext() if dry_run else settings.store.lock():
        before, record = _read(settings.path), settings.record()
        plain = _read(settings.kept / "original") if discard_edits else _plain(settings)
        is_edited = before is not None and json_text.digest_bytes(before) != record.wrapped
        kept = (str(settings.store.keep(before)),) if discard_edits and before and is_edited else ()
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
            kept=kept,
            diff=_diff(settings, before, plain or b"") if dry_run else "",
        )


def _write(
    settings: HookedSettings, run: str, plain: bytes | None, wrapped: bytes, configuration: bytes
) -> None:
    """Write what is kept first: whichever state a crash leaves the settings in can be undone."""
    settings.kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = settings.path.stat().st_mode & 0o777 if settings.path.exists() else _MODE
    original = settings.kept / "original"
    if plain is None:
        original.unlink(missing_ok=True)
    else:
        atomic_write(original, plain, mode=_MODE)
    record = HooksRecord(command=run, wrapped=json_text.digest_bytes(wrapped), mode=mode)
    atomic_write(settings.kept / "hook.json", configuration, mode=_MODE)
    text = json_text.pretty(record.model_dump(mode="json"))
    atomic_write(settings.kept / "record.json", text.encode(), mode=_MODE)
    settings.path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(settings.path, wrapped, mode=mode)


def _configuration(settings: HookedSettings, command: ProxyCommand) -> bytes:
    """Return how the hook program starts the service."""
    configuration = HookConfiguration(
        command=(*command.program, *command.options),
        environment={**command.environment},
        directory=str(Path.home()),
        log=str(settings.kept / "pdp.log"),
    )
    return json_text.pretty(configuration.model_dump(mode="json")).encode()


def _command(settings: HookedSettings, *, follows: bool) -> str:
    """Return what the client's shell runs: whatever keeps the program from ending as it should, it blocks."""
    program = Path(service.__file__).with_name("hook_program.py")
    socket = runtime_directory() / f"pdp-{settings.store.directory.name[-12:]}.sock"
    words = [sys.executable, "-I", "-S", str(program), str(settings.kept / "hook.json"), str(socket)]
    words += [f"{_PATIENCE + _STARTING:g}", f"/hooks/{CLIENT}", *(["follow"] if follows else [])]
    return f"{shlex.join(words)} || exit 2"


def entry_of(event: str, run: str) -> dict[str, JsonValue]:
    """Return our entry among the hooks of an event."""
    timeout = int(_PATIENCE + _STARTING) + _LATER
    matcher: dict[str, JsonValue] = {"matcher": "*"} if event in _MATCHED else {}
    return {**matcher, "hooks": [{"type": "command", "command": run, "timeout": timeout}]}


def _with(text: str, settings: HookedSettings, run: str) -> str:
    """Return the text of settings with our hooks behind those that are there."""
    root = parse(text, str(settings.path)) if text.strip() else None
    hooks = dict(json_text.members(root.fields.get("hooks") if root is not None else None))
    for event in EVENTS:
        others = hooks.get(event)
        hooks[event] = [*(others if isinstance(others, list) else []), entry_of(event, run)]
    if root is None or not root.members:
        return json.dumps({"hooks": hooks}, indent=2, ensure_ascii=False) + "\n"
    written = json.dumps(hooks, indent=2, ensure_ascii=False).replace("\n", "\n  ")
    if (member := root.member("hooks")) is not None:
        return text[: member.node.start] + written + text[member.node.end :]
    first = root.members[0].start
    return f'{text[:first]}"hooks": {written},\n  {text[first:]}'


def _plain(settings: HookedSettings) -> bytes | None:
    """Return the settings without our hooks: the same bytes as before where nothing else has changed."""
    data, value = settings.read()
    if not settings.is_hooked:
        return data
    if data is None or json_text.digest_bytes(data) == settings.record().wrapped:
        return _read(settings.kept / "original")
    left: dict[str, JsonValue] = {}
    for event, given in json_text.members(value.get("hooks")).items():
        others = [one for one in given if not settings.is_ours(one)] if isinstance(given, list) else given
        left |= {event: others} if others else {}
    rest = {name: each for name, each in value.items() if name != "hooks"}
    text = json.dumps({**rest, **({"hooks": left} if left else {})}, indent=2, ensure_ascii=False)
    return f"{text}\n".encode()


def _read(path: Path) -> bytes | None:
    return read_bytes(path, max_bytes=_MAX_BYTES) if path.exists() else None


def _diff(settings: HookedSettings, before: bytes | None, after: bytes) -> str:
    old, new = ((each or b"").decode().splitlines(keepends=True) for each in (before, after))
    return "".join(difflib.unified_diff(old, new, str(settings.path), str(settings.path)))
