"""Are a client's hooks as they were installed, does what they start exist, and does the service answer?"""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.clients.hooks import CLIENT, EVENTS, HookConfiguration, HookedSettings, entry_of
from ironcurtain.integrations.clients.target import ConfigScope
from ironcurtain.integrations.doctor.clients import missing
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation, failed
from ironcurtain.system import json_text
from ironcurtain.system.files import load
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.locks import is_locked
from ironcurtain.system.text import visible

_NAME = f"client/{CLIENT}/hooks"
_SCOPES: tuple[ConfigScope, ...] = ("user", "project")
_SECONDS = 10.0
_ASKED = b"GET /.well-known/authzen-configuration HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def hooks(installation: Installation) -> Iterator[Diagnosis]:
    """Look at the hooks of each settings file that has had some."""
    if installation.clients and CLIENT not in installation.clients:
        return
    for settings in (HookedSettings.of(scope, installation.cwd) for scope in _SCOPES):
        if not settings.is_hooked:
            continue
        try:
            wrong = [*_changed(settings), *_gone(settings)]
            silent = list(_silent(settings))
        except IronCurtainError as error:
            yield from failed(_NAME, error)
            continue
        for what in wrong:
            fix = f"Run `ironcurtain wrap {CLIENT}` as before: it writes them anew."
            yield Diagnosis.fail(_NAME, what, fix)
        for what in silent:
            fix = "End that process; the next call starts another one. Until then every call is blocked."
            yield Diagnosis.fail(_NAME, what, fix)
        if not (wrong or silent):
            yield Diagnosis.ok(_NAME, f"{visible(str(settings.path))} has them")


def _changed(settings: HookedSettings) -> Iterator[str]:
    """Yield how the hooks are not as they were written."""
    _, document = settings.read()
    path, run = visible(str(settings.path)), settings.record().command
    if document.get("disableAllHooks"):
        yield f"{path} switches all hooks off (disableAllHooks)"
    there = json_text.members(document.get("hooks"))
    for event in EVENTS:
        entries = there.get(event)
        ours = [each for each in (entries if isinstance(entries, list) else []) if settings.is_ours(each)]
        if not ours:
            yield f"the hook of {event} is missing in {path}: what it is for passes ungoverned"
        elif ours != [entry_of(event, run)]:
            yield f"the hook of {event} in {path} was changed since it was installed"


def _gone(settings: HookedSettings) -> Iterator[str]:
    """Yield what the hooks name and what is not there."""
    python, *_, program, file = shlex.split(settings.record().command)[:5]
    for each in (python, program, file):
        if not Path(each).exists():
            yield f"the hooks run {visible(each)}, which is gone"
    if Path(file).exists():
        started = load(Path(file), HookConfiguration)
        program, *words = started.command
        entry: dict[str, JsonValue] = {"command": program, "args": [*words], "env": {**started.environment}}
        yield from missing(entry, Path(started.directory), "the decision service")


def _silent(settings: HookedSettings) -> Iterator[str]:
    """Yield which services run and do not answer; one that does not run is started by the next call."""
    place = Path(shlex.split(settings.record().command)[5])
    for lock in place.parent.glob(f"{place.stem}*.lock"):
        listening = lock.with_suffix(".sock")
        if is_locked(lock) and not _answers(listening):
            yield f"the decision service at unix:{visible(str(listening))} runs and does not answer"


def _answers(place: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(str(place))
            connection.sendall(_ASKED)
            return connection.recv(1 << 10).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False
