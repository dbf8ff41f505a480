"""What a policy leaves of its tools, kept from one start of the proxy to the next.

Working it out takes most of a start, and clients wait for it. What was kept counts only for the same bundle,
deployment, OPA and code of ours, and only where nobody but us and root can have written it; otherwise it is
worked out anew. It decides nothing: it says what clients are shown.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import ironcurtain
from ironcurtain.analysis.narrowing.report import Narrowing
from ironcurtain.errors import IronCurtainError
from ironcurtain.policy import Policy
from ironcurtain.settings import narrowing_directory
from ironcurtain.system.files import atomic_write, load
from ironcurtain.system.json_text import digest_bytes
from ironcurtain.system.ownership import check_own

_MOST = 32
"""How many are kept: those of the policies and deployments that were started last."""


def kept_narrowing(policy: Policy, work_out: Callable[[], Narrowing]) -> Narrowing:
    """Return what a policy leaves of its tools: what was kept of it, or what is worked out now and kept.

    Raises:
        IronCurtainError: As `work_out` does.
    """
    place = narrowing_directory() / f"{_key(policy)}.json"
    found = _read(place)
    if found is None or found.revision != policy.revision:
        found = work_out()
        with contextlib.suppress(OSError):  # then the next start takes as long as this one
            _keep(place, found)
    return found


def _read(place: Path) -> Narrowing | None:
    try:
        check_own(place, "what was kept")
        return load(place, Narrowing)
    except (IronCurtainError, OSError):
        return None


def _keep(place: Path, found: Narrowing) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_write(place, found.model_dump_json().encode(), mode=0o600)
    newest = sorted(place.parent.glob("*.json"), key=lambda each: each.stat().st_mtime, reverse=True)
    for old in newest[_MOST:]:
        old.unlink(missing_ok=True)


def _key(policy: Policy) -> str:
    """Return a digest of all that the result depends on."""
    deployment = policy.loaded.deployment
    protected = sorted(deployment.protected)  # their order differs from start to start and means nothing
    paths = [deployment.home, deployment.sandbox, *protected, *deployment.working_roots.values()]
    inputs = [
        digest_bytes(policy.bundle.archive()),
        {**asdict(deployment), "protected": protected},
        # Where `..` leads depends on the disk.
        [os.path.realpath(path) for path in paths if path is not None],
        [policy.opa.version, *_state([policy.opa.path])],
        _code(),
    ]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


@functools.cache
def _code() -> list[str]:
    """Return what tells our code from other code: the release, and the state of its files."""
    files = sorted(Path(ironcurtain.__file__).parent.rglob("*.py"))
    return [version("ironcurtain"), digest_bytes(json.dumps(_state(files)).encode())]


def _state(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    found = ((file, file.stat()) for file in files)
    return [(str(file), status.st_size, status.st_mtime_ns) for file, status in found]
