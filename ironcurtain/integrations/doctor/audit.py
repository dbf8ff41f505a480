"""Can calls be recorded, by whom are they now, and is what was recorded still what was written?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.enforcement.audit.log_paths import SUFFIX, logs_in, read_key, session_log
from ironcurtain.enforcement.audit.reader import is_written, verify
from ironcurtain.enforcement.audit.record_types import AuditVerification
from ironcurtain.enforcement.proxy.status.liveness_lock import is_running
from ironcurtain.errors import AuditError, IronCurtainError
from ironcurtain.integrations.doctor.installation import (
    Diagnosis,
    Installation,
    failed,
    is_writable,
    nearest_existing,
)
from ironcurtain.settings import status_directory
from ironcurtain.system.ownership import others_have_access
from ironcurtain.system.text import counted, visible

_AUDIT_KEY = "audit.key"
_LOGS = 10
_LITTLE_SPACE = 16 << 20


def audit(installation: Installation) -> Iterator[Diagnosis]:
    """Verify the newest audit logs against their heads."""
    path = installation.user / _AUDIT_KEY
    try:
        key = read_key(path) if path.exists() else None
    except IronCurtainError as error:
        fix = f"Run `chmod 600 {visible(str(path))}`." if others_have_access(path.stat()) else ""
        yield from failed("audit", error, fix)
        key = None
    yield from _room(installation.audit)
    logs = logs_in(installation.audit)
    newest = sorted(logs, key=lambda log: (log.stat().st_mtime_ns, log.name))[-_LOGS:]
    removed = [*_removed(installation.audit)]
    yield from removed
    intact = 0
    for log in newest:
        session = log.name.removesuffix(SUFFIX)
        yield from _writer(installation, session)
        try:
            verification = verify(session_log(installation.audit, session), key=key)
        except IronCurtainError as error:
            yield from failed("audit", error)
            continue
        intact += verification.intact
        yield from _doubtful(installation.audit, session, verification)
    if intact == len(newest) and not removed:
        if len(logs) > len(newest):
            shown = f"{intact} of {len(logs)} logs are as they were written"
        else:
            shown = f"{counted(intact, 'log is as it was', 'logs are as they were')} written"
        yield Diagnosis.ok("audit", shown)


def _removed(directory: Path) -> Iterator[Diagnosis]:
    """Tell each log of which only the head is left."""
    for head in sorted((directory / "heads").glob("*.json")):
        if not (directory / f"{head.stem}{SUFFIX}").exists():
            what = f"the log {visible(head.stem)} was removed, and its head is still there"
            fix = f"Restore {visible(str(directory / head.stem))}{SUFFIX} from a backup, or remove its head."
            yield Diagnosis.fail("audit", what, fix)


def _doubtful(directory: Path, session: str, verification: AuditVerification) -> Iterator[Diagnosis]:
    """Tell what is wrong with a log that could be read, or what cannot be known of it."""
    for problem in verification.problems[:1]:
        what = f"the log {session} is not what was written: {visible(problem.message)}"
        fix = f"Keep a copy, and see every line that is wrong: ironcurtain audit verify {session}."
        yield Diagnosis.fail("audit", what, fix, code=AuditError.code)
    if verification.intact and verification.truncation != "checked":
        what = f"the log {session} has no head, so a cut-off end cannot be seen"
        fix = f"Restore {visible(str(directory / 'heads' / f'{session}.json'))} from a backup."
        yield Diagnosis.warn("audit", what, fix)


def _room(place: Path) -> Iterator[Diagnosis]:
    """Look whether a log could be begun or continued: where it cannot, every call is refused."""
    shown = visible(str(place))
    nearest = nearest_existing(place)
    if not is_writable(nearest):
        fix = f"Give yourself the permission: `chmod u+rwx {visible(str(nearest))}`, or `chown` it."
        yield _refusing(f"no log can be written in {shown}", fix)
        return
    space = os.statvfs(nearest)
    free = space.f_bavail * space.f_frsize
    if free < _LITTLE_SPACE:
        what = f"{free >> 20} MiB are free where the logs are, {shown}; without room every call is refused"
        yield _refusing(what, "Free some space: old logs can be moved elsewhere with their heads.")


def _writer(installation: Installation, session: str) -> Iterator[Diagnosis]:
    """Look who writes a log: nobody else can then use the session's name."""
    if not is_written(session_log(installation.audit, session)) or is_running(_status(session)):
        return
    heads = visible(str(installation.audit / "heads"))
    yield Diagnosis.warn(
        "audit",
        f"some process, no proxy that tells of itself, writes the log {session}: no other can",
        f"End it (`lsof {heads}` names it), or give another --session.",
        code=AuditError.code,
    )


def _status(session: str) -> Path:
    return status_directory() / f"{session}.json"


def _refusing(what: str, fix: str) -> Diagnosis:
    return Diagnosis.fail("audit", what, fix, code=AuditError.code)
