"""What commands that decide recorded calls anew read: the log, its key, and where the calls were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.analysis.replay.report import Replayed
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.enforcement.audit.log_paths import LogPaths, audit_directory, find_log, read_key
from ironcurtain.enforcement.audit.reader import read_records, require_intact, verify
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.reserved_rules import is_of_policy


def recorded_decisions(
    named: str, directory: str | None, head: str | None, key: bytes | None
) -> tuple[LogPaths, list[DecisionRecord], int]:
    """Return a log's place, the decisions of a policy that it holds, and how many others there are.

    Raises:
        FileError: If there is no such log.
        AuditError: If the log is not what was written.
    """
    folder = Path(directory) if directory is not None else audit_directory()
    place = find_log(named, folder, Path(head) if head is not None else None)
    require_intact(verify(place, key=key), place)
    records = [line.record for line in read_records(place)]
    decisions = [record for record in records if isinstance(record, DecisionRecord)]
    decided = [record for record in decisions if is_of_policy(record.rule)]
    return place, decided, len(decisions) - len(decided)


def replayer(
    bundle: Bundle, *, home: str | None, sandbox: str | None, opa: OpaCommand, key: bytes | None
) -> Replayer:
    """Return what decides recorded calls under a bundle, where they were recorded.

    Raises:
        BundleRelationError: If the policy's directories lie otherwise here than was verified.
    """
    deployment = Deployment(
        home=str(Path(home).absolute()) if home is not None else str(Path.home()),
        sandbox=str(Path(sandbox).absolute()) if sandbox is not None else None,
    )
    loaded = LoadedPolicy(
        PolicyContent.of(bundle), deployment, ThisHost(home=deployment.home, git_environ={})
    )
    return Replayer(bundle, loaded, opa, key)


def replay_where_recorded(
    bundle: Bundle,
    records: Sequence[DecisionRecord],
    *,
    home: str | None,
    sandbox: str | None,
    opa: OpaCommand,
    key: bytes | None,
) -> list[Replayed]:
    """Decide recorded calls, each in the workspace that is named, or else that of its own record.

    Raises:
        BundleRelationError, EngineFailedError, VerificationError: As `replayer` and `Replayer.replay`.
    """
    by_place: dict[str | None, list[int]] = {}
    for number, record in enumerate(records):
        by_place.setdefault(sandbox or record.sandbox.directory, []).append(number)
    found: dict[int, Replayed] = {}
    for place, numbers in by_place.items():
        there = replayer(bundle, home=home, sandbox=place, opa=opa, key=key)
        found |= zip(numbers, there.replay([records[number] for number in numbers]), strict=True)
    return [found[number] for number in range(len(records))]


def log_key(path: str | None) -> bytes | None:
    """Return the key in a file; None where none is named."""
    return read_key(Path(path)) if path is not None else None
