"""What `advise` reads: logs whose calls are read one by one, as often as they are asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ironcurtain.analysis.advice.advise import Logs
from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.bundle.archive import Bundle
from ironcurtain.cli.review.recorded_calls import log_key, replayer
from ironcurtain.enforcement.audit.log_paths import LogPaths, audit_directory, find_log, key_file, read_key
from ironcurtain.enforcement.audit.reader import read_lines, read_records, require_intact, verify
from ironcurtain.enforcement.audit.record_types import AuditVerification, DecisionRecord
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import AuditError
from ironcurtain.model.reserved_rules import is_of_policy
from ironcurtain.system.text import visible


def logs_of(
    named: Sequence[str],
    *,
    directory: str | None,
    key: str | None,
    home: str | None,
    sandbox: str | None,
    opa: OpaCommand,
) -> Logs:
    """Return logs that are what was written, to the last line.

    Without a key, one of the proxy's own logs is verified with the proxy's key.

    Raises:
        FileError: If there is no such log.
        AuditError: If a log is not what was written, or may have been cut off.
    """
    folder = Path(directory) if directory is not None else audit_directory()
    given = secret = log_key(key)
    places, notes = list[tuple[LogPaths, AuditVerification]](), list[str]()
    read_before: dict[bytes, LogPaths] = {}
    for name in dict.fromkeys(named):
        place = find_log(name, folder)
        own = key_file(place) if given is None else None
        log_secret = read_key(own) if own is not None else given
        secret = secret or log_secret
        verified = verify(place, key=log_secret)
        _require_whole(verified, place)
        _require_another(place, read_before)
        if not verified.keyed:
            notes.append(f"{visible(place.session)} was read without its key: its writer can have made it up")
        places.append((place, verified))

    def read() -> Iterator[tuple[str, DecisionRecord]]:
        for place, verified in places:
            # What is written meanwhile was not verified.
            for line in itertools.islice(read_records(place), verified.lines):
                if isinstance(line.record, DecisionRecord) and is_of_policy(line.record.rule):
                    _require_readable(
                        line.record, place, is_misread=secret is not None and not verified.keyed
                    )
                    yield place.session, line.record

    def replayers_of(bundle: Bundle) -> Callable[[DecisionRecord], Replayer]:
        found: dict[str | None, Replayer] = {}

        def replayer_of(record: DecisionRecord) -> Replayer:
            where = sandbox or record.sandbox.directory
            if where not in found:
                found[where] = replayer(bundle, home=home, sandbox=where, opa=opa, key=secret)
            return found[where]

        return replayer_of

    own_home = str(Path(home).absolute()) if home is not None else str(Path.home())
    return Logs(tuple(place.session for place, _ in places), read, replayers_of, own_home, tuple(notes))


def _require_another(place: LogPaths, before: dict[bytes, LogPaths]) -> None:
    """Refuse a copy of a log that was read: each call and each answer of a person counts once."""
    first = next(read_lines(place), None)
    if first is None:
        return
    other = before.setdefault(first.data, place)
    if other is not place:
        raise AuditError(
            f"it is the same audit log as {visible(str(other.path))}",
            where=str(place.path),
            hint="Name each log once.",
        )


def _require_readable(record: DecisionRecord, place: LogPaths, *, is_misread: bool) -> None:
    """Refuse a record without values where another log's key would misread it."""
    if record.abstract is not None and is_misread:
        raise AuditError(
            "the audit log holds no values, and its key is not given",
            where=str(place.path),
            hint="Name its key with --key.",
        )


def _require_whole(verified: AuditVerification, place: LogPaths) -> None:
    require_intact(verified, place)
    if verified.truncation != "checked":
        raise AuditError(
            "the head of the audit log is missing, so what people refused may be cut off",
            where=str(place.path),
            hint="Restore heads/ beside the log.",
        )
