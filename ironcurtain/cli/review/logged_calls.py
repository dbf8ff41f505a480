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
from ironcurtain.enforcement.audit.reader import read_records, require_intact, verify
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
    places, notes = list[tuple[LogPaths, int]](), list[str]()
    for name in dict.fromkeys(named):
        place = find_log(name, folder)
        own = key_file(place) if given is None else None
        log_secret = read_key(own) if own is not None else given
        secret = secret or log_secret
        verified = verify(place, key=log_secret)
        _require_whole(verified, place)
        if not verified.keyed:
            notes.append(f"{visible(place.session)} was read without its key: its writer can have made it up")
        places.append((place, verified.lines))

    def read() -> Iterator[tuple[str, DecisionRecord]]:
        for place, lines in places:
            # What is written meanwhile was not verified.
            for line in itertools.islice(read_records(place), lines):
                if isinstance(line.record, DecisionRecord) and is_of_policy(line.record.rule):
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


def _require_whole(verified: AuditVerification, place: LogPaths) -> None:
    require_intact(verified, place)
    if verified.truncation != "checked":
        raise AuditError(
            "the head of the audit log is missing, so what people refused may be cut off",
            where=str(place.path),
            hint="Restore heads/ beside the log.",
        )
