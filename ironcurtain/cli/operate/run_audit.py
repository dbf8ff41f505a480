"""What the commands of `ironcurtain audit` do."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import click

from ironcurtain.enforcement.audit.formatting import (
    entry_lines,
    record_line,
    report_lines,
    statistics_lines,
    verification_lines,
)
from ironcurtain.enforcement.audit.keys import default_key_path, read_key
from ironcurtain.enforcement.audit.log_paths import LogPlace, audit_directory, find_log, log_place
from ironcurtain.enforcement.audit.reader import NumberedLine, follow, parse_line, read_lines, read_records
from ironcurtain.enforcement.audit.record_types import AuditVerification, DecisionRecord, Head, Record
from ironcurtain.enforcement.audit.summary import find_entry, statistics
from ironcurtain.enforcement.audit.summary import report as sum_up
from ironcurtain.enforcement.audit.verify import verify as verify_log
from ironcurtain.enforcement.audit.witness import gone, receipts, witnessed
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen


def tail(
    *,
    log: str | None,
    directory: str | None,
    lines: int,
    follow: bool,
    verdict: str | None,
    tool: str | None,
    format_: str,
) -> Exit:
    """Print the last records, and further ones as they are written."""
    place = _place(log, directory, None)

    def wanted(record: Record) -> bool:
        if verdict is None and tool is None:
            return True
        return isinstance(record, DecisionRecord) and (
            verdict in (None, record.verdict) and tool in (None, f"{record.server}/{record.tool}")
        )

    last: deque[Record] = deque(maxlen=lines)
    read = 0
    for line in read_lines(place):
        read += 1
        record = parse_line(line).record
        if wanted(record):
            last.append(record)
    for record in last:
        _print_record(record, format_)
    if follow:
        for line in _after(place, read):
            record = parse_line(line).record
            if wanted(record):
                _print_record(record, format_)
    return Exit.YES


def show(*, id_: str, log: str | None, directory: str | None, format_: str) -> Exit:
    """Print one decision in full."""
    entry = find_entry(_place(log, directory, None), id_)
    return _print(entry, entry_lines(entry), format_)


def verify(
    *,
    log: str | None,
    directory: str | None,
    head: str | None,
    key: str | None,
    witness: str | None,
    no_head: bool,
    quiet: bool,
    format_: str,
) -> Exit:
    """Verify a log."""
    folder = Path(directory) if directory is not None else audit_directory()
    missing = _missing(log, folder, key, witness) if witness is not None and log is not None else None
    if missing is not None:
        return _print(missing, verification_lines(missing), format_, Exit.NO)
    place = _place(log, directory, head)
    told = _told(place, key, witness)
    found = witnessed(_verified(place, key, use_head=not no_head), place, told)
    if not found.intact:
        status = Exit.NO
    else:
        status = Exit.YES if no_head or found.truncation == "checked" else Exit.NO_ANSWER
    if not (quiet and status is Exit.YES):
        _print(found, verification_lines(found), format_)
    return status


def stats(*, log: str | None, directory: str | None, format_: str) -> Exit:
    """Print counts over a log."""
    place = _place(log, directory, None)
    found = statistics(place.session, read_records(place))
    return _print(found, statistics_lines(found), format_)


def report(
    *, log: str | None, directory: str | None, head: str | None, key: str | None, format_: str
) -> Exit:
    """Print a summary of a session."""
    place = _place(log, directory, head)
    found = sum_up(read_records(place), _verified(place, key))
    _print(found, report_lines(found, markdown=format_ == "markdown"), format_)
    return Exit.YES if found.verification.intact else Exit.NO


def _place(log: str | None, directory: str | None, head: str | None) -> LogPlace:
    folder = Path(directory) if directory is not None else audit_directory()
    return find_log(log, folder, Path(head) if head is not None else None)


def _verified(place: LogPlace, key: str | None, *, use_head: bool = True) -> AuditVerification:
    """Verify a log with the named key; one of the proxy's own logs without one with the proxy's key."""
    file = _key_file(place, key)
    found = verify_log(place, key=read_key(file) if file else None, use_head=use_head)
    return found.model_copy(update={"key": str(file) if found.keyed else None})


def _told(place: LogPlace, key: str | None, witness: str | None) -> list[Head] | None:
    """Return a witness's receipts of a log; None where no witness is asked."""
    if witness is None:
        return None
    file = _key_file(place, key)
    return receipts(Path(witness), place.session, read_key(file) if file else None)


def _missing(log: str, folder: Path, key: str | None, witness: str) -> AuditVerification | None:
    """Return what there is to say of a session whose log is gone; None where it is there, or is no name."""
    try:
        place = log_place(folder, log)
    except UsageError:
        return None
    return gone(place, _told(place, key, witness) or [])


def _key_file(place: LogPlace, key: str | None) -> Path | None:
    """Return the named key; for one of the proxy's own logs without one the proxy's key."""
    own = default_key_path()
    is_own = place.path.absolute().parent == audit_directory().absolute() and own.exists()
    return Path(key) if key is not None else own if is_own else None


def _after(place: LogPlace, read: int) -> Iterable[NumberedLine]:
    return (line for line in follow(place) if line.number > read)


def _print(value: Frozen, lines: Iterable[str], format_: str, status: Exit = Exit.YES) -> Exit:
    if format_ == "json":
        click.echo(json_text.pretty(value.model_dump(mode="json")), nl=False)
    else:
        click.echo("\n".join(lines))
    return status


def _print_record(record: Record, format_: str) -> None:
    if format_ == "json":
        click.echo(json.dumps(record.model_dump(mode="json"), ensure_ascii=False))
    else:
        click.echo(record_line(record))
