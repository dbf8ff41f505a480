"""Are approvals and keys safe?"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.private_directory import PrivateDirectory, check_outside
from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.doctor.report import Diagnosis
from ironcurtain.integrations.doctor.subject import Installation, failed
from ironcurtain.servers.config import load_servers
from ironcurtain.system.ownership import others_have_access
from ironcurtain.system.text import counted, visible

_PRIVATE_MARK = b"PRIVATE KEY"


def approvals(subject: Installation) -> Iterator[Diagnosis]:
    """Look at the approvals directory and its key: private, and out of reach of agent and servers."""
    place, key = subject.approvals
    reachable = [*([subject.sandbox] if subject.sandbox is not None else []), *_working_roots(subject)]
    try:
        if not os.path.lexists(place):
            check_outside(place, reachable)
            yield Diagnosis(name="approvals", status="ok", what="no directory yet; the proxy makes it")
            return
        PrivateDirectory.open(place, create=False).close()
        ApprovalKey.read(key)
        for each in (place, key):
            check_outside(each, reachable)
    except IronCurtainError as error:
        yield from failed("approvals", error)
    else:
        yield Diagnosis(name="approvals", status="ok", what=f"{visible(str(place))} is private")


def _working_roots(subject: Installation) -> list[Path]:
    try:
        config = load_servers(subject.servers)
    except IronCurtainError:  # the part servers says why
        return []
    roots = (server.working_root for server in config.servers.values())
    return [config.directory / Path(root).expanduser() for root in roots if root is not None]


def keys(subject: Installation) -> Iterator[Diagnosis]:
    """Look who can read the private keys in the user's own directory."""
    found = sorted(path for path in _files(subject.user) if _is_private_key(path))
    for path in found:
        status = path.stat()
        if others_have_access(status):
            shown = visible(str(path))
            what = f"others can read the key {shown} (mode {stat.S_IMODE(status.st_mode):04o})"
            fix = f"Run `chmod 600 {shown}`; if somebody could have read it, make a new one."
            yield Diagnosis(name="keys", status="fail", what=what, fix=fix)
    if not any(others_have_access(path.stat()) for path in found):
        yield Diagnosis(
            name="keys",
            status="ok",
            what=f"{counted(len(found), 'key is', 'keys are')} readable by you alone",
        )


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.is_file()] if directory.is_dir() else []


def _is_private_key(path: Path) -> bool:
    if path.suffix == ".key":
        return True
    return path.suffix == ".pem" and _PRIVATE_MARK in path.read_bytes()
