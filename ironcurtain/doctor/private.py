"""Are approvals, audit logs and keys safe, and is what was recorded still what was written?"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.approvals.key import ApprovalKey
from ironcurtain.approvals.place import PrivateDirectory, check_outside
from ironcurtain.audit.keys import read_key
from ironcurtain.audit.places import SUFFIX, log_place
from ironcurtain.audit.verify import verify
from ironcurtain.doctor.subject import Subject, failed
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.doctor import Diagnosis
from ironcurtain.text import visible

_AUDIT_KEY = "audit.key"
_LOGS = 10
_PRIVATE_MARK = b"PRIVATE KEY"
_OTHERS = 0o077


def approvals(subject: Subject) -> Iterator[Diagnosis]:
    """Look at the approvals directory and its key: private, and out of reach of agent and servers."""
    place, key = subject.approvals
    if not place.exists():
        yield Diagnosis(name="approvals", status="ok", what="no directory yet; the proxy makes it")
        return
    try:
        PrivateDirectory.open(place, create=False).close()
        ApprovalKey.read(key)
        if subject.sandbox is not None:
            check_outside(place, [subject.sandbox])
    except IronCurtainError as error:
        yield from failed("approvals", error)
    else:
        yield Diagnosis(name="approvals", status="ok", what=f"{visible(str(place))} is private")


def audit(subject: Subject) -> Iterator[Diagnosis]:
    """Verify the newest audit logs against their heads."""
    path = subject.user / _AUDIT_KEY
    try:
        key = read_key(path) if path.exists() else None
    except IronCurtainError as error:
        fix = f"Run `chmod 600 {visible(str(path))}`." if path.stat().st_mode & _OTHERS else ""
        yield from failed("audit", error, fix)
        key = None
    logs = [log for log in subject.audit.glob(f"*{SUFFIX}") if "." not in log.name.removesuffix(SUFFIX)]
    newest = sorted(logs, key=lambda log: (log.stat().st_mtime_ns, log.name))[-_LOGS:]
    intact = 0
    for log in newest:
        session = log.name.removesuffix(SUFFIX)
        try:
            found = verify(log_place(subject.audit, session), key=key)
        except IronCurtainError as error:
            yield from failed("audit", error)
            continue
        intact += found.intact
        for problem in found.problems[:1]:
            fix = f"Keep a copy, and see every line that is wrong: ironcurtain audit verify {session}."
            what = f"the log {session} is not what was written: {visible(problem.message)}"
            yield Diagnosis(name="audit", status="fail", what=what, fix=fix)
        if found.intact and found.truncation != "checked":
            what = f"the log {session} has no head, so a cut-off end cannot be seen"
            fix = f"Restore {visible(str(subject.audit / 'heads' / f'{session}.json'))} from a backup."
            yield Diagnosis(name="audit", status="warn", what=what, fix=fix)
    if intact == len(newest):
        of = f" of {len(logs)}" if len(logs) > len(newest) else ""
        yield Diagnosis(name="audit", status="ok", what=f"{intact}{of} logs are as they were written")


def keys(subject: Subject) -> Iterator[Diagnosis]:
    """Look who can read the private keys in the user's own directory."""
    found = sorted(path for path in _files(subject.user) if _is_private_key(path))
    for path in found:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & _OTHERS:
            shown = visible(str(path))
            what = f"others can read the key {shown} (mode {mode:04o})"
            fix = f"Run `chmod 600 {shown}`; if somebody could have read it, make a new one."
            yield Diagnosis(name="keys", status="fail", what=what, fix=fix)
    if not any(stat.S_IMODE(path.stat().st_mode) & _OTHERS for path in found):
        yield Diagnosis(name="keys", status="ok", what=f"{len(found)} keys are readable by you alone")


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.is_file()] if directory.is_dir() else []


def _is_private_key(path: Path) -> bool:
    if path.suffix == ".key":
        return True
    return path.suffix == ".pem" and _PRIVATE_MARK in path.read_bytes()
